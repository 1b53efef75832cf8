"""Tickets over HTTP: a token asks for one, and a browser's EventSource uses it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from dmsjournal.http.access import Reader
from dmsjournal.http.problems import FORBIDDEN, Refused, documented
from dmsjournal.http.service import service_of
from dmsjournal.http.tickets import LONGEST_SECONDS

router = APIRouter(tags=["tickets"])


class Ticket(BaseModel):
    """What stands for a token in the URL of a stream."""

    ticket: str = Field(description="Append it to the URL of a stream: `?ticket=…`.")
    expires: int = Field(description="When it ends, in seconds since 1970. Streams that run go on to their end.")


@router.post("/tickets", summary="A ticket for a stream", response_model=Ticket, responses=documented())
async def ticket(
    request: Request,
    token: Reader,
    seconds: Annotated[int, Query(ge=1, le=LONGEST_SECONDS, description="How long a stream may begin with it.")] = 300,
    resource: Annotated[
        list[str] | None, Query(max_length=50, description="It may read these alone, such as `ed-fi/students`.")
    ] = None,
) -> Ticket:
    """For EventSource, which can send no header: streams take it in place of the token, no other route does.

    It may read what the token may, or less, and no more than read.
    """
    if token.resources is not None and not set(resource or ()) <= token.resources:
        raise Refused(FORBIDDEN, f"the token may read {', '.join(sorted(token.resources))}, named like this")
    text, expires = service_of(request).tickets.issue(token, seconds, resource or None)
    return Ticket(ticket=text, expires=expires)
