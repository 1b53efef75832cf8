"""Access: what a route needs before anything is done: a token, a scope, a request within its limits."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, TypeAlias

from fastapi import Depends, FastAPI, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope as RequestScope

from dmsjournal.errors import InvalidRequest, near_matches
from dmsjournal.http.problems import FORBIDDEN, UNAUTHORIZED, Refused
from dmsjournal.http.security import ANONYMOUS, Scope, Token, found_token
from dmsjournal.http.service import Service, service_of
from dmsjournal.model.resources import ResourceKey

_bearer = HTTPBearer(auto_error=False, description="A token that `dmsjournal token` made. Not needed on loopback without tokens.")
Credentials: TypeAlias = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _reader(request: Request, credentials: Credentials) -> Token:
    return admitted(request, credentials, Scope.READ)


async def _admin(request: Request, credentials: Credentials) -> Token:
    return admitted(request, credentials, Scope.ADMIN)


async def _stream_reader(
    request: Request,
    credentials: Credentials,
    ticket: Annotated[
        str | None,
        Query(max_length=2_000, description="What `POST /tickets` gave, where no header can be sent, as in EventSource."),
    ] = None,
) -> Token:
    return admitted(request, credentials, Scope.READ, ticket)


StreamReader: TypeAlias = Annotated[Token, Depends(_stream_reader)]
Reader: TypeAlias = Annotated[Token, Depends(_reader)]
Admin: TypeAlias = Annotated[Token, Depends(_admin)]


def client_of(request: Request, token: Token) -> str:
    """Whose limits a request counts for: the token's, without one the address's."""
    return f"address {address_of(request.scope)}" if token is ANONYMOUS else f"token {token.name}"


def address_of(scope: RequestScope) -> str | None:
    """The address that a request came from; None where a proxy named something else."""
    host, _ = scope.get("client") or (None, None)
    try:
        return str(ip_address(host or ""))
    except ValueError:
        return None


def refuse_unreadable(request: Request, token: Token, resource: ResourceKey) -> None:
    """Raises Refused where the token may not read a resource."""
    if not token.may_read(resource, service_of(request).names):
        raise Refused(FORBIDDEN, f"the token may not read {resource}")


def refuse_limited(token: Token) -> None:
    """Raises Refused for a token that may read some resources only: what is asked is of the whole database, and who uses it."""
    if token.resources is not None:
        mine = ", ".join(sorted(token.resources))
        raise Refused(FORBIDDEN, f"the token may read {mine} alone: use one that may read all resources")


def admitted(request: Request, credentials: HTTPAuthorizationCredentials | None, scope: Scope, ticket: str | None = None) -> Token:
    """The token of a request that may go on, or that of its ticket. Raises Refused, InvalidRequest."""
    service = service_of(request)
    token: Token | None = ANONYMOUS
    if service.settings.tokens:
        token = None if credentials is None else found_token(service.tokens.current, credentials.credentials)
        if credentials is None and ticket is not None:
            token = service.tickets.token_of(ticket, service.tokens.current)
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


def _parameters(app: FastAPI, path: str, method: str) -> Mapping[str, set[str]]:
    """The parameters of a route's query, as the OpenAPI document names them, and the types that each may have."""
    described = app.openapi()["paths"][path][method]
    return {
        parameter["name"]: {str(of.get("type")) for of in (parameter["schema"], *parameter["schema"].get("anyOf", ()))}
        for parameter in described.get("parameters", ())
        if parameter["in"] == "query"
    }


def _check_parameters(request: Request) -> None:
    """Raises InvalidRequest for a parameter that the route does not have, that comes twice and is no list (the framework
    would drop one), or that has to be a whole number and is not written as one (the framework would accept it)."""
    known = _parameters(request.app, request.scope["route"].path_format, request.method.lower())
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known:
            raise InvalidRequest(name, request.query_params[name], f"no such parameter; {near_matches(name, sorted(known))}")
        if given.count(name) > 1 and "array" not in known[name]:
            raise InvalidRequest(name, request.query_params.getlist(name), "give it once")
        if "integer" in known[name] and not is_whole(request.query_params[name]):
            raise InvalidRequest(name, request.query_params[name], "it is a whole number")


async def unknown_resources(service: Service) -> dict[str, list[str]]:
    """What tokens name as resources and the database does not know, by the tokens' names: a typing error, or one to come."""
    known = await service.database.call(service.database.journal.resources)
    found = {
        token.name: sorted(
            named for named in token.resources or () if not any(service.names.is_among(resource, {named}) for resource in known)
        )
        for token in service.tokens.current
    }
    return {name: resources for name, resources in found.items() if resources}
