"""The options that say which events a command writes, and how: the same for `feed` and `deliver`."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import dmsjournal as dj
from dmsjournal.events import formats


def _many(help_: str, metavar: str, default: str = "all") -> Any:
    return typer.Option(metavar=metavar, help=f"{help_} May be repeated.", show_default=default)


FormatName: TypeAlias = Annotated[
    str, typer.Option("--format", metavar=f"[{'|'.join(formats.names())}]", help="How an event is written.")
]
Bodies: TypeAlias = Annotated[
    bool,
    typer.Option("--bodies/--no-bodies", help="With bodies: before and after where option images keeps them, else the latest."),
]
Contexts: TypeAlias = Annotated[
    bool, typer.Option("--contexts/--no-contexts", help="With what caused changes, where option context keeps it.")
]
Indirect: TypeAlias = Annotated[
    bool, typer.Option("--indirect", help="An event, too, for each document that changed with the identity of what it refers to.")
]
EventType: TypeAlias = Annotated[list[str] | None, _many("Only event types like this, such as 'entity:*'.", "GLOB")]
Trigger: TypeAlias = Annotated[list[str] | None, _many("Only what triggers like this caused, such as 'api_*'.", "GLOB")]
EntityType: TypeAlias = Annotated[list[str] | None, _many("Only this resource name, such as Student.", "NAME")]
ExcludeEntityType: TypeAlias = Annotated[list[str] | None, _many("Not this resource name.", "NAME", "none")]
Operation: TypeAlias = Annotated[
    list[dj.FeedEventType] | None, typer.Option(help="Only this. May be repeated.", show_default="all")
]
ExcludeOperation: TypeAlias = Annotated[
    list[dj.FeedEventType] | None, typer.Option(help="Not this. May be repeated.", show_default="none")
]
Tenant: TypeAlias = Annotated[list[str] | None, _many("Only what this tenant caused.", "NAME")]
ChangedField: TypeAlias = Annotated[list[str] | None, _many("Only where this field changed, or something in it.", "PATH")]
Instance: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="What CDC events call the server.", show_default="its host and port")
]
Region: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="The region in CDC events.", show_default="none")]
SoftDeleteField: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The body's name that marks a document as deleted.", show_default="none")
]
VersionField: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The body's name of its version for optimistic locking.", show_default="none"),
]
Invalidations: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Rules, as JSON: which queries an event makes stale.", show_default="none"),
]


def format_named(name: str) -> formats.Format:
    """The format of --format. Raises typer's BadParameter, UnsupportedCapability."""
    if name not in formats.names():
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(formats.names())}", param_hint="--format")
    return formats.load(name)


def request_of(writer: formats.Writer, *, bodies: bool, contexts: bool, **rest: Any) -> dj.FeedRequest:
    """The request for all that a writer writes."""
    return dj.FeedRequest(
        item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE if bodies else dj.NewItemStateMode.OMIT,
        contexts=contexts,
        effects=writer.sees_effects,
        **rest,
    )
