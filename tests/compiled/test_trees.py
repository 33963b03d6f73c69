"""Kernels of bins and of Shapley values: compiled and as they are written, the same bits."""

import sys

import numpy as np
import pytest
from tests.trees.cart.test_walking import random_tree

import margin.compiled
from margin.compiled import trees
from margin.trees import binning_kernels, shap_kernels
from margin.trees.binning import find_bins
from margin.trees.shap import tree_shap


@pytest.mark.parametrize("n", [0, 1, 5, 513])
@pytest.mark.parametrize("kernel", ["fill_codes_by_column", "fill_codes_by_row"])
def test_codes(kernel, n):
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.normal(size=(600, 2)), rng.integers(0, 2, 600), rng.integers(0, 300, 600), np.ones(600)])
    bins = find_bins(X, categorical=[False, False, False, True, False])
    asked = np.vstack([3 * X, np.full(5, np.nan), np.full(5, np.inf), np.full(5, -np.inf)])[-n or len(X) + 3 :]
    asked.flags.writeable = False
    outcomes = []
    for kernels in (trees, binning_kernels):
        codes = np.full((5, len(asked)) if kernel == "fill_codes_by_column" else (len(asked), 5), 7, dtype=np.uint8)
        first, last = min(1, len(asked)), max(len(asked) - 1, min(1, len(asked)))
        getattr(kernels, kernel)(asked, bins.table(), bins.categorical.view(np.uint8), codes, first, last)
        outcomes.append(codes.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("n", [0, 1, 600])
def test_ranges(n):
    rng = np.random.default_rng(n)
    X, codes = rng.normal(size=(n, 3)), rng.integers(0, 4, (3, n)).astype(np.uint8)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    outcomes = []
    for kernels in (trees, binning_kernels):
        ranges = np.stack([np.full(12, np.inf), np.full(12, -np.inf)])
        kernels.value_ranges(X, codes, np.array([0, 4, 8, 12]), ranges)
        outcomes.append(ranges.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("rows", [0, 1, 9])
@pytest.mark.parametrize("inner", [0, 1, 14])
def test_attributions(rows, inner, monkeypatch):
    rng = np.random.default_rng(inner)
    tree = random_tree(rng, inner, 5, [2])
    tree["weight"] = np.zeros(len(tree["feature"]))
    for node in range(len(tree["weight"]) - 1, -1, -1):  # children stand behind their parents
        is_leaf = tree["feature"][node] < 0
        below = 0.0 if is_leaf else tree["weight"][[tree["left"][node], tree["right"][node]]].sum()
        tree["weight"][node] = rng.uniform(1, 2) if is_leaf else below
    X = rng.normal(size=(rows, 5))
    X[:, 2] = rng.integers(0, 256, rows)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    compiled = tree_shap(tree, X).values
    monkeypatch.setitem(sys.modules, "margin.compiled.trees", shap_kernels)
    monkeypatch.setattr(margin.compiled, "trees", shap_kernels)
    assert compiled.tobytes() == tree_shap(tree, X).values.tobytes()
    assert np.any(compiled != 0.0) == (rows > 0 and inner > 0)
