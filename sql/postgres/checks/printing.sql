-- sql/postgres/checks/printing.sql: the server prints and reads text in one form, whatever the role or the database is set to: dmsjournal compares
-- the definitions that it prints, edits them, and reads its times and numbers. After search_path.sql in each transaction of ours and in each
-- printed script, LOCAL as it is. TimeZone is left alone: writers' own triggers and defaults may go by it.
SET LOCAL quote_all_identifiers = off;
SET LOCAL standard_conforming_strings = on;
SET LOCAL array_nulls = on;
SET LOCAL transform_null_equals = off;
SET LOCAL DateStyle = ISO;
SET LOCAL IntervalStyle = postgres;
SET LOCAL extra_float_digits = 1;
SET LOCAL bytea_output = hex;
SET LOCAL xmlbinary = base64;
SET LOCAL xmloption = content;
