"""Commands that read the journal."""

import re
import sys
from itertools import islice
from typing import Annotated, Any

import msgspec
import typer

import dmsjournal as dj
from dmsjournal.cli.base import Json, StringVersions, Url, app, fail
from dmsjournal.cli.output import print_items
from dmsjournal.cli.unreadable import PassUnreadable, journal_of
from dmsjournal.errors import near_matches


@app.command()
def versions(url: Url, json: Json = False, string_versions: StringVersions = False) -> None:
    """Print the oldest and the newest version. At or below the newest, every writer has finished.

    Example: dmsjournal versions --json
    """
    with dj.connect(url) as db:
        found = db.versions()
    if json:
        print_items([found], json, string_versions)
    else:
        typer.echo(f"oldest={found.oldest} newest={found.newest}")


Resource = Annotated[str, typer.Argument(metavar="RESOURCE", help="Such as Ed-Fi/Student/5.2.0; Student where it is the only one.")]
Min = Annotated[str | None, typer.Option("--min", metavar="VERSION", help="First version, inclusive.", show_default="version 0")]
Max = Annotated[str | None, typer.Option("--max", metavar="VERSION", help="Last version, inclusive.", show_default="the newest")]
PageSize = Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="Rows to read at once.")]
Limit = Annotated[int | None, typer.Option(min=1, max=2**31, metavar="N", help="Rows to print at most.", show_default="all")]


@app.command()
def changes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print what changed in a window. A line is a document whose version lies in the window, the lowest version first.

    Example: dmsjournal changes Student --min 1200 --max 1500
    """
    window = window_of(min_, max_)
    with dj.connect(url) as db:
        found = db.changes(resource_of(db, resource), window, page_size)
        print_items(islice(found, limit), json, string_versions)


@app.command()
def snapshot(
    resource: Resource,
    url: Url,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print all live documents of a resource. Begin with it, also after an expired window; stderr tells where to go on.

    Example: dmsjournal snapshot Student > students.tsv
    """
    with dj.connect(url) as db:
        found = db.snapshot(resource_of(db, resource), page_size)
        print_items(islice(found, limit), json, string_versions)
    sys.stdout.flush()
    typer.echo(f"go on with --min {found.through + 1}", err=True)


@app.command()
def deletes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
    pass_unreadable: PassUnreadable = False,
    skip_reused_keys: Annotated[
        bool, typer.Option("--skip-reused-keys", help="Leave out deletes whose key another document has again at the window's end.")
    ] = False,
) -> None:
    """Print what was deleted in a window. A line is a deleted document of the resource, the lowest version first.

    Example: dmsjournal deletes Student --min 1200
    """
    window = window_of(min_, max_)
    with journal_of(url, pass_unreadable) as db:
        found = db.deletes(resource_of(db, resource), window, page_size, reused_keys=not skip_reused_keys)
        print_items(islice(found, limit), json, string_versions)


@app.command()
def key_changes(
    resource: Resource,
    url: Url,
    min_: Min = None,
    max_: Max = None,
    page_size: PageSize = 500,
    limit: Limit = None,
    json: Json = False,
    string_versions: StringVersions = False,
    pass_unreadable: PassUnreadable = False,
) -> None:
    """Print whose key changed in a window. A line is a document with its key before and after, the lowest version first.

    Example: dmsjournal key-changes Student --min 1200 --json
    """
    window = window_of(min_, max_)
    with journal_of(url, pass_unreadable) as db:
        found = db.key_changes(resource_of(db, resource), window, page_size)
        print_items(islice(found, limit), json, string_versions)


@app.command(context_settings={"ignore_unknown_options": True})  # -5 is an id, if one that no document has
def derive(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Document ids.")],
    url: Url,
    json: Json = False,
    string_versions: StringVersions = False,
) -> None:
    """Print documents' versions, etags and last-modified times. The exit code is 1 if one of them does not exist.

    Example: dmsjournal derive 604 605
    """
    wanted = [_whole_number(text) for text in ids]
    with dj.connect(url) as db:
        found = db.derive(wanted)
    print_items(({"document_id": i, **msgspec.to_builtins(found[i])} for i in wanted if i in found), json, string_versions)
    missing = [str(i) for i in wanted if i not in found]
    if missing:
        fail(f"there is no document {', '.join(missing)}", 1)


def _whole_number(text: str) -> Any:
    """The number that a text is, else the text: what takes it refuses it by name."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,100}", text) else text


def window_of(first: str | None, last: str | None) -> dj.Window:
    """The window of the options --min and --max. Raises InvalidRequest."""
    return dj.Window(*(None if text is None else _whole_number(text) for text in (first, last)))


def resource_of(db: dj.Journal, name: str) -> dj.ResourceKey:
    """The resource that a full name is, or the only one that a short name can mean. Raises InvalidRequest naming the candidates."""
    if "/" in name:
        return dj.ResourceKey.parse(name)
    known = sorted(db.resources())
    candidates = [resource for resource in known if resource.resource_name == name]
    if not candidates:
        looks_like = near_matches(name, [resource.resource_name for resource in known])
        raise dj.InvalidRequest("resource", name, f"the database knows no such resource; {looks_like}")
    if len(candidates) > 1:
        raise dj.InvalidRequest("resource", name, f"it may mean {' or '.join(map(str, candidates))}: write one of them in full")
    return candidates[0]
