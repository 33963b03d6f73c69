"""Where a law of motion or an equation is known."""

from __future__ import annotations

__all__ = [
    "circling",
    "plate",
]


def plate(seed):
    """Points of a square plate with a known temperature on its edge."""
    import numpy as np

    return np.random.default_rng(seed).uniform(0, 1, (250, 2)), None


def circling(seed):
    """Three trajectories that spiral inward."""
    import numpy as np

    t, start = 0.2 * np.arange(25), np.random.default_rng(seed).uniform(0.7, 1.6, 3)
    angle, radius = t + np.arange(3)[:, None] * 2, start[:, None] * np.exp(-0.12 * t)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2), None
