"""The commands: each parses, makes one call, and prints. Results go to stdout, everything else to stderr.

Alembic, Spark, rich's tables and bars are imported by the commands that use them: --help and the reading commands start fast.
"""

# --help shows the commands in this order.
# isort: off
from dmsjournal.cli import installing, adopting, loading, reading, feeding, delivering, planning
from dmsjournal.cli import watching, verifying, pruning, partitioning
from dmsjournal.cli import extracting
from dmsjournal.cli import serving
from dmsjournal.cli import demonstrating
from dmsjournal.cli.base import app

__all__ = [
    "adopting",
    "app",
    "delivering",
    "demonstrating",
    "extracting",
    "feeding",
    "installing",
    "loading",
    "partitioning",
    "planning",
    "pruning",
    "reading",
    "serving",
    "verifying",
    "watching",
]
