"""What documents hold, field by field, and the types of columns that hold it exactly.

A task looks at its documents and tells a Shape; the driver merges them, so what it decides does not depend on how documents were
spread over tasks. A shape keeps, of each kind of value, one document that has it, for errors to name. Source:
docs/how-it-works.md, Bodies as columns.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import Any, NoReturn

import msgspec
import pyarrow as pa

from dmsjournal.errors import BodyDoesNotFit
from dmsjournal.spark import body_types
from dmsjournal.util import deep_json

Witness = tuple[int, str]  # the id and the uuid of a document

LEVELS = 100  # of objects and lists in one another
COLUMNS = 5_000  # of a table's body, nested ones counted
_POINT = 18  # digits after the point of a decimal that nobody has given a type
_LEAST, _MOST = -(2**63), 2**63 - 1


class Exponent(Decimal):
    """A number that is written with an exponent: Spark's parse_json makes a double of it."""


def decoded(text: str) -> Any:
    """A JSON value with exact numbers: int or Decimal. Raises ValueError for what is none."""
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return deep_json.decoded(text, Decimal, _number)


def _number(text: str) -> Decimal:
    return (Exponent if "e" in text or "E" in text else Decimal)(text)


_DECODER = msgspec.json.Decoder(float_hook=_number)


class Numbers(msgspec.Struct):
    """Numbers of a field: the least, the greatest, and the one with the most digits after the point.

    `has_point`: one is written as a fraction, if only as 4.0. `is_odd`: a document with one that a VARIANT would round.
    """

    low: Decimal
    low_in: Witness
    high: Decimal
    high_in: Witness
    scale: int
    scale_in: Witness
    has_point: bool
    odd_in: Witness | None


class Shape(msgspec.Struct, omit_defaults=True):
    """What a field holds: for each kind of value a document that has one. `deep_in`: one that is nested too deep to look at."""

    text_in: Witness | None = None
    flag_in: Witness | None = None
    number: Numbers | None = None
    record_in: Witness | None = None
    fields: dict[str, Shape] = {}
    list_in: Witness | None = None
    elements: Shape | None = None
    deep_in: Witness | None = None

    def see(self, value: Any, by: Witness, level: int = 0) -> None:
        """Takes a value of a document in."""
        if value is None:
            return
        if isinstance(value, str):
            self.text_in = self.text_in or by
        elif isinstance(value, bool):
            self.flag_in = self.flag_in or by
        elif level >= LEVELS and isinstance(value, dict | list):
            self.deep_in = self.deep_in or by
        elif isinstance(value, dict):
            self.record_in = self.record_in or by
            for name, each in value.items():
                if each is not None:
                    if name not in self.fields:
                        self.fields[name] = Shape()
                    self.fields[name].see(each, by, level + 1)
        elif isinstance(value, list):
            self.list_in = self.list_in or by
            self.elements = self.elements or Shape()
            for each in value:
                self.elements.see(each, by, level + 1)
        else:
            self.number = _both(self.number, _numbers(value, by))

    def merge(self, other: Shape) -> Shape:
        """Takes what another task has seen in; gives this shape."""
        self.text_in = self.text_in or other.text_in
        self.flag_in = self.flag_in or other.flag_in
        self.number = _both(self.number, other.number)
        self.record_in = self.record_in or other.record_in
        for name, each in other.fields.items():
            self.fields[name] = self.fields[name].merge(each) if name in self.fields else each
        self.list_in = self.list_in or other.list_in
        if other.elements is not None:
            self.elements = other.elements if self.elements is None else self.elements.merge(other.elements)
        self.deep_in = self.deep_in or other.deep_in
        return self

    def witness(self) -> Witness | None:
        """A document that has a value here."""
        return next((by for _, by in _kinds(self)), None)


def merged(shapes: list[Shape]) -> Shape:
    """What all tasks have seen."""
    return reduce(Shape.merge, shapes, Shape())


def fields_of(shape: Shape, had: pa.StructType | None, resource: str) -> pa.StructType | None:
    """The columns of a body: those that it had, with their types, and new ones behind them. None where there is none yet.

    Raises BodyDoesNotFit.
    """
    for found, by in _kinds(shape):
        if found != _RECORD:
            raise _unfit(resource, "body", by, found, "columns are made of an object")
    return _Typing(resource).of(shape, had, "body")


def refuse_rounded(shape: Shape, resource: str) -> None:
    """Raises BodyDoesNotFit where a VARIANT would not hold what was seen exactly, or not at all."""
    _refuse_rounded(shape, resource, "body")


def _refuse_rounded(shape: Shape, resource: str, path: str) -> None:
    if shape.deep_in is not None:
        raise _unfit(resource, path, shape.deep_in, _DEEP, "it is not looked at")
    if shape.number is not None and shape.number.odd_in is not None:
        found = f"a number with an exponent, or of more than {body_types.DIGITS} digits"
        raise _unfit(resource, path, shape.number.odd_in, found, "a VARIANT would round it")
    for name, each in shape.fields.items():
        _refuse_rounded(each, resource, f"{path}.{name}")
    if shape.elements is not None:
        _refuse_rounded(shape.elements, resource, f"{path}[]")


_DEEP = f"nested more than {LEVELS} levels deep"


class _Typing:
    """Gives shapes their types, and counts the columns."""

    def __init__(self, resource: str) -> None:
        self._resource, self._count = resource, 0

    def of(self, shape: Shape, had: pa.DataType | None, path: str) -> pa.DataType | None:
        """The type of a field; None where nothing tells it yet."""
        if shape.deep_in is not None:
            self._refuse(path, shape.deep_in, _DEEP, "such a table would have too many columns")
        kinds = _kinds(shape)
        if had is None:
            if len(kinds) > 1:
                (first, _), (second, by) = kinds[:2]
                self._refuse(path, by, second, f"other documents have {first} there")
        else:
            for word, by in kinds:
                if word != _word(had):
                    self._refuse(path, by, word, f"the column is {body_types.ddl(had)}")
        if shape.record_in is not None or (had is not None and pa.types.is_struct(had)):
            return self._record(shape, had, path)
        if shape.list_in is not None:
            value_type = None if had is None else had.value_type
            assert shape.elements is not None
            element = self.of(shape.elements, value_type, f"{path}[]")
            return None if element is None else pa.list_(pa.field("element", element))
        if shape.number is not None:
            return self._decided(shape.number, had, path)
        if had is not None or not kinds:
            return had
        return pa.string() if shape.text_in is not None else pa.bool_()

    def _record(self, shape: Shape, had: pa.DataType | None, path: str) -> pa.DataType | None:
        columns: dict[str, pa.DataType] = {} if had is None else {field.name: field.type for field in had}
        folded = {name.casefold(): name for name in columns}
        for name in sorted(shape.fields):
            each = shape.fields[name]
            by = each.witness()
            if by is None:
                continue
            kind = self.of(each, columns.get(name), f"{path}.{name}")
            if kind is None:
                continue
            if name not in columns and (reason := body_types.bad_name(name, folded)) is not None:
                self._refuse(f"{path}.{name}", by, "a field that can be no column", reason)
            columns[name] = kind
            folded[name.casefold()] = name
            self._count += 1
            if self._count > COLUMNS:
                self._refuse(f"{path}.{name}", by, "one field too many", f"a table has {COLUMNS:,} columns at most")
        return pa.struct(list(columns.items())) if columns else had

    def _decided(self, number: Numbers, had: pa.DataType | None, path: str) -> pa.DataType:
        """A type that holds all of the numbers as they are."""
        greatest, by = max((number.low.copy_abs(), number.low_in), (number.high.copy_abs(), number.high_in))  # abs() would round
        whole = max(0, greatest.adjusted() + 1)
        is_long = number.scale == 0 and number.low >= _LEAST and number.high <= _MOST
        kind = had
        if kind is None and is_long and not number.has_point:
            kind = pa.int64()
        elif kind is None:
            scale = 0 if not number.has_point else max(number.scale, min(_POINT, body_types.DIGITS - whole))
            if whole + scale > body_types.DIGITS:
                long = number.scale_in if number.scale > _POINT else by
                found = f"a number, of those with {whole} digits before the point and {number.scale} after it"
                self._refuse(path, long, found, f"a decimal has {body_types.DIGITS}")
            kind = pa.decimal128(body_types.DIGITS, scale)
        if pa.types.is_int64(kind):
            if number.scale:
                self._refuse(path, number.scale_in, f"a number with {number.scale} digits after the point", "the column is bigint")
            if not is_long:
                self._refuse(path, by, f"a number of {whole} digits", "the column is bigint, which ends at 9223372036854775807")
            return kind
        for found, by_, fits in (
            (f"a number with {number.scale} digits after the point", number.scale_in, number.scale <= kind.scale),
            (f"a number with {whole} digits before the point", by, whole <= kind.precision - kind.scale),
        ):
            if not fits:
                self._refuse(path, by_, found, f"the column is {body_types.ddl(kind)}")
        return kind

    def _refuse(self, path: str, by: Witness, found: str, reason: str) -> NoReturn:
        raise _unfit(self._resource, path, by, found, reason)


def _unfit(resource: str, path: str, by: Witness, found: str, reason: str) -> BodyDoesNotFit:
    return BodyDoesNotFit(by[0], by[1], resource, path, found, reason)


def _kinds(shape: Shape) -> list[tuple[str, Witness]]:
    """The kinds of values that were seen, each with a document that has one."""
    number = None if shape.number is None else shape.number.low_in
    found = (
        (_TEXT, shape.text_in),
        (_FLAG, shape.flag_in),
        (_NUMBER, number),
        (_RECORD, shape.record_in),
        (_LIST, shape.list_in),
        (_DEEP, shape.deep_in),
    )
    return [(word, by) for word, by in found if by is not None]


_TEXT, _FLAG, _NUMBER, _RECORD, _LIST = "a string", "true or false", "a number", "an object", "a list"


def _word(kind: pa.DataType) -> str:
    """The kind of values that a column of a type takes."""
    if pa.types.is_struct(kind):
        return _RECORD
    if body_types.is_list(kind):
        return _LIST
    if pa.types.is_decimal(kind) or pa.types.is_int64(kind):
        return _NUMBER
    known = {pa.string(): _TEXT, pa.bool_(): _FLAG}
    return known.get(kind, "")


def scale_of(number: Decimal) -> int:
    """The digits after the point, without zeros at the end."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number:
        return 0
    scale = -exponent
    for digit in reversed(digits):
        if scale <= 0 or digit:
            break
        scale -= 1
    return max(0, scale)


def _numbers(value: int | Decimal, by: Witness) -> Numbers:
    number = Decimal(value)
    scale = scale_of(number)
    is_odd = isinstance(value, Exponent)
    if isinstance(value, Decimal):  # its zeros at the end count, to Spark
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        is_odd = is_odd or len(digits) > body_types.DIGITS or -exponent > body_types.DIGITS
    else:
        is_odd = number.adjusted() >= body_types.DIGITS
    has_point = isinstance(value, Decimal) and (scale > 0 or value.as_tuple().exponent != 0 or isinstance(value, Exponent))
    return Numbers(number, by, number, by, scale, by, has_point, by if is_odd else None)


def _both(one: Numbers | None, two: Numbers | None) -> Numbers | None:
    if one is None or two is None:
        return two if one is None else one
    if two.low < one.low:
        one.low, one.low_in = two.low, two.low_in
    if two.high > one.high:
        one.high, one.high_in = two.high, two.high_in
    if two.scale > one.scale:
        one.scale, one.scale_in = two.scale, two.scale_in
    one.has_point = one.has_point or two.has_point
    one.odd_in = one.odd_in or two.odd_in
    return one
