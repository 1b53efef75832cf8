"""SQL by name: a statement is a file, read once; Python binds parameters and never builds SQL from pieces."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import mssql, postgresql

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """A file or folder that is shipped with the package: inside it in a wheel, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.exists() else _PACKAGE.parent / name


_DIALECTS = {"postgres": postgresql.dialect, "sqlserver": mssql.dialect}
ENGINES = {"postgresql": "postgres", "mssql": "sqlserver"}  # by the name of its SQLAlchemy dialect


def engine_name(dialect: str) -> str:
    """The name of a SQLAlchemy dialect's folder in sql/ and migrations/: postgres or sqlserver."""
    return ENGINES[dialect]


def text_of(engine: str, name: str) -> str:
    """The text of sql/<engine>/<name>.sql."""
    return (shipped("sql") / engine / f"{name}.sql").read_text(encoding="utf-8")


def batches(text: str) -> list[str]:
    """The batches of a script: what stands between lines that say GO."""
    return [batch for batch in re.split(r"(?m)^GO\s*$", text) if batch.strip()]


@cache
def query(engine: str, name: str) -> sa.TextClause:
    """The statement sql/<engine>/queries/<name>.sql, its binds named in its header."""
    return sa.text(text_of(engine, f"queries/{name}"))


def source(engine: str, name: str, **binds: object) -> str:
    """The text of sql/<engine>/spark/<name>.sql, its binds written out: Spark takes texts only."""
    text = "\n".join(line for line in text_of(engine, f"spark/{name}").splitlines() if not line.startswith("--"))
    return literal(engine, sa.text(text).bindparams(**binds))


def literal(engine: str, clause: sa.ClauseElement) -> str:
    """A clause as the engine's SQL, its values written out."""
    dialect = _DIALECTS[engine](paramstyle="named")
    return str(clause.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def rows(values: object) -> str:
    """Rows as a JSON parameter, which both engines read as a set. Decimals are written as the numbers they are."""
    return encoded(_ENCODER.encode, values).decode("utf-8")


def rows_of_text(values: list[Any]) -> str:
    """Rows as a JSON parameter whose keys and bodies are text: SQL Server keeps JSON as the text that it is given.

    Keys are canonical, so that equal keys are equal texts.
    """
    return rows([_with_text(row) if isinstance(row, dict) else row for row in values])


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    if row.get("key_values") is not None:
        texts["key_values"] = canonical_json(_ENCODER.encode(row["key_values"])).decode("utf-8")
    if row.get("body") is not None:
        texts["body"] = _ENCODER.encode(row["body"]).decode("utf-8")
    return row | texts


def canonical_json(text: bytes) -> bytes:
    """JSON with names in order, no blanks, and numbers without the zeros at their ends: equal where a database compares equal."""
    return encoded(_IN_ORDER.encode, _decoded(text, _CANONICAL, _canonical_number))


def _canonical_number(text: str) -> int | Decimal:
    number = Decimal(text)
    if not -_INT_DIGITS < number.adjusted() < _INT_DIGITS:
        return number
    return int(number) if number == number.to_integral_value() else Decimal(format(number, "f").rstrip("0"))


_ENCODER = msgspec.json.Encoder(decimal_format="number")
_IN_ORDER = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_CANONICAL = msgspec.json.Decoder(float_hook=_canonical_number)
_DECODER = msgspec.json.Decoder(float_hook=Decimal)  # 7.20 stays 7.20


def encoded(encode: Callable[[Any], bytes], value: Any) -> bytes:
    """The value as JSON, nested however deep: what a database holds, another program may have written."""
    try:
        return encode(value)
    except RecursionError:
        return bytes(in_a_deep_thread(lambda: encode(value)))


def decoded(text: str | bytes) -> Any:
    """A JSON value of the database's. Numbers that are not whole are Decimals, and so are those with thousands of digits."""
    return _decoded(text, _DECODER, Decimal)


def _decoded(text: str | bytes, decoder: msgspec.json.Decoder[Any], number: Callable[[str], Any]) -> Any:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what a database holds, another program may have written: it must be readable
        return in_a_deep_thread(lambda: json.loads(text, parse_int=_whole_number, parse_float=number))


def _whole_number(text: str) -> int | Decimal:
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


def in_a_deep_thread(work: Callable[[], Any]) -> Any:
    """What the work returns, done with a stack for values that are nested thousands deep."""
    before = threading.stack_size(_STACK_BYTES)
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(_with_recursion, work).result()
    finally:
        threading.stack_size(before)


def _with_recursion(work: Callable[[], Any]) -> Any:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        return work()
    finally:
        sys.setrecursionlimit(limit)


_INT_DIGITS = 4_000  # of Python's own limit, 4,300
_DEPTH = 50_000  # what PostgreSQL's own stack allows is far less
_STACK_BYTES = 256 * 1024 * 1024
