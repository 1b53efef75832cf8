"""Folding: the runs of an extract, in their order, into the documents as they are after the last one.

In each run key changes come first, then upserts, then deletes. What a run says of a document, all later ones may say better; so of
each kind only the last run's word counts, and all runs are folded at once. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

ORDER = "_order"  # of rows: their run's place among the runs

OP = "_op"  # what a row of `merged` does to a table
PUT, GONE, DELETE, REKEY = "put", "gone", "delete", "rekey"

# What a document is known by, in one table for all resources and in one for each; its uuid as well: an id, or a uuid, may be given
# again by hand.
_DOCUMENT = {False: ["document_id"], True: ["resource", "document_id"]}


def folded(table: DataFrame | None, rows: DataFrame, *, apart: bool = False) -> DataFrame:
    """The current state: what `table` says, None where there is none yet, changed by `rows`, which have a column ORDER from 0 on.

    Columns: those of `state_of`. A document has one row; where resources are `apart`, one in each of them.
    """
    if table is not None:
        upserts = table.withColumn("_change_type", F.lit("upsert")).withColumn(ORDER, F.lit(-1).cast("bigint"))
        rows = upserts.unionByName(state_of(rows))
    return _told(rows, apart).where("is_newest AND lives").select("state.*")


def merged(rows: DataFrame, *, apart: bool = False) -> DataFrame:
    """What `rows` do to a table that is not read for it, with a column OP: to give what `folded` gives.

    PUT: this is the row of its document_id. GONE: there is no row of its document_id. DELETE: the row of its id and uuid goes, if
    there is one. REKEY: that row gets these key values. A row of a table is met by one of these at most.
    """
    told = _told(rows, apart)
    here = told.where("is_newest").select("state.*", F.when(F.col("lives"), PUT).otherwise(GONE).alias(OP))
    op = F.when(F.col("deleted_in").isNotNull(), DELETE).otherwise(REKEY).alias(OP)
    names = [*_DOCUMENT[apart], "document_uuid"]
    others = told.where("NOT has_state").select(*names, F.col("rekeyed.key_values").alias("key_values"), op)
    return here.unionByName(others, allowMissingColumns=True)


def state_of(rows: DataFrame) -> DataFrame:
    """Rows of an extract with the columns of a table, and `_change_type` and ORDER."""
    return (
        rows.withColumnRenamed("_commit_version", "change_version")
        .withColumnRenamed("_commit_timestamp", "committed_at")
        .drop("old_key_values", "run")
    )


def _told(rows: DataFrame, apart: bool) -> DataFrame:
    """What rows say of each lifetime of a document, in one look at them: a row a lifetime.

    `state`: its last one, with the key that it has now; `has_state`: this or another lifetime of its document has one, and
    `is_newest` is the last of those; `lives`: no delete came later; `deleted_in`, `rekeyed`: the last ones.
    """
    document = _DOCUMENT[apart]
    rows = state_of(rows) if "_commit_version" in rows.columns else rows
    columns = [name for name in rows.columns if name not in ("_change_type", ORDER)]

    def placed(kind: str) -> Column:
        return F.when(F.col("_change_type") == kind, F.col(ORDER))

    lifetimes = (
        rows.repartition(*document)
        .groupBy(*document, "document_uuid")
        .agg(
            F.max_by(F.struct(*columns), placed("upsert")).alias("state"),
            F.max(placed("upsert")).alias("put_in"),
            F.max(placed("delete")).alias("deleted_in"),
            F.max_by(F.struct("key_values"), placed("key_change")).alias("rekeyed"),
            F.max(placed("key_change")).alias("rekeyed_in"),
        )
    )
    last = F.max("put_in").over(Window.partitionBy(*document))
    # A tombstone and an upsert of one lifetime in one run: the document was there when the run was read, so it lives again.
    lives = F.col("deleted_in").isNull() | (F.col("deleted_in") <= F.col("put_in"))
    is_rekeyed = F.col("rekeyed_in") > F.col("put_in")  # and changed once more after the run was read: its upsert is still to come
    key = F.when(is_rekeyed, F.col("rekeyed.key_values")).otherwise(F.col("state.key_values"))
    return (
        lifetimes.withColumn("has_state", last.isNotNull())
        .withColumn("is_newest", F.coalesce(F.col("put_in") == last, F.lit(False)))
        .withColumn("lives", lives)
        .withColumn("state", F.when(F.col("put_in").isNotNull(), F.col("state").withField("key_values", key)))
    )
