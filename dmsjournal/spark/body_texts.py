"""Bodies as texts that are equal where the bodies are, whatever the form that a table keeps them in.

By them a table's columns or VARIANTs are compared with the database's JSON. Source: docs/how-it-works.md, Applying.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructType, VariantVal

from dmsjournal.spark import body_shapes
from dmsjournal.spark.bodies import STRUCT, VARIANT


def of_bodies(documents: DataFrame, form: str | None) -> DataFrame:
    """Documents with such a text in place of their `body`, which is JSON, or is kept in a form.

    Of a form `struct` the texts lack what columns do not tell from null: fields that are null, and objects and lists of nothing
    else.
    """
    if form not in (STRUCT, VARIANT) or "body" not in documents.columns:
        return documents
    schema = StructType()
    for field in documents.schema:
        schema = schema.add(field.name, StringType() if field.name == "body" else field.dataType)
    return documents.mapInArrow(_Texts(form), schema)


class _Texts:
    """What a task does with its rows. It goes to the executors, which have Python and this package."""

    def __init__(self, form: str) -> None:
        self._is_struct = form == STRUCT

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            place = batch.schema.get_field_index("body")
            texts = pa.array([None if body is None else self._text(body) for body in batch.column(place).to_pylist()], pa.string())
            yield batch.set_column(place, "body", texts)

    def _text(self, body: Any) -> str | None:
        """`body`: a JSON text, a row of columns, or the parts of a VARIANT."""
        if isinstance(body, str):
            try:
                value = body_shapes.decoded(body)
            except (ValueError, ArithmeticError):
                return body  # it is no JSON, so it is not what the table has
        elif self._is_struct:
            value = body
        else:
            value = VariantVal(body["value"], body["metadata"]).toPython()
        if not self._is_struct:
            return text_of(value)
        return None if (told := kept(value)) is None else text_of(told)


def kept(value: Any) -> Any:
    """A value without what columns do not tell from null: nulls, and objects and lists of nothing else."""
    if isinstance(value, dict):
        return {name: of for name, each in value.items() if (of := kept(each)) is not None} or None
    if isinstance(value, list):
        elements = [kept(each) for each in value]
        return elements if any(each is not None for each in elements) else None
    return value


def text_of(value: Any) -> str:
    """A text that equal values have, and no others: fields by their names, numbers without zeros at their ends."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{text_of(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        text = f"{Decimal(value):f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return "0" if text == "-0" else text
    return json.dumps(value)
