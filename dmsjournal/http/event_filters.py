"""The filters of events as parameters: those that `dmsjournal feed` has as options, each of which may be given again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from fastapi import Depends, Query

from dmsjournal.events.formats import criteria_of
from dmsjournal.feed.events import FeedEventType

_MOST, _LONGEST = 50, 300  # values of a parameter, characters of a value

_Texts: TypeAlias = list[Annotated[str, Query(min_length=1, max_length=_LONGEST)]]


def _many(description: str) -> object:
    return Query(max_length=_MOST, description=f"{description} May be given again.")


async def _filters(
    event_type: Annotated[_Texts | None, _many("Only event types like this, such as `entity:*`.")] = None,
    trigger: Annotated[_Texts | None, _many("Only what triggers like this caused, such as `api_*`.")] = None,
    entity_type: Annotated[_Texts | None, _many("Only this resource name, such as `Student`.")] = None,
    exclude_entity_type: Annotated[_Texts | None, _many("Not this resource name.")] = None,
    operation: Annotated[list[FeedEventType] | None, _many("Only this.")] = None,
    exclude_operation: Annotated[list[FeedEventType] | None, _many("Not this.")] = None,
    tenant: Annotated[_Texts | None, _many("Only what this tenant caused.")] = None,
    changed_field: Annotated[_Texts | None, _many("Only where this field changed, or something in it.")] = None,
) -> Mapping[str, tuple[str, ...]]:
    return criteria_of(
        event_types=event_type,
        triggers=trigger,
        entity_types=entity_type,
        exclude_entity_types=exclude_entity_type,
        operations=operation,
        exclude_operations=exclude_operation,
        tenants=tenant,
        changed_fields=changed_field,
    )


Filters: TypeAlias = Annotated[Mapping[str, tuple[str, ...]], Depends(_filters)]
