"""How many of the known modes of a mixture a generator reaches, by the protocol of the literature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["ModeCoverage", "grid_modes", "mode_coverage", "ring_modes"]


class ModeCoverage(NamedTuple):
    """``covered`` modes have enough samples in the radius; ``high_quality`` is the fraction of samples near any."""

    covered: int
    high_quality: float
    counts: np.ndarray


def mode_coverage(samples: Any, modes: Any, radius: float, *, least: int = 1) -> ModeCoverage:
    """Samples (n, d) counted at the nearest of the modes (k, d), if they are within ``radius`` (3 deviations) of it.

    A mode is covered from ``least`` such samples on; the literature counts one, which a cloud over all modes has too.

    >>> found = mode_coverage([[0.1, 0.0], [5.0, 5.0]], [[0.0, 0.0], [1.0, 0.0]], radius=0.3)
    >>> found.covered, found.high_quality
    (1, 0.5)
    """
    samples, modes = np.asarray(samples, dtype=float), np.asarray(modes, dtype=float)
    if samples.ndim != 2 or modes.ndim != 2 or samples.shape[1] != modes.shape[1]:
        raise ValueError("mode_coverage: samples (n, d) and modes (k, d) must have the same number of columns.")
    squared = ((samples[:, None, :] - modes) ** 2).sum(axis=2)
    nearest = squared.argmin(axis=1)
    near = squared[np.arange(len(samples)), nearest] <= radius**2
    counts = np.bincount(nearest[near], minlength=len(modes))
    return ModeCoverage(int((counts >= least).sum()), float(near.mean()), counts)


def ring_modes(n: int = 8, radius: float = 1.0) -> np.ndarray:
    """``n`` points on a circle."""
    angles = 2 * np.pi * np.arange(n) / n
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def grid_modes(side: int = 5, spacing: float = 2.0) -> np.ndarray:
    """``side`` x ``side`` points around 0."""
    line = spacing * (np.arange(side) - (side - 1) / 2)
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
