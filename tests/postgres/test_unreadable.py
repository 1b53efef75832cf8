"""Events that cannot be read: named, counted, and passed by on purpose; no other event waits for them (acceptance 106)."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import sql
from tests.helpers import PLAN, STUDENT, commit, document, newest, write

pytestmark = pytest.mark.acceptance("106")

REFUSING = """
CREATE FUNCTION public.given(value jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    IF position('huge' IN value::text) > 0 THEN
        RAISE EXCEPTION 'string buffer exceeds maximum allowed length' USING ERRCODE = '54000';
    END IF;
    RETURN value;
END $$"""
VALUES = re.compile(r"(?<= THEN )(\w+\.(?:Old|New)?KeyValues|\w+\.DocumentJson)(?= END)|(?<= )(events\.DocumentJson)(?= AS body)")


@pytest.fixture
def refusing(connections, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server refuses to give what says "huge", as it refuses what is longer than 1 GiB as text, which takes seconds to make."""
    commit(connections[0], REFUSING)

    @cache
    def query(engine: str, name: str) -> sa.TextClause:
        text = sql.text_of(engine, f"queries/{name}")
        if name == "operate/verify_bodies":
            small, text_of = "pg_column_size(DocumentJson) <= 7000", "octet_length(DocumentJson::text)"
            assert small in text
            assert text_of in text
            text = text.replace(small, "false").replace(text_of, "octet_length(public.given(DocumentJson)::text)")
        wanted = name in ("feed/feed_page", "read/deletes", "read/key_changes", "read/read_documents")
        return sa.text(VALUES.sub(lambda found: f"public.given({found[0]})", text) if wanted else text)

    monkeypatch.setattr(sql, "query", query)


@pytest.fixture
def written(journal: dj.Journal) -> list[int]:
    """40 students at versions 1 to 40, of which the 13th has a key, and the 20th a body, that cannot be read; then a plan."""
    keys: dict[int, object] = {13: "huge"}
    students = [document(STUDENT, keys.get(n, n), body={"name": "huge" if n == 20 else "Ada"}) for n in range(1, 41)]
    return write(journal, *students, document(PLAN, 1))


Read = Callable[[dj.Journal, int], list[int]]


def feed(journal: dj.Journal, size: int) -> list[int]:
    request = dj.FeedRequest(max_page_size=size, item_state=dj.NewItemStateMode.INCLUDE_IF_AVAILABLE)
    with dj.FeedIterator(journal, request, follow=False) as events:
        return [event.change_version for event in events]


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("size", [1, 2, 7, 500])
def test_a_feed_stops_at_what_cannot_be_read_or_passes_it_by(journal: dj.Journal, url: str, written: list[int], size: int) -> None:
    with pytest.raises(dj.UnreadableEvent) as refused:
        feed(journal, size)
    assert (refused.value.change_version, refused.value.document_id, refused.value.column) == (13, written[12], "KeyValues")
    assert re.search(r"KeyValues of document \d+ at version 13 cannot be read .*--pass-unreadable", str(refused.value))
    seen: list[dj.UnreadableEvent] = []
    with dj.connect(url, unreadable=seen.append) as passing:
        assert feed(passing, size) == [n for n in range(1, 42) if n not in (13, 20)]
    assert [(error.change_version, error.column) for error in seen] == [(13, "KeyValues"), (20, "DocumentJson")]
    assert {error.document_id for error in seen} == {written[12], written[19]}


@pytest.mark.usefixtures("refusing")
def test_a_page_ends_before_what_cannot_be_read(journal: dj.Journal, written: list[int]) -> None:
    """What comes before it is given, and the token goes on there: the error comes with the page that begins at it."""
    versions: list[int | None] = []
    request = dj.FeedRequest()
    while len(versions) < 12:
        page = journal.read_changes(request)
        versions += [event.change_version for event in page.events]
        request = dj.FeedRequest(start=dj.FromToken(page.token))
    with pytest.raises(dj.UnreadableEvent):
        journal.read_changes(request)
    assert versions == [*range(1, 13)]


@pytest.mark.usefixtures("refusing")
@pytest.mark.parametrize("size", [1, 3, 500])
def test_deletes_and_key_changes_pass_it_by(journal: dj.Journal, url: str, written: list[int], connections, size: int) -> None:
    ids = ", ".join(map(str, written[9:16]))
    commit(connections[0], f"UPDATE dms.Document SET KeyValues = KeyValues || '{{\"renamed\": 1}}' WHERE DocumentId IN ({ids})")
    commit(connections[0], f"DELETE FROM dms.Document WHERE DocumentId IN ({ids})")
    expected = [document_id for document_id in written[9:16] if document_id != written[12]]
    for read in (dj.Journal.deletes, dj.Journal.key_changes):
        with pytest.raises(dj.UnreadableEvent, match=f"KeyValues of document {written[12]} at version"):
            list(read(journal, STUDENT, page_size=size))
        seen: list[dj.UnreadableEvent] = []
        with dj.connect(url, unreadable=seen.append) as passing:
            assert sorted(item.document_id for item in read(passing, STUDENT, page_size=size)) == expected
        assert [error.document_id for error in seen] == [written[12]]


@pytest.mark.usefixtures("refusing")
def test_documents_give_the_others(journal: dj.Journal, url: str, written: list[int]) -> None:
    with pytest.raises(dj.UnreadableEvent, match=f"of document {written[12]} cannot be read"):
        journal.documents(written)
    seen: list[dj.UnreadableEvent] = []
    with dj.connect(url, unreadable=seen.append) as passing:
        found = passing.documents(written)
    assert [*found] == written
    assert (
        [i for i in written if found[i].key_values is None] == [written[12], written[19]] == [error.document_id for error in seen]
    )


@pytest.mark.usefixtures("refusing")
def test_verify_goes_on_past_a_row_that_it_cannot_read(journal: dj.Journal, written: list[int]) -> None:
    found = {finding.code: finding.objects for finding in journal.verify().findings}
    assert found == {"row-unreadable": (written[19],)}
    assert journal.verify().documents == len(written)


@pytest.mark.usefixtures("refusing")
def test_the_commands_name_and_count_what_they_pass_by(url: str, written: list[int], tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from dmsjournal.cli import app

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments, "--url", url])

    assert run("feed").exit_code == 5
    found = run("feed", "--bodies", "--pass-unreadable", "--page-size", "10")
    assert found.exit_code == 0
    assert [json.loads(line)["change_version"] for line in found.stdout.splitlines()] == [
        n for n in range(1, 42) if n not in (13, 20)
    ]
    assert f"passed by: KeyValues of document {written[12]} at version 13 cannot be read" in found.stderr
    assert "passed by 2 events that cannot be read" in found.stderr
    folder = tmp_path / "out"
    delivered = run("deliver", "--consumer", "warehouse", "--files", str(folder), "--once")
    assert delivered.exit_code == 5
    assert "version 13 cannot be read" in delivered.stderr
    delivered = run("deliver", "--consumer", "warehouse", "--files", str(folder), "--once", "--pass-unreadable")
    assert delivered.exit_code == 0
    assert "passed by 2 events that cannot be read" in delivered.stderr
    lines = [line for file in sorted(folder.glob("*.jsonl*")) for line in file.read_text().splitlines()]
    assert [json.loads(line)["change_version"] for line in lines] == [n for n in range(1, 42) if n not in (13, 20)]


@pytest.mark.usefixtures("refusing")
def test_the_service_names_it_or_leaves_it_out(url: str, written: list[int], caplog: pytest.LogCaptureFixture) -> None:
    from starlette.testclient import TestClient

    from dmsjournal.http.app import create_app
    from dmsjournal.http.settings import Settings

    def pages(settings: Settings) -> tuple[list[int], dict[str, Any]]:
        """The versions of all events, and the last answer."""
        versions: list[int] = []
        query = without_bodies = {"item_state": dj.NewItemStateMode.OMIT.value}
        with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
            for _ in range(100):
                answer = client.get("/feed", params=query)
                found = answer.json()
                if answer.status_code != 200 or len(versions) == 40:
                    break
                versions += [event["change_version"] for event in found["events"]]
                query = without_bodies | {"token": found["token"]}
        return versions, found

    versions, problem = pages(Settings(url))
    assert versions == [*range(1, 13)]
    assert problem["type"] == "urn:dmsjournal:problem:unreadable-event"
    assert (problem["change_version"], problem["document_id"], problem["column"]) == (13, written[12], "KeyValues")
    versions, _ = pages(Settings(url, pass_unreadable=True))
    assert versions == [n for n in range(1, 42) if n != 13]
    assert "passed by: KeyValues of document" in caplog.text


def test_a_key_of_a_gigabyte_is_passed_by_and_found(journal: dj.Journal, url: str, connections) -> None:
    """The real one: 8,300 numbers of 131,072 digits, in 130 kB, older than the check."""
    [student, _] = write(journal, document(STUDENT, 1), document(STUDENT, 2))
    commit(connections[0], "ALTER TABLE dms.Document DROP CONSTRAINT CK_Document_KeyValues")
    huge = "(SELECT jsonb_object_agg(n, CAST('1e131071' AS jsonb)) FROM generate_series(1, 8300) AS n)"
    commit(connections[0], f"UPDATE dms.Document SET KeyValues = {huge} WHERE DocumentId = {student}")
    found = {finding.code: finding.objects for finding in journal.verify().findings}
    assert found.keys() == {"constraint-missing", "key-too-long"}
    assert found["key-too-long"] == (student, f"key change {newest(journal)}")
    seen: list[dj.UnreadableEvent] = []
    with dj.connect(url, unreadable=seen.append) as passing:
        page = passing.read_changes(dj.FeedRequest(start=dj.AfterVersion(2), max_page_size=1))
    assert not page.events
    assert [(error.document_id, error.change_version, error.column) for error in seen] == [(student, 3, "KeyValues")]
