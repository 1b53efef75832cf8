"""The command that notifies another process of changes, through a ring."""

from pathlib import Path
from typing import Annotated

import typer

import dmsjournal as dj
from dmsjournal.cli.base import Url, app
from dmsjournal.cli.feed import of_resource, start_of
from dmsjournal.cli.interrupts import until_signalled
from dmsjournal.cli.output import say
from dmsjournal.util import durations


@app.command()
def notify(
    url: Url,
    ring: Annotated[Path, typer.Option(metavar="FILE", help="The ring, best in memory, such as /dev/shm/changes.ring.")],
    capacity: Annotated[
        int, typer.Option(min=2, max=2**20, metavar="N", help="Notifications that a new ring has room for; 64 bytes each.")
    ] = 1024,
    resource: Annotated[
        str | None, typer.Option(metavar="RESOURCE", help="This resource only, such as Ed-Fi/Student/5.2.0.", show_default="all")
    ] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="A new ring starts at the oldest event that is kept; the default.")
    ] = False,
    now: Annotated[bool, typer.Option("--now", help="A new ring starts with what happens from now on.")] = False,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="A new ring starts at a time, inclusive.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End at newest, in place of waiting for more.")] = False,
    patience: Annotated[str, typer.Option(metavar="TIME", help="Wait so long for a database that is not there.")] = "1h",
) -> None:
    """Notify another process of this machine: 64 bytes for each journaled change, in order, through a ring in a file.

    It makes the ring if there is none. It goes on after the last notification in the ring, so each change is notified once, also
    after a crash. If the ring is full, it waits for the consumer. SIGTERM and Ctrl-C end it.

    Example: dmsjournal notify --ring /dev/shm/changes.ring --now
    """
    from dmsjournal.events import notifications
    from dmsjournal.events.notifier import Notifier

    request = dj.FeedRequest(start=start_of(from_beginning, now, at))
    waited = durations.parsed("patience", patience).total_seconds()
    if not ring.exists():
        notifications.create(ring, capacity)
    with dj.connect(url) as db:
        notifier = Notifier(db, ring, of_resource(db, request, resource), follow=not once, patience=waited)
        try:
            until_signalled(notifier.run, notifier.stop)
        finally:
            say(f"notified={notifier.sent}")
