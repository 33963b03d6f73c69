"""Regressions that stay near their training targets, in files and graphs too, and models that should not win."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import margin
from margin.data.standard_columns import StandardColumns
from margin.linear import LinearRegression, PolynomialRegression
from margin.metrics import metric
from margin.selection import Trial
from margin.selection.bounded import BoundedPipeline, bounded_prediction
from margin.selection.outputs import output_of
from margin.selection.steadiness import unsteady
from margin.store import StoreError

RNG = np.random.default_rng(0)
X = RNG.standard_t(3, (60, 2))
Y = 5.0 + X[:, 0] - X[:, 1] ** 2 + 0.1 * RNG.normal(size=60)
FAR = np.array([[1e4, 0.0], [0.0, 1e6], [0.0, 0.0], [-1e4, 0.0]])


def bounded(**options):
    return BoundedPipeline([("scale", StandardColumns()), ("model", PolynomialRegression(2))], **options)


def test_predictions_are_those_of_the_pipeline_within_the_bounds():
    model, free = bounded().fit(X, Y), Pipeline(bounded().steps).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), np.clip(free.predict(X), Y.min() - Y.std(), Y.max() + Y.std()))
    assert np.abs(free.predict(FAR)).max() > 1e6
    low, high = model.bounds
    assert (low, high) == pytest.approx((Y.min() - Y.std(), Y.max() + Y.std()))
    assert model.predict(FAR).min() >= low
    assert model.predict(FAR).max() <= high
    np.testing.assert_array_equal(model.set_params(margin=np.inf).predict(FAR), free.predict(FAR))
    assert clone(bounded(margin=0.5)).margin == 0.5
    assert bounded(margin=0.5)[1:].margin == 0.5
    with pytest.raises(ValueError, match="margin must be at least 0; got -1"):
        bounded(margin=-1).fit(X, Y)


def test_a_constant_target_is_predicted_as_it_is():
    model = bounded().fit(X, np.full(60, 7.0))
    np.testing.assert_array_equal(model.predict(FAR), np.full(4, 7.0))
    assert output_of(model, X).excess < 1e-6  # what rounding adds to a constant is no excess
    huge = bounded().fit(X[:, :2], np.where(np.arange(60) % 2, 1e200, -1e200))  # whose squares overflow
    assert np.isfinite(huge.bounds).all()


@pytest.mark.parametrize("standard", [False, True])
def test_what_was_cut_off_is_measured_in_ranges_of_the_target(standard):
    inner = bounded(margin=0.0)
    model = TransformedTargetRegressor(inner, transformer=StandardScaler()) if standard else inner
    model.fit(X, Y)
    predicted, excess = bounded_prediction(model, FAR)
    np.testing.assert_allclose(predicted, model.predict(FAR), rtol=1e-12)
    free = Pipeline(bounded().steps).fit(X, Y).predict(FAR)
    worst = max(Y.min() - free.min(), free.max() - Y.max()) / np.ptp(Y)
    assert excess == pytest.approx(worst, rel=1e-6)
    assert bounded_prediction(LinearRegression().fit(X, Y), FAR)[1] == 0.0


def test_a_file_and_a_graph_keep_the_bounds(tmp_path):
    model = bounded(margin=0.5).fit(X, Y)
    margin.save(model, tmp_path / "m.safetensors")
    again = margin.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict(FAR), model.predict(FAR))
    assert again.bounds == model.bounds
    runtime = pytest.importorskip("onnxruntime")
    linear = BoundedPipeline([("scale", StandardColumns()), ("model", LinearRegression())]).fit(X, Y)
    margin.export_onnx(linear, tmp_path / "m.onnx")
    (found,) = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": FAR})
    np.testing.assert_allclose(found.ravel(), linear.predict(FAR), rtol=1e-9)
    assert np.ptp(found) <= np.ptp(Y) + 2 * Y.std() + 1e-9


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"margin": -1.0}, "margin"),
        ({"margin": "far"}, "margin"),
        ({"lowest_": 1e9}, "lowest_"),
        ({"deviation_": np.nan}, "deviation_"),
    ],
)
def test_a_file_with_bounds_that_are_none_is_refused(tmp_path, change, sentence):
    model = bounded().fit(X, Y)
    model.__dict__.update(change)
    margin.save(model, tmp_path / "m.safetensors")
    with pytest.raises(StoreError, match=sentence):
        margin.load(tmp_path / "m.safetensors")


def test_a_run_that_iterates_learns_the_bounds_too(tmp_path):
    network = margin.MLPRegressor((4,), max_iter=3, random_state=0)
    model = BoundedPipeline([("scale", StandardColumns()), ("model", network)], margin=0.0)
    fitted = margin.fit(model, X, Y, run=tmp_path / "run")
    assert fitted.predict(1e6 * FAR).min() >= Y.min()
    assert fitted.predict(1e6 * FAR).max() <= Y.max()


def fold(model, number, rmse, excess=0.0):
    return Trial(model, number, {"rmse": rmse}, 1.0, 1.0, 100, 50, excess=excess)


def test_who_leaves_the_range_by_far_or_fails_in_one_fold_is_named():
    trials = [
        *(fold("baseline", i, 1.0) for i in range(3)),
        *(fold("steady", i, 0.5 + 0.1 * i, excess=0.4) for i in range(3)),
        *(fold("wild", i, 0.4, excess=1e7 * (i == 1)) for i in range(3)),
        *(fold("uneven", i, (0.02, 0.03, 2.5)[i]) for i in range(3)),
        *(fold("exact", i, 10.0 ** -(12 + i)) for i in range(3)),
    ]
    found = unsteady(trials, metric("rmse"), "baseline")
    assert set(found) == {"wild", "uneven"}
    assert found["wild"] == "in fold 2 it went 1e+07 times the range of the training targets beyond it"
    assert found["uneven"] == "its rmse in one fold is 2.5, in another 0.02"
    assert unsteady([], metric("rmse"), "baseline") == {}
