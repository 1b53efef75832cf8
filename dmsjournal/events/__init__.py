"""Events for other programs: the CDC format 1.0, Debezium, CloudEvents, JSON lines, Arrow. Needs dmsjournal[events].

Nothing here reads a database but `cdc.CdcReader`, for cascades, and `arrow.read_journal`.
"""
