"""The same rows, laid out otherwise in memory: the same model.

A sum rounds differently along another axis of memory, and a search that amplifies its start makes another model of it.
"""

import numpy as np
import pytest
from problems import assert_same_bits, build, ids, is_table, outputs, problem

from margin import catalog

# They use a table as it lies: a copy takes as long as their fit. Nothing amplifies its rounding.
ROUNDED = {"linear-regression", "ridge", "lasso", "elastic-net", "pca"}


def by_columns(X):
    table = np.asfortranarray(X)
    table.flags.writeable = False
    return table


def every_second(X):
    table = np.full((len(X), 2 * X.shape[1]), np.nan)
    table[:, ::2] = X
    return table[:, ::2]


@pytest.mark.parametrize("entry", [entry for entry in catalog.ENTRIES if is_table(problem(entry)[0])], ids=ids)
def test_memory_order_changes_nothing(entry):
    X, y = problem(entry)
    expected = outputs(build(entry).fit(X, y), X)
    for laid_out in (by_columns, every_second):
        target = None if y is None else np.repeat(y, 2, axis=0)[::2]
        said = outputs(build(entry).fit(laid_out(X), target), laid_out(X))
        if entry.name not in ROUNDED:
            assert_same_bits(said, expected)
            continue
        for name, values in expected.items():
            np.testing.assert_allclose(said[name], values, rtol=1e-10, atol=1e-10 * np.abs(values).max())
