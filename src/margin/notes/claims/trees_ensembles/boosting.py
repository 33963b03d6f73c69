"""Claims about boosting."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every, near
from margin.data import load
from margin.notes.claims import claim
from margin.trees import DecisionTreeRegressor, GradientBoostingRegressor
from margin.trees.boosting import (
    AbsoluteLoss,
    LogisticLoss,
    Loss,
    SquaredLoss,
    gradient_boosting,
    pseudo_residuals,
)

__all__: list[str] = []


@claim("gradient-boosting")
def line_searched_steps_never_raise_the_training_loss(seed: int) -> Verdict:
    from sklearn.ensemble import GradientBoostingRegressor as Peer

    data = load("friedman", n_samples=300, seed=seed)
    X, y = np.asarray(data.X), np.asarray(data.y)
    boosted = gradient_boosting(X, y, AbsoluteLoss(), DecisionTreeRegressor(max_depth=2), n_rounds=20)
    ours = gradient_boosting(X, y, SquaredLoss(), DecisionTreeRegressor(max_depth=3), 30, learning_rate=0.1)
    peer = Peer(n_estimators=30, learning_rate=0.1, max_depth=3, random_state=seed).fit(X, y)
    gap = np.sqrt(np.mean((ours.predict(X) - peer.predict(X)) ** 2)) / np.std(y)
    truth = every(
        largest_rise_of_the_loss=below(float(np.diff(boosted.losses).max()), 1e-12),
        first_over_last_loss=below(boosted.losses[-1] / boosted.losses[0], 0.5),
        gap_to_scikit_learn=below(float(gap), 0.02),
        scaling_numbers_per_round=equal([np.size(m) for m in boosted.multipliers], [1] * 20),
    )
    # A scaling factor would be one number; h_m is a function of the row, and gamma_m times the rate is what scales it.
    values = len(np.unique(boosted.learners[0].predict(X)))
    return corrected(truth, printed=equal({"values of h_1": values}, {"values of h_1": 1}))


@claim("pseudo-residuals")
def pseudo_residuals_are_negative_derivatives(seed: int) -> Verdict:
    import torch

    rng = np.random.default_rng(seed)
    y, F = rng.normal(size=40), rng.normal(size=40)
    labels = (y > 0).astype(float)

    def automatic(loss: str, target: np.ndarray) -> np.ndarray:
        variable = torch.tensor(F, requires_grad=True)
        goal = torch.tensor(target)
        functions = {
            "squared": lambda: 0.5 * (goal - variable) ** 2,
            "absolute": lambda: (goal - variable).abs(),
            "logistic": lambda: torch.nn.functional.binary_cross_entropy_with_logits(variable, goal, reduction="none"),
        }
        functions[loss]().sum().backward()
        assert variable.grad is not None
        return -variable.grad.numpy()

    cases: list[tuple[str, Loss, np.ndarray]] = [
        ("squared", SquaredLoss(), y),
        ("absolute", AbsoluteLoss(), y),
        ("logistic", LogisticLoss(), labels),
    ]
    parts = {
        name: near(pseudo_residuals(loss, target, F), automatic(name, target), tolerance=1e-12)
        for name, loss, target in cases
    }
    first = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_depth=None, min_samples_leaf=1)
    step = first.fit(F[:, None], y).predict(F[:, None]) - y.mean()  # a leaf for every row holds its residual
    return every(
        residual=near(pseudo_residuals(SquaredLoss(), y, F), y - F, tolerance=1e-15),
        as_run=near(step, pseudo_residuals(SquaredLoss(), y, np.full(40, y.mean())), tolerance=1e-12),
        **parts,
    )


@claim("boosting-leaf-average")
def a_leaf_holds_the_mean_of_its_residuals() -> Verdict:
    data = load("diabetes")
    X, y = np.asarray(data.X), np.asarray(data.y)
    model = GradientBoostingRegressor(n_estimators=2, learning_rate=1.0, max_depth=None, max_leaf_nodes=8).fit(X, y)
    leaves, stages = model.apply(X), list(model.staged_predict(X))
    before = np.full(len(y), y.mean())
    gaps = []
    for number in range(2):
        residual, own = y - before, leaves[:, number]
        means = np.bincount(own, residual, minlength=own.max() + 1)[own] / np.bincount(own)[own]
        gaps.append(np.abs(model.tree(number)["value"][own, 0] - means).max())
        before = stages[number]
    return every(
        largest_gap=near(max(gaps), 0.0, tolerance=1e-9), leaves=equal([len(np.unique(c)) for c in leaves.T], [8, 8])
    )
