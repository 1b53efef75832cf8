"""The crontab line of docs/operator/prune.md in Debian's cron, with cron's environment and mail (about a minute)."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from tests.helpers import STUDENT, document, write

PAGE = Path(__file__).parents[2] / "docs" / "operator" / "prune.md"
CRON = shutil.which("cron", path="/usr/sbin")
# A namespace of its own: cron sees this test's crontab alone, and the system sees nothing of it. Cron mails through sendmail.
RUN = """
mount --make-rprivate /
mount --bind {folder}/sbin /usr/sbin
mount --bind {folder}/cron.d /etc/cron.d
mount --bind {folder}/none /var/spool/cron/crontabs
mount --bind {folder}/run /run
mount --bind {folder}/empty /etc/crontab
exec /usr/sbin/cron -f
"""


def crontab(folder: Path) -> str:
    """The page's crontab: now, as this user, with this program, and the mail to this test."""
    [text] = [block for block in re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if "MAILTO" in block]
    program = f"{sys.executable} -m dmsjournal"
    edits = {
        "15 3 * * *  dmsjournal ": "* * * * *  root ",
        "/etc/dmsjournal/env": f"{folder}/env",
        "/srv/dmsjournal/bin/dmsjournal": program,
    }
    edits |= {"--older-than 90d --keep-at-least 100000": "--keep-at-least 2"}
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.long
@pytest.mark.timeout(200)
@pytest.mark.skipif(CRON is None or os.name != "posix" or os.geteuid() != 0, reason="needs Debian's package cron, and root")
def test_the_line_of_the_page_prunes_and_mails_only_what_matters(journal: dj.Journal, url: str, tmp_path: Path) -> None:
    write(journal, *(document(STUDENT, number) for number in range(10)))
    journal.consumers.register("slow", 5)
    for name in ("cron.d", "none", "run"):
        (tmp_path / name).mkdir()
    (tmp_path / "empty").touch()
    shutil.copytree("/usr/sbin", tmp_path / "sbin", symlinks=True)
    sendmail = tmp_path / "sbin" / "sendmail"
    sendmail.unlink(missing_ok=True)
    sendmail.write_text(f"#!/bin/sh\ncat >> {tmp_path}/mail\n")
    sendmail.chmod(0o755)
    address = sa.make_url(url).render_as_string(hide_password=False)
    (tmp_path / "env").write_text(f"export DMSJOURNAL_URL='{address}'\nexport PYTHONPATH='{PAGE.parents[2]}'\n")
    (tmp_path / "cron.d" / "dmsjournal-prune").write_text(crontab(tmp_path))
    daemon = subprocess.Popen(["unshare", "--mount", "sh", "-ec", RUN.format(folder=tmp_path)], start_new_session=True)
    mail = tmp_path / "mail"
    try:
        deadline = time.monotonic() + 120
        while not mail.exists() or "stopped at" not in mail.read_text():
            assert daemon.poll() is None, "no namespace could be made"
            assert time.monotonic() < deadline
            time.sleep(0.5)
    finally:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait(20)
    assert journal.versions().oldest == 6
    said = mail.read_text()
    assert "stopped at version 5: consumer slow has read up to version 5" in said
    assert "DocumentChangeEvent\t" not in said  # what is on standard output
    assert "To: dba@example.org" in said
