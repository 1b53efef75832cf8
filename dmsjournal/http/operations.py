"""Operations: whether the service lives, whether it can answer, and its metrics."""

from __future__ import annotations

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from dmsjournal.database.revisions import REVISION
from dmsjournal.errors import JournalError
from dmsjournal.http.access import Credentials, Reader, admitted, refuse_limited, unknown_resources
from dmsjournal.http.problems import NOT_INSTALLED, REFUSED, UNAVAILABLE, Refused, documented
from dmsjournal.http.security import Scope
from dmsjournal.http.service import service_of
from dmsjournal.operate.prometheus import exposition

router = APIRouter(tags=["operations"])
logger = logging.getLogger("dmsjournal.http")


@router.get("/healthz", summary="Whether the service lives")
async def healthz() -> dict[str, str]:
    """Answers as long as the process can; asks no database. No token is needed."""
    return {"status": "ok"}


@router.get(
    "/readyz",
    summary="Whether the database answers",
    responses=documented(UNAVAILABLE, NOT_INSTALLED, REFUSED),
    openapi_extra={"security": [{}]},  # or none
)
async def readyz(
    request: Request,
    credentials: Credentials,
    verbose: Annotated[
        bool, Query(description="Also name the resources of tokens that the database does not know. Needs a token.")
    ] = False,
) -> dict[str, Any]:
    """503 where the database does not answer, or has no journal of this revision. Without `verbose` no token is needed."""
    if verbose:
        refuse_limited(admitted(request, credentials, Scope.READ))
    await request.app.state.ready.get()
    found: dict[str, Any] = {"status": "ready", "revision": REVISION}
    return found | {"unknownResources": await unknown_resources(service_of(request))} if verbose else found


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response, responses=documented())
async def metrics(request: Request, token: Reader) -> Response:
    """The journal's, as `dmsjournal status --prometheus` prints them, and the service's own; without a database these alone."""
    refuse_limited(token)
    own, of_journal = service_of(request).metrics, ""
    try:
        of_journal = exposition(await request.app.state.status.get())
    except (JournalError, Refused) as error:
        logger.warning("metrics without the journal's: %s", error, extra={"action": "metrics_alone"})
    own.database_up.set(bool(of_journal))
    return Response(of_journal + own.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")
