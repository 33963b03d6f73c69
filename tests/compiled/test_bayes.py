"""Sums over the rows of each class: compiled, as they are written, and by NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from margin.bayes import accumulate_kernels
from margin.compiled import bayes


def table(n, d, seed):
    rng = np.random.default_rng(seed)
    X, codes, w = rng.lognormal(size=(n, d)), rng.integers(4, size=n), rng.uniform(size=n)
    w[::7] = 0
    return X, codes, w


@pytest.mark.parametrize("n, d", [(0, 3), (1, 1), (50, 9), (23, 0)])
def test_dense_rows(n, d):
    X, codes, w = table(n, d, seed=n)
    found = []
    for kernels in (bayes, accumulate_kernels):
        total, mean, scatter, sums = np.zeros(4), np.zeros((4, d)), np.zeros((4, d)), np.zeros((4, d))
        kernels.add_deviations(X, codes, w, total, mean, scatter)
        kernels.add_rows(X, codes, w, sums)
        found.append([total, mean, scatter, sums])
    assert [a.tobytes() for a in found[0]] == [a.tobytes() for a in found[1]]
    for c in range(4):
        own, weight = X[codes == c], w[codes == c]
        np.testing.assert_allclose(found[0][3][c], weight @ own, rtol=1e-12)
        if weight.sum() > 0:
            center = np.average(own, axis=0, weights=weight)
            np.testing.assert_allclose(found[0][1][c], center, rtol=1e-12)
            np.testing.assert_allclose(found[0][2][c], weight @ (own - center) ** 2, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows(index):
    _, codes, w = table(60, 7, seed=3)
    X = sp.random_array((60, 7), density=0.3, format="csr", rng=1)
    found = []
    for kernels in (bayes, accumulate_kernels):
        sums = np.zeros((4, 7))
        kernels.add_sparse_rows(X.data, X.indices.astype(index), X.indptr.astype(index), codes, w, sums)
        found.append(sums)
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[0], np.stack([w[codes == c] @ X[codes == c] for c in range(4)]), rtol=1e-12)
