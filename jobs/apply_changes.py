"""Folds extracted runs into a table of the current state. For spark-submit; takes the arguments of `dmsjournal apply`.

spark-submit --master spark://host:7077 jobs/apply_changes.py /data/changes /data/documents
"""

import sys

from dmsjournal.cli import jobs


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command: docs/cli.md lists them."""
    return jobs.run("apply", arguments)


if __name__ == "__main__":
    sys.exit(main())
