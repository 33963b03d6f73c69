"""The page in a real browser: it plays, goes back, follows a dragged point, survives a reload, asks no other server."""

import os
import signal

import pytest
from tests.lab.browsing import PATIENCE, address_of, fits, go, needs_chromium, position, running, wait_for

WATCHED = "JSON.parse(sessionStorage.getItem('margin-session-a')).id"  # the session of a tab
ENDLESS = "data=spirals&set=max_iter%3D100000%3Bn_iter_no_change%3D100000&speed=8"  # a fit that goes on all the time

pytestmark = needs_chromium


def test_a_fit_is_played_taken_back_and_found_again_after_a_reload(page):
    go(page, "/play/kmeans?speed=8&seed=3")
    wait_for(lambda: position(page) >= 4)
    if page.get_by_role("button", name="Pause").count():
        page.keyboard.press("Space")
    wait_for(lambda: page.get_by_role("button", name="Play").count())
    at = position(page)
    page.keyboard.press("ArrowLeft")
    wait_for(lambda: position(page) == at - 1)
    page.get_by_role("button", name="Forward one record").click()
    wait_for(lambda: position(page) == at)
    before = page.locator(".now").inner_text()
    page.get_by_role("button", name="show").click()
    wait_for(lambda: "KMeans(" in page.locator(".code-card").inner_text())
    page.reload()
    wait_for(lambda: position(page) == at)
    assert page.locator(".now").inner_text() == before


def test_a_dragged_point_begins_another_fit_and_stays_in_the_address(page):
    go(page, "/play/k-neighbors-classifier?data=separable")
    canvas = page.locator("canvas.chart")
    canvas.wait_for()
    wait_for(lambda: "score" in page.inner_text(".records"))
    box = canvas.bounding_box()
    x, y = box["x"] + 0.15 * box["width"], box["y"] + 0.15 * box["height"]
    page.mouse.click(x, y)  # a new point where there was none
    added = wait_for(lambda: address_of(page) if "points=" in address_of(page) else "")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 10, steps=4)
    page.mouse.up()
    moved = wait_for(lambda: address_of(page) if address_of(page) != added else "")
    assert added.count("%3B") == moved.count("%3B")  # moved, not added
    assert page.locator(".problem").count() == 0


def test_wrong_settings_are_one_sentence_and_the_screen_goes_on(page):
    go(page, "/play/kernel-density")
    wait_for(lambda: "fitted at once" in page.inner_text(".transport"))
    page.get_by_label("bandwidth").fill("-1")
    page.get_by_label("bandwidth").press("Enter")
    wait_for(lambda: "bandwidth" in "".join(page.locator(".problem").all_inner_texts()))
    page.get_by_label("bandwidth").fill("0.5")
    page.get_by_label("bandwidth").press("Enter")
    wait_for(lambda: page.locator(".problem").count() == 0)


def test_a_refusal_stays_while_the_fit_before_goes_on(page):
    go(page, f"/play/mlp-classifier?{ENDLESS}")
    wait_for(lambda: position(page) >= 2)
    page.get_by_label("batch size").fill("-1")
    page.get_by_label("batch size").press("Enter")
    wait_for(lambda: "batch_size" in "".join(page.locator(".problem").all_inner_texts()))
    before = position(page)
    wait_for(lambda: position(page) > before + 2)
    assert "batch_size" in page.locator(".problem").inner_text()


def test_a_page_that_begins_with_a_wrong_setting_asks_once(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.method == "POST" else None)
    go(page, "/play/kernel-density?set=bandwidth%3D-1")
    wait_for(lambda: "bandwidth" in "".join(page.locator(".problem").all_inner_texts()))
    page.get_by_label("bandwidth").fill("0.5")
    page.get_by_label("bandwidth").press("Enter")
    wait_for(lambda: "fitted at once" in page.inner_text(".transport"))
    assert len([url for url in asked if url.endswith("/sessions")]) == 2


def test_what_is_typed_stays_while_records_arrive(page):
    go(page, f"/play/mlp-classifier?{ENDLESS}")
    wait_for(lambda: position(page) >= 2)
    field = page.get_by_label("batch size")
    field.fill("7")
    before = position(page)
    wait_for(lambda: position(page) > before)
    assert field.input_value() == "7"


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (768, "light")])
def test_nothing_is_wider_than_a_small_screen(visit, width, scheme):
    page = visit(viewport={"width": width, "height": 740}, color_scheme=scheme)
    for path in ("/play", "/play/bayesian-network", "/notes", "/compare", "/runs"):
        go(page, path)
        wait_for(lambda: page.locator("h1").count())
        assert fits(page), path


def test_a_copied_tab_a_reload_and_a_killed_process_leave_the_first_fit_to_go_on(page, served):
    first, context, sessions = page, page.context, served.sessions
    go(first, "/play/gaussian-mixture?set=max_iter%3D100000%3Btol%3D0&speed=4")
    wait_for(lambda: position(first) >= 2)

    with context.expect_page() as opening:
        first.evaluate("void window.open(location.href)")  # a copy, with the memory of the first
    second = opening.value
    wait_for(lambda: position(second) >= 1)
    watched = [first.evaluate(WATCHED), second.evaluate(WATCHED)]
    assert watched[0] != watched[1]
    second.get_by_role("button", name="Pause").click()
    second.get_by_role("link", name="Runs").click()  # its fit ends
    before = position(first)
    wait_for(lambda: position(first) > before)

    first.reload()
    wait_for(lambda: position(first) > before)
    assert first.evaluate(WATCHED) == watched[0]

    killed = sessions.get(watched[0]).pid
    os.kill(killed, signal.SIGKILL)
    first.get_by_role("button", name="Begin again").click()
    # Another process, and not a low position: the new fit may be far ahead before anybody looks at it.
    wait_for(lambda: sessions.get(watched[0]).pid != killed)
    wait_for(lambda: position(first) >= 1 and not first.locator(".problem").count())


def test_a_page_goes_on_when_the_lab_is_started_again(browser, tmp_path):
    """Another token, no session any more: the fit is taken to where it was."""
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    with running(tmp_path, 0) as (port, entrance, _):
        page.goto(entrance)
        go(page, "/play/kmeans?seed=2&at=4")
        wait_for(lambda: position(page) == 4)
        before, watched = page.locator(".now").inner_text(), page.evaluate(WATCHED)
    page.get_by_text("The lab does not answer").wait_for()
    with running(tmp_path, port) as (_, entrance, _):
        assert str(port) in entrance
        context.new_page().goto(entrance)  # the address that the new lab printed
        wait_for(lambda: page.evaluate(WATCHED) != watched)
        assert not page.get_by_text("The lab does not answer").count()
        page.get_by_role("button", name="Forward one record").click()
        wait_for(lambda: position(page) == 5)
        page.get_by_role("button", name="Back one record").click()
        wait_for(lambda: page.locator(".now").inner_text() == before)
    context.close()
