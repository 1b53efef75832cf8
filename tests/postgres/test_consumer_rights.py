"""A consumer's row belongs to the role that registered it (acceptance 107): the attacker here is another consumer."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

import dmsjournal as dj
from tests.helpers import STUDENT, commit, document, in_psycopg, write
from tests.postgres.test_rights import client, make_consumer, urls  # noqa: F401  # the fixture

ATTACKER = "attacker_of_{}"


@pytest.fixture
def attacker(url: str, urls: dict[str, sa.URL], connections: list[sa.Connection]) -> Iterator[sa.URL]:  # noqa: F811
    """The URL of a role that is a consumer as the reader is, and may do all that the documents say of one."""
    name = ATTACKER.format(sa.make_url(url).database)
    with psycopg.connect(in_psycopg(url), autocommit=True) as admin:
        role = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(role))
        admin.execute(sql.SQL("GRANT USAGE ON SCHEMA dms TO {}").format(role))
        admin.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA dms TO {}").format(role))
        admin.execute(sql.SQL("GRANT SELECT ON SEQUENCE dms.ChangeVersionSequence TO {}").format(role))
        attacking = sa.make_url(url).set(username=name, password="secret")
        make_consumer(connections[0], attacking)
        make_consumer(connections[0], urls["reader"])
        yield attacking
        admin.execute(sql.SQL("DROP OWNED BY {}").format(role))
        admin.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.fixture
def victim(journal: dj.Journal, urls: dict[str, sa.URL], attacker: sa.URL) -> Iterator[dj.Journal]:  # noqa: F811
    """The reader, which has registered consumer warehouse at version 1 of 3."""
    write(journal, *(document(STUDENT, number) for number in range(3)))
    with dj.connect(urls["reader"]) as reader:
        reader.consumers.register("warehouse", 1)
        yield reader


def row(connection: sa.Connection, columns: str = "*") -> Any:
    return commit(connection, f"SELECT {columns} FROM dms.ChangeConsumer WHERE Name = 'warehouse'")


@pytest.mark.acceptance("107")
def test_a_consumer_cannot_move_remove_or_take_over_another_roles(victim: dj.Journal, attacker: sa.URL, connections) -> None:
    before = row(connections[0])
    with dj.connect(attacker) as other:
        for attack in (
            lambda: other.consumers.advance("warehouse", 3),
            lambda: other.consumers.advance("warehouse", 0, backwards=True),
            lambda: other.consumers.drop("warehouse"),
            lambda: dj.DatabaseCheckpoint(other, "warehouse").save(other.read_changes(dj.FeedRequest()).token),
        ):
            with pytest.raises(dj.DatabaseRefused, match="consumer warehouse belongs to role reader_") as refused:
                attack()
            assert refused.value.refused == "right"
        with pytest.raises(dj.InvalidRequest, match="registered already"):
            other.consumers.register("warehouse", 0)
        assert other.consumers.get("warehouse").through == 1  # everybody sees it, and so does a prune
        other.consumers.register("mine", 2)
        assert other.consumers.advance("mine", 3).through == 3
        other.consumers.drop("mine")
    assert row(connections[0]) == before


@pytest.mark.acceptance("107")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT FROM dms.ChangeConsumer FOR UPDATE",
        "SELECT FROM dms.ChangeConsumer FOR KEY SHARE",
        "BEGIN; LOCK TABLE dms.ChangeConsumer IN SHARE MODE",
        "BEGIN; LOCK TABLE dms.ChangeConsumer IN ACCESS EXCLUSIVE MODE",
        "UPDATE dms.ChangeConsumer SET UpdatedAt = 'infinity'",
        "DELETE FROM dms.ChangeConsumer",
        "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId) VALUES ('x', 1, 1)",
        "TRUNCATE dms.ChangeConsumer",
        "ALTER TABLE dms.ChangeConsumer DISABLE TRIGGER ALL",
        "CREATE TRIGGER mine BEFORE UPDATE ON dms.ChangeConsumer FOR EACH ROW EXECUTE FUNCTION dms.keep_consumer()",
    ],
)
def test_a_consumer_has_no_right_on_the_table(victim: dj.Journal, attacker: sa.URL, statement: str) -> None:
    with client(attacker) as other, pytest.raises(psycopg.errors.InsufficientPrivilege):
        other.execute(statement)


@pytest.mark.acceptance("107")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dms.ChangeConsumer SET ChangeVersion = 3",
        "UPDATE dms.ChangeConsumer SET Owner = '{attacker}'",
        "UPDATE dms.ChangeConsumer SET Name = 'other'",
        "DELETE FROM dms.ChangeConsumer",
        "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId, Owner) VALUES ('warehouse', 3, 0, '{attacker}') "
        "ON CONFLICT (Name) DO UPDATE SET ChangeVersion = 3",
    ],
)
def test_a_right_on_the_table_is_no_right_on_another_roles_row(
    victim: dj.Journal, attacker: sa.URL, connections, statement: str
) -> None:
    commit(connections[0], f'GRANT INSERT, UPDATE, DELETE ON dms.ChangeConsumer TO "{attacker.username}"')
    before = row(connections[0])
    with client(attacker) as other:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="consumer warehouse belongs to role reader_"):
            other.execute(statement.format(attacker=attacker.username))
        other.execute(
            "INSERT INTO dms.ChangeConsumer (Name, ChangeVersion, DocumentId, Owner, UpdatedAt) "
            "VALUES ('forged', 0, 0, %s, 'infinity')",
            [victim.database.pool.url.username],
        )
        assert other.execute("SELECT Owner, isfinite(UpdatedAt) FROM dms.ChangeConsumer WHERE Name = 'forged'").fetchone() == (
            attacker.username,
            True,
        )
        other.execute("UPDATE dms.ChangeConsumer SET UpdatedAt = 'infinity', Owner = 'postgres' WHERE Name = 'forged'")
    assert row(connections[0]) == before
    assert {consumer.name for consumer in victim.status().consumers} == {"forged", "warehouse"}


@pytest.mark.acceptance("107")
def test_who_may_prune_may_move_and_remove_a_stuck_consumer(victim: dj.Journal, urls, connections) -> None:  # noqa: F811
    with dj.connect(urls["pruner"]) as pruner:
        assert pruner.prune(3).held_by is not None  # it sees the row: no prune passes what it cannot see
        assert pruner.consumers.advance("warehouse", 2).through == 2
        assert row(connections[0], "Owner") == [(victim.database.pool.url.username,)]
        assert victim.consumers.advance("warehouse", 3).through == 3
        pruner.consumers.drop("warehouse")
    assert list(victim.consumers.list()) == []


@pytest.mark.acceptance("107")
def test_a_pools_roles_and_members_of_the_owner_own_a_row(victim: dj.Journal, attacker: sa.URL, connections) -> None:
    """An application may share one role, or act as one of several by SET ROLE: the row belongs to the role in which it acted."""
    owner, login = victim.database.pool.url.username, attacker.username
    commit(connections[0], f'GRANT "{owner}" TO "{login}"')
    with client(attacker) as other:
        assert other.execute("SELECT * FROM dms.move_consumer('warehouse', 2, 0, NULL, false)").fetchall() == [("warehouse",)]
        other.execute(f'SET ROLE "{owner}"')
        other.execute("SELECT dms.register_consumer('by set role', 1, 0, NULL)")
        other.execute("RESET ROLE")
    assert commit(connections[0], "SELECT Owner FROM dms.ChangeConsumer WHERE Name = 'by set role'") == [(owner,)]
    commit(connections[0], f'REVOKE "{owner}" FROM "{login}"')
    with client(attacker) as other, pytest.raises(psycopg.errors.InsufficientPrivilege, match="belongs to role"):
        other.execute("SELECT dms.drop_consumer('by set role')")


@pytest.mark.acceptance("107")
def test_after_a_restore_without_its_role_a_row_is_the_operators(victim: dj.Journal, attacker: sa.URL, connections) -> None:
    commit(connections[0], "UPDATE dms.ChangeConsumer SET Owner = 'of another cluster'")
    for journal in (victim, dj.connect(attacker)):
        with journal as other, pytest.raises(dj.DatabaseRefused, match="belongs to role of another cluster"):
            other.consumers.advance("warehouse", 2)
    commit(connections[0], f"UPDATE dms.ChangeConsumer SET Owner = '{victim.database.pool.url.username}'")
    with dj.connect(victim.database.pool.url) as again:
        assert again.consumers.advance("warehouse", 2).through == 2


@pytest.mark.parametrize(
    "name", ["\x1b[2J", "a\nb", "a\tb", "a\u202eb", "a\u200fb", "", "\x7f", "a\u2028b", "\U000e0041", "\ufeff"]
)
def test_the_database_refuses_a_name_that_no_terminal_can_print(victim: dj.Journal, connections, name: str) -> None:
    insert = sa.text("SELECT dms.register_consumer(:name, 1, 0, NULL)")
    with pytest.raises(sa.exc.IntegrityError, match="ck_changeconsumer_name"):
        connections[0].execute(insert, {"name": name})
    connections[0].rollback()
    for good in ("Wärehouse/2", "倉庫", "two words", "😀"):
        connections[0].execute(insert, {"name": good})
        connections[0].rollback()


def test_a_time_that_is_not_finite_is_refused_even_past_the_trigger(victim: dj.Journal, connections) -> None:
    commit(connections[0], "ALTER TABLE dms.ChangeConsumer DISABLE TRIGGER ALL")
    with pytest.raises(sa.exc.IntegrityError, match="ck_changeconsumer_updatedat"):
        commit(connections[0], "UPDATE dms.ChangeConsumer SET UpdatedAt = 'infinity'")
    connections[0].rollback()
    assert victim.status().consumers
