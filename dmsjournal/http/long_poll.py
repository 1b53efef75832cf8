"""Polling: who waits for changes, until they come, the time is over, the client leaves, or the service ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.requests import Request

from dmsjournal.http.service import service_of


async def wait_for_change(request: Request, version: int, seconds: float) -> bool:
    """Whether the horizon has passed a version; false where nobody needs to know any more, and where it has not in time."""
    waking = asyncio.ensure_future(service_of(request).waker.beyond(version, seconds))
    leaving = asyncio.ensure_future(_departure(request))
    try:
        done, _ = await asyncio.wait({waking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return waking in done and waking.result()
    finally:
        for task in (waking, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _departure(request: Request) -> None:
    """Returns when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
