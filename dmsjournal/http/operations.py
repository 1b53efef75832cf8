"""Operations: whether the service lives, whether it can answer, and its metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from dmsjournal.connecting import REVISION
from dmsjournal.http.access import Reader, refuse_limited
from dmsjournal.http.problems import NOT_INSTALLED, REFUSED, UNAVAILABLE, documented
from dmsjournal.http.service import service_of
from dmsjournal.prometheus import exposition

router = APIRouter(tags=["operations"])


@router.get("/healthz", summary="Whether the service lives")
async def healthz() -> dict[str, str]:
    """Answers as long as the process can; asks no database. No token is needed."""
    return {"status": "ok"}


@router.get("/readyz", summary="Whether the database answers", responses=documented(UNAVAILABLE, NOT_INSTALLED, REFUSED))
async def readyz(request: Request) -> dict[str, Any]:
    """503 where the database does not answer, or has no journal of this revision. No token is needed."""
    await request.app.state.ready.get()
    return {"status": "ready", "revision": REVISION}


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response, responses=documented())
async def metrics(request: Request, token: Reader) -> Response:
    """The journal's, as `dmsjournal status --prometheus` prints them, and the service's own."""
    refuse_limited(token)
    service = service_of(request)
    gauges = {
        "waiting_requests": ("Long polls and streams that are open.", float(service.waiting.count)),
        "database_calls": ("Calls of the database that are queued or running.", float(service.database.pending)),
    }
    text = exposition(await request.app.state.status.get()) + service.metrics.exposition(gauges)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
