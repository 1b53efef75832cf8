"""T-SQL batches that run on PostgreSQL: sqlglot translates each statement, what lies between statements is done here.

Known are DECLARE (a table variable becomes a temporary table), SET @variable, SELECT @variable = …, @@ROWCOUNT, IF and WHILE of one
statement or of BEGIN … END. Hints are left out: they choose plans, not rows. What is not known raises Untranslatable. Not shown are
SQL Server's locks, isolation, plans and collations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
import sqlglot
from sqlglot import exp

from tests.sqlserver import grammar

_BEGINS = {"BEGIN", "SELECT", "SET", "INSERT", "UPDATE", "DELETE", "EXEC", "THROW"}  # a statement: what a condition ends before
_OPTION = re.compile(r"\bOPTION \([^()]*\)$")
_BITS = {"IsIdentityComponent"}  # columns that PostgreSQL has as boolean
_JSON = {"KeyValues", "OldKeyValues", "NewKeyValues"}  # and as jsonb


class Untranslatable(Exception):
    """No PostgreSQL is known for it."""


@dataclass(frozen=True)
class Statement:
    """A statement for PostgreSQL. `sets`: the variables that its row is for; if it has none, they keep their values."""

    sql: str
    sets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Branch:
    """IF, or WHILE."""

    condition: str
    steps: list[Step]
    repeated: bool


Step = Statement | Branch
Types = dict[str, exp.DataType]  # of variables


def run(conn: sa.Connection, text: str, binds: dict[str, object]) -> list[sa.Row[Any]]:
    """The rows that a batch of sql/sqlserver/queries/ gives. Roll back after it: its temporary tables stay until then."""
    values: dict[str, Any] = {f"bind_{name}": value for name, value in binds.items()}
    found: list[list[sa.Row[Any]]] = []

    def take(some: list[Step]) -> None:
        for step in some:
            if isinstance(step, Branch):
                while conn.exec_driver_sql(step.condition, values).scalar_one():
                    values["rowcount"] = 0
                    take(step.steps)
                    if not step.repeated:
                        break
                continue
            result = conn.exec_driver_sql(step.sql, values)
            values["rowcount"] = result.rowcount
            if step.sets:
                for row in result:
                    values.update(zip(step.sets, row, strict=True))
            elif result.returns_rows:
                found.append(list(result))

    take(steps(text))
    [rows] = found  # the caller reads the first result, and there is no other
    return rows


@cache
def steps(text: str) -> list[Step]:
    """The steps of a batch. Raises Untranslatable."""
    return _Reader(grammar.bound(text)).block(None)


def translated(text: str) -> str:
    """One statement. Raises Untranslatable."""
    return _sql(_parsed(text), {})


class _Reader:
    """Reads a batch from its first token to its last. Each statement ends with a semicolon."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._place = text, sqlglot.tokenize(text, read="tsql"), 0
        self._types: Types = {"rowcount": exp.DataType.build("bigint")}

    def block(self, end: str | None) -> list[Step]:
        """The steps up to a word; None: up to the end."""
        steps: list[Step] = []
        while self._word != end:
            steps += self._step()
        return steps

    @property
    def _word(self) -> str | None:
        return self._tokens[self._place].text.upper() if self._place < len(self._tokens) else None

    def _take(self, word: str) -> None:
        if self._word != word:
            raise Untranslatable(f"{self._word} where {word} should be")
        self._place += 1

    def _step(self) -> list[Step]:
        if self._word in ("IF", "WHILE"):
            return [self._branch()]
        text = self._until({";"})
        self._take(";")
        return self._statement(_parsed(_OPTION.sub("", text)))

    def _branch(self) -> Branch:
        repeated = self._word == "WHILE"
        self._place += 1
        condition = _sql(exp.select(_parsed(self._until(_BEGINS))), self._types)
        if self._word != "BEGIN":
            return Branch(condition, self._step(), repeated)
        self._take("BEGIN")
        inside = self.block("END")
        self._take("END")
        self._take(";")
        return Branch(condition, inside, repeated)

    def _until(self, words: set[str]) -> str:
        """The text before one of some words that stands in no parentheses."""
        first, depth = self._place, 0
        while self._word is not None and (depth or self._word not in words):
            depth += {"(": 1, ")": -1}.get(self._word, 0)
            self._place += 1
        text = self._text[self._tokens[first].start :]
        if self._word is None:
            raise Untranslatable(f"none of {', '.join(sorted(words))} after {text}")
        return text[: self._tokens[self._place].start - self._tokens[first].start].strip()

    def _statement(self, tree: exp.Expression) -> list[Step]:
        if isinstance(tree, exp.Declare):
            return [self._declared(tree.expressions)]
        if tree.sql("tsql") == "SET NOCOUNT ON":
            return []
        if isinstance(tree, exp.Set):
            return [self._assigned([item.this for item in tree.expressions], self._types)]
        if isinstance(tree, exp.Select) and any(map(_is_assignment, tree.expressions)):
            return [self._assigned(tree.expressions, self._types, tree)]
        if not isinstance(tree, exp.Select | exp.Insert | exp.Delete):
            raise Untranslatable(f"{type(tree).__name__}: {tree.sql('tsql')}")
        return [Statement(_sql(tree, self._types))]

    def _declared(self, items: list[exp.DeclareItem]) -> Statement:
        if isinstance(columns := items[0].args["kind"], exp.Schema):
            columns.set("this", exp.to_table(_name(items[0].this[0])))
            temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
            return Statement(_sql(exp.Create(this=columns, kind="TABLE", properties=temporary), self._types))
        types = {_name(item.this[0]): item.args["kind"] for item in items}
        values = [exp.EQ(this=item.this[0], expression=item.args.get("default") or exp.null()) for item in items]
        statement = self._assigned(values, types)  # all at once: none can have another one's value
        self._types |= types
        return statement

    def _assigned(self, parts: list[exp.Expression], types: Types, select: exp.Select | None = None) -> Statement:
        """@variable = value, …, of certain types; the values may be a SELECT's."""
        if not all(map(_is_assignment, parts)):
            raise Untranslatable(", ".join(part.sql("tsql") for part in parts))
        names = tuple(_name(part.this) for part in parts)
        values = [exp.cast(part.expression, types[name]) for name, part in zip(names, parts, strict=True)]
        return Statement(_sql((select or exp.Select()).select(*values, append=False), self._types), names)


def _list_columns(listed: exp.OpenJSON) -> None:
    """A set of rows of whole numbers, as PostgreSQL names their columns: after the alias."""
    columns = [exp.ColumnDef(this=column.this.copy(), kind=column.args["kind"]) for column in listed.expressions]
    if not all(column.kind and column.kind.is_type("int", "bigint") for column in columns):
        raise Untranslatable(f"OPENJSON … WITH: {listed.sql('tsql')}")
    table = listed.parent
    assert isinstance(table, exp.Table)
    table.args["alias"].set("columns", columns)
    listed.set("expressions", [])
    listed.replace(exp.Anonymous(this="jsonb_to_recordset", expressions=[exp.cast(listed.this, "jsonb")]))


def _parsed(text: str) -> exp.Expression:
    try:
        return sqlglot.parse_one(text, read="tsql")
    except sqlglot.ParseError as error:
        raise Untranslatable(str(error)) from error


def _is_assignment(part: exp.Expression) -> bool:
    return isinstance(part, exp.EQ) and isinstance(part.this, exp.Parameter)


def _name(variable: exp.Expression) -> str:
    """Of @name and @@name, in which case makes no difference."""
    found = variable.find(exp.Var)
    assert found is not None
    return found.name.lower()


def _sql(tree: exp.Expression, types: Types) -> str:
    """For PostgreSQL. What sqlglot leaves as it is gets another form here."""
    tree = tree.copy()
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Parameter):
            table.set("this", exp.to_identifier(_name(table.this)))
    for listed in list(tree.find_all(exp.OpenJSON)):
        if listed.expressions:
            _list_columns(listed)
            continue
        listed.replace(exp.func("jsonb_array_elements_text", exp.cast(listed.this, "jsonb")))  # its one column is `value` too
    for deleted in tree.find_all(exp.Delete):
        deleted.set("tables", None)  # DELETE alias FROM table AS alias: of one table; PostgreSQL would refuse two
    for constraint in tree.find_all(exp.PrimaryKey):
        constraint.set("expressions", [part.this if isinstance(part, exp.Ordered) else part for part in constraint.expressions])
    for variable in list(tree.find_all(exp.Parameter)):
        name = _name(variable)
        placeholder = exp.Placeholder(this=name)
        if name not in types and not name.startswith("bind_"):
            raise Untranslatable(f"@{name} is not declared")
        variable.replace(exp.cast(placeholder, types[name]) if name in types else placeholder)
    for column in tree.find_all(exp.ColumnDef):
        if column.name in _JSON:
            column.set("kind", exp.DataType.build("jsonb", dialect="postgres"))
            column.set("constraints", [part for part in column.constraints if not part.find(exp.CollateColumnConstraint)])
        elif column.kind is not None and column.kind.sql("tsql").startswith("DATETIME2"):
            column.set("kind", exp.DataType.build("timestamptz", dialect="postgres"))
    for of in list(tree.find_all(exp.DataType)):
        if of.is_type("bit"):
            of.replace(exp.DataType.build("smallint"))  # 0 and 1 are no boolean there
        elif of.sql("tsql").endswith("(MAX)"):
            of.replace(exp.DataType.build("text"))
    for column in list(tree.find_all(exp.Column)):
        if column.name in _BITS and isinstance(column.parent, exp.EQ):
            column.replace(exp.cast(column.copy(), "int"))
    for part in list(tree.find_all(exp.Mod)):
        part.replace(exp.Anonymous(this="mod", expressions=[part.this, part.expression]))  # the driver takes % for a parameter
    try:
        return tree.sql("postgres", comments=False, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except sqlglot.UnsupportedError as error:
        raise Untranslatable(str(error)) from error
