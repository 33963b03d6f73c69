"""A lab in this process, and a client that has entered by the token as a browser does."""

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient
from tests.lab import browsing

from margin.lab.app import create_app
from margin.service.fit_request import FitRequest
from margin.service.training import fit

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


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """A running lab with two runs, for all tests in a browser."""
    pytest.importorskip("uvicorn")
    home = tmp_path_factory.mktemp("lab")
    for clusters in (2, 3):
        fit("kmeans", "iris", FitRequest(settings=[f"n_clusters={clusters}"]), out=home / "runs" / f"k{clusters}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        with browsing.running(home / "runs", 0) as (port, entrance, app):
            yield browsing.Served(f"http://127.0.0.1:{port}", entrance, app.state.lab.sessions)


@pytest.fixture
def visit(browser, served):
    """Opens a page that has entered the lab; what it complains of fails the test."""
    contexts, complaints = [], browsing.Complaints()

    def visit(**settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(1000 * browsing.PATIENCE)
        page = context.new_page()
        complaints.of(page, served.origin)
        page.goto(served.entrance)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(visit):
    return visit(viewport={"width": 1280, "height": 900})


@pytest.fixture
def phone(visit):
    return visit(viewport={"width": 360, "height": 780}, color_scheme="dark")
