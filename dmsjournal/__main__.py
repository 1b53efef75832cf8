"""`python -m dmsjournal` is `dmsjournal`."""

from dmsjournal.cli import app

app()
