"""A browser: Debian's Chromium, driven by its chromedriver over the protocol of WebDriver, which is JSON over HTTP."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

DRIVER = shutil.which("chromedriver")
PROGRAM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
MISSING = "no browser: install Debian's packages chromium and chromium-driver"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": " "}
_ARGUMENTS = [  # as root, without a display, and without a word to anybody elsewhere
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # of the standard


class Page:
    """A window of the browser, with a storage of its own. What it waits for comes within a minute, or the test fails."""

    def __init__(self, driver: httpx.Client, folder: str) -> None:
        arguments = [*_ARGUMENTS, f"--user-data-dir={folder}"]
        wanted = {
            "goog:chromeOptions": {"binary": PROGRAM, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._driver, self._session = driver, ""
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{answer['sessionId']}"

    def close(self) -> None:
        self._ask("DELETE", self._session)

    @contextmanager
    def another(self) -> Iterator[Page]:
        """The same browser in a new window; afterwards that is closed, and this one is the one that is driven."""
        first = self._ask("GET", f"{self._session}/window")
        opened = self._ask("POST", f"{self._session}/window/new", {"type": "window"})
        self._ask("POST", f"{self._session}/window", {"handle": opened["handle"]})
        self.asked(), self.complaints()  # forgets what another window has left
        try:
            yield self
        finally:
            self._ask("DELETE", f"{self._session}/window")
            self._ask("POST", f"{self._session}/window", {"handle": first})

    def goto(self, url: str) -> None:
        self._ask("POST", f"{self._session}/url", {"url": url})

    def reload(self) -> None:
        self._ask("POST", f"{self._session}/refresh", {})

    def size(self, width: int, height: int = 900) -> None:
        """The size of what is seen of a page."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def evaluate(self, script: str, *arguments: object) -> Any:
        """What the body of a function returns."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script: str, *arguments: object) -> Any:
        """Waits until an expression is true; its value."""
        deadline = time.monotonic() + 60
        while not (found := self.evaluate(f"return {script}", *arguments)):
            assert time.monotonic() < deadline, f"it did not come: {script}; the page says {self.text('body')!r}"
            time.sleep(0.02)
        return found

    def wait_for(self, selector: str) -> None:
        """Waits for an element that is seen."""
        self.wait("document.querySelector(arguments[0])?.checkVisibility()", selector)

    def text(self, selector: str) -> str:
        return str(self.evaluate("return document.querySelector(arguments[0]).innerText", selector))

    def count(self, selector: str) -> int:
        return int(self.evaluate("return document.querySelectorAll(arguments[0]).length", selector))

    def is_seen(self, selector: str) -> bool:
        return bool(self.evaluate("return document.querySelector(arguments[0]).checkVisibility()", selector))

    def click(self, selector: str) -> None:
        self._ask("POST", f"{self._session}/element/{self._found(selector)}/click", {})

    def fill(self, selector: str, text: str) -> None:
        self._ask("POST", f"{self._session}/element/{self._found(selector)}/value", {"text": text})

    def press(self, key: str) -> None:
        """Presses a key and lets it go."""
        actions = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        self._ask("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def block(self, *urls: str) -> None:
        """From now on requests to these, in which * is anything, fail."""
        self.command("Network.enable")
        self.command("Network.setBlockedURLs", urls=list(urls))

    def screenshot(self, path: Path) -> None:
        """The whole page, as a PNG file."""
        shot = self.command("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def command(self, name: str, **parameters: object) -> Any:
        """A command of the DevTools protocol."""
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": name, "params": parameters})

    def complaints(self) -> list[str]:
        """What the console has of errors, since this was asked last."""
        return [entry["message"] for entry in self._log("browser") if entry["level"] == "SEVERE"]

    def asked(self) -> list[str]:
        """The URLs that the page has asked for, since this was asked last."""
        found = [msgspec.json.decode(entry["message"])["message"] for entry in self._log("performance")]
        return [each["params"]["request"]["url"] for each in found if each["method"] == "Network.requestWillBeSent"]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("POST", f"{self._session}/se/log", {"type": kind})
        return found

    def _found(self, selector: str) -> str:
        found = self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return str(found[_ELEMENT])

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = self._driver.request(method, path, json=body)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value


@contextmanager
def driver() -> Iterator[httpx.Client]:
    """A chromedriver. Skips the test where there is none."""
    if DRIVER is None or PROGRAM is None:
        pytest.skip(MISSING)
    process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        port = next(found[1] for line in process.stdout if (found := re.search(r"started successfully on port (\d+)", line)))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def page(client: httpx.Client) -> Iterator[Page]:
    """A page of a new browser."""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        made = Page(client, folder)
        try:
            yield made
        finally:
            made.close()
