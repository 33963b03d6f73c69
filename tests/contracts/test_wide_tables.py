"""Tables with far more columns than rows: what would ask for gigabytes is refused in a sentence, before it asks."""

import numpy as np
import pytest
from problems import build

from margin import catalog
from margin.bayes.quadratic_discriminant import MOST_COLUMNS
from margin.trees.boosting import growing

ROWS, COLUMNS = 12, 30_000


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, COLUMNS)), np.arange(ROWS) % 2


@pytest.mark.parametrize(
    "name, params, sentence",
    [
        ("spline-regression", {}, r"30,000 columns have more than 10,000 knots in all, .* \(n_knots=20\)"),
        ("gaussian-mixture", {}, r"'full' takes at most 20,000 columns.*; got 30,000; 'diag' and 'spherical' take any"),
        ("gaussian-mixture", {"covariance_type": "tied"}, "'tied' takes at most 20,000 columns"),
        ("quadratic-discriminant-analysis", {"reg_param": 0.1}, "must have at most 10,000 columns.*; got 30,000"),
        ("quadratic-discriminant-analysis", {"reg_param": 0.0, "solver": "eigen"}, "must have at most 10,000 columns"),
        ("quadratic-discriminant-analysis", {"reg_param": 0.0}, "rank 5 of 30000 columns with 6 rows; set reg_param"),
        ("bayesian-network", {}, r"pairs of at most 2,000 columns; got 30,000; take fewer, or give the edges"),
        ("sum-product-network", {"min_rows": 10}, "all pairs of columns are tested .* at most 2,000; got 30,000"),
        ("polynomial-regression", {"degree": 2}, "30000 columns has 450045000 terms"),
    ],
)
def test_a_square_of_the_columns_is_refused_before_it_is_asked_for(wide, name, params, sentence):
    model = build(catalog.entry(name), **params)
    with pytest.raises(ValueError, match=sentence):
        model.fit(*wide)
    assert not hasattr(model, "n_iter_")


@pytest.mark.parametrize("covariance_type", ["diag", "spherical"])
def test_what_a_refusal_proposes_works(wide, covariance_type):
    X, _ = wide
    model = build(catalog.entry("gaussian-mixture"), covariance_type=covariance_type, max_iter=2).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert COLUMNS > MOST_COLUMNS


@pytest.mark.parametrize("name", ["gradient-boosting-classifier", "hist-gradient-boosting-classifier"])
def test_histograms_of_many_columns_are_made_when_they_are_needed(wide, name, monkeypatch):
    """Fewer at first, and the same trees."""
    X, y = wide
    params = {"max_depth": None, "min_samples_leaf": 1}
    model = build(catalog.entry(name), **params).fit(X, y)
    taken = []
    real = growing._first_histograms
    monkeypatch.setattr(growing, "_first_histograms", lambda *args: taken.append(real(*args)) or taken[-1])
    again = build(catalog.entry(name), **params).fit(X, y)
    assert max(taken) * COLUMNS * growing.CODES <= max(growing.FIRST_CELLS, growing.LEAST_HISTOGRAMS * COLUMNS * 256)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr(growing, "FIRST_CELLS", 2**40)
    ample = build(catalog.entry(name), **params).fit(X, y)
    assert taken[-1] > growing.LEAST_HISTOGRAMS
    np.testing.assert_array_equal(ample.predict_proba(X), model.predict_proba(X))
