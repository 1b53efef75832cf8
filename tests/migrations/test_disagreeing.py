"""Where dms.alembic_version and the objects disagree (acceptance 98): the message names a command, and the command leads out."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database.revisions import REVISION
from dmsjournal.schema import migrate
from tests.helpers import STUDENT, commit, document, write

ROOT = Path(__file__).parents[2]


def alembic(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a DBA runs beside alembic.ini."""
    command = [sys.executable, "-m", "alembic", "-n", "postgres", "-x", f"url={url}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.acceptance("98")
def test_a_stamp_of_an_empty_database_is_refused(empty: str, admin: sa.Connection) -> None:
    stamped = alembic(empty, "stamp", "head")
    assert stamped.returncode != 0
    assert f"dms.alembic_version would say revision {REVISION}, and dms.Document is not there" in stamped.stderr
    assert commit(admin, "SELECT to_regclass('dms.alembic_version') IS NULL") == [(True,)]
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        assert journal.verify().is_clean


@pytest.mark.acceptance("98")
def test_a_stamp_that_was_left_is_dropped_as_the_message_says(empty: str, admin: sa.Connection) -> None:
    commit(admin, "CREATE SCHEMA dms; CREATE TABLE dms.alembic_version (version_num varchar(32) PRIMARY KEY)")
    commit(admin, f"INSERT INTO dms.alembic_version VALUES ('{REVISION}')")
    for refused in (migrate.upgrade, lambda url: migrate.downgrade(url, "base")):
        with pytest.raises(dj.MigrationRefused, match=r"alembic_version.*DROP TABLE dms\.alembic_version, then upgrade"):
            refused(empty)
    with dj.connect(empty) as journal, pytest.raises(dj.DatabaseRefused, match=r"does not exist.*dmsjournal verify"):
        journal.versions()
    commit(admin, "DROP TABLE dms.alembic_version")
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        assert journal.verify().is_clean


@pytest.mark.acceptance("98")
def test_a_table_of_revisions_that_was_lost_is_stamped_again(empty: str, admin: sa.Connection) -> None:
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        write(journal, document(STUDENT, 1))
    commit(admin, "DROP TABLE dms.alembic_version")
    with pytest.raises(dj.MigrationRefused, match=r"already exists.*, and dms\.alembic_version does not say so.*alembic stamp"):
        migrate.upgrade(empty)
    stamped = alembic(empty, "stamp", REVISION)
    assert stamped.returncode == 0, stamped.stderr
    assert migrate.installed(empty).revision == REVISION
    migrate.upgrade(empty)
    with dj.connect(empty) as journal:
        assert journal.verify().is_clean
        assert len(list(journal.changes(STUDENT))) == 1
    migrate.downgrade(empty, "base")
