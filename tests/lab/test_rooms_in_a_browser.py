"""The rooms Notes, Gallery, Compare and Runs in a real browser: what a person does, and that nothing goes elsewhere."""

import re
import shutil
import socket
import threading
import time

import pytest

playwright = pytest.importorskip("playwright.sync_api")
uvicorn = pytest.importorskip("uvicorn")

from margin.lab.app import create_app  # noqa: E402 (FastAPI is an extra)
from margin.service.fit_request import FitRequest  # noqa: E402
from margin.service.training import fit  # noqa: E402

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
PATIENCE = 180_000  # milliseconds: the machine may be busy
TOKEN = "a-token-of-the-browser"
ROWS = [(30 + i % 17, "Bonn" if i % 3 else "Mainz", "yes" if i % 17 > 8 else "no") for i in range(90)]
TABLE = "size,town,sold\n" + "".join(f"{size},{town},{sold}\n" for size, town, sold in ROWS)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="There is no Chromium on this machine.")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    home = tmp_path_factory.mktemp("lab")
    for clusters in (2, 3):
        fit("kmeans", "iris", FitRequest(settings=[f"n_clusters={clusters}"]), out=home / "runs" / f"k{clusters}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = create_app(token=TOKEN, port=port, folder=home / "runs")
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=2)
    )
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE / 1000
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)
    patch.undo()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture
def page(address, browser):
    """A dark phone that listens for errors and for requests that leave the machine."""
    context = browser.new_context(viewport={"width": 360, "height": 780}, color_scheme="dark")
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    problems = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: problems.append(asked.url) if not asked.url.startswith(address) else None)
    opened.goto(f"{address}/?token={TOKEN}")
    yield opened
    assert problems == []
    context.close()


def assert_fits(page):
    """Nothing sticks out of a phone's screen."""
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_a_statement_is_searched_opened_checked_with_another_seed_and_restored(page, address):
    page.goto(f"{address}/notes")
    page.get_by_role("searchbox").fill("sigmoid derivative")
    page.get_by_role("link", name="Derivative of the sigmoid").click()
    page.wait_for_url(re.compile("/notes/row/sigmoid-derivative"))
    page.locator(".check .verdict.holds").wait_for()
    assert page.locator("main math").count() > 0
    page.get_by_role("button", name="Another seed").click()
    page.get_by_text("Seed 1,").wait_for()
    assert page.url.endswith("?seed=1")
    page.get_by_text("The same in Python").click()
    page.get_by_text("margin verify sigmoid-derivative --seed 1").wait_for()
    assert_fits(page)
    page.reload()
    page.get_by_text("Seed 1,").wait_for()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"/notes/row/(?!sigmoid-derivative)"))


def test_a_file_is_dropped_compared_reported_and_asked(page, address, tmp_path):
    file = tmp_path / "houses.csv"
    file.write_text(TABLE)
    page.goto(f"{address}/compare")
    page.locator(".drop input").set_input_files(file)
    page.locator("[name=target]").select_option("sold")
    page.get_by_text("90 rows, 3 columns, classification").wait_for()
    page.get_by_text("More options").click()
    page.locator("[name=models]").fill("gaussian-nb, decision-tree-classifier")
    page.locator("[name=folds]").fill("2")
    page.locator("[name=n_jobs]").fill("1")
    page.locator("[name=n_jobs]").blur()
    page.get_by_text("90 rows, 3 columns, classification").wait_for()
    assert_fits(page)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("tab", name="Predict").wait_for()
    assert_fits(page)
    page.get_by_role("tab", name="Report").click()
    page.frame_locator("iframe.report").get_by_role("heading", level=1).wait_for()
    page.get_by_role("tab", name="Predict").click()
    page.get_by_label("size").fill("33")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.locator(".answer .lead").wait_for()
    assert page.locator(".answer .lead").inner_text() in ("yes", "no")


def test_runs_are_chosen_and_shown_side_by_side(page, address):
    page.goto(f"{address}/runs")
    for run in ("k2", "k3"):
        page.get_by_label(f"Show {run} side by side").check()
    page.get_by_role("link", name="Show 2 side by side").click()
    page.locator(".curves canvas").wait_for()
    assert page.get_by_role("row", name="n_clusters").get_by_role("cell").count() == 2
    assert_fits(page)
    page.goto(f"{address}/runs/k3")
    page.get_by_role("link", name="Download the model").wait_for()
    assert_fits(page)


def test_the_gallery_draws_what_one_looks_at(page, address):
    page.goto(f"{address}/gallery?q=minus-log")
    page.locator(".tile img").wait_for()
    page.locator(".tile a").click()
    page.locator(".experiment img").wait_for()
    assert page.locator(".findings li").count() > 0
    assert_fits(page)
