"""The status page, in a real browser where one is installed: tests/http/browser.py."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

import dmsjournal as dj
from tests.helpers import SCHOOL, STUDENT, commit, document, write
from tests.http import browser
from tests.http.browser import Page
from tests.http.conftest import READ, STUDENTS, Running, bearer, settings_of


def test_the_page_holds_no_data_and_nothing_from_elsewhere(quiet: TestClient) -> None:
    for path, kind in (("/", "text/html"), ("/static/status.js", "text/javascript"), ("/static/status.css", "text/css")):
        answer = quiet.get(path, headers={"Authorization": "", "Accept": "text/html,*/*;q=0.8"})
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
def driver() -> Iterator[httpx.Client]:
    with browser.driver() as client:
        yield client


@pytest.fixture(scope="module")
def program(driver: httpx.Client) -> Iterator[Page]:
    """One browser for all tests: it takes seconds to start."""
    with browser.page(driver) as first:
        yield first


@pytest.fixture
def page(program: Page) -> Iterator[Page]:
    """A window of its own, of a service of its own: nothing that another test's page has stored is there."""
    with program.another() as page:
        page.size(1_100)
        yield page


def shot(page: Page, name: str, folder: Path) -> None:
    """Keeps a picture, for a person to look at: in DMSJOURNAL_TEST_SCREENSHOTS if it is set."""
    page.screenshot(Path(os.environ.get("DMSJOURNAL_TEST_SCREENSHOTS", folder)) / f"status-{name}.png")


def test_it_shows_the_journal_and_changes_as_they_come(url: str, db: dj.Journal, page: Page) -> None:
    write(db, *(document(STUDENT, n) for n in range(5)))
    db.consumers.register("warehouse <b>", 3)
    page.asked()  # the window's own first page
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for("#horizon dd")
        assert page.text("#state") == "Up to date."
        assert page.text("#horizon div:first-child dd") == "5"
        assert page.text("#consumers td:first-child") == "warehouse <b>"  # as text
        assert page.count("#journals tr") == 4
        write(db, document(STUDENT, 7, body={"name": "<script>"}))
        page.wait_for("#tail tr")
        assert page.text("#tail tr:first-child td:first-child") == "6"
        assert not page.is_seen("#problems")
        asked = page.asked()
        assert asked
        assert [of for of in asked if not of.startswith((running.url, "data:"))] == []
        assert page.complaints() == []


def test_it_can_be_used_by_keyboard(url: str, db: dj.Journal, page: Page) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for("#horizon dd")
        for _ in range(60):
            page.press("Tab")
            if page.evaluate("return document.activeElement.id") == "pause":
                break
        page.press("Enter")
        assert page.evaluate("return document.getElementById('pause').ariaPressed") == "true"
        write(db, document(STUDENT, 2))
        page.wait("document.querySelector('#horizon dd').innerText === '2'")  # the figures have it
        assert page.count("#tail tr") == 0
        page.press("Space")
        page.wait_for("#tail tr")  # what came meanwhile is there


def test_a_tail_that_failed_and_is_paused_goes_on_once(url: str, db: dj.Journal, page: Page) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, tokens=())) as running:
        page.block("*/changefeed/stream*")
        page.goto(running.url)
        page.wait("document.getElementById('tail-state').innerText")
        page.block()
        page.click("#pause")
        page.click("#pause")
        page.wait("performance.now() > arguments[0] + 2500", page.evaluate("return performance.now()"))  # it would try again
        write(db, document(STUDENT, 2))
        page.wait_for("#tail tr")
        write(db, document(STUDENT, 3))
        page.wait("document.querySelector('#tail tr td').innerText === '3'")
        assert page.count("#tail tr") == 2


def test_it_asks_for_a_token_and_keeps_it_for_the_tab(url: str, db: dj.Journal, page: Page) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url)) as running:
        page.goto(running.url)
        page.wait_for("#token-form")
        page.fill("#token", READ)
        page.press("Enter")
        page.wait_for("#horizon dd")
        assert not page.is_seen("#token-form")
        page.reload()
        page.wait_for("#horizon dd")
        assert READ not in page.evaluate("return document.documentElement.outerHTML")


def test_it_says_when_the_service_is_gone(url: str, db: dj.Journal, page: Page) -> None:
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for("#horizon dd")
    page.wait_for("#state.bad")
    assert page.text("#state") == "The service does not answer."


def troubled(db: dj.Journal, connection: sa.Connection) -> None:
    """A consumer that is two hours behind, one whose events are pruned, one that is current; a trigger that is off; long names."""
    write(db, *(document(STUDENT, n) for n in range(8)), document(SCHOOL, 1))
    db.consumers.register("warehouse-of-the-district-with-a-long-name", 3)
    db.consumers.register("search", db.versions().newest)
    db.consumers.register("lake", 1)
    commit(connection, "UPDATE dms.DocumentChangeEvent SET CreatedAt = CreatedAt - interval '2 hours'")
    db.prune(through=2, force=True)
    commit(connection, "ALTER TABLE dms.ReferenceEdge DISABLE TRIGGER ALL")


WIDTHS = pytest.mark.parametrize("width", [360, 1_400])


@WIDTHS
def test_what_is_beyond_a_limit_is_seen_and_said(
    url: str, db: dj.Journal, connections: list[sa.Connection], page: Page, width: int, tmp_path: Path
) -> None:
    troubled(db, connections[0])
    page.size(width)
    with Running(settings_of(url)) as running:
        page.goto(running.url)
        page.wait_for("#token-form")
        page.fill("#token", READ)
        page.press("Enter")
        page.wait_for("#problems li")
        write(db, document(STUDENT, 20, body={"n": 1}))
        page.wait_for("#tail tr")
        colour = "getComputedStyle(arguments[0]).color"
        for row in range(page.count("#consumers tr")):
            cells = page.evaluate(
                "return [...document.querySelectorAll('#consumers tr')[arguments[0]].cells].map((c) => c.innerText)", row
            )
            bad = page.evaluate(
                "return [...document.querySelectorAll('#consumers tr')[arguments[0]].cells].map((c) => c.className)", row
            )
            assert ("bad" in bad[1]) == (cells[0] != "search"), cells
            assert ("bad" in bad[3]) == (cells[0] == "lake"), cells
        plain, red = (
            page.evaluate(f"return getComputedStyle(document.querySelector('{of}')).color") for of in ("body", "#consumers td.bad")
        )
        assert plain != red, colour
        said = page.text("#problems")
        assert "Consumer warehouse-of-the-district-with-a-long-name is 2.0 h behind" in said
        assert "Consumer lake is expired" in said
        assert "on dms.ReferenceEdge" in said
        assert "search" not in said
        assert page.text("#state") == f"{page.count('#problems li')} to look at."
        shot(page, f"full-{width}", tmp_path)


def test_each_figure_has_a_title_and_a_link_to_what_it_means(url: str, db: dj.Journal, page: Page) -> None:
    write(db, document(STUDENT, 1))
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for("#horizon dd")
        bare = """
            return [...document.querySelectorAll("th, #horizon dt")].filter((of) => {
              const link = of.querySelector("a[href^='#word-'][title]");
              const meant = link && document.querySelector(link.getAttribute("href") + " dd");
              return !meant || meant.innerText.length < 20 || link.title !== meant.textContent;
            }).map((of) => of.innerText)
        """
        assert page.count("th") == 25
        assert page.evaluate(bare) == []
        unused = """
            return [...document.querySelectorAll("#words div")].map((of) => of.id)
              .filter((id) => !document.querySelector(`a[href="#${id}"]`))
        """
        assert page.evaluate(unused) == ["word-parts"], "of an option that is not here"
        page.click("#consumers-title ~ div th:nth-child(2) a")
        page.wait("location.hash === '#word-behind'")
        assert page.evaluate("const it = document.querySelector(':target').getBoundingClientRect(); return it.top < innerHeight")


def test_the_first_column_and_behind_stay_on_a_narrow_screen(
    url: str, db: dj.Journal, connections: list[sa.Connection], page: Page
) -> None:
    troubled(db, connections[0])
    page.size(360)
    with Running(settings_of(url, tokens=())) as running:
        page.goto(running.url)
        page.wait_for("#consumers td.bad")
        write(db, document(STUDENT, 20))
        page.wait_for("#tail tr")
        assert page.evaluate("return document.documentElement.scrollWidth") <= 360
        seen = """
            const region = document.getElementById(arguments[0]).closest(".scroll");
            region.scrollIntoView();
            region.scrollLeft = arguments[2];
            return [...document.getElementById(arguments[0]).rows].map((row) => row.cells[arguments[1]]).every((cell) => {
              const at = cell.getBoundingClientRect();
              const ends = [at.left + 2, at.right - 2].map((x) => document.elementFromPoint(x, at.top + at.height / 2));
              return at.left >= 0 && at.right <= innerWidth && ends.every((found) => found === cell);
            });
        """
        for scrolled in (0, 100_000):
            assert page.evaluate(seen, "consumers", 0, scrolled)
            assert page.evaluate(seen, "consumers", 1, scrolled)
            assert page.evaluate(seen, "journals", 0, scrolled)
            assert page.evaluate(seen, "tail", 0, scrolled)
        assert page.evaluate("return document.getElementById('consumers').closest('.scroll').scrollLeft") > 0


@WIDTHS
def test_a_token_of_some_resources_is_no_dead_end(url: str, db: dj.Journal, page: Page, width: int, tmp_path: Path) -> None:
    write(db, document(STUDENT, 1), document(SCHOOL, 1))
    page.size(width)
    with Running(settings_of(url)) as running:
        page.goto(running.url)
        page.wait_for("#token-form")
        page.fill("#token", STUDENTS)
        page.press("Enter")
        page.wait_for("#limited")
        page.wait_for("#horizon dd")
        assert "ed-fi/students" in page.text("#limited")
        assert page.text("#horizon div:first-child dd") == "2"
        assert not page.is_seen("#consumers")
        write(db, document(SCHOOL, 2), document(STUDENT, 2))
        page.wait_for("#tail tr")
        assert page.text("#tail tr:first-child td:first-child") == "4"
        assert page.count("#tail tr") == 1
        assert page.evaluate("return document.documentElement.scrollWidth") <= width
        shot(page, f"limited-{width}", tmp_path)
        page.click("#other-token")
        page.fill("#token", READ)
        page.press("Enter")
        page.wait_for("#consumers")
        assert not page.is_seen("#limited")
        write(db, document(SCHOOL, 3))
        page.wait("document.querySelector('#tail tr td')?.innerText === '5'")
