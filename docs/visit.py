"""``python -m docs.visit``: open every page of the built site as readers do and say what they would complain of.

Each page is opened once from disk and looked at with three widths, light and dark: is it wider than the screen, is a
text cut off, too faint or too small, is a picture or an equation empty, does the console complain, is anything loaded
from elsewhere? Then every link is followed among the files. Needs Playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from itertools import chain, product
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links", "faults", "visit"]

SITE = Path(__file__).parent / "_build" / "html"
WIDTHS = (360, 768, 1440)
SCHEMES = ("light", "dark")
HEIGHT = 900
LOOK = (Path(__file__).parent / "visit.js").read_text(encoding="utf-8")
# Pictures below the fold are loaded when they come into sight; here all of them are in sight.
LOAD_ALL = """async () => {
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map((image) => image.decode().catch(() => null)));
  await document.fonts.ready;
}"""


def visit(browser: Any, site: Path, pages: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Every page with each of its faults, in all widths and schemes."""
    tab = browser.new_page()
    said: list[str] = []
    tab.on("request", lambda request: said.append(f"asks for {request.url}") if _foreign(request.url, site) else None)
    tab.on("requestfailed", lambda request: said.append(f"lacks {request.url}"))
    tab.on("pageerror", lambda error: said.append(f"error: {error}"))
    tab.on("console", lambda message: said.append(f"console: {message.text}") if message.type == "error" else None)
    for page in pages:
        tab.goto(page.as_uri())
        found = faults(tab)
        yield from ((page, line) for line in [*dict.fromkeys(said), *found])
        said.clear()
    tab.close()


def faults(tab: Any) -> list[str]:
    """What is wrong with the page that is open, with the widths and schemes in which it is."""
    tab.evaluate(LOAD_ALL)
    found: dict[str, list[str]] = {}
    for scheme, width in product(SCHEMES, WIDTHS):
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.set_viewport_size({"width": width, "height": HEIGHT})
        for line in tab.evaluate(LOOK):
            found.setdefault(line, []).append(f"{width} {scheme}")
    return [f"{line} ({', '.join(where)})" for line, where in found.items()]


def _foreign(url: str, site: Path) -> bool:
    return not url.startswith((site.as_uri(), "data:"))


def _pages(site: Path) -> list[Path]:
    """All pages; the theme keeps a template of its own among the static files."""
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)


class _Anchors(HTMLParser):
    """What a page points at, and what in it can be pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        for key in ("href", "src"):
            if value := values.get(key):
                self.links.add(value)
        self.names.update(value for key in ("id", "name") if (value := values.get(key)))


def dead_links(site: Path) -> Iterator[tuple[Path, str]]:
    """Links between the files of the site that lead to no file or to no place in it."""
    parsed = {page.resolve(): _parsed(page) for page in _pages(site)}
    for page, anchors in parsed.items():
        for link in sorted(anchors.links):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            if not target.is_file():
                yield page, f"leads nowhere: {link}"
            elif address.fragment and target in parsed and unquote(address.fragment) not in parsed[target].names:
                yield page, f"no such place: {link}"


def _parsed(page: Path) -> _Anchors:
    anchors = _Anchors()
    anchors.feed(page.read_text(encoding="utf-8"))
    return anchors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="pages to open, such as guide/linear; all if none is named")
    parser.add_argument("--site", type=Path, default=SITE, help="the built site")
    asked = parser.parse_args()
    site = asked.site.resolve()
    pages = [site / f"{name}.html" for name in asked.pages] or _pages(site)
    if not (site / "index.html").exists():
        parser.error(f"there is no site in {site}; run make docs")
    from playwright.sync_api import sync_playwright

    program = os.environ.get("MARGIN_CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    count = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for page, line in chain(visit(browser, site, pages), () if asked.pages else dead_links(site)):
            count += 1
            print(f"{page.relative_to(site)}: {line}", flush=True)
        browser.close()
    print(f"{len(pages)} pages, {len(WIDTHS) * len(SCHEMES)} looks each: {count} faults")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
