"""What verify compares on SQL Server, without one: the text of a module, and which trigger fires first."""

from types import SimpleNamespace
from typing import Any

import pytest

from dmsjournal.database import sql, sqlserver
from dmsjournal.operate.findings import MEANINGS
from dmsjournal.schema import drift, migrate

pytestmark = pytest.mark.usefixtures("as_shipped")

JOURNAL = ["0007"]
DELETE = "tr_document_delete"


class Catalog:
    """A session of a database that has just what the revisions install, but for some objects and rows of other programs."""

    engine = sqlserver

    def __init__(self, revisions: list[str], without: tuple[tuple[str, str], ...] = (), others: tuple[Any, ...] = ()) -> None:
        self.revisions = revisions
        objects = drift.shipped_objects(self).values()  # type: ignore[arg-type]
        kept = [shipped for shipped in objects if (shipped.kind, shipped.name) not in without]
        self.rows = [SimpleNamespace(kind=o.kind, name=o.name, definition=o.definition, state="ok") for o in kept]
        self.rows += [SimpleNamespace(kind=kind, name=name, definition=text, state="ok") for kind, name, text in others]

    def execute(self, name: str) -> Any:
        if name == "database/revisions":
            return SimpleNamespace(scalars=lambda: self.revisions)
        return self.rows if name == "schema/verify_objects" else []


def codes(session: Any) -> list[tuple[str, str]]:
    return [(found.code, found.name) for found in drift.deviations(session)]


@pytest.mark.parametrize("option", [None, *migrate.known_options("sqlserver")])
def test_a_database_as_installed_has_no_deviation(option: str | None) -> None:
    assert codes(Catalog(JOURNAL + ([f"{option}_0006"] if option else []))) == []


@pytest.mark.parametrize("folder", ["procedures", "triggers", "views"])
def test_what_is_compared_is_the_batch_that_the_server_keeps(folder: str) -> None:
    """The server keeps the batch of a CREATE, without what follows its GO."""
    paths = sorted((sql.shipped("sql") / "sqlserver" / folder).glob("*.v*.sql"))
    files = [sql.text_of("sqlserver", f"{folder}/{path.name.removesuffix('.sql')}") for path in paths]
    for text in files:
        for _, _, definition in sqlserver.defined(text):
            assert definition is None or not any(line.strip() == "GO" for line in definition.splitlines())
            if "\nGO\n" in text and definition is not None:
                first, *_ = [batch for batch in sql.batches(text) if "\nCREATE " in batch]
                assert definition == sqlserver.comparable("routine", first)
    assert len(files) > 1


@pytest.mark.parametrize("option", ["images", "context"])
def test_a_trigger_that_lost_its_place_is_found_and_put_back(option: str) -> None:
    session: Any = Catalog([*JOURNAL, f"{option}_0006"], without=(("order", DELETE),))
    assert codes(session) == [("order-missing", DELETE)]
    [script] = drift.replacements(session, drift.deviations(session))
    assert "sp_settriggerorder" in script
    assert MEANINGS["order-missing"].is_repaired


@pytest.mark.parametrize("option", ["images", "context"])
def test_a_trigger_that_is_made_anew_gets_its_place_back(option: str) -> None:
    """DROP TRIGGER forgets what sp_settriggerorder set, although verify saw nothing wrong with it before."""
    session: Any = Catalog([*JOURNAL, f"{option}_0006"], without=(("trigger", DELETE),))
    made, placed = drift.replacements(session, drift.deviations(session))
    assert "CREATE TRIGGER dms.TR_Document_Delete" in made
    assert "sp_settriggerorder @triggername = N'dms.TR_Document_Delete'" in placed


def test_without_an_option_no_place_matters() -> None:
    session: Any = Catalog(JOURNAL, without=(("trigger", DELETE),), others=(("order", "somebodys", "first for delete"),))
    [made] = drift.replacements(session, drift.deviations(session))
    assert "sp_settriggerorder" not in made


def test_a_place_for_another_statement_is_found() -> None:
    session: Any = Catalog([*JOURNAL, "images_0006"], without=(("order", DELETE),), others=(("order", DELETE, "first for update"),))
    assert codes(session) == [("order-altered", DELETE)]


def test_another_program_s_first_trigger_is_named_before_ours_is_set() -> None:
    text = sql.text_of("sqlserver", "triggers/document_delete_first.v1")
    assert text.index("is_first = 1") < text.index("THROW 50006") < text.index("EXEC sys.sp_settriggerorder")


def test_option_images_holds_writers_of_bodies_both_ways() -> None:
    """Else a body that is written while the option comes has no image above the floor that says it is whole."""
    source = (sql.shipped("migrations") / "sqlserver" / "options" / "images_0006.py").read_text(encoding="utf-8")
    up, down = source.split("def downgrade")
    for part, first in ((up, "tables/DocumentImage.v1"), (down, "triggers/document_delete_image.drop")):
        assert part.index("tables/hold_writers.v1") < part.index("tables/hold_bodies.v1") < part.index(first)
    assert "dms.DocumentCache WITH (TABLOCKX, HOLDLOCK)" in sql.text_of("sqlserver", "tables/hold_bodies.v1")
