"""The checks around the suite: what `make audit` refuses, and how the summary names the reasons of skipped tests."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from tests.conftest import reasons_of

ROOT = Path(__file__).parents[2]
AUDIT = runpy.run_path(str(ROOT / ".ci" / "audit.py"))


@pytest.mark.parametrize(
    "licence", ["MIT", "BSD License", "MIT OR Apache-2.0", "GPL-2.0-only OR MIT", "DFSG approved; MIT License"]
)
def test_a_licence_on_the_list_is_accepted(licence: str) -> None:
    assert AUDIT["licences"]([{"Name": "one", "Version": "1.0", "License": licence}]) == []


@pytest.mark.parametrize(
    "licence", ["UNKNOWN", "", "LGPL-3.0-only", "MIT AND GPL-2.0-only", "GNU General Public License; MIT License"]
)
def test_a_licence_that_nobody_reviewed_is_refused(licence: str) -> None:
    (found,) = AUDIT["licences"]([{"Name": "one", "Version": "1.0", "License": licence}])
    assert found == f"one 1.0: the licence {licence!r} is not on the list of .ci/audit.py"
    assert AUDIT["licences"]([{"Name": "Psycopg_Binary", "Version": "1.0", "License": licence}]) == []


def test_a_known_vulnerability_is_refused() -> None:
    known = {"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}
    (found,) = AUDIT["vulnerabilities"](
        [{"name": "one", "version": "1.0", "vulns": [known]}, {"name": "two", "version": "1", "vulns": []}]
    )
    assert found == "one 1.0: PYSEC-1, mended in 1.1, 2.0"


def test_a_database_that_does_not_answer_is_no_clean_answer() -> None:
    silent = [{"name": name, "skip_reason": "not found"} for name in ("one", "two", "three", "four")]
    (found,) = AUDIT["vulnerabilities"]([*silent, {"name": "five", "version": "1", "vulns": []}])
    assert "answered for 1 of 5 packages" in found
    assert "(one, two, three, …)" in found
    assert AUDIT["vulnerabilities"]([]) == ["pip-audit read no package from requirements.lock"]


def test_each_reason_of_skipped_tests_is_one_line_with_its_count() -> None:
    def skipped(place: str, line: int, reason: str) -> pytest.TestReport:
        return pytest.TestReport(place, (place, line, place), {}, "skipped", (place, line, f"Skipped: {reason}"), "setup")

    reports = [skipped("a.py", 1, "no server"), skipped("a.py", 2, "no curl"), skipped("b.py", 3, "no\n  server")]
    assert reasons_of(reports) == [("no server", 2), ("no curl", 1)]


def test_the_summary_leaves_the_place_of_each_skipped_test_out(pytestconfig: pytest.Config) -> None:
    (report,) = [option for option in pytestconfig.getini("addopts") if option.startswith("-r")]
    assert set("fExX") == set(report.removeprefix("-r"))


def test_the_lock_pins_what_the_project_names_each_with_hashes() -> None:
    """So an installation is the same tomorrow: pip refuses a file whose hash is not in the lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(word for extra in project["optional-dependencies"].values() for word in extra)]
    wanted = {re.split(r"[<>=\[; ]", word)[0].lower() for word in named} - {"dmsjournal"}
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text(encoding="utf-8"))[1:]
    pinned = {re.split(r"==", entry)[0].split("[")[0].lower() for entry in entries}
    assert wanted <= pinned
    assert [entry.splitlines()[0] for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
