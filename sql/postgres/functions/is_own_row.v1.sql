-- sql/postgres/functions/is_own_row.v1.sql: whether the running transaction wrote a row that it sees: of a journal, an image or a context.
-- transaction_id is what the row says, written_by its xmin, this_transaction is pg_current_xact_id(). Both must fit:
-- - A restored row can carry an id that comes again in this cluster. Its xmin is the id of the transaction that restored it.
-- - xmin has 32 bits, which come again in one cluster. The id that the row says has 64, which do not.
-- A savepoint gives rows an id of its own as xmin, above the transaction's. A row is visible, and the id in its xmin is in progress: then it is
-- the id of a savepoint of this transaction, since no session sees rows of another one's running transaction.
-- No setting and no lock counts here: a session can write any setting, and take any advisory lock.
-- The caller's query takes this function in (inlines it): no SET clause, VOLATILE as pg_xact_status is, each argument of a cost once.
CREATE FUNCTION dms.is_own_row(transaction_id bigint, written_by xid, this_transaction bigint) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
    SELECT CASE
        WHEN (transaction_id OPERATOR(pg_catalog.=) this_transaction) IS NOT TRUE THEN false
        WHEN ((written_by::pg_catalog.text::bigint OPERATOR(pg_catalog.-) this_transaction) OPERATOR(pg_catalog.&) 4294967295) OPERATOR(pg_catalog.=) 0 THEN true
        WHEN ((written_by::pg_catalog.text::bigint OPERATOR(pg_catalog.-) this_transaction) OPERATOR(pg_catalog.&) 4294967295) OPERATOR(pg_catalog.>) 2147483647 THEN false  -- an older id
        ELSE pg_catalog.pg_xact_status(
            (this_transaction OPERATOR(pg_catalog.+) ((written_by::pg_catalog.text::bigint OPERATOR(pg_catalog.-) this_transaction) OPERATOR(pg_catalog.&) 4294967295))::pg_catalog.text::pg_catalog.xid8
        ) OPERATOR(pg_catalog.=) 'in progress'
    END
$$;
REVOKE EXECUTE ON FUNCTION dms.is_own_row(bigint, xid, bigint) FROM PUBLIC;  -- those who call it run as its owner
-- drop: DROP FUNCTION dms.is_own_row(bigint, xid, bigint);
