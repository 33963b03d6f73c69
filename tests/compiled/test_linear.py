"""Kernels of linear models: compiled and as they are written, the same bits."""

import numpy as np
import pytest

from margin.compiled import linear
from margin.linear import average_kernels, coordinate_kernels


def quadratic(m, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 * m + 2, m)) @ rng.normal(size=(m, m))
    Q = X.T @ X / max(m, 1)
    return Q, rng.permutation(m), rng.normal(size=m) * 10, rng.normal(size=m), np.abs(rng.normal(size=m)), rng.random(m)


@pytest.mark.parametrize("m", [0, 1, 7, 40])
@pytest.mark.parametrize("positive", [False, True])
def test_descent(m, positive):
    Q, order, slack, w, l1, l2 = quadratic(m, seed=m)
    Q.flags.writeable = order.flags.writeable = False
    outcomes = []
    for kernels in (linear, coordinate_kernels):
        s, v = slack.copy(), w.copy()
        gain = kernels.sweep(Q, order, s, v, l1, l2, positive)
        sweeps = kernels.quadratic_descent(Q, order, s, v, l1, l2, 1e-9, 25, positive)
        outcomes.append((gain, sweeps, s.tobytes(), v.tobytes()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("m", [1, 6, 33])
def test_descent_to_a_gap(m):
    Q, order, slack, w, _, _ = quadratic(m, seed=100 + m)
    q, l1, l2, square = slack + Q @ w, np.full(m, 0.7), np.full(m, 0.2), 40.0
    outcomes = []
    for kernels in (linear, coordinate_kernels):
        s, v = slack.copy(), w.copy()
        sweeps = kernels.descend_to_gap(Q, order, q, square, s, v, l1, l2, 1e-7, 1e-12, 60)
        outcomes.append((sweeps, s.tobytes(), v.tobytes(), kernels.quadratic_gap(q, s, v, square, 0.7, 0.2)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("loss, k", [(0, 2), (1, 1), (2, 3)])
@pytest.mark.parametrize("saga", [False, True])
def test_average_gradients(loss, k, saga):
    rng = np.random.default_rng(loss)
    n, p = 17, 5
    entries = rng.random((n, p)) < 0.6
    indptr = np.append(0, np.cumsum(entries.sum(1))).astype(np.int64)
    indices, data = np.nonzero(entries)[1].astype(np.int64), rng.normal(size=entries.sum())
    targets, weights, order = rng.random((n, k)), rng.random(n), rng.integers(n, size=40)
    outcomes = []
    for kernels in (linear, average_kernels):
        theta, memory, sums = np.full((p + 1, k), 0.1), np.zeros((n, k)), np.zeros((p + 1, k))
        seen = np.zeros(n, dtype=np.int8)
        rows = (data, indices, indptr, targets, weights, order, loss, saga, 1.3, (0.05, 0.01, 0.1))
        known = kernels.sweep_rows(*rows, theta, memory, sums, seen, np.empty(k))
        outcomes.append((known, theta.tobytes(), memory.tobytes(), sums.tobytes(), seen.tobytes()))
    assert outcomes[0] == outcomes[1]


def test_an_array_of_another_kind_is_refused():
    Q, order, slack, w, l1, l2 = quadratic(3, seed=0)
    with pytest.raises(ValueError, match="dtype mismatch"):
        linear.sweep(Q.astype(np.float32), order, slack, w, l1, l2, False)
