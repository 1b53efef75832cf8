"""The forms in which a body can be extracted, and who can hold which: JSON text, columns of a struct, or Spark's VARIANT."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from dmsjournal.errors import InvalidRequest

JSON, STRUCT, VARIANT = "json", "struct", "variant"
FORMS = (JSON, STRUCT, VARIANT)

# How Spark hands a VARIANT on as Arrow, and how Delta keeps one in Parquet.
VARIANT_TYPE = pa.struct([pa.field("value", pa.binary(), nullable=False), pa.field("metadata", pa.binary(), nullable=False)])


def variants(parts: pa.Array) -> pa.Array:
    """VARIANTs of such structs, in whatever order their fields are: where there is none, its parts must not be null in Parquet."""
    values = [pc.fill_null(pc.struct_field(parts, field.name).cast(pa.binary()), b"") for field in VARIANT_TYPE]
    return pa.StructArray.from_arrays(values, fields=list(VARIANT_TYPE), mask=parts.is_null())


def form_of(body: bool | str | None) -> str | Literal[False] | None:
    """What was asked for: a form, False for no bodies, None where nothing was said. Raises InvalidRequest."""
    if body is True:
        return JSON
    if body is False or body is None or body in FORMS:
        return body
    raise InvalidRequest("body", body, f"it is {', '.join(FORMS[:-1])} or {FORMS[-1]}")


def refuse_of_many(resources: Collection[str] | None) -> None:
    """Raises InvalidRequest where a table of structs would be of several resources: each has columns of its own."""
    if resources is None or len(resources) != 1:
        shown = "all" if resources is None else sorted(resources)
        remedy = (
            "a table with `body` struct is of one resource, whose fields are its columns: name one, and extract each resource "
            "into a table of its own"
        )
        raise InvalidRequest("resources", shown, remedy)
