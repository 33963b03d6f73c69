r"""Runge-Kutta methods as tables of numbers.

.. math:: k_i = f\Bigl(t + c_i h,\; y + h \sum_j a_{ij} k_j\Bigr), \qquad y_{new} = y + h \sum_i b_i k_i

A method whose :math:`a_{ij}` vanish for :math:`j \ge i` is explicit: each slope needs only those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

__all__ = ["EXPLICIT", "IMPLICIT", "Tableau"]


@dataclass(frozen=True)
class Tableau:
    """Nodes c, weights b, matrix a and the order: halving the step divides the error by 2 to that power."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    order: int

    @property
    def c(self) -> tuple[float, ...]:
        r"""Where in the step each slope is taken: :math:`c_i = \sum_j a_{ij}`."""
        return tuple(float(sum(row)) for row in self.a)

    @property
    def matrix(self) -> np.ndarray:
        """The coefficients a as a square array, with zeros where a row ends."""
        stages = len(self.b)
        return np.array([[*row, *([0.0] * (stages - len(row)))] for row in self.a])


EXPLICIT: Mapping[str, Tableau] = {
    "euler": Tableau(((),), (1.0,), 1),
    "midpoint": Tableau(((), (0.5,)), (0.0, 1.0), 2),
    "heun": Tableau(((), (1.0,)), (0.5, 0.5), 2),
    "rk4": Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 2 / 6, 2 / 6, 1 / 6), 4),
    # Dormand and Prince (1980): the weights are the last row, so the last slope is the first of the next step.
    "dopri5": Tableau(
        (
            (),
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
            (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
        ),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
        5,
    ),
}

ROOT = sqrt(6)
IMPLICIT: Mapping[str, Tableau] = {
    "backward-euler": Tableau(((1.0,),), (1.0,), 1),
    "implicit-midpoint": Tableau(((0.5,),), (1.0,), 2),
    "trapezoid": Tableau(((0.0, 0.0), (0.5, 0.5)), (0.5, 0.5), 2),
    "radau3": Tableau(((5 / 12, -1 / 12), (3 / 4, 1 / 4)), (3 / 4, 1 / 4), 3),
    "radau5": Tableau(
        (
            ((88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225),
            ((296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225),
            ((16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9),
        ),
        ((16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9),
        5,
    ),
}
