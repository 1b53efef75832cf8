"""The ways in to tracking: the command line, a script, Alembic operations, Python; also what they write for SQL Server."""

import io
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy.dialects import mssql, postgresql, sqlite
from typer.testing import CliRunner

import dmsjournal as dj
import dmsjournal.alembic  # registers the operations
from dmsjournal.cli import app
from dmsjournal.database import sqlserver
from dmsjournal.operate import tracking
from dmsjournal.schema import migrate
from tests.helpers import in_psycopg
from tests.migrations.conftest import Program
from tests.pgbouncer import left_behind, pooled

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


def test_a_list_of_no_tables_says_why(url: str) -> None:
    def told() -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["tracked", "--url", url])
        return done.exit_code, done.stdout, done.stderr

    assert told() == (0, "", "the database has no option tracking: dmsjournal upgrade --with tracking\n")
    migrate.upgrade(url, options=["tracking"])
    assert told() == (0, "", "no table is tracked\n")


@pytest.mark.acceptance("74")
def test_status_names_what_has_changed_about_a_tracked_table(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    cli(tracked, "track", "--schema", "shop")
    assert "tracked   2 tables, 0 to look at" in cli(tracked, "status")
    sql("ALTER TABLE shop.customer ADD COLUMN more text")
    told = cli(tracked, "status", "--check-triggers")
    assert "shop.customer: column more is new: run `dmsjournal track --renew`" in told
    assert 'dmsjournal_tracked_table_problems{database="' in cli(tracked, "status", "--prometheus")
    sql('ALTER TABLE shop."Order" RENAME customer TO buyer')
    [told] = [line for line in cli(tracked, "status").splitlines() if "column buyer was customer: writes of the table fail" in line]
    assert told.count("dmsjournal track --renew") == 1
    sql("DROP TRIGGER zz_dmsjournal_1_delete ON shop.customer")
    done = CliRunner().invoke(app, ["status", "--check-triggers", "--url", tracked])
    assert done.exit_code == 3
    assert "tracked table shop.customer: " in done.stderr
    cli(tracked, "track", "--renew")
    assert "tracked   2 tables, 0 to look at" in cli(tracked, "status", "--check-triggers")
    sql(
        "CREATE ROLE statusreader; GRANT USAGE ON SCHEMA dms TO statusreader; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA dms TO statusreader"
    )
    try:
        engine = sa.create_engine(tracked, connect_args={"options": "-c role=statusreader"})
        with dj.connect(engine.url.update_query_dict({"options": "-c role=statusreader"})) as journal:
            found = journal.status()
        assert found.tracked is None
        [remedy] = [hidden.remedy for hidden in found.hidden if hidden.part == "tracked"]
        sql(remedy)
        with dj.connect(engine.url.update_query_dict({"options": "-c role=statusreader"})) as journal:
            assert [one.table for one in journal.status().tracked or ()] == ['shop."Order"', "shop.customer"]
    finally:
        sql("DROP OWNED BY statusreader; DROP ROLE statusreader")


@pytest.mark.acceptance("83", "94")
def test_tracked_tables_and_their_commands_through_a_pooler_in_transaction_mode(tracked: str, sql: Sql) -> None:
    """Two programs share the pool's one server session: what one leaves in it must not reach the other."""
    sql(SHOP)
    with pooled(tracked, default_pool_size=1) as pool:
        through = pool.render_as_string(hide_password=False)
        cli(through, "track", "--schema", "shop", "--project", "Shop", "--shows", "shop.customer=name", "--lock-timeout", "7s")
        with (
            psycopg.connect(in_psycopg(pool), prepare_threshold=None) as one,
            psycopg.connect(in_psycopg(pool), prepare_threshold=None) as two,
        ):
            for number, writer in enumerate((one, two, one), start=2):
                writer.execute("INSERT INTO shop.customer VALUES (%s, 'x')", [number])
                writer.execute("UPDATE shop.customer SET id = id + 100 WHERE id = %s", [number])
                writer.commit()
            one.execute("UPDATE shop.customer SET name = 'Eve' WHERE id = 1")
            one.rollback()
            two.execute("UPDATE shop.customer SET name = 'Eva' WHERE id = 1")
            two.commit()
            assert two.execute("SHOW lock_timeout").fetchone() == ("0",)
        assert len(cli(through, "changes", "Order", "--min", "4").splitlines()) == 1
        assert [line.split("\t")[0] for line in cli(through, "tracked").splitlines()] == ['shop."Order"', "shop.customer"]
        assert "findings=0" in cli(through, "verify")
        sql("ALTER TABLE shop.customer ADD COLUMN more text")
        cli(through, "track", "--renew")
        assert left_behind(pool, 1) == []
        cli(through, "untrack", 'shop."Order"')
        assert left_behind(pool, 1) == []


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["track", "shop.customr"], "= 'shop.customr': table shop.customr is not there. Name it with its schema"),
        (["track", "customer"], "Is it shop.customer? Name it"),
        (["track", "shop.Order"], 'Is it shop."Order"? Name it'),
        (["untrack", "shop.customer"], "table = 'shop.customer': table shop.customer is not tracked. No table is tracked."),
        (["track", "--renew", "shop.customer"], "table shop.customer is not tracked"),
        (["track", "shop.customer", "--shows", "shop.customer=nam"], "has no column nam. Its columns are id, name."),
        (["track", "shop.customer", "--shows", "shop.customer=nam"], "shows = 'nam': table shop.customer has no column nam."),
        (["track", "shop.customer", "--columns", "shop.customer=nam"], "columns = 'nam': table shop.customer has no column nam."),
        (["track", "shop.Order Line"], "= 'shop.Order Line': table shop.Order Line is not there. Name it with its schema"),
        (["track", "a.b.c.d"], "= 'a.b.c.d': table a.b.c.d is not there."),
        (["untrack", "shop.Order Line"], "= 'shop.Order Line': table shop.Order Line is not tracked."),
        (["track", "shop.customer", "--trust", "table shop.customr"], "trust = 'table shop.customr': write it as 'table NAME'"),
        (["track", "shop.customer", "shop.customr", "--dry-run"], "= 'shop.customr'"),
        (
            ["track", "--schema", "shop", "--exclude", "shop.customr"],
            "exclude = 'shop.customr': name one of the tables",
        ),
    ],
)
def test_a_wrong_name_ends_with_exit_code_1(tracked: str, sql: Sql, arguments: list[str], told: str) -> None:
    sql(SHOP)
    done = CliRunner().invoke(app, [*arguments, "--url", tracked], env={"COLUMNS": "300"})
    assert (done.exit_code, sql("SELECT count(*) FROM dms.TrackedTable")) == (1, [(0,)])
    assert told in done.output


def test_options_name_tables_and_columns_with_quotation_marks_or_without(tracked: str, sql: Sql) -> None:
    sql('CREATE SCHEMA shop; CREATE TABLE shop."order" (id int PRIMARY KEY, "Line No" int, state text)')
    sql("CREATE TABLE shop.log (line text)")
    shown = ("--shows", "shop.order=state", "--shows", 'shop."order"="Line No"')
    cli(tracked, "track", "--schema", "shop", "--exclude", 'shop."log"', *shown, "--trust", "table shop.order")
    table, resource, _, columns = cli(tracked, "tracked").splitlines()[0].split("\t")[:4]
    assert (table, resource, columns) == ('shop."order"', "shop/order/1", '["Line No","id","state"]')


def test_a_table_that_cannot_be_tracked_is_left_out_with_exclude(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    sql("CREATE TABLE shop.log (line text)")
    done = CliRunner().invoke(app, ["track", "--schema", "shop", "--url", tracked], env={"COLUMNS": "300"})
    assert done.exit_code == 5
    assert (
        "it has no primary key: Add a primary key, or leave the table out. Nothing was changed; --exclude TABLE leaves"
        in done.output
    )


def test_a_name_in_brackets_gives_a_resource_without_them() -> None:
    done = CliRunner().invoke(app, ["sql", "track", "shop.[order line]", "--project", "Shop", "--engine", "sqlserver"])
    assert "N'order line'" in done.output, done.output


def test_a_partition_is_not_untracked_by_itself(tracked: str, sql: Sql) -> None:
    sql("CREATE SCHEMA app; CREATE TABLE app.a (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    sql("CREATE TABLE app.a1 PARTITION OF app.a FOR VALUES FROM (0) TO (10)")
    cli(tracked, "track", "app.a")
    done = CliRunner().invoke(app, ["untrack", "app.a1", "--url", tracked])
    assert (done.exit_code, "It is a partition of app.a: name that one." in done.output) == (1, True)


def test_tables_that_cannot_be_tracked_are_named_before_another_one_is(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    sql("CREATE TABLE shop.log (line text); CREATE UNLOGGED TABLE shop.cart (id int PRIMARY KEY)")
    done = CliRunner().invoke(app, ["track", "--schema", "shop", "--url", tracked])
    assert done.exit_code == 5
    for told in (
        "2 of 4 tables were refused",
        "shop.log cannot be tracked: it has no primary key",
        "shop.cart cannot be tracked: it is UNLOGGED",
    ):
        assert told in done.output
    assert sql("SELECT count(*) FROM dms.TrackedTable") == [(0,)]
    cli(tracked, "track", "--schema", "shop", "--exclude", "shop.log", "--exclude", "shop.cart")
    assert [line.split("\t")[0] for line in cli(tracked, "tracked").splitlines()] == ['shop."Order"', "shop.customer"]


def test_a_plan_has_rows_and_nothing_to_look_at(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    sql("INSERT INTO shop.customer SELECT n, repeat('x', 20) FROM generate_series(2, 5000) AS n")
    with dj.connect(tracked) as journal:
        [plan] = journal.tracking_plan(dj.TrackedTable("shop.customer"))
    assert plan.tracked.state is None
    assert 2500 < plan.tracked.estimated_rows < 10_000  # no one has analysed it


def test_a_script_of_a_whole_schema_reads_the_database(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    words = ["sql", "track", "--schema", "shop", "--exclude", "shop.customer"]
    done = CliRunner().invoke(app, [*words, "--url", tracked])
    assert (done.exit_code, done.stdout.count("SELECT dms.track(")) == (0, 1)
    assert "--url" in CliRunner().invoke(app, words).output
    assert CliRunner().invoke(app, ["sql", "track", "shop.a", "--schema", "shop", "--url", tracked]).exit_code == 2


def test_a_wrong_description_of_a_table_is_refused() -> None:
    with pytest.raises(dj.InvalidRequest, match="ResourceKey"):
        dj.TrackedTable("shop.customer", "Shop/Customer/1")  # type: ignore[arg-type]
    table = sa.Table("a", sa.MetaData(), sa.Column("name", sa.Text, info={"dmsjournal": "show"}))
    with pytest.raises(dj.InvalidRequest, match="info of column name = 'show'"):
        dj.TrackedTable.of(table)


def test_an_operation_that_is_refused_says_so_as_the_library_does(tracked: str, sql: Sql) -> None:
    sql(SHOP)
    engine = sa.create_engine(tracked)
    for name, refused in (("shop.customr", dj.InvalidRequest), ("shop.v", dj.UnsupportedCapability)):
        sql("CREATE OR REPLACE VIEW shop.v AS SELECT 1 AS a")
        with engine.connect() as conn, pytest.raises(refused, match=name):
            Operations(MigrationContext.configure(conn)).track_table(name)  # type: ignore[attr-defined]
    engine.dispose()


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
        op = Operations(MigrationContext.configure(conn))
        op.untrack_table('shop."Order"')  # type: ignore[attr-defined]
        op.untrack_table(table)  # type: ignore[attr-defined]
        with pytest.raises(dj.InvalidRequest, match=r"bodies, shows = 'shop.customer': give it to the TrackedTable"):
            op.track_table(dj.TrackedTable("shop.customer"), shows=["name"], bodies=True)  # type: ignore[attr-defined]
    with dj.connect(tracked) as journal:
        assert journal.tracked() == []
    with engine.begin() as conn, pytest.raises(dj.InvalidRequest, match=r"shows = 'nam': table shop.customer has no column nam"):
        Operations(MigrationContext.configure(conn)).track_table("shop.customer", shows=["nam"])  # type: ignore[attr-defined]
    engine.dispose()
    written: list[str] = []
    offline = MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True})
    offline.impl.static_output = written.append  # type: ignore[method-assign]
    Operations(offline).track_table("shop.it's", shows=["n"])  # type: ignore[attr-defined]
    assert any("dms.track(" in text and "'shop.it''s'" in text for text in written)


@pytest.mark.parametrize(
    ("dialect", "name"), [(None, 'public."Order"'), (postgresql.dialect(), 'public."Order"'), (mssql.dialect(), "dbo.[Order]")]
)
def test_a_table_without_a_schema_is_in_the_engine_s_own(dialect: sa.Dialect | None, name: str) -> None:
    assert dj.TrackedTable.of(sa.Table("Order", sa.MetaData()), dialect=dialect).table == name


def test_a_dialect_that_is_not_spoken_is_refused() -> None:
    with pytest.raises(dj.InvalidRequest, match="sqlite"):
        dj.TrackedTable.of(sa.Table("a", sa.MetaData()), dialect=sqlite.dialect())


def test_each_way_in_writes_t_sql_for_sql_server() -> None:
    """Each statement is a batch; a failed one ends the transaction, and what follows it is not run."""
    table = dj.TrackedTable("app.[it's]", dj.ResourceKey("App", "größe", "1"), shows=["größe"])
    text = tracking.script(sqlserver, [table], "250ms")
    assert "N'app.[it''s]'" in text
    assert "N'größe'" in text
    assert "= N'250'" in text
    assert (
        text.index("BEGIN TRANSACTION;")
        < text.index("EXEC dms.track ")
        < text.index("COMMIT;")
        < text.index("EXEC dms.fill_table ")
    )
    assert text.rstrip().endswith("SET NOEXEC OFF;\nGO")
    assert "EXEC dms.untrack " in tracking.untracking_script(sqlserver, "app.a", "5s", keep_documents=True)
    with pytest.raises(dj.InvalidRequest, match="lock_timeout"):
        tracking.script(sqlserver, [table], "soon")
    offline = io.StringIO()
    migration = MigrationContext.configure(dialect_name="mssql", opts={"as_sql": True, "output_buffer": offline})
    Operations(migration).track_table("app.a")  # type: ignore[attr-defined]
    assert "EXEC dms.track " in offline.getvalue()
    assert "EXEC dms.fill_table " in offline.getvalue()
    assert "CREATE PROCEDURE dms.track\n" in migrate.script("sqlserver", option="tracking")


def test_a_hostile_name_reaches_no_terminal(tracked: str, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner of a schema names its columns and tables; the operator reads them, also as progress in a terminal."""
    sql('CREATE SCHEMA shop; CREATE TABLE shop."[/red]" (id int PRIMARY KEY, "\x1b]0;owned\x07" int)')
    assert "\x1b" not in cli(tracked, "track", "--schema", "shop", "--bodies", "--dry-run")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    assert "\x1b" not in cli(tracked, "track", "--schema", "shop", "--bodies")


PLANTED = """CREATE FUNCTION {schema}.took(name[], name) RETURNS name[]
LANGUAGE plpgsql AS $$ BEGIN RAISE 'code of another role runs'; END $$;
CREATE AGGREGATE {schema}.array_agg(name) (SFUNC = {schema}.took, STYPE = name[], INITCOND = '{{}}');"""


def test_a_script_and_a_migration_run_no_code_of_another_role(tracked: str, sql: Sql) -> None:
    """A schema of the installing role's name is the first in its search_path, and any role that may create schemas can make it."""
    sql(SHOP)
    schema = sa.make_url(tracked).username
    sql(f"CREATE SCHEMA {schema}; {PLANTED.format(schema=schema)}")
    tables = [dj.TrackedTable("shop.customer", shows=["name"]), dj.TrackedTable('shop."Order"')]
    script = tracking.script(tracking.engine_named("postgres"), tables, "5s")
    assert script.count("BEGIN;") == script.count("SET LOCAL search_path = pg_catalog, pg_temp;") == 4
    for statement in script.replace("\\set ON_ERROR_STOP on\n", "").split(";\n"):
        sql(statement)
    assert cli(tracked, "tracked").count("\n") == 2
    engine = sa.create_engine(tracked)
    with engine.begin() as conn:
        operations = Operations(MigrationContext.configure(conn))
        operations.untrack_table("shop.customer")
        operations.track_table("shop.customer", shows=["name"])
    engine.dispose()
    assert cli(tracked, "tracked").count("\n") == 2


def test_a_table_that_cannot_be_renewed_keeps_no_other_from_it(tracked: str, sql: Sql) -> None:
    sql(SHOP + "CREATE TABLE shop.a (id int PRIMARY KEY);")
    cli(tracked, "track", "--schema", "shop", "--shows", "shop.customer=name")
    sql("ALTER TABLE shop.a SET UNLOGGED; ALTER TABLE shop.customer RENAME COLUMN name TO full_name")
    done = CliRunner().invoke(app, ["track", "--renew", "--url", tracked])
    assert (done.exit_code, done.stderr.count("\n")) == (5, 1)
    assert "table shop.a cannot be tracked: it is UNLOGGED" in done.stderr
    assert "refused for shop.a; the others are renewed" in done.stderr
    sql("UPDATE shop.customer SET full_name = 'Eve'")
