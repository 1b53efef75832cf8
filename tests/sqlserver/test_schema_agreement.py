"""Both trees of migrations make the same schema, but for what is listed in DIFFERENCES.

A schema is read as lines of the same form: PostgreSQL's from the catalog of a database that the migrations made, SQL Server's from
the statements of the upgrade script, as Microsoft's grammar reads them. Names are compared without case. Of checks the names alone
are compared, and of defaults and filters whether there is one.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.script import Script, ScriptDirectory

from dmsjournal.database import sql
from dmsjournal.schema import migrate
from tests.helpers import commit
from tests.sqlserver import grammar
from tests.sqlserver.grammar import Node

pytestmark = pytest.mark.xdist_group("schemas")  # read once, for all of them

TYPES = {  # SQL Server's, by PostgreSQL's
    "bigint": "bigint",
    "integer": "int",
    "smallint": "smallint",
    "boolean": "bit",
    "uuid": "uniqueidentifier",
    "jsonb": "nvarchar(max)",
    "timestamp with time zone": "datetime2(7)",
    **{f"character varying({length})": f"nvarchar({length})" for length in (6, 32, 64, 128, 256, 300, 4096)},
}

# Why, and which lines: those of PostgreSQL alone begin with P, those of SQL Server alone with S. An asterisk is any text.
DIFFERENCES = {
    "A document is found by the hash of its key: on PostgreSQL by an expression, where it has one, on SQL Server by a column: an "
    "index on a computed one, or with a filter, would refuse every writer that has QUOTED_IDENTIFIER off.": [
        "P document: index ix_document_keyvalues (resourcekeyid, jsonb_hash_extended(keyvalues, (0)::bigint)) filtered",
        "S document: index ix_document_keyvalues (resourcekeyid, keyvalueshash)",
        "S document: column keyvalueshash binary(32) null",
    ],
    "On PostgreSQL a row says which transaction wrote it; on SQL Server the name of a lock is the proof of a writer's floor.": [
        "S floorsecret: *"
    ],
    "On SQL Server TRUNCATE is refused by foreign keys, of a table that is always empty.": ["S truncateguard: *"],
    "On SQL Server the trigger gives an edge its parent's resource after the row was written: until then it needs another value.": [
        "P referenceedge: column parentresourcekeyid smallint",
        "S referenceedge: column parentresourcekeyid smallint default",
    ],
    "Base64, insert or update, a revision, a token: these are ASCII, which varchar holds in half the space.": [
        "P documentcache: column etag nvarchar(64)",
        "S documentcache: column etag varchar(64)",
        "P documentchangeevent: column operation nvarchar(6)",
        "S documentchangeevent: column operation varchar(6)",
        "P alembic_version: column version_num nvarchar(32)",
        "S alembic_version: column version_num varchar(32)",
        "P changeconsumer: column feedtoken nvarchar(4096) null",
        "S changeconsumer: column feedtoken varchar(4096) null",
    ],
}

FAULTS = {  # of the upgrade script: what is in it, and what stands there instead
    "a column less": ("Operation     varchar(6)   NOT NULL,", ""),
    "a column more": ("Operation     varchar(6)   NOT NULL,", "Operation varchar(6) NOT NULL, Reason varchar(6) NULL,"),
    "another name": ("PrunedAt      datetime2(7) NULL", "Pruned        datetime2(7) NULL"),
    "another type": ("ResourceKeyId smallint     NOT NULL,", "ResourceKeyId int          NOT NULL,"),
    "another length": ("Name               nvarchar(256)", "Name               nvarchar(255)"),
    "less exact times": ("PrunedAt      datetime2(7) NULL", "PrunedAt      datetime2(3) NULL"),
    "no Unicode": ("Journal       nvarchar(64)", "Journal       varchar(64)"),
    "a null": ("ChangeVersion bigint       NOT NULL,\n    PrunedAt", "ChangeVersion bigint NULL,\n    PrunedAt"),
    "no null": ("PrunedAt      datetime2(7) NULL", "PrunedAt      datetime2(7) NOT NULL"),
    "no default": ("CONSTRAINT DF_ReferenceEdge_IsIdentityComponent DEFAULT 0", ""),
    "no identity": ("DocumentId             bigint IDENTITY (1, 1) NOT NULL", "DocumentId bigint NOT NULL"),
    "another key": ("PRIMARY KEY (ParentDocumentId, ChildDocumentId)", "PRIMARY KEY (ChildDocumentId, ParentDocumentId)"),
    "not unique": ("CONSTRAINT UX_Document_DocumentUuid UNIQUE", ""),
    "no foreign key": ("CONSTRAINT FK_ReferenceEdge_Referenced REFERENCES dms.Document (DocumentId)", ""),
    "a cascade more": (
        "FK_ReferenceEdge_Referenced REFERENCES dms.Document (DocumentId)",
        "FK_ReferenceEdge_Referenced REFERENCES dms.Document (DocumentId) ON DELETE CASCADE",
    ),
    "a cascade less": (
        "FK_DocumentCache_Document REFERENCES dms.Document (DocumentId) ON DELETE CASCADE",
        "FK_DocumentCache_Document REFERENCES dms.Document (DocumentId)",
    ),
    "an index less": ("CREATE INDEX IX_Document_ResourceKeyId ON dms.Document (ResourceKeyId, DocumentId);", ""),
    "an index in another order": (
        "(ChildDocumentId, ParentResourceKeyId, ParentDocumentId)",
        "(ChildDocumentId, ParentDocumentId, ParentResourceKeyId)",
    ),
    "a falling index": ("dms.KeyChangeEvent (DocumentId, ChangeVersion)", "dms.KeyChangeEvent (DocumentId, ChangeVersion DESC)"),
    "a unique index": ("CREATE INDEX IX_KeyChangeEvent_Document", "CREATE UNIQUE INDEX IX_KeyChangeEvent_Document"),
    "a filtered index": (
        "dms.KeyChangeEvent (ResourceKeyId, ChangeVersion);",
        "dms.KeyChangeEvent (ResourceKeyId, ChangeVersion) WHERE OldKeyValues IS NOT NULL;",
    ),
    "a view in another order": ("Uuid, ContentVersion, IdentityVersion, Key", "Uuid, IdentityVersion, ContentVersion, Key"),
    "a check less": ("CONSTRAINT CK_ResourceKey_ResourceKeyId CHECK (ResourceKeyId > 0)", ""),
    "another sequence": ("CREATE SEQUENCE dms.ChangeVersionSequence AS bigint", "CREATE SEQUENCE dms.ChangeVersionSequence AS int"),
    "a listed difference less": ("Etag            varchar(64)", "Etag            nvarchar(64)"),
}

CONSTRAINTS = """
    SELECT conrelid::regclass::text, contype, conname, confrelid::regclass::text, confdeltype, confupdtype,
           ARRAY(SELECT attname FROM unnest(conkey) WITH ORDINALITY AS k (n, place)
                 JOIN pg_attribute ON attrelid = conrelid AND attnum = n ORDER BY place),
           ARRAY(SELECT attname FROM unnest(confkey) WITH ORDINALITY AS k (n, place)
                 JOIN pg_attribute ON attrelid = confrelid AND attnum = n ORDER BY place)
    FROM pg_constraint WHERE connamespace = 'dms'::regnamespace AND contype IN ('p', 'u', 'f', 'c')"""
COLUMNS = """
    SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attidentity <> ''
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped"""
INDEXES = """
    SELECT indrelid::regclass::text, indexrelid::regclass::text, indisunique, indpred IS NOT NULL,
           ARRAY(SELECT pg_get_indexdef(indexrelid, n, false) || CASE WHEN indoption[n - 1] & 1 = 1 THEN ' desc' ELSE '' END
                 FROM generate_series(1, indnkeyatts) AS n),
           ARRAY(SELECT pg_get_indexdef(indexrelid, n, false) FROM generate_series(indnkeyatts + 1, indnatts) AS n)
    FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    WHERE relnamespace = 'dms'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))"""
VIEWS = """
    SELECT oid::regclass::text, ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = oid AND attnum > 0 ORDER BY attnum)
    FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'v'"""
SEQUENCES = """
    SELECT seqrelid::regclass::text, seqtypid::regtype::text FROM pg_sequence
    WHERE NOT EXISTS (SELECT FROM pg_depend WHERE objid = seqrelid AND deptype = 'i')"""


Schemas = dict[str, set[str]]


# The forms of the lines.


def column(table: str, name: str, of: str, *, null: bool, default: bool, identity: bool) -> str:
    said = [name, of, "null" if null else "", "default" if default else "", "identity" if identity else ""]
    return f"{table}: column {' '.join(filter(None, said))}"


def key(table: str, kind: str, name: str, columns: list[str]) -> str:
    return f"{table}: {kind} {name} {listed(columns)}"


def foreign_key(table: str, name: str, columns: list[str], to: str, to_columns: list[str], deleted: str, updated: str) -> str:
    actions = f"on delete {deleted}, on update {updated}"
    return f"{table}: foreign key {name} {listed(columns)} references {to} {listed(to_columns)} {actions}"


def index(table: str, name: str, columns: list[str], included: list[str], *, unique: bool, filtered: bool) -> str:
    said = [f"{name} {listed(columns)}", f"include {listed(included)}" if included else "", "filtered" if filtered else ""]
    return f"{table}: {'unique ' if unique else ''}index {' '.join(filter(None, said))}"


def listed(names: Iterable[str]) -> str:
    return f"({', '.join(names)})"


# PostgreSQL's.


@pytest.fixture(scope="module")
def postgres(postgres_server) -> set[str]:
    with postgres_server.copy_of_template() as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            commit(connection, "SET search_path = dms")  # the names of its tables come without it
            return set(postgres_lines(connection))


def postgres_lines(connection: sa.Connection) -> Iterator[str]:
    actions = {"a": "no action", "r": "restrict", "c": "cascade", "n": "set null", "d": "set default"}
    for table, name, of, not_null, default, identity in commit(connection, COLUMNS):
        yield column(table, name, TYPES.get(of, of), null=not not_null, default=default, identity=identity)
    for table, kind, name, to, deleted, updated, columns, to_columns in commit(connection, CONSTRAINTS):
        if kind == "c":
            yield f"{table}: check {name}"
        elif kind == "f":
            yield foreign_key(table, name, columns, to, to_columns, actions[deleted], actions[updated])
        else:
            yield key(table, "primary key" if kind == "p" else "unique", name, columns)
    for table, name, unique, filtered, columns, included in commit(connection, INDEXES):
        yield index(table, name, columns, included, unique=unique, filtered=filtered)
    for name, columns in commit(connection, VIEWS):
        yield f"{name}: view {listed(columns)}"
    for name, of in commit(connection, SEQUENCES):
        yield f"{name}: sequence {TYPES.get(of, of)}"


# SQL Server's.

NO_LINES = {"CreateSchemaStatement", "CreateProcedureStatement", "CreateTriggerStatement"}


@pytest.fixture(scope="module")
def sqlserver(scriptdom: Path) -> Schemas:
    """The lines of the upgrade script, under "", and of the script with each fault."""
    script = migrate.script("sqlserver")
    scripts = {"": script} | {fault: changed(script, *edit) for fault, edit in FAULTS.items()}
    batches = {name: grammar.split(name, text) for name, text in scripts.items()}
    texts = {batch.text: batch for found in batches.values() for batch in found}  # most are the same in all
    read = {parsed.batch.text: parsed for parsed in grammar.parse(scriptdom, texts.values())}
    assert [parsed.errors for parsed in read.values() if parsed.errors] == []
    trees = {name: [tree for batch in found if (tree := read[batch.text].tree)] for name, found in batches.items()}
    return {name: sqlserver_lines(found) for name, found in trees.items()}


def changed(script: str, old: str, new: str) -> str:
    assert old in script, f"the script has no {old}"
    return script.replace(old, new)


def sqlserver_lines(trees: list[Node]) -> set[str]:
    lines: set[str] = set()
    for tree in trees:
        for node, path in tree.walk():
            if node.kind == "DropTableStatement":
                dropped = tuple(f"{last_name(part)}: " for part in children(node, "Objects"))
                lines = {line for line in lines if not line.startswith(dropped)}
            elif not any(part.kind in NO_LINES for part in (node, *path)):
                lines |= set(statement_lines(node))
    return lines


def statement_lines(node: Node) -> Iterator[str]:
    if node.kind in ("CreateTableStatement", "AlterTableAddTableElementStatement"):
        yield from table_lines(named(node, "SchemaObjectName"), child(node, "Definition"))
    elif node.kind == "CreateIndexStatement":
        included = [last_name(part) for part in children(node, "IncludeColumns")]
        unique, filtered = node.values["Unique"] == "True", bool(children(node, "FilterPredicate"))
        yield index(named(node, "OnName"), named(node, "Name"), sorted_columns(node), included, unique=unique, filtered=filtered)
    elif node.kind == "CreateViewStatement":
        yield f"{named(node, 'SchemaObjectName')}: view {listed(last_name(part) for part in children(node, 'Columns'))}"
    elif node.kind == "CreateSequenceStatement":
        [of] = [type_of(part) for part in children(node, "SequenceOptions") if part.kind == "DataTypeSequenceOption"]
        yield f"{named(node, 'Name')}: sequence {of}"
    elif re.match(r"(Create|Alter|Drop)\w+Statement$", node.kind):
        raise AssertionError(f"{node.kind} in line {node.line}: it may change the schema, and is not read here")


def table_lines(table: str, definition: Node) -> Iterator[str]:
    for part in children(definition, "ColumnDefinitions"):
        name, constraints = named(part, "ColumnIdentifier"), children(part, "Constraints")
        nullable = [found.values["Nullable"] == "True" for found in constraints if found.kind == "NullableConstraintDefinition"]
        yield column(
            table,
            name,
            type_of(part),
            null=nullable != [False],
            default=bool(children(part, "DefaultConstraint")),
            identity=bool(children(part, "IdentityOptions")),
        )
        for constraint in constraints:
            yield from constraint_lines(table, constraint, [name])
    for constraint in children(definition, "TableConstraints"):
        yield from constraint_lines(table, constraint, [])


def constraint_lines(table: str, constraint: Node, columns: list[str]) -> Iterator[str]:
    """`columns`: the column that it stands in."""
    name = "".join(last_name(part) for part in children(constraint, "ConstraintIdentifier"))
    if constraint.kind == "CheckConstraintDefinition":
        yield f"{table}: check {name}"
    elif constraint.kind == "UniqueConstraintDefinition":
        kind = "primary key" if constraint.values["IsPrimaryKey"] == "True" else "unique"
        yield key(table, kind, name, sorted_columns(constraint) or columns)
    elif constraint.kind == "ForeignKeyConstraintDefinition":
        columns = [last_name(part) for part in children(constraint, "Columns")] or columns
        to_columns = [last_name(part) for part in children(constraint, "ReferencedTableColumns")]
        actions = [spelt(constraint.values[name]) for name in ("DeleteAction", "UpdateAction")]
        yield foreign_key(table, name, columns, named(constraint, "ReferenceTableName"), to_columns, *actions)
    elif constraint.kind != "NullableConstraintDefinition":
        raise AssertionError(f"{constraint.kind} in line {constraint.line} is not read here")


def children(node: Node, role: str) -> list[Node]:
    return [part for part in node.children if part.role == role]


def child(node: Node, role: str) -> Node:
    [found] = children(node, role)
    return found


def named(node: Node, role: str) -> str:
    """The name that a part of it says, without the schema's."""
    return last_name(child(node, role))


def last_name(node: Node) -> str:
    return [part.values["Value"] for part, _ in node.walk() if part.kind == "Identifier"][-1].lower()


def sorted_columns(node: Node) -> list[str]:
    falling = {"Descending": " desc"}
    return [last_name(part) + falling.get(part.values["SortOrder"], "") for part in children(node, "Columns")]


def type_of(node: Node) -> str:
    of = child(node, "DataType")
    lengths = [part.values["Value"] for part in children(of, "Parameters")]
    return named(of, "Name") + (listed(lengths) if lengths else "")


def spelt(action: str) -> str:
    return "no action" if action in ("NoAction", "NotSpecified") else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", action).lower()


# Compared.


def differences(postgres: set[str], sqlserver: set[str]) -> list[str]:
    return sorted([f"P {line}" for line in postgres - sqlserver] + [f"S {line}" for line in sqlserver - postgres])


def unlisted_and_stale(found: list[str]) -> tuple[list[str], list[str]]:
    patterns = [pattern for listed in DIFFERENCES.values() for pattern in listed]
    unlisted = [line for line in found if not any(fnmatchcase(line, pattern) for pattern in patterns)]
    return unlisted, [pattern for pattern in patterns if not any(fnmatchcase(line, pattern) for line in found)]


def test_the_schemas_agree_but_for_what_is_listed(postgres: set[str], sqlserver: Schemas) -> None:
    assert unlisted_and_stale(differences(postgres, sqlserver[""])) == ([], [])


def test_nothing_was_overlooked(postgres: set[str], sqlserver: Schemas) -> None:
    """What each migration makes is among the lines that were compared: two empty schemas would agree."""
    for lines, engine in ((postgres, "postgres"), (sqlserver[""], "sqlserver")):
        files = set((sql.shipped("sql") / engine).glob("[tv]*s/*.v*.sql")) - files_of_options(engine)
        words = re.compile(r"CREATE (?:OR REPLACE )?(TABLE|INDEX|VIEW|SEQUENCE) (?:IF NOT EXISTS )?(?:dms\.)?(\w+)")
        made = sorted((kind, name.lower()) for file in files for kind, name in words.findall(file.read_text(encoding="utf-8")))
        tables = {line.split(":")[0] for line in lines if ": column " in line} - {"alembic_version"}
        others = re.findall(r"^(\w+): (?:(view|sequence) |index (\w+))", "\n".join(sorted(lines)), re.MULTILINE)
        found = [("TABLE", name) for name in tables] + [(kind.upper() or "INDEX", at or name) for name, kind, at in others]
        assert sorted(found) == made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_seen(postgres: set[str], sqlserver: Schemas, fault: str) -> None:
    assert unlisted_and_stale(differences(postgres, sqlserver[fault])) != ([], [])


def files_of_options(engine: str) -> set[Path]:
    """Which only the migrations run that a database may have or not."""
    revisions = [file.stem for file in (sql.shipped("migrations") / engine / "options").glob("*_[0-9]*.py")]
    assert revisions
    names = set(migrate.installed_files(engine, revisions)) - set(migrate.installed_files(engine, [migrate.newest()]))
    return {file for name in names if (file := sql.shipped("sql") / engine / f"{name}.sql").exists()}


def test_a_hint_names_an_index_of_its_table(sqlserver: Schemas) -> None:
    files = (sql.shipped("sql") / "sqlserver").rglob("*.sql")
    hint = re.compile(r"dms\.(\w+)(?: AS \w+)? WITH \(INDEX \((\w+)\)")
    hinted = {(table, name) for file in files for table, name in hint.findall(file.read_text(encoding="utf-8"))}
    indexes = {tuple(line.split(" (")[0].split(": index ")) for line in sqlserver[""] if ": index " in line}
    keys = {(table.lower(), name.lower()) for table, name in hinted if name == f"PK_{table}"}  # as the primary key of each is named
    made = re.compile(r"CREATE INDEX (\w+) ON dms\.(\w+)")
    texts = [file.read_text(encoding="utf-8") for file in files_of_options("sqlserver")]
    optional = {(table.lower(), name.lower()) for text in texts for name, table in made.findall(text)}
    assert {(table.lower(), name.lower()) for table, name in hinted} - indexes - keys - optional == set() != hinted


def test_both_trees_have_the_same_revisions() -> None:
    trees = [ScriptDirectory(str(sql.shipped("migrations") / engine)) for engine in ("postgres", "sqlserver")]
    postgres, sqlserver = ([described(script) for script in tree.walk_revisions()] for tree in trees)
    assert postgres == sqlserver
    assert postgres[0][0] == migrate.newest()


def described(script: Script) -> tuple[object, ...]:
    return script.revision, script.down_revision, script.branch_labels, script.dependencies, script.doc
