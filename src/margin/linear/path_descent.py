r"""The elastic net along falling penalties, each solution started by the last two.

Between two changes of the set of non-zero coefficients, :math:`w` and :math:`X^\top r` are linear in :math:`\lambda_1`,
so the line through two solutions is close to the third. Coordinate descent corrects it until the duality gap is small.
Descent knows only the columns that came near :math:`|x_j^\top r| = \lambda_1`; after some penalties a look at all
columns either certifies the solutions or names the columns that were missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from margin.linear.sparse_descent import jump_to_face_minimum, steepest
from margin.linear.sparse_problem import Columns, duality_gap

__all__ = ["Found", "Point", "follow"]

NEAR = 0.95  # fraction of l1 that the slack of a column has or is about to have, for descent to know the column
SWEEPS = 50  # after which solving for the non-zero coefficients at once is cheaper than going on
ROUNDS = 50  # of both at one penalty
RETRIES = 3  # at one penalty, with exact slacks, before what is left of its gap is taken for rounding
FARTHEST = 8.0  # times the last step of the penalty: beyond, a line through two points says more of their rounding
INNER_FRACTION = 0.5  # of the gap that is wanted, where descent does not know all columns: the rest is for the others
# Of the mean square of y: what a move gains that a slack calls for which is nothing but the rounding of its sum.
LEAST_GAIN = (16 * np.finfo(float).eps) ** 2


@dataclass(frozen=True, eq=False)
class Point:
    """A solution ``w`` and its ``slack`` at the penalty ``l1``."""

    l1: float
    w: np.ndarray
    slack: np.ndarray

    def toward(self, l1: float, before: Point) -> Point:
        """Where the line from the point ``before`` through this one is at ``l1``; a copy if the two are too close."""
        step, wanted = before.l1 - self.l1, self.l1 - l1
        fraction = wanted / step if wanted <= FARTHEST * step and step > 0 else 0.0
        return Point(l1, self.w + fraction * (self.w - before.w), self.slack + fraction * (self.slack - before.slack))

    def of(self, names: np.ndarray) -> Point:
        return Point(self.l1, self.w[names], self.slack[names])


class Found(NamedTuple):
    """Solutions (k, p), their duality gaps (k,) and the sweeps it took."""

    coefs: np.ndarray
    gaps: np.ndarray
    sweeps: np.ndarray


def follow(columns: Columns, penalties: np.ndarray, bound: float) -> Found:
    """Solve for every row (l1, l2) of ``penalties`` (k, 2), falling, to a duality gap of at most ``bound``."""
    k, p = len(penalties), len(columns.q)
    solutions = Found(np.zeros((k, p)), np.zeros(k), np.zeros(k, dtype=int))
    trail = [Point(float(np.abs(columns.q).max(initial=0.0)), np.zeros(p), columns.q)]
    known = np.zeros(p, dtype=bool)
    done = retries = 0
    while done < k:
        batch = penalties[done : done + columns.ahead]
        Q, names = columns.gram(_near(trail, known, float(batch[-1, 0])))
        known[names] = True
        W = np.zeros((len(batch), p))
        inner = bound if len(names) == p else INNER_FRACTION * bound
        W[:, names], sweeps = _solve(Q, columns.q[names], columns.square, [x.of(names) for x in trail], batch, inner)
        solutions.sweeps[done : done + len(batch)] += sweeps
        for (l1, l2), w, slack, square in zip(batch, W, *columns.slacks(W)):
            gap = duality_gap(w, slack, square, square + float(w @ slack), l1, l2).gap
            _remember(trail, Point(l1, w, slack))
            missing = (np.abs(slack) > l1) & ~known
            # Once more from here: with the columns that were missing, or else with exact slacks, to which descent
            # only adds.
            if gap > bound and (missing.any() or retries < RETRIES):
                known[steepest(missing, slack, len(names))] = True
                retries += not missing.any()
                break
            solutions.coefs[done], solutions.gaps[done] = w, gap
            done, retries = done + 1, 0
    return solutions


def _near(trail: list[Point], known: np.ndarray, l1: float) -> np.ndarray:
    """Columns that are known, or that may have a coefficient by the time the penalty is ``l1``."""
    here, then = trail[-1], trail[-1].toward(l1, trail[0])
    near = (np.abs(here.slack) >= NEAR * here.l1) | (np.abs(then.slack) >= NEAR * l1)
    known[steepest(near & ~known, here.slack, int(known.sum()))] = True
    return np.flatnonzero(known)


def _remember(trail: list[Point], point: Point) -> None:
    """Keep the last two penalties; a point at the same penalty is a better solution."""
    if point.l1 >= trail[-1].l1:
        trail.pop()
    trail.append(point)
    del trail[:-2]


def _solve(
    Q: np.ndarray, q: np.ndarray, square: float, trail: list[Point], penalties: np.ndarray, bound: float
) -> tuple[np.ndarray, np.ndarray]:
    """Solutions (k, m) for the columns of ``Q``, and the sweeps (k,) for each."""
    before, here = trail[0], trail[-1]
    coefs, sweeps = np.zeros((len(penalties), len(q))), np.zeros(len(penalties), dtype=int)
    for i, (l1, l2) in enumerate(penalties):
        before, here = here, here.toward(l1, before)
        sweeps[i] = _descend(Q, q, square, here, l2, bound)
        coefs[i] = here.w
    return coefs, sweeps


def _descend(Q: np.ndarray, q: np.ndarray, square: float, point: Point, l2: float, bound: float) -> int:
    """Improve ``point`` in place; the number of sweeps."""
    from margin.compiled.linear import descend_to_gap

    w, slack, order = point.w, point.slack, np.arange(len(q))
    l1s, l2s, least = np.full(len(q), point.l1), np.full(len(q), l2), LEAST_GAIN * square
    total = 0
    for _ in range(ROUNDS if len(q) else 0):
        done = descend_to_gap(Q, order, q, square, slack, w, l1s, l2s, bound, least, SWEEPS)
        total += min(done, SWEEPS)
        if done <= SWEEPS:
            break
        jump_to_face_minimum(Q, slack, w, point.l1, l2)
    return total
