"""Failover (docs/dba/restore.md): a streaming standby is promoted after its primary was lost, and consumers learn of it."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.schema import migrate
from dmsjournal.testing.embedded import EmbeddedPostgres
from tests.feeds import after
from tests.helpers import SCHOOL, STUDENT, commit, document, newest, write

SETTINGS = {"fsync": "off", "wal_level": "replica", "max_wal_senders": "4", "shared_buffers": "32MB"}


@pytest.fixture
def primary() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(settings=SETTINGS) as server:
        migrate.upgrade(server.url())
        yield server


@pytest.fixture
def standby(primary: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A streaming replica, made by pg_basebackup."""
    assert primary.data_dir is not None
    folder = primary.data_dir.parent / (primary.data_dir.name + "-standby")
    url = sa.make_url(primary.url())
    backup = [
        primary.bin_dir / "pg_basebackup",
        "--write-recovery-conf",
        "--checkpoint=fast",
        "--wal-method=stream",
        f"--pgdata={folder}",
    ]
    address = f"host={url.host} port={url.port} user={url.username} password={url.password}"
    as_the_server = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    subprocess.run([*backup, f"--dbname={address}"], check=True, capture_output=True, cwd="/", **as_the_server)
    with EmbeddedPostgres(folder, settings=SETTINGS) as server:
        yield server
    subprocess.run(["rm", "-rf", folder], check=True)


def wait_for(engine: sa.Engine, statement: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        with engine.connect() as connection:
            if commit(connection, statement)[0][0]:
                return
        assert time.monotonic() < deadline, statement
        time.sleep(0.05)


def promoted(standby: EmbeddedPostgres) -> None:
    engine = sa.create_engine(standby.url(), poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert commit(connection, "SELECT pg_promote()") == [(True,)]


def lsn(server: EmbeddedPostgres) -> str:
    with sa.create_engine(server.url(), poolclass=sa.NullPool).connect() as connection:
        return str(commit(connection, "SELECT pg_current_wal_lsn()")[0][0])


def caught_up(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    wait_for(
        sa.create_engine(standby.url(), poolclass=sa.NullPool),
        f"SELECT pg_last_wal_replay_lsn() >= CAST('{lsn(primary)}' AS pg_lsn)",
    )


@pytest.mark.long
def test_a_promoted_standby_that_has_everything_goes_on(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    with dj.connect(primary.url()) as journal:
        write(journal, *(document(STUDENT, number) for number in range(5)))
        page = journal.read_changes(dj.FeedRequest())
        seen, last = list(journal.changes(STUDENT)), newest(journal)
        caught_up(primary, standby)
    with dj.connect(standby.url()) as replica, pytest.raises(dj.UnsupportedCapability, match="standby"):
        replica.versions()
    primary.kill()
    promoted(standby)
    with dj.connect(standby.url()) as journal:
        assert list(journal.changes(STUDENT)) == seen
        assert last <= newest(journal) <= last + 32  # the sequence of a standby may be that much ahead
        write(journal, document(SCHOOL, 1))
        events = journal.read_changes(after(dj.FeedRequest(), page)).events
        assert [event.change_version for event in events] == [newest(journal)]
        assert journal.verify().is_clean


@pytest.mark.long
def test_a_promoted_standby_that_lost_changes_is_told_to_consumers(
    primary: EmbeddedPostgres, standby: EmbeddedPostgres, tmp_path: Path
) -> None:
    """The last changes reached a token and a folder of files, and no standby."""
    deliver = ["deliver", "--consumer", "files", "--files", str(tmp_path / "files"), "--once"]
    with dj.connect(primary.url()) as journal:
        write(journal, *(document(STUDENT, number) for number in range(5)))
        caught_up(primary, standby)
        standby.stop()
        write(journal, *(document(STUDENT, number) for number in range(5, 8)))
        page = journal.read_changes(dj.FeedRequest())
    assert CliRunner().invoke(cli.app, deliver, env={"DMSJOURNAL_URL": primary.url()}).exit_code == 0
    delivered = sorted((tmp_path / "files").rglob("*"))
    primary.kill()
    standby.start()
    promoted(standby)
    with dj.connect(standby.url()) as journal:
        for _ in range(2):  # the second time, other changes have the versions that were lost
            with pytest.raises(dj.HistoryDiverged):
                journal.read_changes(after(dj.FeedRequest(), page))
            refused = CliRunner().invoke(cli.app, deliver, env={"DMSJOURNAL_URL": standby.url()})
            assert refused.exit_code != 0
            assert "does not lead there" in refused.output, refused.output
            assert sorted((tmp_path / "files").rglob("*")) == delivered
            write(journal, *(document(SCHOOL, number) for number in range(40)))
        with sa.create_engine(standby.url(), poolclass=sa.NullPool).connect() as admin:  # the steps of the page
            commit(admin, "SELECT setval('dms.ChangeVersionSequence', 1000000)")
        write(journal, document(SCHOOL, 99))
        assert newest(journal) == 1_000_001
        assert journal.verify().is_clean
