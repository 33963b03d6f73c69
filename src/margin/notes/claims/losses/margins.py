"""Hinge, triplet and Dice losses."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.metrics import f1
from margin.neural import losses
from margin.neural.diagnostics import descend
from margin.notes.claims import claim
from margin.notes.claims.losses.regression import gradient


@claim("hinge-loss")
def the_hinge_loss_and_the_machine_without_slacks(seed: int) -> Verdict:
    from margin.kernels.hinge import hinge_objective
    from margin.kernels.linear_svc import LinearSVC

    rng = np.random.default_rng(seed)
    y = np.where(np.arange(80) % 2, 1.0, -1.0)
    X, penalty = rng.normal(size=(80, 2)) + 1.2 * y[:, None], 2.0
    rows, signs = torch.from_numpy(X), torch.from_numpy(y)
    w, b = nn.Parameter(torch.zeros(2).double()), nn.Parameter(torch.zeros(1).double())
    for rate in (1e-1, 1e-2, 1e-3, 1e-4):
        descend(
            [w, b],
            lambda: losses.soft_margin_objective(w, b, rows, signs, penalty) / 2,
            steps=250,
            rate=rate,
            rule=torch.optim.Adam,
        )
    objective = float(losses.soft_margin_objective(w, b, rows, signs, penalty).detach())
    exact = LinearSVC(loss="hinge", C=penalty / 2, tol=1e-8).fit(X, y)
    theta = np.append(exact.coef_[0], exact.intercept_[0])
    best = 2 * hinge_objective(theta, X, y, np.full(80, penalty / 2), intercept=True)
    m = torch.tensor([2.0, 0.5, -2.0], dtype=torch.float64)
    one = torch.ones(1, dtype=torch.float64)
    truth = every(
        values=near(losses.hinge_loss(m, torch.ones(3).double(), reduction="none"), [0.0, 0.5, 3.0], tolerance=1e-15),
        corner=equal(float(gradient(lambda t: losses.hinge_loss(t, one), one)), 0.0),
        as_the_quadratic_program=near(objective / best, 1.0, tolerance=1e-3),
    )
    scores = torch.tensor([-3.0, -2.0, -1.0], dtype=torch.float64)  # of a row with y = 1
    along = losses.hinge_loss(scores, torch.ones(3).double(), reduction="none").diff()
    return corrected(truth, printed=equal(bool((along > 0).all()), True))  # that it increases with the prediction


@claim("triplet-loss")
def triplets_pull_a_class_together(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, p, n = (torch.from_numpy(rng.normal(size=(20, 3))) for _ in range(3))
    squares = [((a - other).numpy() ** 2).sum(axis=1) for other in (p, n)]
    by_hand = np.maximum(squares[0] - squares[1] + 0.5, 0)
    labels = np.arange(60) % 3
    X = torch.from_numpy(rng.normal(size=(60, 5)) + 2 * np.eye(5)[labels])  # noisy, in three classes
    same, other = labels[:, None] == labels, labels[:, None] != labels
    anchors = np.repeat(np.arange(60), 5)
    positive = np.array([rng.choice(np.flatnonzero(same[i])) for i in anchors])
    negative = np.array([rng.choice(np.flatnonzero(other[i])) for i in anchors])

    def ratio(encoder: nn.Module) -> float:
        """Mean distance within a class over that between classes."""
        z = encoder(X).detach()
        d = torch.cdist(z, z).numpy()
        return float(d[same].mean() / d[other].mean())

    def ratios() -> tuple[float, float]:
        """Before and after training from a random start."""
        encoder = nn.Linear(5, 2, bias=False).double()
        with torch.no_grad():
            encoder.weight.copy_(torch.from_numpy(rng.normal(size=(2, 5)) / 3))

        def objective() -> torch.Tensor:
            z = encoder(X)
            return losses.triplet_loss(z[anchors], z[positive], z[negative])

        before = ratio(encoder)
        descend(encoder.parameters(), objective, steps=60, rate=0.05, rule=torch.optim.Adam)
        return before, ratio(encoder)

    # A mean over starts: one of them may happen to see the classes apart already.
    before, after = np.mean([ratios() for _ in range(6)], axis=0)
    return every(
        formula=near(losses.triplet_loss(a, p, n, margin=0.5, reduction="none"), by_hand, tolerance=1e-13),
        separated=equal(float(losses.triplet_loss(a, a, a + 10)), 0.0),
        closer=below(float(after), 0.95 * float(before)),
    )


@claim("dice-loss")
def dice_is_minus_f1_on_masks(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 2, size=200) for _ in range(2))
    u, v = torch.from_numpy(a).double(), torch.from_numpy(b).double()
    tp, fp, fn = int((a & b).sum()), int((a & ~b & 1).sum()), int((~a & b & 1).sum())
    soft = torch.from_numpy(rng.uniform(size=200))
    truth = every(
        as_run=near(
            float(losses.soft_dice(u[None, None], v[None, None], smoothing=0.0)),
            -float(losses.dice_loss(u, v, eps=0.0)),
            tolerance=1e-12,
        ),
        equal=near(float(losses.dice_loss(u, u)), -1.0, tolerance=1e-8),
        disjoint=near(float(losses.dice_loss(u, 1 - u)), 0.0, tolerance=1e-12),
        counts=near(float(losses.dice_loss(u, v, eps=0.0)), -2 * tp / (2 * tp + fp + fn), tolerance=1e-12),
        f1=near(float(losses.dice_loss(u, v, eps=0.0)), -float(f1(b, a)), tolerance=1e-12),
        differentiable=equal(bool(gradient(lambda t: losses.dice_loss(t, v), soft).isfinite().all()), True),
        end_attained=equal(float(losses.dice_loss(u, u, eps=0.0)), -1.0),
    )
    n = int(a.sum())  # equal masks have TP = n, FP = FN = 0
    return corrected(
        truth,
        factor_is_missing=near(-n / (2 * n + 0 + 0), float(losses.dice_loss(u, u)), tolerance=1e-6),
        minus_is_missing=near(2 * n / (2 * n + 0 + 0), float(losses.dice_loss(u, u)), tolerance=1e-6),
        end_is_not_attained=above(float(losses.dice_loss(u, u, eps=0.0)), -1.0),
    )
