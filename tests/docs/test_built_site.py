"""The site as it was built: nothing is loaded from elsewhere, every page exists, and search finds what is asked for.

`make docs` builds it; without a build these tests are skipped, except for one that builds two small pages.
"""

import functools
import http.server
import re
import shutil
import threading
from pathlib import Path

import pytest

from margin import catalog
from margin.notes import atlas, experiments

DOCS = Path(__file__).parents[2] / "docs"
SITE = DOCS / "_build" / "html"
built = pytest.mark.skipif(not (SITE / "searchindex.js").exists(), reason="the site is not built: make docs")
LOADED = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="(https?:)?//|<link[^>]*\shref="(https?:)?//')


@built
def test_no_page_loads_anything_from_elsewhere():
    pages = list(SITE.rglob("*.html"))
    assert len(pages) > 400
    assert [page.name for page in pages if LOADED.search(page.read_text(encoding="utf-8"))] == []
    sheets = [sheet.read_text(encoding="utf-8") for sheet in SITE.rglob("*.css")]
    assert not any(re.search(r"url\(['\"]?(https?:)?//", sheet) for sheet in sheets)


@built
def test_every_model_row_and_experiment_has_its_place():
    assert all((SITE / "reference" / f"{entry.class_name}.html").exists() for entry in catalog.ENTRIES)
    assert all((SITE / "gallery" / f"{name}.html").exists() for name in experiments.names())
    text = "".join(page.read_text(encoding="utf-8") for page in (SITE / "notes").glob("0*.html"))
    assert set(atlas.rows()) <= set(re.findall(r'id="row-([^"]+)"', text))


@built
@pytest.mark.parametrize("query, found", [("ridge", "Ridge"), ("adam", "Adam"), ("elbo", "Generative models")])
def test_search_finds_it_first(query, found, browser, address):
    page = browser.new_page()
    foreign = []
    page.on("request", lambda request: foreign.append(request.url) if not request.url.startswith(address) else None)
    page.goto(f"{address}/search.html?q={query}")
    first = page.locator("#search-results ul.search li a").first
    first.wait_for(timeout=60_000)
    assert first.inner_text().removeprefix("margin.") == found
    assert not foreign
    page.close()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_two_pages_build_without_a_warning_and_with_mathml(tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("pydata_sphinx_theme")
    from docs.generators.reference import part_page
    from sphinx.application import Sphinx

    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(DOCS / "conf.py", source)
    shutil.copytree(DOCS / "_static", source / "_static")
    (source / "index.md").write_text("# Margin\n\n$\\min_x |x|$\n\n```{toctree}\nHuber\n```\n")
    (source / "Huber.rst").write_text(part_page("margin.neural.losses.Huber"))
    folders = [str(folder) for folder in (source, source, tmp_path / "html", tmp_path / "doctrees")]
    own = {"html_sidebars": {}, "html_static_path": ["_static"]}
    app = Sphinx(*folders, "html", confoverrides=own, status=None, warning=None, warningiserror=True)
    app.build()
    assert app.statuscode == 0
    assert "<math" in (tmp_path / "html" / "index.html").read_text()
    assert "delta" in (tmp_path / "html" / "Huber.html").read_text()
