"""`python -m dmsjournal.cli` is `dmsjournal`."""

from dmsjournal.cli import app

app()
