-- sql/postgres/queries/database/begin_bounded.sql: how long a statement of this transaction may take, for a program that serves others. Not sent with
-- the login: PgBouncer and others refuse a login with options.
SET LOCAL statement_timeout = '{milliseconds}ms';
