"""Bodies on their way into a table: tasks look at all of them before one is written, and make columns or a VARIANT of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dmsjournal.errors import BodyDoesNotFit
from dmsjournal.spark import body_shapes, lake_files
from dmsjournal.spark.bodies import STRUCT, VARIANT, variants
from dmsjournal.spark.body_shapes import Shape, scale_of

Fit = Callable[[Any], Any]


@dataclass(frozen=True)
class Prepared:
    """Rows whose bodies are known to fit: of a VARIANT they are one already, of columns still text. `fields`: of those columns.

    `convert`: as lake_files.write takes it.
    """

    rows: DataFrame
    fields: pa.StructType | None = None
    convert: Mapping[str, lake_files.Convert] = field(default_factory=dict)


@contextmanager
def prepared(rows: DataFrame, form: str | None, had: pa.StructType | None = None) -> Iterator[Prepared]:
    """Looks at the bodies of rows with a column `resource`, and keeps the rows within the block, so that what is written is what
    was looked at. `had`: the columns that the table has, or is to have. Raises BodyDoesNotFit.
    """
    if form not in (STRUCT, VARIANT):
        yield Prepared(rows)
        return
    rows = rows.persist()
    try:
        shapes = _look(rows, variant=form == VARIANT)
        if form == VARIANT:
            for resource in sorted(shapes):
                body_shapes.refuse_rounded(shapes[resource], resource)
            yield Prepared(rows.withColumn("body", F.parse_json("body")), convert={"body": ToVariants()})
            return
        fields = had
        for resource in sorted(shapes):  # one, or none
            fields = body_shapes.fields_of(shapes[resource], fields, resource)
        yield Prepared(rows, fields, {} if fields is None else {"body": ToStructs(fields)})
    finally:
        rows.unpersist()


def _look(rows: DataFrame, *, variant: bool) -> dict[str, Shape]:
    """What the documents of each resource hold. Raises BodyDoesNotFit for a text that is no JSON, or that Spark cannot take.

    Where parse_json itself fails, Spark's log has the whole body.
    """
    fails = F.try_parse_json("body").isNull() if variant else F.lit(False)
    asked = rows.where("body IS NOT NULL").select("resource", "document_id", "document_uuid", "body", fails.alias("fails"))
    with lake_files.configured(rows.sparkSession, lake_files.BATCHES):
        told = asked.mapInArrow(_look_at, "resource string, shape string, bad string").collect()
    if bad := sorted(json.loads(row.bad) for row in told if row.bad is not None):
        number, uuid, resource, found, reason = bad[0]
        raise BodyDoesNotFit(number, uuid, resource, "body", found, reason)
    seen: dict[str, list[Shape]] = {}
    for row in told:
        seen.setdefault(row.resource, []).append(msgspec.json.decode(row.shape, type=Shape))
    return {resource: body_shapes.merged(shapes) for resource, shapes in seen.items()}


def _look_at(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does that looks at bodies. It goes to the executors, which have Python and this package."""
    shapes: dict[str, Shape] = {}
    bad = None
    for batch in batches:
        for row in batch.to_pylist():
            by = (row["document_id"], row["document_uuid"])
            shape = shapes.setdefault(row["resource"], Shape())
            try:
                shape.see(body_shapes.decoded(row["body"]), by)
            except (ValueError, ArithmeticError):
                bad = bad or (*by, row["resource"], "no JSON that can be read", "columns are made of JSON")
            if row["fails"]:
                bad = bad or (*by, row["resource"], _NO_VARIANT, "Spark makes no VARIANT of it")
    if shapes:
        texts = [msgspec.json.encode(shape).decode() for shape in shapes.values()]
        told = {"resource": [*shapes], "shape": texts, "bad": [None if bad is None else json.dumps(bad)] * len(texts)}
        yield pa.record_batch(told, schema=pa.schema([(name, pa.string()) for name in told]))


_NO_VARIANT = "an object with a name twice, too large or nested too deep"


class ToVariants:
    """Takes Spark's Arrow form of a VARIANT over, or its parts."""

    def __call__(self, parts: pa.ChunkedArray) -> pa.Array:
        return variants(pa.concat_arrays(parts.chunks))


class ToStructs:
    """Makes structs of a column of JSON. Raises ValueError for what does not fit: it has changed since it was looked at."""

    def __init__(self, fields: pa.StructType) -> None:
        self._fields = fields

    def __call__(self, texts: pa.ChunkedArray) -> pa.Array:
        fit = _fit_of(self._fields, "body")
        return pa.array([None if text is None else fit(body_shapes.decoded(text)) for text in texts.to_pylist()], self._fields)


def _fit_of(kind: pa.DataType, path: str) -> Fit:
    """What makes a value of a column's type of one of JSON."""
    if pa.types.is_struct(kind):
        return _record(kind, path)
    if pa.types.is_list(kind):
        element = _fit_of(kind.value_type, f"{path}[]")
        return _checked(lambda value: [element(each) for each in value], list, path)
    if pa.types.is_int64(kind):
        return _checked(lambda value: _whole(value, path), (int, Decimal), path)
    if pa.types.is_decimal(kind):
        return _checked(_stripped, (int, Decimal), path)
    return _checked(lambda value: value, bool if pa.types.is_boolean(kind) else str, path)


def _checked(fit: Fit, kinds: Any, path: str) -> Fit:
    def checked(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ValueError(f"{path} has changed since it was looked at: run it again")
        return fit(value)

    return checked


def _record(kind: pa.DataType, path: str) -> Fit:
    fits = {each.name: _fit_of(each.type, f"{path}.{each.name}") for each in kind}

    def fit(value: dict[str, Any]) -> dict[str, Any]:
        if unknown := [name for name, each in value.items() if name not in fits and not _is_nothing(each)]:
            raise ValueError(f"{path}.{unknown[0]} is new since it was looked at: run it again")
        return {name: fits[name](each) for name, each in value.items() if name in fits}

    return _checked(fit, dict, path)


def _is_nothing(value: Any) -> bool:
    """Whether a value tells no type, so that it has no column: null, and objects and lists of nothing else."""
    if isinstance(value, dict):
        return all(map(_is_nothing, value.values()))
    if isinstance(value, list):
        return all(map(_is_nothing, value))
    return value is None


def _whole(value: int | Decimal, path: str) -> int:
    if isinstance(value, Decimal) and scale_of(value):
        raise ValueError(f"{path} has changed since it was looked at: run it again")
    return int(value)


def _stripped(value: int | Decimal) -> Decimal:
    """A number without zeros at its end, as Arrow counts them for digits."""
    number = Decimal(value)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    surplus = -exponent - scale_of(number)
    return Decimal((sign, digits[:-surplus] or (0,), exponent + surplus)) if surplus > 0 else number
