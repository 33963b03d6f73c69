"""Screenshots of the lab's five rooms, taken from the lab itself: ``python docs/screenshots.py [FOLDER]``.

Needs the extra ``lab``, Playwright, Pillow and a Chromium. Writes ``lab.png`` for the README and ``lab-ROOM.png`` for
the site, in 256 colors; with ``--dark`` they are dark.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

import margin
from margin.lab.app import create_app
from margin.lab.serving import _listen

#: Name, address, text that says that the screen is drawn, seconds in which a fit goes on.
SCREENS = (
    ("lab", "/play/mlp-classifier?data=spirals", "· end", 0),
    ("lab-play", "/play", "k-means, step by step", 0),
    ("lab-notes", "/notes/row/svm-dual", "Seed 0", 1),
    ("lab-compare", "/compare/wine", "logistic-regression", 1),
    ("lab-runs", "/runs/side-by-side?ids=mlp-16,mlp-64,boosting", "setting", 2),
    ("lab-gallery", "/gallery?area=optimization", "holds", 3),
)
SIZE = {"width": 1280, "height": 860}
PATIENCE = 600.0  # seconds
COLORS = 256


def main(folder: Path, scheme: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    runs = Path(tempfile.mkdtemp(), "runs")
    make_runs(runs)
    listening = _listen(0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    app = create_app(token="t", port=listening.getsockname()[1], folder=runs)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    with sync_playwright() as driver:
        chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_context(viewport=SIZE, color_scheme=scheme).new_page()
        page.goto(f"{address}/?token=t")
        for name, path, sign, seconds in SCREENS:
            page.goto(address + path)
            _wait_for_text(page, sign)
            page.wait_for_timeout(1000 * seconds)
            _shoot(page, folder / f"{name}.png")
        browser.close()
    server.should_exit = True
    thread.join(10)


def make_runs(folder: Path) -> None:
    """What the rooms of comparisons and runs show: one board, three fits."""
    iris = margin.data.load("iris")
    models = {
        "mlp-16": margin.MLPClassifier((16,), max_iter=60, random_state=0),
        "mlp-64": margin.MLPClassifier((64,), max_iter=60, random_state=0),
        "boosting": margin.GradientBoostingClassifier(n_estimators=60, random_state=0),
    }
    for name, model in models.items():
        margin.fit(model, iris.X, iris.y, run=folder / name)
    names = ["logistic-regression", "svc", "random-forest-classifier", "k-neighbors-classifier", "gaussian-nb"]
    margin.compare("wine", models=names, n_jobs=1, out=folder / "wine")


def _wait_for_text(page: Any, sign: str) -> None:
    """Until the text is there and nothing in sight loads; the page's policy forbids the functions that would wait."""
    end = time.monotonic() + PATIENCE
    while not page.locator("h1").count() or sign not in page.inner_text("main") or _is_loading(page):
        if time.monotonic() > end:
            raise TimeoutError(f"{page.url} never showed {sign!r}.")
        page.wait_for_timeout(200)


def _is_loading(page: Any) -> bool:
    """Whether a text that ends with dots (``Opening…``, ``drawing…``) is on the screen."""
    return page.evaluate(
        """(height) => [...document.querySelectorAll("main *")].some((part) =>
          !part.children.length && part.textContent.endsWith("ing…") && part.getBoundingClientRect().top < height)""",
        SIZE["height"],
    )


def _shoot(page: Any, file: Path) -> None:
    page.screenshot(path=file)
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--dark"]
    main(Path(words[0] if words else "docs/images"), "dark" if "--dark" in sys.argv else "light")
