"""When a document or an edge came is the database's to say, whatever a writer writes."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import STUDENT, commit, document, write

FORGED = ("1999-01-01", "2099-01-01")


@pytest.mark.parametrize("time", FORGED)
def test_a_writers_created_at_is_not_kept(journal: dj.Journal, connections: list[sa.Connection], time: str) -> None:
    write(journal, document(STUDENT, 1))
    commit(connections[0], f"INSERT INTO dms.Document (ResourceKeyId, CreatedAt) VALUES (1, '{time}')")
    [[child]] = commit(connections[0], "SELECT MAX(DocumentId) FROM dms.Document")
    commit(
        connections[0],
        "INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, ParentResourceKeyId, CreatedAt) "
        f"VALUES (1, {child}, 1, '{time}')",
    )
    assert forged(connections[0]) == [0, 0, 0]
    if connections[0].dialect.name == "postgresql":
        for statement in ("UPDATE dms.Document SET CreatedAt = '{}'", "UPDATE dms.ReferenceEdge SET CreatedAt = '{}'"):
            commit(connections[0], statement.format(time))
    assert forged(connections[0]) == [0, 0, 0]


def forged(connection: sa.Connection) -> list[int]:
    wrong = "CreatedAt < '2020-01-01' OR CreatedAt > '2098-01-01'"
    tables = ("Document", "ReferenceEdge", "DocumentChangeEvent")
    return [commit(connection, f"SELECT COUNT(*) FROM dms.{table} WHERE {wrong}")[0][0] for table in tables]
