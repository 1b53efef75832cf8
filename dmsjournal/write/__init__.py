"""Documents by key, in one transaction; a file of JSON lines."""
