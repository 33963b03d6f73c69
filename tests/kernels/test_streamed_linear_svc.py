"""Linear machines on a stream find the minimum that they find on the rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC as Peer

from margin.data.streams import stream, table_stream
from margin.kernels import LinearSVC
from margin.kernels.stream_squared_hinge import StreamMachines


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 100)
    monkeypatch.setattr("margin.kernels.stream_squared_hinge.SAMPLE_ROWS", 90)


def table(k, shift=0.0):
    rng = np.random.default_rng(8)
    y = rng.integers(k, size=600)
    X = rng.normal(size=(600, 4)) * [1, 3, 0.2, 1] + np.outer(y, [1.0, -1, 0.1, 0]) + shift
    return X, y


def streamed(X, y):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    return stream([frame[:250], frame[250:260], frame[260:]], "y")


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "settings",
    [{}, {"fit_intercept": False}, {"intercept_scaling": 2.0}, {"class_weight": "balanced", "C": 30.0}],
    ids=["plain", "no intercept", "penalized intercept", "weights"],
)
@pytest.mark.parametrize("shift", [0.0, 3000.0])
def test_the_minimum_is_that_of_the_rows(k, settings, shift):
    if shift and (settings.get("fit_intercept") is False or "intercept_scaling" in settings):
        shift = 5.0
    X, y = table(k, shift)
    here = LinearSVC(tol=1e-8, **settings).fit(X, y)
    there = LinearSVC(tol=1e-8, **settings).fit(streamed(X, y))
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-5, atol=1e-7)
    assert (there.predict(X) == here.predict(X)).all()


def test_it_is_the_peers_problem():
    X, y = table(3)
    ours = LinearSVC(tol=1e-9, intercept_scaling=1.0).fit(streamed(X, y))
    theirs = Peer(tol=1e-9, dual=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)


def test_the_gap_bounds_the_excess():
    X, y = table(2)
    for settings in ({}, {"fit_intercept": False}):
        model = LinearSVC(tol=1e-9, **settings)
        passes = model.iterate(streamed(X, y))
        next(passes)
        assert isinstance(model._loop, StreamMachines)
        early = model._loop.machines[0]
        excess, gap = early.objective(model.fit_intercept), early.gap(model.fit_intercept)
        for _ in passes:
            pass
        last = model._loop.machines[0]
        assert gap >= excess - last.objective(model.fit_intercept) - 1e-9
        assert abs(last.gap(model.fit_intercept)) <= 1e-6 * last.objective(model.fit_intercept)


def test_what_a_stream_cannot_have_is_said():
    X, y = table(2)
    with pytest.raises(ValueError, match=r"^LinearSVC: of a stream penalty='l2'.*got 'l2', 'hinge'"):
        LinearSVC(loss="hinge").fit(streamed(X, y))
