"""Claims about moving mass: plans, distances, averages."""

from __future__ import annotations

import numpy as np

__all__ = ["masses"]


def masses(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positive masses of sum one."""
    return rng.dirichlet(np.ones(n))
