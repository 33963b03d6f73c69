"""Partial dependence against scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor as PeerBoosting
from sklearn.inspection import partial_dependence as peer_dependence

from margin.interpretation import individual_curves, partial_dependence
from margin.interpretation.partial_dependence import grid_of


def test_partial_dependence_equals_scikit_learns():
    X, y = load_diabetes(return_X_y=True)
    model = PeerBoosting(n_estimators=20, random_state=0).fit(X, y)
    theirs = peer_dependence(model, X, [2], method="brute", kind="both", grid_resolution=20)
    grid = theirs["grid_values"][0]
    np.testing.assert_allclose(partial_dependence(model.predict, X, [2], grid), theirs["average"][0])
    np.testing.assert_allclose(individual_curves(model.predict, X, [2], grid), theirs["individual"][0])


def test_two_columns_at_once():
    X = np.random.default_rng(3).normal(size=(50, 3))
    grid = np.array([[0.0, 1.0], [2.0, 3.0]])
    found = partial_dependence(lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], X, [0, 1], grid)
    np.testing.assert_allclose(found, [X[:, 2].mean(), 6 + X[:, 2].mean()])
    weighted = partial_dependence(lambda rows: rows[:, 2], X, [0], grid[:, :1], weight=np.eye(50)[7])
    np.testing.assert_allclose(weighted, X[7, 2])


def test_what_partial_dependence_refuses():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="columns must be from 0 to 1; got"):
        partial_dependence(lambda rows: rows[:, 0], X, [2], np.zeros(3))
    with pytest.raises(ValueError, match="grid must have 2 numbers per point; got 1"):
        partial_dependence(lambda rows: rows[:, 0], X, [0, 1], np.zeros(3))
    with pytest.raises(ValueError, match="one number per row"):
        partial_dependence(lambda rows: rows, X, [0], np.zeros(3))
    with pytest.raises(ValueError, match="not missing"):
        grid_of(np.full(3, np.nan))


def test_the_grid_covers_the_middle_of_a_column():
    x = np.random.default_rng(4).normal(size=1000)
    grid = grid_of(x, points=11, trim=0.1)
    assert len(grid) == 11
    np.testing.assert_allclose([grid[0], grid[-1]], np.quantile(x, [0.1, 0.9]))


def test_infinite_values_are_no_points_of_a_grid():
    from margin.interpretation.partial_dependence import grid_of

    x = np.append(np.linspace(0.0, 1.0, 101), [np.inf, -np.inf, np.nan])
    grid = grid_of(x)
    assert len(grid) == 50
    assert np.isfinite(grid).all()
