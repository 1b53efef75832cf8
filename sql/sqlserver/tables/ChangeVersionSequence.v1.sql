-- sql/sqlserver/tables/ChangeVersionSequence.v1.sql: where stamps come from. A sequence that nobody has drawn from reports its start as
-- its current value: 0 is drawn here, so that the current value is from now on the last one that was given, and the first stamp is 1.
-- Cached: all sessions share the cache, and a crash loses what is left of it, which is a gap; each cache costs a write to the catalog. Dynamic, since the batch is compiled before
-- the sequence is there.
IF OBJECT_ID(N'dms.ChangeVersionSequence') IS NULL
BEGIN
    CREATE SEQUENCE dms.ChangeVersionSequence AS bigint START WITH 0 INCREMENT BY 1 MINVALUE 0 NO CYCLE CACHE 1000;
    EXEC sys.sp_addextendedproperty N'dmsjournal', N'the stamps', N'SCHEMA', N'dms', N'SEQUENCE', N'ChangeVersionSequence';
    EXEC sys.sp_executesql N'DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence;';
END;
-- Documents may be older than the sequence (a restore without it): it goes on above every stamp that they hold. Two maxima, since an
-- adoption, while it holds writers, has an index for each.
DECLARE @newest bigint, @drawn bigint, @restart nvarchar(200);
SELECT @newest = MAX(stamped.version)
FROM (SELECT MAX(ContentVersion) AS version FROM dms.Document UNION ALL SELECT MAX(IdentityVersion) FROM dms.Document) AS stamped;
IF @newest IS NOT NULL
BEGIN
    EXEC sys.sp_executesql N'SET @drawn = NEXT VALUE FOR dms.ChangeVersionSequence;', N'@drawn bigint OUTPUT', @drawn OUTPUT;
    IF @drawn < @newest
    BEGIN
        SET @restart = N'ALTER SEQUENCE dms.ChangeVersionSequence RESTART WITH ' + CAST(@newest AS nvarchar(20)) + N';';
        EXEC sys.sp_executesql @restart;
        EXEC sys.sp_executesql N'DECLARE @none bigint = NEXT VALUE FOR dms.ChangeVersionSequence;';
    END;
END;
-- Whoever writes or reads asks for its current value, which sys.sequences shows to those alone who may see the sequence.
GRANT VIEW DEFINITION ON dms.ChangeVersionSequence TO public;
