"""What a writer may not write, and what readers do where it is there all the same (acceptance 106)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, commit, document, write

pytestmark = pytest.mark.acceptance("106")

LOWEST, HIGHEST = -(2**63), 2**63 - 1
WRITER = "limits_writer"
REFUSED = re.compile("ck_document_keyvalues|string buffer")  # that of its text, which the error would show


@contextmanager
def as_writer(connection: sa.Connection) -> Iterator[sa.Connection]:
    """A session of a role that has a writer's rights, and no others."""
    commit(
        connection,
        f"""DO $$ BEGIN IF to_regrole('{WRITER}') IS NULL THEN CREATE ROLE {WRITER}; END IF; END $$;
        GRANT USAGE ON SCHEMA dms TO {WRITER};
        GRANT SELECT, INSERT, UPDATE, DELETE ON dms.Document, dms.DocumentCache, dms.ReferenceEdge TO {WRITER};
        GRANT SELECT, INSERT ON dms.ResourceKey TO {WRITER}""",
    )
    commit(connection, f"SET ROLE {WRITER}")
    try:
        yield connection
    finally:
        connection.rollback()
        commit(connection, "RESET ROLE")


@pytest.fixture
def school(journal: dj.Journal) -> int:
    """A document, so that there is a resource."""
    return write(journal, document(SCHOOL, 1, body={"name": "Grand Bend"}))[0]


@pytest.mark.parametrize(
    "key",
    [
        "jsonb_build_object('k', repeat('x', 8200))",
        "jsonb_build_object('k', repeat(chr(1), 1400))",
        "jsonb_build_object('k', repeat(chr(1), 20000000))",
        "jsonb_build_object('k', '1e131071'::jsonb)",
        "(SELECT jsonb_object_agg(n, '1e131071'::jsonb) FROM generate_series(1, 1000) AS n)",
        "(SELECT kept FROM pg_temp.kept)",
    ],
    ids=["long", "control characters", "megabytes", "a number", "numbers", "compressed"],
)
def test_a_key_that_readers_could_not_read_is_refused(journal: dj.Journal, school: int, connections, key: str) -> None:
    """However small it is as it is stored: what counts is the text that readers get."""
    commit(connections[0], "CREATE TEMPORARY TABLE kept AS SELECT jsonb_build_object('k', repeat('x', 500000)) AS kept")
    commit(connections[0], "GRANT SELECT ON pg_temp.kept TO PUBLIC")
    with as_writer(connections[0]) as writer:
        for statement in (
            f"INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (1, {key})",
            f"UPDATE dms.Document SET KeyValues = {key} WHERE DocumentId = {school}",
        ):
            with pytest.raises(sa.exc.DBAPIError, match=REFUSED):
                commit(writer, statement)
    assert [event.change_version for event in journal.read_changes(dj.FeedRequest()).events] == [1]
    assert journal.verify().is_clean


def test_200_megabytes_of_control_characters_are_refused(journal: dj.Journal, school: int, connections) -> None:
    with as_writer(connections[0]) as writer, pytest.raises(sa.exc.DBAPIError, match=REFUSED):
        commit(
            writer,
            "INSERT INTO dms.Document (ResourceKeyId, KeyValues) VALUES (1, jsonb_build_object('k', repeat(chr(1), 200000000)))",
        )
    assert [event.change_version for event in journal.read_changes(dj.FeedRequest()).events] == [1]


@pytest.mark.parametrize(
    "key_values",
    [
        {"k": "x" * 8000},
        {"k": "\x01" * 1300},
        {f"n{n}": n for n in range(500)},
        {"a": Decimal("1E+30"), "b": Decimal("1.50"), "c": 1e22, "d": 1e-7, "e": 7, "f": None, "g": True, "h": 'é\x7f\\"\n'},
        {"n": Decimal("1E+8000")},
    ],
    ids=["text", "control characters", "names", "numbers", "a long number"],
)
def test_the_writer_measures_a_key_as_the_database_does(connections, key_values: dict[str, object]) -> None:
    """What is one byte too long is refused before anything is written; what fits is written."""
    from dmsjournal.model.documents import _stored_bytes, as_json

    text = as_json("key_values", key_values)
    [(size,)] = connections[0].execute(sa.text("SELECT octet_length(CAST(CAST(:key AS jsonb) AS text))"), {"key": text.decode()})
    assert _stored_bytes(text, key_values) == size
    longest = key_values | {"rest": "x" * (8192 - size - len(', "rest": ""'))}
    dj.Document(STUDENT, longest)
    with pytest.raises(dj.InvalidRequest, match="8192 bytes"):
        dj.Document(STUDENT, longest | {"rest": longest["rest"] + "x"})


def test_the_longest_key_is_written_read_and_deleted(journal: dj.Journal, connections) -> None:
    longest = {"k": "\x01" * 1363 + "12345"}
    write(journal, dj.Document(STUDENT, longest))
    [event] = journal.read_changes(dj.FeedRequest()).events
    assert event.key.key_values == longest
    with journal.write() as tx:
        tx.delete(STUDENT, longest)
    assert [delete.key_values for delete in journal.deletes(STUDENT)] == [longest]
    assert journal.verify().is_clean


def test_a_body_has_64_mib_and_the_error_says_where_the_limit_is(journal: dj.Journal, school: int, connections) -> None:
    with as_writer(connections[0]) as writer:
        for body in (
            "jsonb_build_object('b', repeat(chr(1), 11500000))",
            "jsonb_build_array('1e131071'::jsonb) || (SELECT jsonb_agg('1e131071'::jsonb) FROM generate_series(1, 520))",
        ):
            with pytest.raises(sa.exc.DBAPIError, match="ck_documentcache_documentjson"):
                commit(writer, f"UPDATE dms.DocumentCache SET DocumentJson = {body}")
    commit(connections[0], "ALTER TABLE dms.DocumentCache DROP CONSTRAINT CK_DocumentCache_DocumentJson")
    commit(
        connections[0],
        "ALTER TABLE dms.DocumentCache ADD CONSTRAINT CK_DocumentCache_DocumentJson"
        " CHECK (octet_length(DocumentJson::text) <= 1000)",
    )
    with pytest.raises(dj.InvalidRequest, match=r"ck_documentcache_documentjson.*docs/dba/limits\.md"):
        write(journal, document(SCHOOL, 2, body={"name": "x" * 1000}))
    write(journal, document(SCHOOL, 2, body={"name": "x" * 900}))
    assert journal.verify().is_clean


@pytest.mark.parametrize("document_id", [LOWEST, HIGHEST])
def test_the_ends_of_bigint_are_no_ids(journal: dj.Journal, school: int, connections, document_id: int) -> None:
    with as_writer(connections[0]) as writer, pytest.raises(sa.exc.IntegrityError, match="ck_document_documentid"):
        commit(writer, f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES ({document_id}, 1)")


def test_ids_beside_the_ends_are_found_by_every_walk(journal: dj.Journal, school: int, connections) -> None:
    ids = [LOWEST + 1, -1, 0, HIGHEST - 1]
    with as_writer(connections[0]) as writer:
        for document_id in ids:
            commit(writer, f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES ({document_id}, 1)")
    everything = sorted([*ids, school])
    assert sorted(change.document_id for change in journal.changes(SCHOOL, page_size=1)) == everything
    assert [change.document_id for change in journal.snapshot(SCHOOL, page_size=1)] == everything
    assert sorted(event.key.document_id for event in journal.read_changes(dj.FeedRequest()).events) == everything
    assert journal.verify().documents == 5
    assert journal.verify().is_clean


@pytest.mark.parametrize("document_id", [LOWEST, HIGHEST])
def test_an_id_at_an_end_that_is_older_than_the_check_is_found(
    journal: dj.Journal, school: int, connections, document_id: int
) -> None:
    commit(connections[0], "ALTER TABLE dms.Document DROP CONSTRAINT CK_Document_DocumentId")
    commit(connections[0], f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES ({document_id}, 1)")
    found = {finding.code: finding for finding in journal.verify().findings}
    assert found["id-reserved"].objects == (f"document {document_id}",)


def test_ids_ahead_of_the_sequence_are_found_and_passed(journal: dj.Journal, school: int, connections) -> None:
    with as_writer(connections[0]) as writer:
        commit(writer, "INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES (2, 1), (3, 1), (70, 1)")
        commit(writer, "INSERT INTO dms.ResourceKey VALUES (2, 'Ed-Fi', 'A', '1'), (32767, 'Ed-Fi', 'B', '1')")
        with pytest.raises(sa.exc.IntegrityError, match="pk_document"):
            commit(writer, "INSERT INTO dms.Document (ResourceKeyId) VALUES (1)")
    [finding] = journal.verify().findings
    assert (finding.code, finding.count) == ("ids-ahead", 2)
    assert journal.repair().left.is_clean
    assert write(journal, document(SCHOOL, 2)) == [71]
    write(journal, document(STUDENT, 1))
    assert max(journal.resources().values()) == 32767
    assert journal.resources()[STUDENT] == 3


def test_a_repair_does_not_use_up_the_ids(journal: dj.Journal, school: int, connections) -> None:
    """An id in the upper half is only passed where it is next."""
    with as_writer(connections[0]) as writer:
        commit(writer, f"INSERT INTO dms.Document (DocumentId, ResourceKeyId) VALUES ({HIGHEST - 1}, 1), ({2**62}, 1)")
    assert journal.verify().is_clean
    commit(connections[0], f"SELECT setval('dms.document_documentid_seq', {2**62 - 1})")
    assert [finding.code for finding in journal.verify().findings] == ["ids-ahead"]
    assert journal.repair().left.is_clean
    assert write(journal, document(SCHOOL, 2)) == [2**62 + 1]


@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\nb", "\x7f", "a\x9b31m", "\t"], ids=ascii)
@pytest.mark.parametrize("column", ["ProjectName", "ResourceName", "ResourceVersion"])
def test_a_resource_is_named_with_printable_characters(connections, column: str, name: str) -> None:
    names = {"ProjectName": "Ed-Fi", "ResourceName": "Ñandú 学校", "ResourceVersion": "1"}
    insert = sa.text(
        "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion)"
        " VALUES (:ProjectName, :ResourceName, :ResourceVersion)"
    )
    with as_writer(connections[0]) as writer:
        with writer.begin():
            writer.execute(insert, names)
        with pytest.raises(sa.exc.IntegrityError, match="ck_resourcekey_printable"):
            writer.execute(insert, names | {column: name})
