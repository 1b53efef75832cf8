"""Prints the JSON Schema of CDC events: `python -m dmsjournal.events.cdc`."""

from dmsjournal.events.cdc.schema import text

print(text(), end="")
