"""A lab in this process, and a client that has entered by the token as a browser does."""

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from margin.lab.app import create_app

TOKEN, PORT = "a-token-of-the-tests", 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


def visitor(app):
    """A client that has not entered."""
    return TestClient(app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture
def app(tmp_path):
    return create_app(token=TOKEN, port=PORT, folder=tmp_path / "runs", warm=False)


@pytest.fixture
def stranger(app):
    with visitor(app) as client:
        yield client


@pytest.fixture
def client(app):
    with visitor(app) as entered:
        entered.get("/", params={"token": TOKEN})
        entered.headers["origin"] = ORIGIN
        yield entered
