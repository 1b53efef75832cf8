"""For the demo, for tests and for a DBA who tries a server: a PostgreSQL of one's own, the conformance suite of feeds, prove."""
