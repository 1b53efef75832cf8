"""The option of commands that read keys and bodies: events that cannot be read are passed by, each named, and counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

import dmsjournal as dj

PassUnreadable = Annotated[
    bool, typer.Option("--pass-unreadable", help="Pass by events whose key or body cannot be read; stderr names each.")
]


@contextmanager
def journal_of(url: str, pass_unreadable: bool) -> Iterator[dj.Journal]:
    """The journal of a URL. What it passes by is printed on stderr as it happens, and counted at the end."""
    seen: set[tuple[int, int | None]] = set()

    def name(error: dj.UnreadableEvent) -> None:
        place = (error.document_id, error.change_version)
        if place not in seen:  # a page may be read again
            at = "" if error.change_version is None else f" at version {error.change_version}"
            typer.echo(f"passed by: {error.column} of document {error.document_id}{at} cannot be read ({error.reason})", err=True)
        seen.add(place)

    with dj.connect(url, unreadable=name if pass_unreadable else None) as db:
        try:
            yield db
        finally:
            if seen:
                typer.echo(f"passed by {len(seen)} events that cannot be read: dmsjournal verify finds what is wrong", err=True)
