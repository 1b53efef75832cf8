"""Tokens as OAuth 2.0 gives them to clients of the Ed-Fi API: the token's name is the client's id, the token itself its secret."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from dmsjournal.http.access import client_of
from dmsjournal.http.problems import (
    INVALID_CLIENT,
    INVALID_GRANT_REQUEST,
    INVALID_SCOPE,
    TOO_LARGE,
    TOO_MANY,
    UNSUPPORTED_GRANT,
    Refused,
    documented_alone,
)
from dmsjournal.http.security import ANONYMOUS, Token, found_token
from dmsjournal.http.service import service_of

router = APIRouter(tags=["change queries"])

_LASTS = 1_800  # seconds, as the answer says: then a client asks again, and is refused if its token was removed
_FIELDS = ("grant_type", "client_id", "client_secret", "scope")
_BODY = {
    "type": "object",
    "required": ["grant_type"],
    "properties": {"grant_type": {"type": "string"}, "client_id": {"type": "string"}, "client_secret": {"type": "string"}},
}
_CONTENT = {kind: {"schema": _BODY} for kind in ("application/x-www-form-urlencoded", "application/json")}


class AccessToken(BaseModel):
    """A token to be sent with each request."""

    access_token: str
    expires_in: int = Field(description="Seconds after which to ask again.")
    token_type: str


@router.post(
    "/oauth/token",
    summary="A token for a client's id and secret",
    response_model=AccessToken,
    responses=documented_alone(INVALID_GRANT_REQUEST, UNSUPPORTED_GRANT, INVALID_SCOPE, INVALID_CLIENT, TOO_LARGE, TOO_MANY),
    openapi_extra={"requestBody": {"required": True, "content": _CONTENT}},
)
async def token(request: Request) -> Response:
    """For clients of the Ed-Fi API (`client_credentials`), as HTTP Basic or in the body. Others send their token as it is.

    The id is the token's name, the secret the token, which is what comes back. Without tokens any id and secret will do.
    """
    given = await _fields(request)
    service = service_of(request)
    found: Token | None = ANONYMOUS
    text = "none"
    try:
        if given.get("grant_type", "").lower() != "client_credentials":
            raise Refused(UNSUPPORTED_GRANT, "grant_type is client_credentials")
        client, secret = _credentials(request.headers.get("authorization"), given)
        if service.settings.tokens:
            found, text = _matching(service.tokens.current, client, secret)
    except Refused:
        service.rates.take(client_of(request, ANONYMOUS))
        raise
    service.rates.take(client_of(request, found or ANONYMOUS))  # guesses count, too
    if found is None:
        raise _unknown("no token has this name and this text, or it has expired")
    if given.get("scope", "").strip():
        raise Refused(INVALID_SCOPE, "there are no scopes to ask for: a token has the rights that its entry says")
    request.state.token = found.name
    seconds = _LASTS if found.expires is None else min(_LASTS, max(0, int((found.expires - datetime.now(UTC)).total_seconds())))
    told = {"access_token": text, "expires_in": seconds, "token_type": "bearer"}
    return Response(msgspec.json.encode(told), media_type="application/json", headers={"Cache-Control": "no-store"})


async def _fields(request: Request) -> Mapping[str, str]:
    """The body's fields, whether it is a form or JSON. Raises Refused."""
    body = await request.body()
    try:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            found = msgspec.json.decode(body, type=dict[str, str | None])
        else:
            found = dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True))
    except (ValueError, msgspec.MsgspecError) as error:
        raise Refused(INVALID_GRANT_REQUEST, "the body is a form or a JSON object, of text") from error
    return {name.lower(): value for name, value in found.items() if value is not None and name.lower() in _FIELDS}


def _credentials(header: str | None, given: Mapping[str, str]) -> tuple[str, str]:
    """The id and the secret, of the header or of the body. Raises Refused."""
    client, secret = given.get("client_id", ""), given.get("client_secret", "")
    if header is None:
        if not client or not secret:
            raise _unknown("send the token's name and the token: as HTTP Basic, or as client_id and client_secret")
        return client, secret
    if client or secret:
        raise Refused(INVALID_GRANT_REQUEST, "send the id and the secret once: as HTTP Basic or in the body")
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise _unknown("Authorization is Basic here, with the token's name and the token")
    try:
        client, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError) as error:
        raise Refused(INVALID_GRANT_REQUEST, "Authorization: Basic is followed by base64 of name:token") from error
    if not colon:
        raise Refused(INVALID_GRANT_REQUEST, "Authorization: Basic is followed by base64 of name:token")
    return client, secret


def _matching(tokens: tuple[Token, ...], client: str, secret: str) -> tuple[Token | None, str]:
    """The token of an id and a secret, and its text. A client may have encoded the two as a form (RFC 6749, 2.3.1)."""
    for name, text in ((client, secret), (unquote_plus(client), unquote_plus(secret))):
        found = found_token(tokens, text)
        if found is not None and hmac.compare_digest(
            found.name.encode("utf-8", "surrogatepass"), name.encode("utf-8", "surrogatepass")
        ):
            return found, text
    return None, ""


def _unknown(why: str) -> Refused:
    return Refused(INVALID_CLIENT, why, {"WWW-Authenticate": "Basic"})
