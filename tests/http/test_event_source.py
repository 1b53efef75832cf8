"""EventSource in a real browser: a ticket in place of the header, onmessage, and a service that is started again meanwhile."""

from __future__ import annotations

import dmsjournal as dj
from tests.helpers import STUDENT, document, write
from tests.http import browser
from tests.http.conftest import READ, Running, settings_of, until

FOLLOW = """
    window.seen = [];
    const source = new EventSource("/changefeed/stream?max_seconds=60&ticket=" + encodeURIComponent(arguments[0]));
    source.onmessage = event => window.seen.push([event.lastEventId, JSON.parse(event.data).sequence]);
"""


def test_it_goes_on_behind_the_last_event_after_a_restart(url: str, journal: dj.Journal) -> None:
    write(journal, document(STUDENT, 1), document(STUDENT, 2))
    settings = settings_of(url, ticket_secret=b"k" * 32)
    with browser.driver() as driver, browser.page(driver) as page:

        def seen(count: int) -> list[list[object]]:
            found: list[list[object]] = page.wait("window.seen.length >= arguments[0] && window.seen", count)
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
            asked = page.asked()
            page.goto("about:blank")
        assert any("/changefeed/stream" in each for each in asked)
        assert all(READ not in each for each in asked)
