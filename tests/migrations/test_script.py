"""The script that a DBA runs with psql (acceptance 55): what it leaves is what the online upgrade leaves."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.schema import migrate
from tests.helpers import PLAN, STUDENT, catalog, commit, document, drawn, expected_changes, unjournaled, write


@pytest.fixture
def run(empty: str, program, tmp_path: Path):
    """Runs a script with the server's psql, as it is."""

    def run(script: str, *, check: bool = True) -> str:
        file = tmp_path / "script.sql"
        file.write_text(script, encoding="utf-8")
        return program("psql", empty, "--no-psqlrc", "--quiet", f"--file={file}", check=check)

    return run


@pytest.fixture
def installed(url: str):
    """The catalog of an online installation."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        yield catalog(connection)


@pytest.mark.acceptance("55")
def test_the_script_installs_what_the_online_upgrade_does(run, admin: sa.Connection, installed, empty: str) -> None:
    run(migrate.script())
    assert catalog(admin) == installed
    assert migrate.current(empty) == migrate.newest()
    with dj.connect(empty) as journal:
        student = document(STUDENT, 1)
        write(journal, student, document(PLAN, 1, student))
        assert list(journal.changes(PLAN)) == expected_changes(admin, journal.resources()[PLAN])


@pytest.mark.acceptance("55")
def test_scripts_and_online_steps_mix(run, admin: sa.Connection, installed, empty: str) -> None:
    run(migrate.script(revision="0003"))
    migrate.upgrade(empty, "0004")
    run(migrate.script(revision="0004:head"))
    assert catalog(admin) == installed


@pytest.mark.acceptance("54", "55")
def test_the_scripts_remove_and_install_again(run, admin: sa.Connection, installed, empty: str) -> None:
    run(migrate.script())
    with dj.connect(empty) as journal:
        student = document(STUDENT, 1)
        write(journal, student, document(PLAN, 1, student))
    run(migrate.script(revision="head:base", down=True))
    assert migrate.current(empty) is None
    assert commit(admin, "SELECT count(*) FROM dms.Document") == [(2,)]
    run(migrate.script())
    assert catalog(admin) == installed
    assert not unjournaled(admin)
    assert drawn(admin) == 2 + 3  # the journals, the tombstones and the edges each expire what came before


@pytest.mark.acceptance("55")
def test_the_script_installs_again_after_an_online_removal(run, admin: sa.Connection, installed, empty: str) -> None:
    migrate.upgrade(empty)
    migrate.downgrade(empty, "base")
    run(migrate.script())
    assert catalog(admin) == installed


@pytest.mark.acceptance("55")
def test_a_script_that_fails_leaves_nothing_and_says_so_by_its_exit_code(run, admin: sa.Connection) -> None:
    commit(admin, "CREATE SCHEMA dms")
    commit(admin, "CREATE TABLE dms.other (n integer)")
    before = catalog(admin)
    printed = run(migrate.script(), check=False)
    assert printed.startswith("3\n")  # psql's own code for a script that stopped at an error
    assert "another application: other" in printed
    assert catalog(admin) == before


@pytest.mark.acceptance("55", "56")
def test_the_script_has_its_lock_timeout_and_one_transaction() -> None:
    script = migrate.script(lock_timeout="7s")
    assert "SET LOCAL lock_timeout = '7s'" in script
    assert script.count("BEGIN;") == script.count("COMMIT;") == 1


@pytest.mark.acceptance("55")
def test_a_range_that_makes_no_sense_is_refused() -> None:
    for revision, down in (("9999", False), ("base", True), ("nonsense:head", False)):
        with pytest.raises(dj.InvalidRequest, match="revision"):
            migrate.script(revision=revision, down=down)
