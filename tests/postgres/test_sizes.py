"""How much disk the journals take, and what is told of it (docs/dba/costs.md, Sizes)."""

import time

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import commit

DOCUMENTS = 20_000
WRITES = (
    "INSERT INTO dms.ResourceKey (ProjectName, ResourceName, ResourceVersion) VALUES ('Ed-Fi', 'Student', '5.2.0')",
    f"""INSERT INTO dms.Document (ResourceKeyId, KeyValues)
        SELECT 1, jsonb_build_object('studentUniqueId', md5(n::text)) FROM generate_series(1, {DOCUMENTS}) AS n""",
    "UPDATE dms.Document SET ContentVersion = -1",
    "UPDATE dms.Document SET KeyValues = jsonb_build_object('studentUniqueId', md5('new' || DocumentId))",
    f"DELETE FROM dms.Document WHERE DocumentId <= {DOCUMENTS // 2}",
)
BYTES = {  # an event with its index entries: what docs/dba/costs.md says
    "DocumentChangeEvent": (140, 220),
    "IdentityChangeEvent": (120, 190),
    "KeyChangeEvent": (280, 450),
    "DocumentDeleteEvent": (180, 330),
}


@pytest.fixture
def grown(url: str, connections: list[sa.Connection]) -> str:
    for statement in WRITES:
        commit(connections[0], statement)
    return url


def test_an_event_takes_as_much_as_the_page_says(grown: str, connections: list[sa.Connection]) -> None:
    for journal, (least, most) in BYTES.items():
        measure = f"SELECT pg_total_relation_size('dms.{journal}') / count(*) FROM dms.{journal}"
        [(size,)] = commit(connections[0], measure)
        assert least <= size <= most, (journal, size)


def test_the_estimate_of_rows_hears_of_a_prune_before_a_vacuum(
    grown: str, journal: dj.Journal, connections: list[sa.Connection]
) -> None:
    """The planner's number of rows is the last vacuum's: with the size that the table keeps, it tells of rows that are gone."""
    commit(connections[0], "ALTER TABLE dms.DocumentChangeEvent SET (autovacuum_enabled = off); ANALYZE dms.DocumentChangeEvent")
    [(before,)] = commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent")
    journal.prune(keep_at_least=1_000, batch_size=50_000)
    [(rows,)] = commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent")
    deleted = "SELECT n_tup_del FROM pg_stat_all_tables WHERE relid = 'dms.DocumentChangeEvent'::regclass"
    while commit(connections[0], deleted) != [(before - rows,)]:
        time.sleep(0.05)  # a session tells its numbers when it has been idle for a second, and the prune has several batches
    [told] = [each.rows for each in journal.status().journals if each.name == "DocumentChangeEvent"]
    assert rows <= told < 2 * rows


@pytest.mark.parametrize("options", [[], ["partitions"]], ids=["", "in parts"])
def test_each_journal_and_part_is_vacuumed_early(url: str, connections: list[sa.Connection], options: list[str]) -> None:
    if options:
        migrate.upgrade(url, options=options)
        with dj.connect(url) as journal:
            journal.partitions.ensure(versions=1_000, ahead=1)
    tables = "relnamespace = 'dms'::regnamespace AND relkind = 'r' AND relname ~ '^(document|identity|key)(change|delete)event'"
    without = f"SELECT relname FROM pg_class WHERE {tables} AND NOT coalesce(reloptions::text ~ 'vacuum_scale_factor=0.02', false)"
    assert commit(connections[0], without) == []
