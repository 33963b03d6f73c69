"""Where a model errs, and columns that say the same, as the report has them."""

import numpy as np
import pandas as pd

from margin.interpretation import TableColumns
from margin.report import write
from margin.report.errors import row_errors, segments_of
from margin.report.related_columns import related_pairs
from margin.report.winner import UnseenRows


def test_a_part_of_the_table_with_larger_errors_is_found():
    rng = np.random.default_rng(0)
    town = rng.choice(["north", "south", "west"], 400)
    frame = pd.DataFrame({"town": town, "age": rng.normal(size=400), "rooms": rng.integers(1, 4, 400)})
    errors = np.abs(rng.normal(size=400)) * np.where(town == "west", 3.0, 1.0)
    found = segments_of(errors, TableColumns(frame), list(frame))
    assert [(s.column, s.values) for s in found] == [("town", "west")]
    assert found[0].rows == np.sum(town == "west")
    assert segments_of(np.abs(rng.normal(size=400)), TableColumns(frame), list(frame)) == []


def test_columns_that_say_the_same_are_paired():
    rng = np.random.default_rng(0)
    income = rng.lognormal(10, 1, 300)
    deck = rng.integers(1, 4, 300)
    frame = pd.DataFrame(
        {
            "income": income,
            "euro": income * 0.9 + rng.normal(0, 1, 300),
            "deck": deck,
            "deck_name": np.array(["first", "second", "third"])[deck - 1],
            "age": rng.normal(size=300),
        }
    )
    pairs = {(one, other): how for one, other, how in related_pairs(frame, list(frame))}
    assert set(pairs) == {("income", "euro"), ("deck", "deck_name")}
    assert pairs["deck", "deck_name"] == "each value of one goes with one of the other"


def test_the_page_shows_the_worst_rows_and_can_order_the_board_by_another_metric(comparison, tmp_path):
    found = comparison("regression")
    for s in found.standings:
        s.others = {"mae": s.mean / 2, "r2": 0.5}
    unseen = UnseenRows(found)
    errors, _ = row_errors(found, unseen)
    page = write(found, tmp_path / "r.html").read_text()
    worst = int(np.argmax(errors))
    assert "The worst rows" in page
    assert f'<th scope="row" class="n">{unseen.rows[worst] + 1}</th>' in page
    assert '<option value="mae" data-greater="0">mae</option>' in page
    assert '<option value="r2" data-greater="1">r2</option>' in page
    assert "could not be made" not in page
