import numpy as np

from margin.optimize import NAdam
from peers import assert_equals_torch


def test_equals_torch():
    """To its precision: it keeps the product of the momenta in float32."""
    options = {"betas": (0.8, 0.99), "eps": 1e-4, "momentum_decay": 0.1}
    assert_equals_torch(NAdam(0.8, 0.99, 1e-4, 0.1), "NAdam", rtol=1e-5, **options)
    assert_equals_torch(NAdam(), "NAdam", rtol=1e-5)


def test_by_the_formula_written_out():
    rng = np.random.default_rng(0)
    given, x, rule = rng.normal(size=(7, 3)), rng.normal(size=3), NAdam(0.7, 0.8, 0.01, 0.3)
    state = rule.start(x)
    momenta = [0.7 * (1 - 0.5 * 0.96 ** (t * 0.3)) for t in range(1, 9)]
    for t, gradient in enumerate(given, start=1):
        m = sum(0.3 * 0.7 ** (t - 1 - i) * g for i, g in enumerate(given[:t]))
        v = sum(0.2 * 0.8 ** (t - 1 - i) * g**2 for i, g in enumerate(given[:t])) / (1 - 0.8**t)
        ahead = momenta[t] * m / (1 - np.prod(momenta[: t + 1]))
        now = (1 - momenta[t - 1]) * gradient / (1 - np.prod(momenta[:t]))
        state, step = rule.update(state, gradient, x, 0.1)
        np.testing.assert_allclose(step, -0.1 * (ahead + now) / (np.sqrt(v) + 0.01), rtol=1e-12)
