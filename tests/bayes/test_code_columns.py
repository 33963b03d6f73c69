"""The table for all columns of codes against the look-up column by column, which columns of other numbers take."""

import numpy as np
import pytest

from margin.bayes import CategoricalNB
from margin.bayes.categorical import CodeColumns

RNG = np.random.default_rng(0)


def codes(n):
    """A column with holes, one that begins below zero, one far from it, one with a single value."""
    columns = RNG.choice([0, 2, 7], n), RNG.integers(-3, 4, n), RNG.integers(900, 905, n), np.full(n, 5)
    return np.column_stack(columns).astype(float)


@pytest.mark.parametrize(
    "settings", [{}, {"alpha": 0.0}, {"alpha": 0.3, "min_categories": 9}, {"min_categories": [4, 12, 1, 7]}]
)
def test_one_table_and_column_by_column(settings, monkeypatch):
    X, y = codes(60), RNG.integers(0, 3, 60)
    new = np.vstack([codes(30), [[1, -4, 899, 6], [0.5, 3.5, 1e300, -1e300], [8, 1.5, 905, 4], [3, -0.0, 903.25, 5]]])
    model = CategoricalNB(**settings).fit(X, y)
    assert CodeColumns.of(model.categories_) is not None
    by_code = model.predict_joint_log_proba(new)
    monkeypatch.setattr(CodeColumns, "of", lambda categories: None)
    by_column = model.predict_joint_log_proba(new)
    np.testing.assert_array_equal(np.isneginf(by_code), np.isneginf(by_column))
    np.testing.assert_allclose(by_code, by_column, rtol=1e-13)
    # By the definition: an entry has a category's probability, or that of a category without rows.
    if settings.get("alpha") != 0.0:
        n, row = model.n_categories_, model.predict_joint_log_proba([[7.0, 1.5, 902.0, 5.0]])[0]
        for c in range(3):
            own, alpha = X[y == c], settings.get("alpha", 1.0)
            seen = [(own[:, j] == value).sum() for j, value in enumerate([7, 1.5, 902, 5])]
            expected = np.log(len(own) / 60) + sum(
                np.log((seen[j] + alpha) / (len(own) + alpha * n[j])) for j in range(4)
            )
            assert row[c] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("column", [[0.5, 1.0, 2.0], [0.0, 1e6, 2e6], [-1e300, 0.0, 1e300]])
def test_other_numbers_are_looked_up_by_themselves(column):
    X = np.column_stack([[0.0, 1.0, 1.0], column])
    model = CategoricalNB().fit(X, [0, 0, 1])
    assert CodeColumns.of(model.categories_) is None
    np.testing.assert_array_equal(model.predict(X), [0, 0, 1])
