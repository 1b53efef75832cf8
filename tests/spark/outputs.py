"""Runs and tables as a reader of Parquet finds them, without any of our code: pyarrow passes over hidden names as Spark does."""

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from tests.spark.changing import State


def rows_of(output: Path, run: str | None = None) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all runs, or of one, by type; in the order of rows_of_database."""
    found: dict[str, list[tuple[Any, ...]]] = {"upsert": [], "delete": [], "key_change": []}
    for row in _rows(output):
        if run is not None and row["run"] != run.removeprefix("run="):
            continue
        told = (row["document_id"], row["document_uuid"], row["_commit_version"])
        keys = (row["old_key_values"], row["key_values"]) if row["_change_type"] == "key_change" else (row["key_values"],)
        found[row["_change_type"]].append((*told, *keys))
    return {kind: sorted(rows, key=repr) for kind, rows in found.items()}


def table_of(folder: Path) -> State:
    """A table of Parquet; a document that is in it twice fails."""
    rows = _rows(folder / "current")
    state = {
        row["document_id"]: (row["document_uuid"], row["resource"], row["key_values"], row["change_version"], row["body"])
        for row in rows
    }
    assert len(state) == len(rows)
    return state


def _rows(folder: Path) -> list[dict[str, Any]]:
    if not any(folder.rglob("*.parquet")):
        return []
    rows: list[dict[str, Any]] = ds.dataset(folder.resolve(), format="parquet", partitioning="hive").to_table().to_pylist()
    return rows
