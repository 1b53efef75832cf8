"""What a client of the Ed-Fi ODS API finds at its URL without a shim: version, metadata, tokens, spelling, cursors, snapshots."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from dmsjournal.http.dependencies import graph, orders
from dmsjournal.http.security import digest, new_token
from dmsjournal.http.settings import Settings
from tests.helpers import DESCRIPTOR, PLAN, SCHOOL, SECTION, STUDENT, document, write
from tests.http.conftest import ADMIN, EXPIRED, NOWHERE, READ, TOKENS, in_process, settings_of

if TYPE_CHECKING:
    from tests.conftest import PostgresServer

STUDENTS = "/data/v3/ed-fi/students"
GRANT = {"grant_type": "client_credentials"}


@pytest.fixture(scope="module")
def filled(postgres_server: PostgresServer) -> Iterator[TestClient]:
    """A service with ten students and what refers to one; nobody writes any more."""
    with postgres_server.copy_of_template() as url, in_process(settings_of(url)) as client, dj.connect(url) as db:
        write(db, *(document(STUDENT, n) for n in range(10)), document(DESCRIPTOR, 1), document(SCHOOL, 1))
        write(db, document(PLAN, 1, document(STUDENT, 1), document(DESCRIPTOR, 1)), document(SECTION, 1, document(PLAN, 1)))
        yield client


def plain(client: TestClient, method: str, path: str, **more: Any) -> httpx.Response:
    """A request without the token that the tests' client sends by itself."""
    headers = {"Authorization": "", **more.pop("headers", {})}
    request = client.build_request(method, path, headers=headers, **more)
    if not request.headers["Authorization"]:
        del request.headers["Authorization"]
    answer: httpx.Response = client.send(request)
    return answer


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()]


# Tokens.


def test_a_token_by_http_basic_and_by_the_body(filled: TestClient) -> None:
    given = {"client_id": "reader", "client_secret": READ}
    for more in (
        {"data": GRANT, "auth": ("reader", READ)},
        {"data": GRANT | given},
        {"json": GRANT | given},
        {"json": {"Grant_type": "client_credentials", "Client_id": "reader", "Client_secret": READ, "scope": None}},
    ):
        if "auth" in more:
            name, secret = more.pop("auth")  # type: ignore[misc]
            more["headers"] = {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}  # type: ignore[assignment]
        answer = plain(filled, "POST", "/oauth/token", **more)
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"access_token": READ, "expires_in": 1800, "token_type": "bearer"}
        assert answer.headers["cache-control"] == "no-store"
    token = {"Authorization": f"bearer {answer.json()['access_token']}"}
    assert plain(filled, "GET", STUDENTS, headers=token).status_code == 200


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("status", "error", "more"),
    [
        (401, "invalid_client", {"data": GRANT, "headers": basic(f"reader:{ADMIN}")}),  # another one's token
        (401, "invalid_client", {"data": GRANT, "headers": basic(f"Reader:{READ}")}),
        (401, "invalid_client", {"data": GRANT, "headers": basic(f"expired:{EXPIRED}")}),
        (401, "invalid_client", {"data": GRANT, "headers": basic("reader:")}),
        (401, "invalid_client", {"data": GRANT}),
        (401, "invalid_client", {"data": GRANT | {"client_id": "reader"}}),
        (401, "invalid_client", {"data": GRANT, "headers": {"Authorization": f"Bearer {READ}"}}),
        (400, "invalid_request", {"data": GRANT, "headers": {"Authorization": "Basic ###"}}),
        (400, "invalid_request", {"data": GRANT, "headers": basic("reader")}),
        (400, "invalid_request", {"data": GRANT | {"client_id": "a"}, "headers": basic(f"reader:{READ}")}),
        (400, "invalid_request", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        (400, "invalid_request", {"content": b'{"grant_type": 1}', "headers": {"Content-Type": "application/json"}}),
        (400, "invalid_request", {"content": b"\xff=1"}),
        (400, "unsupported_grant_type", {"data": {"grant_type": "password"}, "headers": basic(f"reader:{READ}")}),
        (400, "unsupported_grant_type", {"headers": basic(f"reader:{READ}")}),
        (400, "invalid_scope", {"data": GRANT | {"scope": "255901"}, "headers": basic(f"reader:{READ}")}),
    ],
)
def test_what_gets_no_token(filled: TestClient, status: int, error: str, more: dict[str, Any]) -> None:
    answer = plain(filled, "POST", "/oauth/token", **more)
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["status"] == status
    assert (status == 401) == ("www-authenticate" in answer.headers)
    assert READ not in answer.text


def test_a_token_s_name_may_be_encoded_as_a_form(url: str) -> None:
    _, token = new_token("my client+1")
    text = "by hand+%41"
    token = msgspec.structs.replace(token, sha256=digest(text))
    with in_process(settings_of(url, tokens=(*TOKENS, token))) as client:
        for name, secret in (("my client+1", text), ("my+client%2B1", "by+hand%2B%2541")):
            answer = plain(client, "POST", "/oauth/token", data=GRANT, headers=basic(f"{name}:{secret}"))
            assert answer.json()["access_token"] == text


def test_a_client_is_told_when_its_token_ends(url: str) -> None:
    text, token = new_token("ending")
    token = msgspec.structs.replace(token, expires=datetime.now(UTC) + timedelta(seconds=900))
    with in_process(settings_of(url, tokens=(*TOKENS, token))) as client:
        told = plain(client, "POST", "/oauth/token", data=GRANT, headers=basic(f"ending:{text}")).json()
        assert 0 < told["expires_in"] <= 900


def test_without_tokens_any_id_and_secret_will_do(url: str) -> None:
    with in_process(settings_of(url, tokens=())) as client:
        token = plain(client, "POST", "/oauth/token", data=GRANT, headers=basic("a:b")).json()["access_token"]
        answer = client.get("/changeQueries/v1/availableChangeVersions", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        assert plain(client, "POST", "/oauth/token", data=GRANT).status_code == 401


def test_guesses_of_secrets_are_limited(url: str) -> None:
    with in_process(settings_of(url, rate=0.001, burst=3)) as client:
        answers = [plain(client, "POST", "/oauth/token", data=GRANT, headers=basic(f"reader:{n}")) for n in range(4)]
        answers.append(plain(client, "POST", "/oauth/token", data={}))
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
        assert plain(client, "POST", "/oauth/token", data=GRANT, headers=basic(f"reader:{READ}")).status_code == 200


# The root, and metadata.


def test_the_root_is_a_page_to_a_browser_and_the_version_document_to_others(filled: TestClient) -> None:
    for accept in ("*/*", "application/json", None):
        headers = {} if accept is None else {"Accept": accept}
        answer = plain(filled, "GET", "/", headers=headers)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["vary"].startswith("Accept")
    told = answer.json()
    assert tuple(map(int, told["version"].split("."))) >= (7, 3)  # by which clients decide to page by cursors
    assert told["dataModels"] == [{"name": "Ed-Fi", "version": "5.2.0", "informationalVersion": "5.2.0"}]
    for url in told["urls"].values():
        assert url.startswith("http://127.0.0.1/")
    assert plain(filled, "GET", told["urls"]["dataManagementApi"] + "ed-fi/students").status_code == 401
    assert plain(filled, "GET", told["urls"]["changeQueries"] + "availableChangeVersions").status_code == 401
    assert plain(filled, "POST", told["urls"]["oauth"]).status_code == 400
    page = plain(filled, "GET", "/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")


def test_the_documents_of_resources_and_descriptors(filled: TestClient) -> None:
    found = plain(filled, "GET", plain(filled, "GET", "/").json()["urls"]["openApiMetadata"]).json()
    assert found == plain(filled, "GET", "/metadata").json()
    paths = {}
    for section in found:
        told = plain(filled, "GET", section["endpointUri"]).json()
        assert told["servers"] == [{"url": "http://127.0.0.1/data/v3"}]
        assert {operation["tags"][0] for path in told["paths"].values() for operation in path.values()} == {
            tag["name"] for tag in told["tags"]
        }
        operations = [operation["operationId"] for path in told["paths"].values() for operation in path.values()]
        assert len(set(operations)) == len(operations)
        paths[section["name"]] = sorted({"/".join(path.split("/")[:3]) for path in told["paths"]})
        for path in paths[section["name"]]:
            assert {path + more for more in ("", "/deletes", "/keyChanges", "/{id}")} <= told["paths"].keys()
            assert filled.get(told["servers"][0]["url"] + path).status_code == 200
    assert paths == {
        "Resources": ["/ed-fi/graduationPlans", "/ed-fi/schools", "/ed-fi/sections", "/ed-fi/students"],
        "Descriptors": ["/ed-fi/gradeLevelDescriptors"],
    }


def test_the_order_of_resources(filled: TestClient) -> None:
    url = plain(filled, "GET", "/").json()["urls"]["dependencies"]
    told = {item["resource"]: item["order"] for item in plain(filled, "GET", url).json()}
    assert told == {
        "/ed-fi/gradeLevelDescriptors": 1,
        "/ed-fi/schools": 1,
        "/ed-fi/students": 1,
        "/ed-fi/graduationPlans": 2,
        "/ed-fi/sections": 3,
    }
    answer = plain(filled, "GET", url, headers={"Accept": "application/graphml"})
    assert answer.headers["content-type"] == "application/graphml"
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    edges = [each.attrib for each in ElementTree.fromstring(answer.text).findall("g:graph/g:edge", space)]
    assert sorted((edge["source"], edge["target"]) for edge in edges) == [
        ("/ed-fi/gradeLevelDescriptors", "/ed-fi/graduationPlans"),
        ("/ed-fi/graduationPlans", "/ed-fi/sections"),
        ("/ed-fi/students", "/ed-fi/graduationPlans"),
    ]


def test_resources_that_refer_to_each_other_have_an_order_and_a_graph_without_circles() -> None:
    circle = {STUDENT: {STUDENT, PLAN}, PLAN: {SECTION}, SECTION: {STUDENT}, SCHOOL: {SECTION, DESCRIPTOR}, DESCRIPTOR: set()}
    dependencies = {resource: frozenset(children) for resource, children in circle.items()}
    found = orders(dependencies)
    assert sorted(found) == sorted(circle)
    assert found[DESCRIPTOR] < found[SCHOOL] > found[SECTION]
    text = graph(dependencies, {resource: f"/a&b/{resource.resource_name}" for resource in circle})
    edges = [each.attrib for each in ElementTree.fromstring(text).iter() if each.tag.endswith("edge")]
    places = {f"/a&b/{resource.resource_name}": place for resource, place in found.items()}
    assert len(edges) == 4  # of five, one closes the circle; the reference to itself is none
    assert all(places[edge["source"]] < places[edge["target"]] for edge in edges)


def test_metadata_counts_for_the_rate_and_tells_of_a_database_that_is_not_there(url: str) -> None:
    with in_process(settings_of(url, rate=0.001, burst=2)) as client:
        assert [plain(client, "GET", "/metadata").status_code for _ in range(3)] == [200, 200, 429]
    with in_process(settings_of(NOWHERE)) as client:
        assert plain(client, "GET", "/").status_code == 503


# Spelling.


def test_paths_and_parameters_are_read_in_any_case(filled: TestClient) -> None:
    expected = ids(filled.get(STUDENTS, params={"minChangeVersion": 2, "limit": 3}))
    for path, names in (
        ("/DATA/V3/Ed-Fi/Students", ("MinChangeVersion", "Limit")),
        ("/data/v3/ED-FI/students", ("minchangeversion", "LIMIT")),
    ):
        assert ids(filled.get(path, params=dict(zip(names, (2, 3), strict=True)))) == expected
    assert filled.get("/Data/v3/ed-fi/Students/KEYCHANGES").json() == []
    assert filled.get("/Data/v3/ed-fi/Students/Deletes", params={"TotalCount": "True"}).headers["Total-Count"] == "0"
    assert filled.get(f"{STUDENTS.upper()}/{expected[0].upper()}").json()["id"] == expected[0]
    for path in ("/changequeries/v1/availablechangeversions", "/ChangeQueries/V1/AvailableChangeVersions"):
        assert filled.get(path).status_code == 200
    assert plain(filled, "POST", "/OAuth/Token", data=GRANT, headers=basic(f"reader:{READ}")).status_code == 200
    assert plain(filled, "GET", "/Metadata/Data/V3/Dependencies").status_code == 200
    answer = filled.get(STUDENTS, params={"limit": 1, "Limit": 2})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "limit")
    answer = filled.get(STUDENTS, params={"PageTokens": "x"})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "PageTokens")


def test_names_that_differ_in_case_alone_are_told_apart(url: str, db: dj.Journal) -> None:
    other = dj.ResourceKey("Ed-Fi", "STUDENT", "5.2.0")
    write(db, document(STUDENT, 1), document(other, 1), document(SCHOOL, 1))
    named = {"ed-fi/Pupils": "Ed-Fi/Student/5.2.0"}
    with in_process(settings_of(url)) as client:
        assert client.get("/data/v3/ed-fi/students").status_code == 200
        assert client.get("/data/v3/ed-fi/sTUDENTs").status_code == 200
        assert client.get("/data/v3/ed-fi/Students").status_code == 400  # which of them
        assert client.get("/data/v3/ed-fi/Schools").status_code == 200
    with in_process(settings_of(url, resources=named)) as client:
        assert ids(client.get("/data/v3/ED-FI/pupils")) == ids(client.get("/data/v3/ed-fi/Pupils")) != []


# Cursors, pages and snapshots.


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize("window", [{}, {"minChangeVersion": 1}])
def test_the_first_page_has_no_size_and_the_others_a_token_and_a_size(
    filled: TestClient, window: dict[str, int], size: int
) -> None:
    expected = ids(filled.get(STUDENTS, params=window))
    for first in ({}, {"limit": 2}, {"pageSize": 2}):
        answer = filled.get(STUDENTS, params={**window, **first})
        found = ids(answer)
        assert len(found) == (2 if first else 10)
        while (token := answer.headers.get("Next-Page-Token")) is not None:
            more = {"limit": 1} if size == 3 else {}  # a client may leave its limit where it was
            answer = filled.get(STUDENTS, params={**window, **more, "pageToken": token, "pageSize": size})
            assert 0 < len(ids(answer)) <= size
            found += ids(answer)
        assert found == expected


def test_a_page_size_above_the_largest_is_refused_by_its_name(filled: TestClient) -> None:
    for name in ("limit", "pageSize"):
        answer = filled.get(STUDENTS, params={name: 1_001})
        assert (answer.status_code, answer.json()["parameter"]) == (400, name)
        assert "1000" in answer.json()["detail"]


@pytest.mark.parametrize("value", ["true", "True", " TRUE "])
def test_there_are_no_snapshots(filled: TestClient, value: str) -> None:
    some = ids(filled.get(STUDENTS))[0]
    for path in (
        *(STUDENTS, f"{STUDENTS}/deletes", f"{STUDENTS}/keyChanges", f"{STUDENTS}/{some}"),
        "/changeQueries/v1/availableChangeVersions",
    ):
        answer = filled.get(path, headers={"Use-Snapshot": value})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert answer.json()["detail"].startswith("Snapshot not found.")
        assert plain(filled, "GET", path, headers={"Use-Snapshot": value}).status_code == 401
        for off in ("false", "False", "", "1"):
            assert filled.get(path, headers={"Use-Snapshot": off}).status_code == 200
    for path in ("/", "/metadata"):  # what is no data is no snapshot's
        assert plain(filled, "GET", path, headers={"Use-Snapshot": value}).status_code == 200


# Under a public URL.


def test_what_is_told_under_a_public_url(url: str, db: dj.Journal) -> None:
    write(db, document(STUDENT, 1))
    public = "https://data.example/own/journal"
    with in_process(settings_of(url, public_url=public, largest_page=50, largest_offset=70)) as client:
        for prefix in ("", "/own/journal"):  # a proxy takes it away, or does not
            told = plain(client, "GET", f"{prefix}/").json()["urls"]
            assert told["dataManagementApi"] == f"{public}/data/v3/"
            assert client.get(f"{prefix}{STUDENTS}").status_code == 200
            described = client.get(f"{prefix}/openapi.json").json()
            assert described["servers"] == [{"url": public}]
        assert client.get(f"/own/journals{STUDENTS}").status_code == 404
        assert plain(client, "GET", "/own/journal").status_code == 200
        asked = {each["name"]: each["schema"] for each in described["paths"]["/data/v3/{project}/{resource}"]["get"]["parameters"]}
        for name, most in (("limit", 50), ("pageSize", 50), ("offset", 70)):
            [bound] = {of["maximum"] for of in (asked[name], *asked[name].get("anyOf", ())) if "maximum" in of}
            assert bound == most
            assert client.get(STUDENTS, params={name: bound}).status_code == 200
            assert client.get(STUDENTS, params={name: bound + 1}).status_code == 400
        [limit] = [each["schema"] for each in described["paths"]["/changefeed"]["get"]["parameters"] if each["name"] == "limit"]
        [bound] = {of["maximum"] for of in (limit, *limit.get("anyOf", ())) if "maximum" in of}
        assert bound == 50
        assert client.get("/changefeed", params={"limit": 51}).status_code == 400
    with in_process(settings_of(url)) as client:
        assert "servers" not in client.get("/openapi.json").json()


@pytest.mark.parametrize(
    "given", ["data.example", "https://data.example/", "https://data.example/a/", "ftp://a", "https://a?b", ""]
)
def test_a_public_url_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="public_url"):
        Settings(NOWHERE, public_url=given)
