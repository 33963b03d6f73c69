import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from margin.cluster import KMeans
from margin.mixture import GaussianMixture

X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 10, axis=0)


@pytest.mark.parametrize("model", [KMeans(3), GaussianMixture(2, max_iter=1, tol=0.0)])
def test_a_warning_points_at_the_line_that_called_fit(model):
    rows = X if isinstance(model, KMeans) else X + np.random.default_rng(0).normal(size=X.shape)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    assert [(c.category, c.filename) for c in caught] == [(ConvergenceWarning, __file__)]
