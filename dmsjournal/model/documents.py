"""Documents and references as a writer gives them, checked before anything is written."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from dmsjournal.errors import InvalidRequest
from dmsjournal.model.resources import ResourceKey, checked_new
from dmsjournal.util.json import canonical_json

_MAX_KEY_BYTES = 8_192  # CK_Document_KeyValues
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


# A key as a value to compare and hash: see canonical().
Key = tuple[ResourceKey, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True, slots=True)
class Reference:
    """A document that another one refers to, by its key. `identity_component`: its identity is part of the referring one's."""

    resource: ResourceKey
    key_values: Mapping[str, object]
    identity_component: bool = False
    key: Key = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_resource("reference.resource", self.resource)
        checked_key("reference.key_values", self.key_values)
        object.__setattr__(self, "key_values", dict(self.key_values))
        object.__setattr__(self, "key", canonical(self.resource, self.key_values))
        if not isinstance(self.identity_component, bool):
            raise InvalidRequest("reference.identity_component", self.identity_component, "it is true or false")


@dataclass(frozen=True, slots=True)
class Document:
    """A document to write. `document_uuid` is for a new one, where the caller wishes a certain uuid.

    Key values are text, numbers, booleans or None by name, 8 KiB as PostgreSQL writes JSON at most; the body is a JSON object.
    Raises InvalidRequest for what a database cannot hold: NUL, unpaired surrogates, NaN, other types.
    """

    resource: ResourceKey
    key_values: Mapping[str, object]
    body: Mapping[str, object] = field(default_factory=dict)
    references: Sequence[Reference] = ()
    document_uuid: UUID | None = None
    key: Key = field(init=False, repr=False, compare=False)
    body_json: bytes = field(init=False, repr=False, compare=False)
    etag: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_new(checked_resource("resource", self.resource))
        checked_key("key_values", self.key_values)
        object.__setattr__(self, "key_values", dict(self.key_values))  # written as it was checked
        object.__setattr__(self, "key", canonical(self.resource, self.key_values))
        if not isinstance(self.body, Mapping):
            raise InvalidRequest("body", self.body, "it is a JSON object")
        object.__setattr__(self, "body_json", as_json("body", self.body))  # written as it was checked
        object.__setattr__(self, "etag", etag_of(self.body_json))
        if not isinstance(self.references, Sequence):
            raise InvalidRequest("references", self.references, "pass a list of references")
        object.__setattr__(self, "references", tuple(self.references))
        for reference in self.references:
            if not isinstance(reference, Reference):
                raise InvalidRequest("references", reference, "pass Reference(resource, key_values, identity_component=…)")
        if self.document_uuid is not None and not isinstance(self.document_uuid, UUID):
            raise InvalidRequest("document_uuid", self.document_uuid, "pass a uuid.UUID")

    def __str__(self) -> str:
        return described(self.resource, self.key_values)


def etag_of(body_json: bytes) -> str:
    """The etag of a stored body: of canonical JSON, so that what says the same has the same one."""
    return base64.b64encode(hashlib.sha256(canonical_json(body_json)).digest()).decode("ascii")


def described(resource: ResourceKey, key_values: object) -> str:
    """A document as messages name it; its key may be what another program wrote."""
    return f"{resource} {dict(key_values) if isinstance(key_values, Mapping) else key_values!a}"


def checked_resource(parameter: str, resource: object) -> ResourceKey:
    """The resource. Raises InvalidRequest naming the parameter."""
    if not isinstance(resource, ResourceKey):
        raise InvalidRequest(parameter, resource, 'pass a ResourceKey, such as ResourceKey("Ed-Fi", "Student", "5.2.0")')
    return resource


def checked_key(parameter: str, key_values: object) -> Mapping[str, object]:
    """The key values, if they are a document's key. Raises InvalidRequest naming the parameter."""
    if not isinstance(key_values, Mapping) or not key_values:
        raise InvalidRequest(parameter, key_values, "a key is a JSON object with one value at least")
    for name, value in key_values.items():
        if not isinstance(name, str) or not name:
            raise InvalidRequest(parameter, name, "a key value's name is text")
        if value is not None and not isinstance(value, str | bool | int | float | Decimal):
            raise InvalidRequest(f"{parameter}.{name}", value, "a key value is text, a number, true, false or null")
    if _stored_bytes(as_json(parameter, key_values), key_values) > _MAX_KEY_BYTES:
        raise InvalidRequest(parameter, key_values, f"a key has {_MAX_KEY_BYTES} bytes as JSON at most")
    return key_values


def _stored_bytes(text: bytes, key_values: Mapping[str, object]) -> int:
    """How long a key is as PostgreSQL writes it: a blank after each colon and comma, numbers without an exponent."""
    numbers = [value for value in key_values.values() if isinstance(value, float | Decimal)]
    grown = sum(len(format(Decimal(str(number)), "f")) - len(_ENCODER.encode(number)) for number in numbers)
    return len(text) + 2 * len(key_values) - 1 + grown


def as_json(parameter: str, value: object) -> bytes:
    """The value as JSON that both engines take. Raises InvalidRequest naming the parameter and what is wrong."""
    try:
        text = _ENCODER.encode(value)
        if _depth(text) > _DEEPEST:
            raise RecursionError
        if len(text) > _MAX_DIGITS or any(word in text for word in _SUSPECT):
            _check_numbers(parameter, msgspec.to_builtins(value, builtin_types=(Decimal,)))
    except UnicodeEncodeError as error:
        raise InvalidRequest(parameter, error.object, "it holds an unpaired surrogate, which is no character") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest(parameter, value, f"it cannot be written as JSON ({error})") from error
    except RecursionError as error:
        raise InvalidRequest(parameter, "…", f"it is nested too deeply: {_DEEPEST} levels at most") from error
    if b"\\u0000" in text and _ESCAPED_NUL.search(text):
        raise InvalidRequest(parameter, value, "it holds a NUL character, which no database text can")
    return text


def _depth(text: bytes) -> int:
    """How deeply a JSON text is nested, or, where that is within the bound anyway, how many brackets it has at most."""
    deepest = depth = text.count(b"{") + text.count(b"[")
    if deepest <= _DEEPEST:
        return deepest
    deepest = depth = 0
    for bracket in _BRACKET.findall(_TEXT.sub(b"", text)):
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest


def canonical(resource: ResourceKey, key_values: Mapping[str, object]) -> Key:
    """A key as a value to compare and hash; equal where the database compares equal: 1 = 1.0, "1" and true are others."""
    return resource, tuple(sorted((str.__str__(name), _canonical_value(value)) for name, value in key_values.items()))


def same_value(one: object, other: object) -> bool:
    """Whether two key values are equal in the database: 1 = 1.0, but neither is true nor "1"."""
    return _canonical_value(one) == _canonical_value(other)


def _canonical_value(value: object) -> tuple[str, Any]:
    if isinstance(value, bool) or value is None:
        return "constant", str(value)
    if isinstance(value, int):
        return "number", _number(value < 0, str(abs(value)), 0)
    if isinstance(value, float | Decimal):
        sign, digits, exponent = Decimal(str(value)).as_tuple()
        return "number", _number(bool(sign), "".join(map(str, digits)), int(exponent))
    return "text", str.__str__(value) if isinstance(value, str) else value  # an enum of texts is its text


def _number(negative: bool, digits: str, exponent: int) -> tuple[bool, str, int]:
    """A number without the zeros at its ends."""
    significant = digits.strip("0")
    zeros = len(digits) - len(digits.rstrip("0"))
    return (negative, significant, exponent + zeros) if significant else (False, "", 0)


def _check_numbers(parameter: str, value: object) -> None:
    """Raises InvalidRequest for a number that JSON or a database has not."""
    if isinstance(value, float | Decimal):
        number = Decimal(value)
        if not number.is_finite():
            raise InvalidRequest(parameter, value, "NaN and infinity are no JSON numbers")
        if number and (number.adjusted() >= _MAX_DIGITS or int(number.as_tuple().exponent) < -_MAX_SCALE):
            raise InvalidRequest(parameter, value, f"a number has {_MAX_DIGITS} digits and {_MAX_SCALE} decimals at most")
    elif isinstance(value, Mapping):
        for item in value.values():
            _check_numbers(parameter, item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_numbers(parameter, item)


_ENCODER = msgspec.json.Encoder(decimal_format="number")
# How a number may be written that JSON or a database has not: NaN as null, a Decimal of any size with its exponent.
_SUSPECT = (b"null", b"NaN", b"Inf", b"E+", b"E-")
_DEEPEST = 500  # the same on every Python, whose own bounds differ
_BRACKET, _TEXT = re.compile(rb"[][{}]"), re.compile(rb'"(?:[^"\\]|\\.)*"')
_MAX_DIGITS, _MAX_SCALE = 131_072, 16_383  # before and after the point: what PostgreSQL's numeric holds
