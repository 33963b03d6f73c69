"""EM on a stream takes the steps that EM takes on the same rows."""

import numpy as np
import pandas as pd
import pytest

from margin.data.streams import stream, table_stream
from margin.mixture import GaussianMixture


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(table_stream, "BLOCK_ROWS", 100)
    rng = np.random.default_rng(5)
    kinds = rng.integers(2, size=700)
    return rng.normal(size=(700, 3)) * [1, 2, 0.5] + np.array([[0.0, 1, 2], [4, -3, 2.5]])[kinds] + 30


def streamed(rows):
    frame = pd.DataFrame(rows, columns=list("abc"))
    return stream([frame[:250], frame[250:260], frame[260:]])


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
def test_steps_are_those_on_the_rows(rows, shape):
    model = GaussianMixture(2, covariance_type=shape, means_init=rows[[0, 9]], max_iter=4, tol=0, random_state=0)
    with pytest.warns(UserWarning, match="has not converged"):
        here = model.fit(rows)
    expected = [here.weights_, here.means_, here.covariances_, here.lower_bounds_]
    with pytest.warns(UserWarning, match="has not converged"):
        there = GaussianMixture(**model.get_params()).fit(streamed(rows))
    for found, wanted in zip((there.weights_, there.means_, there.covariances_, there.lower_bounds_), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_a_state_of_rows_is_no_state_of_a_stream(rows):
    model = GaussianMixture(2, random_state=0)
    next(model.iterate(rows))
    with pytest.raises(ValueError, match="state belongs to a fit on rows; got a stream"):
        next(GaussianMixture(2, random_state=0).iterate(streamed(rows), state=model.get_state()))
