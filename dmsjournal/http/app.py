"""The application: its routes, what is around them, and its life."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dmsjournal.errors import JournalError
from dmsjournal.http import (
    change_queries,
    changefeed,
    feed,
    feed_stream,
    metadata,
    oauth,
    operations,
    problems,
    status_page,
    ticket_routes,
)
from dmsjournal.http.access import unknown_resources
from dmsjournal.http.bounds import Bounds
from dmsjournal.http.envelope import Envelope
from dmsjournal.http.service import Service
from dmsjournal.http.settings import Settings
from dmsjournal.http.single_flight import Recent
from dmsjournal.http.spelling import Spelling
from dmsjournal.util.concurrency import async_call
from dmsjournal.util.version import VERSION

logger = logging.getLogger("dmsjournal.http")

_WORTH_PACKING = 2_000  # bytes of a response
_ROUTERS = (
    *(changefeed.router, ticket_routes.router, change_queries.router, oauth.router, metadata.router),
    *(feed_stream.router, feed.router, operations.router, status_page.router),
)
_OF_PAGES = ("limit", "pageSize")  # the parameters that --largest-page bounds


def create_app(settings: Settings) -> FastAPI:
    """The ASGI application of the service. Nothing is connected yet. Raises InvalidRequest."""
    service = Service.of(settings)
    app = _bare()
    app.state.service = service
    app.state.ready = Recent(lambda: service.database.call(service.database.journal.versions))
    app.state.dependencies = Recent(lambda: service.database.call(service.database.journal.dependencies))
    app.state.status = Recent(lambda: service.database.call(service.database.journal.status))
    app.add_exception_handler(JournalError, _journal_error)
    app.add_exception_handler(problems.Refused, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Spelling, prefix=settings.prefix)
    app.add_middleware(Bounds, settings=settings)
    app.add_middleware(GZipMiddleware, minimum_size=_WORTH_PACKING)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "HEAD"],
            allow_headers=["Authorization", "Last-Event-ID", "If-None-Match", "Use-Snapshot"],
            expose_headers=["ETag", "Next-Page-Token", "Retry-After", "Total-Count", "X-Request-ID"],
        )
    app.add_middleware(Envelope, settings=settings, metrics=service.metrics)
    described = document(settings)
    app.openapi = lambda: described  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    watching = asyncio.create_task(service.waker.run())
    looking = asyncio.create_task(_warn_of_unknown(service))
    try:
        yield
    finally:
        service.waker.stop()
        service.database.stop()
        for task in (watching, looking):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await async_call(service.database.close)


async def _warn_of_unknown(service: Service) -> None:
    """A token that names a resource wrongly would read "nothing changed" for ever."""
    with suppress(JournalError, problems.Refused):  # the database is not there yet: /readyz?verbose=true tells later
        for name, resources in (await unknown_resources(service)).items():
            logger.warning(
                "token %s names resources that the database does not know: %s",
                name,
                ", ".join(resources),
                extra={"action": "unknown_resources"},
            )


async def _journal_error(request: Request, error: Exception) -> Response:
    return problems.logged_response(error, request)


async def _refused(request: Request, error: Exception) -> Response:
    return problems.response_of(error, request)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problems.response_of(problems.refused_of(error), request)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.response_of(problems.invalid(error.errors()), request)


def document(settings: Settings) -> dict[str, Any]:
    """The OpenAPI document of a service with these settings: its URL, and the bounds that they set."""
    found = deepcopy(_any_document())
    if settings.public_url is not None:
        found["servers"] = [{"url": settings.public_url}]
    largest = dict.fromkeys(_OF_PAGES, settings.largest_page) | {"offset": settings.largest_offset}
    for path in found["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                for schema in (parameter["schema"], *parameter["schema"].get("anyOf", ())):
                    if parameter["name"] in largest and "maximum" in schema:
                        schema["maximum"] = min(schema["maximum"], largest[parameter["name"]])
    return found


@cache
def _any_document() -> dict[str, Any]:
    """What the documents of all services have in common.

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
        version=VERSION,
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
