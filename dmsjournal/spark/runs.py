"""An output: the runs of one chain, each a folder that became visible whole, in one step, with its manifest inside.

    OUT/_extract.json                                what the runs have in common: resources, columns, the chain's name
    OUT/_checkpoint.json                             how far they have come
    OUT/_lock                                        who works here now
    OUT/.making-…/                                   a run that is being written, or was when something was killed
    OUT/run=FIRST-LAST/_manifest.json
    OUT/run=FIRST-LAST/resource=…/part-….parquet

The runs of a chain follow one another without a gap and without an overlap. Readers of Parquet pass over names that begin with a
dot or an underscore. Source: docs/how-it-works.md, Extracts.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from dmsjournal.database.fingerprints import Fingerprint
from dmsjournal.errors import InvalidRequest
from dmsjournal.spark import manifests
from dmsjournal.spark.manifests import ExtractCheckpoint, Manifest, OutputSettings
from dmsjournal.util.files import publish

MANIFEST = "_manifest.json"

_RUN = re.compile(r"run=(\d{19})-(\d{19})")


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, and the versions that it covers, both inclusive."""

    folder: Path
    first: int
    last: int

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    def manifest(self) -> Manifest:
        """What it says of itself, whose files are there as they were written. Raises InvalidRequest, naming what is not."""
        found = manifests.read(self.folder / MANIFEST, Manifest)
        if (found.first, found.last) != (self.first, self.last):
            raise InvalidRequest("run", str(self.folder), f"its manifest is of {found}: the folder was renamed")
        for file in found.files:
            path = self.folder / file.path
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise InvalidRequest("run", str(self.folder), f"{file.path} is not as it was written: fetch the run again, whole")
        return found


class Output:
    """The folder of a chain's runs. Whoever changes it holds its lock: durable.locked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def settings(self) -> OutputSettings | None:
        """What its runs have in common; None for a folder that is missing or empty. Raises InvalidRequest where it is not ours."""
        if (path := self.folder / "_extract.json").exists():
            return manifests.read(path, OutputSettings)
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidRequest("output", str(self.folder), "there is a file of that name: name a folder")
        strange = [each.name for each in self.folder.iterdir() if each.name != "_lock"] if self.folder.exists() else []
        if any(not name.startswith("._extract.json-") for name in strange):  # such as a run that was killed before it began
            raise InvalidRequest(
                "output", str(self.folder), f"it holds {min(strange)} and was not made by dmsjournal extract: name a new folder"
            )
        return None

    def begin(self, settings: OutputSettings) -> None:
        """Makes the folder an output of ours."""
        manifests.write(self.folder / "_extract.json", settings)

    def runs(self) -> Sequence[Run]:
        """The finished runs, the earliest first."""
        found = ((each, _RUN.fullmatch(each.name)) for each in self.folder.iterdir()) if self.folder.exists() else ()
        return sorted((Run(folder, int(name[1]), int(name[2])) for folder, name in found if name), key=lambda run: run.first)

    def checkpoint(self) -> ExtractCheckpoint | None:
        """How far it has come; None where no run has finished. A run that was killed before it could say so counts.

        Raises InvalidRequest where it is not this output's.
        """
        path, settings = self.folder / "_checkpoint.json", self.settings()
        found = manifests.read(path, ExtractCheckpoint) if path.exists() else None
        if found is not None and (settings is None or found.chain != settings.chain):
            raise InvalidRequest("checkpoint", str(path), "it is of another output: a copy; remove it to go by the runs")
        runs = self.runs()
        if runs and (found is None or runs[-1].last > found.version):
            manifest = runs[-1].manifest()
            return ExtractCheckpoint(manifest.chain, manifest.fingerprint)
        return found

    def move_checkpoint(self, chain: str, fingerprint: Fingerprint) -> None:
        """Notes how far the output has come. Only after the run that leads there is visible."""
        manifests.write(self.folder / "_checkpoint.json", ExtractCheckpoint(chain, fingerprint))

    def sweep(self) -> None:
        """Removes what killed runs left behind."""
        for left in self.folder.glob(".making-*"):
            shutil.rmtree(left, ignore_errors=True)  # what a task of a killed driver adds meanwhile, the next run takes away
        for file in self.folder.glob("._*.json-*"):
            file.unlink(missing_ok=True)

    @contextmanager
    def making(self) -> Iterator[Path]:
        """The name of a new, hidden folder for a run, which goes with the block unless it is finished in it: a disk may be full.

        No two runs get the same: tasks of one whose driver was killed may still be writing for a while.
        """
        folder = self.folder / f".making-{uuid4().hex}"
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def finish(self, making: Path, manifest: Manifest) -> None:
        """Gives the run its manifest, and then its name: the one step by which it becomes visible."""
        manifests.write(making / MANIFEST, manifest)
        publish(making, self.run_of(manifest).folder)

    def run_of(self, manifest: Manifest) -> Run:
        """The run that a manifest is of."""
        return Run(self.folder / f"run={manifest.first:019}-{manifest.last:019}", manifest.first, manifest.last)
