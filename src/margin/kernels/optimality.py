r"""When a dual of support vector machines is solved, and how far from it a point is.

With the score :math:`s = t - K\beta` (see :mod:`margin.kernels.dual`) a variable below its upper bound wants to rise if
:math:`s_i - \epsilon\,\mathrm{sgn}^+\beta_i` is large, one above its lower bound to fall if
:math:`s_j - \epsilon\,\mathrm{sgn}^-\beta_j` is small. The violation of optimality is the largest of the first minus
the smallest of the second, and the offset b of the machine lies between.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["directions", "dual_objective", "idle", "offset_between", "slack_cost", "violation"]

Floats = NDArray[np.float64]


def directions(score: Floats, beta: Floats, low: Floats, high: Floats, epsilon: float) -> tuple[Floats, Floats]:
    """How much each variable wants to rise (-inf if it cannot) and, negated, to fall (+inf if it cannot)."""
    up = down = score
    if epsilon > 0:
        up = score - epsilon * np.where(beta >= 0, 1.0, -1.0)
        down = score - epsilon * np.where(beta > 0, 1.0, -1.0)
    return np.where(beta < high, up, -np.inf), np.where(beta > low, down, np.inf)


def violation(up: Floats, down: Floats) -> float:
    """By how much the conditions of Karush, Kuhn and Tucker fail: zero or less at the optimum."""
    return float(up.max() - down.min())


def idle(up: Floats, down: Floats) -> NDArray[np.bool_]:
    """Variables that are in no violating pair: each rests on a bound, or on the kink at zero, and wants to stay there.

    >>> idle(np.array([1.0, -np.inf, -3.0]), np.array([np.inf, 2.0, -1.0])).tolist()
    [False, True, False]
    """
    return (up < down.min()) & (down > up.max())


def offset_between(score: Floats, beta: Floats, low: Floats, high: Floats, epsilon: float) -> float:
    """The offset b: the mean over variables strictly inside their box, on which it is exact, else the middle of
    the interval that optimality allows."""
    inside = (beta > low) & (beta < high)
    if epsilon > 0:
        inside &= beta != 0
    count = np.count_nonzero(inside)
    if count:
        return float(score[inside].sum() - epsilon * np.sign(beta[inside]).sum()) / count
    up, down = directions(score, beta, low, high, epsilon)
    ends = [end for end in (up.max(), down.min()) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def dual_objective(score: Floats, beta: Floats, target: Floats, epsilon: float) -> float:
    r""":math:`t^\top\beta - \tfrac12\beta^\top K\beta - \epsilon\|\beta\|_1`, maximized; :math:`K\beta = t - s`."""
    smooth = 0.5 * float(beta @ (target + score))
    return smooth - epsilon * float(np.abs(beta).sum()) if epsilon > 0 else smooth


def slack_cost(score: Floats, offset: float, low: Floats, high: Floats, epsilon: float) -> float:
    r"""What errors cost the primal: :math:`\sum_i u_i(s_i-b-\epsilon)_+ - l_i(b-s_i-\epsilon)_+`.

    Infinite bounds (a hard margin) cost infinitely much as long as a slack is positive.
    """
    above, below = score - (offset + epsilon), (offset - epsilon) - score
    late, early = above > 0, below > 0
    return float(high[late] @ above[late]) - float(low[early] @ below[early])
