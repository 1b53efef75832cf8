-- sql/sqlserver/functions/tracking_text.v1.sql: what tracking a table is made of, generated from the catalog: a view, procedures and triggers, each with the statement that
-- makes it, in the order in which they are made, as one text that tracking_of.v1.sql takes apart. Each name is quoted here. How it works, and why: docs/dba/track.md, What is installed. In short:
-- - Triggers learn from inserted and deleted which keys a statement touched, and read the rows themselves from the view: a trigger of the table's own
--   may have written them again meanwhile. So a trigger that fires twice for one statement does no harm either.
-- - Old and new rows meet in a hash join; everything else is a lookup by key (LOOP JOIN, FORCE ORDER): see triggers/document_stamp.v1.sql.
-- - What a trigger looks up in dms or writes there it reads as it is now (READCOMMITTEDLOCK), never by the snapshot of its writer: a fill may have made the document, its edges
--   or its body since, and an UPDATE would pass it by.
-- - The view is bound to its table, so the server refuses to rename or drop a column that the triggers name, or the table itself.
-- - A variable is declared with the type and the collation of its column: nothing depends on the settings of the session that writes.
CREATE FUNCTION dms.tracking_text (@tracked_id smallint) RETURNS nvarchar(max)
AS
BEGIN
    DECLARE @object TABLE (place int NOT NULL, kind nvarchar(16) NOT NULL, name nvarchar(128) NOT NULL, statement nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL);
    DECLARE @root int = dms.tracked_relation(@tracked_id), @kind smallint, @keeps bit, @shown nvarchar(max), @watched nvarchar(max), @schema nvarchar(300),
            @table nvarchar(600);
    DECLARE @column TABLE (
        ColumnId int NOT NULL PRIMARY KEY, Quoted nvarchar(300) NOT NULL, IsKey bit NOT NULL, IsShown bit NOT NULL, IsLink bit NOT NULL, IsWatched bit NOT NULL,
        Differs nvarchar(max) NULL);
    DECLARE @k TABLE (
        place int NOT NULL PRIMARY KEY, index_id int NOT NULL, column_id int NOT NULL, quoted nvarchar(300) NOT NULL, declared nvarchar(300) NOT NULL, given nvarchar(300) NOT NULL,
        variable nvarchar(600) NOT NULL, is_computed bit NOT NULL, typed nvarchar(600) NOT NULL);
    DECLARE @reference TABLE (
        constraint_id int NOT NULL, name nvarchar(128) NOT NULL, parent_id smallint NOT NULL, child_id smallint NOT NULL, child_kind smallint NOT NULL, place int NOT NULL,
        parent_column_id int NOT NULL, parent_column nvarchar(128) NOT NULL, child_column_id int NOT NULL, child_column nvarchar(128) NOT NULL, is_identity int NOT NULL);
    DECLARE @foreign TABLE (place int NOT NULL PRIMARY KEY, child_id smallint NOT NULL, child_kind smallint NOT NULL, is_identity int NOT NULL, matches nvarchar(max) NOT NULL);
    DECLARE @mark TABLE (place int NOT NULL PRIMARY KEY, mark nvarchar(32) NOT NULL, value nvarchar(max) NOT NULL);
    DECLARE @place int = 0, @name nvarchar(32), @value nvarchar(max), @joined nvarchar(max), @typed nvarchar(max), @key nvarchar(max), @key_given nvarchar(max), @key_old nvarchar(max), @names nvarchar(max), @olds nvarchar(max), @declared nvarchar(max), @declared_null nvarchar(max),
            @declared_old nvarchar(max), @of_r nvarchar(max), @of_new nvarchar(max), @of_old nvarchar(max), @r_is_new nvarchar(max), @r_is_row nvarchar(max), @r_is_other nvarchar(max),
            @new_is_old nvarchar(max), @new_is_match nvarchar(max), @old_is_match nvarchar(max),  
            @written nvarchar(max), @after nvarchar(max), @given nvarchar(max), @first nvarchar(300), @begun nvarchar(600), @variables nvarchar(max), @ordered nvarchar(max), @r_is_range nvarchar(max),
            @differs nvarchar(max), @shows nvarchar(max), @links nvarchar(max), @pairs nvarchar(max), @edges nvarchar(max), @wanted nvarchar(max), @find nvarchar(max),
            @find_r nvarchar(max), @stale nvarchar(max), @keep nvarchar(max) = N'', @identity nvarchar(max) = N'', @restored nvarchar(max) = N'', @create nvarchar(max);

    SELECT @kind = t.ResourceKeyId, @keeps = t.KeepsBodies, @shown = t.ShownColumns, @watched = t.WatchedColumns FROM dms.TrackedTable AS t WHERE t.TrackedTableId = @tracked_id;
    SELECT @schema = QUOTENAME(s.name), @table = CONCAT(QUOTENAME(s.name), N'.', QUOTENAME(o.name)) FROM sys.tables AS o INNER JOIN sys.schemas AS s ON s.schema_id = o.schema_id WHERE o.object_id = @root;
    SET @key = dms.tracked_key_json(@tracked_id, N't', NULL);
    IF @key IS NULL OR @table IS NULL
        RETURN NULL;
    INSERT INTO @k (place, index_id, column_id, quoted, declared, given, variable, is_computed, typed)
    SELECT k.place, k.index_id, k.column_id, k.quoted, k.declared, k.given,
           CASE WHEN k.type IN (N'char', N'varchar') THEN CONCAT(N'CAST(@K', k.place, N' COLLATE ', k.collation_name, N' AS ', SUBSTRING(k.given, 2, 128), N')')
                WHEN k.collation_name IS NOT NULL THEN CONCAT(N'@K', k.place, N' COLLATE ', k.collation_name) ELSE CONCAT(N'@K', k.place) END,
           k.is_computed, k.typed
    FROM dms.tracked_key(@tracked_id) AS k;
    INSERT INTO @reference (constraint_id, name, parent_id, child_id, child_kind, place, parent_column_id, parent_column, child_column_id, child_column, is_identity)
    SELECT f.constraint_id, f.name, f.parent_id, f.child_id, f.child_kind, f.place, f.parent_column_id, f.parent_column, f.child_column_id, f.child_column, f.is_identity
    FROM dms.tracked_references() AS f WHERE f.parent_id = @tracked_id OR f.child_id = @tracked_id;
    -- Of other resources no key is made: it could be of other types, whenever the server looks at it.
    SET @joined = dms.tracked_row(@tracked_id, N'$from$', N'$source$');
    SET @typed = dms.tracked_typed(@tracked_id, N'$from$');
    SET @key_old = dms.tracked_key_json(@tracked_id, N'old', NULL);
    SET @key_given = dms.tracked_key_json(@tracked_id, N'w', N'O');

    INSERT INTO @column (ColumnId, Quoted, IsKey, IsShown, IsLink, IsWatched, Differs)
    SELECT c.column_id, c.quoted, told.is_key,
           CASE WHEN told.is_key = 1 OR told.is_referred = 1 OR c.name IN (SELECT s.value COLLATE DATABASE_DEFAULT FROM OPENJSON(@shown) AS s) THEN 1 ELSE 0 END,
           told.is_link,
           CASE WHEN (@watched IS NULL AND c.is_comparable = 1) OR (c.is_readable = 1 AND c.name IN (SELECT w.value COLLATE DATABASE_DEFAULT FROM OPENJSON(@watched) AS w)) THEN 1 ELSE 0 END,
           dms.tracked_differs(c.type, c.max_length, c.is_nullable, c.quoted)
    FROM dms.tracked_columns(@root) AS c
    CROSS APPLY (
        SELECT CASE WHEN EXISTS (SELECT * FROM @k AS k WHERE k.column_id = c.column_id) THEN 1 ELSE 0 END AS is_key,
               CASE WHEN EXISTS (SELECT * FROM @reference AS f WHERE f.child_id = @tracked_id AND f.child_column_id = c.column_id) THEN 1 ELSE 0 END AS is_referred,
               CASE WHEN EXISTS (SELECT * FROM @reference AS f WHERE f.parent_id = @tracked_id AND f.parent_column_id = c.column_id) THEN 1 ELSE 0 END AS is_link) AS told;
    SELECT @differs = STRING_AGG(c.Differs, N' OR ') WITHIN GROUP (ORDER BY c.ColumnId) FROM @column AS c WHERE c.IsShown = 1 OR c.IsLink = 1 OR c.IsWatched = 1;
    SELECT @shows = STRING_AGG(c.Differs, N' OR ') WITHIN GROUP (ORDER BY c.ColumnId) FROM @column AS c WHERE c.IsShown = 1;
    SELECT @links = STRING_AGG(c.Differs, N' OR ') WITHIN GROUP (ORDER BY c.ColumnId) FROM @column AS c WHERE c.IsLink = 1;
    SET @links = COALESCE(CONCAT(N'CASE WHEN ', @links, N' THEN 1 ELSE 0 END'), N'0');
    IF NOT EXISTS (SELECT * FROM @column WHERE IsLink = 1)
        SET @links = N'0';

    SELECT @names = STRING_AGG(CAST(CONCAT(N'K', k.place) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @olds = STRING_AGG(CAST(CONCAT(N'O', k.place) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @declared = STRING_AGG(CAST(CONCAT(N'K', k.place, N' ', k.declared, N' NOT NULL') AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @declared_null = STRING_AGG(CAST(CONCAT(N'K', k.place, N' ', k.declared, N' NULL') AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @declared_old = STRING_AGG(CAST(CONCAT(N'O', k.place, N' ', k.declared, N' NULL') AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @of_r = STRING_AGG(CAST(CONCAT(N'r.', k.quoted) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @of_new = STRING_AGG(CAST(CONCAT(N'new.', k.quoted) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @of_old = STRING_AGG(CAST(CONCAT(N'old.', k.quoted) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @r_is_new = STRING_AGG(CAST(CONCAT(N'r.', k.quoted, N' = new.', k.quoted) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @r_is_row = STRING_AGG(CAST(CONCAT(N'r.', k.quoted, N' = w.K', k.place) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @r_is_other = STRING_AGG(CAST(CONCAT(N'r.', k.quoted, N' = w.O', k.place) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @new_is_old = STRING_AGG(CAST(CONCAT(N'new.', k.quoted, N' = old.', k.quoted) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @new_is_match = STRING_AGG(CAST(CONCAT(N'new.', k.quoted, N' = m.K', k.place) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @old_is_match = STRING_AGG(CAST(CONCAT(N'old.', k.quoted, N' = m.O', k.place) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY k.place),
           @written = STRING_AGG(CAST(CASE WHEN k.is_computed = 1 THEN N'1 = 1' ELSE CONCAT(N'UPDATE(', k.quoted, N')') END AS nvarchar(max)), N' OR ') WITHIN GROUP (ORDER BY k.place),  -- 2114
           @given = STRING_AGG(CAST(CONCAT(N'@K', k.place, N' = ', k.typed) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @variables = STRING_AGG(CAST(CONCAT(N'@K', k.place, N' ', k.given) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place),
           @ordered = STRING_AGG(CAST(CONCAT(N'r.', k.quoted) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY k.place)
    FROM @k AS k;
    SELECT @first = CONCAT(N'r.', k.quoted), @begun = k.variable FROM @k AS k WHERE k.place = 1;
    SELECT @after = CONCAT(  -- r's key is above the given one: (a > x) OR (a = x AND (b > y OR ...))
               STRING_AGG(CAST(CONCAT(N'(r.', k.quoted, N' > ', k.variable, CASE WHEN k.place < last.place THEN CONCAT(N' OR (r.', k.quoted, N' = ', k.variable, N' AND ') ELSE N')' END) AS nvarchar(max)), N'')
                   WITHIN GROUP (ORDER BY k.place), REPLICATE(N'))', MAX(last.place) - 1))
    FROM @k AS k
    CROSS JOIN (SELECT MAX(k.place) AS place FROM @k AS k) AS last;

    -- Other unique keys, by which the rows of a statement that writes the key are paired where it does not write these. What the server writes itself (rowversion, times of a
    -- temporal table) pairs nothing: it is another one after each update.
    SELECT @pairs = STRING_AGG(CONCAT(CAST(N'
        ELSE IF NOT (' AS nvarchar(max)), other.written, N')
            INSERT INTO @match (', @names, N', ', @olds, N')
            SELECT ', @of_new, N', ', @of_old, N' FROM inserted AS new INNER JOIN deleted AS old ON ', other.equal, N' OPTION (HASH JOIN);'), N'') WITHIN GROUP (ORDER BY other.index_id)
    FROM (
        SELECT i.index_id, STRING_AGG(CAST(CONCAT(N'UPDATE(', c.quoted, N')') AS nvarchar(max)), N' OR ') WITHIN GROUP (ORDER BY ic.key_ordinal) AS written,
               STRING_AGG(CAST(CONCAT(N'new.', c.quoted, N' = old.', c.quoted) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY ic.key_ordinal) AS equal,
               MAX(CASE WHEN c.is_nullable = 1 OR c.is_computed = 1 OR c.is_unwritten = 1 OR c.is_readable = 0 THEN 1 ELSE 0 END) AS is_unfit
        FROM sys.indexes AS i
        INNER JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.key_ordinal > 0
        INNER JOIN dms.tracked_columns(@root) AS c ON c.column_id = ic.column_id
        WHERE i.object_id = @root AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND i.is_hypothetical = 0 AND i.index_id NOT IN (SELECT k.index_id FROM @k AS k)
        GROUP BY i.index_id) AS other
    WHERE other.is_unfit = 0;

    SET @find_r = dms.tracked_document(@kind, N'r.[dmsjournal key]', N'r.[dmsjournal hash]');
    IF @keeps = 1
        SET @keep = N'
    SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'') FROM @row AS w WHERE w.DocumentId IS NOT NULL;
    IF @ids <> N''[]''
        EXEC dms.tracked_$id$_keep @ids;';
    IF EXISTS (SELECT * FROM sys.columns AS c WHERE c.object_id = @root AND c.is_identity = 1)
        SELECT @identity = N'
    DECLARE @identity numeric(38, 0) = @@IDENTITY;', @restored = N'
    IF @identity IS NOT NULL
        EXEC dms.restore_identity @identity;';

    -- edges: those of each document of @row that is linked become what its row (r) refers to. A row that has no document gets one; such rows are locked in the
    -- same order by each writer, of each table.
    INSERT INTO @foreign (place, child_id, child_kind, is_identity, matches)
    SELECT ROW_NUMBER() OVER (ORDER BY f.constraint_id), f.child_id, f.child_kind, MAX(f.is_identity),
           STRING_AGG(CAST(CONCAT(N's.', QUOTENAME(f.child_column), N' = r.', QUOTENAME(f.parent_column)) AS nvarchar(max)), N' AND ') WITHIN GROUP (ORDER BY f.place)
    FROM @reference AS f WHERE f.parent_id = @tracked_id
    GROUP BY f.constraint_id, f.child_id, f.child_kind;
    SELECT @edges = STRING_AGG(CONCAT(CAST(N'
    INSERT INTO @link (ParentDocumentId, Place, IsIdentity, ChildKey, ChildDocumentId)
    SELECT w.DocumentId, ' AS nvarchar(max)), f.place, N', ', f.is_identity, N', s.[dmsjournal key], child.DocumentId
    FROM @row AS w
    INNER JOIN dms.tracked_$id$ AS r ON $r_is_row$
    INNER JOIN dms.tracked_', f.child_id, N' AS s ON ', f.matches, N'
    OUTER APPLY ', dms.tracked_document(f.child_kind, N's.[dmsjournal key]', N's.[dmsjournal hash]'), N' AS child
    WHERE w.IsLinked = 1
    OPTION (LOOP JOIN, FORCE ORDER);'), N'') WITHIN GROUP (ORDER BY f.place),
           @wanted = STRING_AGG(CONCAT(CAST(N'SELECT child.DocumentId, ' AS nvarchar(max)), f.is_identity, N' AS IsIdentity FROM dms.tracked_', f.child_id, N' AS s CROSS APPLY ',
               dms.tracked_document(f.child_kind, N's.[dmsjournal key]', N's.[dmsjournal hash]'), N' AS child WHERE ', f.matches), N' UNION ALL ') WITHIN GROUP (ORDER BY f.place)
    FROM @foreign AS f;
    SELECT @edges = CONCAT(@edges, STRING_AGG(CONCAT(CAST(N'
    IF EXISTS (SELECT * FROM @link WHERE Place IN (' AS nvarchar(max)), c.places, N') AND ChildDocumentId IS NULL)
    BEGIN
        SELECT @ids = CONCAT(N''['', STRING_AGG(missing.ChildKey, N'','') WITHIN GROUP (ORDER BY missing.ChildKey), N'']'')
        FROM (SELECT DISTINCT ChildKey FROM @link WHERE Place IN (', c.places, N') AND ChildDocumentId IS NULL) AS missing;
        EXEC dms.tracked_', c.child_id, N'_ensure @ids, $waits$;
        UPDATE link SET ChildDocumentId = child.DocumentId
        FROM @link AS link CROSS APPLY ', dms.tracked_document(c.child_kind, N'link.ChildKey', N'CAST(HASHBYTES(''SHA2_256'', link.ChildKey) AS binary(32))'), N' AS child
        WHERE link.Place IN (', c.places, N') AND link.ChildDocumentId IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
    END;'), N'') WITHIN GROUP (ORDER BY c.child_id))
    FROM (
        SELECT f.child_id, f.child_kind, STRING_AGG(CAST(f.place AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY f.place) AS places
        FROM @foreign AS f GROUP BY f.child_id, f.child_kind) AS c;
    SET @wanted = COALESCE(@wanted, N'SELECT CAST(0 AS bigint) AS DocumentId, 0 AS IsIdentity WHERE 1 = 0');
    SET @edges = CONCAT(@edges, N'
    DELETE edge
    FROM @row AS w INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ParentDocumentId = w.DocumentId
    WHERE w.IsLinked = 1 AND w.IsNew = 0 AND NOT EXISTS (
        SELECT * FROM @link AS link WHERE link.ParentDocumentId = edge.ParentDocumentId AND link.ChildDocumentId = edge.ChildDocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (SELECT * FROM @row WHERE IsLinked = 1 AND IsNew = 0)  -- another foreign key may refer to the same row now
        UPDATE edge SET IsIdentityComponent = wanted.IsIdentity
        FROM (SELECT ParentDocumentId, ChildDocumentId, MAX(IsIdentity) AS IsIdentity FROM @link WHERE ChildDocumentId IS NOT NULL GROUP BY ParentDocumentId, ChildDocumentId) AS wanted
        INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ParentDocumentId = wanted.ParentDocumentId AND edge.ChildDocumentId = wanted.ChildDocumentId
        WHERE edge.IsIdentityComponent <> wanted.IsIdentity
        OPTION (LOOP JOIN, FORCE ORDER);
    INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
    SELECT wanted.ParentDocumentId, wanted.ChildDocumentId, wanted.IsIdentity
    FROM (SELECT ParentDocumentId, ChildDocumentId, MAX(IsIdentity) AS IsIdentity FROM @link WHERE ChildDocumentId IS NOT NULL GROUP BY ParentDocumentId, ChildDocumentId) AS wanted
    WHERE NOT EXISTS (
        SELECT * FROM dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) WHERE edge.ParentDocumentId = wanted.ParentDocumentId AND edge.ChildDocumentId = wanted.ChildDocumentId);
    INSERT INTO dms.TrackedLate (TrackedTableId, DocumentId)
    SELECT DISTINCT $id$, link.ParentDocumentId FROM @link AS link
    WHERE link.ChildDocumentId IS NULL AND NOT EXISTS (SELECT * FROM dms.TrackedLate AS late WITH (READCOMMITTEDLOCK) WHERE late.TrackedTableId = $id$ AND late.DocumentId = link.ParentDocumentId);');
    IF NOT EXISTS (SELECT * FROM @column WHERE IsLink = 1)  -- it refers to nothing: edges are there only where it did before
        SET @edges = N'
    DELETE edge
    FROM @row AS w INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ParentDocumentId = w.DocumentId
    WHERE w.IsLinked = 1 AND w.IsNew = 0
    OPTION (LOOP JOIN, FORCE ORDER);';

    -- create: documents for the rows of @row that have none.
    SET @create = N'
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NULL AND KeyValues IS NOT NULL)
    BEGIN
        UPDATE w SET IsNew = 1, IsLinked = 1 FROM @row AS w WHERE w.DocumentId IS NULL AND w.KeyValues IS NOT NULL;
        INSERT INTO dms.Document (ResourceKeyId, KeyValues) SELECT $kind$, w.KeyValues FROM @row AS w WHERE w.IsNew = 1;
        UPDATE w SET DocumentId = document.DocumentId
        FROM @row AS w CROSS APPLY $find_w$ AS document
        WHERE w.IsNew = 1
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT * FROM @row WHERE IsNew = 1 AND DocumentId IS NULL)
            THROW 50008, N''TR_Document_Stamp did not fire: the server option "nested triggers" is off, or the trigger is disabled. Switch it on.'', 1;
    END;';

    INSERT INTO @object (place, kind, name, statement)
    SELECT 1, N'view', CONCAT(N'tracked_', @tracked_id), CONCAT(N'CREATE VIEW dms.tracked_$id$ WITH SCHEMABINDING AS SELECT ',
               STRING_AGG(CAST(CONCAT(N't.', c.Quoted) AS nvarchar(max)), N', ') WITHIN GROUP (ORDER BY c.ColumnId), N', ', @key, N' AS [dmsjournal key], CAST(HASHBYTES(''SHA2_256'', ', @key,
               N') AS binary(32)) AS [dmsjournal hash] FROM ', @table, N' AS t')
    FROM @column AS c WHERE c.IsKey = 1 OR c.IsShown = 1 OR c.IsLink = 1 OR c.IsWatched = 1 OR @keeps = 1;

    -- ensure(keys, waits): documents for rows that have none, whose keys are given as JSON. The rows are locked, so that one session makes each. A fill does not
    -- wait for a row that a writer has locked, where readers need not (READ_COMMITTED_SNAPSHOT). Their edges are made by the last pass of a fill.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 2, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_ensure'), N'CREATE PROCEDURE dms.tracked_$id$_ensure @keys nvarchar(max), @waits bit
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @row TABLE (KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, KeyHash binary(32) NOT NULL, DocumentId bigint NULL);
    IF @waits = 1
        INSERT INTO @row (KeyValues, KeyHash)
        SELECT r.[dmsjournal key], r.[dmsjournal hash]
        FROM OPENJSON(@keys) AS item ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'item.value'), N'$source$', N'dms.tracked_$id$ AS r WITH (UPDLOCK, ROWLOCK)') + N'
        ORDER BY $ordered$
        OPTION (LOOP JOIN, FORCE ORDER);
    ELSE
        INSERT INTO @row (KeyValues, KeyHash)
        SELECT r.[dmsjournal key], r.[dmsjournal hash]
        FROM OPENJSON(@keys) AS item ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'item.value'), N'$source$', N'dms.tracked_$id$ AS r WITH (UPDLOCK, ROWLOCK, READPAST)') + N'
        ORDER BY $ordered$
        OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE w SET DocumentId = document.DocumentId FROM @row AS w CROSS APPLY $find_w$ AS document OPTION (LOOP JOIN, FORCE ORDER);
    DELETE FROM @row WHERE DocumentId IS NOT NULL;
    IF NOT EXISTS (SELECT * FROM @row)
        RETURN;
    INSERT INTO dms.Document (ResourceKeyId, KeyValues) SELECT $kind$, w.KeyValues FROM @row AS w;
    INSERT INTO dms.TrackedLate (TrackedTableId, DocumentId)
    SELECT $id$, document.DocumentId FROM @row AS w CROSS APPLY $find_w$ AS document OPTION (LOOP JOIN, FORCE ORDER);
END;';

    IF @keeps = 1  -- keep(ids): the bodies of documents, as their rows are now
        INSERT INTO @object (place, kind, name, statement)
        SELECT 3, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_keep'), N'CREATE PROCEDURE dms.tracked_$id$_keep @ids nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @row TABLE (DocumentId bigint NOT NULL PRIMARY KEY, Body nvarchar(max) NOT NULL, At datetime2(7) NOT NULL, Version bigint NOT NULL);
    INSERT INTO @row (DocumentId, Body, At, Version)
    SELECT d.DocumentId, ' + dms.tracked_body(@root, N'r', 1) + N', d.ContentLastModifiedAt, d.ContentVersion
    FROM (SELECT DISTINCT CAST(value AS bigint) AS DocumentId FROM OPENJSON(@ids)) AS w
    INNER JOIN dms.Document AS d WITH (READCOMMITTEDLOCK) ON d.DocumentId = w.DocumentId
    ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'CASE WHEN d.ResourceKeyId = $kind$ THEN d.KeyValues END'), N'$source$', N'dms.tracked_$id$ AS r') + N'
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE cache SET DocumentJson = w.Body, Etag = dms.tracked_etag(w.Body), LastModifiedAt = w.At, ComputedVersion = w.Version
    FROM @row AS w INNER JOIN dms.DocumentCache AS cache WITH (READCOMMITTEDLOCK) ON cache.DocumentId = w.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);
    INSERT INTO dms.DocumentCache (DocumentId, DocumentJson, Etag, LastModifiedAt, ComputedVersion)
    SELECT w.DocumentId, w.Body, dms.tracked_etag(w.Body), w.At, w.Version
    FROM @row AS w WHERE NOT EXISTS (SELECT * FROM dms.DocumentCache AS cache WITH (READCOMMITTEDLOCK) WHERE cache.DocumentId = w.DocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
END;';

    -- edges(ids, waits): the edges of documents become what their rows say.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 4, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_edges'), N'CREATE PROCEDURE dms.tracked_$id$_edges @documents nvarchar(max), @waits bit
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @ids nvarchar(max);
    DECLARE @row TABLE ($declared$, DocumentId bigint NOT NULL PRIMARY KEY, IsLinked bit NOT NULL, IsNew bit NOT NULL);
    $link$
    INSERT INTO @row ($names$, DocumentId, IsLinked, IsNew)
    SELECT $of_r$, d.DocumentId, 1, 0
    FROM (SELECT DISTINCT CAST(value AS bigint) AS DocumentId FROM OPENJSON(@documents)) AS w
    INNER JOIN dms.Document AS d WITH (READCOMMITTEDLOCK) ON d.DocumentId = w.DocumentId
    ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'CASE WHEN d.ResourceKeyId = $kind$ THEN d.KeyValues END'), N'$source$', N'dms.tracked_$id$ AS r') + N'
    OPTION (LOOP JOIN, FORCE ORDER);' + REPLACE(@edges COLLATE Latin1_General_100_BIN2, N'$waits$', N'@waits') + N'
END;';

    -- fill(after, rows): documents for the next rows by key that have none. Writes down the last key, how many rows there were, how many documents it made, and how
    -- many rows it passed by, since a writer has locked them: where readers wait for writers, the fill waits as well.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 5, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_fill'), N'CREATE PROCEDURE dms.tracked_$id$_fill @after nvarchar(max), @rows int
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @ids nvarchar(max), @is_snapshot bit, $variables$;
    UPDATE dms.TrackedTable SET FilledKey = NULL, BatchRows = 0, BatchMade = 0, BatchPassed = 0 WHERE TrackedTableId = $id$;
    DECLARE @range TABLE (Place bigint NOT NULL PRIMARY KEY, $declared$, KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, KeyHash binary(32) NOT NULL);
    DECLARE @row TABLE ($declared$, KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, KeyHash binary(32) NOT NULL, DocumentId bigint NULL, IsLinked bit NOT NULL, IsNew bit NOT NULL);
    $link$
    SELECT @is_snapshot = is_read_committed_snapshot_on FROM sys.databases WHERE database_id = DB_ID();
    IF @after IS NULL
        INSERT INTO @range (Place, $names$, KeyValues, KeyHash)
        SELECT TOP (@rows) ROW_NUMBER() OVER (ORDER BY $ordered$), $of_r$, r.[dmsjournal key], r.[dmsjournal hash] FROM dms.tracked_$id$ AS r ORDER BY $ordered$;
    ELSE
    BEGIN
        SELECT $given$ FROM (SELECT @after AS value) AS item ' + REPLACE(@typed COLLATE Latin1_General_100_BIN2, N'$from$', N'item.value') + N';
        INSERT INTO @range (Place, $names$, KeyValues, KeyHash)
        SELECT TOP (@rows) ROW_NUMBER() OVER (ORDER BY $ordered$), $of_r$, r.[dmsjournal key], r.[dmsjournal hash] FROM dms.tracked_$id$ AS r
        WHERE $first$ >= $begun$ AND $after$ ORDER BY $ordered$;
    END;
    UPDATE dms.TrackedTable
    SET FilledKey = (SELECT TOP (1) w.KeyValues FROM @range AS w ORDER BY w.Place DESC), BatchRows = (SELECT COUNT(*) FROM @range)
    WHERE TrackedTableId = $id$;
    DELETE w FROM @range AS w CROSS APPLY $find_plain$ AS document OPTION (LOOP JOIN, FORCE ORDER);
    IF NOT EXISTS (SELECT * FROM @range)
        RETURN;
    IF @is_snapshot = 1
        INSERT INTO @row ($names$, KeyValues, KeyHash, IsLinked, IsNew)
        SELECT $of_r$, r.[dmsjournal key], r.[dmsjournal hash], 0, 0
        FROM @range AS w INNER JOIN dms.tracked_$id$ AS r WITH (UPDLOCK, ROWLOCK, READPAST) ON $r_is_row$ ORDER BY $ordered$
        OPTION (LOOP JOIN, FORCE ORDER);
    ELSE
        INSERT INTO @row ($names$, KeyValues, KeyHash, IsLinked, IsNew)
        SELECT $of_r$, r.[dmsjournal key], r.[dmsjournal hash], 0, 0
        FROM @range AS w INNER JOIN dms.tracked_$id$ AS r WITH (UPDLOCK, ROWLOCK) ON $r_is_row$ ORDER BY $ordered$
        OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE w SET DocumentId = document.DocumentId FROM @row AS w CROSS APPLY $find_plain$ AS document OPTION (LOOP JOIN, FORCE ORDER);
    DELETE FROM @row WHERE DocumentId IS NOT NULL;' + @create + REPLACE(@edges COLLATE Latin1_General_100_BIN2, N'$waits$', N'0') + @keep + N'
    UPDATE dms.TrackedTable SET BatchMade = (SELECT COUNT(*) FROM @row), BatchPassed = (
        SELECT COUNT(*)
        FROM @range AS w INNER JOIN dms.tracked_$id$ AS r ON $r_is_row$
        WHERE NOT EXISTS $plain_r$)
    WHERE TrackedTableId = $id$;
END;';

    -- sweep(after, is_linked, is_current): removes documents without a row, or with the key of an older one, among the next 2,000 of the resource; writes down the last
    -- that it looked at, null at the end. The others get their edges where they are not linked, and a stamp where they are not current.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 6, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_sweep'), N'CREATE PROCEDURE dms.tracked_$id$_sweep @after bigint, @is_linked bit, @is_current bit
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @ids nvarchar(max), @found int;
    DECLARE @row TABLE (DocumentId bigint NOT NULL PRIMARY KEY, KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL, KeyHash binary(32) NULL, IsGone bit NOT NULL);
    INSERT INTO @row (DocumentId, KeyValues, KeyHash, IsGone)
    SELECT TOP (2000) d.DocumentId, d.KeyValues, d.KeyValuesHash, 1 FROM dms.Document AS d WHERE d.ResourceKeyId = $kind$ AND d.DocumentId > @after ORDER BY d.DocumentId;
    UPDATE dms.TrackedTable SET FilledDocument = (SELECT MAX(w.DocumentId) FROM @row AS w) WHERE TrackedTableId = $id$;
    -- Locked before the rows are looked at: a row that comes under such a key stamps the document.
    SELECT @found = COUNT(*)
    FROM (SELECT TOP (2000) d.DocumentId FROM @row AS w INNER JOIN dms.Document AS d WITH (UPDLOCK, ROWLOCK) ON d.DocumentId = w.DocumentId ORDER BY w.DocumentId) AS ordered
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE w SET IsGone = 0
    FROM @row AS w
    WHERE EXISTS (
        SELECT * FROM dms.Document AS d ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'CASE WHEN d.ResourceKeyId = $kind$ THEN d.KeyValues END'), N'$source$', N'dms.tracked_$id$ AS r') + N'
        WHERE d.DocumentId = w.DocumentId AND r.[dmsjournal key] = d.KeyValues)
      AND NOT EXISTS (
        SELECT * FROM dms.Document AS older
        WHERE older.ResourceKeyId = $kind$ AND older.KeyValuesHash = w.KeyHash AND older.KeyValues = w.KeyValues AND older.DocumentId < w.DocumentId)
    OPTION (LOOP JOIN, FORCE ORDER);
    SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'') FROM @row AS w WHERE w.IsGone = 1;
    IF @ids <> N''[]''
        EXEC dms.remove_tracked @ids;
    IF @is_current = 0
    BEGIN
        UPDATE d SET ContentVersion = -1, IdentityVersion = -1
        FROM @row AS w INNER JOIN dms.Document AS d ON d.DocumentId = w.DocumentId WHERE w.IsGone = 0
        OPTION (LOOP JOIN, FORCE ORDER);
        SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'') FROM @row AS w WHERE w.IsGone = 0;$keep_ids$
    END;
    SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'')
    FROM @row AS w
    WHERE w.IsGone = 0 AND (@is_linked = 0 OR EXISTS (SELECT * FROM dms.TrackedLate AS late WHERE late.TrackedTableId = $id$ AND late.DocumentId = w.DocumentId));
    IF @ids <> N''[]''
    BEGIN
        DELETE late FROM dms.TrackedLate AS late WHERE late.TrackedTableId = $id$ AND late.DocumentId IN (SELECT w.DocumentId FROM @row AS w);
        EXEC dms.tracked_$id$_edges @ids, 1;$keep_ids$
    END;
END;';

    -- rows(low, rows): verify's look at rows in the order of their keys: those without a document, and documents whose edges or bodies are not what their rows say.
    SET @stale = CASE WHEN @keeps = 1 THEN N'WHEN NOT EXISTS (SELECT * FROM dms.DocumentCache AS cache WHERE cache.DocumentId = seen.DocumentId AND cache.DocumentJson = '
                      + N'seen.Body COLLATE Latin1_General_100_BIN2) THEN N''body-stale'' ' ELSE N'' END;
    INSERT INTO @object (place, kind, name, statement)
    SELECT 7, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_rows'), N'CREATE PROCEDURE dms.tracked_$id$_rows @low bigint, @rows bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    SELECT told.code, COALESCE(CAST(told.DocumentId AS nvarchar(200)), LEFT(told.KeyValues, 200)) AS name
    FROM (
        SELECT seen.DocumentId, seen.KeyValues,
               CASE WHEN seen.DocumentId IS NULL THEN N''row-undocumented'' WHEN seen.Differs > 0 THEN N''reference-differs'' ' + @stale + N'END AS code
        FROM (
            SELECT r.[dmsjournal key] AS KeyValues, document.DocumentId, $body$ AS Body, (
                SELECT COUNT(*) FROM (
                    SELECT both.DocumentId FROM (
                        SELECT wanted.DocumentId, MAX(wanted.IsIdentity) AS IsIdentity FROM ($wanted$) AS wanted GROUP BY wanted.DocumentId
                        UNION ALL
                        SELECT edge.ChildDocumentId, CAST(edge.IsIdentityComponent AS int) FROM dms.ReferenceEdge AS edge WHERE edge.ParentDocumentId = document.DocumentId) AS both
                    GROUP BY both.DocumentId, both.IsIdentity HAVING COUNT(*) = 1) AS one) AS Differs
            FROM (SELECT * FROM dms.tracked_$id$ AS r ORDER BY $ordered$ OFFSET @low ROWS FETCH NEXT @rows ROWS ONLY) AS r
            OUTER APPLY $find_r$ AS document) AS seen) AS told
    WHERE told.code IS NOT NULL
    UNION ALL
    SELECT N''end'', CAST((COUNT_BIG(*) + 63) / 64 AS nvarchar(200)) FROM dms.tracked_$id$;
END;';

    -- documents(after): verify's look at the next 10,000 documents: those without a row, or with the key of an older one.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 8, N'procedure', CONCAT(N'tracked_', @tracked_id, N'_documents'), N'CREATE PROCEDURE dms.tracked_$id$_documents @after bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;
    DECLARE @last bigint;
    SELECT @last = MAX(d.DocumentId)
    FROM (SELECT TOP (10000) d.DocumentId FROM dms.Document AS d WHERE d.ResourceKeyId = $kind$ AND d.DocumentId > @after ORDER BY d.DocumentId) AS d;
    SELECT CASE WHEN there.is_there IS NULL THEN N''document-rowless'' ELSE N''document-doubled'' END AS code, CAST(w.DocumentId AS nvarchar(200)) AS name
    FROM dms.Document AS w
    OUTER APPLY (
        SELECT TOP (1) 1 AS is_there FROM (SELECT 1 AS one) AS d ' + REPLACE(REPLACE(@joined COLLATE Latin1_General_100_BIN2, N'$from$', N'CASE WHEN w.ResourceKeyId = $kind$ THEN w.KeyValues END'), N'$source$', N'dms.tracked_$id$ AS r') + N'
        WHERE r.[dmsjournal key] = w.KeyValues) AS there
    OUTER APPLY (
        SELECT TOP (1) 1 AS is_doubled FROM dms.Document AS older
        WHERE older.ResourceKeyId = $kind$ AND older.KeyValuesHash = w.KeyValuesHash AND older.KeyValues = w.KeyValues AND older.DocumentId < w.DocumentId) AS doubled
    WHERE w.ResourceKeyId = $kind$ AND w.DocumentId > @after AND w.DocumentId <= @last AND (there.is_there IS NULL OR doubled.is_doubled = 1)
    UNION ALL
    SELECT N''end'', CAST(@last AS nvarchar(200));
END;';

    -- insert: a document that is there already was left by a row that went past the triggers, or was made by what refers to the row.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 9, N'trigger', CONCAT(N'zz_dmsjournal_', @tracked_id, N'_insert'), N'CREATE TRIGGER $schema$.zz_dmsjournal_$id$_insert ON $table$ AFTER INSERT
AS
BEGIN
    IF NOT EXISTS (SELECT 1 AS one FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;' + @identity + N'
    DECLARE @ids nvarchar(max);
    DECLARE @row TABLE ($declared$, KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, KeyHash binary(32) NOT NULL, DocumentId bigint NULL, IsLinked bit NOT NULL, IsNew bit NOT NULL);
    $link$
    INSERT INTO @row ($names$, KeyValues, KeyHash, DocumentId, IsLinked, IsNew)
    SELECT $of_r$, r.[dmsjournal key], r.[dmsjournal hash], document.DocumentId, 1, 0
    FROM inserted AS new
    INNER JOIN dms.tracked_$id$ AS r ON $r_is_new$
    OUTER APPLY $find_r$ AS document
    OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NOT NULL)
        UPDATE document SET ContentVersion = -1, IdentityVersion = -1
        FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
        OPTION (LOOP JOIN, FORCE ORDER);' + @create + REPLACE(@edges COLLATE Latin1_General_100_BIN2, N'$waits$', N'1') + @keep + @restored + N'
END;';

    -- update: where the statement writes the key, its old and new rows are paired by another unique key that it does not write, or are one each. Without either, a row is
    -- known by its key: a key that is gone is a delete, a new one a create.
    INSERT INTO @object (place, kind, name, statement)
    SELECT 10, N'trigger', CONCAT(N'zz_dmsjournal_', @tracked_id, N'_update'), N'CREATE TRIGGER $schema$.zz_dmsjournal_$id$_update ON $table$ AFTER UPDATE
AS
BEGIN
    IF NOT EXISTS (SELECT 1 AS one FROM inserted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;' + @identity + N'
    DECLARE @ids nvarchar(max);
    DECLARE @match TABLE ($declared$, $declared_old$);
    DECLARE @double TABLE (DocumentId bigint NOT NULL PRIMARY KEY, HeirId bigint NOT NULL);
    DECLARE @row TABLE ($declared_null$, $declared_old$, OldKeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL, OldHash binary(32) NULL,
        KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NULL, KeyHash binary(32) NULL, DocumentId bigint NULL, IsShown bit NOT NULL, IsLinked bit NOT NULL, IsNew bit NOT NULL);
    $link$
    IF $written$
    BEGIN
        IF 1 = (SELECT COUNT(*) FROM (SELECT TOP (2) 1 AS one FROM inserted) AS few)
            INSERT INTO @match ($names$, $olds$)
            SELECT $of_new$, $of_old$ FROM inserted AS new CROSS JOIN deleted AS old;$pairs$
        ELSE
            INSERT INTO @match ($names$, $olds$)
            SELECT $of_new$, $of_old$ FROM inserted AS new INNER JOIN deleted AS old ON $new_is_old$ OPTION (HASH JOIN);
        INSERT INTO @row ($names$, $olds$, IsShown, IsLinked, IsNew)
        SELECT $of_new$, $of_old$, CASE WHEN $shows$ THEN 1 ELSE 0 END, $links$, 0
        FROM @match AS m INNER JOIN inserted AS new ON $new_is_match$ INNER JOIN deleted AS old ON $old_is_match$
        WHERE $differs$
        OPTION (HASH JOIN);
        INSERT INTO @row ($olds$, IsShown, IsLinked, IsNew)
        SELECT $of_old$, 1, 1, 0 FROM deleted AS old WHERE NOT EXISTS (SELECT * FROM @match AS m WHERE $old_is_match$);
        INSERT INTO @row ($names$, IsShown, IsLinked, IsNew)
        SELECT $of_new$, 1, 1, 0 FROM inserted AS new WHERE NOT EXISTS (SELECT * FROM @match AS m WHERE $new_is_match$);
    END;
    ELSE
        INSERT INTO @row ($names$, $olds$, IsShown, IsLinked, IsNew)
        SELECT $of_new$, $of_old$, CASE WHEN $shows$ THEN 1 ELSE 0 END, $links$, 0
        FROM inserted AS new INNER JOIN deleted AS old ON $new_is_old$
        WHERE $differs$
        OPTION (HASH JOIN);
    IF NOT EXISTS (SELECT * FROM @row)
        RETURN;
    UPDATE w SET OldKeyValues = $key_given$ FROM @row AS w WHERE w.O1 IS NOT NULL;
    UPDATE w SET OldHash = CAST(HASHBYTES(''SHA2_256'', w.OldKeyValues) AS binary(32)) FROM @row AS w WHERE w.OldKeyValues IS NOT NULL;
    UPDATE w SET KeyValues = r.[dmsjournal key], KeyHash = r.[dmsjournal hash]
    FROM @row AS w INNER JOIN dms.tracked_$id$ AS r ON $r_is_row$
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE w SET DocumentId = document.DocumentId
    FROM @row AS w CROSS APPLY $find_old$ AS document
    WHERE w.OldKeyValues IS NOT NULL
    OPTION (LOOP JOIN, FORCE ORDER);
    -- A row that is not there any more, and none has come under its old key: it was deleted, or another trigger has changed it again.
    SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'')
    FROM @row AS w
    WHERE w.KeyValues IS NULL AND w.DocumentId IS NOT NULL AND NOT EXISTS (SELECT * FROM dms.tracked_$id$ AS r WHERE $r_is_other$ AND r.[dmsjournal key] = w.OldKeyValues)
    OPTION (LOOP JOIN, FORCE ORDER);
    IF @ids <> N''[]''
        EXEC dms.remove_tracked @ids;
    DELETE FROM @row WHERE KeyValues IS NULL;
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NOT NULL AND KeyValues <> OldKeyValues)
    BEGIN
        UPDATE document SET KeyValues = w.KeyValues, ContentVersion = -1, IdentityVersion = -1
        FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
        WHERE w.KeyValues <> w.OldKeyValues
        OPTION (LOOP JOIN, FORCE ORDER);
        -- A trigger that ran before this one may have made a document for a row under its new key, and a row that MERGE deleted has left its own there: both give way to
        -- the document that comes with the row.
        INSERT INTO @double (DocumentId, HeirId)
        SELECT other.DocumentId, w.DocumentId
        FROM @row AS w INNER JOIN dms.Document AS other WITH (READCOMMITTEDLOCK) ON other.ResourceKeyId = $kind$ AND other.KeyValuesHash = w.KeyHash AND other.KeyValues = w.KeyValues
        WHERE w.KeyValues <> w.OldKeyValues AND other.DocumentId <> w.DocumentId AND NOT EXISTS (SELECT * FROM @row AS own WHERE own.DocumentId = other.DocumentId)
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT * FROM @double)
        BEGIN
            INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, IsIdentityComponent)
            SELECT edge.ParentDocumentId, w.HeirId, MAX(CAST(edge.IsIdentityComponent AS int))
            FROM @double AS w INNER JOIN dms.ReferenceEdge AS edge WITH (READCOMMITTEDLOCK) ON edge.ChildDocumentId = w.DocumentId
            WHERE NOT EXISTS (SELECT * FROM dms.ReferenceEdge AS own WITH (READCOMMITTEDLOCK) WHERE own.ParentDocumentId = edge.ParentDocumentId AND own.ChildDocumentId = w.HeirId)
            GROUP BY edge.ParentDocumentId, w.HeirId
            OPTION (LOOP JOIN, FORCE ORDER);
            SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'') FROM @double AS w;
            EXEC dms.remove_tracked @ids;
        END;
    END;
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NOT NULL AND KeyValues = OldKeyValues AND IsShown = 1)
        UPDATE document SET ContentVersion = -1, IdentityVersion = -1
        FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
        WHERE w.KeyValues = w.OldKeyValues AND w.IsShown = 1
        OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NOT NULL AND KeyValues = OldKeyValues AND IsShown = 0)
        UPDATE document SET ContentVersion = -1
        FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
        WHERE w.KeyValues = w.OldKeyValues AND w.IsShown = 0
        OPTION (LOOP JOIN, FORCE ORDER);
    IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NULL)
    BEGIN  -- rows that no fill has reached, that came past the triggers, or whose key is new; where one has a document already, it has changed
        UPDATE w SET DocumentId = document.DocumentId, OldKeyValues = NULL, IsLinked = 1
        FROM @row AS w CROSS APPLY $find_w$ AS document
        WHERE w.DocumentId IS NULL
        OPTION (LOOP JOIN, FORCE ORDER);
        IF EXISTS (SELECT * FROM @row WHERE DocumentId IS NOT NULL AND OldKeyValues IS NULL)
            UPDATE document SET ContentVersion = -1, IdentityVersion = -1
            FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
            WHERE w.OldKeyValues IS NULL
            OPTION (LOOP JOIN, FORCE ORDER);
    END;' + @create + REPLACE(@edges COLLATE Latin1_General_100_BIN2, N'$waits$', N'1') + @keep + @restored + N'
END;';

    INSERT INTO @object (place, kind, name, statement)
    SELECT 11, N'trigger', CONCAT(N'zz_dmsjournal_', @tracked_id, N'_delete'), N'CREATE TRIGGER $schema$.zz_dmsjournal_$id$_delete ON $table$ AFTER DELETE
AS
BEGIN
    IF NOT EXISTS (SELECT 1 AS one FROM deleted)
        RETURN;
    SET NOCOUNT ON;
    SET ROWCOUNT 0;' + @identity + N'
    DECLARE @ids nvarchar(max);
    DECLARE @row TABLE ($declared$, KeyValues nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL, DocumentId bigint NOT NULL, IsLinked bit NOT NULL, IsNew bit NOT NULL);
    $link$
    INSERT INTO @row ($names$, KeyValues, DocumentId, IsLinked, IsNew)
    SELECT $of_old$, keyed.KeyValues, document.DocumentId, 0, 0
    FROM deleted AS old
    CROSS APPLY (SELECT $key_old$ AS KeyValues) AS keyed
    CROSS APPLY $find_keyed$ AS document
    OPTION (LOOP JOIN, FORCE ORDER);
    UPDATE w SET IsLinked = 1  -- another row has come under the key meanwhile
    FROM @row AS w INNER JOIN dms.tracked_$id$ AS r ON $r_is_row$
    WHERE r.[dmsjournal key] = w.KeyValues
    OPTION (LOOP JOIN, FORCE ORDER);
    SELECT @ids = CONCAT(N''['', STRING_AGG(CAST(w.DocumentId AS nvarchar(max)), N'',''), N'']'') FROM @row AS w WHERE w.IsLinked = 0;
    IF @ids <> N''[]''
        EXEC dms.remove_tracked @ids;
    DELETE FROM @row WHERE IsLinked = 0;
    IF NOT EXISTS (SELECT * FROM @row)
        RETURN;
    UPDATE document SET ContentVersion = -1, IdentityVersion = -1
    FROM @row AS w INNER JOIN dms.Document AS document WITH (READCOMMITTEDLOCK) ON document.DocumentId = w.DocumentId
    OPTION (LOOP JOIN, FORCE ORDER);' + REPLACE(@edges COLLATE Latin1_General_100_BIN2, N'$waits$', N'1') + @keep + @restored + N'
END;';

    SET @find = dms.tracked_document(@kind, N'w.KeyValues', N'w.KeyHash');
    INSERT INTO @mark (place, mark, value)
    VALUES (1, N'$find_w$', @find), (2, N'$find_old$', dms.tracked_document(@kind, N'w.OldKeyValues', N'w.OldHash')),
        (3, N'$find_keyed$', dms.tracked_document(@kind, N'keyed.KeyValues', N'CAST(HASHBYTES(''SHA2_256'', keyed.KeyValues) AS binary(32))')),
        (4, N'$find_r$', @find_r), (5, N'$find_plain$', REPLACE(@find COLLATE Latin1_General_100_BIN2, N' WITH (READCOMMITTEDLOCK)', N'')),
        (6, N'$plain_r$', REPLACE(@find_r COLLATE Latin1_General_100_BIN2, N' WITH (READCOMMITTEDLOCK)', N'')), (7, N'$wanted$', @wanted), (8, N'$pairs$', COALESCE(@pairs, N'')),
        (9, N'$link$', N'DECLARE @link TABLE (ParentDocumentId bigint NOT NULL, Place int NOT NULL, IsIdentity int NOT NULL, ChildKey nvarchar(max) COLLATE Latin1_General_100_BIN2 NOT NULL,
        ChildDocumentId bigint NULL, PRIMARY KEY (ParentDocumentId, Place));'),
        (10, N'$keep_ids$', CASE WHEN @keeps = 1 THEN N'
        IF @ids <> N''[]''
            EXEC dms.tracked_$id$_keep @ids;' ELSE N'' END),
        (11, N'$body$', CASE WHEN @keeps = 1 THEN dms.tracked_body(@root, N'r', 1) ELSE N'NULL' END),
        (12, N'$shows$', @shows), (13, N'$links$', @links), (14, N'$differs$', @differs), (15, N'$key_old$', @key_old), (16, N'$key_given$', @key_given),
        (17, N'$declared_null$', @declared_null), (18, N'$declared_old$', @declared_old), (19, N'$declared$', @declared), (20, N'$names$', @names), (21, N'$olds$', @olds),
        (22, N'$of_r$', @of_r), (23, N'$of_new$', @of_new), (24, N'$of_old$', @of_old), (25, N'$r_is_new$', @r_is_new), (26, N'$r_is_row$', @r_is_row),
        (27, N'$r_is_other$', @r_is_other), (28, N'$new_is_old$', @new_is_old), (29, N'$new_is_match$', @new_is_match), (30, N'$old_is_match$', @old_is_match),
        (31, N'$written$', @written), (32, N'$ordered$', @ordered), (33, N'$first$', @first), (34, N'$begun$', @begun), (35, N'$variables$', @variables),
        (36, N'$given$', @given), (37, N'$after$', @after), (38, N'$id$', CAST(@tracked_id AS nvarchar(8))), (39, N'$kind$', CAST(@kind AS nvarchar(8))),
        (40, N'$schema$', @schema), (41, N'$table$', @table);
    WHILE @place < 41
    BEGIN
        SET @place = @place + 1;
        SELECT @name = m.mark, @value = m.value FROM @mark AS m WHERE m.place = @place;
        UPDATE o SET statement = REPLACE(o.statement, @name, @value) FROM @object AS o WHERE CHARINDEX(@name, o.statement) > 0;
    END;
    RETURN (SELECT STRING_AGG(CONCAT(RIGHT(CONCAT(N'0', o.place), 2), LEFT(o.kind, 1), o.name, N' ', o.statement), NCHAR(30)) FROM @object AS o);
END;
-- drop: DROP FUNCTION dms.tracking_text;
