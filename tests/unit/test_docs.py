"""The documents: their links resolve, the files that they name are there, and what is marked to run prints what stands below it.

A fenced block runs if `<!-- run -->` is the line before it; a page's blocks run in their order, in one fresh database. The block
under `<!-- prints -->` is what the block before it printed, `…` for any text. `<!-- file: name -->` makes a file of a block.
A command with `&` at its end goes on until the page's end, and has printed its first line; port 8000 is another one here.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import psycopg
import pytest

from tests.commands import Commands
from tests.helpers import in_psycopg

ROOT = Path(__file__).parents[2]
AT_ROOT = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*(page for page in AT_ROOT if page.exists()), *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?:<!-- (?P<marker>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_OURS = re.compile(r"`((?:sql|tests|migrations|benchmarks|docs|dmsjournal)/[\w./-]*)`")
_MACHINE = re.compile(r"(?<![\w.>}/-])/(?:home|root|tmp|work|usr|var|opt|mnt|Users)/|\b[A-Z]:\\")
_RULE = re.compile(r"^[-+]+$", re.MULTILINE)  # between a table's head and its rows


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    marker: str
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["marker"] or "", found["language"], found["text"], text.count("\n", 0, found.start("text")) + 1)
        for found in _FENCE.finditer(text)
    ]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+?) *$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_resolve(page: Path) -> None:
    broken = []
    for target in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    assert not [name for name in _OURS.findall(page.read_text(encoding="utf-8")) if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_page_names_a_path_of_a_machine(page: Path) -> None:
    assert not _MACHINE.findall(page.read_text(encoding="utf-8"))


def test_every_page_is_on_the_map() -> None:
    """docs/index.md links to each page of docs/."""
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in _LINK.findall(index.read_text(encoding="utf-8"))}
    assert not [named(page) for page in PAGES if ROOT / "docs" in page.parents and page != index and page.resolve() not in linked]


@pytest.fixture
def environment() -> Iterator[None]:
    """What a page sets in its process's environment ends with it."""
    with mock.patch.dict(os.environ):
        yield


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("page", [page for page in PAGES if any(b.marker == "run" for b in blocks(page))], ids=named)
def test_what_is_marked_runs_and_prints_what_stands_below_it(
    page: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: "Background", commands: Commands
) -> None:
    monkeypatch.setenv("DMSJOURNAL_URL", url)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    run: dict[str, Callable[[Block], str]] = {
        "python": lambda block: run_python(page, replace(block, text=background.ported(block.text)), names),
        "console": lambda block: run_commands(block, background, commands),
        "sql": lambda block: run_sql(block, url),
    }
    printed = None
    for block in blocks(page):
        where = f"{named(page)}:{block.line}"
        if block.marker.startswith("file: "):
            made = Path(block.marker.removeprefix("file: "))
            made.touch(mode=0o600)  # a file of tokens that others can read draws a warning
            made.write_text(block.text, encoding="utf-8")
        elif block.marker == "run":
            printed = run[block.language](block)
            if block.language == "console":
                check(block.text, printed, where)
        elif block.marker == "prints":
            assert printed is not None, f"{where} stands below nothing that ran"
            check(block.text, printed, where)


def run_python(page: Path, block: Block, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
    return printed.getvalue()


class Background:
    """Commands that go on, and the port that stands for 8000."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.running: list[subprocess.Popen[str]] = []

    def ported(self, text: str) -> str:
        """A text with our port for 8000."""
        return text.replace(":8000", f":{self.port}")

    def start(self, command: list[str]) -> str:
        """Starts a command; its first line."""
        environment = {**os.environ, "DMSJOURNAL_HTTP_PORT": str(self.port)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self.running.append(process)
        assert process.stdout is not None
        return process.stdout.readline()

    def end(self) -> None:
        for process in self.running:
            process.terminate()
            process.communicate(timeout=20)


@pytest.fixture
def background() -> Iterator[Background]:
    found = Background()
    yield found
    found.end()


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


def run_commands(block: Block, background: Background, commands: Commands) -> str:
    """The block with what each of its `$ dmsjournal …` and `$ curl …` prints, errors included."""
    shown = []
    for line in block.text.replace("\\\n", "").splitlines():
        if not line.startswith("$ "):
            continue
        program, *arguments = shlex.split(background.ported(line.removeprefix("$ ")), comments=True)
        assert program in ("dmsjournal", "curl"), line
        command = [sys.executable, "-m", "dmsjournal"] if program == "dmsjournal" else [program_at("curl")]
        if arguments[-1] == "&":
            printed = background.start([*command, *arguments[:-1]])
        elif program == "dmsjournal":
            printed = commands.run(arguments).printed
        else:
            printed = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        shown.append(f"{line}\n{printed.replace(f':{background.port}', ':8000')}\n")
    return "".join(shown)


def program_at(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


def run_sql(block: Block, url: str) -> str:
    """What the statements give, each in a transaction of its own, as psql shows it but for its blanks."""
    shown = []
    with psycopg.connect(in_psycopg(url), autocommit=True) as connection:
        for statement in re.split(r";\s*\n", block.text):
            if not statement.strip():
                continue
            result = connection.execute(statement).pgresult
            assert result is not None
            columns = range(result.nfields)
            if columns:
                shown.append(" | ".join((result.fname(column) or b"").decode() for column in columns))
                for row in range(result.ntuples):
                    shown.append(" | ".join((result.get_value(row, column) or b"").decode() for column in columns))
    return "\n".join(shown)


def test_sql_that_a_dba_runs_fixes_its_search_path() -> None:
    """Else it may run what another role has planted (docs/dba/roles.md, Whose functions run)."""
    pages = [page for folder in ("dba", "operator") for page in (ROOT / "docs" / folder).glob("*.md") if page.stem != "sqlserver"]
    looked = [
        (named(page), block["text"])
        for page in pages
        for block in re.finditer(r"(?ms)^ *```sql\n(?P<text>.*?)^ *```$", page.read_text(encoding="utf-8"))
        if re.search(r"(?m)^ *(SELECT|EXPLAIN)\b", block["text"])
    ]
    assert [each for each in looked if not each[1].lstrip().startswith("SET search_path = pg_catalog, pg_temp;\n")] == []
    assert len(looked) >= 9


def check(expected: str, printed: str, where: str) -> None:
    pattern = ".*?".join(map(re.escape, squeezed(expected).split("…")))
    assert re.fullmatch(pattern, squeezed(printed), re.DOTALL), f"{where} does not print this any more, but\n{printed}"


def squeezed(text: str) -> str:
    """The text with blanks as they may be: a table's are not told from others."""
    lines = (" ".join(line.split()) for line in _RULE.sub("", text.replace("\\\n", "")).splitlines())
    return "\n".join(re.sub(r" *\| *", " | ", line).strip() for line in lines if line)
