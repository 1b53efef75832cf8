"""The programs of a PostgreSQL that is older than the one that the tests start."""

import os
import re
import subprocess
from pathlib import Path

import pytest


def other_binaries(version: str) -> Path:
    """The programs of an older major version than a server's, 15 or later; the test is skipped where there are none."""
    named = os.environ.get("DMSJOURNAL_TEST_OTHER_POSTGRES_BIN")
    folders = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # Debian's
    for folder in folders:
        if not (folder / "postgres").exists():  # a package of the client's programs alone
            continue
        found = re.search(r"\d+", subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True).stdout)
        if found and 15 <= int(found[0]) < int(version.partition(".")[0]):
            return folder
    pytest.skip("no PostgreSQL of an older major version: DMSJOURNAL_TEST_OTHER_POSTGRES_BIN names none")
