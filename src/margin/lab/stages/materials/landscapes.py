"""Functions of two numbers on which optimizers race."""

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)

from __future__ import annotations

__all__ = [
    "beale",
    "himmelblau",
    "narrow_ravine",
    "rosenbrock",
    "saddle",
]


def rosenbrock(seed):
    """A bent valley with a flat floor."""
    from margin.optimize.landscapes import ROSENBROCK

    return ROSENBROCK, None


def narrow_ravine(seed):
    """One flat and one steep direction."""
    from margin.optimize.landscapes import RAVINE

    return RAVINE, None


def himmelblau(seed):
    """Four valleys of equal depth."""
    from margin.optimize.landscapes import HIMMELBLAU

    return HIMMELBLAU, None


def beale(seed):
    """A plain with steep corners."""
    from margin.optimize.landscapes import BEALE

    return BEALE, None


def saddle(seed):
    """A pass between two valleys."""
    from margin.optimize.landscapes import SADDLE

    return SADDLE, None
