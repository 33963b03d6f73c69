"""Hessians, Newton's steps and landscapes by differences; the dual of a machine by scikit-learn."""

from __future__ import annotations

import numpy as np
import torch
from scipy import optimize as peer
from sklearn.svm import SVC
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.optimize.clipping import accumulate, clip_value
from margin.optimize.derivatives import torch_hessian
from margin.optimize.finite_sum import batches
from margin.optimize.interior_point import svm_dual
from margin.optimize.landscapes import LANDSCAPES, Landscape
from margin.optimize.second_order import newton

PATH = "margin.optimize"


@oracle(f"{PATH}.derivatives.torch_hessian", f"{PATH}.second_order.newton")
def steps_to_flat_points(seed: int) -> Verdict:
    """A function that is not symmetric in its variables, from near a saddle and from near a minimum."""
    x = np.random.default_rng(seed).normal(0.4, 0.3, size=3)

    def f(v: np.ndarray) -> float:
        return float(v[0] ** 4 / 4 - v[0] * v[1] + v[1] ** 2 + np.exp(v[2]) - 2 * v[2] + 0.3 * v[0] * v[2])

    def gradient(v: np.ndarray) -> np.ndarray:
        return np.array([v[0] ** 3 - v[1] + 0.3 * v[2], 2 * v[1] - v[0], np.exp(v[2]) - 2 + 0.3 * v[0]])

    def hessian(v: np.ndarray) -> np.ndarray:
        return np.array([[3 * v[0] ** 2, -1, 0.3], [-1, 2, 0], [0.3, 0, np.exp(v[2])]])

    ours = torch_hessian(
        lambda v: v[0] ** 4 / 4 - v[0] * v[1] + v[1] ** 2 + torch.exp(v[2]) - 2 * v[2] + 0.3 * v[0] * v[2], x
    )
    steps = list(newton(f, gradient, x, hess=hessian, max_iter=4, tol=0.0))
    values, at = [f(x)], x
    for _ in range(4):
        at = at - np.linalg.inv(hessian(at)) @ gradient(at)
        values.append(f(at))
    return every(
        hessian=near(ours, hessian(x), tolerance=1e-9),
        values=near([record["value"] for record in steps], values, tolerance=1e-7 * (1 + max(map(abs, values)))),
    )


@oracle(f"{PATH}.landscapes.Landscape")
def landscapes_by_differences(seed: int) -> Verdict:
    rng, found = np.random.default_rng(seed), {}
    for name, land in LANDSCAPES.items():
        x = rng.uniform(-1.3, 1.7, size=2)
        steps = 1e-5 * np.eye(2)
        slope = np.array([(land.f(x + h) - land.f(x - h)) / 2e-5 for h in steps])
        bend = np.array([(land.grad(x + h) - land.grad(x - h)) / 2e-5 for h in steps])
        size = 1 + np.abs(bend).max() + np.abs(slope).max()
        grid = x[:, None, None] + 0.1 * rng.normal(size=(2, 3, 4))
        found[f"{name}_slope"] = near(land.grad(x), slope, tolerance=1e-6 * size)
        found[f"{name}_bend"] = near(land.hess(x), bend, tolerance=1e-5 * size)
        found[f"{name}_grid"] = near(land.f(grid)[1, 2], land.f(grid[:, 1, 2]), tolerance=1e-9 * size)
        lowest = [peer.minimize(land.f, np.array(m) + 1e-3, tol=1e-12).x for m in land.minima]
        found[f"{name}_minima"] = near(lowest, land.minima, tolerance=1e-3)
    own = Landscape(
        "bowl", lambda p: p[0] ** 2, lambda p: p, lambda p: np.eye(2), ((0.0, 0.0),), (1.0, 1.0), (0, 1, 0, 1)
    )
    return every(**found, stored=equal(own.name, "bowl"))


@oracle(f"{PATH}.clipping.clip_value", f"{PATH}.clipping.accumulate", f"{PATH}.finite_sum.batches")
def entries_and_rows_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    gradient, parts = rng.normal(size=7), rng.normal(size=(3, 4))
    numbers = [5, 5, 3]
    plain, shuffled = list(batches(13, 5)), list(batches(13, 5, np.random.default_rng(seed)))
    return every(
        clipped=near(clip_value(gradient, 0.4), [max(-0.4, min(0.4, g)) for g in gradient], tolerance=0.0),
        added=near(accumulate(list(parts), numbers), numbers @ parts / 13, tolerance=1e-12),
        in_order=equal([rows.tolist() for rows in plain], [list(range(5)), list(range(5, 10)), [10, 11, 12]]),
        every_row_once=equal(sorted(np.concatenate(shuffled).tolist()), list(range(13))),
        sizes=equal([len(rows) for rows in shuffled], [5, 5, 3]),
        full_ones=equal([len(rows) for rows in batches(13, 5, drop_last=True)], [5, 5]),
    )


@oracle(f"{PATH}.interior_point.svm_dual")
def multipliers_by_scikit_learn(seed: int) -> Verdict:
    """Classes that overlap and are not of equal size."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], [11, 7])
    X = rng.normal(size=(18, 2)) + 0.8 * y[:, None]
    K = np.exp(-0.7 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    peer_machine = SVC(C=1.3, kernel="precomputed", tol=1e-9).fit(K, y)
    multipliers = np.zeros(18)
    multipliers[peer_machine.support_] = np.abs(peer_machine.dual_coef_[0])
    signed = multipliers * y
    return every(
        multipliers=near(svm_dual(K, y, 1.3).x, multipliers, tolerance=1e-4),
        value=near(svm_dual(K, y, 1.3).value, signed @ K @ signed / 2 - multipliers.sum(), tolerance=1e-6),
    )
