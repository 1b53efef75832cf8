"""A hostile schema: every operator and function that our SQL names, planted for types that match better than PostgreSQL's own.

What to plant is read from our SQL by PostgreSQL's own parser. Each planted function raises an error when it runs, and counts itself
in a sequence, which no rollback takes back.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa
from pglast import parse_plpgsql, parse_sql
from pglast.visitors import Visitor

from dmsjournal.database import sql
from tests.helpers import commit

SQL = sql.shipped("sql") / "postgres"

FAMILIES = [  # types that operators of ours compare or combine; any two of a family
    ["int2", "int4", "int8", "numeric", "float8"],
    ["text", "varchar", "bpchar", "name", '"char"'],
    ["oid", "regclass", "regnamespace", "regtype", "regproc", "regprocedure", "regrole", "int2", "int4", "int8"],
    ["regclass", "text", "varchar", "name"],
    ["timestamptz", "timestamp", "date", "interval"],
    ["jsonb", "json", "text", "varchar", "int4"],
    ["text[]", "varchar[]", "name[]"],
    ["int8[]", "int4[]", "int2[]", "oid[]"],
    ["bool"],
    ["uuid"],
    ["xid", "xid8", "int8", "int4"],
    ["pg_lsn"],
    ["bytea"],
    ["inet"],
]
BETTER = {  # for an argument of PostgreSQL's, types that are cast to it in silence, and so win where they are exact
    "text": ["text", "varchar", "name"],
    "name": ["name", "text", "varchar"],
    "int8": ["int8", "int4", "int2"],
    "int4": ["int4", "int2"],
    "numeric": ["numeric", "int8", "int4"],
    "float8": ["float8", "numeric", "int8", "int4"],
    "oid": ["oid", "regclass", "regnamespace", "regproc", "regrole", "int4"],
    "regclass": ["regclass", "oid", "text", "varchar"],
    "timestamptz": ["timestamptz", "timestamp", "date"],
    "jsonb": ["jsonb", "text", "varchar"],
}
ANYTHING = ["text", "varchar", "name", "int2", "int4", "int8", "numeric", "bool", "uuid", "jsonb", "timestamptz"]
ANYTHING += ["regclass", "oid", "xid8"]
ARRAYS = ["text[]", "int8[]", "name[]"]
POLYMORPHIC = {
    **dict.fromkeys(("any", "anyelement", "anynonarray", "anycompatible", "anycompatiblenonarray"), ANYTHING),
    **dict.fromkeys(("anyarray", "anycompatiblearray"), ARRAYS),
}
LOGICAL = {"=", "<>", "<", "<=", ">", ">=", "~", "!~", "~~", "!~~", "@>"}


class _Names(Visitor):  # type: ignore[misc]
    """The operators and functions that a statement names without a schema, and the calls that name another one."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.functions: set[str] = set()
        self.unqualified: list[str] = []

    def visit_A_Expr(self, _: Any, node: Any) -> None:
        name = node.name[-1].sval
        if len(node.name) == 1:
            self.operators |= {"<=", ">="} if name.endswith("BETWEEN") else {name}
            self.unqualified.append(name)

    def visit_SubLink(self, _: Any, node: Any) -> None:
        if node.testexpr is not None and len(node.operName or [1]) == 1:
            self.unqualified.append("IN")

    def visit_JoinExpr(self, _: Any, node: Any) -> None:
        if node.usingClause or node.isNatural:
            self.unqualified.append("USING")

    def visit_CaseExpr(self, _: Any, node: Any) -> None:
        if node.arg is not None:
            self.unqualified.append("CASE")

    def visit_FuncCall(self, _: Any, node: Any) -> None:
        if len(node.funcname) == 1:
            self.functions.add(node.funcname[0].sval)
            self.unqualified.append(node.funcname[0].sval)

    def visit_TypeName(self, _: Any, node: Any) -> None:
        if node.names and len(node.names) == 1:
            self.unqualified.append(node.names[0].sval)

    def visit_RangeVar(self, _: Any, node: Any) -> None:
        if node.schemaname is None:
            self.unqualified.append(node.relname)


def names_in(text: str) -> _Names:
    """What a file of sql/postgres names, in the bodies of its functions too."""
    found = _Names()
    text = re.sub(r"(?m)^\\.*$", "", text).replace("SNAPSHOT :snapshot", "SNAPSHOT 'x'").replace("{lock_timeout}", "5s")
    text = text.replace("({source})", "(SELECT 1)").replace("{condition}", "true")
    text = re.sub(r"\{(\w+)\}", r"\1", text)  # what is a name
    text = re.sub(r'(?<!:):("?)[a-z_]+("?)', lambda bind: '"role"' if bind[1] else "$1", text)
    found(parse_sql(text))
    if "$$" in text:
        for expression, mode in _expressions(parse_plpgsql(text)):
            if mode == 2:  # an expression
                expression = f"SELECT {expression}"
            elif mode is not None and mode > 2:  # an assignment
                expression = "SELECT " + re.split(":?=", expression, maxsplit=1)[1]
            found(parse_sql(expression))
    return found


def _expressions(tree: Any) -> Iterator[tuple[str, int | None]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "PLpgSQL_expr":
                yield value["query"], value.get("parseMode")
            else:
                yield from _expressions(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _expressions(value)


@cache
def used() -> tuple[set[str], set[str]]:
    """The operators and the functions that our SQL names without a schema, or that PostgreSQL's grammar names for it."""
    found = [names_in(file.read_text(encoding="utf-8")) for file in SQL.rglob("*.sql")]
    return set().union({"=", "<>"}, *(each.operators for each in found)), set().union(*(each.functions for each in found))


def plant(connection: sa.Connection, schema: str, owner: str) -> int:
    """Fills a schema that the owner makes; returns how many functions and operators it holds."""
    commit(connection, "CREATE SCHEMA spy; GRANT USAGE ON SCHEMA spy TO PUBLIC")
    commit(connection, "CREATE SEQUENCE spy.ran; GRANT ALL ON SEQUENCE spy.ran TO PUBLIC")
    commit(connection, f"CREATE SCHEMA {schema} AUTHORIZATION {owner}; GRANT USAGE ON SCHEMA {schema} TO PUBLIC")
    operators, functions = used()
    made = {*_operators(schema, operators), *_functions(connection, schema, functions)}
    text = ";\n".join(sorted(made, key=lambda each: each.startswith("CREATE OPERATOR")))  # operators need their functions
    with connection.begin():
        connection.exec_driver_sql(f"SET LOCAL ROLE {owner};\n{text}", execution_options={"no_parameters": True})
    return len(made)


_BODY = (
    "LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM pg_catalog.nextval('spy.ran');"
    " RAISE EXCEPTION 'PLANTED % ran in %', TG, pg_catalog.current_query(); END $$"
)


def _function(name: str, arguments: tuple[str, ...], returns: str) -> str:
    body = _BODY.replace("TG", f"""'{name.replace('"', "")}({", ".join(arguments)})'""")
    return f"CREATE FUNCTION {name}({', '.join(arguments)}) RETURNS {returns} {body}"


def _operators(schema: str, names: set[str]) -> Iterator[str]:
    pairs = {pair for family in FAMILIES for pair in itertools.product(family, repeat=2)}
    with_text = {pair for each in ANYTHING for text in ("text", "varchar") for pair in ((each, text), (text, each))}
    for name in names:
        for left, right in pairs | with_text if name == "||" else pairs:
            returns = "bool" if name in LOGICAL else left
            function = f"{schema}.operator_{'bool' if name in LOGICAL else 'left'}"
            yield _function(function, (left, right), returns)
            yield f"CREATE OPERATOR {schema}.{name} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = {function})"


_THEIRS = """
SELECT p.proname, p.proretset, t.typname,
       ARRAY(SELECT a.typname::text FROM unnest(p.proargtypes) WITH ORDINALITY AS g (id, n)
             JOIN pg_type AS a ON a.oid = g.id ORDER BY n)
FROM pg_proc AS p JOIN pg_type AS t ON t.oid = p.prorettype
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind <> 'p' AND p.proname = ANY (%s)
"""


def _functions(connection: sa.Connection, schema: str, names: set[str]) -> Iterator[str]:
    with connection.begin():
        theirs = connection.exec_driver_sql(_THEIRS, (list(names),)).all()
    made = set()
    for name, is_set, returns, arguments in theirs:
        if "internal" in (returns, *arguments) or len(arguments) > 4:
            continue
        arguments = ["text[]" if each == "_text" else each for each in arguments]
        variants = [POLYMORPHIC.get(each) or BETTER.get(each, [each]) for each in arguments]
        for variant in itertools.islice(itertools.product(*variants), 256 if len(arguments) < 3 else 48):
            if (name, variant) in made or any(each.startswith("_") for each in variant):
                continue
            made.add((name, variant))
            gives = variant[0] if returns.startswith("any") else returns
            gives = {"_text": "text[]", "char": '"char"'}.get(gives, gives)
            if not gives.startswith("_"):
                yield _function(f'{schema}."{name}"', variant, f"SETOF {gives}" if is_set else gives)
