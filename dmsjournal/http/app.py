"""The application: its routes, what is around them, and its life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException
from starlette.responses import Response

import dmsjournal
from dmsjournal.errors import JournalError
from dmsjournal.http import change_queries, changefeed, feed, operations, problems, status_page
from dmsjournal.http.envelope import Envelope
from dmsjournal.http.service import Service
from dmsjournal.http.settings import Settings
from dmsjournal.http.sharing import Recent

_ROUTERS = (changefeed.router, change_queries.router, feed.router, operations.router, status_page.router)


def create_app(settings: Settings) -> FastAPI:
    """The ASGI application of the service. Nothing is connected yet. Raises InvalidRequest."""
    service = Service.of(settings)
    app = _bare()
    app.state.service = service
    app.state.ready = Recent(lambda: service.database.call(service.database.journal.versions))
    app.state.status = Recent(lambda: service.database.call(service.database.journal.status))
    app.add_exception_handler(JournalError, _journal_error)
    app.add_exception_handler(problems.Refused, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET"],
            allow_headers=["Authorization", "Last-Event-ID", "If-None-Match"],
            expose_headers=["ETag", "Next-Page-Token", "Retry-After", "Total-Count", "X-Request-ID"],
        )
    app.add_middleware(Envelope, settings=settings, metrics=service.metrics)
    app.openapi = document  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    watching = asyncio.create_task(service.waker.run())
    try:
        yield
    finally:
        service.waker.stop()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await asyncio.to_thread(service.database.close)


async def _journal_error(request: Request, error: Exception) -> Response:
    return problems.told(error, request)


async def _refused(request: Request, error: Exception) -> Response:
    return problems.response_of(error, request)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problems.response_of(problems.refused_of(error), request)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.response_of(problems.invalid(error.errors()), request)


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document: one for all applications, since no setting changes it.

    It has not the framework's own 422: what is wrong with a request is a problem with 400.
    """
    app = _bare()
    found = app.openapi()
    for path in found["paths"].values():
        for operation in path.values():
            if "HTTPValidationError" in str(operation["responses"].get("422", {})):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        found["components"]["schemas"].pop(name, None)
    return found


def _bare() -> FastAPI:
    app = FastAPI(
        title="dmsjournal",
        version=dmsjournal.__version__,
        summary="What changed since version X",
        lifespan=_life,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # behind a proxy with TLS it might lead to http://, and a token there with it
        separate_input_output_schemas=False,
    )
    for router in _ROUTERS:
        app.include_router(router)
    return app
