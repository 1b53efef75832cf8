"""One typed engine: connections, sessions, named statements, and what differs between PostgreSQL and SQL Server."""
