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
@pytest.mark.parametrize(
    "query, found",
    [
        *(("ridge", "Ridge"), ("adam", "Adam"), ("elbo", "Generative models"), ("k-means", "KMeans")),
        ("random forest", "RandomForestClassifier"),
    ],
)
@pytest.mark.parametrize("place", ["disk", "server"])
def test_search_finds_it_first(query, found, place, browser, address):
    page = browser.new_page()
    foreign = []
    start = SITE.as_uri() if place == "disk" else address
    page.on("request", lambda request: foreign.append(request.url) if not request.url.startswith(start) else None)
    page.on("pageerror", lambda error: foreign.append(str(error)))
    page.goto(f"{start}/search.html?q={query}")
    first = page.locator("#search-results ul.search li a").first
    first.wait_for(timeout=60_000)
    assert first.inner_text().removeprefix("margin.") == found
    assert not foreign
    page.close()


PLACES = (
    *("index", "start", "about", "changes", "benchmarks", "differences", "cli", "functions"),
    *("guide/index", "guide/linear", "guide/choosing", "guide/generative", "guide/images", "recipes/fine_tuning"),
    *("notes/index", "notes/corrections", "gallery/index", "gallery/optimizer-race", "gallery/wasserstein-geodesic"),
    *("reference/index", "reference/Ridge", "reference/MLPClassifier", "reference/functions-metrics", "measured/index"),
)


@built
@pytest.mark.parametrize("width, scheme", [(360, "dark"), (768, "light"), (1440, "dark")])
def test_pages_fit_the_screen_ask_nobody_and_complain_of_nothing(width, scheme, browser):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chapters = sorted(page.stem for page in (SITE / "notes").glob("0*-*.html"))
    for place in (*PLACES, *(f"notes/{name}" for name in chapters[:: len(chapters) // 4])):
        page = context.new_page()
        said = []
        page.on("request", lambda request, said=said: said.append(request.url))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("console", lambda message, said=said: said.append(message.text) if message.type == "error" else None)
        page.goto(f"{SITE.as_uri()}/{place}.html")
        assert [line for line in said if not line.startswith((SITE.as_uri(), "data:"))] == [], place
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{place} is wider than {width}"
        page.close()
    context.close()


@built
def test_statements_and_pictures_can_be_opened_in_the_lab():
    from docs.generators.words import LAB

    text = "".join(page.read_text(encoding="utf-8") for page in (SITE / "notes").glob("0*.html"))
    assert set(atlas.rows()) <= set(re.findall(rf'href="{LAB}/notes/row/([^"]+)"', text))
    for name in experiments.names():
        assert f"{LAB}/gallery/{name}" in (SITE / "gallery" / f"{name}.html").read_text(encoding="utf-8"), name


@built
def test_the_gallery_shows_what_a_tag_chooses(browser):
    page = browser.new_page()
    page.goto(f"{SITE.as_uri()}/gallery/index.html")
    button = page.locator(".filters button[data-tag=shown-in-motion]")
    button.click()
    moving = [name for name in experiments.names() if hasattr(experiments.load(name), "animate")]
    assert page.locator(".cards > .tile:visible").count() == len(moving)
    assert page.locator(".filters .count").inner_text() == f"{len(moving)} of {len(experiments.names())}"
    button.click()
    assert page.locator(".cards > .tile:visible").count() == len(experiments.names())
    page.close()


@built
@pytest.mark.parametrize("motion, seen, hidden", [("no-preference", "webp", "png"), ("reduce", "png", "webp")])
def test_nothing_moves_where_that_is_not_wanted(motion, seen, hidden, browser):
    context = browser.new_context(reduced_motion=motion)
    page = context.new_page()
    page.goto(f"{SITE.as_uri()}/gallery/lloyd-iterations.html")
    assert page.locator(f"figure.motion img[src$='.{seen}']").is_visible()
    assert not page.locator(f"figure.motion img[src$='.{hidden}']").is_visible()
    context.close()


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
    from PIL import Image
    from sphinx.application import Sphinx

    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(DOCS / "conf.py", source)
    shutil.copytree(DOCS / "_static", source / "_static")
    moving = "```{motion} steps\n:alt: Some steps\n\nAll of them.\n```\n"
    (source / "index.md").write_text(f"# Margin\n\n$\\min_x |x|$\n\n{moving}\n```{{toctree}}\nHuber\n```\n")
    images = source / "gallery" / "images"
    images.mkdir(parents=True)
    for name in ("steps.webp", "steps.png"):
        Image.new("RGB", (4, 4)).save(images / name)
    (source / "Huber.rst").write_text(part_page("margin.neural.losses.Huber"))
    folders = [str(folder) for folder in (source, source, tmp_path / "html", tmp_path / "doctrees")]
    own = {"html_sidebars": {}, "html_static_path": ["_static"]}
    app = Sphinx(*folders, "html", confoverrides=own, status=None, warning=None, warningiserror=True)
    app.build()
    assert app.statuscode == 0
    index = (tmp_path / "html" / "index.html").read_text()
    assert "<math" in index
    for name, kind in (("steps.webp", "moving"), ("steps.png", "still")):
        (tag,) = re.findall(rf"<img [^>]*{name}[^>]*>", index)
        assert f'class="{kind}"' in tag
        assert 'alt="Some steps"' in tag
    assert "delta" in (tmp_path / "html" / "Huber.html").read_text()
