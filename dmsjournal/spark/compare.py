"""Comparing: whether a table of current state is what the database holds, while others write.

Of the documents that did not change since the version that the table has come to, the table's rows are the database's. So what
changed since is left out on both sides, and the rest must be equal. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dmsjournal.errors import InvalidRequest
from dmsjournal.journal import connect
from dmsjournal.model.windows import Window
from dmsjournal.spark import lake_files
from dmsjournal.spark.apply import Format, table_in
from dmsjournal.spark.bodies import STRUCT
from dmsjournal.spark.body_texts import of_bodies
from dmsjournal.spark.dataframes import read
from dmsjournal.spark.inputs import Input, input_of
from dmsjournal.spark.jobs import Progress, watched

_COMPARED = ("document_id", "document_uuid", "resource", "change_version", "key_values", "body", "etag")


@dataclass(frozen=True, slots=True)
class Sum:
    """Documents, and a sum of a hash of each: the same in any order."""

    documents: int = 0
    checksum: int = 0


@dataclass(frozen=True, slots=True)
class TableDifference:
    """A resource of which table and database do not hold the same documents."""

    resource: str
    table: Sum
    database: Sum


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared: the documents that did not change after `version`. Equal where there is no difference."""

    version: int
    compared: Sum
    differences: Sequence[TableDifference]


def compare(
    url: str | sa.URL,
    output: str | os.PathLike[str],
    table: str | os.PathLike[str],
    session: Callable[[], SparkSession],
    *,
    format: Format = "parquet",
    by_resource: bool = False,
    conf: Mapping[str, str] | None = None,
    catalog: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compares ids, uuids, resources, versions, key values, bodies and etags, as far as the table has them, with the database.

    Raises InvalidRequest; HistoryDiverged where the database's history does not lead to the table; CheckpointExpired where it is
    not kept any more what changed since; StoreRefused, Unavailable. Source: docs/how-it-works.md, Applying.
    """
    kept = input_of(output, conf, format=format, catalog=catalog)
    target = table_in(table, format, by_resource=by_resource, conf=conf, catalog=catalog)
    state = target.state()
    if state is None or kept.chain != state.chain:
        raise InvalidRequest("table", os.fspath(table), f"it is not made of {kept.name}: apply that first")
    with connect(url) as db:
        db.check_history(state.fingerprint)
    spark = session()
    with (
        watched(spark, "comparing", progress),
        lake_files.configured(spark, lake_files.BATCHES),
        _database(spark, url, kept, state.version) as theirs,
        read(spark, url, kept.chosen, Window(min=state.version + 1)) as later,
    ):
        ours = _hashed(target.read(spark), kept.form)
        since = later.since(state.version).persist()
        found, expected = (_sums(each.join(since, "document_id", "left_anti")) for each in (ours, theirs))
        since.unpersist()
    nothing = Sum()
    differences = [
        TableDifference(name, found.get(name, nothing), expected.get(name, nothing))
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
    ]
    compared = Sum(sum(each.documents for each in expected.values()), sum(each.checksum for each in expected.values()))
    return Comparison(state.version, compared, differences)


@contextmanager
def _database(spark: SparkSession, url: str | sa.URL, kept: Input, version: int) -> Iterator[DataFrame]:
    """The documents of the database that have not changed after a version, hashed; read by the time the block begins.

    So what changes meanwhile has changed since, if that is looked up in the block.
    """
    with_bodies = kept.form is not None
    with read(spark, url, kept.chosen, full=True, body=with_bodies) as reading:
        documents = reading.changes(body=with_bodies, derived=kept.etag)
        unchanged = documents.where(F.col("change_version") <= version).withColumn("resource", reading.resource())
        found = _hashed(unchanged, kept.form).persist()
        found.count()
    try:
        yield found
    finally:
        found.unpersist()


def _hashed(documents: DataFrame, form: str | None) -> DataFrame:
    """`form`: of the table's bodies."""
    if form == STRUCT and "body" not in documents.columns:  # no document of the table has a field yet
        documents = documents.withColumn("body", F.lit(None).cast("string"))
    columns = [name for name in _COMPARED if name in documents.columns]
    documents = of_bodies(documents.select(*columns), form)
    shown = [F.coalesce(F.col(name).cast("string"), F.lit("\0")) for name in columns]  # a hash passes over nulls
    return documents.select("document_id", "resource", F.xxhash64(*shown).alias("hash"))


def _sums(documents: DataFrame) -> dict[str, Sum]:
    found = documents.groupBy("resource").agg(F.count("*"), F.sum(F.col("hash").cast("decimal(38, 0)"))).collect()
    return {row[0]: Sum(row[1], int(row[2])) for row in found}
