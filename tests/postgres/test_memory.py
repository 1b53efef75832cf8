"""A walk of a large window keeps what it reads, not what it has read."""

import subprocess
import sys

import pytest
import sqlalchemy as sa

LIMIT = 200 * 1024  # KiB of the whole Python process

WALK = """
import re, resource, sys
from pathlib import Path
import dmsjournal as dj
with dj.connect(sys.argv[1]) as db:
    changes = sum(1 for _ in db.changes(dj.ResourceKey("Ed-Fi", "Student", "5.2.0"), page_size=5000))
status = Path("/proc/self/status")  # ru_maxrss may be that of the process which started this one
hwm = re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text()) if status.exists() else None
peak = hwm[1] if hwm else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(changes, peak)
"""


@pytest.mark.parametrize("documents", [50_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_walk_stays_under_200_megabytes(url: str, documents: int) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as conn:
        conn.exec_driver_sql("INSERT INTO dms.ResourceKey VALUES (1, 'Ed-Fi', 'Student', '5.2.0')")
        insert = "INSERT INTO dms.Document (ResourceKeyId) SELECT 1 FROM generate_series(1, :documents)"
        conn.execute(sa.text(insert), {"documents": documents})
    engine.dispose()
    done = subprocess.run([sys.executable, "-c", WALK, url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    changes, peak = map(int, done.stdout.split())
    assert changes == documents
    assert peak < LIMIT
