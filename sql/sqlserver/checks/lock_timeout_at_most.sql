-- sql/sqlserver/checks/lock_timeout_at_most.sql: the session waits for a lock for so many milliseconds at most, and no longer than before.
IF @@LOCK_TIMEOUT NOT BETWEEN 0 AND {lock_timeout}
    SET LOCK_TIMEOUT {lock_timeout};
