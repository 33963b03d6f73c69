"""Regression metrics against scikit-learn, with and without weights, and the numbers of the notes' patients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from margin import metrics
from margin.data import load

PAIRS = {
    "mse": oracle.mean_squared_error,
    "rmse": oracle.root_mean_squared_error,
    "mae": oracle.mean_absolute_error,
    "median_absolute_error": oracle.median_absolute_error,
    "r2": oracle.r2_score,
    "explained_variance": oracle.explained_variance_score,
    "mape": oracle.mean_absolute_percentage_error,
    "pinball": oracle.mean_pinball_loss,
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("n", [2, 7, 200])
@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(name, n, outputs, weighted):
    rng = np.random.default_rng(n)
    shape = (n,) if outputs is None else (n, outputs)
    y, p = rng.normal(size=shape), rng.normal(size=shape)
    # Small whole weights make exact halves, where weighted medians go wrong.
    w = rng.integers(0, 3, n).astype(float) + (np.arange(n) < 2) if weighted else None
    ours = getattr(metrics, name)(y, p, sample_weight=w)
    np.testing.assert_allclose(ours, PAIRS[name](y, p, sample_weight=w), rtol=1e-12)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12).filter(any), st.integers(0, 10**6))
def test_weighted_median_is_the_median_of_repeated_rows(counts, seed):
    error = np.random.default_rng(seed).integers(0, 6, len(counts)).astype(float)
    weighted = metrics.median_absolute_error(np.zeros(len(counts)), error, sample_weight=counts)
    assert weighted == np.median(np.repeat(error, counts))


@given(st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_the_quantile_minimizes_the_pinball_loss(seed, alpha):
    y = np.random.default_rng(seed).normal(size=31)
    losses = [metrics.pinball(y, np.full(31, c), alpha=alpha) for c in y]
    best = y[int(np.argmin(losses))]
    assert np.mean(y < best) <= alpha + 1e-12
    assert np.mean(y <= best) >= alpha - 1e-12


def test_constant_response():
    assert metrics.r2([2, 2], [2, 2]) == oracle.r2_score([2, 2], [2, 2]) == 1.0
    assert metrics.r2([2, 2], [2, 3]) == oracle.r2_score([2, 2], [2, 3]) == 0.0


def test_adjusted_r2_against_its_definition():
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=20), rng.normal(size=20)
    unbiased = 1 - (np.sum((y - p) ** 2) / (20 - 3 - 1)) / (np.sum((y - y.mean()) ** 2) / (20 - 1))
    assert metrics.adjusted_r2(y, p, n_features=3) == pytest.approx(unbiased, rel=1e-12)


def test_three_forms_of_r2_agree_only_where_least_squares_was_fitted():
    patients = load("cholesterol")
    train, test = patients.split
    A = np.column_stack([np.ones(10), patients.X])
    theta = np.linalg.lstsq(A[train], patients.y[train], rcond=None)[0]
    np.testing.assert_allclose(theta, [25.684211, 0.936842, 5.789474], atol=5e-7)
    fit = A @ theta
    y = patients.y
    assert metrics.mse(y[train], fit[train]) == pytest.approx(1.26, abs=0.005)
    assert metrics.mse(y[test], fit[test]) == pytest.approx(12.24, abs=0.005)
    forms = (metrics.r2, metrics.explained_ratio, metrics.squared_correlation)
    np.testing.assert_allclose([form(y[train], fit[train]) for form in forms], 0.99900, atol=5e-6)
    np.testing.assert_allclose([form(y[test], fit[test]) for form in forms], [0.9903, 0.8648, 0.9949], atol=5e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], [1, 2, 3]), "equal shapes"),
        (([], []), "must not be empty"),
        (([1, np.nan], [1, 2]), "must be finite"),
        ((["a", "b"], [1, 2]), "array of real numbers"),
        (([[[1]]], [1]), "dimension"),
        (([1, 2], [1, 2], [1, -1]), "must not be negative"),
        (([1, 2], [1, 2], [0, 0]), "all zero"),
        (([1, 2], [1, 2], [1]), "must have 2 entries"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words) as caught:
        metrics.mse(*arguments)
    assert str(caught.value).startswith("mse: ")
    assert str(caught.value).endswith(".")


def test_undefined_is_said():
    with pytest.raises(metrics.UndefinedMetricError, match="two rows"):
        metrics.r2([1], [1])
    with pytest.raises(metrics.UndefinedMetricError, match="all equal"):
        metrics.squared_correlation([1, 1], [1, 2])
    with pytest.raises(ValueError, match="need more than 3 rows"):
        metrics.adjusted_r2([1, 2], [1, 2], n_features=2)
    with pytest.raises(ValueError, match="alpha"):
        metrics.pinball([1, 2], [1, 2], alpha=1.5)
