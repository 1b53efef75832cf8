"""Options: migration branches of their own, which a database may have or not (docs/dba/options.md)."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal.cli import app
from dmsjournal.database import revisions, sql
from dmsjournal.schema import migrate as migrations
from dmsjournal.schema import options
from tests.commands import Commands
from tests.helpers import PLAN, STUDENT, catalog, change_identity, commit, document, expected_changes, write

Program = Callable[..., str]
OPTION = "max_dep_identity_version"
ROW = f"{OPTION}_0006"
ENGINES = ["postgres", "sqlserver"]
EACH = pytest.mark.parametrize("option", [OPTION, "partitions"])


def rows(admin: sa.Connection) -> list[str]:
    return [row[0] for row in commit(admin, "SELECT version_num FROM dms.alembic_version ORDER BY 1")]


def columns(admin: sa.Connection) -> set[str]:
    statement = "SELECT attname FROM pg_attribute WHERE attrelid = 'dms.document'::regclass AND attnum > 0 AND NOT attisdropped"
    return {row[0] for row in commit(admin, statement)}


def cli(url: str, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--url", url])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def alembic(empty: str, commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Runs Alembic's own command on the empty database, beside alembic.ini; returns its exit code and what it printed."""
    monkeypatch.chdir(sql.shipped("alembic.ini").parent)
    monkeypatch.setenv("DMSJOURNAL_URL", empty)

    def run(*arguments: str) -> str:
        code, printed = commands.run(["-n", "postgres", *arguments], program="alembic")
        return f"{code}\n{printed}"

    return run


def shape(admin: sa.Connection) -> dict[str, object]:
    """The catalog, without the numbers of columns: one that was dropped leaves a gap."""
    found = {name: rows for name, rows in catalog(admin).items() if name != "columns"}
    return {**found, "columns": sorted((row[0], *row[2:]) for row in catalog(admin)["columns"] if not row[2].startswith("...."))}


@pytest.mark.acceptance("54")
@EACH
def test_an_option_comes_goes_and_comes_again(empty: str, admin: sa.Connection, option: str) -> None:
    migrations.upgrade(empty)
    without = shape(admin)
    migrations.upgrade(empty, options=[option])
    assert rows(admin) == ["0007", f"{option}_0006"]
    assert migrations.installed(empty) == migrations.Installed("0007", (option,))
    assert ("maxdepidentityversion" in columns(admin)) == (option == OPTION)
    with_option = shape(admin)
    migrations.downgrade(empty, without=[option])
    assert shape(admin) == without
    assert migrations.installed(empty) == migrations.Installed("0007")
    migrations.upgrade(empty, options=[option])
    assert shape(admin) == with_option


@pytest.mark.parametrize("option", ["images", "context", "tracking"])
def test_each_option_leaves_nothing_behind(empty: str, admin: sa.Connection, option: str) -> None:
    migrations.upgrade(empty)
    without = shape(admin)
    migrations.upgrade(empty, options=[option])
    with_option = shape(admin)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 1, body={"n": 1}))
        assert journal.verify().is_clean
    migrations.downgrade(empty, without=[option])
    assert shape(admin) == without
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 1, body={"n": 2}))
        assert journal.verify().is_clean
    migrations.upgrade(empty, options=[option])
    assert shape(admin) == with_option
    migrations.downgrade(empty, "base")


@pytest.mark.acceptance("54")
@EACH
def test_an_option_comes_with_the_installation(empty: str, admin: sa.Connection, option: str) -> None:
    migrations.upgrade(empty, options=[option])
    assert rows(admin) == ["0007", f"{option}_0006"]
    before = catalog(admin)
    migrations.upgrade(empty)  # up to date, its options as well
    migrations.upgrade(empty, options=[option])
    assert catalog(admin) == before


@EACH
def test_a_journal_with_an_option_reads_and_writes(empty: str, admin: sa.Connection, option: str) -> None:
    migrations.upgrade(empty, options=[option])
    with dj.connect(empty) as journal:
        student = document(STUDENT, 1)
        write(journal, student, document(PLAN, 1, student))
        change_identity(admin, 1)
        for of, resource_key_id in journal.resources().items():
            assert list(journal.changes(of)) == expected_changes(admin, resource_key_id)


@pytest.mark.acceptance("54")
@pytest.mark.parametrize("revision", ["base", "0005", "0001", "-2", "-7"])
def test_an_option_goes_before_what_it_needs(empty: str, admin: sa.Connection, revision: str) -> None:
    migrations.upgrade(empty, options=[OPTION])
    migrations.downgrade(empty, revision)
    reached = {"-2": "0005", "-7": None, "base": None}.get(revision, revision)
    assert migrations.installed(empty) == migrations.Installed(reached)
    migrations.upgrade(empty)
    assert migrations.installed(empty) == migrations.Installed("0007")  # it does not come back by itself


def test_a_downgrade_that_an_option_does_not_need_leaves_it(empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty, options=[OPTION])
    commit(admin, "CREATE TABLE public.kept (n integer)")
    migrations.downgrade(empty, "0006")
    assert migrations.installed(empty) == migrations.Installed("0006", (OPTION,))


@pytest.mark.parametrize("revision", [f"{OPTION}@base", None])
def test_an_option_is_removed_by_either_name(empty: str, revision: str | None) -> None:
    migrations.upgrade(empty, options=[OPTION])
    migrations.downgrade(empty, revision, without=[] if revision else [OPTION])
    assert migrations.installed(empty) == migrations.Installed("0007")


@pytest.mark.parametrize("name", ["max_dep_identity_versoin", "", "0006", "max_dep_identity_version_0006"])
def test_an_unknown_option_is_named_with_those_that_there_are(empty: str, admin: sa.Connection, name: str) -> None:
    with pytest.raises(dj.InvalidRequest, match=rf"with = .*no such option; name one of .*{OPTION}"):
        migrations.upgrade(empty, options=[name])
    assert commit(admin, "SELECT to_regnamespace('dms')") == [(None,)]
    with pytest.raises(dj.InvalidRequest, match="without"):
        migrations.downgrade(empty, without=[name])
    with pytest.raises(dj.InvalidRequest, match="option"):
        migrations.script(option=name)


def test_an_option_that_is_not_there_cannot_be_removed(empty: str) -> None:
    migrations.upgrade(empty)
    with pytest.raises(dj.InvalidRequest, match="the database does not have it, it has no option"):
        migrations.downgrade(empty, without=[OPTION])
    migrations.upgrade(empty, options=["images"])
    with pytest.raises(dj.InvalidRequest, match="the database does not have it, it has images"):
        migrations.downgrade(empty, without=[OPTION])


def test_an_option_is_refused_below_what_it_needs(empty: str, admin: sa.Connection) -> None:
    with pytest.raises(dj.MigrationRefused, match=f"option {OPTION} needs revision 0006.*nothing was changed"):
        migrations.upgrade(empty, "0005", options=[OPTION])
    assert commit(admin, "SELECT to_regnamespace('dms')") == [(None,)]  # the journal and the option are one transaction


def test_an_option_is_refused_beyond_what_there_is(empty: str, admin: sa.Connection) -> None:
    """Whatever an option's own migration says: checks/options.sql looks at the end of each."""
    migrations.upgrade(empty, options=[OPTION])
    commit(admin, f"UPDATE dms.alembic_version SET version_num = '{OPTION}_b_0008' WHERE version_num = '{ROW}'")
    text = sql.text_of("postgres", "checks/options")
    with pytest.raises(sa.exc.DBAPIError, match=f"option {OPTION} needs revision 0008, and this leads to 0007"):
        migrations.run_batch(admin, text)
    admin.rollback()
    commit(admin, f"UPDATE dms.alembic_version SET version_num = '{ROW}' WHERE version_num LIKE '{OPTION}%%'")
    migrations.run_batch(admin, text)


def test_an_option_of_a_later_release_is_refused(empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty)
    commit(admin, "INSERT INTO dms.alembic_version VALUES ('unheard_of_0006')")
    for migrate in (migrations.upgrade, lambda url: migrations.downgrade(url, "base")):
        with pytest.raises(dj.MigrationRefused, match="do not fit the database"):
            migrate(empty)
    assert migrations.installed(empty) == migrations.Installed("0007", ("unheard_of",))
    with dj.connect(empty) as journal:
        assert journal.versions() == dj.ChangeVersions(0, 0)  # it reads all the same


# Scripts.


@pytest.fixture
def run(empty: str, program, tmp_path: Path):
    """Runs a script with the server's psql, as it is."""

    def run(script: str, *, check: bool = True) -> str:
        file = tmp_path / "script.sql"
        file.write_text(script, encoding="utf-8")
        return program("psql", empty, "--no-psqlrc", "--quiet", f"--file={file}", check=check)

    return run


@pytest.mark.acceptance("55")
@EACH
def test_an_options_scripts_do_what_the_online_ones_do(run, empty: str, admin: sa.Connection, option: str) -> None:
    migrations.upgrade(empty)
    without = shape(admin)
    run(migrations.script(option=option))
    by_script = shape(admin)
    run(migrations.script(option=option, down=True))
    assert shape(admin) == without
    migrations.upgrade(empty, options=[option])
    assert shape(admin) == by_script


@pytest.mark.acceptance("55")
def test_a_script_that_leaves_an_option_without_what_it_needs_is_refused(run, empty: str, admin: sa.Connection) -> None:
    migrations.upgrade(empty, options=[OPTION])
    before = catalog(admin)
    printed = run(migrations.script(revision="head:0005", down=True), check=False)
    assert printed.startswith("3\n")
    assert f"option {OPTION} needs revision 0006, and this goes below it" in printed
    assert f"--without {OPTION}" in printed
    assert catalog(admin) == before
    printed = run(migrations.script(revision="head:base", down=True), check=False)
    assert f"option {OPTION} needs revision 0006, and this goes below it" in printed
    assert catalog(admin) == before


def test_an_options_script_takes_no_revision() -> None:
    with pytest.raises(dj.InvalidRequest, match="revision"):
        migrations.script(revision="head", option=OPTION)


# Alembic's own command.


def test_alembic_goes_on_with_head_where_there_is_an_option(alembic: Program, admin: sa.Connection) -> None:
    assert alembic("upgrade", "head").startswith("0\n")
    assert rows(admin) == ["0007"]
    assert "0007" in alembic("current")
    assert alembic("upgrade", f"{OPTION}@head").startswith("0\n")
    assert rows(admin) == ["0007", ROW]
    assert alembic("upgrade", "head").startswith("0\n")
    assert alembic("upgrade", "journal@head").startswith("0\n")
    shown = alembic("current")
    assert "0007" in shown
    assert ROW in shown
    refused = alembic("downgrade", "journal@-2")
    assert refused.startswith("1\n")
    assert f"option {OPTION} needs revision 0006" in refused
    assert rows(admin) == ["0007", ROW]
    assert alembic("downgrade", f"{OPTION}@base").startswith("0\n")
    assert rows(admin) == ["0007"]


def test_alembic_takes_heads_up_and_base_down_in_an_order_that_works(alembic: Program, admin: sa.Connection) -> None:
    """`heads` are the journal's and those of the options that the database has: nobody has asked for the others."""
    assert alembic("upgrade", "heads").startswith("0\n")
    assert rows(admin) == ["0007"]
    for name in migrations.known_options():
        assert alembic("upgrade", f"{name}@head").startswith("0\n")
    assert alembic("upgrade", "heads").startswith("0\n")
    assert len(rows(admin)) == 1 + len(migrations.known_options())
    assert alembic("downgrade", "base").startswith("0\n")
    assert rows(admin) == []


@pytest.mark.parametrize("command", [("check",), ("current", "--check-heads")], ids=" ".join)
def test_alembic_checks_the_journal_and_the_options_that_are_there(
    alembic: Program, admin: sa.Connection, command: tuple[str, ...]
) -> None:
    assert not alembic(*command).startswith("0\n")  # nothing is installed
    assert alembic("upgrade", "0006").startswith("0\n")
    assert not alembic(*command).startswith("0\n")
    assert alembic("upgrade", "head").startswith("0\n")
    assert alembic(*command).startswith("0\n")
    assert alembic("upgrade", f"{OPTION}@head").startswith("0\n")
    commit(admin, "CREATE TABLE public.theirs (id integer)")  # no business of the journal's
    assert alembic(*command).startswith("0\n")


# The commands.


def test_the_commands_tell_options_only_where_there_are_some(empty: str) -> None:
    assert cli(empty, "current") == "revision=None newest=0007\n"
    assert cli(empty, "upgrade") == "revision=0007 before=None\n"
    assert cli(empty, "current") == "revision=0007 newest=0007\n"
    assert cli(empty, "upgrade", "--with", OPTION) == f"revision=0007 before=0007 options={OPTION}\n"
    assert cli(empty, "current") == f"revision=0007 newest=0007 options={OPTION}\n"
    assert cli(empty, "upgrade") == f"revision=0007 before=0007 options={OPTION}\n"
    assert cli(empty, "downgrade", "--without", OPTION) == "revision=0007 before=0007 options=None\n"
    assert cli(empty, "downgrade", "base") == "revision=None before=0007\n"


def test_a_downgrade_tells_which_options_went_without_being_asked_for(empty: str) -> None:
    migrations.upgrade(empty, options=[OPTION, "images"])
    for arguments, told in (
        (["--without", "images"], ""),
        (["base"], f"removed as well, with what they kept: {OPTION}\n"),
        (["base"], ""),
    ):
        done = CliRunner().invoke(app, ["downgrade", *arguments, "--url", empty])
        assert (done.exit_code, done.stderr) == (0, told)


def test_the_commands_script(empty: str) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["sql", "--with", OPTION]).stdout == migrations.script(option=OPTION)
    assert runner.invoke(app, ["sql", "--without", OPTION]).stdout == migrations.script(option=OPTION, down=True)
    assert runner.invoke(app, ["sql", "--with", OPTION, "--without", OPTION]).exit_code == 2
    assert runner.invoke(app, ["sql", "--with", OPTION, "--down"]).exit_code == 2
    assert runner.invoke(app, ["sql", "--with", "unheard_of"]).exit_code == 1


# The trees.


@pytest.mark.parametrize("engine", ENGINES)
def test_each_option_is_a_branch_that_says_what_it_needs(engine: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(sql.shipped("migrations") / engine))
    scripts = options.with_options(ScriptDirectory.from_config(config))
    journal = {script.revision for script in scripts.walk_revisions(head="journal@head")}
    assert journal == {f"{number:04}" for number in range(1, len(journal) + 1)}
    assert scripts.get_current_head() == max(journal)
    walked = [script for head in scripts.revision_map.heads for script in scripts.walk_revisions(head=head)]
    assert len(walked) > len(journal) + 3
    for script in walked:
        option = revisions.option_of(script.revision)
        assert script.dependencies is None, script
        assert len(script.revision) <= 32, "dms.alembic_version has no room for more"
        if option is None:
            assert script.branch_labels == {"journal"}
        else:
            assert script.branch_labels == {option}
            assert revisions.needed_by(script.revision) in journal
            assert script.is_base or script.down_revision.startswith(f"{option}_")


def test_both_engines_have_the_same_options() -> None:
    names = [sorted(path.name for path in (sql.shipped("migrations") / e / "options").glob("*.py")) for e in ENGINES]
    assert names[0] == names[1]
    assert names[0]


def test_a_name_is_read_from_a_revision() -> None:
    assert revisions.option_of("0006") is None
    assert revisions.option_of("partitions_0007") == revisions.option_of("partitions_b_0007") == "partitions"
    assert revisions.option_of(ROW) == OPTION
    assert revisions.needed_by("partitions_b_0007") == "0007"


@EACH
def test_an_options_script_for_sql_server_is_one_transaction(option: str) -> None:
    for down in (False, True):
        script = migrations.script("sqlserver", option=option, down=down)
        assert len(re.findall(r"^BEGIN TRANSACTION;$", script, re.MULTILINE)) == 1
        assert len(re.findall(r"^COMMIT;$", script, re.MULTILINE)) == 1
        assert ("INSERT INTO dms.alembic_version" in script) != down
        assert ("DELETE FROM dms.alembic_version" in script) == down
