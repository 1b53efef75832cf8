"""The demo: rows of ordinary tables change, then documents of a school district, and the journal says which ones."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dmsjournal as dj
from dmsjournal.database import postgres, sql
from dmsjournal.database.connect import engine_for, translated
from dmsjournal.database.urls import shown
from dmsjournal.demo import district
from dmsjournal.demo.shop import Shop
from dmsjournal.model.documents import Key
from dmsjournal.operate import tracking
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres, EmbeddedPostgresError
from dmsjournal.util.files import private
from dmsjournal.write import load

SAMPLE = Path("shared", "data", "edfi-sample", "documents.jsonl.gz")
STATE, STATEWIDE = ({"uri": f"uri://ed-fi.org/LearningStandardScopeDescriptor#{value}"} for value in ("State", "Statewide"))
NEW_STUDENT = {"studentUniqueId": "RENAMED-1"}

_LOG_IN_IDS = 3  # students that get one
_PARTITIONS = 4
_SETTINGS = {"fsync": "off", "full_page_writes": "off"}  # the database goes with the demo, whether or not the power does


def run(url: str | None = None, *, spark: bool = True, keep: bool = False) -> bool:
    """Runs the demo on the console; whether everything agreed in the end.

    On a PostgreSQL of its own, or on the empty database of a URL, which is empty again afterwards. `keep` leaves the database as
    it is; its own one until Ctrl-C. Raises InvalidRequest, UnsupportedCapability and what the journal raises.
    """
    if spark and not (find_spec("pyspark") and find_spec("pyarrow")):  # said now and not after a minute
        raise dj.UnsupportedCapability("the demo's Spark job", "pip install 'dmsjournal[spark]', or leave it out with --no-spark")
    console = Console(highlight=False)
    with ExitStack() as stack:
        with console.status("Starting the database"):
            server = None
            if url is None:
                server = stack.enter_context(_own_server())
                url = server.url()
            else:
                stack.enter_context(_borrowed(url, keep))
            migrate.upgrade(url, options=[tracking.OPTION])
            db = stack.enter_context(dj.connect(url))
        name = f"PostgreSQL {server.version}, the demo's own" if server else _shown(url)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dmsjournal-demo-")))
        agreed = _Story(console, db, url, folder / "changes.parquet").tell(name, spark)
        if server and keep:
            _wait(console, server, folder)
    return agreed


@contextmanager
def _own_server() -> Iterator[EmbeddedPostgres]:
    try:
        server = EmbeddedPostgres(settings=_SETTINGS)
        server.start()
    except EmbeddedPostgresError as error:
        raise dj.UnsupportedCapability("a PostgreSQL of the demo's own", f"{error}; or give --url an empty database") from error
    with server:
        yield server


@contextmanager
def _borrowed(url: str, keep: bool) -> Iterator[None]:
    """The database of a URL, which must be empty, and is so again at the end unless it is kept."""
    engine = engine_for(url)
    if engine.dialect.name != postgres.DIALECT:
        raise dj.UnsupportedCapability("the demo on another server than PostgreSQL", "give --url one, or leave it out")
    try:
        with translated(), engine.connect() as conn:
            if not conn.execute(sql.query(postgres.NAME, "demo/is_empty")).scalar_one():
                raise dj.InvalidRequest("url", _shown(url), "it has tables, and the demo changes documents: name an empty database")
        try:
            yield
        finally:
            if not keep:
                with translated(), engine.begin() as conn:
                    conn.execute(sql.query(postgres.NAME, "demo/drop_schema"))  # ours: it was not there
    finally:
        engine.dispose()


def _wait(console: Console, server: EmbeddedPostgres, folder: Path) -> None:
    with open(folder / "url", "w", encoding="utf-8", opener=private) as file:  # it holds the password
        file.write(server.url())
    has_files = any(folder.glob("*.parquet"))  # with --no-spark there are none
    kept = "The database and the Parquet files stay" if has_files else "The database stays"
    console.print(f"\n{kept} until Ctrl-C. In another terminal:", soft_wrap=True)
    console.print(
        f"  cd {folder}\n  export DMSJOURNAL_URL=$(cat url)\n  dmsjournal tracked\n  dmsjournal changes order --limit 5",
        soft_wrap=True,
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        console.print()


def lines() -> tuple[str, list[bytes]]:
    """The documents to show, and what they are: the Ed-Fi sample where it is found, else a generated district.

    It is looked for in DMSJOURNAL_SAMPLE, then in shared/data beside the project's folder and its parents. Raises InvalidRequest.
    """
    named = os.environ.get("DMSJOURNAL_SAMPLE")
    found = [path for folder in Path(__file__).resolve().parents if (path := folder / SAMPLE).exists()]
    for path in [Path(named)] if named else found[:1]:
        with load.opened(path) as file:
            return "the Ed-Fi sample", list(file)
    return "a generated district", [msgspec.json.encode(document) for document in district.generate()]


@dataclass(frozen=True)
class _Cast:
    """Who plays in the story."""

    student: dj.Document  # whose key is part of the most other keys
    students: list[dj.Document]  # others
    forgotten: dj.Document  # to which nothing refers
    scope: dj.ResourceKey
    standard: dj.ResourceKey

    @classmethod
    def of(cls, documents: Iterable[dj.Document]) -> _Cast:
        """Raises InvalidRequest where the documents are of some other kind."""
        keys = {document.key: document for document in documents}
        referrers: Counter[Key] = Counter()
        identities: Counter[Key] = Counter()
        for document in keys.values():
            children = {reference.key: reference.identity_component for reference in document.references}
            referrers.update(children)
            identities.update(child for child, component in children.items() if component)
        students = sorted((key for key in keys if key[0].resource_name == "Student"), key=lambda key: -identities[key])
        forgotten = [key for key in keys if key not in referrers and key[0].resource_name == "StudentSchoolAttendanceEvent"]
        scopes = [document.resource for document in keys.values() if dict(document.key_values) == STATE]
        standards = {key[0] for key in keys if key[0].resource_name == "LearningStandard"}
        if len(students) <= _LOG_IN_IDS or not forgotten or not scopes or not standards:
            raise dj.InvalidRequest("DMSJOURNAL_SAMPLE", os.environ.get("DMSJOURNAL_SAMPLE"), "it is not the Ed-Fi sample")
        others = [keys[key] for key in students[1 : _LOG_IN_IDS + 1]]
        return cls(keys[students[0]], others, keys[forgotten[-1]], scopes[0], standards.pop())


@dataclass
class _Story:
    console: Console
    db: dj.Journal
    url: str
    parquet: Path

    def tell(self, database: str, spark: bool) -> bool:
        """Tells it; whether all agreed."""
        self.console.print("\n[bold]dmsjournal: what changed since version X?[/]\n")
        self._say("database", escape(database))
        told = self._shop()

        self.console.print("\n[bold]The second way: documents in the journal's own tables[/]\n")
        cast = self._load()

        first = self._newest()
        counts = self._counts(dj.Window(1, first))
        self._chapter(4, "Note the newest version")
        self._say("versions", f"newest is {first:,}: a consumer that has read up to it goes on from there")

        self._chapter(5, "Change some documents, each line in a transaction of its own")
        self._change(cast)

        last = self._newest()
        window = dj.Window(first + 1, last)
        self._chapter(6, f"Ask what changed since: versions {first + 1:,} to {last:,}")
        moved = self._compare(counts, dj.Window(1, first), window)
        changes = self._pages(cast.standard, window)
        self._journals(cast, window)
        if not spark:
            return self._verdict(told and moved, "every document left the old window for the new one, or was deleted")

        self._chapter(7, "Let Spark read that window")
        rows = self._spark(cast.standard, window)
        agreed = rows == sorted((c.change_version, c.document_id, str(c.document_uuid)) for c in changes)
        fact = f"the same {len(rows):,} rows" if agreed else f"{len(rows):,} and {len(changes):,} rows, not the same ones"
        return self._verdict(told and moved and agreed, f"Spark's Parquet and db.changes have {fact}")

    def _shop(self) -> bool:
        """Tracks ordinary tables and changes rows of them; whether the orders that have changed are those that SQL finds."""
        shop = Shop(self.db)
        with self.console.status("Making tables"):
            shop.create()
        self._chapter(1, "Track tables of your own")
        self._say("command", "dmsjournal track --schema shop --project Shop --shows shop.customer=name")
        with self.console.status("Tracking tables"):
            tracked = shop.track()
        for one in tracked:
            shown = ", ".join(name for name in one.shows if name not in one.key)
            facts = [
                f"key {', '.join(one.key)}",
                *([f"shows {shown}"] if shown else []),
                *(f"refers to {n}" for n in one.refers_to),
            ]
            self._say("table", escape(f"{one.table:16}{'; '.join(facts)}"))
        first = self._newest()
        self._say("versions", f"newest is {first:,}: a consumer that has read up to it goes on from there")

        self._chapter(2, "Write to them, as any program does")
        for statement in shop.change():
            self._say("sql", escape(statement))

        window = dj.Window(first + 1, self._newest())
        self._chapter(3, f"Ask what changed since: versions {window.min:,} to {window.max:,}")
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for title in ("", "\ntable", "\nchanged", "written\nthemselves", "by reference\nonly", "\ndeleted"):
            table.add_column(title, justify="left" if title in ("", "\ntable") else "right")
        for found in shop.counted(window):
            numbers = (found.changed, found.written, found.changed - found.written, found.deleted)
            table.add_row("", found.table, *(f"{number:,}" for number in numbers))
        self.console.print(table)
        orders, wanted = shop.changed_orders(window), shop.orders_of_renamed()
        self._say("check", f"SQL finds {len(wanted)} orders of Ada Lovelace, {'the same' if orders == wanted else 'not the same'}")
        return orders == wanted

    def _load(self) -> _Cast:
        with self.console.status("Loading documents") as status:
            name, given = lines()
            report = load.load(self.db, given, progress=lambda n: status.update(f"Loading documents: {n:,} of {len(given):,}"))
            cast = _Cast.of(map(load.parse, filter(bytes.strip, given)))
        resources = sum(1 for resource in self.db.resources() if resource.project_name != "Shop")
        count = f"{report.documents:,} of {resources:,} resources, {name}"
        self._say("documents", f"{count}; loaded in {report.seconds:.1f} s, {report.documents / report.seconds:,.0f} a second")
        return cast

    def _change(self, cast: _Cast) -> None:
        student, old = cast.student.resource, cast.student.key_values
        with self.db.write() as tx:
            stamped = tx.rekey(student, old, NEW_STUDENT)
        self._say("rename", f"student {_key(old)} to {_key(NEW_STUDENT)}: {stamped - 1} keys contain it and follow")
        with self.db.write() as tx:
            stamped = tx.rekey(cast.scope, STATE, STATEWIDE)
        self._say("rename", f"{_key(STATE)} to {_key(STATEWIDE)}: [bold]{_count(stamped, 'stamp')}[/], nothing else is written")
        with self.db.write() as tx:
            edited = [_with_log_in_id(document) for document in cast.students]
            outcomes = Counter(done.outcome for done in tx.upsert_many([*edited, edited[0]]))
        self._say("edit", f"{_count(outcomes['updated'], 'student')} get a log-in id; one is written again as it is: no change")
        with self.db.write() as tx:
            tx.delete(cast.forgotten.resource, cast.forgotten.key_values)
        self._say("delete", f"an attendance event of student {escape(str(cast.forgotten.key_values.get('studentUniqueId')))}")
        try:
            with self.db.write() as tx:
                tx.delete(student, NEW_STUDENT)
        except dj.ReferencedDocument as refused:
            self._say("delete", f"student {_key(NEW_STUDENT)}: refused,")
            self._say("", f"[dim]{escape(refused.referrer)} refers to it[/]")

    def _counts(self, window: dj.Window) -> dict[dj.ResourceKey, int]:
        with self.console.status("Counting changes"):
            return {r: sum(1 for _ in self.db.changes(r, window, page_size=10_000)) for r in self.db.resources()}

    def _compare(self, before: dict[dj.ResourceKey, int], old: dj.Window, new: dj.Window) -> bool:
        """Shows both windows; whether each document of the old one is in one of them now, or was deleted."""
        left, gained = self._counts(old), self._counts(new)
        deleted = {resource: sum(1 for _ in self.db.deletes(resource, new)) for resource in before}
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("")
        table.add_column("\nresource", no_wrap=True)
        for title in ("old window\nbefore", "old window\nnow", "new\nwindow", "\ndeleted"):
            table.add_column(title, justify="right")
        for resource in sorted(before, key=lambda r: -gained[r]):
            if gained[resource] or deleted[resource]:
                numbers = [f"{of[resource]:,}" for of in (before, left, gained, deleted)]
                table.add_row("", escape(resource.resource_name), *numbers)
        self.console.print(table)
        return all(before[r] == left[r] + gained[r] + deleted[r] for r in before)

    def _pages(self, resource: dj.ResourceKey, window: dj.Window) -> list[dj.Change]:
        found: list[dj.Change] = []
        started, pages, after = time.monotonic(), 0, None
        while not pages or after is not None:
            page = self.db.change_page(resource, window, after, limit=500)
            found += page.items
            pages, after = pages + 1, page.next
        spent = (time.monotonic() - started) / pages * 1000
        stamps = _count(len({change.change_version for change in found}), "version")
        self.console.print()
        self._say("pages", f"{len(found):,} {resource.resource_name}s at {stamps}: {pages} pages of 500, {spent:.0f} ms each")
        return found

    def _journals(self, cast: _Cast, window: dj.Window) -> None:
        for delete in self.db.deletes(cast.forgotten.resource, window):
            self._say("deletes", f"{delete.change_version:,}  {cast.forgotten.resource.resource_name} {delete.document_uuid}")
        for resource in (cast.student.resource, cast.scope):
            for change in self.db.key_changes(resource, window):
                old, new = _key(change.old_key_values or {}), _key(change.new_key_values or {})
                self._say("key changes", f"{change.change_version:,}  {old} → {new}")

    def _spark(self, resource: dj.ResourceKey, window: dj.Window) -> list[tuple[int, int, str]]:
        """Has Spark write the window as Parquet; the rows that are in it."""
        import pyarrow.parquet as pq

        from dmsjournal.spark.dataframes import read
        from dmsjournal.spark.session import local_session

        started = time.monotonic()
        with _quiet_java():
            with self.console.status("Starting Spark; the first time it fetches the JDBC driver"):
                spark = local_session("dmsjournal demo")
            try:
                ready = time.monotonic()
                with (
                    self.console.status("Spark reads dms.ResourceChange"),
                    read(spark, self.url, resource, window, parts=_PARTITIONS) as reading,
                ):
                    reading.changes().write.parquet(str(self.parquet))
                done = time.monotonic()
            finally:
                spark.stop()
        files = list(self.parquet.glob("*.parquet"))
        self._say("spark", f"{spark.version} on this machine, started in {ready - started:.1f} s")
        self._say("parquet", f"{_count(len(files), 'file')}, written from dms.ResourceChange over JDBC in {done - ready:.1f} s")
        columns = pq.read_table(self.parquet, columns=["change_version", "document_id", "document_uuid"]).to_pydict()
        return sorted(zip(*columns.values(), strict=True))

    def _verdict(self, agreed: bool, fact: str) -> bool:
        mark = "[bold green]✓ They agree[/]" if agreed else "[bold red]✗ They do not agree[/]"
        self.console.print(f"\n{mark}: {fact}.")
        return agreed

    def _newest(self) -> int:
        return self.db.versions().newest

    def _chapter(self, number: int, title: str) -> None:
        self.console.print(f"\n[bold cyan]{number}[/] [bold]{title}[/]")

    def _say(self, word: str, text: str) -> None:
        self.console.print(f"  [cyan]{word:12}[/]{text}", soft_wrap=True)


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Holds back what Java, started within, writes to stderr; shows it where something went wrong."""
    with tempfile.TemporaryFile() as held:
        ours = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(ours, held.read())
            raise
        finally:
            os.dup2(ours, 2)
            os.close(ours)


def _shown(url: str) -> str:
    return shown(engine_for(url).url)


def _with_log_in_id(student: dj.Document) -> dj.Document:
    """The document as another edition of itself."""
    body = {**student.body, "loginId": f"{next(iter(student.key_values.values()))}@example.org"}
    return dj.Document(student.resource, student.key_values, body, student.references)


def _key(key_values: Mapping[str, object]) -> str:
    """A key as people say it: a descriptor's is what follows the # of its URI."""
    return escape(", ".join(str(value).rpartition("/")[2] for value in key_values.values()))


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
