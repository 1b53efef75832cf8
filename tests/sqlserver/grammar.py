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
_SAID = {"UniqueRowFilter", "IsPrimaryKey", "Unique", "Nullable", "DeleteAction", "UpdateAction", "SortOrder"}  # what is no text
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
