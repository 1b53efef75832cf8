-- sql/postgres/checks/lock_timeout.sql: a migration gives up, and changes nothing, rather than make every writer queue behind it.
SET LOCAL lock_timeout = '{lock_timeout}';
