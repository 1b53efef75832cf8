"""An error that somebody else's trigger, check, index or foreign key raised (acceptance 84): the server's words and their name."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, commit, document, write

TRIGGERS = {
    "missing table": "PERFORM 1 FROM app.nowhere",
    "missing function": "PERFORM app.nothing()",
    "missing column": "PERFORM NEW.Nothing",
    "no number": "PERFORM 'x'::integer",
    "raised": "RAISE EXCEPTION 'not today' USING ERRCODE = '23514'",
}
ADDED = {
    "check": ("ALTER TABLE dms.Document ADD CONSTRAINT ck_mine CHECK (ResourceKeyId < 0) NOT VALID", "ck_mine"),
    "unique index": ("CREATE UNIQUE INDEX ux_mine ON dms.Document ((true))", "ux_mine"),
    "check of bodies": ("ALTER TABLE dms.DocumentCache ADD CONSTRAINT ck_bodies CHECK (Etag = '') NOT VALID", "ck_bodies"),
    "check of edges": ("ALTER TABLE dms.ReferenceEdge ADD CONSTRAINT ck_edges CHECK (false) NOT VALID", "ck_edges"),
}


@pytest.mark.acceptance("84")
@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_trigger_of_somebody_else_is_named(journal: dj.Journal, connections: list[sa.Connection], kind: str) -> None:
    commit(connections[0], "CREATE SCHEMA app")
    body = f"$$ BEGIN {TRIGGERS[kind]}; RETURN NEW; END $$"
    commit(connections[0], f"CREATE FUNCTION app.mine() RETURNS trigger LANGUAGE plpgsql AS {body}")
    commit(connections[0], "CREATE TRIGGER mine AFTER INSERT ON dms.Document FOR EACH ROW EXECUTE FUNCTION app.mine()")
    with pytest.raises(dj.DatabaseRefused, match=r"app\.mine says so, a function that is not dmsjournal's"):
        write(journal, document(STUDENT, 1))


@pytest.mark.acceptance("84")
@pytest.mark.parametrize("kind", ADDED)
def test_a_constraint_of_somebody_else_is_named(journal: dj.Journal, connections: list[sa.Connection], kind: str) -> None:
    statement, name = ADDED[kind]
    write(journal, document(STUDENT, 1), document(SCHOOL, 1))
    if kind == "unique index":
        commit(connections[0], "DELETE FROM dms.Document WHERE DocumentId = 2")
    commit(connections[0], statement)
    with pytest.raises(dj.DatabaseRefused, match=f"{name} on dms..* is not dmsjournal's"):
        write(journal, document(SCHOOL, 2, document(STUDENT, 1)))


@pytest.mark.acceptance("84")
@pytest.mark.parametrize("cascade", [False, True])
def test_a_foreign_key_of_somebody_else_is_named(journal: dj.Journal, connections: list[sa.Connection], *, cascade: bool) -> None:
    write(journal, document(STUDENT, 1))
    commit(connections[0], "CREATE TABLE public.theirs (DocumentId bigint CONSTRAINT fk_theirs REFERENCES dms.Document)")
    commit(connections[0], "INSERT INTO public.theirs VALUES (1)")
    with pytest.raises(dj.DatabaseRefused, match=r"fk_theirs on public\.theirs is not dmsjournal's"), journal.write() as tx:
        tx.delete(STUDENT, {"studentId": 1}, cascade=cascade)
