-- sql/sqlserver/tables/DocumentImage.v1.sql: option images: a document's body before and after a change, at the stamp of the change.
-- One row a document and stamp, and only where the body changed: docs/how-it-works.md, Images, says what an event without a row tells.
-- The highest version there is (2^63-1) is no stamp: such a row waits for the document's next event (document_cache_image, document_image,
-- document_delete_image). IsDelete: its event is a tombstone. No foreign key to the journals: the check would be paid on every row; a prune
-- takes images that lie at or below their journal's floor. Runs after hold_writers and hold_bodies, so images are whole above DocumentImageFloor.
IF OBJECT_ID(N'dms.ResourceChange') IS NULL
    THROW 50006, N'option images needs revision 0006. Upgrade to it first.', 1;
CREATE TABLE dms.DocumentImage (
    ChangeVersion bigint        NOT NULL,
    DocumentId    bigint        NOT NULL,
    IsDelete      bit           NOT NULL,
    BodyBefore    nvarchar(max) NULL,  -- null: there was none
    BodyAfter     nvarchar(max) NULL,  -- null: there is none
    CONSTRAINT PK_DocumentImage PRIMARY KEY (ChangeVersion, DocumentId)
);
-- The body at an event that did not change it is what the document's next image has before.
CREATE INDEX IX_DocumentImage_Document ON dms.DocumentImage (DocumentId, ChangeVersion);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'bodies before and after', N'SCHEMA', N'dms', N'TABLE', N'DocumentImage';
-- One row: bodies that changed up to there have no image. A stamp of its own, as JournalFloor's are.
CREATE TABLE dms.DocumentImageFloor (
    ChangeVersion bigint NOT NULL CONSTRAINT PK_DocumentImageFloor PRIMARY KEY
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'images are whole above this version', N'SCHEMA', N'dms', N'TABLE', N'DocumentImageFloor';
DECLARE @newest bigint, @floor bigint = 0;
EXEC dms.newest_stamp @newest OUTPUT;
IF @newest > 0
BEGIN
    SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
    IF @floor <= @newest  -- after a restart: newest_stamp.v1.sql
        SET @floor = NEXT VALUE FOR dms.ChangeVersionSequence;
END;
INSERT INTO dms.DocumentImageFloor (ChangeVersion) VALUES (@floor);
-- Resources of which no images are kept, each since a stamp of its own. Rows are only added: a snapshot from before a row has too many
-- images, which nobody reads; one from before a deleted row would have too few.
CREATE TABLE dms.ImageExclusion (
    ResourceKeyId smallint NOT NULL CONSTRAINT PK_ImageExclusion PRIMARY KEY
                  CONSTRAINT FK_ImageExclusion_ResourceKey REFERENCES dms.ResourceKey (ResourceKeyId),
    ChangeVersion bigint   NOT NULL
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'no images of these resources', N'SCHEMA', N'dms', N'TABLE', N'ImageExclusion';
-- Always empty: its foreign keys refuse TRUNCATE, which no trigger would see.
CREATE TABLE dms.DocumentImageGuard (
    ChangeVersion bigint NULL,
    DocumentId    bigint NULL,
    CONSTRAINT CK_DocumentImageGuard CHECK (1 = 0),
    CONSTRAINT FK_DocumentImageGuard_DocumentCache FOREIGN KEY (DocumentId) REFERENCES dms.DocumentCache (DocumentId),
    CONSTRAINT FK_DocumentImageGuard_DocumentImage FOREIGN KEY (ChangeVersion, DocumentId)
        REFERENCES dms.DocumentImage (ChangeVersion, DocumentId)
);
EXEC sys.sp_addextendedproperty N'dmsjournal', N'always empty: its foreign keys refuse TRUNCATE', N'SCHEMA', N'dms', N'TABLE', N'DocumentImageGuard';
-- drop: DROP TABLE dms.DocumentImageGuard;
-- drop: DROP TABLE dms.ImageExclusion;
-- drop: DROP TABLE dms.DocumentImageFloor;
-- drop: DROP TABLE dms.DocumentImage;
