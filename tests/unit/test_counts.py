"""What a run's files hold, as they tell it themselves. No Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dmsjournal.spark.counts import counted
from dmsjournal.spark.manifests import Counts


def test_types_are_found_by_name_behind_a_column_of_several_leaves(tmp_path: Path) -> None:
    """A row group is of one type, which its statistics tell, or of several, which its rows do."""
    (tmp_path / "resource=A%2FB%2F1").mkdir()
    body = pa.array([{"a": "delete", "b": "delete"}] * 3)
    with pq.ParquetWriter(
        tmp_path / "resource=A%2FB%2F1" / "part.parquet",
        pa.schema([("body", body.type), ("_change_type", pa.string())]),
    ) as writer:
        for types in (["upsert"] * 3, ["upsert", "delete", "key_change"]):
            writer.write_table(pa.table({"body": body, "_change_type": types}))
    files, rows = counted(tmp_path)
    assert [file.rows for file in files] == [6]
    assert rows == {"A/B/1": Counts(upsert=4, delete=1, key_change=1)}
