"""SQL by name: a statement is a file, read once; Python binds parameters and never builds SQL from pieces."""

from __future__ import annotations

import json
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

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """A file or folder that is shipped with the package: inside it in a wheel, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.exists() else _PACKAGE.parent / name


def engine_name(dialect: str) -> str:
    """The name of a SQLAlchemy dialect's folder in sql/ and migrations/: postgres or sqlserver."""
    return {"postgresql": "postgres", "mssql": "sqlserver"}[dialect]


def text_of(engine: str, name: str) -> str:
    """The text of sql/<engine>/<name>.sql."""
    return (shipped("sql") / engine / f"{name}.sql").read_text(encoding="utf-8")


@cache
def query(engine: str, name: str) -> sa.TextClause:
    """The statement sql/<engine>/queries/<name>.sql, its binds named in its header."""
    return sa.text(text_of(engine, f"queries/{name}"))


def rows(values: object) -> str:
    """Rows as a JSON parameter, which both engines read as a set. Decimals are written as the numbers they are."""
    return _ENCODER.encode(values).decode("utf-8")


def canonical_json(text: bytes) -> bytes:
    """JSON with names in order and no blanks; numbers as they are written."""
    return _IN_ORDER.encode(decoded(text))


_ENCODER = msgspec.json.Encoder(decimal_format="number")
_IN_ORDER = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_DECODER = msgspec.json.Decoder(float_hook=Decimal)  # 7.20 stays 7.20


def decoded(text: str | bytes) -> Any:
    """A JSON value of the database's. Numbers that are not whole are Decimals, and so are those with thousands of digits."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):  # what a database holds, another program may have written: it must be readable
        return _in_a_deep_thread(lambda: json.loads(text, parse_int=_whole_number, parse_float=Decimal))


def _whole_number(text: str) -> int | Decimal:
    return int(text) if len(text) <= _INT_DIGITS else Decimal(text)


def _in_a_deep_thread(work: Callable[[], Any]) -> Any:
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
