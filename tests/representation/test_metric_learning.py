"""Neighborhood components analysis against scikit-learn's and its own laws."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis as Theirs

from margin.representation import NeighborhoodComponentsAnalysis, nca_objective


def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("init", ["pca", "lda", "identity"])
def test_the_objective_is_as_high_as_scikit_learns(init):
    """Standardized columns: the same start, the same objective, the same optimizer."""
    X, y = iris()
    options = {"n_components": 2, "init": init, "max_iter": 60, "tol": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, theirs = (kind(**options).fit(X, y) for kind in (NeighborhoodComponentsAnalysis, Theirs))
    found, expected = (nca_objective(model.components_, X, y)[0] for model in (ours, theirs))
    assert found > expected - 0.02 * len(X)


def test_units_of_the_columns_do_not_matter():
    X, y = iris()
    units = np.array([1.0, 10.0, 0.01, 100.0])
    plain, scaled = (NeighborhoodComponentsAnalysis(n_components=2).fit(rows, y) for rows in (X, X * units))
    np.testing.assert_allclose(scaled.transform(X * units), plain.transform(X), atol=1e-4)


def test_a_given_start_and_a_warm_start_go_on():
    X, y = iris()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first = NeighborhoodComponentsAnalysis(n_components=2, init="pca", max_iter=3).fit(X, y)
        value = nca_objective(first.components_, X, y)[0]
        given = NeighborhoodComponentsAnalysis(init=first.components_, max_iter=3).fit(X, y)
        warm = first.set_params(warm_start=True).fit(X, y)
    np.testing.assert_allclose(warm.components_, given.components_, rtol=1e-9, atol=1e-12)
    assert nca_objective(warm.components_, X, y)[0] > value


def test_an_unfinished_fit_warns():
    X, y = iris()
    with pytest.warns(ConvergenceWarning, match="not converged after max_iter=1"):
        NeighborhoodComponentsAnalysis(max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_components": 5}, "n_components must be at most 4, the columns of X; got 5"),
        ({"init": np.eye(3)}, r"init must have 4 columns like X; got shape \(3, 3\)"),
        ({"init": np.eye(2, 4), "n_components": 3}, "n_components must be 2, the rows of the start; got 3"),
    ],
)
def test_bad_input_is_named(options, sentence):
    X, y = iris()
    with pytest.raises(ValueError, match=sentence):
        NeighborhoodComponentsAnalysis(**options).fit(X, y)


def test_where_classes_give_too_few_directions_principal_ones_follow():
    X, y = iris()
    start = NeighborhoodComponentsAnalysis(n_components=4, init="lda")._start(X, y, np.ones(4))
    assert np.linalg.matrix_rank(start) == 4
    two = NeighborhoodComponentsAnalysis(n_components=2, init="lda")._start(X, y, np.ones(4))
    np.testing.assert_allclose(start[:2], two)
    np.testing.assert_allclose(start[2:] @ two.T, 0, atol=1e-9)
    first, second = (X @ start[2:].T).var(axis=0)
    assert first > second
    few = NeighborhoodComponentsAnalysis(n_components=3, max_iter=1).fit(X[[0, 1, 50, 51, 100]], y[[0, 1, 50, 51, 100]])
    assert few.components_.shape == (3, 4)


def test_every_iteration_is_told_and_printed(capsys):
    X, y = iris()
    seen = []
    model = NeighborhoodComponentsAnalysis(
        2, max_iter=5, tol=0, callback=lambda flat, n_iter: seen.append((flat, n_iter)), verbose=1
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(10 * X, y)
    assert [n_iter for _, n_iter in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(seen[-1][0].reshape(2, 4), model.components_)
    value = nca_objective(model.components_, 10 * X, y)[0]
    assert f"iteration 5: objective {value:.6g}" in capsys.readouterr().out
