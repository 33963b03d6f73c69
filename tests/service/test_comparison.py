"""``margin.compare`` and what it keeps: inputs, metrics, folds, held-out rows, kills, failures, blends, settings."""

import errno
import gc
import json
import warnings
from dataclasses import replace
from threading import Event
from time import monotonic

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import margin
from margin.metrics import accuracy, metric
from margin.selection import Trial, plan_folds
from margin.service.comparison import ComparisonRequest, Oversight, compare, open_comparison, run_comparison
from margin.service.comparison.showing import verdict
from margin.service.comparison_request import HowToRun
from margin.service.requests import BadRequest

FAST = {"n_jobs": 1, "folds": 3, "curve": False}
TWO = ["gaussian-nb", "linear-discriminant-analysis"]
SLOW = ["mlp-classifier.max_iter=2000"]


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    size, noise = rng.normal(size=n), rng.normal(size=n)
    town = rng.choice(["north", "south"], n)
    sold = np.where(size + (town == "north") + 0.5 * rng.normal(size=n) > 0.5, "yes", "no")
    return pd.DataFrame({"size": size, "noise": noise, "town": town, "sold": sold})


@pytest.fixture(scope="module")
def found():
    return compare(table(), target="sold", models=TWO, held_out=0.25, **FAST)


def test_the_result_is_a_board_a_model_and_pictures(found):
    board = found.board
    assert {*TWO, "blend", "baseline"} <= set(board["model"]) <= {*TWO, "blend", "stack", "baseline"}
    assert board["accuracy"].iloc[0] == board["accuracy"].max()
    assert {"low", "high", "tied", "p_value", "fit_seconds", "roc_auc", "f1_macro"} <= set(board.columns)
    rows = table(20, seed=5)
    assert accuracy(rows["sold"], found.best_.predict(rows[["size", "noise", "town"]])) > 0.7
    assert found.winner in found._repr_html_()
    assert found.plot().axes[0].get_title(loc="left").startswith("data frame")
    assert found.winner in repr(found)


def test_held_out_rows_judge_the_winner_once(found):
    held = found.plan.held_out
    assert len(held) == 30
    assert not set(held) & set(found.plan.development)
    rows = found.X.iloc[held]
    assert found.held_out_score == accuracy(found.y[held], found.judged_.predict(rows))
    assert found.held_out_uses == 1
    np.testing.assert_array_equal(found.output(found.winner, -1).predicted, found.judged_.predict(rows))


def test_out_of_fold_outputs_give_the_scores_of_the_board(found):
    for s in found.standings:
        rows, said = found.out_of_fold(s.model)
        assert sorted(rows) == sorted(found.plan.development)
        by_fold = [accuracy(found.y[test], said.predicted[np.isin(rows, test)]) for _, test in found.plan.folds]
        assert by_fold == pytest.approx(list(s.scores))


def test_a_blend_is_the_mean_of_its_members(found):
    members = [found.output(model, 1).scores for model in TWO]
    np.testing.assert_allclose(found.output("blend", 1).scores, np.mean(members, axis=0), rtol=1e-12)


def test_data_frames_arrays_and_files_give_one_board(tmp_path):
    frame = table()[["size", "noise", "sold"]]
    frame.to_csv(tmp_path / "t.csv", index=False)

    class Polars:  # what polars offers of its data frames
        def to_pandas(self):
            return frame

    boards = [
        compare(given, y, target=target, models=["gaussian-nb"], **FAST).board["accuracy"].tolist()
        for given, y, target in (
            (frame, None, "sold"),
            (str(tmp_path / "t.csv"), None, "sold"),
            (Polars(), None, "sold"),
            (frame[["size", "noise"]], frame["sold"], None),
            (frame[["size", "noise"]].to_numpy(), frame["sold"].to_numpy(), None),
        )
    ]
    assert all(board == boards[0] for board in boards)


class LazyFrame:
    """As polars has it: nothing is read before it is collected."""

    def __init__(self, frame):
        self.frame = frame

    def collect(self):
        return pa.Table.from_pandas(self.frame)


def test_lazy_frames_and_masked_arrays_mean_what_they_say():
    asked = {"models": ["gaussian-nb"], "ensembles": False, **FAST}
    plain = compare(table(), target="sold", **asked).board
    for frame in (pa.Table.from_pandas(table()), LazyFrame(table())):
        pd.testing.assert_series_equal(compare(frame, target="sold", **asked).board["accuracy"], plain["accuracy"])
    X, y = table()[["size", "noise"]].to_numpy(), (table()["sold"] == "yes").to_numpy()
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[::7, 1] = True
    masked = compare(np.ma.masked_array(np.where(hidden, 1e6, X), hidden), y, **asked)
    missing = compare(np.where(hidden, np.nan, X), y, **asked)
    assert masked.standings[0].scores == missing.standings[0].scores
    assert "rows have no y" in " ".join(compare(X, np.ma.masked_array(y * 1.0, hidden[:, 1]), **asked).remarks)


def test_arrays_must_have_one_target_per_row():
    X = table()[["size", "noise"]].to_numpy()
    with pytest.raises(BadRequest, match=r"one target for each row; got an array of shape \(120, 2\)"):
        compare(X, X, models=["ridge"], **FAST)
    for nothing in (table()["size"], table().groupby("town"), object()):
        with pytest.raises(BadRequest, match="data must be a file, a name, a data frame or arrays; got"):
            compare(nothing, target="sold", models=["ridge"], **FAST)


def test_a_temporary_folder_goes_with_its_comparison_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(table(), target="sold", models=["gaussian-nb"], **FAST)
        folder = found.folder
        assert folder.exists()
        del found
        gc.collect()
        assert not folder.exists()


def test_the_command_and_the_call_say_what_was_asked():
    request = ComparisonRequest(
        target="y",
        metric="f1",
        models=("svc",),
        settings={"svc": {"C": 10}},
        kinds={"zip": "category"},
        tune=5,
        curve=False,
    )
    assert request.command("a b.csv", "runs/x") == (
        "margin compare 'a b.csv' --target y --metric f1 --model svc --set svc.C=10 --kinds zip=category --tune 5"
        " --no-curve --out runs/x"
    )
    assert request.call("df") == (
        "margin.compare(df, target='y', metric='f1', models=['svc'], settings={'svc': {'C': 10}},"
        " kinds={'zip': 'category'}, tune=5, curve=False)"
    )


def test_models_without_probabilities_are_ranked_where_the_metric_allows_it():
    models = ["linear-svc", "gaussian-nb"]
    ranked = compare(table(), target="sold", metric="roc_auc", models=models, ensembles=False, **FAST)
    assert {s.model: s.status for s in ranked.standings}["linear-svc"] == "ranked"
    below = compare(table(), target="sold", metric="log_loss", models=models, ensembles=False, **FAST)
    reason = {s.model: (s.status, s.error) for s in below.standings}["linear-svc"]
    assert reason == ("failed", "log_loss needs probabilities, which the model does not give.")
    assert below.winner == "gaussian-nb"


def patients(seed=0):
    """Sixty patients, twenty rows each, labels drawn by chance: nothing can be learned of a new patient."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(60), 20)
    X = rng.normal(size=(60, 4))[who] + 0.01 * rng.normal(size=(1200, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(patient=[f"p{i}" for i in who], ill=rng.permutation(np.repeat([0, 1], 30))[who])


def test_folds_of_whole_groups_show_that_nothing_was_learned():
    chosen = {"target": "ill", "models": ["k-neighbors-classifier"], "ensembles": False, **FAST}
    plain = compare(patients(), ignore=["patient"], **chosen)
    grouped = compare(patients(), group="patient", **chosen)
    score = {s.model: s.mean for s in plain.standings}["k-neighbors-classifier"]
    assert score > 0.99
    assert {s.model: s.mean for s in grouped.standings}["k-neighbors-classifier"] < 0.75
    assert "patient" not in grouped.features
    assert "whole groups of patient" in grouped.plan.sentence


def repeated(n=120, times=3, seed=0):
    """Pure noise, every row of it several times: only who remembers rows can predict it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y"], n)
    return pd.concat([frame] * times).sample(frac=1, random_state=seed).reset_index(drop=True)


@pytest.mark.parametrize("how", ["frame", "arrays"])
def test_many_copies_stay_in_one_fold_and_flatter_nobody(how):
    frame = repeated()
    data, y = (frame, None) if how == "frame" else (frame[["a", "b", "c"]].to_numpy(), frame["kind"].to_numpy())
    asked = {"models": ["k-neighbors-classifier"], "held_out": 0.25, **FAST}
    found = compare(
        data, y, target="kind" if y is None else None, settings={"k-neighbors-classifier": {"n_neighbors": 1}}, **asked
    )
    assert found.board.set_index("model").loc["k-neighbors-classifier", "accuracy"] < 0.65
    keys = frame.apply(tuple, axis=1).to_numpy()
    divisions = [*found.plan.folds, (found.plan.development, found.plan.held_out)]
    assert all(not set(keys[train]) & set(keys[test]) for train, test in divisions)
    assert "equal rows in one" in found.plan.sentence
    assert any("240 of 360 rows repeat an earlier one" in remark for remark in found.remarks)
    assert not any("too good" in remark for remark in found.remarks)


def test_a_few_copies_are_only_spoken_of_and_a_group_decides_itself():
    frame = pd.concat([repeated(times=1), repeated(times=1).head(2)], ignore_index=True)
    found = compare(frame, target="kind", models=["gaussian-nb"], **FAST)
    assert found.plan.copies is None
    assert any("2 of 122 rows repeat an earlier one: copies among test rows" in remark for remark in found.remarks)
    grouped = compare(repeated(), target="kind", models=["gaussian-nb"], group=np.arange(360) % 9, **FAST)
    assert (grouped.plan.kind, grouped.plan.copies) == ("groups", None)


def test_rows_that_seem_to_belong_together_are_spoken_of():
    found = compare(patients(), target="ill", models=["gaussian-nb"], ensembles=False, **FAST)
    assert any("'patient' names who rows belong to" in remark for remark in found.remarks)
    assert any("--ignore patient divides them" in remark for remark in found.remarks)
    assert "whole groups of patient" in found.plan.sentence
    assert found.run.manifest["identity"]["group"] == "patient"
    rates = [found.y[test].mean() for _, test in found.plan.folds]
    assert max(rates) - min(rates) < 0.06, "groups are dealt so that classes keep their frequency"
    frame = table().assign(day=pd.date_range("2024-01-01", periods=120))
    ordered = compare(frame, target="sold", models=["gaussian-nb"], ensembles=False, **FAST)
    assert ordered.plan.kind == "stratified"
    assert verdict(ordered)[0].startswith("The folds do not follow day")
    assert "--time day" in verdict(ordered)[0]


def test_columns_that_no_model_sees_are_named_with_the_reason():
    frame = table().assign(number=range(120), same=1)
    found = compare(frame, target="sold", models=["gaussian-nb"], ensembles=False, **FAST)
    assert {"number", "same"}.isdisjoint(found.features)
    assert all(any(remark.startswith(f"{name}: ") for remark in found.remarks) for name in ("number", "same"))
    assert found.best_.predict(frame.head(3)).shape == (3,), "raw rows, with the columns that were left out"


def test_a_folder_opens_again_without_a_fit(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    chosen = {"target": "sold", "models": TWO, "held_out": 0.2, **FAST}
    found = compare(str(tmp_path / "t.csv"), out=tmp_path / "c", **chosen)
    again = open_comparison(tmp_path / "c")
    assert [(s.model, s.scores) for s in again.standings] == [(s.model, s.scores) for s in found.standings]
    assert again.held_out_score == found.held_out_score
    assert again.best_.predict(again.X).tolist() == found.best_.predict(found.X).tolist()
    compare(table(), out=tmp_path / "frame", **chosen)
    with pytest.raises(BadRequest, match="of a data frame"):
        open_comparison(tmp_path / "frame")


def test_time_puts_test_rows_after_training_rows():
    frame = table(60).assign(day=pd.date_range("2024-01-01", periods=60))
    found = compare(frame, target="sold", time="day", models=["gaussian-nb"], **FAST)
    assert found.plan.kind == "time"
    assert all(train.max() < test.min() for train, test in found.plan.folds)
    with pytest.raises(BadRequest, match="dates or numbers"):
        compare(frame, target="sold", time="town", **FAST)


def test_targets_that_are_missing_or_alone_are_left_out_with_a_remark():
    frame = table()
    frame.loc[[3, 5], "sold"] = None
    frame.loc[7, "sold"] = "perhaps"
    found = compare(frame, target="sold", models=["gaussian-nb"], **FAST)
    assert len(found.y) == 117
    assert "2 of 120 rows have no sold" in found.remarks[0]
    assert any("perhaps" in remark for remark in found.remarks)
    named = compare(frame.drop(7), target="sold", models=["gaussian-nb"], missing_target="class", **FAST)
    assert "(missing)" in named.classes
    with pytest.raises(BadRequest, match="missing in 2 of 120 rows"):
        compare(frame, target="sold", missing_target="error", **FAST)


def test_a_lopsided_target_is_ranked_by_a_metric_that_sees_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "rare": (x > 1.8).astype(int)})
    found = compare(frame, target="rare", models=["gaussian-nb"], **FAST)
    assert found.metric.name == "roc_auc"
    assert any("roc_auc" in remark for remark in found.remarks)


def test_there_are_no_more_processes_than_trials(monkeypatch):
    from margin.service.comparison import trials

    asked = []
    plain = trials.open_workers

    def note(candidates, data, jobs, limited):
        asked.append(jobs)
        return plain(candidates, data, 1, limited)

    monkeypatch.setattr(trials, "open_workers", note)
    found = compare(table(), target="sold", models=["gaussian-nb"], **{**FAST, "n_jobs": 1000})
    assert asked == [6], "a model and the baseline in three folds"
    assert found.status == "finished"


def test_a_model_that_fails_is_a_row_and_not_an_end():
    found = compare(table(), target="sold", models=["hard-margin-svc", "gaussian-nb"], ensembles=False, **FAST)
    assert {s.model: s.status for s in found.standings}["hard-margin-svc"] == "failed"
    assert found.status == "finished"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "nothing"}, "no column 'nothing' to predict"),
        ({"target": None}, "needs a target"),
        ({"target": "sold", "group": "toun"}, "there is no column 'toun'; close matches are 'town'"),
        ({"target": "sold", "ignore": ["sold"]}, "which is the target"),
        ({"target": "sold", "kinds": {"town": "colour"}}, "must be one of"),
        ({"target": "sold", "metric": "f1:beta=2"}, "takes pos_label"),
        ({"target": "sold", "settings": ["ridge.alpha=2"]}, "not a model for classification"),
        ({"target": "sold", "settings": ["gaussian-nb.alpha=2"]}, "has no parameter 'alpha'"),
        ({"target": "sold", "models": ["gausian-nb"]}, "did you mean gaussian-nb"),
        ({"target": "sold", "budget": "soon"}, "budget must be a time"),
        ({"target": "sold", "missing_target": "guess"}, "missing_target must be one of"),
        ({"target": "sold", "task": "regression"}, "holds labels"),
        ({"target": "sold", "folds": 1}, "folds must be an integer at least 2"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(options, sentence):
    with pytest.raises(BadRequest, match=sentence):
        compare(table(), n_jobs=1, **options)


def test_a_metric_of_two_classes_names_its_average_for_more():
    frame = table().assign(sold=np.arange(120) % 3)
    with pytest.raises(BadRequest, match=r"f1:pos_label=1 is of two classes, and there are 3; try f1_macro\."):
        compare(frame, target="sold", metric="f1:pos_label=1", **FAST)


def test_settings_are_used_and_shown():
    found = compare(
        table(),
        target="sold",
        models=["k-neighbors-classifier"],
        settings=["k-neighbors-classifier.n_neighbors=9"],
        **FAST,
    )
    assert found.best_.named_steps["model"].n_neighbors == 9
    assert found.standings[0].settings == "n_neighbors=9"


def test_tuning_is_inside_the_folds_and_ends_in_a_plain_model(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    y = X[:, 0] + 3 * rng.normal(size=60)
    found = compare(X, y, models=["ridge"], tune=6, out=tmp_path / "c", **FAST)
    rows = {s.model: s for s in found.standings}
    assert rows["tuned-ridge"].mean < rows["ridge"].mean, "a penalty of 1 is too small for so much noise"
    model = margin.load(tmp_path / "c" / "model.safetensors")
    assert type(model.named_steps["model"]).__name__ == "Ridge"
    assert model.named_steps["model"].alpha > 1
    again = compare(X, y, models=["ridge"], tune=6, out=tmp_path / "c", **FAST)
    assert [(s.model, s.mean) for s in again.standings] == [(s.model, s.mean) for s in found.standings]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("after", [2, 7, 12])
def test_killed_at_any_moment_the_same_call_continues(tmp_path, after):
    chosen = {"target": "sold", "models": TWO, "held_out": 0.25, **FAST}
    calls = []

    def kill(comparison):
        calls.append(comparison)
        if len(calls) == after:
            raise Killed

    with pytest.raises(Killed):
        compare(table(), out=tmp_path / "killed", watch=kill, **chosen)
    before = (tmp_path / "killed" / "trials.jsonl").read_text().splitlines() if after > 1 else []
    continued = compare(table(), out=tmp_path / "killed", **chosen)
    lines = (tmp_path / "killed" / "trials.jsonl").read_text().splitlines()
    assert lines[: len(before)] == before, "no trial runs twice"
    whole = compare(table(), out=tmp_path / "whole", **chosen)
    assert [(s.model, s.scores, s.p_value) for s in continued.standings] == [
        (s.model, s.scores, pytest.approx(s.p_value, nan_ok=True)) for s in whole.standings
    ]
    assert continued.held_out_score == whole.held_out_score
    for name in ("model.safetensors", "judged.safetensors"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_another_metric_needs_no_new_fit_and_another_winner_is_judged_anew(tmp_path):
    chosen = {"target": "sold", "models": TWO, "held_out": 0.25, "ensembles": False, "out": tmp_path / "c", **FAST}
    first = compare(table(), **chosen)
    fits = len([t for t in first.trials if t.stage == "fold"])
    second = compare(table(), metric="fbeta:beta=3", **chosen)
    assert len([t for t in second.trials if t.stage == "fold"]) == fits
    rows, said = second.out_of_fold(second.winner)
    measured = metric("fbeta:beta=3")
    by_fold = [
        measured.of_outputs({"predict": said.predicted[np.isin(rows, test)]}, second.y[test], second.classes)
        for _, test in second.plan.folds
    ]
    own, baseline = (next(s for s in second.standings if s.model == m) for m in (second.winner, "baseline"))
    assert np.mean(by_fold) == pytest.approx(own.mean)
    every = np.full(len(second.y), "yes")
    constant = [measured.of_outputs({"predict": every[t]}, second.y[t], second.classes) for _, t in second.plan.folds]
    assert baseline.mean == pytest.approx(np.mean(constant)), "the best guess by this metric, not by the first"
    assert second.held_out_uses == len({first.winner, second.winner})


def test_a_budget_screens_large_tables_on_a_part_of_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5200, 2))
    y = (X[:, 0] > 0).astype(int)
    found = compare(
        X, y, models=["gaussian-nb"], folds=5, held_out=0, budget="10m", n_jobs=1, ensembles=False, curve=False
    )
    screened = [t for t in found.trials if t.stage == "screen"]
    assert {(t.model, t.n_train) for t in screened} == {("gaussian-nb", 2000), ("baseline", 2000)}
    assert {s.model: s.status for s in found.standings} == {"gaussian-nb": "ranked", "baseline": "ranked"}


def test_within_a_budget_the_winner_is_judged_and_fitted_by_processes(tmp_path):
    chosen = {"target": "sold", "models": TWO, "held_out": 0.25, "out": tmp_path / "c", **FAST}
    found = compare(table(), budget="10m", **chosen)
    free = compare(table(), **{**chosen, "out": tmp_path / "free"})
    assert found.status == "finished"
    assert found.winner == free.winner
    assert found.held_out_scores == free.held_out_scores
    rows = table(20, seed=5)[["size", "noise", "town"]]
    np.testing.assert_array_equal(found.best_.predict(rows), free.best_.predict(rows))
    written = found.run.model_path.stat().st_mtime_ns
    again = compare(table(), budget="10m", **chosen)
    assert again.run.model_path.stat().st_mtime_ns == written, "what is fitted is not fitted again"
    assert again.status == "finished"


def test_a_winner_too_dear_for_the_budget_makes_way_and_that_is_said(tmp_path, monkeypatch):
    from margin.service.comparison import last_fits

    plain = last_fits.finishing_seconds
    dear = []

    def dear_winner(comparison, standing):
        dear[:] = dear or [comparison.winner]
        return 1e6 if standing.model == dear[0] else plain(comparison, standing)

    monkeypatch.setattr(last_fits, "finishing_seconds", dear_winner)
    found = compare(table(), target="sold", models=TWO, budget="10m", out=tmp_path / "c", **FAST)
    assert found.standings[0].model == dear[0] != found.winner
    assert found.standings[0].status == "ranked"
    assert found.run.manifest["winner"]["model"] == found.winner
    assert any(dear[0] in said and "not the winner" in said for said in verdict(found))
    assert found.best_ is not None


def test_where_everything_is_too_dear_the_cheapest_is_fitted(monkeypatch):
    from margin.service.comparison import last_fits

    monkeypatch.setattr(last_fits, "finishing_seconds", lambda _, s: 1e6 if s.model != TWO[0] else 1e5)
    found = compare(table(), target="sold", models=TWO, budget="10m", **FAST)
    assert (found.winner, found.status) == (TWO[0], "finished")


def test_a_leader_that_is_fitted_at_once_is_fitted_even_if_no_time_is_left(monkeypatch):
    from margin.selection import Budget
    from margin.service.comparison import last_fits

    free = compare(table(), target="sold", models=TWO, budget="10m", **FAST)
    plain = Budget.left
    little = lambda self, keep=0.0: plain(self, keep) if keep != last_fits.FOR_THE_REPORT else -5.0  # noqa: E731
    monkeypatch.setattr(Budget, "left", little)
    found = compare(table(), target="sold", models=TWO, budget="10m", **FAST)
    assert (found.winner, found.passed_over, found.status) == (free.winner, {}, "finished")


def test_a_last_fit_that_takes_far_longer_than_expected_makes_way(monkeypatch):
    from margin.service.comparison import last_fits

    # The trials have all the time they need, and the last fits of all but the last one have none.
    monkeypatch.setattr(last_fits, "_limit", lambda *_: -1.0)
    found = compare(table(), target="sold", models=[*TWO, "mlp-classifier"], settings=SLOW, budget="10m", **FAST)
    assert found.status == "finished"
    assert "its last fit took more than" in " ".join(found.passed_over.values())
    assert found.best_ is not None


def test_without_a_single_fold_the_best_on_a_part_of_the_rows_is_fitted(monkeypatch):
    from margin.service.comparison import trials

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5200, 2))
    monkeypatch.setattr(trials, "run_folds", lambda *_, **__: iter(()))
    found = compare(X, (X[:, 0] > 0).astype(int), models=TWO, budget="10m", held_out=0, **{**FAST, "folds": 5})
    assert {s.status for s in found.standings} == {"cut"}
    assert (found.winner, found.status) == (found.standings[0].model, "finished")


def test_where_screening_measured_nothing_the_first_models_are_tried_nevertheless(monkeypatch):
    from margin.service.comparison import trials

    def busy_machine(workers, names, plan, trials, *, given_up, **_):
        given_up.update({name: "not reached when screening ended" for name in names if name != "baseline"})
        return iter(())

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5200, 2))
    monkeypatch.setattr(trials, "screen", busy_machine)
    asked = {**FAST, "folds": 5, "held_out": 0, "ensembles": False}  # enough training rows to be screened
    found = compare(X, (X[:, 0] > 0).astype(int), models=TWO, budget="10m", **asked)
    assert found.status == "finished"
    assert found.winner in TWO


def budget_spent(models, out=None, settings=()):
    """A comparison whose minute was over before its first trial, as on a machine that is busy with other things."""
    request = ComparisonRequest(target="sold", models=models, settings=settings, held_out=0.25, folds=3, budget=60.0)
    spent = Oversight(started=monotonic() - 1000)
    return run_comparison(table(), None, request, out=out, how=HowToRun(n_jobs=2), oversight=spent)


def test_a_budget_that_ended_before_any_trial_still_ends_with_a_model(tmp_path, monkeypatch):
    # What the last fits may take in any case: on a machine as busy as this one pretends to be, two seconds are none.
    monkeypatch.setattr("margin.service.comparison.last_fits.START_SECONDS", 600.0)
    found = budget_spent((*TWO, "logistic-regression"), tmp_path / "c")
    assert (found.winner, found.status) == ("logistic-regression", "finished")
    rows = table(20, seed=5)
    assert accuracy(rows["sold"], found.best_.predict(rows[["size", "noise", "town"]])) > 0.7
    assert found.held_out_score is not None
    assert {t.model for t in found.trials} == {"baseline", "logistic-regression"}
    said = " ".join(verdict(found))
    assert "No model was done with a fold within 60 s: logistic-regression" in said
    assert "2 of 3 models were not tried" in said
    reasons = {s.model: s.error for s in found.standings}
    assert reasons["gaussian-nb"] == "not reached within 60 s"
    assert reasons["baseline"] == reasons["logistic-regression"] == "tried on 60 rows only, when 60 s were over"
    written = found.run.model_path.stat().st_mtime_ns
    again = budget_spent((*TWO, "logistic-regression"), tmp_path / "c")
    assert (again.status, again.run.model_path.stat().st_mtime_ns) == ("finished", written)


def test_who_was_late_is_tried_behind_the_others_but_for_the_baseline():
    from margin.service.comparison.one_model import try_until_one_is_measured

    class Workers:
        def run(self, next_task, stop):
            while (task := next_task()) is not None:
                begun.append((task.model, task.limit, task.deadline))
                yield (
                    Trial(task.model, 0, error="broken" if task.model != "svc" else "", scores={"accuracy": 0.5}),
                    None,
                )

    begun, trials = [], [Trial("baseline", 0, late=True, error="late"), Trial("ridge", 0, late=True, error="late")]
    plan = plan_folds([0, 1] * 10, "classification")
    names = ["baseline", "ridge", "svc", "knn"]
    for trial, _ in try_until_one_is_measured(Workers(), names, plan, trials, metric("accuracy"), Event()):
        trials.append(replace(trial, scores={}) if trial.error else trial)
    assert begun == [("baseline", None, None), ("svc", None, None)]


def test_where_the_first_simple_model_fails_the_next_is_tried_though_time_is_up():
    found = budget_spent(("gaussian-nb", "multinomial-nb"), settings=("gaussian-nb.priors=[0.9,0.9]",))
    assert (found.winner, found.status) == ("multinomial-nb", "finished")
    assert next(s.status for s in found.standings if s.model == "gaussian-nb") == "failed"


def test_a_baseline_that_is_as_good_as_the_best_is_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"noise": rng.normal(size=120), "more": rng.normal(size=120), "y": rng.choice(["a", "b"], 120)}
    )
    found = compare(frame, target="y", models=TWO, ensembles=False, **FAST)
    assert any("baseline" in said and "nothing was found to learn" in said for said in verdict(found))


def placed(own, baseline, **more):
    """A comparison with these scores of a model and of the baseline, by fold."""
    found = compare(table(), target="sold", models=["gaussian-nb"], held_out=0, **FAST)
    rows = [(*name_scores, "fold") for name_scores in (("gaussian-nb", own), ("baseline", baseline))]
    trials = tuple(
        Trial(name, fold, {"accuracy": score}, 0.1, 0.1, 80, 40, stage=stage)
        for name, scores, stage in rows
        for fold, score in enumerate(scores)
    )
    return replace(found, trials=trials, **more)


def test_the_baseline_is_ahead_only_on_the_same_folds():
    # As at the end of a budget: the baseline has all folds, and on the only one of the model's it is far behind.
    ended = placed([0.85], [0.5, 0.95, 0.95])
    assert [s.model for s in ended.standings] == ["baseline", "gaussian-nb"]
    assert not any("nothing was found to learn" in said for said in verdict(ended))
    behind = placed([0.45], [0.5, 0.95, 0.95])
    assert any(
        "as good as gaussian-nb on the same rows: nothing was found to learn" in said for said in verdict(behind)
    )


def test_nobody_is_the_best_of_none_and_one_model_was_not_chosen():
    said = " ".join(verdict(placed([0.85], [0.5, 0.5, 0.5])))
    assert "the best of" not in said
    assert "No rows were held out: nothing but what is on the board has judged gaussian-nb." in said


def test_where_nothing_was_learned_there_is_no_good_fit():
    y = np.array([0, 1] * 60)
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]] * 30)  # both classes everywhere
    found = compare(X + np.arange(120)[:, None] * 1e-6, y, models=TWO, **{**FAST, "curve": True})
    said = " ".join(verdict(found))
    assert "nothing was found to learn" in said
    assert found.curve is not None
    assert found.diagnosis in ("More rows would help.", "Twice the rows changed little.")
    assert "fit:" not in said
    assert "fits" not in said


def test_time_that_ended_a_search_is_said_with_who_was_ahead(tmp_path):
    found = placed([0.7, 0.7, 0.7], [0.5, 0.5, 0.5], request=ComparisonRequest(budget=60.0))
    assert found.cut_short == ""
    on_a_part = {"stage": "screen", "n_train": 40, "n_test": 20}
    on_parts = (
        Trial("gaussian-nb", 0, {"accuracy": 0.65}, 0.1, 0.1, **on_a_part),
        Trial("dear", 0, {"accuracy": 0.9}, 0.1, 0.1, **on_a_part),
        Trial("poor", 0, {"accuracy": 0.6}, 0.1, 0.1, **on_a_part),
        Trial("other", 0, {"accuracy": 0.95}, 0.1, 0.1, **{**on_a_part, "n_train": 50}),
    )
    given_up = {"dear": "took long", "poor": "after 40 rows", "other": "took long", "never": "not reached"}
    found = replace(found, trials=found.trials + on_parts, given_up=given_up)
    sentence = (
        "Time ended the search after 60 s: of 5 models, 3 tried on a part of the rows, 1 without a score."
        " dear was ahead on the same rows. --budget gives more time."
    )
    assert found.cut_short == sentence
    assert sentence in verdict(found)
    assert sentence in found.report(tmp_path / "r.html").read_text()
    assert placed([0.7], [0.5], given_up={"never": "not reached"}).cut_short == ""


def test_a_held_out_score_beyond_the_interval_is_explained_and_has_its_own_guess():
    from margin.service.comparison.caveats import beyond_the_interval

    frame = table(300)
    frame["sold"] = np.where(np.arange(300) % 3 > 0, "yes", "no")
    frame.loc[frame.index[::2], "size"] = np.where(frame["sold"][::2] == "yes", 3.0, -3.0)
    found = compare(frame, target="sold", models=TWO, held_out=0.25, **FAST)
    held, development = found.y[found.plan.held_out], found.y[found.plan.development]
    assert (development == "yes").mean() > 0.5
    assert found.held_out_chance == np.mean(held == "yes")
    assert any(f"has {np.mean(held == 'yes'):.4f} there" in said for said in verdict(found))
    own = replace(found.standings[0], low=0.70, high=0.80)
    assert beyond_the_interval(found, own, 0.75, 5) == ""
    assert "worse than the interval of its folds" in beyond_the_interval(found, own, 0.69, 5)
    assert "the best of 5 is flattered" in beyond_the_interval(found, own, 0.69, 5)
    assert "flattered" not in beyond_the_interval(found, own, 0.81, 5)
    found = replace(found, plan=replace(found.plan, kind="time"))
    assert "the last 75" in beyond_the_interval(found, own, 0.69, 5)


def test_each_error_of_the_diagnosis_has_a_constant_on_its_own_rows():
    # The target grows from row to row and spreads more, so that later rows have larger errors, of the constant too.
    n = 240
    rng = np.random.default_rng(0)
    level = np.linspace(1.0, 20.0, n)
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "level": level, "t": np.arange(n), "y": level * (1 + 0.1 * x)})
    asked = {"target": "y", "time": "t", "models": ["linear-regression"], "held_out": 0, "task": "regression"}
    found = compare(frame, **asked, **{**FAST, "curve": True})
    y = frame["y"].to_numpy()
    folds = found.plan.folds
    ends = [np.sqrt(np.mean((y[rows] - y[train].mean()) ** 2)) for train, test in folds for rows in (train, test)]
    assert any("the baseline is behind in each fold" in said for said in verdict(found))
    own = found.curve.train[-1].mean() / np.mean(ends[::2]), found.curve.validation[-1].mean() / np.mean(ends[1::2])
    assert f"{own[0]:.0%} of the constant's error is left on training rows, {own[1]:.0%} on others" in found.diagnosis


def test_a_disk_that_was_full_for_a_moment_changes_nobodys_place(tmp_path, monkeypatch):
    from margin.core import full_disk
    from margin.store import container

    chosen = {"target": "sold", "models": TWO, "held_out": 0.25, "ensembles": False, **FAST}
    free = compare(table(), **chosen)
    real, refused = container._write_atomically, []

    def full_once(path, content):
        if path.name not in refused and path.suffix == ".safetensors":
            refused.append(path.name)
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(full_disk.time, "sleep", lambda _: None)
    monkeypatch.setattr(full_disk, "WAITS", (0.0,))
    monkeypatch.setattr(container, "_write_atomically", full_once)
    found = compare(table(), **chosen, out=tmp_path / "c")
    assert refused == ["judged.safetensors", "model.safetensors"]
    assert (found.winner, found.given_up, found.status) == (free.winner, {}, "finished")


def test_who_failed_in_an_earlier_start_is_tried_again(tmp_path):
    chosen = {"target": "sold", "models": TWO, "ensembles": False, "budget": "10m", "out": tmp_path / "c", **FAST}
    first = compare(table(), **chosen)
    first.run.update(cut={first.winner: "failed on all rows: OSError: No space left on device"})
    again = compare(table(), **chosen)
    assert (again.winner, again.given_up) == (first.winner, {})


def test_the_baseline_is_the_best_guess_for_the_metric():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "y": np.repeat(["a", "b"], 200)})
    asked = {"target": "y", "models": TWO, "held_out": 0, "ensembles": False, **FAST}
    found = compare(frame, metric="f1_macro", **asked)
    baseline = next(s for s in found.standings if s.model == "baseline")
    assert baseline.mean == pytest.approx(0.5, abs=0.08), "a constant has 1/3"
    frame["y"] = np.exp(2 * rng.normal(size=400))
    found = compare(frame, metric="mae", **{**asked, "models": ["ridge"]})
    baseline = next(s for s in found.standings if s.model == "baseline")
    y = frame["y"].to_numpy()
    medians = [np.abs(y[test] - np.median(y[train])).mean() for train, test in found.plan.folds]
    assert baseline.mean <= 1.02 * np.mean(medians)


def test_what_a_few_large_errors_hide_is_told_by_the_others():
    rng = np.random.default_rng(1)
    a = rng.normal(size=600)
    asked = {"target": "y", "models": ["ridge"], "held_out": 0, "ensembles": False, **FAST}
    found = compare(pd.DataFrame({"a": a, "y": np.exp(3 * a + 0.5 * rng.normal(size=600))}), **asked)
    spoiled = next(t.scores["rmse"] for t in found.trials if t.model == "baseline" and t.fold == 0)
    trials = [
        replace(t, scores={**t.scores, "rmse": 1.01 * spoiled}) if (t.model, t.fold) == ("log-ridge", 0) else t
        for t in found.trials
    ]
    found = replace(found, trials=tuple(trials))
    baseline = next(s for s in found.standings if s.model == "baseline")
    assert (found.metric.name, found.winner, baseline.tied) == ("rmse", "log-ridge", True)
    told = [said for said in verdict(found) if "baseline" in said]
    assert len(told) == 1
    assert told[0].startswith("≈ the baseline is not distinguishable from the best by rmse, which a few large errors")
    noise = compare(pd.DataFrame({"a": a, "y": np.exp(3 * rng.normal(size=600))}), **asked)
    assert any("nothing was found to learn" in said for said in verdict(noise)), "the median alone is no knowledge"


def test_a_skewed_target_is_also_learned_as_its_logarithm(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    frame = pd.DataFrame({"a": a, "b": b, "price": np.exp(3 * a + 0.5 * rng.normal(size=400))})
    asked = {"target": "price", "models": ["ridge", "lasso"], "held_out": 0.25, "ensembles": False, **FAST}
    found = compare(frame, metric="mae", out=tmp_path / "c", **asked)
    means = {s.model: s.mean for s in found.standings}
    assert set(means) == {"baseline", "ridge", "lasso", "log-ridge"}
    assert found.winner == "log-ridge"
    assert means["log-ridge"] < 0.6 * means["baseline"] < means["ridge"]
    assert any("price is skewed" in said and "--metric rmsle or --metric mae" in said for said in found.remarks)
    far = pd.DataFrame({"a": [-9.0, 0.0, 9.0], "b": [0.0, 0.0, 0.0]})
    said = found.best_.predict(far)
    y = frame["price"].to_numpy()
    assert (said > 0).all()
    assert said[2] == pytest.approx(2 * y.max()), "the exponential of a line has to end somewhere"
    np.testing.assert_array_equal(margin.load(found.run.model_path).predict(far), said)
    assert compare(frame, metric="mae", out=tmp_path / "c", **asked).winner == "log-ridge"
    plain = compare(frame.assign(price=a + b), metric="mae", **asked)
    assert {s.model for s in plain.standings} == {"baseline", "ridge", "lasso"}


def test_the_folder_is_strict_json_and_complete(tmp_path):
    chosen = {**FAST, "curve": True}
    found = compare(table(), target="sold", models=["gaussian-nb"], held_out=0.2, out=tmp_path / "c", **chosen)
    for name in ("manifest.json", "board.json", "curve.json"):
        json.loads((tmp_path / "c" / name).read_text(), parse_constant=pytest.fail)
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text())
    assert manifest["call"] == found.call
    assert manifest["classes"] == ["no", "yes"]
    with np.load(tmp_path / "c" / "folds.npz") as folds:
        np.testing.assert_array_equal(folds["held_out"], found.plan.held_out)
    assert found.curve is not None
    assert found.curve.sizes[-1] == len(found.plan.folds[0][0])
    assert "rows" in found.diagnosis


def test_a_winner_that_fails_on_all_rows_makes_way_for_the_next(monkeypatch):
    from margin.service.comparison import finishing

    plain, refused = finishing._final_model, []

    def refuse_the_first(job, winner):
        if not refused:
            refused.append(winner.name)
        if winner.name == refused[0]:
            raise ValueError("not today")
        return plain(job, winner)

    monkeypatch.setattr(finishing, "_final_model", refuse_the_first)
    found = compare(table(), target="sold", models=TWO, ensembles=False, **FAST)
    assert found.status == "finished"
    assert found.winner in set(TWO) - set(refused)
    assert {s.model: s.error for s in found.standings}[refused[0]] == "failed on all rows: ValueError: not today"
