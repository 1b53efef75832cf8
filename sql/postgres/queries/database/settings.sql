-- sql/postgres/queries/database/settings.sql: what checks/search_path.sql and checks/printing.sql set, as the transaction has it. Qualified, as it runs
-- before them. Gives: settings, a JSON object.
SELECT pg_catalog.json_build_object(
    'search_path', pg_catalog.current_setting('search_path'),
    'row_security', pg_catalog.current_setting('row_security'),
    'quote_all_identifiers', pg_catalog.current_setting('quote_all_identifiers'),
    'standard_conforming_strings', pg_catalog.current_setting('standard_conforming_strings'),
    'array_nulls', pg_catalog.current_setting('array_nulls'),
    'transform_null_equals', pg_catalog.current_setting('transform_null_equals'),
    'DateStyle', pg_catalog.current_setting('DateStyle'),
    'IntervalStyle', pg_catalog.current_setting('IntervalStyle'),
    'extra_float_digits', pg_catalog.current_setting('extra_float_digits'),
    'bytea_output', pg_catalog.current_setting('bytea_output'),
    'xmlbinary', pg_catalog.current_setting('xmlbinary'),
    'xmloption', pg_catalog.current_setting('xmloption')) AS settings
