import numpy as np
from scipy import special

from margin.foundations.probability.softmax import softmax_rows


def test_rows_against_scipy_at_any_size_of_scores():
    scores = np.random.default_rng(1).normal(size=(30, 4)) * [1.0, 10.0, 100.0, 3e4]
    found = softmax_rows(scores)
    np.testing.assert_allclose(found, special.softmax(scores, axis=1), rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    assert scores.max() > 1e3, "exponentials of the scores themselves would overflow"
