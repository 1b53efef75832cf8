"""The types of columns that bodies become: as text, as Spark's DDL has them, and as Arrow has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from dmsjournal.errors import InvalidRequest

DIGITS = 38  # of a decimal, in Delta and in Iceberg
BAD = " ,;{}()\n\t=.`"  # in names: what Delta refuses, and what Iceberg and SQL take for a path

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|[^\s,:<>()`]+|[,:<>()])")
_SIMPLE = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "long": pa.int64(),
}
_KNOWN = "string, boolean, bigint, decimal(precision, scale), array<…> or struct<…>"


def read(path: str | Path) -> pa.StructType:
    """The types that a file names. Raises InvalidRequest."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidRequest("body_schema", str(path), f"it cannot be read: {reason}") from error
    return parsed(text, str(path))


def parsed(text: str, source: str | None = None) -> pa.StructType:
    """The types in a text such as `name string, marks array<struct<mark: decimal(5,2)>>`. Raises InvalidRequest."""
    return _Parser(text, text if source is None else source).whole()


def ddl(kind: pa.DataType, *, quoted: bool = False) -> str:
    """A type as text. `quoted`: with all names in backticks, so that `parsed` and Spark read it whatever is in them."""
    if pa.types.is_struct(kind):
        fields = (f"{f'`{field.name}`' if quoted else field.name}: {ddl(field.type, quoted=quoted)}" for field in kind)
        return f"struct<{', '.join(fields)}>"
    if is_list(kind):
        return f"array<{ddl(kind.value_type, quoted=quoted)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next((name for name, known in _SIMPLE.items() if known == kind), str(kind))


def plain(kind: pa.DataType) -> pa.DataType:
    """A type without what a table's library adds to it, such as numbers of fields and other ways to keep a text."""
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain(field.type)) for field in kind])
    if is_list(kind):
        return pa.list_(pa.field("element", plain(kind.value_type)))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return kind


def united(had: pa.StructType | None, given: pa.StructType | None) -> pa.StructType | None:
    """The columns of a table, and those that were given besides. Raises InvalidRequest where they differ."""
    if had is None or given is None:
        return given if had is None else had
    return _united(had, given, "body")


def _united(had: pa.DataType, given: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_struct(had) and pa.types.is_struct(given):
        both = {field.name: field.type for field in had}
        for field in given:
            name = field.name
            both[name] = _united(both[name], field.type, f"{path}.{name}") if name in both else field.type
        refuse_names(both, path)
        return pa.struct(list(both.items()))
    if is_list(had) and is_list(given):
        return pa.list_(pa.field("element", _united(had.value_type, given.value_type, f"{path}[]")))
    if had != given:
        remedy = f"the table was begun with {path} as {ddl(had)}: give it that type, leave it out, or name a new table"
        raise InvalidRequest("body_schema", f"{path} {ddl(given)}", remedy)
    return had


def is_list(kind: pa.DataType) -> bool:
    """Whether it is a list, kept in whichever way."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_list_view(kind))


def bad_name(name: str, others: Mapping[str, str]) -> str | None:
    """Why a name cannot be that of a column beside others; None where it can. To Spark and Delta, case makes no difference.

    `others`: by their names without case.
    """
    if not name or set(name) & set(BAD):
        return f"a column's name is not empty and has none of {' '.join(map(repr, BAD))}"
    same = others.get(name.casefold(), name)
    return None if same == name else f"{same} is a column, and names that differ in case alone are one to Spark and Delta"


def refuse_names(columns: dict[str, pa.DataType], path: str) -> None:
    """Raises InvalidRequest for names that were given and cannot be those of columns."""
    folded: dict[str, str] = {}
    for name in columns:
        if (reason := bad_name(name, folded)) is not None:
            raise InvalidRequest("body_schema", f"{path}.{name}", f"{reason}: leave it out")
        folded[name.casefold()] = name


def leaves(name: str, kind: pa.DataType) -> Iterator[str]:
    """The paths of a column's leaves in Parquet."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from leaves(f"{name}.{field.name}", field.type)
    elif is_list(kind):
        yield from leaves(f"{name}.list.element", kind.value_type)
    else:
        yield name


class _Parser:
    """Reads DDL from left to right."""

    def __init__(self, text: str, source: str) -> None:
        self._source, self._tokens, at = source, list[str](), 0
        text = text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._refused(f"write name type, name type, … ({text[at : at + 20]!r} is neither)")
            self._tokens.append(found[1])
            at = found.end()
        self._at = 0

    def whole(self) -> pa.StructType:
        """The text is a list of columns, or a struct."""
        is_struct = [token.lower() for token in self._tokens[:2]] == ["struct", "<"]
        found = self._type("body") if is_struct else self._fields("body", None)
        if self._peek() is not None:
            raise self._refused(f"{self._peek()!r} is too much")
        return found

    def _fields(self, path: str, end: str | None) -> pa.StructType:
        columns: dict[str, pa.DataType] = {}
        while self._peek() != end:
            if columns:
                self._expect(",")
            token = self._next()
            name = token[1:-1].replace("``", "`") if token.startswith("`") else token
            if name in columns:
                raise self._refused(f"{path}.{name} is named twice")
            if self._peek() == ":":
                self._next()
            columns[name] = self._type(f"{path}.{name}")
        if not columns:
            raise self._refused(f"{path} has no fields: name one or more")
        refuse_names(columns, path)
        return pa.struct(list(columns.items()))

    def _type(self, path: str) -> pa.DataType:
        word = self._next()
        match word.lower():
            case "struct":
                self._expect("<")
                fields = self._fields(path, ">")
                self._expect(">")
                return fields
            case "array":
                self._expect("<")
                element = self._type(f"{path}[]")
                self._expect(">")
                return pa.list_(pa.field("element", element))
            case "decimal":
                self._expect("(")
                precision = self._number(path)
                self._expect(",")
                scale = self._number(path)
                self._expect(")")
                if not 1 <= precision <= DIGITS or scale > precision:
                    raise self._refused(f"{path}: a decimal has 1 to {DIGITS} digits, and at most as many after the point")
                return pa.decimal128(precision, scale)
        if word.lower() not in _SIMPLE:
            raise self._refused(f"{path} is {word!r}, which holds no JSON value exactly: write {_KNOWN}")
        return _SIMPLE[word.lower()]

    def _number(self, path: str) -> int:
        word = self._next()
        if not re.fullmatch(r"[0-9]{1,4}", word):
            raise self._refused(f"{path}: write decimal(precision, scale)")
        return int(word)

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> str:
        token = self._peek()
        if token is None:
            raise self._refused("it ends too early: write name type, name type, …")
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if (found := self._peek()) != token:
            raise self._refused(f"{token!r} is missing {'at the end' if found is None else f'before {found!r}'}")
        self._at += 1

    def _refused(self, remedy: str) -> InvalidRequest:
        return InvalidRequest("body_schema", self._source, remedy)
