"""The commands: each parses, makes one call, and prints. Results go to stdout, everything else to stderr.

Alembic, Spark, rich's tables and bars are imported by the commands that use them: --help and the reading commands start fast.
"""

# --help shows the commands in this order.
# isort: off
from dmsjournal.cli import install, adopt, track, load, read, feed, deliver, notify, plan
from dmsjournal.cli import status, verify, prune, partitions, images
from dmsjournal.cli import extract
from dmsjournal.cli import serve
from dmsjournal.cli import demo
from dmsjournal.cli.base import app

__all__ = [
    "adopt",
    "app",
    "deliver",
    "demo",
    "extract",
    "feed",
    "images",
    "install",
    "load",
    "notify",
    "partitions",
    "plan",
    "prune",
    "read",
    "serve",
    "status",
    "track",
    "verify",
]
