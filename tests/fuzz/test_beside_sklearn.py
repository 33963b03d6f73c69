"""The short form of ``python -m fuzz.beside_sklearn``: one random table of every kind."""

import numpy as np
import pytest
from fuzz.beside_sklearn import compare_on
from fuzz.random_tables import KINDS, random_table

from fuzz import comparisons


@pytest.mark.parametrize("seed", range(20, 20 + len(KINDS)), ids=lambda seed: KINDS[seed % len(KINDS)])
def test_ours_is_not_behind_on_a_random_table(seed):
    count, behind = compare_on(seed)
    assert count >= 20
    assert not behind


def test_a_solver_that_stops_early_is_behind(monkeypatch):
    class Lazy:
        def __init__(self, **options):
            pass

        def fit(self, X, y, sample_weight=None):
            self.coef_, self.y = np.zeros(X.shape[1]), y
            return self

        def predict(self, X):
            return np.zeros(len(X))

    monkeypatch.setattr(comparisons.linear, "Ridge", Lazy)
    found = dict(comparisons.ridge(random_table(0)))
    assert found["Ridge(alpha=1)"] > 1
