"""The rooms Notes, Gallery, Compare and Runs on a dark phone: what a person does, and that nothing goes elsewhere."""

import re

from tests.lab.browsing import fits, go, needs_chromium

ROWS = [(30 + i % 17, "Bonn" if i % 3 else "Mainz", "yes" if i % 17 > 8 else "no") for i in range(90)]
TABLE = "size,town,sold\n" + "".join(f"{size},{town},{sold}\n" for size, town, sold in ROWS)

pytestmark = needs_chromium


def test_a_statement_is_searched_opened_checked_with_another_seed_and_restored(phone):
    go(phone, "/notes")
    phone.get_by_role("searchbox").fill("sigmoid derivative")
    phone.get_by_role("link", name="Derivative of the sigmoid").click()
    phone.wait_for_url(re.compile("/notes/row/sigmoid-derivative"))
    phone.locator(".check .verdict.holds").wait_for()
    assert phone.locator("main math").count() > 0
    phone.get_by_role("button", name="Another seed").click()
    phone.get_by_text("Seed 1,").wait_for()
    assert phone.url.endswith("?seed=1")
    phone.get_by_text("The same in Python").click()
    phone.get_by_text("margin verify sigmoid-derivative --seed 1").wait_for()
    assert fits(phone)
    phone.reload()
    phone.get_by_text("Seed 1,").wait_for()
    phone.keyboard.press("ArrowRight")
    phone.wait_for_url(re.compile(r"/notes/row/(?!sigmoid-derivative)"))


def test_a_file_is_dropped_compared_reported_and_asked(phone, tmp_path):
    file = tmp_path / "houses.csv"
    file.write_text(TABLE)
    go(phone, "/compare")
    phone.locator(".drop input").set_input_files(file)
    phone.locator("[name=target]").select_option("sold")
    phone.get_by_text("90 rows, 3 columns, classification").wait_for()
    phone.get_by_text("More options").click()
    phone.locator("[name=models]").fill("gaussian-nb, decision-tree-classifier")
    phone.locator("[name=folds]").fill("2")
    phone.locator("[name=n_jobs]").fill("1")
    phone.locator("[name=n_jobs]").blur()
    phone.get_by_text("90 rows, 3 columns, classification").wait_for()
    assert fits(phone)
    phone.get_by_role("button", name="Compare", exact=True).click()
    phone.get_by_role("tab", name="Predict").wait_for()
    assert fits(phone)
    phone.get_by_role("tab", name="Report").click()
    phone.frame_locator("iframe.report").get_by_role("heading", level=1).wait_for()
    phone.get_by_role("tab", name="Predict").click()
    phone.get_by_label("size").fill("33")
    phone.get_by_role("button", name="Predict", exact=True).click()
    phone.locator(".answer .lead").wait_for()
    assert phone.locator(".answer .lead").inner_text() in ("yes", "no")


def test_runs_are_chosen_and_shown_side_by_side(phone):
    go(phone, "/runs")
    for run in ("k2", "k3"):
        phone.get_by_label(f"Show {run} side by side").check()
    phone.get_by_role("link", name="Show 2 side by side").click()
    phone.locator(".curves canvas").wait_for()
    assert phone.get_by_role("row", name="n_clusters").get_by_role("cell").count() == 2
    assert fits(phone)
    go(phone, "/runs/k3")
    phone.get_by_role("link", name="Download the model").wait_for()
    assert fits(phone)


def test_the_gallery_draws_what_one_looks_at(phone):
    go(phone, "/gallery?q=minus-log")
    phone.locator(".tile img").wait_for()
    phone.locator(".tile a").click()
    phone.locator(".experiment img").wait_for()
    assert phone.locator(".findings li").count() > 0
    assert fits(phone)
