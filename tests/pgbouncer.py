"""PgBouncer in front of a test's server, where it is installed: a package of Debian's, which the tests do not bring along."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.helpers import in_psycopg

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
MISSING = "no PgBouncer: install Debian's package pgbouncer"
NOBODY = 65534  # it refuses to run as root


def version() -> tuple[int, int]:
    """Of the PgBouncer that is installed. Skips the test where there is none."""
    if PROGRAM is None:
        pytest.skip(MISSING)
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = re.findall(r"PgBouncer (\d+)\.(\d+)", said)[0]
    return int(major), int(minor)


@contextmanager
def pooled(url: str | sa.URL, mode: str = "transaction", **settings: object) -> Iterator[sa.URL]:
    """The URL of the same database through a PgBouncer of its own on loopback. Skips the test where there is no PgBouncer."""
    if PROGRAM is None:
        pytest.skip(MISSING)
    server = sa.make_url(url)
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        given = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": mode,
            "default_pool_size": 4,
            "max_client_conn": 200,
            **settings,
        }
        target = f"* = host={server.host} port={server.port} user={server.username} password={server.password}"
        config = Path(folder, "pgbouncer.ini")
        lines = [f"{name} = {value}" for name, value in given.items()]
        config.write_text("\n".join(["[databases]", target, "[pgbouncer]", *lines, ""]))
        os.chmod(folder, 0o755)
        config.chmod(0o644)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        process = subprocess.Popen(
            [PROGRAM, "-q", str(config)], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_nobody
        )
        through = server.set(host="127.0.0.1", port=port)
        try:
            _wait_for(process, through)
            yield through
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(process: subprocess.Popen[bytes], url: sa.URL) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(psycopg.OperationalError):
            psycopg.connect(in_psycopg(url), connect_timeout=2).close()
            return
        time.sleep(0.05)
    raise AssertionError(f"PgBouncer does not answer (it ended with {process.poll()})")


def left_behind(url: sa.URL, sessions: int = 4) -> list[str]:
    """What the pool's server sessions have that a fresh one does not have: locks, settings, temporary objects and the like.

    `sessions` is the pool's size. Each is held by an open transaction, so that each is looked at.
    """
    look = """
        SELECT 'setting ' || name || ' = ' || setting FROM pg_settings
        WHERE source = 'session'
          AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')
        UNION ALL SELECT 'lock ' || classid || ', ' || objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
        UNION ALL SELECT 'temporary ' || relname FROM pg_class WHERE relnamespace = pg_my_temp_schema()
        UNION ALL SELECT 'prepared ' || statement FROM pg_prepared_statements
        UNION ALL SELECT 'listens on ' || pg_listening_channels()
        UNION ALL SELECT 'cursor ' || name FROM pg_cursors WHERE is_holdable
    """
    found: dict[int, list[str]] = {}
    opened = [psycopg.connect(in_psycopg(url), prepare_threshold=None) for _ in range(sessions)]
    try:
        for connection in opened:
            [(pid,)] = connection.execute("SELECT pg_backend_pid()").fetchall()
            found[pid] = [text for (text,) in connection.execute(look)]
    finally:
        for connection in opened:
            connection.close()
    assert len(found) == sessions
    return [text for texts in found.values() for text in texts]
