"""Permutation importance finds the column that matters, whatever the model."""

import numpy as np
import pytest

from margin.interpretation import permutation_importance
from margin.trees import RandomForestRegressor


def test_permutation_importance_finds_the_column_that_matters():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 3))
    model = RandomForestRegressor(20, max_features=None, random_state=0).fit(X, 3 * X[:, 1])
    drops = permutation_importance(model, X, 3 * X[:, 1], n_repeats=3, random_state=0)
    assert drops.shape == (3, 3)
    assert drops[1].min() > 1
    assert np.abs(drops[[0, 2]]).max() < 0.1
    assert model.feature_importances_.argmax() == 1
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        permutation_importance(model, X, X[:, 1], n_repeats=0)
