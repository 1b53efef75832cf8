"""Commands that read the change feed, and cut it into partitions."""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, Url, app
from dmsjournal.cli.printing import encodable, print_items
from dmsjournal.cli.reading import resource_of
from dmsjournal.events import jsonl
from dmsjournal.feed import Checkpoint, StartPosition


class Format(StrEnum):
    """How an event is printed."""

    JSONL = "jsonl"
    CDC = "cdc"
    CLOUDEVENTS = "cloudevents"
    DEBEZIUM = "debezium"


Lines = Callable[[Sequence[dj.FeedEvent]], Iterable[str]]  # of the events of a page


def _many(help_: str, metavar: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{help_} May be repeated.", show_default="all")


@app.command()
def feed(
    url: Url,
    format_: Annotated[Format, typer.Option("--format", help="How an event is printed.")] = Format.JSONL,
    resource: Annotated[
        str | None, typer.Option(metavar="RESOURCE", help="This resource only, such as Ed-Fi/Student/5.2.0.", show_default="all")
    ] = None,
    partition: Annotated[
        str | None, typer.Option(metavar="ID", help="This physical partition only, such as 1-0.", show_default="all")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the oldest event that is kept; the default.")
    ] = False,
    now: Annotated[bool, typer.Option("--now", help="Start with what happens from now on.")] = False,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start at a time, inclusive, such as 2026-05-01T12:00:00Z; UTC if no zone is given."),
    ] = None,
    token: Annotated[str | None, typer.Option(metavar="TOKEN", help="Start where the page with this token ended.")] = None,
    bodies: Annotated[
        bool | None,
        typer.Option(
            "--bodies/--no-bodies",
            help="Print bodies too, before and after where option images keeps them.",
            show_default="no with jsonl, yes with the others",
        ),
    ] = None,
    event_type: Annotated[list[str] | None, _many("Only event types like this, such as 'entity:*'.", "GLOB")] = None,
    trigger: Annotated[list[str] | None, _many("Only what triggers like this caused, such as 'api_*'.", "GLOB")] = None,
    entity_type: Annotated[list[str] | None, _many("Only this resource name, such as Student.", "NAME")] = None,
    exclude_entity_type: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Not this resource name. May be repeated.", show_default="none")
    ] = None,
    operation: Annotated[
        list[dj.FeedEventType] | None, typer.Option(help="Only this. May be repeated.", show_default="all")
    ] = None,
    exclude_operation: Annotated[
        list[dj.FeedEventType] | None, typer.Option(help="Not this. May be repeated.", show_default="none")
    ] = None,
    tenant: Annotated[list[str] | None, _many("Only what this tenant caused.", "NAME")] = None,
    changed_field: Annotated[list[str] | None, _many("Only where this field changed, or something in it.", "PATH")] = None,
    soft_delete_field: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The body's name that marks a document as deleted.", show_default="none"),
    ] = None,
    instance: Annotated[
        str | None, typer.Option(metavar="NAME", help="What events call the server.", show_default="its host and port")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more at the end.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Go on from the token in this file, and keep it there. Where to start is for the first time, without a file.",
            show_default="none",
        ),
    ] = None,
    page_size: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Events to read at once.")] = 500,
) -> None:
    """Print what happened: one line an event, oldest first, each journaled change once.

    Formats: jsonl is the event as it is; cdc is the CDC format 1.0, which cloudevents and debezium wrap. Those three, and filters,
    need dmsjournal[events].

    With --checkpoint, a page's end is kept when it was printed: after an interruption some lines may come twice, none is missing;
    where to start is for the first time alone, while there is no file. Without it, the token to go on with is printed to stderr.

    Example: dmsjournal feed --follow --checkpoint warehouse.token --format cdc --trigger 'api_*' | my-loader
    """
    wanted = {
        "event_types": event_type,
        "triggers": trigger,
        "entity_types": entity_type,
        "exclude_entity_types": exclude_entity_type,
        "operations": operation,
        "exclude_operations": exclude_operation,
        "tenants": tenant,
        "changed_fields": changed_field,
    }
    filters = {name: tuple(map(str, values)) for name, values in wanted.items() if values}
    has_bodies = format_ is not Format.JSONL if bodies is None else bodies
    if resource is not None and partition is not None:
        raise typer.BadParameter(f"{partition!r} is a part of all resources: leave --resource away", param_hint="--partition")
    request = dj.FeedRequest(
        scope=dj.EntireCollection() if partition is None else dj.PhysicalPartition(partition),
        start=start_of(from_beginning, now, at, token),
        item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE if has_bodies else dj.NewItemStateMode.OMIT,
        max_page_size=page_size,
    )
    kept: Checkpoint | None = None if checkpoint is None else dj.FileCheckpoint(checkpoint)
    with dj.connect(url) as db, dj.FeedIterator(db, of_resource(db, request, resource), checkpoint=kept, follow=follow) as events:
        lines = _lines(db, url, format_, filters, soft_delete_field, instance)
        for page in events.pages():
            for line in lines(page.events):
                print(encodable(line))
            sys.stdout.flush()  # before the page's end is kept
    if events.token is not None and checkpoint is None:
        typer.echo(f"go on with --token {events.token}", err=True)
    for child in events.children:
        typer.echo(f"the partition has retired, go on with --partition {child.scope.id} --token {child.token}", err=True)


@app.command()
def feed_partitions(
    url: Url,
    count: Annotated[
        int | None,
        typer.Option(
            "--set", metavar="N", help="Cut the documents into N buckets from now on, 1 to 1024.", show_default="no change"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the feed's partitions: their parents, their children, and the versions that they cover.

    --set is for the installing role. Writers and readers go on: the present partitions retire, and name their children.

    Example: dmsjournal feed-partitions --set 8
    """
    with dj.connect(url) as db:
        found = db.list_physical_partitions() if count is None else db.change_bucket_count(count)
    print_items(
        (
            {"partition": p.id, "parents": p.parents, "children": p.children, "begins_after": p.begins_after, "ends_at": p.ends_at}
            for p in found
        ),
        json,
        False,
    )


def _lines(
    db: dj.Journal,
    url: str,
    format_: Format,
    filters: dict[str, tuple[str, ...]],
    soft_delete_field: str | None,
    instance: str | None,
) -> Lines:
    """Makes lines of a page's events. Raises UnsupportedCapability without what dmsjournal[events] brings."""
    if format_ is Format.JSONL and not filters:
        return partial(map, jsonl.text)
    try:
        from dmsjournal.events import cdc, formats
    except ModuleNotFoundError as error:
        raise dj.UnsupportedCapability(f"{error.name} is not installed", "pip install 'dmsjournal[events]'") from error
    source = cdc.source_of(url, instance)
    converter = cdc.CdcConverter(source, soft_delete_field=soft_delete_field, identifier=cdc.key_identifier)
    reader, wants = cdc.CdcReader(db, converter), cdc.EventFilter(**filters)
    return partial(formats.lines, format_=format_, reader=reader, wants=wants)


def of_resource(db: dj.Journal, request: dj.FeedRequest, resource: str | None) -> dj.FeedRequest:
    """The request, of one resource where one is named, as resource_of takes it. Raises InvalidRequest."""
    return request if resource is None else replace(request, scope=dj.LogicalPartition(resource_of(db, resource)))


def start_of(from_beginning: bool, now: bool, at: str | None, token: str | None = None) -> StartPosition:
    """The start that one of the options names. Raises InvalidRequest, typer's BadParameter."""
    given = [from_beginning, now, at is not None, token is not None]
    if sum(given) > 1:
        raise typer.BadParameter("give one place to start at", param_hint="--from-beginning, --now, --at, --token")
    if at is not None:
        return dj.AtTime(_time(at))
    if token is not None:
        return dj.FromToken(token)
    return dj.Now() if now else dj.Beginning()


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError as error:
        raise dj.InvalidRequest("at", text, "write it as ISO 8601 has it, such as 2026-05-01T12:00:00Z") from error
    return time if time.utcoffset() is not None else time.replace(tzinfo=UTC)
