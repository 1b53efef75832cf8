"""Change queries as the Ed-Fi API has them: which versions there are, and what of a resource changed between two of them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from dmsjournal.http.access import Reader
from dmsjournal.http.problems import documented
from dmsjournal.http.service import service_of

router = APIRouter(tags=["change queries"])


class AvailableChangeVersions(BaseModel):
    """The versions that can be asked for."""

    oldestChangeVersion: int = Field(description="The lowest that is kept; 0 while nothing was pruned.")
    newestChangeVersion: int = Field(description="At or below it, every writer has finished.")


@router.get(
    "/changeQueries/v1/availableChangeVersions",
    summary="The versions that can be asked for",
    response_model=AvailableChangeVersions,
    responses=documented(),
)
async def available_change_versions(request: Request, token: Reader) -> AvailableChangeVersions:
    """Note the newest before you read: it is where the next window begins, plus one."""
    database = service_of(request).database
    versions = await database.call(database.journal.versions)
    return AvailableChangeVersions(oldestChangeVersion=versions.oldest, newestChangeVersion=versions.newest)
