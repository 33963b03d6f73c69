"""Play, as hands, keyboards, screen readers and files meet it in a real browser."""

import pytest
from tests.lab.browsing import address_of, go, needs_chromium, position, unnamed, wait_for

pytestmark = needs_chromium

#: A name that would run if it were taken for markup, separators of another country, gaps, a byte order mark.
UGLY = (
    '\ufeff"<img src=x onerror=alert(1)>";height;kind\n'
    + "".join(f"{i % 7};{i % 5}.5;{'left' if i % 7 < 4 else 'right'}\n" for i in range(40))
    + ";3;left\nword;;right\n"
)
#: Whether the drawing is the same a few paints later.
STILL = """async () => {
  const canvas = document.querySelector("canvas.chart"), before = canvas.toDataURL();
  for (let k = 0; k < 6; k++) await new Promise(requestAnimationFrame);
  return canvas.toDataURL() === before;
}"""


def tab_to(page, label):
    """Press the tabulator until what has the focus is called so."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(
            "(({ ariaLabel, textContent }) => ariaLabel ?? textContent)(document.activeElement)"
        ).startswith(label):
            return
    raise AssertionError(f"the keyboard never reached {label!r}")


def test_evidence_is_given_by_the_keyboard_alone(page):
    go(page, "/play/bayesian-network")
    page.get_by_role("button", name="rain").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the room"
    before = page.get_by_role("button", name="rain").get_attribute("aria-label")
    tab_to(page, "wet grass")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="wet grass: 100 %, known").wait_for()
    wait_for(lambda: page.get_by_role("button", name="rain").get_attribute("aria-label") != before)


def test_a_fit_is_chosen_paused_taken_back_and_set_by_the_keyboard_alone(page):
    go(page, "/play")
    page.get_by_role("link", name="k-means, step by step").wait_for()
    tab_to(page, "k-means, step by step")
    page.keyboard.press("Enter")
    wait_for(lambda: position(page) >= 3)
    if page.get_by_role("button", name="Pause").count():
        tab_to(page, "Pause")
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Play").wait_for()
    at = position(page)
    tab_to(page, "Back one record")
    page.keyboard.press("Enter")
    wait_for(lambda: position(page) == at - 1)
    tab_to(page, "side by side")
    page.keyboard.press("Enter")
    wait_for(lambda: page.locator("canvas.chart").count() == 2)
    assert page.locator(".problem").count() == 0


def test_the_address_follows_whoever_steps_and_is_obeyed(page):
    go(page, "/play/gradient-boosting-regressor?at=5")
    wait_for(lambda: position(page) == 5)
    page.get_by_role("button", name="Forward one record").click()
    wait_for(lambda: address_of(page).endswith("at=6"))
    page.reload()
    wait_for(lambda: position(page) == 6)
    go(page, "/play/gradient-boosting-regressor?at=9")  # typed over it, in the same tab
    wait_for(lambda: position(page) == 9)
    page.get_by_role("button", name="First record").click()
    wait_for(lambda: address_of(page).endswith("at=1"))


def test_a_dragged_point_gives_no_label_to_those_that_have_none(page):
    opened(page, "/play/self-training-classifier?at=2")
    page.get_by_role("radio", name="no class").click()
    box = page.locator("canvas.chart").bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    added = wait_for(lambda: address_of(page) if "points=" in address_of(page) else "")
    assert added.count("%2C-1%3B") + added.endswith("%2C-1") >= 152
    assert page.locator(".problem").count() == 0


def test_one_walks_over_the_latent_plane_with_the_mouse(page):
    opened(page, "/play/vae?at=2")
    page.get_by_role("heading", name="drawn at (0.0, 0.0)").wait_for()
    box = page.locator("canvas.chart").bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    wait_for(lambda: page.get_by_role("heading", name="drawn at (0.0, 0.0)").count() == 0)
    page.get_by_role("heading", name="drawn at (-").wait_for()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] - 60)
    page.get_by_role("heading", name="drawn at (0.0, 0.0)").wait_for()
    assert position(page) == 2


@pytest.mark.parametrize(
    "path",
    ["/play", "/play/mlp-classifier?at=3", "/play/cnn-classifier?at=1", "/notes/row/svm-dual", "/runs", "/compare"],
)
def test_a_screen_reader_finds_a_name_on_everything(page, path):
    go(page, path)
    page.locator("h1").wait_for()
    wait_for(lambda: not path.startswith("/play/") or position(page))
    assert unnamed(page) == []
    assert page.get_by_role("heading", level=1).count() == 1


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_what_moves_by_itself_stays_still_for_whoever_asks_for_it(visit, motion):
    page = visit(viewport={"width": 900, "height": 700}, reduced_motion=motion)
    go(page, "/play/flow-matching?at=2")
    wait_for(lambda: position(page) == 2 and page.locator("canvas.chart").count())
    if motion == "reduce":
        assert page.evaluate(STILL)
    else:
        wait_for(lambda: not page.evaluate(STILL))


def test_two_columns_of_an_ugly_table_become_points(page, tmp_path):
    file = tmp_path / "ugly.csv"
    file.write_text(UGLY, encoding="utf-8")
    go(page, "/play/k-neighbors-classifier")
    page.locator("canvas.chart").wait_for()
    page.locator(".own input[type=file]").set_input_files(file)
    held = wait_for(lambda: address_of(page) if "points=" in address_of(page) else "")
    page.locator(".own select").nth(2).select_option("")
    wait_for(lambda: address_of(page) != held)
    assert "<img src=x onerror=alert(1)>" in page.locator(".own select").nth(0).inner_text()
    assert page.locator("main img").count() == 0
    assert page.locator(".problem").count() == 0
    words = tmp_path / "words.csv"
    words.write_text("only,words\na,b\n")
    page.locator(".own input[type=file]").set_input_files(words)
    page.get_by_text("fewer than two columns of numbers").wait_for()


def test_a_digit_drawn_with_the_mouse_is_read(page):
    go(page, "/play/cnn-classifier?at=4")
    wait_for(lambda: position(page) == 4)
    box = page.get_by_role("img", name="Draw a digit here").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 20, steps=6)
    page.mouse.up()
    page.get_by_role("heading", name="your drawing is").wait_for()
    page.get_by_role("button", name="Clear").click()
    wait_for(lambda: page.get_by_role("heading", name="your drawing is").count() == 0)


def test_two_settings_side_by_side_come_back_with_their_address(page):
    go(page, "/play/kmeans?set=n_clusters%3D2&beside=n_clusters%3D6&seed=4")
    for _ in range(2):
        wait_for(lambda: page.locator("canvas.chart").count() == 2)
        told = page.locator(".which").all_inner_texts()
        assert [text.split(maxsplit=1) for text in told] == [["A", "n clusters 2"], ["B", "n clusters 6"]]
        assert page.get_by_label("seed", exact=True).input_value() == "4"
        page.reload()


def test_links_lead_from_a_stage_to_its_statements_and_back(page):
    """No room asks for what belongs to another: a refused request is a complaint."""
    go(page, "/play/optimizers?data=himmelblau&at=2")
    page.locator(".rows").get_by_role("link", name="Gradient descent", exact=True).click()
    page.get_by_role("link", name="Play: optimizers").click()
    wait_for(lambda: position(page))
    for room in ("Runs", "Gallery", "Notes", "Compare", "Play"):
        page.get_by_role("navigation", name="Rooms").get_by_role("link", name=room).click()
        wait_for(lambda room=room: page.title().startswith(room) and page.locator("h1").count())


#: A stage of every kind, and what is done there by hand.
KINDS = {
    "plane": "svc",
    "curve": "spline-regression",
    "landscape": "optimizers",
    "table": "id3",
    "pictures": "hog",
    "text": "latent-dirichlet-allocation",
    "graph": "link-predictor",
    "field": "pinn",
    "network": "bayesian-network",
}
DRAWN = """() => [...document.querySelectorAll(".panels canvas")].every((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value, i) => value !== data[i % 4]);
})"""
LOOKS = "document.querySelector('canvas.chart').toDataURL()"


def opened(page, path):
    go(page, path)
    wait_for(lambda: position(page) or "fitted at once" in page.locator("main").inner_text())
    page.locator(".panel").first.wait_for()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_stage_is_drawn_and_named(page, kind):
    opened(page, f"/play/{KINDS[kind]}?at=2")
    assert page.locator(f".screen.kind-{kind}").count() == 1
    assert page.evaluate(DRAWN)
    assert page.locator(".panel canvas, .panel svg, .panel table, .panel .bars").count() > 0
    assert page.locator(".guide").inner_text().endswith(".")
    assert unnamed(page) == []
    assert page.locator(".problem").count() == 0


def test_points_are_added_and_taken_away_by_keys_alone(page):
    opened(page, "/play/k-neighbors-classifier?data=separable")
    tab_to(page, "k-neighbors-classifier on separable")
    page.keyboard.press("ArrowUp")  # the cross appears in the middle
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    added = wait_for(lambda: address_of(page) if "points=" in address_of(page) else "")
    page.keyboard.press("Delete")
    fewer = wait_for(lambda: address_of(page) if address_of(page) != added else "")
    assert fewer.count("%3B") == added.count("%3B") - 1
    assert page.locator(".problem").count() == 0


def test_the_band_of_a_gaussian_process_follows_the_mouse(page):
    opened(page, "/play/gaussian-process-regressor?at=3")
    wait_for(lambda: position(page) == 3)
    canvas = page.locator("canvas.chart")
    box, before = canvas.bounding_box(), page.evaluate(LOOKS)
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.4 * box["height"])
    wait_for(lambda: page.evaluate(LOOKS) != before)
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] - 40)
    wait_for(lambda: page.evaluate(LOOKS) == before)
    assert position(page) == 3
    assert "points=" not in address_of(page)


def test_a_node_that_is_clicked_tells_whom_it_hears(page):
    opened(page, "/play/node-classifier?at=5")
    page.get_by_role("button", name="node 11", exact=True).click()
    page.get_by_role("heading", name="what node 11 gains from each neighbor").wait_for()
    page.get_by_role("button", name="node 11", exact=True).press("Enter")
    wait_for(lambda: page.get_by_role("heading", name="what node 11 gains").count() == 0)


def test_a_table_of_many_columns_is_chosen_and_its_weights_shown(page):
    opened(page, "/play/ridge")
    page.get_by_label("set", exact=True).select_option("patients")
    page.get_by_role("heading", name="weight of each column").wait_for()
    assert page.locator(".bars").first.locator("dt").count() == 10
    page.reload()
    page.get_by_role("heading", name="weight of each column").wait_for()
