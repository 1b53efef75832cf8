"""A model of implicit transactions: which statements of a session have an open transaction on SQL Server.

With autocommit off a driver sets IMPLICIT_TRANSACTIONS ON. Then only the statements begin a transaction that the page
https://learn.microsoft.com/sql/t-sql/statements/set-implicit-transactions-transact-sql lists. SET, EXEC, DECLARE, IF and
ALTER SEQUENCE do not. A stand-in lets them all run in one. Where the page leaves a doubt, the model takes it for "does not begin
one": for a SELECT from the catalog, from a table variable, from JSON, and for a branch that may not be taken.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from dmsjournal.database import sql
from tests.sqlserver import grammar
from tests.sqlserver.grammar import Batch, Node

_ROWS = {"SelectStatement", "InsertStatement", "UpdateStatement", "DeleteStatement", "MergeStatement"}  # of a table
_BEGINS = re.compile(
    r"AlterTable\w*Statement|Create\w+Statement|Drop\w+Statement|FetchCursorStatement|OpenCursorStatement|"
    r"GrantStatement|RevokeStatement|TruncateTableStatement|BeginTransactionStatement"
)
_ENDS = {"CommitTransactionStatement", "RollbackTransactionStatement"}
_LEAVES = {"ThrowStatement", "ReturnStatement"}
_MODULES = re.compile(r"(?:Create|Alter)\w*(?:Procedure|Trigger|View|Function)Statement")  # what is in them does not run now
_NEEDS = re.compile(r"Alter(?:Sequence|PartitionFunction|PartitionScheme)Statement")  # each would commit by itself
_CHANGING = re.compile(r"sp_(?:addextendedproperty|dropextendedproperty|settriggerorder|rename)", re.IGNORECASE)


@dataclass
class Sent:
    """What one connection sent, in order: a batch, or None where its transaction ended."""

    texts: list[str | None] = field(default_factory=list)


@contextmanager
def recorded() -> Iterator[Iterable[Sent]]:
    """Within it, what every connection sends while the driver has autocommit off, one Sent each."""
    found: dict[int, Sent] = {}
    kept: list[Any] = []  # so that no id comes again

    def of(connection: sa.Connection) -> Sent:
        raw = connection.connection.dbapi_connection
        if id(raw) not in found:
            kept.append(raw)
        return found.setdefault(id(raw), Sent())

    def sends(connection: sa.Connection, _cursor: Any, statement: str, *_: Any) -> None:
        raw: Any = connection.connection.dbapi_connection
        if connection.dialect.name == "mssql" and not raw.autocommit:
            of(connection).texts.append(statement)

    def ends(connection: sa.Connection) -> None:
        of(connection).texts.append(None)

    events = (("before_cursor_execute", sends), ("commit", ends), ("rollback", ends))
    for name, listener in events:
        sa.event.listen(sa.Engine, name, listener)
    try:
        yield found.values()
    finally:
        for name, listener in events:
            sa.event.remove(sa.Engine, name, listener)


class Model:
    """Tells the statements that need an open transaction and have none."""

    def __init__(self, scriptdom: Path) -> None:
        self._scriptdom = scriptdom
        self._trees: dict[str, Node | None] = {}
        self._known = self._procedures()

    def problems(self, sent: Iterable[str | None]) -> list[str]:
        """Of what one connection sent: batches as they were sent, None where the transaction ended."""
        sent = list(sent)
        self.read({text for text in sent if text is not None})
        found: list[str] = []
        is_open = False
        for text in sent:
            tree = None if text is None else self._trees[text]
            is_open = False if text is None else bool(self._after(tree, is_open, found)) if tree else is_open
        return found

    def read(self, texts: Iterable[str]) -> None:
        """Reads batches at once: the grammar takes seconds to begin."""
        new = [text for text in dict.fromkeys(texts) if text not in self._trees]
        given = [Batch(text[:60], 1, _bound(text)) for text in new]
        for text, parsed in zip(new, grammar.parse(self._scriptdom, given) if given else [], strict=True):
            assert parsed.errors == [], (text, parsed.errors)
            self._trees[text] = parsed.tree

    def _procedures(self) -> dict[str, Node]:
        texts = {}
        for path in sorted((sql.shipped("sql") / "sqlserver" / "procedures").rglob("*.sql")):
            name = re.sub(r"\..*", "", path.name)
            texts[name] = grammar.split(name, path.read_text(encoding="utf-8"))[0]
        found = {}
        for parsed in grammar.parse(self._scriptdom, texts.values()):
            assert parsed.tree is not None
            [found[parsed.batch.name]] = [
                part
                for node, _ in parsed.tree.walk()
                if node.kind == "CreateProcedureStatement"
                for part in node.children
                if part.kind == "StatementList"
            ]
        return found

    def _after(self, node: Node, is_open: bool, found: list[str]) -> bool | None:
        """Whether a transaction is open after a part of a batch; None where it ends there."""
        if node.kind == "IfStatement":
            ends = [
                self._after(child, is_open, found) for child in node.children if child.role in ("ThenStatement", "ElseStatement")
            ]
            ends += [is_open] * (2 - len(ends))
            left = [end for end in ends if end is not None]
            return all(left) if left else None
        if node.kind == "WhileStatement":
            for child in node.children:
                if child.role == "Statement":
                    self._after(child, is_open, found)
            return is_open
        if _MODULES.fullmatch(node.kind):
            return True
        if node.kind in _LEAVES:
            return None
        if node.kind in _ENDS:
            return False
        if node.kind in _ROWS or _BEGINS.fullmatch(node.kind):
            return is_open or node.kind not in _ROWS or _reaches_a_table(node)
        if node.kind == "ExecuteStatement":
            return self._executed(node, is_open, found)
        if _NEEDS.fullmatch(node.kind) and not is_open:
            found.append(f"{node.kind}, line {node.line}: no transaction is open")
        if node.is_statement and not node.kind.startswith(("BeginEnd", "TryCatch")):
            if any(_called(part) == "CURRENT_TRANSACTION_ID" for part, _ in node.walk()) and not is_open:
                found.append(f"CURRENT_TRANSACTION_ID, line {node.line}: no transaction is open")
            return is_open
        for child in node.children:
            if child.role == "CatchStatements":
                continue
            end = self._after(child, is_open, found)
            if end is None:
                return None
            is_open = end
        return is_open

    def _executed(self, node: Node, is_open: bool, found: list[str]) -> bool | None:
        [name, *_] = [
            ".".join(part.values["Value"] for part in called.children)
            for called, _ in node.walk()
            if called.kind == "SchemaObjectName"
        ] or [""]
        if name.lower() in ("sys.sp_getapplock", "sp_getapplock"):
            owners = [part.values["Value"] for part, _ in node.walk() if part.kind == "StringLiteral"]
            if "Session" not in owners and not is_open:
                found.append(f"sp_getapplock, line {node.line}: no transaction is open, the server answers -999")
        elif _CHANGING.search(name) and not is_open:
            found.append(f"{name.removeprefix('sys.')}, line {node.line}: no transaction is open, it commits by itself")
        elif name.lower().startswith("dms.") and (body := self._known.get(name.lower().removeprefix("dms."))) is not None:
            end = self._after(body, is_open, found)
            return is_open if end is None else end
        else:
            for part, _ in node.walk():
                if part.kind == "TSqlScript":  # what sp_executesql is given, where it is a literal
                    return self._after(part, is_open, found)
        return is_open


def _reaches_a_table(statement: Node) -> bool:
    """Whether it names a table of a schema of ours, or a temporary one."""
    for node, _ in statement.walk():
        if node.kind == "NamedTableReference":
            [name] = [child for child in node.children if child.kind == "SchemaObjectName"]
            parts = [part.values["Value"].lower() for part in name.children]
            if parts[0] not in ("sys", "information_schema") and (len(parts) > 1 or parts[0].startswith("#")):
                return True
    return False


def _called(node: Node) -> str | None:
    return next((child.values["Value"].upper() for child in node.children if child.role == "FunctionName"), None)


def _bound(text: str) -> str:
    """A batch as a driver sends it, with a variable where it has a parameter."""
    return re.sub(r"\?", "@bind", re.sub(r"\{[a-z_]+\}", "5000", grammar.bound(text)))
