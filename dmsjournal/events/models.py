"""What the models of all formats share: strict, closed, and what was not said is not written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dmsjournal.errors import InvalidRequest
from dmsjournal.events.encoding import checked_json, encoder
from dmsjournal.util.json import decoded


def _as_time(value: object) -> object:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValueError("a time is text like 2026-01-11T15:35:00.123456Z, or a datetime with a zone")
    return value.astimezone(UTC)


Json = Annotated[Any, AfterValidator(checked_json)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Time = Annotated[datetime, BeforeValidator(_as_time)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]  # a list of JSON's


class EventModel(BaseModel):
    """A part of an event. A field that was not given is missing in its JSON; one that was given as None is null there."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_name=True, validate_by_alias=True)

    def to_json(self) -> str:
        """The JSON text, on one line: every number exact, text as UTF-8 has it. pydantic's own `model_dump_json` is not exact."""
        return _encode(self).decode("utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`. Raises InvalidRequest, which says where the text is not of the format."""
        try:
            return cls.model_validate(decoded(text))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"])) or "event"
            raise InvalidRequest(where, first["input"], first["msg"]) from error
        except (ValueError, UnicodeDecodeError) as error:
            raise InvalidRequest("event", text, f"it is no JSON ({error})") from error


def _given(value: Any) -> dict[str, Any]:
    """The fields of a model that were given, by the names that JSON has for them."""
    if not isinstance(value, EventModel):
        raise NotImplementedError(f"{type(value).__name__} is no part of an event")
    fields = type(value).model_fields
    return {field.alias or name: getattr(value, name) for name, field in fields.items() if name in value.model_fields_set}


_encode = encoder(_given)
