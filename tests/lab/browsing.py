"""What the tests in a real browser share: the browser, patience, and how to ask a page for what it shows."""

import re
import secrets
import threading
import time
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from tests.chromium import CHROMIUM

PATIENCE = 300.0  # seconds, on a machine on which everything runs at once

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed: apt install chromium-headless-shell"
)


@contextmanager
def running(folder, port):
    """A lab that answers: its port, the address with its token, and the application."""
    import uvicorn

    from margin.lab.app import create_app
    from margin.lab.serving import _listen

    listening, token = _listen(port), secrets.token_urlsafe(8)
    port = listening.getsockname()[1]
    app = create_app(token=token, port=port, folder=folder)
    config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield port, f"http://127.0.0.1:{port}/?token={token}", app
    server.should_exit = True
    thread.join()


class Served(NamedTuple):
    """A running lab."""

    origin: str
    entrance: str
    sessions: Any


class Complaints(list):
    """What a page said that it should not say: errors, and requests to other servers."""

    def of(self, page, origin):
        page.on("console", lambda message: self.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("request", lambda asked: self._note(asked.url, origin))
        return self

    def _note(self, url, origin):
        if not url.startswith((f"{origin}/", "data:", "blob:")):
            self.append(url)

    def append(self, text):
        if "status of 400" not in text:  # how a browser tells of a refusal
            super().append(text)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)
    return found


def go(page, path):
    page.goto("/".join(page.url.split("/", 3)[:3]) + path)


def address_of(page):
    return page.evaluate("location.href")  # page.url is only as new as the last event that was read


def position(page):
    """The number of the record that is shown; 0 while nothing is."""
    # One look: asked first whether it is there and then what it says, it may go in between, and the second would wait.
    return int(next(iter(page.locator(".position b").all_inner_texts()), 0))


def unnamed(page):
    """Controls and pictures of which a screen reader can say nothing but what they are."""
    roles = "button|link|textbox|combobox|checkbox|searchbox|slider|spinbutton|img|tab|radio|progressbar"
    lines = page.locator("body").aria_snapshot().splitlines()
    return [line.strip() for line in lines if re.match(rf"\s*- (?:{roles})(?::|\s*\[|\s*$)", line)]


def fits(page):
    """Whether nothing sticks out of the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
