"""What Spark reads of SQL Server through Microsoft's JDBC driver: the same frames as of PostgreSQL."""

import json
from datetime import UTC
from typing import Any

import pytest
from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark.dataframes import Reading, read
from tests.helpers import PLAN, STUDENT, document, write

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.parametrize("url", ["sqlserver"], indirect=True)]

RESOURCES = [STUDENT, PLAN]


@pytest.fixture
def history(url: str, journal: dj.Journal) -> str:
    """Students with plans; one student is renamed twice, one plan deleted; names of several scripts."""
    students = [document(STUDENT, f"Zoë 李 🎓 {n}", body={"says": f"🎓 {n}"}) for n in range(20)]
    write(journal, *students, *(document(PLAN, n, students[n % 3], students[n % 7 + 3]) for n in range(30)))
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": "Zoë 李 🎓 1"}, {"studentId": "\U0001d504"})
        tx.rekey(STUDENT, {"studentId": "Zoë 李 🎓 4"}, {"studentId": "B"})
        tx.delete(PLAN, {"graduationPlanId": 7})
        tx.delete(STUDENT, {"studentId": "Zoë 李 🎓 19"})
    with journal.write() as tx:
        tx.rekey(STUDENT, {"studentId": "B"}, {"studentId": "C"})
    return url


@pytest.mark.acceptance("60", "64")
@pytest.mark.parametrize("full", [False, True])
def test_changes_are_those_of_the_journal(spark: SparkSession, history: str, journal: dj.Journal, full: bool) -> None:
    expected = {(c.change_version, c.document_id, str(c.document_uuid)) for each in RESOURCES for c in journal.changes(each)}
    for asked, parts in ((None, 1), (RESOURCES, 4)):
        with read(spark, history, asked, full=full, parts=parts) as reading:
            found = reading.changes(body=True, derived=True).collect()
            assert len(reading.plan.parts) == parts
        assert len(found) == len(expected)
        assert {(row.change_version, row.document_id, row.document_uuid) for row in found} == expected
    ids = [row.document_id for row in found]
    derived, stored = journal.derive(ids), journal.documents(ids)
    for row in found:
        own = derived[row.document_id]
        assert (row.etag, row.last_modified.astimezone(UTC)) == (own.etag, own.last_modified)
        assert json.loads(row.key_values) == stored[row.document_id].key_values
        assert (row.body and json.loads(row.body)) == stored[row.document_id].body


def test_deletes_and_key_changes_are_those_of_the_journal(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    with read(spark, history, RESOURCES, events_per_part=1) as reading:
        deletes, key_changes = reading.deletes().collect(), reading.key_changes().collect()
    found: Any = {(d.change_version, str(d.document_uuid), d.deleted_at) for each in RESOURCES for d in journal.deletes(each)}
    assert {(row.change_version, row.document_uuid, row.committed_at.astimezone(UTC)) for row in deletes} == found
    assert len(deletes) == len(found) == 2
    found = {c.change_version: (c.old_key_values, c.new_key_values) for c in journal.key_changes(STUDENT)}
    assert {row.change_version: (json.loads(row.old_key_values), json.loads(row.new_key_values)) for row in key_changes} == found
    assert len(key_changes) == len(found) == 2


def test_what_is_pruned_while_it_is_read_is_told_at_the_end(spark: SparkSession, history: str, journal: dj.Journal) -> None:
    """No snapshot holds it: a task that comes late would find less, and nobody would know."""
    with pytest.raises(dj.CheckpointExpired), read(spark, history, STUDENT, dj.Window(1)) as reading:
        read_beside_a_prune(reading, journal)


def read_beside_a_prune(reading: Reading, journal: dj.Journal) -> None:
    frame = reading.changes()
    journal.prune(30)
    frame.collect()
