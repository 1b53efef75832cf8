"""Commands that read the change feed, and cut it into partitions."""

import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli import events
from dmsjournal.cli.base import Json, Url, app
from dmsjournal.cli.output import encodable, print_items, say
from dmsjournal.cli.read import resource_of
from dmsjournal.cli.unreadable import PassUnreadable, journal_of
from dmsjournal.events import formats
from dmsjournal.feed import Checkpoint, StartPosition
from dmsjournal.operate.held_back import held_back_if_allowed


@app.command()
def feed(
    url: Url,
    format_name: events.FormatName = formats.DEFAULT,
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
    bodies: events.Bodies = True,
    contexts: events.Contexts = True,
    indirect: events.Indirect = False,
    event_type: events.EventType = None,
    trigger: events.Trigger = None,
    entity_type: events.EntityType = None,
    exclude_entity_type: events.ExcludeEntityType = None,
    operation: events.Operation = None,
    exclude_operation: events.ExcludeOperation = None,
    tenant: events.Tenant = None,
    changed_field: events.ChangedField = None,
    soft_delete_field: events.SoftDeleteField = None,
    version_field: events.VersionField = None,
    instance: events.Instance = None,
    region: events.Region = None,
    invalidations: events.Invalidations = None,
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
    pass_unreadable: PassUnreadable = False,
) -> None:
    """Print what happened: one line an event, oldest first, each journaled change once.

    Add --indirect for documents that changed only because what they refer to was renamed. Formats: jsonl is the event as it
    is; cdc is the CDC format 1.0, which cloudevents and debezium wrap. Those three, and filters, need dmsjournal[events].

    With --checkpoint, the command stores a page's end after it has printed the page: after an interruption some lines may come
    twice, none is missing; the start options count only while there is no file. Without it, stderr gets the token to go on with.

    Example: dmsjournal feed --follow --checkpoint warehouse.token --format cdc --trigger 'api_*' | my-loader
    """
    filters = formats.criteria_of(
        event_types=event_type,
        triggers=trigger,
        entity_types=entity_type,
        exclude_entity_types=exclude_entity_type,
        operations=operation,
        exclude_operations=exclude_operation,
        tenants=tenant,
        changed_fields=changed_field,
    )
    options = formats.EventOptions(
        instance=instance,
        region=region,
        soft_delete_field=soft_delete_field,
        version_field=version_field,
        invalidations=invalidations,
    )
    writer = formats.writer(events.format_named(format_name), url, options, filters)
    if resource is not None and partition is not None:
        raise typer.BadParameter(f"{partition!r} is a part of all resources: leave --resource away", param_hint="--partition")
    request = events.request_of(
        writer,
        bodies=bodies,
        contexts=contexts,
        indirect=indirect,
        scope=dj.EntireCollection() if partition is None else dj.PhysicalPartition(partition),
        start=start_of(from_beginning, now, at, token),
        max_page_size=page_size,
    )
    kept: Checkpoint | None = None if checkpoint is None else dj.FileCheckpoint(checkpoint)
    with (
        journal_of(url, pass_unreadable) as db,
        dj.FeedIterator(db, of_resource(db, request, resource), checkpoint=kept, follow=follow) as read,
    ):
        for page in read.pages():
            for line in writer.lines(page.events):
                print(encodable(line.decode()))
            sys.stdout.flush()  # before the page's end is kept
        held = None if follow else held_back_if_allowed(db.held_back)
    if held is not None:
        say(str(held), err=True)
    if read.token is not None and checkpoint is None:
        say(f"go on with --token {read.token}", err=True)
    for child in read.children:
        say(f"the partition has retired, go on with --partition {child.scope.id} --token {child.token}", err=True)


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
