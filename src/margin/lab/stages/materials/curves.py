"""Numbers that follow a number, and series."""

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)

from __future__ import annotations

__all__ = [
    "growth",
    "line",
    "passengers",
    "regimes",
    "rhythms",
    "steps",
    "wave",
    "widening",
]


def wave(seed):
    """A noisy wave with a gap."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.uniform(-3, 0.2, 28), rng.uniform(1.4, 3, 14)]))
    return x[:, None], np.sin(1.6 * x) + 0.25 * x + 0.15 * rng.standard_normal(42)


def line(seed):
    """A noisy line."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, 40)
    return x[:, None], 0.7 * x + 0.4 + 0.5 * rng.standard_normal(40)


def widening(seed):
    """A wave whose noise grows to the right."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, 120))
    return x[:, None], np.sin(x) + 0.06 * np.exp(0.7 * x) * rng.standard_normal(120)


def steps(seed):
    """Levels with jumps between them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, 80))
    return x[:, None], np.select([x < -1.5, x < 0.2, x < 1.6], [0.2, 1.4, -0.6], 0.7) + 0.12 * rng.standard_normal(80)


def passengers(seed):
    """Airline passengers per month, 1949 to 1960."""
    from margin.data import load

    return load("airline-passengers").y, None


def regimes(seed):
    """A series that stays at one of three levels for a while, and is more or less restless there."""
    import numpy as np

    rng = np.random.default_rng(seed)
    state = np.repeat(rng.permutation(np.repeat([0, 1, 2], 3)), rng.integers(12, 40, 9))
    return (np.array([-1.0, 0.6, 1.8])[state] + np.array([0.5, 0.2, 0.4])[state] * rng.normal(size=len(state)))[
        :, None
    ], None


def rhythms(seed):
    """Short series: slow waves and fast ones."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 30)
    phase, t = rng.uniform(0, 2 * np.pi, 60), np.arange(24)
    X = np.sin(phase[:, None] + t * np.where(y == 0, 0.35, 0.8)[:, None]) + 0.3 * rng.standard_normal((60, 24))
    return X[:, :, None], y


def growth(seed):
    """Short noisy series, and the mean that each wanders around."""
    import numpy as np

    rng = np.random.default_rng(seed)
    level = rng.normal(size=60)
    return (level[:, None] + 0.7 * rng.standard_normal((60, 16)))[:, :, None], level
