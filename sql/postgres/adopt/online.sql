-- sql/postgres/adopt/online.sql: for what runs outside of a transaction, and long: nobody waits for the locks that it waits for.
-- No transaction fixes the search_path there (checks/search_path.sql) and how the server prints (checks/printing.sql), so the session does.
SET search_path = pg_catalog, pg_temp;
SET row_security = off;
SET quote_all_identifiers = off;
SET standard_conforming_strings = on;
SET array_nulls = on;
SET transform_null_equals = off;
SET DateStyle = ISO;
SET IntervalStyle = postgres;
SET extra_float_digits = 1;
SET bytea_output = hex;
SET xmlbinary = base64;
SET xmloption = content;
SET lock_timeout = 0;
SET statement_timeout = 0;
