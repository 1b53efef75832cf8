-- sql/sqlserver/checks/lock_timeout.sql: a migration gives up, and changes nothing, rather than make every writer queue behind it; an error
-- ends its transaction. Milliseconds; -1 waits for ever.
SET XACT_ABORT ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_NULLS ON;
SET NOCOUNT OFF;
SET LOCK_TIMEOUT {lock_timeout};
