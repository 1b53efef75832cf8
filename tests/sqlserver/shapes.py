"""Document tables of other programs in T-SQL, as an adoption may find them, and their writers. See tests/migrations/shapes.py."""

# ruff: noqa: E501  # statements of their programs, each in one line

from dataclasses import dataclass

import sqlalchemy as sa

from tests import helpers
from tests.migrations import shapes

NAMES = "ProjectName nvarchar(256) NOT NULL, ResourceName nvarchar(256) NOT NULL, ResourceVersion nvarchar(64) NOT NULL"
TOKENS = (
    "ContentVersion bigint NOT NULL DEFAULT 0, IdentityVersion bigint NOT NULL DEFAULT 0,"
    " ContentLastModifiedAt datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME(),"
    " IdentityLastModifiedAt datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME()"
)
UUID = "DocumentUuid uniqueidentifier NOT NULL DEFAULT NEWID()"
CREATED = "CreatedAt datetime2(7) NOT NULL DEFAULT SYSUTCDATETIME()"
BIN2 = "COLLATE Latin1_General_100_BIN2"
RESOURCE_KEY = f"""CREATE TABLE dms.ResourceKey (ResourceKeyId smallint IDENTITY (1, 1) NOT NULL PRIMARY KEY, ProjectName nvarchar(256) {BIN2} NOT NULL,
    ResourceName nvarchar(256) {BIN2} NOT NULL, ResourceVersion nvarchar(64) {BIN2} NOT NULL)"""
RESOURCES = """SET IDENTITY_INSERT dms.ResourceKey ON;
    INSERT INTO dms.ResourceKey (ResourceKeyId, ProjectName, ResourceName, ResourceVersion)
    VALUES (3, N'Ed-Fi', N'Student', N'5.2.0'), (7, N'Ed-Fi', N'Plan', N'5.2.0'); SET IDENTITY_INSERT dms.ResourceKey OFF"""
EDGES = """CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
    ChildDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId), PRIMARY KEY (ParentDocumentId, ChildDocumentId))"""
STAMP = "NEXT VALUE FOR dms.ChangeVersionSequence"


@dataclass(frozen=True)
class Shape(shapes.Shape):
    def create(self, connection: sa.Connection) -> None:
        helpers.commit(connection, "CREATE SCHEMA dms")
        for statement in self.tables:
            helpers.commit(connection, statement)

    def fill(self, connection: sa.Connection, documents: int = 40, edges: int = 60) -> None:
        for number in range(documents):
            helpers.commit(connection, self.insert(number % 2))
        helpers.commit(
            connection,
            f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId{", ParentResourceKeyId" if self.with_parent else ""})
            SELECT TOP ({edges}) p.DocumentId, c.DocumentId{", 7" if self.with_parent else ""} FROM dms.Document AS p CROSS JOIN dms.Document AS c
            WHERE p.DocumentId % 2 = 0 AND c.DocumentId % 2 = 1 ORDER BY (p.DocumentId * 7 + c.DocumentId) % 23, p.DocumentId, c.DocumentId""",
        )


_SHAPES = (
    # Names, no versions, a nullable column, edges without any key, columns of its own, a table and a view beside it.
    Shape(
        "bare",
        (
            f"""CREATE TABLE dms.Document (DocumentId bigint IDENTITY (1, 1) NOT NULL PRIMARY KEY, DocumentUuid uniqueidentifier NOT NULL, {NAMES},
                Body nvarchar(max) NOT NULL DEFAULT N'{{}}', CreatedAt datetime2(7) NULL)""",
            "CREATE UNIQUE INDEX theirs_uuid ON dms.Document (DocumentUuid)",
            "CREATE TABLE dms.ReferenceEdge (ChildDocumentId bigint, ParentDocumentId bigint, Note nvarchar(100))",
            "CREATE TABLE dms.Theirs (DocumentId bigint REFERENCES dms.Document (DocumentId) ON DELETE CASCADE)",
            "CREATE VIEW dms.TheirView AS SELECT DocumentId, ProjectName FROM dms.Document",
        ),
        "DocumentUuid, ProjectName, ResourceName, ResourceVersion",
        ("NEWID(), N'Ed-Fi', N'Student', N'5.2.0'", "NEWID(), N'Ed-Fi', N'Plan', N'5.2.0'"),
        "Body = CAST(SYSUTCDATETIME() AS nvarchar(40))",
        "Body = CONCAT(N'was ', SYSUTCDATETIME())",
    ),
    # Names and versions, from a sequence of its own program.
    Shape(
        "versions and names",
        (
            "CREATE SEQUENCE dms.ChangeVersionSequence AS bigint START WITH 1 INCREMENT BY 1",
            f"""CREATE TABLE dms.Document (DocumentId bigint IDENTITY (1, 1) NOT NULL, {UUID} UNIQUE, {NAMES}, {TOKENS}, {CREATED},
                CONSTRAINT theirs PRIMARY KEY (DocumentId))""",
            EDGES,
        ),
        "ProjectName, ResourceName, ResourceVersion, ContentVersion, IdentityVersion",
        tuple(f"N'Ed-Fi', N'{name}', N'5.2.0', {STAMP}, {STAMP}" for name in ("Student", "Plan")),
        f"ContentVersion = {STAMP}",
        f"IdentityVersion = {STAMP}",
    ),
    # ResourceKeyId and dms.ResourceKey, nullable versions that some documents have, keys that refer otherwise.
    Shape(
        "versions and ids",
        (
            "CREATE SEQUENCE dms.TheirStamps AS bigint START WITH 5000",
            RESOURCE_KEY,
            RESOURCES,
            f"""CREATE TABLE dms.Document (DocumentId bigint IDENTITY (1, 1) NOT NULL PRIMARY KEY, {UUID} UNIQUE,
                ResourceKeyId smallint NOT NULL REFERENCES dms.ResourceKey (ResourceKeyId), {TOKENS.replace(" NOT NULL", " NULL")}, {CREATED},
                KeyValues nvarchar(max) {BIN2} NULL)""",
            """CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NOT NULL, ChildDocumentId bigint NOT NULL,
                IsIdentityComponent bit NULL, ParentResourceKeyId smallint NULL, PRIMARY KEY (ParentDocumentId, ChildDocumentId),
                CONSTRAINT FK_ReferenceEdge_Referenced FOREIGN KEY (ChildDocumentId) REFERENCES dms.Document (DocumentId) ON DELETE CASCADE)""",
        ),
        "ResourceKeyId, ContentVersion, IdentityVersion",
        ("3, NEXT VALUE FOR dms.TheirStamps, NEXT VALUE FOR dms.TheirStamps", "7, NULL, NULL"),
        "ContentVersion = NEXT VALUE FOR dms.TheirStamps",
        "IdentityVersion = NEXT VALUE FOR dms.TheirStamps",
    ),
    # Only ids: the smallest that there is.
    Shape(
        "ids",
        (
            RESOURCE_KEY,
            RESOURCES,
            "CREATE TABLE dms.Document (DocumentId bigint IDENTITY (1, 1) NOT NULL, DocumentUuid uniqueidentifier NULL DEFAULT NEWID(), ResourceKeyId smallint NULL)",
            "CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NULL, ChildDocumentId bigint NULL)",
        ),
        "ResourceKeyId",
        ("3", "7"),
    ),
)
SHAPES = {shape.name: shape for shape in _SHAPES}

# Ed-Fi's published design: journals of its own with names, and the trigger that writes them.
PUBLISHED = Shape(
    "published",
    (
        "CREATE SEQUENCE dms.ChangeVersionSequence AS bigint START WITH 1 INCREMENT BY 1",
        f"""CREATE TABLE dms.Document (DocumentId bigint IDENTITY (1, 1) NOT NULL, {UUID} UNIQUE, {NAMES}, {TOKENS}, {CREATED},
            CONSTRAINT PK_Document PRIMARY KEY (DocumentId))""",
        EDGES,
        f"""CREATE TABLE dms.DocumentChangeEvent (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL, {NAMES},
            CreatedAt datetime2(7) NOT NULL CONSTRAINT DF_DocumentChangeEvent_CreatedAt DEFAULT SYSUTCDATETIME(),
            CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (ChangeVersion, DocumentId),
            CONSTRAINT FK_DocumentChangeEvent_Document FOREIGN KEY (DocumentId) REFERENCES dms.Document (DocumentId) ON DELETE CASCADE)""",
        """CREATE TABLE dms.IdentityChangeEvent (ChangeVersion bigint NOT NULL, DocumentId bigint NOT NULL,
            CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId),
            CONSTRAINT FK_IdentityChangeEvent_Document FOREIGN KEY (DocumentId) REFERENCES dms.Document (DocumentId) ON DELETE CASCADE)""",
        """CREATE TRIGGER dms.TR_Document_ChangeEvents ON dms.Document AFTER INSERT, UPDATE AS
            BEGIN
                SET NOCOUNT ON;
                INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ProjectName, ResourceName, ResourceVersion)
                SELECT CASE WHEN i.ContentVersion > i.IdentityVersion THEN i.ContentVersion ELSE i.IdentityVersion END, i.DocumentId,
                       i.ProjectName, i.ResourceName, i.ResourceVersion
                FROM inserted AS i LEFT JOIN deleted AS d ON d.DocumentId = i.DocumentId
                WHERE d.DocumentId IS NULL OR i.ContentVersion <> d.ContentVersion OR i.IdentityVersion <> d.IdentityVersion;
            END""",
    ),
    "ProjectName, ResourceName, ResourceVersion, ContentVersion, IdentityVersion",
    tuple(f"N'Ed-Fi', N'{name}', N'5.2.0', {STAMP}, {STAMP}" for name in ("Student", "Plan")),
    f"ContentVersion = {STAMP}",
    f"IdentityVersion = {STAMP}",
)
