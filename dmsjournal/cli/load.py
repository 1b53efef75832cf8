"""The command that loads documents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import msgspec
import typer

import dmsjournal as dj
from dmsjournal.cli.base import Url, app, fail
from dmsjournal.util.files import private

if TYPE_CHECKING:
    from dmsjournal.write.load import LineFile, Rejected

_REASONS_SHOWN = 3


@app.command()
def load(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="JSON lines, plain or gzip; - is standard input.")],
    url: Url,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Load the good lines, write the bad ones to a file.")] = False,
    rejects: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for them, with --keep-going.", show_default="FILE.rejects.jsonl")
    ] = None,
    commit_every: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Commit after each N lines.", show_default="all or nothing")
    ] = None,
) -> None:
    """Write the documents of a file. A line is one document, in UTF-8, and stands after those that it refers to.

    All lines are loaded or none, unless an option says otherwise.

    Example: dmsjournal load documents.jsonl.gz --commit-every 1000 --keep-going
    """
    from dmsjournal.write import load as loader

    if rejects is not None and not keep_going:
        raise typer.BadParameter("it goes with --keep-going", param_hint="--rejects")
    target = rejects or Path(f"{'stdin' if file == '-' else file}.rejects.jsonl")
    if rejects is not None and target.exists() and file != "-" and Path(file).exists() and target.samefile(file):
        raise typer.BadParameter("it is the file to load", param_hint="--rejects")
    with loader.opened(file) as source, dj.connect(url) as db, _bar(source) as progress, _Rejects(target) as bad:
        report = loader.load(db, source, keep_going=keep_going, commit_every=commit_every, progress=progress, on_rejected=bad.write)
    typer.echo(
        f"created={report.created} updated={report.updated} unchanged={report.unchanged} rejected={bad.count} "
        f"seconds={report.seconds:.1f} documents_per_second={report.documents / max(report.seconds, 1e-3):.0f}"
    )
    if bad.count:
        fail([*bad.first, f"{bad.count} lines were not loaded: they are in {target}, with the reasons"], 1)


@dataclass
class _Rejects:
    """The file of the lines that were not loaded, made at the first of them; counted, not kept."""

    path: Path
    count: int = 0
    first: list[str] = field(default_factory=list)
    _file: TextIO | None = None

    def __enter__(self) -> "_Rejects":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, rejected: "Rejected") -> None:
        try:
            self._file = self._file or open(self.path, "w", encoding="utf-8", opener=private)  # noqa: SIM115  # closed by __exit__
            self._file.write(msgspec.json.encode(rejected).decode() + "\n")
        except OSError as error:
            raise dj.InvalidRequest("rejects", str(self.path), f"it cannot be written ({error.strerror})") from error
        self.count += 1
        if len(self.first) < _REASONS_SHOWN:
            self.first.append(f"line {rejected.line_number}: {rejected.reason}")


@contextmanager
def _bar(source: "LineFile") -> Iterator[Callable[[int], None]]:
    """To be called with the number of lines done; it is shown on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("0 lines", total=source.size)
        yield lambda lines: progress.update(task, completed=source.position, description=f"{lines:,} lines")
