"""Information criteria against scikit-learn's mixture, which has its own count of parameters and likelihood."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from margin.foundations.statistics import aic, bic


def test_criteria_of_a_mixture():
    X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 3.0]
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    log_likelihood = float(model.score_samples(X).sum())
    assert bic(log_likelihood, 2 * 2 + 2 * 2 + 1, 60) == pytest.approx(model.bic(X))
    assert aic(log_likelihood, 2 * 2 + 2 * 2 + 1) == pytest.approx(model.aic(X))
