"""What the Ed-Fi API tells of itself: its version and URLs, its resources, and the order in which they refer to each other.

No token is needed, as there: names of resources and of data models, no data.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from dmsjournal.http.access import client_of
from dmsjournal.http.dependencies import Dependencies, graph, orders
from dmsjournal.http.problems import NOT_INSTALLED, REFUSED, UNAVAILABLE, documented
from dmsjournal.http.security import ANONYMOUS
from dmsjournal.http.service import service_of
from dmsjournal.model.resources import ResourceKey
from dmsjournal.util.version import VERSION

router = APIRouter(tags=["change queries"])

_API = "7.3"  # of the Ed-Fi ODS API: whose routes, windows and paging these are
_DATA = "/data/v3"
_OF_RESOURCE = f"{_DATA}/{{project}}/{{resource}}"
_ANSWERS = documented(UNAVAILABLE, NOT_INSTALLED, REFUSED)
_OPEN: dict[str, Any] = {"security": [{}]}  # no token
_GRAPH = "application/graphml"


async def version_document(request: Request) -> Response:
    """What an ODS answers at its root."""
    base = _base(request)
    models = sorted({(resource.project_name, resource.resource_version) for resource in await _dependencies(request)})
    return _json(
        {
            "version": _API,
            "applicationName": "dmsjournal",
            "informationalVersion": f"dmsjournal {VERSION}",
            "suite": "3",
            "build": VERSION,
            "dataModels": [{"name": name, "version": version, "informationalVersion": version} for name, version in models],
            "urls": {
                "dependencies": f"{base}/metadata{_DATA}/dependencies",
                "openApiMetadata": f"{base}/metadata/",
                "oauth": f"{base}/oauth/token",
                "dataManagementApi": f"{base}{_DATA}/",
                "changeQueries": f"{base}/changeQueries/v1/",
            },
        }
    )


@router.get("/metadata/", include_in_schema=False)
@router.get("/metadata", summary="The documents of the resources", responses=_ANSWERS, openapi_extra=_OPEN)
async def sections(request: Request) -> Response:
    """Where OpenAPI documents of the resources are that the database knows, one of resources and one of descriptors."""
    await _dependencies(request)
    base = _base(request)
    kinds = ("Resources", "Descriptors")
    return _json(
        [{"name": kind, "endpointUri": f"{base}/metadata{_DATA}/{kind.lower()}/swagger.json", "prefix": ""} for kind in kinds]
    )


@router.get(f"/metadata{_DATA}/resources/swagger.json", summary="The resources", responses=_ANSWERS, openapi_extra=_OPEN)
async def resources(request: Request) -> Response:
    """An OpenAPI document with the paths of the resources that the database knows, without descriptors."""
    return _json(_described(request, await _dependencies(request), descriptors=False))


@router.get(f"/metadata{_DATA}/descriptors/swagger.json", summary="The descriptors", responses=_ANSWERS, openapi_extra=_OPEN)
async def descriptors(request: Request) -> Response:
    """The same of descriptors."""
    return _json(_described(request, await _dependencies(request), descriptors=True))


@router.get(f"/metadata{_DATA}/dependencies", summary="The order of the resources", responses=_ANSWERS, openapi_extra=_OPEN)
async def dependencies(request: Request) -> Response:
    """Each resource with its place: what it refers to comes before it. As GraphML where the header Accept asks for that."""
    found = await _dependencies(request)
    paths = _paths(request, found)
    if _GRAPH in request.headers.get("accept", ""):
        return Response(graph(found, paths), media_type=_GRAPH, headers={"Vary": "Accept"})
    told = [
        {"resource": paths[resource], "order": place, "operations": ["Create", "Update"]}
        for resource, place in orders(found).items()
    ]
    return _json(told, {"Vary": "Accept"})


async def _dependencies(request: Request) -> Dependencies:
    """What the resources refer to, at most a second old. Raises Refused where an address asks too often."""
    service_of(request).rates.take(client_of(request, ANONYMOUS))
    found: Dependencies = await request.app.state.dependencies.get()
    return found


def _base(request: Request) -> str:
    """The URL of the service, without a slash at its end: as the settings say, else as the client wrote it."""
    return service_of(request).settings.public_url or str(request.base_url).rstrip("/")


def _paths(request: Request, of: Dependencies) -> dict[ResourceKey, str]:
    names = service_of(request).names
    return {resource: f"/{names.path_of(resource)}" for resource in of}


def _described(request: Request, known: Dependencies, *, descriptors: bool) -> dict[str, Any]:
    """The service's own document, with the paths of each resource in place of those of any."""
    whole = request.app.openapi()
    base = _base(request)
    found = {name: whole[name] for name in ("openapi", "info", "components")}
    found["servers"] = [{"url": f"{base}{_DATA}"}]
    found["tags"], found["paths"] = [], {}
    for resource, path in sorted(_paths(request, known).items()):
        if resource.resource_name.endswith("Descriptor") is not descriptors:
            continue
        name = path.rpartition("/")[2]
        found["tags"].append({"name": name, "description": str(resource)})
        for template, operations in whole["paths"].items():
            if template.startswith(_OF_RESOURCE):
                found["paths"][path + template.removeprefix(_OF_RESOURCE)] = _of(operations, path, name)
    return found


def _of(operations: Mapping[str, Any], path: str, name: str) -> dict[str, Any]:
    """The operations of a path with a resource's names in it."""
    found = deepcopy(dict(operations))
    for operation in found.values():
        operation["tags"] = [name]
        operation["operationId"] = f"{operation['operationId']}_{path.strip('/').replace('/', '_')}"
        operation["parameters"] = [each for each in operation["parameters"] if each["name"] not in ("project", "resource")]
    return found


def _json(value: object, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), headers=headers, media_type="application/json")
