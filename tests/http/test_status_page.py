"""The status page: in a real browser where one is installed (Debian's chromium-headless-shell, and playwright)."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import dmsjournal as dj
from tests.helpers import STUDENT, document, write
from tests.http.conftest import READ, STUDENTS, Running, bearer, settings_of

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


def test_the_page_holds_no_data_and_nothing_from_elsewhere(quiet: TestClient) -> None:
    for path, kind in (("/", "text/html"), ("/static/status.js", "text/javascript"), ("/static/status.css", "text/css")):
        answer = quiet.get(path, headers={"Authorization": ""})
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, kind)
        assert "'unsafe" not in answer.headers["content-security-policy"]
        assert not re.search(r"https?://|//[a-z]", answer.text.replace("// ", ""))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval", quiet.get("/static/status.js").text)


def test_its_figures_need_a_token_of_all_resources(quiet: TestClient) -> None:
    assert quiet.get("/status", headers={"Authorization": ""}).status_code == 401
    for path in ("/status", "/metrics", "/changefeed/stats"):
        assert quiet.get(path, headers=bearer(STUDENTS)).status_code == 403
    found = quiet.get("/status", params={"versions": "string"}).json()
    assert (found["newest"], found["journals"][0]["floor"], found["journals"][0]["rows"]) == ("0", "0", 0)
    assert quiet.get("/status").json()["newest"] == 0


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


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with browser.new_context(viewport={"width": 1100, "height": 900}) as context:
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        yield page


def test_it_shows_the_journal_and_a_change_within_a_second(url: str, db: dj.Journal, page: Any, tmp_path: Path) -> None:
    write(db, *(document(STUDENT, n) for n in range(5)))
    db.consumers.register("warehouse <b>", 3)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for_selector("#horizon dd")
        assert page.inner_text("#state") == "Up to date."
        assert page.inner_text("#horizon div:first-child dd") == "5"
        assert page.inner_text("#consumers td:first-child") == "warehouse <b>"  # as text
        assert page.locator("#journals tr").count() == 4
        began = time.monotonic()
        write(db, document(STUDENT, 7, body={"name": "<script>"}))
        page.wait_for_selector("#tail tr", timeout=10_000)
        seconds = time.monotonic() - began
        assert page.inner_text("#tail tr:first-child td:first-child") == "6"
        print(f"\na change was shown after {seconds * 1000:.0f} ms")
        page.screenshot(path=os.environ.get("DMSJOURNAL_TEST_SCREENSHOT", str(tmp_path / "status.png")), full_page=True)
        assert all(of.startswith((running.url, "data:")) for of in asked)
        assert page.complaints == []


def test_it_can_be_used_by_keyboard(url: str, db: dj.Journal, page: Any) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for_selector("#horizon dd")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "pause"
        page.keyboard.press("Enter")
        assert page.get_attribute("#pause", "aria-pressed") == "true"
        write(db, document(STUDENT, 2))
        time.sleep(0.5)
        assert page.locator("#tail tr").count() == 0
        page.keyboard.press("Space")
        page.wait_for_selector("#tail tr")  # what came meanwhile is there


def test_a_tail_that_failed_and_is_paused_goes_on_once(url: str, db: dj.Journal, page: Any) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, tokens=())) as running:
        page.route("**/changefeed/stream*", lambda route: route.abort())
        page.goto(running.url)
        page.wait_for_selector("#tail-state:not(:empty)")
        page.unroute("**/changefeed/stream*")
        page.click("#pause")
        page.click("#pause")
        time.sleep(2.5)  # the failed one would try again
        write(db, document(STUDENT, 2))
        page.wait_for_selector("#tail tr")
        time.sleep(0.5)
        assert page.locator("#tail tr").count() == 1


def test_it_asks_for_a_token_and_keeps_it_for_the_tab(url: str, db: dj.Journal, page: Any) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url)) as running:
        page.goto(running.url)
        page.wait_for_selector("#token-form:not([hidden])")
        page.fill("#token", READ)
        page.keyboard.press("Enter")
        page.wait_for_selector("#horizon dd")
        assert page.is_hidden("#token-form")
        page.reload()
        page.wait_for_selector("#horizon dd")
        assert READ not in page.content()


def test_it_says_when_the_service_is_gone(url: str, db: dj.Journal, page: Any) -> None:
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for_selector("#horizon dd")
    page.wait_for_selector("#state.bad", timeout=10_000)
    assert page.inner_text("#state") == "The service does not answer."
