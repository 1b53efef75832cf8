-- sql/postgres/functions/tracked_operator.v1.sql: an operator as a pattern for format(), with a place for each operand. Outside of pg_catalog a
-- role may create another operator of the name that fits a domain better, so the operands are cast to the types that this one takes.
CREATE FUNCTION dms.tracked_operator(operator oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN o.oprnamespace = 'pg_catalog'::regnamespace THEN format('%%s OPERATOR(pg_catalog.%s) %%s', replace(o.oprname, '%', '%%'))
                ELSE format('CAST(%%s AS %s) OPERATOR(%s.%s) CAST(%%s AS %s)', replace(format_type(o.oprleft, NULL), '%', '%%'),
                            replace(quote_ident(n.nspname), '%', '%%'), replace(o.oprname, '%', '%%'), replace(format_type(o.oprright, NULL), '%', '%%')) END
    FROM pg_operator AS o JOIN pg_namespace AS n ON n.oid = o.oprnamespace WHERE o.oid = operator
$$;
REVOKE EXECUTE ON FUNCTION dms.tracked_operator(oid) FROM PUBLIC;
-- drop: DROP FUNCTION dms.tracked_operator(oid);
