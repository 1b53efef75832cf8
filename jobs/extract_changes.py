"""Extracts what changed in the database of DMSJOURNAL_URL, once. For spark-submit; takes the arguments of `dmsjournal extract`.

DMSJOURNAL_URL=… spark-submit --master spark://host:7077 --packages org.postgresql:postgresql:42.7.13 \\
    jobs/extract_changes.py /data/changes
"""

import sys

from dmsjournal.cli import jobs


def main(arguments: list[str] | None = None) -> int:
    """The exit code of the command: docs/cli.md lists them."""
    return jobs.run("extract", arguments)


if __name__ == "__main__":
    sys.exit(main())
