"""Where each statement is read at a time of its own, a prune may come between two: readers look at the floor last (invariant 8)."""

import re

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from dmsjournal.operate.prune import JOURNALS
from tests.helpers import PLAN, SCHOOL, STUDENT, document, write

READERS = ["read/change_page", "read/deletes", "read/key_changes", "operate/consumers"]
PRUNED = "".join(f"DELETE FROM dms.{name}; " for name in JOURNALS) + "UPDATE dms.JournalFloor SET ChangeVersion = 1000;"


def parts(name: str) -> list[str]:
    """The statements of a query, without comments."""
    text = re.sub(r"--[^\n]*", "", sql.text_of("sqlserver", f"queries/{name}"))
    return [part.strip() for part in text.split(";") if part.strip()]


@pytest.mark.acceptance("50")
@pytest.mark.parametrize("name", READERS)
def test_floors_are_read_by_the_last_statement_and_events_before_it(name: str) -> None:
    *before, last = parts(name)
    assert "dms.JournalFloor" in last
    assert not [part for part in before if "dms.JournalFloor" in part]
    assert not [journal for journal in JOURNALS if f"dms.{journal}" in last]
    assert [part for part in before if any(f"dms.{journal}" in part for journal in JOURNALS)]


@pytest.mark.acceptance("50")
@pytest.mark.parametrize("name", READERS)
def test_a_prune_between_two_statements_is_told(sqlserver_server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = sql.query

    def cut(place: int) -> sa.TextClause:
        found = parts(name)
        return sa.text(";\n".join([*found[:place], PRUNED.rstrip(";"), *found[place:]]))

    for place in [0, *(number + 1 for number, part in enumerate(parts(name)) if "dms." in part)]:
        with sqlserver_server.copy_of_template() as url, dj.connect(url) as journal:
            student, plan = document(STUDENT, 1), document(PLAN, 1)
            write(journal, student, document(PLAN, 2, student), plan, document(SCHOOL, 1))
            with journal.write() as tx:
                tx.rekey(STUDENT, {"studentId": 1}, {"studentId": 2})
                tx.delete(PLAN, {"graduationPlanId": 1})
            journal.consumers.register("etl", 3)
            read = {
                "read/change_page": lambda journal: [c.document_id for c in journal.changes(PLAN, dj.Window(1))],
                "read/deletes": lambda journal: [d.document_id for d in journal.deletes(PLAN, dj.Window(1))],
                "read/key_changes": lambda journal: [k.document_id for k in journal.key_changes(STUDENT, dj.Window(1))],
                "operate/consumers": lambda journal: [c.state for c in journal.consumers.list() if c.state != "expired"],
            }[name]
            whole = read(journal)
            edited = cut(place)
            monkeypatch.setattr(sql, "query", lambda e, n, edited=edited: edited if n == name else shipped(e, n))
            try:
                assert read(journal) in ([whole, []] if name == "operate/consumers" else [whole])
            except dj.CheckpointExpired:
                pass
            finally:
                monkeypatch.setattr(sql, "query", shipped)
