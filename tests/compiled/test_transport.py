"""Kernels of transport: compiled and as they are written, the same bits."""

import numpy as np
import pytest

from margin.compiled import transport
from margin.foundations.transport import network_simplex_kernels
from margin.foundations.transport.network import solve_network


@pytest.mark.parametrize("m, n", [(1, 1), (1, 5), (6, 1), (7, 70), (40, 23), (30, 129)])
@pytest.mark.parametrize("ties", [False, True])
def test_network_simplex(m, n, ties):
    rng = np.random.default_rng(m + n)
    a, b, M = rng.uniform(0.1, 1.0, m), rng.uniform(0.1, 1.0, n), rng.random((m, n))
    if ties:
        a, b, M = np.ones(m), np.full(n, m / n), np.round(3 * M)
    M.flags.writeable = False
    given = a, b * (a.sum() / b.sum()), M, -M.min(axis=0), 1e-12, 100_000
    (compiled, pivots), (written, others) = solve_network(*given), solve_network(*given, network_simplex_kernels)
    assert pivots == others < 100_000
    for one, other in zip(compiled, written, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_cheapest(n):
    costs, prices = np.round(np.random.default_rng(n).normal(size=(2, n)), 1)
    table = np.stack([costs[::-1], costs])
    for bound in (-np.inf, 0.0, np.inf):
        found = [kernels.cheapest(table, 1, prices, bound) for kernels in (transport, network_simplex_kernels)]
        assert found[0] == found[1]
