"""Access: what a route needs before anything is done: a token, a scope, a request within its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from fastapi import Depends, FastAPI, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from dmsjournal.errors import InvalidRequest, near_matches
from dmsjournal.http.problems import FORBIDDEN, UNAUTHORIZED, Refused
from dmsjournal.http.security import ANONYMOUS, Scope, Token, found_token
from dmsjournal.http.service import service_of
from dmsjournal.resources import ResourceKey

_bearer = HTTPBearer(auto_error=False, description="A token that `dmsjournal token` made. Not needed on loopback without tokens.")
_Credentials: TypeAlias = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _reader(request: Request, credentials: _Credentials) -> Token:
    return _admitted(request, credentials, Scope.READ)


async def _admin(request: Request, credentials: _Credentials) -> Token:
    return _admitted(request, credentials, Scope.ADMIN)


Reader: TypeAlias = Annotated[Token, Depends(_reader)]
Admin: TypeAlias = Annotated[Token, Depends(_admin)]


def client_of(request: Request, token: Token) -> str:
    """Whose limits a request counts for: the token's, without one the address's."""
    address = request.client.host if request.client else ""
    return f"address {address}" if token is ANONYMOUS else f"token {token.name}"


def refuse_unreadable(request: Request, token: Token, resource: ResourceKey) -> None:
    """Raises Refused where the token may not read a resource."""
    if not token.may_read(resource, service_of(request).names):
        raise Refused(FORBIDDEN, f"the token may not read {resource}")


def refuse_limited(token: Token) -> None:
    """Raises Refused for a token that may read some resources only: what is asked is of the whole database, and who uses it."""
    if token.resources is not None:
        raise Refused(FORBIDDEN, "a token that may read all resources is needed")


def _admitted(request: Request, credentials: HTTPAuthorizationCredentials | None, scope: Scope) -> Token:
    """The token of a request that may go on. Raises Refused, InvalidRequest."""
    service = service_of(request)
    token: Token | None = ANONYMOUS
    if service.settings.tokens:
        token = None if credentials is None else found_token(service.settings.tokens, credentials.credentials)
    service.rates.take(client_of(request, token or ANONYMOUS))  # guesses count, too
    if token is None:
        raise Refused(UNAUTHORIZED, "send Authorization: Bearer and a valid token", {"WWW-Authenticate": "Bearer"})
    request.state.token = token.name
    if scope not in token.scopes:
        raise Refused(FORBIDDEN, f"the scope {scope} is needed")
    _check_parameters(request)
    return token


def is_whole(text: str) -> bool:
    """Whether a text is a whole number that nobody reads differently: not " 1", "1_0", "1.0", or digits of another script."""
    return text.isascii() and text.removeprefix("-").isdigit()


def _parameters(app: FastAPI, path: str, method: str) -> Mapping[str, bool]:
    """The parameters of a route's query, as the OpenAPI document names them, and whether each is a whole number."""
    described = app.openapi()["paths"][path][method]
    return {
        parameter["name"]: any(of.get("type") == "integer" for of in (parameter["schema"], *parameter["schema"].get("anyOf", ())))
        for parameter in described.get("parameters", ())
        if parameter["in"] == "query"
    }


def _check_parameters(request: Request) -> None:
    """Raises InvalidRequest for a parameter that the route does not have, that comes twice (nobody means it to be left out), or
    that has to be a whole number and is not written as one, which the framework would not mind."""
    known = _parameters(request.app, request.scope["route"].path_format, request.method.lower())
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known:
            raise InvalidRequest(name, request.query_params[name], f"no such parameter; {near_matches(name, sorted(known))}")
        if given.count(name) > 1:
            raise InvalidRequest(name, request.query_params.getlist(name), "give it once")
        if known[name] and not is_whole(request.query_params[name]):
            raise InvalidRequest(name, request.query_params[name], "it is a whole number")
