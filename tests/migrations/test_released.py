"""A file that a release has shipped is frozen: a change of it is the next version's file and a new migration."""

import re
from pathlib import Path

import pytest

from dmsjournal.database import revisions
from dmsjournal.database import sql as statements
from dmsjournal.schema import migrate
from tests.helpers import digest

LISTED = statements.shipped("migrations") / "released.sha256"
ROOT = statements.shipped("sql").parent
RELEASED = [tuple(line.split()) for line in LISTED.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def changed(released: list[tuple[str, ...]], root: Path) -> list[str]:
    """The released files that are gone or are not what they were."""
    return [name for was, name in released if not (root / name).is_file() or digest((root / name).read_bytes()) != was]


def test_a_released_file_never_changes() -> None:
    assert not changed(RELEASED, ROOT), "it is released: write its next version"


def test_a_released_file_that_changed_is_found(tmp_path: Path) -> None:
    (tmp_path / "kept.v1.sql").write_bytes(b"SELECT 1")
    (tmp_path / "edited.v1.sql").write_bytes(b"SELECT 2")
    lines = [(digest(b"SELECT 1"), name) for name in ("kept.v1.sql", "edited.v1.sql", "gone.v1.sql")]
    assert changed(lines, tmp_path) == ["edited.v1.sql", "gone.v1.sql"]


@pytest.mark.parametrize("engine", sorted(folder.name for folder in statements.shipped("migrations").iterdir() if folder.is_dir()))
def test_migrations_call_frozen_files_only_and_all_of_them(engine: str) -> None:
    texts = [file.read_text(encoding="utf-8") for file in (statements.shipped("migrations") / engine).rglob("*.py")]
    called = {name for text in texts for name in re.findall(r'"([a-z]+/[\w.]+)"', text)}
    sql = statements.shipped("sql") / engine
    names = {file.relative_to(sql).as_posix().removesuffix(".sql") for file in sql.rglob("*.sql")}
    names |= {
        re.sub(r"v\d+$", "drop", name) for name in names if "\n-- drop: " in (sql / f"{name}.sql").read_text(encoding="utf-8")
    }
    assert called == {name for name in names if re.search(r"\.(v\d+|drop)$", name)}


def test_the_package_needs_the_newest_revision_that_it_ships() -> None:
    assert migrate.newest() == revisions.REVISION  # written out there, so that reading does not import Alembic
