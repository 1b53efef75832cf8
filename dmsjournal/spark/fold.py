"""Folding: the runs of an extract, in their order, into the documents as they are after the last one.

In each run key changes come first, then upserts, then deletes. What a run says of a document, all later ones may say better; so of
each kind only the last run's word counts, and all runs are folded at once. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

ORDER = "_order"  # of rows: their run's place among the runs

_LIFETIME = ["document_id", "document_uuid"]  # an id, or a uuid, may be given again by hand


def folded(table: DataFrame | None, rows: DataFrame) -> DataFrame:
    """The current state: what `table` says, None where there is none yet, changed by `rows`, which have a column ORDER above 0.

    Columns: those of `state_of`. A document has one row.
    """
    states = state_of(rows.where("_change_type = 'upsert'"))
    if table is not None:
        states = table.withColumn(ORDER, F.lit(-1).cast("bigint")).unionByName(states)
    newest = states.groupBy("document_id").agg(F.max_by(F.struct("*"), ORDER).alias("newest")).select("newest.*")
    # A tombstone and an upsert of one lifetime in one run: the document was there when the run was read, so it lives again.
    is_kept = F.col("deleted_in").isNull() | (F.col("deleted_in") <= F.col(ORDER))
    is_rekeyed = F.col("rekeyed_in") > F.col(ORDER)  # and changed once more after the run was read: its upsert is still to come
    return (
        newest.join(_deletes(rows), _LIFETIME, "left")
        .where(is_kept)
        .join(_key_changes(rows), _LIFETIME, "left")
        .withColumn("key_values", F.when(is_rekeyed, F.col("rekeyed.key_values")).otherwise(F.col("key_values")))
        .drop(ORDER, "deleted_in", "rekeyed_in", "rekeyed")
    )


def state_of(upserts: DataFrame) -> DataFrame:
    """Upserts as rows of a table: change_version and committed_at, and what else they have, but for what tells of the change."""
    return (
        upserts.withColumnRenamed("_commit_version", "change_version")
        .withColumnRenamed("_commit_timestamp", "committed_at")
        .drop("_change_type", "old_key_values", "run")
    )


def _deletes(rows: DataFrame) -> DataFrame:
    return rows.where("_change_type = 'delete'").groupBy(_LIFETIME).agg(F.max(ORDER).alias("deleted_in"))


def _key_changes(rows: DataFrame) -> DataFrame:
    return (
        rows.where("_change_type = 'key_change'")
        .groupBy(_LIFETIME)
        .agg(F.max(ORDER).alias("rekeyed_in"), F.max_by(F.struct("key_values"), ORDER).alias("rekeyed"))
    )
