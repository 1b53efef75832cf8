"""EventSource in a real browser: a ticket in place of the header, onmessage, and a service that is started again meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import dmsjournal as dj
from tests.helpers import STUDENT, document, write
from tests.http.conftest import READ, Running, settings_of, until

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
FOLLOW = """ticket => {
    window.seen = []; window.opened = 0;
    const source = new EventSource("/changefeed/stream?max_seconds=60&ticket=" + encodeURIComponent(ticket));
    source.onopen = () => window.opened++;
    source.onmessage = event => window.seen.push([event.lastEventId, JSON.parse(event.data).sequence]);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def test_it_goes_on_behind_the_last_event_after_a_restart(url: str, journal: dj.Journal, browser: Any) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    settings = settings_of(url, ticket_secret=b"k" * 32)
    with browser.new_context() as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))

        def seen(count: int) -> list[list[object]]:
            until(lambda: page.evaluate("window.seen.length") >= count, 60)
            found: list[list[object]] = page.evaluate("window.seen")
            return found

        with Running(settings) as running:
            with running.client(READ) as http:
                ticket = http.post("/tickets").json()["ticket"]
            page.goto(running.url)
            page.evaluate(FOLLOW, ticket)
            assert seen(2) == [["1", 1], ["2", 2]]
            port = running.port
        write(journal, document(STUDENT, 3))
        with Running(settings_of(url, ticket_secret=b"k" * 32, port=port)) as running:
            assert seen(3) == [["1", 1], ["2", 2], ["3", 3]]  # each once: it has sent Last-Event-ID
            write(journal, document(STUDENT, 4))
            assert seen(4)[-1] == ["4", 4]
            until(lambda: running.waiting == 1)
            page.close()
        assert all(READ not in each for each in asked)
