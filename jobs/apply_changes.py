"""Folds extracted runs into a table of the current state. For spark-submit; see docs/spark/apply.md.

spark-submit --master spark://host:7077 jobs/apply_changes.py /data/changes /data/documents
"""

import argparse
import logging
import os
import sys

from pyspark.sql import SparkSession

import dmsjournal as dj
from dmsjournal.spark.applying import apply
from dmsjournal.spark.comparing import compare
from dmsjournal.spark.session import job_session

logger = logging.getLogger("dmsjournal.jobs.apply_changes")


def main(arguments: list[str] | None = None) -> int:
    """0: done; 1: an error, in one line; 3: --verify found a difference."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(level=asked.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    url = os.environ.get("DMSJOURNAL_URL")
    if asked.verify and not url:
        logger.error("DMSJOURNAL_URL is not set: --verify compares the table with that database")
        return 1

    def session() -> SparkSession:
        return job_session("dmsjournal apply", url)

    try:
        applied = apply(asked.output, asked.table, session, format=asked.format, through=asked.through, replace=asked.replace)
        logger.info("folded %d runs, the table is at version %d", len(applied.runs), applied.version)
        if not asked.verify or not url:
            return 0
        found = compare(url, asked.output, asked.table, session, format=asked.format)
    except dj.JournalError as error:
        logger.error("%s", "; ".join([str(error), *getattr(error, "__notes__", [])]))
        return 1
    for each in found.differences:
        logger.error("%s differs: table %s, database %s", each.resource, each.table, each.database)
    logger.info("compared %s at version %d", found.compared, found.version)
    return 3 if found.differences else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Fold extracted runs into a table of the current state.")
    parser.add_argument("output", metavar="OUTPUT", help="folder of the runs")
    parser.add_argument("table", metavar="TABLE", help="folder of the table, which all workers share")
    parser.add_argument("--format", default="parquet", choices=("parquet", "delta"))
    parser.add_argument("--through", type=int, metavar="VERSION", help="only runs that end at or below it")
    parser.add_argument("--replace", action="store_true", help="the table may be of another output; it begins anew")
    parser.add_argument("--verify", action="store_true", help="compare with the database of DMSJOURNAL_URL")
    parser.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
