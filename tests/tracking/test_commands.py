"""The ways in to tracking: the command line, a script, Alembic operations, Python; and what refuses on SQL Server."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from typer.testing import CliRunner

import dmsjournal as dj
import dmsjournal.alembic  # registers the operations
from dmsjournal.cli import app
from dmsjournal.database import postgres, sqlserver
from dmsjournal.operate import tracking
from dmsjournal.schema import migrate
from tests.migrations.conftest import Program

from .helpers import Sql

SHOP = """CREATE SCHEMA shop; CREATE TABLE shop.customer (id int PRIMARY KEY, name text);
CREATE TABLE shop."Order" (id int PRIMARY KEY, customer int REFERENCES shop.customer);
INSERT INTO shop.customer VALUES (1, 'Ada'); INSERT INTO shop."Order" VALUES (1, 1);"""


def cli(url: str, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--url", url])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_schema_is_tracked_in_the_order_of_its_foreign_keys(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    plan = cli(tracked, "track", "--schema", "shop", "--project", "Shop", "--shows", "shop.customer=name", "--dry-run")
    assert plan.index("CREATE VIEW dms.tracked_1 ") < plan.index("CREATE OR REPLACE TRIGGER zz_dmsjournal_2_insert AFTER INSERT")
    assert cli(tracked, "tracked") == ""
    cli(tracked, "track", "--schema", "shop", "--project", "Shop", "--shows", "shop.customer=name")
    assert [line.split("\t")[0] for line in cli(tracked, "tracked").splitlines()] == ['shop."Order"', "shop.customer"]
    sql("UPDATE shop.customer SET name = 'Eve'")
    assert len(cli(tracked, "changes", "Order", "--min", "3").splitlines()) == 1
    assert cli(tracked, "verify")
    sql("CREATE TABLE shop.more (id int PRIMARY KEY)")
    cli(tracked, "track", "--schema", "shop", "--project", "Shop")
    cli(tracked, "track", "--renew")
    assert cli(tracked, "untrack", "shop.customer") == "untracked=shop.customer\n"
    assert len(cli(tracked, "deletes", "customer").splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["track"], "name tables"),
        (["track", "shop.customer", "--renew", "--bodies"], "--renew takes tables alone"),
        (["track", "shop.customer", "--shows", "name"], "write it as TABLE=NAME"),
        (["track", "shop.customer", "--shows", "shop.customer=nam"], "has no column nam"),
        (["track", "--schema", "shopp"], "it has no table that is not tracked yet"),
        (["track", "shop.nothing"], "table shop.nothing is not there"),
        (["untrack", "shop.customer"], "table shop.customer is not tracked"),
        (["track", "shop.customer", "--blocks", "0"], "give a number from 1 to 100,000"),
    ],
)
def test_a_wrong_command_names_what_is_wrong(tracked: str, sql: Sql, arguments: list[str], told: str) -> None:
    sql(SHOP)
    done = CliRunner().invoke(app, [*arguments, "--url", tracked], env={"COLUMNS": "200"})
    assert done.exit_code in (1, 2, 5)  # 5: the database refuses it
    assert told in done.output
    assert sql("SELECT count(*) FROM dms.TrackedTable") == [(0,)]


def test_a_database_without_the_option_says_so(url: str) -> None:
    with dj.connect(url) as journal:
        assert journal.tracked() == []
        with pytest.raises(dj.UnsupportedCapability, match="upgrade --with tracking"):
            journal.track(dj.TrackedTable("app.a"))


def test_a_script_tracks_without_a_connection(tracked: str, sql: Sql, tmp_path: Path, program: Program) -> None:
    sql(SHOP)
    done = CliRunner().invoke(app, ["sql", "track", "shop.customer", "--project", "It's", "--shows", "shop.customer=name"])
    assert done.exit_code == 0, done.output
    script = tmp_path / "track.sql"
    script.write_text(done.stdout + CliRunner().invoke(app, ["sql", "untrack", "shop.customer"]).stdout)
    program("psql", tracked, "--no-psqlrc", "--quiet", f"--file={script}")
    gone = sql("SELECT ResourceName FROM dms.DocumentDeleteEvent JOIN dms.ResourceKey USING (ResourceKeyId)")
    assert gone == [("customer",)]


def test_alembic_operations_run_online_and_offline(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    table = sa.Table(
        "customer",
        sa.MetaData(schema="shop"),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, info={"dmsjournal": "shown"}),
    )
    engine = sa.create_engine(tracked)
    with engine.begin() as conn:
        op = Operations(MigrationContext.configure(conn))
        op.track_table(table)  # type: ignore[attr-defined]
        op.track_table('shop."Order"', fill=False)  # type: ignore[attr-defined]
    with dj.connect(tracked) as journal:
        found = {one.table: one for one in journal.tracked()}
        assert found["shop.customer"].shows == ("id", "name")
        assert (found["shop.customer"].is_filled, found['shop."Order"'].is_filled) == (True, False)
    with engine.begin() as conn:
        Operations(MigrationContext.configure(conn)).untrack_table('shop."Order"')  # type: ignore[attr-defined]
    engine.dispose()
    written: list[str] = []
    offline = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True})
    offline.impl.static_output = written.append  # type: ignore[method-assign]
    Operations(offline).track_table("shop.it's", shows=["n"])  # type: ignore[attr-defined]
    assert any("dms.track(" in text and "'shop.it''s'" in text for text in written)


def test_sql_server_refuses_each_way_in() -> None:
    with pytest.raises(dj.UnsupportedCapability, match="PostgreSQL only"):
        migrate.script("sqlserver", option="tracking")
    with pytest.raises(dj.UnsupportedCapability, match="PostgreSQL only"):
        tracking.script(sqlserver, [dj.TrackedTable("app.a")], "5s")
    with pytest.raises(dj.UnsupportedCapability, match="PostgreSQL only"):
        migrate.upgrade("mssql+pyodbc://u:p@127.0.0.1:1/d?driver=x", options=["tracking"])
    with dj.connect("mssql+mssqlpython://u:p@127.0.0.1:1/d") as journal:
        for call in (journal.tracked, lambda: journal.track(dj.TrackedTable("app.a")), lambda: journal.untrack("app.a")):
            with pytest.raises(dj.UnsupportedCapability, match="PostgreSQL only"):
                call()
    offline = MigrationContext.configure(dialect_name="mssql", opts={"as_sql": True})
    with pytest.raises(dj.UnsupportedCapability, match="PostgreSQL only"):
        Operations(offline).track_table("app.a")  # type: ignore[attr-defined]
    assert postgres.NO_TRACKING == ""
