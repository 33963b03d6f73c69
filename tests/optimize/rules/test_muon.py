import numpy as np
import pytest

from margin.optimize import Muon
from margin.optimize.rules.muon import orthogonalize


def by_singular_values(matrix):
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    values = s / np.linalg.norm(s)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return u * values @ v


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8), (8, 10), (1, 5)])
def test_singular_values_by_the_polynomial_and_vectors_kept(shape):
    matrix = np.random.default_rng(sum(shape)).normal(size=shape)
    np.testing.assert_allclose(orthogonalize(matrix), by_singular_values(matrix), atol=1e-12)


@pytest.mark.parametrize("nesterov", [True, False])
def test_steps_by_singular_values(nesterov):
    rng = np.random.default_rng(0)
    x, rule, memory = rng.normal(size=(5, 3)), Muon(0.9, nesterov, weight_decay=0.2), np.zeros((5, 3))
    state = rule.start(x)
    for rate in (0.02, 0.01, 0.03):
        gradient = rng.normal(size=(5, 3))
        memory = 0.9 * memory + 0.1 * gradient
        direction = by_singular_values(0.9 * memory + 0.1 * gradient if nesterov else memory)
        expected = (1 - 0.2 * rate) * x - 0.2 * np.sqrt(5) * rate * direction
        state, step = rule.update(state, gradient, x, rate)
        x = x + step
        np.testing.assert_allclose(x, expected, atol=1e-12)


def test_only_matrices():
    with pytest.raises(ValueError, match="Muon: what it moves must be a matrix; got 1 axes"):
        Muon().start(np.zeros(3))
