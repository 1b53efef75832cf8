"""One event is the same on every way out: command line, HTTP, webhook, file and Python (docs/events/cdc.md)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dmsjournal as dj
from dmsjournal import cli
from dmsjournal.events import cdc, formats
from dmsjournal.events.formats import EventOptions
from dmsjournal.http.settings import Settings
from dmsjournal.read import contexts
from dmsjournal.schema import migrate
from tests.delivering.receiver import SECRET, Receiver, receiving
from tests.helpers import PLAN, SCHOOL, STUDENT, key_name, newest
from tests.http.conftest import in_process
from tests.http.sse import Events

FILTERS: list[dict[str, list[str]]] = [
    {},
    {},
    {"event_type": ["entity:*ed"], "exclude_operation": ["DELETE"]},
    {"trigger": ["api_*", "cascade_*"]},
    {"entity_type": ["Student"]},
    {"exclude_entity_type": ["Student", "School"]},
    {"operation": ["UPDATE", "DELETE"]},
    {"tenant": ["one"]},
    {"changed_field": ["name", "studentId"]},
]
NAMES = {
    "event_type": "event_types", "trigger": "triggers", "entity_type": "entity_types", "tenant": "tenants",
    "exclude_entity_type": "exclude_entity_types", "operation": "operations", "exclude_operation": "exclude_operations",
    "changed_field": "changed_fields",
}  # fmt: skip


class Ways:
    """A database, a service and a receiver, and a random history that they all tell of."""

    def __init__(self, url: str, folder: Path, receiver: Receiver, seed: int, stack: ExitStack) -> None:
        self.url, self.folder, self.receiver, self.random = url, folder, receiver, random.Random(seed)
        self.journal = stack.enter_context(dj.connect(url))
        self.has_contexts = self.journal.feed_capabilities.contexts
        self.options = EventOptions(region="eu", soft_delete_field="gone", version_field="version")
        self.client = stack.enter_context(in_process(Settings(url, rate=0, port=0, events=self.options)))
        self.keys: dict[dj.ResourceKey, set[int]] = {STUDENT: set(), PLAN: set(), SCHOOL: set()}
        self.consumers, self.indirect = 0, False

    def write(self) -> None:
        """A few transactions: creations, updates, key changes, deletes with what they take along, and who did it, or not."""
        for _ in range(self.random.randint(1, 4)):
            said = None
            if self.has_contexts and self.random.random() < 0.7:
                said = dj.Context(
                    user=self.random.choice([None, "ada"]),
                    tenant=self.random.choice([None, "one", "two"]),
                    trigger=self.random.choice([None, "api_update", "batch_import"]),
                    metadata=self.random.choice([{}, {"request_id": "r1", "deep": {"n": [1, None]}}]),
                )
            with self.journal.write(said) as tx:
                for _ in range(self.random.randint(1, 3)):
                    self._change(tx)

    def _change(self, tx: dj.WriteTransaction) -> None:
        of = self.random.choice([STUDENT, STUDENT, PLAN, SCHOOL])
        there = sorted(self.keys[of])
        match self.random.choice(["upsert", "upsert", "rekey", "delete", "caused"]):
            case "rekey" if there and of is not PLAN:
                old, new = self.random.choice(there), self.random.randint(100, 10**6)
                if new not in self.keys[of]:
                    tx.rekey(of, {key_name(of): old}, {key_name(of): new})
                    self.keys[of] = self.keys[of] - {old} | {new}
            case "delete" if there:
                for gone in tx.delete(of, {key_name(of): self.random.choice(there)}, cascade=True):
                    assert gone.resource is not None
                    assert gone.key_values is not None
                    self.keys[gone.resource].discard(gone.key_values[key_name(gone.resource)])
            case "caused" if there and self.has_contexts:
                cause = self.random.choice(there)
                with tx.caused_by(of, {key_name(of): cause}, reason="recount"):
                    tx.upsert(self._document(SCHOOL))
                tx.upsert(dj.Document(of, {key_name(of): cause}, self._body()))
            case _:
                tx.upsert(self._document(of))

    def _document(self, of: dj.ResourceKey) -> dj.Document:
        key = self.random.randint(1, 6)
        references = []
        if of is PLAN and self.keys[STUDENT]:
            references = [dj.Reference(STUDENT, {"studentId": self.random.choice(sorted(self.keys[STUDENT]))})]
        self.keys[of].add(key)
        return dj.Document(of, {key_name(of): key}, self._body(), references)

    def _body(self) -> dict[str, object]:
        return {
            "name": self.random.choice(["Ada", "Zoë 𝄞", None]),
            "version": self.random.randint(1, 3),
            "gone": self.random.choice([None, True]),
            "gpa": self.random.choice([3.25, 4]),
        }

    # The ways.

    def told(self, after: int, name: str, filters: dict[str, list[str]]) -> dict[str, list[str]]:
        """The events after a version, in a format, as each way tells them."""
        size = self.random.choice([1, 2, 5, 100])
        args = ["--format", name, "--region", "eu", "--soft-delete-field", "gone", "--version-field", "version"]
        self.indirect = self.random.random() < 0.5
        args += ["--indirect"] if self.indirect else []
        args += [
            word for option, values in filters.items() for value in values for word in (f"--{option.replace('_', '-')}", value)
        ]
        return {
            "python": self._python(after, name, filters),
            "command": self._command("feed", "--page-size", str(size), "--token", self._token(after), *args).splitlines(),
            "http": self._http(after, name, filters, size),
            "stream": self._stream(after, name, filters),
            "file": self._file(after, args),
            "webhook": self._webhook(after, args, size),
        }

    def _token(self, after: int) -> str:
        return self.journal.feed_start(dj.FeedRequest(start=dj.AfterVersion(after)))

    def _python(self, after: int, name: str, filters: dict[str, list[str]]) -> list[str]:
        given = {NAMES[option]: tuple(values) for option, values in filters.items()}
        writer = formats.writer(formats.load(name), self.url, self.options, given)
        request = dj.FeedRequest(start=dj.AfterVersion(after), effects=writer.sees_effects, indirect=self.indirect)
        with dj.FeedIterator(self.journal, request, follow=False) as events:
            return [line.decode() for line in writer.lines(events)]

    def _command(self, *arguments: str) -> str:
        result = CliRunner().invoke(cli.app, [*arguments, "--url", self.url])
        assert result.exit_code == 0, result.output
        return result.stdout

    def _http(self, after: int, name: str, filters: dict[str, list[str]], size: int) -> list[str]:
        asked: dict[str, Any] = {"format": name, "limit": size, "start": f"after:{after}", "indirect": self.indirect, **filters}
        lines: list[str] = []
        while True:
            answer = self.client.get("/feed", params=asked)
            assert answer.status_code == 200, answer.text
            page = answer.json()
            lines += [json.dumps(event) for event in page["events"]]
            if page["idle"]:
                return lines
            asked.pop("start", None)
            asked["token"] = page["token"]

    def _stream(self, after: int, name: str, filters: dict[str, list[str]]) -> list[str]:
        asked: dict[str, Any] = {
            "format": name,
            "start": f"after:{after}",
            "keep_alive": "false",
            "indirect": self.indirect,
            **filters,
        }
        with self.client.stream("GET", "/feed/stream", params=asked) as answer:
            assert answer.status_code == 200, answer.read()
            return [json.dumps(event.data) for event in Events(answer.iter_lines())]

    def _file(self, after: int, args: list[str]) -> list[str]:
        name = self._registered(after)
        folder = self.folder / name
        self._command("deliver", "--consumer", name, "--files", str(folder), "--once", *args)
        return [line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]

    def _webhook(self, after: int, args: list[str], size: int) -> list[str]:
        name, begun = self._registered(after), len(self.receiver.taken)
        batch = [] if size == 1 else ["--batch-size", str(size)]
        letters = str(self.folder / f"{name}.dead.jsonl")
        self._command("deliver", "--consumer", name, "--to", self.receiver.url, "--dead-letters", letters, "--once", *args, *batch)
        return [json.dumps(event) for got in self.receiver.taken[begun:] for event in got.events]

    def _registered(self, after: int) -> str:
        self.consumers += 1
        name = f"c{self.consumers}"
        dj.DatabaseCheckpoint(self.journal, name).save(self._token(after))
        return name


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("DMSJOURNAL_WEBHOOK_SECRET", SECRET)
    with receiving() as receiver:
        yield receiver


def check(url: str, folder: Path, receiver: Receiver, windows: int, histories: int = 7) -> None:
    """Writes so many histories into each window, and compares what each way tells of it: each format in turn, often filtered."""
    with ExitStack() as stack:
        ways = Ways(url, folder, receiver, windows, stack)
        seen = 0
        for number in range(windows):
            after = newest(ways.journal)
            for _ in range(histories):
                ways.write()
            name = formats.names()[number % len(formats.names())]
            filters = ways.random.choice(FILTERS)
            found = {way: [json.loads(line) for line in lines] for way, lines in ways.told(after, name, filters).items()}
            for way, events in found.items():
                assert events == found["python"], f"window {number}: {way}, {name}, {filters}"
            seen += len(found["python"])
        assert seen > windows * histories


@pytest.mark.acceptance("76")
@pytest.mark.acceptance("78")
@pytest.mark.parametrize("options", [[], ["images", "context"]], ids=["bare", "options"])
def test_the_same_window_is_the_same_events(url: str, tmp_path: Path, receiver: Receiver, options: list[str]) -> None:
    if options:
        migrate.upgrade(url, options=options)
    check(url, tmp_path, receiver, 4)


FAILURE = {"code": "PARTIAL", "message": "2 of 3 were kept", "failed": ["row 3"], "details": {"row": 3, "why": [None]}}


@pytest.mark.acceptance("78")
def test_each_way_out_tells_the_trigger_the_failure_the_version_and_the_region(
    url: str, tmp_path: Path, receiver: Receiver
) -> None:
    """What a writer says by the context, and an operator by options, is in the event's own fields."""
    migrate.upgrade(url, options=["images", "context"])
    with ExitStack() as stack:
        ways = Ways(url, tmp_path, receiver, 1, stack)
        for number, trigger in enumerate(cdc.TRIGGERS, 1):
            said = dj.Context(
                trigger=trigger, metadata={"request_id": "r1", "error": FAILURE} if number % 2 else {"error": "no code"}
            )
            with ways.journal.write(said) as tx:
                tx.upsert(dj.Document(SCHOOL, {"schoolId": number}, {"version": number, "gone": number > 2}))
        for way, lines in ways.told(0, "cdc", {}).items():
            events = [json.loads(line) for line in lines]
            assert [event["operation"]["trigger"] for event in events] == list(cdc.TRIGGERS), way
            assert [event["entity"]["version"] for event in events] == list(range(1, len(cdc.TRIGGERS) + 1)), way
            assert [event["entity"]["is_soft_deleted"] for event in events] == [False, False, *[True] * (len(events) - 2)], way
            assert {event["source"]["region"] for event in events} == {"eu"}, way
            failed, otherwise = events[0]["metadata"], events[1]["metadata"]
            assert failed == {"request_id": "r1", "error": FAILURE}, way
            assert otherwise == {"custom_fields": {"error": "no code"}}, way


def test_a_writer_can_say_each_published_trigger_and_no_other() -> None:
    assert set(contexts.TRIGGERS) == set(cdc.TRIGGERS)
    assert "api_import" in cdc.TRIGGERS
    assert [dj.Context(trigger=trigger).trigger for trigger in cdc.TRIGGERS] == list(cdc.TRIGGERS)
    with pytest.raises(dj.InvalidRequest, match=r"context.trigger = 'api_imports': it is one of api_create"):
        dj.Context(trigger="api_imports")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("options", [[], ["images", "context"]], ids=["bare", "options"])
def test_a_thousand_histories(url: str, tmp_path: Path, receiver: Receiver, options: list[str]) -> None:
    if options:
        migrate.upgrade(url, options=options)
    check(url, tmp_path, receiver, 72)
