"""``margin.compare(..., generative=True)``: one measure for all densities, the board, kills, failures, bad requests."""

import json
import threading
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import margin
from margin import catalog
from margin.service.comparison import generative
from margin.service.comparison.generative import generators
from margin.service.comparison.generative.budget import Asking, Deadline, TimeShares
from margin.service.comparison.generative.columns import CodedColumn, TableCode, rounding_step
from margin.service.comparison.generative.data import open_rows
from margin.service.comparison.generative.measuring import FittedGenerator, Measured, measure
from margin.service.comparison.generative.standings import standings
from margin.service.requests import BadRequest

QUICK = ["histogram-density", "gaussian-mixture", "kernel-density", "bayesian-network"]


def table(n=400, seed=0):
    """Two numbers that go together, rounded to halves, and a town that goes with the first."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    price = np.round(2 * (2 * size + 0.3 * rng.normal(size=n))) / 2
    return pd.DataFrame({"size": size, "price": price, "town": np.where(size + 0.5 * rng.normal(size=n) > 0, "n", "s")})


@pytest.fixture(scope="module")
def found():
    return margin.compare(table(), generative=True, models=QUICK)


def test_the_board_ranks_by_density_and_says_its_kind(found):
    board = found.board.set_index("model")
    ranked = board[board["status"] == "ranked"]
    assert list(ranked["log_density"]) == sorted(ranked["log_density"], reverse=True)
    assert found.winner == ranked.index[0]
    kinds = ranked["log_density_kind"].to_dict()
    # A model of states gives categories a probability; the others are bounded by noise between the codes.
    assert kinds["histogram-density"] == kinds["bayesian-network"] == "exact"
    assert kinds["gaussian-mixture"] == kinds["kernel-density"] == "bound"
    assert board.loc["bayesian-network", "log_density"] > board.loc["histogram-density", "log_density"] + 0.2
    assert (ranked["low"] < ranked["log_density"]).all()
    assert (ranked["log_density"] < ranked["high"]).all()
    assert set(found.measures) <= set(board.columns)


def test_copies_of_training_rows_are_told(found):
    board = found.board.set_index("model")
    assert board.loc["training rows", "status"] == "reference"
    assert bool(board.loc["training rows", "is_memorizing"])
    assert board.loc["training rows", "fraction_closer"] > 0.95
    assert not board.loc["histogram-density", "is_memorizing"]


def test_the_winner_draws_rows_of_the_table(found):
    rows = found.best_.sample(500, random_state=1)
    assert list(rows.columns) == ["size", "price", "town"]
    assert set(rows["town"]) == {"n", "s"}
    assert (rows["price"] * 2 == np.round(rows["price"] * 2)).all()
    assert np.corrcoef(rows["size"], rows["price"])[0, 1] > 0.8
    pd.testing.assert_frame_equal(rows, found.best_.sample(500, random_state=1))


def test_plain_values_and_a_picture(found):
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert plain["winner"] == found.winner
    assert plain["rows"] == {"train": 300, "held_out": 100}
    assert plain["board"][-1]["log_density"] is None
    assert any("bound" in remark for remark in plain["remarks"])
    assert len(found.plot().axes) == 2
    assert found.winner in repr(found)


def test_noise_between_codes_bounds_the_log_probability():
    column = CodedColumn("town", ("a", "b", "c"))
    rng = np.random.default_rng(0)
    rows = rng.choice(3, p=[0.5, 0.3, 0.2], size=(3000, 1)).astype(float)
    code = TableCode.of((column,), rows)
    exact = FittedGenerator(margin.HistogramDensity(alpha=0.0), code).fit(rows, rng)
    states = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_allclose(exact.log_densities(states, rng), np.log(np.bincount(rows[:, 0].astype(int)) / 3000))
    bound = FittedGenerator(margin.GaussianMixture(3, random_state=0), code).fit(rows, rng)
    grid = np.linspace(0, 1, 2001)[:-1] + 0.00025
    mass = [
        np.log(
            np.exp(bound.model.score_samples((v + grid[:, None] - code.center) / code.scale) - code.log_volume).mean()
        )
        for v in range(3)
    ]
    scores = np.mean([bound.log_densities(states, rng) for _ in range(50)], axis=0)
    assert (scores < np.array(mass) + 0.01).all()
    assert bound.log_density_kind == "bound"
    assert exact.log_density_kind == "exact"


def test_densities_are_in_the_units_of_the_table():
    rng = np.random.default_rng(0)
    X = 100 + 20 * rng.normal(size=(400, 2))
    board = margin.compare(
        X, generative=True, models=["gaussian-mixture"], settings=["gaussian-mixture.n_components=1"]
    )
    expected = 2 * norm(100, 20).logpdf(100 + 20 * rng.normal(size=100_000)).mean()
    assert board.standings[0].log_density == pytest.approx(expected, abs=0.2)
    assert board.standings[0].log_density_kind == "exact"


@pytest.mark.parametrize(
    ("values", "step"),
    [([1, 2, 2, 5, 2, 1], 1.0), ([0.1, 0.2, 0.3, 0.3, 0.1, 0.7], 0.1), ([0.5, 0.25, 0.125, 0.3], 0.0), ([3, 3], 0.0)],
)
def test_step_of_rounded_numbers(values, step):
    assert rounding_step(np.array(values, dtype=float)) == pytest.approx(step, abs=1e-12)


def test_a_killed_comparison_goes_on_where_it_was(tmp_path):
    first = margin.compare(table(), generative=True, models=QUICK[:2], out=tmp_path / "run")
    lines = (tmp_path / "run" / "generators.jsonl").read_text().splitlines()
    (tmp_path / "run" / "generators.jsonl").write_text("\n".join(lines[:2]) + "\n" + lines[2][:40])  # cut short
    seen = []
    again = margin.compare(
        table(),
        generative=True,
        models=QUICK[:2],
        out=tmp_path / "run",
        watch=lambda c: seen.append(c.measured[-1].model),
    )
    assert seen == [json.loads(lines[2])["model"]]
    columns = ["model", "log_density", "frechet_distance", "coverage"]
    pd.testing.assert_frame_equal(first.board[columns], again.board[columns])
    sampled = pd.read_csv(tmp_path / "run" / "sampled.csv")
    assert len(sampled) == 400
    assert (tmp_path / "run" / "board.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="holds another run: its seed is 0"):
        margin.compare(table(), generative=True, models=QUICK[:2], out=tmp_path / "run", seed=1)


def test_a_failure_is_a_row_and_the_others_stand():
    found = margin.compare(
        table(60), generative=True, models=QUICK[:2], settings={"gaussian-mixture": {"n_components": 500}}
    )
    failed = found.standings[-1]
    assert (failed.model, failed.status) == ("gaussian-mixture", "failed")
    assert "n_components" in failed.error
    assert found.winner == "histogram-density"


def test_density_zero_is_said_and_stands_last():
    found = margin.compare(
        np.random.default_rng(0).normal(size=(80, 2)),
        generative=True,
        models=["kernel-density", "histogram-density"],
        settings=["kernel-density.kernel=tophat", "kernel-density.bandwidth=0.05"],
    )
    last = [s for s in found.standings if s.status == "ranked"][-1]
    assert (last.model, last.log_density) == ("kernel-density", -np.inf)
    assert last.impossible > 0
    assert any("density 0 under kernel-density" in text for text in found.as_dict()["remarks"])


def test_models_without_a_density_stand_behind_by_their_samples():
    def measured(name, accuracy):
        return Measured(name, measures={"neighbor_accuracy": accuracy})

    dense = Measured("dense", log_density_kind="exact", log_densities=(-9.0, -8.0), measures={"neighbor_accuracy": 0.9})
    order = standings([measured("far", 0.9), measured("copying", 0.2), measured("near", 0.55), dense], {}, {}, "none")
    assert [s.model for s in order] == ["dense", "near", "copying", "far"]


def test_categories_that_training_rows_lack_do_not_judge():
    frame = table(200)
    frame["town"] = [f"t{i}" if i < 30 else "n" for i in range(200)]
    found = margin.compare(frame, generative=True, models=["histogram-density"])
    assert any("category that no training row has" in remark for remark in found.remarks)
    assert np.isfinite(found.standings[0].log_density)


def test_missing_entries_and_free_text_are_left_out_with_a_remark():
    frame = table(200).assign(note=[f"a remark of its own number {i}" for i in range(200)])
    frame.loc[:9, "size"] = np.nan
    found = margin.compare(frame, generative=True, models=["histogram-density"])
    assert any(remark.startswith("note: ") for remark in found.remarks)
    assert "10 of 200 rows have a missing entry and are left out." in found.remarks


def test_images_are_numbers_with_the_noise_of_one_gray_value():
    found = margin.compare("digits", generative=True, models=["histogram-density"])
    assert not found.data.code.has_categories
    assert {column.step for column in found.data.code.columns} == {1.0}
    assert all(s.log_density_kind == "exact" for s in found.standings if s.status == "ranked")


def test_all_that_samples_is_compared():
    known = generators()
    assert {"vae", "normalizing-flow", "sum-product-network", *QUICK} <= set(known)
    assert all(hasattr(catalog.class_of(name), "sample") for name in known)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "town"}, "target does not act on generative models"),
        ({"folds": 3}, "folds does not act"),
        ({"y": [1]}, "y does not act"),
        ({"held_out": 0.0}, "held_out must be above 0"),
        ({"held_out": 0.01}, "at least 10 held-out rows; held_out=0.01 of 400 leaves 4"),
        ({"models": ["ridge"]}, "ridge is not a model for generating rows"),
        ({"ignore": ["size", "price", "town"]}, "no column is of numbers or categories"),
        ({"settings": ["gaussian-mixture.k=2"]}, "k"),
    ],
)
def test_clear_complaints(options, said):
    with pytest.raises(BadRequest, match=said):
        margin.compare(table(), generative=True, **options)


def test_clear_complaints_about_data():
    with pytest.raises(BadRequest, match="at least 40 complete rows; data frame has 20"):
        margin.compare(table(20), generative=True)
    with pytest.raises(BadRequest, match="data must be a file, a name, a data frame or a table of numbers; got dict"):
        margin.compare({"a": [1]}, generative=True)


def test_a_fit_ends_when_its_time_is_up_and_is_measured_as_it_is():
    data = open_rows(table(), held_out=0.25, ignore=(), kinds={}, seed=0)
    settings = {"max_iter": 10**6, "hidden_layer_sizes": (4,), "n_components": 2}
    found = measure("vae", settings, data, 0, seconds=0.0)  # would take days
    assert not found.error
    assert found.ended.startswith("ended when its time was up, after")
    assert len(found.log_densities) == 100
    short = measure("vae", {**settings, "max_iter": 1}, data, 0, seconds=0.0)
    assert short.ended == ""  # it was done anyway


def test_a_network_is_asked_to_end_inside_an_epoch():
    class Endless:
        def __init__(self):
            self.asked = threading.Event()

        def request_stop(self):
            self.asked.set()

    model, deadline = Endless(), Deadline(0.01)
    deadline.begin(model)
    assert model.asked.wait(60)
    deadline.end(model)
    other = Deadline(3600.0)
    other.begin(model)
    (timer,) = other._timers.values()
    other.end(model)
    timer.join(60)  # ended: nothing is left behind that would wait for an hour
    assert not timer.is_alive()


def test_what_was_ended_is_said_and_measured_again(tmp_path, monkeypatch):
    names = ["histogram-density", "gaussian-mixture"]
    real = generative.measure

    def cut_short(name, *rest):
        found = real(name, *rest)
        return (
            replace(found, ended="ended when its time was up, after 3 of 9 iterations") if name == names[1] else found
        )

    monkeypatch.setattr(generative, "measure", cut_short)
    first = margin.compare(table(), generative=True, models=names, out=tmp_path / "run", budget="60s")
    assert any("did not learn to the end: gaussian-mixture: ended" in said for said in first.as_dict()["remarks"])
    monkeypatch.undo()
    seen = []
    margin.compare(
        table(),
        generative=True,
        models=names,
        out=tmp_path / "run",
        watch=lambda c: seen.append(c.measured[-1].model),
    )
    assert seen == names[1:]


def test_every_model_has_its_share_of_the_time_left():
    budget = TimeShares(100.0)
    now = time.monotonic()
    assert budget.share(4, reserved=20.0) == pytest.approx(20.0, abs=5.0)
    assert budget.share(1, reserved=1000.0) == 0.0
    assert budget.rest(least=500.0).at - now == pytest.approx(500.0, abs=5.0)
    assert TimeShares(None).share(1, 0.0) is None
    assert TimeShares(None).left == float("inf")


def test_time_counts_from_the_start_of_the_command():
    budget = TimeShares(60.0, started=10.0, clock=lambda: 25.0)
    assert budget.left == 45.0
    assert budget.share(4, reserved=5.0) == 10.0
    assert budget.for_asking(4, reserved=5.0) == 20.0
    assert budget.for_asking(1, reserved=5.0) == 40.0


def test_a_density_that_would_outlast_the_budget_is_given_up_at_its_first_draw(monkeypatch):
    names = ["histogram-density", "gaussian-mixture"]
    looked = []

    class Dear(Asking):
        def __call__(self, done, of):
            looked.append((done, of, self.seconds))
            self.started = self.clock() - (1e6 if len(looked) == 1 else 0.0)  # the mixture comes first
            super().__call__(done, of)

    monkeypatch.setattr(generative.measuring, "Asking", Dear)
    found = margin.compare(table(), generative=True, models=names, budget="60s")
    assert found.winner == "histogram-density"
    cut = next(s for s in found.standings if s.model == "gaussian-mixture")
    assert cut.status != "failed"
    assert cut.error.startswith("its density of 100 rows would take about 2222.2 h, more than its part of 60 s")
    assert [(done, of, 10 < seconds < 60) for done, of, seconds in looked] == [(1, 8, True)], "not a draw more"
    looked.clear()
    free = margin.compare(table(), generative=True, models=names)
    assert free.winner == "gaussian-mixture", "without a budget nothing is given up"


def test_labels_that_hardly_repeat_and_columns_that_are_mostly_missing_are_left_out():
    frame = table(200).assign(ticket=[f"t{i // 2}" if i < 120 else f"u{i}" for i in range(200)], deck="a")
    frame.loc[:149, "deck"] = None
    frame.loc[150:170, "deck"] = "b"
    found = margin.compare(frame, generative=True, models=["histogram-density"])
    assert "ticket: left out: 140 different labels, most of them in one row." in found.remarks
    assert "deck: left out: 75% of the rows have no value." in found.remarks
    assert found.data.n_rows == 200


@pytest.mark.parametrize("model", ["gaussian-mixture", "bayesian-network"])
def test_the_winner_is_kept_and_draws_the_same_rows_again(tmp_path, model):
    from margin.runs import Run
    from margin.service.comparison.generative.keeping import open_generator

    frame = table()
    frame["town"] = frame["town"].map({"n": "north, Ä", "s": 's "x"'})
    frame["paid"] = frame["size"] > 0.3
    frame["rooms"] = np.clip(np.round(3 + frame["size"]), 1, 5)
    found = margin.compare(frame, generative=True, models=[model], out=tmp_path / "g")
    again = open_generator(Run.existing(tmp_path / "g"))
    pd.testing.assert_frame_equal(again.sample(300, random_state=4), found.best_.sample(300, random_state=4))
    rows = found.data.held_out
    expected, scored = (g.log_densities(rows, np.random.default_rng(0)) for g in (found.best_, again))
    np.testing.assert_array_equal(expected, scored)
