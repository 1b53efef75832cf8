-- sql/postgres/functions/parent_resource.v1.sql: the resource of an edge's parent. A document's resource never changes (stamp_update); locked, as the
-- foreign key will lock it anyway, it cannot be replaced by one of another resource either.
-- Without the parent the foreign key speaks: 0 is no resource.
CREATE FUNCTION dms.parent_resource(parent bigint) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_seqscan = off AS $$  -- the kept plan of a session that began with an empty table must not scan it when it is full
BEGIN
    RETURN coalesce((SELECT ResourceKeyId FROM dms.Document WHERE DocumentId = parent FOR KEY SHARE), 0);
END $$;
REVOKE EXECUTE ON FUNCTION dms.parent_resource(bigint) FROM PUBLIC;
-- drop: DROP FUNCTION dms.parent_resource(bigint);
