"""The wheel is enough for a DBA: migrations and SQL are in it, and it installs a journal with no checkout beside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel_contents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, unpacked as pip does it."""
    built = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=built)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = built.glob("*.whl")
    unpacked = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    return unpacked


def test_the_wheel_carries_every_statement_and_migration(wheel_contents: Path) -> None:
    for folder, pattern in (("sql", "*.sql"), ("migrations", "*.py")):
        shipped = {path.relative_to(ROOT) for path in (ROOT / folder).rglob(pattern)}
        inside = wheel_contents / "dmsjournal"
        carried = {path.relative_to(inside) for path in (inside / folder).rglob(pattern)}
        assert carried == shipped


def test_the_wheel_installs_a_journal_outside_the_checkout(wheel_contents: Path, postgres_server, tmp_path: Path) -> None:
    with postgres_server.fresh_database() as url:
        environment = os.environ | {"PYTHONPATH": str(wheel_contents), "DMSJOURNAL_URL": str(url)}
        script = "import dmsjournal, sys; from dmsjournal.cli import app; print(dmsjournal.__file__, flush=True); app(sys.argv[1:])"
        for arguments, expected in ((["upgrade"], ""), (["current"], "0007"), (["versions"], "0")):
            command = [sys.executable, "-c", script, *arguments]
            done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            assert str(wheel_contents) in done.stdout
            assert expected in done.stdout
