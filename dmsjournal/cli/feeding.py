"""Commands that read the change feed, and cut it into partitions."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

import dmsjournal as dj
from dmsjournal import statements
from dmsjournal.cli.base import Json, Url, app
from dmsjournal.cli.printing import encodable, print_items
from dmsjournal.feed import Checkpoint, StartPosition


class Format(StrEnum):
    """How an event is printed."""

    JSONL = "jsonl"


def jsonl(event: dj.FeedEvent) -> str:
    """The event as it is, one JSON object: names are FeedEvent's, a version is a number."""
    record: dict[str, Any] = msgspec.to_builtins(event, builtin_types=(Decimal,))
    return statements.rows(record)


FORMATS: dict[Format, Callable[[dj.FeedEvent], str]] = {Format.JSONL: jsonl}  # a line of text for an event


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
    bodies: Annotated[bool, typer.Option("--bodies", help="Print the body too, where the event is its document's latest.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more at the end.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on from the token in this file, and keep it there.", show_default="none")
    ] = None,
    page_size: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Events to read at once.")] = 500,
) -> None:
    """Print what happened: one line an event, oldest first, each journaled change once.

    With --checkpoint, a page's end is kept when it was printed: after an interruption some lines may come twice, none is missing.
    At its end it prints the token of where to go on to stderr.

    Example: dmsjournal feed --follow --checkpoint warehouse.token | my-loader
    """
    request = dj.FeedRequest(
        scope=_scope(resource, partition),
        start=_start(from_beginning, now, at, token),
        item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE if bodies else dj.NewItemStateMode.OMIT,
        max_page_size=page_size,
    )
    kept: Checkpoint | None = None if checkpoint is None else dj.FileCheckpoint(checkpoint)
    with dj.connect(url) as db, dj.FeedIterator(db, request, checkpoint=kept, follow=follow) as events:
        for page in events.pages():
            for event in page.events:
                print(encodable(FORMATS[format_](event)))
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


def _scope(resource: str | None, partition: str | None) -> Any:
    if resource is not None and partition is not None:
        raise typer.BadParameter("give one of --resource and --partition", param_hint="--partition")
    if resource is not None:
        return dj.LogicalPartition(dj.ResourceKey.parse(resource))
    return dj.EntireCollection() if partition is None else dj.PhysicalPartition(partition)


def _start(from_beginning: bool, now: bool, at: str | None, token: str | None) -> StartPosition:
    given = [from_beginning, now, at is not None, token is not None]
    if sum(given) > 1:
        raise typer.BadParameter("give one of --from-beginning, --now, --at and --token", param_hint="--token")
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
