"""Document tables of other programs, as an adoption may find them, and their writers."""

# ruff: noqa: E501  # statements of their programs, each in one line

from dataclasses import dataclass, replace

import sqlalchemy as sa

from tests.helpers import commit

NAMES = "ProjectName varchar(256) NOT NULL, ResourceName varchar(256) NOT NULL, ResourceVersion varchar(64) NOT NULL"
TOKENS = (
    "ContentVersion bigint NOT NULL DEFAULT 0, IdentityVersion bigint NOT NULL DEFAULT 0,"
    " ContentLastModifiedAt timestamptz NOT NULL DEFAULT clock_timestamp(),"
    " IdentityLastModifiedAt timestamptz NOT NULL DEFAULT clock_timestamp()"
)
RESOURCE_KEY = """CREATE TABLE dms.ResourceKey (ResourceKeyId smallint PRIMARY KEY, ProjectName varchar(256) NOT NULL,
    ResourceName varchar(256) NOT NULL, ResourceVersion varchar(64) NOT NULL)"""
RESOURCES = "INSERT INTO dms.ResourceKey VALUES (3, 'Ed-Fi', 'Student', '5.2.0'), (7, 'Ed-Fi', 'Plan', '5.2.0')"


@dataclass(frozen=True)
class Shape:
    """`tables` makes them; a document of a resource is inserted with `columns` and `values`, by the resource's number."""

    name: str
    tables: tuple[str, ...]
    columns: str
    values: tuple[str, str]
    content: str = "ContentVersion = -1"  # how its program says that content changed, and identity
    identity: str = "IdentityVersion = -1"

    def create(self, connection: sa.Connection) -> None:
        commit(connection, "CREATE SCHEMA IF NOT EXISTS dms")
        for statement in self.tables:
            commit(connection, statement)

    def insert(self, resource: int) -> str:
        return f"INSERT INTO dms.Document ({self.columns}) VALUES ({self.values[resource]})"

    def fill(self, connection: sa.Connection, documents: int = 40, edges: int = 60) -> None:
        """Students and plans by turns, and edges from plans to students."""
        for number in range(documents):
            commit(connection, self.insert(number % 2))
        commit(
            connection,
            f"""INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId{", ParentResourceKeyId" if self.with_parent else ""})
            SELECT p.DocumentId, c.DocumentId{", 7" if self.with_parent else ""} FROM dms.Document AS p, dms.Document AS c
            WHERE mod(p.DocumentId, 2) = 0 AND mod(c.DocumentId, 2) = 1 ORDER BY mod(p.DocumentId * 7 + c.DocumentId, 23), 1, 2 LIMIT {edges}""",
        )

    def with_keys(self) -> "Shape":
        """The same with keys on its edges, which its writers must not break."""
        return replace(self, tables=(*(EDGES if "TABLE dms.ReferenceEdge" in made else made for made in self.tables),))

    @property
    def with_parent(self) -> bool:
        return "ParentResourceKeyId" in "".join(self.tables)


EDGES = """CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
    ChildDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId), PRIMARY KEY (ParentDocumentId, ChildDocumentId))"""

_SHAPES = (
    # Names, no versions, a serial id, nullable columns, edges without any key, columns of its own, tables beside it.
    Shape(
        "bare",
        (
            f"""CREATE TABLE dms.Document (DocumentId bigserial PRIMARY KEY, DocumentUuid uuid NOT NULL, {NAMES},
                Body jsonb NOT NULL DEFAULT '{{}}', CreatedAt timestamptz)""",
            "CREATE UNIQUE INDEX theirs_uuid ON dms.Document (DocumentUuid)",
            "CREATE TABLE dms.ReferenceEdge (ChildDocumentId bigint, ParentDocumentId bigint, Note text)",
            "CREATE TABLE dms.Theirs (DocumentId bigint REFERENCES dms.Document (DocumentId) ON DELETE CASCADE)",
            "CREATE VIEW dms.TheirView AS SELECT DocumentId, ProjectName FROM dms.Document",
            "CREATE FUNCTION dms.their_function() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        ),
        "DocumentUuid, ProjectName, ResourceName, ResourceVersion",
        ("gen_random_uuid(), 'Ed-Fi', 'Student', '5.2.0'", "gen_random_uuid(), 'Ed-Fi', 'Plan', '5.2.0'"),
        "Body = jsonb_build_object('at', clock_timestamp())",
        "Body = jsonb_build_object('was', clock_timestamp())",
    ),
    # Names and versions, from a sequence of its own program.
    Shape(
        "versions and names",
        (
            "CREATE SEQUENCE dms.ChangeVersionSequence",
            f"""CREATE TABLE dms.Document (DocumentId bigint GENERATED ALWAYS AS IDENTITY, DocumentUuid uuid NOT NULL
                DEFAULT gen_random_uuid() UNIQUE, {NAMES}, {TOKENS}, CreatedAt timestamptz NOT NULL DEFAULT clock_timestamp(),
                CONSTRAINT theirs PRIMARY KEY (DocumentId))""",
            EDGES,
        ),
        "ProjectName, ResourceName, ResourceVersion, ContentVersion, IdentityVersion",
        tuple(
            f"'Ed-Fi', '{name}', '5.2.0', nextval('dms.ChangeVersionSequence'), nextval('dms.ChangeVersionSequence')"
            for name in ("Student", "Plan")
        ),
        "ContentVersion = nextval('dms.ChangeVersionSequence')",
        "IdentityVersion = nextval('dms.ChangeVersionSequence')",
    ),
    # ResourceKeyId and dms.ResourceKey, nullable versions that some documents have, the child's key before the parent's.
    Shape(
        "versions and ids",
        (
            "CREATE SEQUENCE public.stamps START 5000",
            RESOURCE_KEY,
            RESOURCES,
            f"""CREATE TABLE dms.Document (DocumentId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, DocumentUuid uuid NOT NULL
                DEFAULT gen_random_uuid() UNIQUE, ResourceKeyId smallint NOT NULL REFERENCES dms.ResourceKey,
                {TOKENS.replace(" NOT NULL", "")}, CreatedAt timestamptz NOT NULL DEFAULT clock_timestamp(), KeyValues jsonb)""",
            """CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NOT NULL, ChildDocumentId bigint NOT NULL,
                IsIdentityComponent boolean, ParentResourceKeyId smallint, PRIMARY KEY (ParentDocumentId, ChildDocumentId),
                CONSTRAINT FK_ReferenceEdge_Referenced FOREIGN KEY (ChildDocumentId) REFERENCES dms.Document ON DELETE CASCADE)""",
            "ALTER TABLE dms.ReferenceEdge ADD FOREIGN KEY (ParentDocumentId) REFERENCES dms.Document ON DELETE CASCADE",
        ),
        "ResourceKeyId, ContentVersion, IdentityVersion",
        ("3, nextval('public.stamps'), nextval('public.stamps')", "7, NULL, NULL"),
        "ContentVersion = nextval('public.stamps')",
        "IdentityVersion = nextval('public.stamps')",
    ),
    # Only ids: the smallest that there is.
    Shape(
        "ids",
        (
            RESOURCE_KEY,
            RESOURCES,
            """CREATE TABLE dms.Document (DocumentId bigint GENERATED BY DEFAULT AS IDENTITY, DocumentUuid uuid DEFAULT gen_random_uuid(),
                ResourceKeyId smallint)""",
            "CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint, ChildDocumentId bigint)",
        ),
        "ResourceKeyId",
        ("3", "7"),
    ),
    # Ed-Fi's published design: journals of its own with names, and the trigger that writes them for each row.
    Shape(
        "published",
        (
            "CREATE SEQUENCE dms.ChangeVersionSequence AS bigint START WITH 1 INCREMENT BY 1",
            f"""CREATE TABLE dms.Document (DocumentId bigint GENERATED ALWAYS AS IDENTITY, DocumentUuid uuid NOT NULL
                DEFAULT gen_random_uuid() UNIQUE, {NAMES}, {TOKENS.replace("DEFAULT 0", "DEFAULT nextval('dms.ChangeVersionSequence')")},
                CreatedAt timestamptz NOT NULL DEFAULT now(), CONSTRAINT PK_Document PRIMARY KEY (DocumentId))""",
            """CREATE TABLE dms.ReferenceEdge (ParentDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
                ChildDocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE NO ACTION,
                IsIdentityComponent boolean NOT NULL DEFAULT false, CreatedAt timestamptz NOT NULL DEFAULT now(),
                CONSTRAINT PK_ReferenceEdge PRIMARY KEY (ParentDocumentId, ChildDocumentId))""",
            f"""CREATE TABLE dms.DocumentChangeEvent (ChangeVersion bigint NOT NULL,
                DocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE, {NAMES},
                CreatedAt timestamptz NOT NULL DEFAULT now(), CONSTRAINT PK_DocumentChangeEvent PRIMARY KEY (ChangeVersion, DocumentId))""",
            """CREATE INDEX IX_DocumentChangeEvent_Resource ON dms.DocumentChangeEvent
                (ProjectName, ResourceName, ResourceVersion, ChangeVersion, DocumentId)""",
            """CREATE TABLE dms.IdentityChangeEvent (EventId bigserial, ChangeVersion bigint NOT NULL,
                DocumentId bigint NOT NULL REFERENCES dms.Document (DocumentId) ON DELETE CASCADE,
                CreatedAt timestamptz NOT NULL DEFAULT now(), CONSTRAINT PK_IdentityChangeEvent PRIMARY KEY (ChangeVersion, DocumentId))""",
            """CREATE FUNCTION dms.trg_document_change_events() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF TG_OP = 'INSERT' OR NEW.ContentVersion <> OLD.ContentVersion OR NEW.IdentityVersion <> OLD.IdentityVersion THEN
                        INSERT INTO dms.DocumentChangeEvent (ChangeVersion, DocumentId, ProjectName, ResourceName, ResourceVersion)
                        VALUES (greatest(NEW.ContentVersion, NEW.IdentityVersion), NEW.DocumentId, NEW.ProjectName, NEW.ResourceName,
                                NEW.ResourceVersion);
                    END IF;
                    IF TG_OP = 'INSERT' OR NEW.IdentityVersion <> OLD.IdentityVersion THEN
                        INSERT INTO dms.IdentityChangeEvent (ChangeVersion, DocumentId) VALUES (NEW.IdentityVersion, NEW.DocumentId);
                    END IF;
                    RETURN NEW;
                END $$""",
            """CREATE TRIGGER TR_Document_ChangeEvents AFTER INSERT OR UPDATE ON dms.Document
                FOR EACH ROW EXECUTE FUNCTION dms.trg_document_change_events()""",
        ),
        "ProjectName, ResourceName, ResourceVersion",
        ("'Ed-Fi', 'Student', '5.2.0'", "'Ed-Fi', 'Plan', '5.2.0'"),
        "ContentVersion = nextval('dms.ChangeVersionSequence')",
        "IdentityVersion = nextval('dms.ChangeVersionSequence')",
    ),
)
SHAPES = {shape.name: shape for shape in _SHAPES}
