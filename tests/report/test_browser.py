"""The report in a real browser: nothing wider than the screen, no error, a slider and a switch that work.

Runs where Playwright and a Chromium are; MARGIN_CHROMIUM may name the program.
"""

import pytest

from margin import report


@pytest.fixture(scope="module")
def files(comparison, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    cases = {"binary": comparison(), "numbers": comparison("regression"), "many": comparison(n_classes=5, n=250)}
    return {name: report.write(case, folder / f"{name}.html").as_uri() for name, case in cases.items()}


def opened(browser, address, width=1280, **options):
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: page.problems.append(request.url) if request.url != address else None)
    page.goto(address)
    return page


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", ["binary", "numbers", "many"])
def test_fits_the_screen_and_asks_for_nothing(browser, files, name, width):
    page = opened(browser, files[name], width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.problems == []


def test_the_slider_moves_and_costs_choose_a_threshold(browser, files):
    page = opened(browser, files["binary"])
    before = page.inner_text("#at-found")
    page.fill("#cost-false-negative", "50")
    assert page.inner_text("#at-recall") == "100.0\u202f%", "missing one is so dear that none may be missed"
    page.focus("#threshold")
    page.keyboard.press("End")
    assert page.inner_text("#at-found").startswith("0 of")
    page.fill("#cost-false-negative", "1")
    assert page.inner_text("#at-found") == before


def test_light_and_dark(browser, files):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = (opened(browser, files["binary"], color_scheme=scheme) for scheme in ("light", "dark"))
    assert background(light) != background(dark)
    light.click("#theme")
    assert background(light) == background(dark)
    light.emulate_media(media="print")
    assert background(light) == "rgb(255, 255, 255)"


def test_the_keyboard_reaches_every_part(browser, files):
    page = opened(browser, files["binary"])
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "threshold", "cost-false-positive", "cheapest", "SUMMARY"} <= reached
