"""SQL by name: a statement is a file, read once; Python binds parameters and never builds SQL from pieces."""

from __future__ import annotations

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
    """A JSON value of the database's; numbers that are not whole are Decimals."""
    return _DECODER.decode(text)
