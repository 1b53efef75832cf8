"""Prunes the journals of the database in DMSJOURNAL_URL, once. For cron; see docs/operator/prune.md.

python jobs/prune_journals.py --older-than 90d --keep-at-least 100000 --max-runtime 2h
"""

import argparse
import logging
import os
import sys
from datetime import timedelta

import dmsjournal as dj
from dmsjournal.operate import prune
from dmsjournal.util import durations
from dmsjournal.util.printable import printable

logger = logging.getLogger("dmsjournal.jobs.prune_journals")


def main(arguments: list[str] | None = None) -> int:
    """0: done, or stopped in time or at a consumer, which is logged; 1: an error, in one line."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(level=asked.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    url = os.environ.get("DMSJOURNAL_URL")
    if not url:
        logger.error("DMSJOURNAL_URL is not set: it names the database")
        return 1
    try:
        with dj.connect(url) as db:
            pruned = db.prune(
                older_than=_duration("older_than", asked.older_than),
                keep_at_least=asked.keep_at_least,
                batch_size=asked.batch_size,
                pause=durations.parsed("pause", asked.pause),
                max_runtime=_duration("max_runtime", asked.max_runtime),
            )
    except dj.JournalError as error:
        logger.error("%s", printable(str(error)))
        return 1
    if pruned.held_by is not None:
        logger.warning("stopped at version %d: %s", pruned.through, printable(str(pruned.held_by)))
    if not pruned.finished:
        logger.warning("not finished in time: the next run goes on")
    return 0


def _duration(parameter: str, text: str | None) -> timedelta | None:
    return None if text is None else durations.parsed(parameter, text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Prune the journals of the database in DMSJOURNAL_URL, once.")
    parser.add_argument("--older-than", metavar="AGE", help="delete what is older, such as 90d")
    parser.add_argument("--keep-at-least", type=int, metavar="N", help="the newest N document events stay, whatever their age")
    parser.add_argument("--batch-size", type=int, default=prune.BATCH_SIZE, metavar="N", help="rows to delete in one transaction")
    parser.add_argument("--pause", default="5ms", metavar="TIME", help="wait so long after each batch, such as 100ms")
    parser.add_argument("--max-runtime", metavar="TIME", help="stop after so long, such as 2h")
    parser.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
