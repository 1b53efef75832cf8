"""Extracts what changed in the database of DMSJOURNAL_URL as Parquet, once. For spark-submit; see docs/spark/extract.md.

DMSJOURNAL_URL=… spark-submit --master spark://host:7077 --packages org.postgresql:postgresql:42.7.13 \\
    jobs/extract_changes.py /data/changes
"""

import argparse
import logging
import os
import sys

import dmsjournal as dj
from dmsjournal.spark.extracting import Request, extract
from dmsjournal.spark.session import job_session

logger = logging.getLogger("dmsjournal.jobs.extract_changes")


def main(arguments: list[str] | None = None) -> int:
    """0: done, or nothing was left to do; 1: an error, in one line."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(level=asked.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    url = os.environ.get("DMSJOURNAL_URL")
    if not url:
        logger.error("DMSJOURNAL_URL is not set: it names the database")
        return 1
    try:
        made = extract(
            url,
            asked.output,
            lambda: job_session("dmsjournal extract", url),
            Request(asked.full, asked.from_checkpoint, asked.min, asked.max),
            resources=[dj.ResourceKey.parse(name) for name in asked.resource] if asked.resource else None,
            body=asked.body,
            etag=asked.etag,
            events_per_part=asked.events_per_part,
        )
    except dj.JournalError as error:
        logger.error("%s", "; ".join([str(error), *getattr(error, "__notes__", [])]))
        return 1
    logger.info("extracted up to version %d, %s", made.version, made.rows if made.is_new else "nothing new")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Extract what changed in the database of DMSJOURNAL_URL as Parquet, once.")
    parser.add_argument("output", metavar="OUTPUT", help="folder of the runs, which all workers share")
    parser.add_argument("--full", action="store_true", help="all live documents, as the first run")
    parser.add_argument("--from-checkpoint", action="store_true", help="what came after the last run")
    parser.add_argument("--min", type=int, metavar="VERSION", help="first version, inclusive")
    parser.add_argument("--max", type=int, metavar="VERSION", help="last version, inclusive")
    parser.add_argument("--resource", action="append", metavar="RESOURCE", help="such as Ed-Fi/Student/5.2.0; may be given again")
    parser.add_argument("--body", action=argparse.BooleanOptionalAction, help="with the documents' bodies (with)")
    parser.add_argument("--etag", action=argparse.BooleanOptionalAction, help="with derived etags (without)")
    parser.add_argument("--events-per-part", type=int, metavar="N", help="events that one task reads")
    parser.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
