import numpy as np

from margin.optimize import Lion


def test_by_the_weights_of_every_gradient():
    """The mean of gradients written as a sum over all of them; torch has no such optimizer."""
    rng = np.random.default_rng(3)
    x, rule = rng.normal(size=4), Lion(0.7, 0.6, weight_decay=0.4)
    state, seen = rule.start(x), []
    for t in range(12):
        gradient = rng.normal(size=4) * [1e-3, 1.0, 30.0, 0.2]
        mean = sum((0.4 * 0.6 ** (t - 1 - i) * g for i, g in enumerate(seen)), np.zeros(4))
        expected = x - 0.05 / (1 + t) * (np.sign(0.7 * mean + 0.3 * gradient) + 0.4 * x)
        state, step = rule.update(state, gradient, x, 0.05 / (1 + t))
        x = x + step
        seen.append(gradient)
        np.testing.assert_allclose(x, expected, rtol=1e-12)
