"""Bodies in the form that JSON and a table's columns have in common, by which they are compared; made without our code."""

import json
from decimal import Decimal
from typing import Any


def of_json(text: str | None) -> Any:
    """What columns keep of a body."""
    return None if text is None else kept(json.loads(text, parse_float=Decimal, parse_int=Decimal))


def kept(value: Any) -> Any:
    """A value with Decimals for numbers, without what no column tells from null: nulls, and objects and lists of nothing else."""
    if isinstance(value, dict):
        return {name: of for name, each in value.items() if (of := kept(each)) is not None} or None
    if isinstance(value, list):
        elements = [kept(each) for each in value]
        return elements if any(each is not None for each in elements) else None
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
