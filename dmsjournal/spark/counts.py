"""What a run holds, as its Parquet files say, which is what a reader will find."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from dmsjournal.spark.manifests import Counts, File

_TYPE = "_change_type"


def counted(folder: Path) -> tuple[list[File], dict[str, Counts]]:
    """The files of a run that is written, and its rows by resource and type."""
    files: list[File] = []
    rows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(folder.rglob("*.parquet")):
        named = unquote(path.parent.name.removeprefix("resource=")) if path.parent != folder else None
        found = {named: _types(path)} if named is not None else _types_by_resource(path)
        for resource, types in found.items():
            rows[resource] += types
        files.append(File(path.relative_to(folder).as_posix(), sum(types.total() for types in found.values()), path.stat().st_size))
    return files, {name: Counts(**rows[name]) for name in sorted(rows)}


def _types(path: Path) -> Counter[str]:
    """The rows of a file by type; its row groups tell it where they are of one, which those of a task are."""
    found: Counter[str] = Counter()
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(number).path for number in range(file.metadata.num_columns)]  # a struct has several
        column = leaves.index(_TYPE)
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            told = group.column(column).statistics
            if told is not None and told.has_min_max and told.min == told.max and told.null_count == 0:
                found[told.min] += group.num_rows
            else:
                found.update(file.read_row_group(number, columns=[_TYPE])[_TYPE].to_pylist())
    return found


def _types_by_resource(path: Path) -> dict[str, Counter[str]]:
    """The rows of a file that has several resources, by resource and type."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counted = pq.read_table(path, columns=["resource", _TYPE], partitioning=None).group_by(["resource", _TYPE])
    for row in counted.aggregate([([], "count_all")]).to_pylist():
        found[row["resource"]][row[_TYPE]] += row["count_all"]
    return found
