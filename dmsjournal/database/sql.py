"""SQL by name: a statement is a file, read once; Python binds parameters and never builds SQL from pieces."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import sqlalchemy as sa

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def shipped(name: str) -> Path:
    """A file or folder that is shipped with the package: inside it in a wheel, beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.exists() else _PACKAGE.parent / name


_DROPPING = re.compile(r"^-- drop: ?(.*\n)", re.MULTILINE)


@cache
def text_of(engine: str, name: str) -> str:
    """The text of sql/<engine>/<name>.sql, without what drops the object again.

    <object>.drop is what drops an object: a file of its own, or the lines "-- drop: " at the end of the file that creates it.
    """
    folder = shipped("sql") / engine
    file = folder / f"{name}.sql"
    if name.endswith(".drop") and not file.exists():
        creating = max(folder.glob(f"{name.removesuffix('drop')}v*.sql"))
        header = f"-- sql/{engine}/{creating.relative_to(folder).as_posix()}: drops what it creates.\n"
        return header + "".join(_DROPPING.findall(creating.read_text(encoding="utf-8")))
    return _DROPPING.sub("", file.read_text(encoding="utf-8"))


def batches(text: str) -> list[str]:
    """The batches of a script: what stands between lines that say GO."""
    return [batch for batch in re.split(r"(?m)^GO\s*$", text) if batch.strip()]


@cache
def query(engine: str, name: str) -> sa.TextClause:
    """The statement sql/<engine>/queries/<name>.sql, its binds named in its header."""
    return sa.text(text_of(engine, f"queries/{name}"))


def source(engine: str, name: str) -> sa.TextClause:
    """The statement sql/<engine>/queries/spark/sources/<name>.sql, without its comments: Spark puts it into a FROM."""
    lines = text_of(engine, f"queries/spark/sources/{name}").splitlines()
    return sa.text("\n".join(line for line in lines if not line.startswith("--")))


def literal(dialect: sa.Dialect, clause: sa.ClauseElement) -> str:
    """A clause as a dialect's SQL, its values written out."""
    return str(clause.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
