"""What tests of migrations share: an empty database, and the server's own programs."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

Program = Callable[..., str]


@pytest.fixture
def empty(postgres_server) -> Iterator[str]:
    """The URL of a database in which nothing is installed."""
    with postgres_server.fresh_database() as url:
        yield url


@pytest.fixture
def admin(empty: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(empty, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def program(postgres_server) -> Program:
    """Runs psql, pg_dump or pg_restore of the server, or of a folder, against a database; returns what it printed."""

    def run(name: str, url: str, *arguments: str, check: bool = True, folder: Path | None = None) -> str:
        own: Path = (folder or postgres_server.embedded.bin_dir) / name
        found = str(own) if own.exists() else shutil.which(name)
        if found is None:
            pytest.skip(f"no {name} here")
        parsed = sa.make_url(url)
        database = {"PGHOST": parsed.host, "PGPORT": str(parsed.port), "PGUSER": parsed.username, "PGDATABASE": parsed.database}
        environment = {**os.environ, **database, "PGPASSWORD": parsed.password}
        done = subprocess.run([found, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert not check or done.returncode == 0, done.stdout
        return f"{done.returncode}\n{done.stdout}"

    return run
