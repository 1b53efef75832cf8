"""Leases on PostgreSQL: which role takes which."""

import psycopg
import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.operate import lease
from tests.helpers import STUDENT, commit, document, in_psycopg, write
from tests.postgres.test_consumer_rights import attacker, victim  # noqa: F401  # fixtures
from tests.postgres.test_rights import urls  # noqa: F401  # the fixture


def test_a_reader_takes_no_lease(journal: dj.Journal, urls: dict[str, sa.URL]) -> None:  # noqa: F811
    with dj.connect(urls["reader"]) as reader:
        for take in (lambda: reader.consumers.hold("etl").__enter__(), lambda: reader.prune(0)):
            with pytest.raises(dj.DatabaseRefused, match="permission denied for function hold_lease"):
                take()
    with psycopg.connect(in_psycopg(urls["reader"])) as reading:
        assert reading.execute("SELECT count(*) FROM dms.Lease").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reading.execute("SELECT FROM dms.Lease FOR UPDATE")


def test_a_consumer_takes_the_lease_of_its_own_name(victim: dj.Journal, attacker: sa.URL, connections: list[sa.Connection]) -> None:  # noqa: F811
    with dj.connect(attacker) as other:
        with pytest.raises(dj.DatabaseRefused, match="consumer warehouse belongs to role reader_"):
            other.consumers.hold("warehouse").__enter__()
        with pytest.raises(dj.DatabaseRefused, match="may not prune"):
            lease.lease_of_prune(other.database).take()
        with victim.consumers.hold("warehouse") as held, psycopg.connect(in_psycopg(attacker), autocommit=True) as attacking:
            [(token,)] = attacking.execute("SELECT Token FROM dms.Lease").fetchall()  # it may read it, and it is of no use
            for seconds in (0, 300):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    attacking.execute("SELECT dms.hold_lease('consumer warehouse', %s, 'x', %s, true)", [token, seconds])
            with pytest.raises(psycopg.Error, match="a lease of 301 seconds"):
                attacking.execute("SELECT dms.hold_lease('consumer own', gen_random_uuid(), 'x', 301, true)")
            with pytest.raises(psycopg.errors.CheckViolation):
                attacking.execute("SELECT dms.hold_lease('consumer own', gen_random_uuid(), E'\\x1b[2J', 3, true)")
            assert held.is_held()
        with other.consumers.hold("own"):
            pass


def test_no_role_keeps_prunes_or_consumers_away_by_a_lock(journal: dj.Journal, urls: dict[str, sa.URL], connections) -> None:  # noqa: F811
    write(journal, document(STUDENT, 1))
    with psycopg.connect(in_psycopg(urls["reader"])) as reader:
        for strength in ("UPDATE", "SHARE", "KEY SHARE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(f"SELECT FROM dms.JournalFloor FOR {strength}")
            reader.rollback()
        reader.execute("SELECT pg_advisory_lock(1146768493, key) FROM generate_series(0, 9) AS key")
        reader.execute("SELECT pg_advisory_lock(1146768494, hashtext('etl'))")
        with journal.consumers.hold("etl"):
            journal.consumers.register("etl", 1)
            assert journal.prune(1).finished
    assert commit(connections[0], "SELECT count(*) FROM dms.DocumentChangeEvent") == [(0,)]
