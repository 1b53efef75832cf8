"""The systemd units of docs/operator/prune.md, as systemd itself reads them."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "operator" / "prune.md"
ANALYZE = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units_of_the_page(tmp_path: Path) -> None:
    assert ANALYZE is not None
    timer, service = re.findall(r"```ini\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    program = "/srv/dmsjournal/bin/dmsjournal"
    assert program in service
    units = {"dmsjournal-prune.timer": timer, "dmsjournal-prune.service": service.replace(program, sys.executable)}
    for name, text in units.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = subprocess.run([ANALYZE, "verify", *(tmp_path / name for name in units)], capture_output=True, text=True, check=False)
    told = [line for line in ran.stderr.splitlines() if "dmsjournal-prune" in line]  # the units of the system may have faults too
    assert told == []
