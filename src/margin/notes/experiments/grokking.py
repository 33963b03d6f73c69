r"""Grokking: a network fits its training rows long before it understands them.

The task is addition modulo p from a part of all pairs. The network has one hidden layer with squares,

.. math:: f(a, b) = W_2\,(U_a + V_b)^2,

which can represent the rule exactly with waves :math:`\cos(2\pi k a/p)`. Trained by AdamW it first memorizes: the
training accuracy reaches 1 while the test accuracy is that of guessing. Weight decay keeps pulling the weights to a
shorter solution, and the short one is the rule: suddenly the test accuracy rises. Without decay it stays where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.metrics import accuracy
from margin.optimize.rules import AdamW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODULUS, WIDTH, FRACTION, RATE = 23, 128, 0.6, 0.01
DECAYS = {"weight decay 1": 1.0, "no weight decay": 0.0}
EVERY = 10


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    pairs = np.indices((MODULUS, MODULUS)).reshape(2, -1).T  # all (a, b)
    X = np.hstack([np.eye(MODULUS)[pairs[:, 0]], np.eye(MODULUS)[pairs[:, 1]]])
    y = pairs.sum(axis=1) % MODULUS
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(FRACTION * len(y))])
    start = (0.5 * rng.normal(size=(2 * MODULUS, WIDTH)), 0.5 / np.sqrt(WIDTH) * rng.normal(size=(WIDTH, MODULUS)))
    steps = 500 if fast else 1200
    curves = {name: _train(X, y, train, test, start, decay, steps) for name, decay in DECAYS.items()}
    return {"steps": np.arange(0, steps, EVERY), "curves": curves, "chance": 1 / MODULUS}


def _train(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, start: Any, decay: float, steps: int
) -> dict[str, Any]:
    """Full-batch descent on the squared error; accuracies and the length of the weights every ten steps."""
    rule, weights, target = AdamW(weight_decay=decay), list(start), np.eye(MODULUS)[y[train]]
    states = [rule.start(w) for w in weights]
    history: dict[str, list[float]] = {"train": [], "test": [], "length": []}
    for step in range(steps):
        if step % EVERY == 0:
            history["train"].append(accuracy(y[train], _outputs(X[train], weights).argmax(axis=1)))
            history["test"].append(accuracy(y[test], _outputs(X[test], weights).argmax(axis=1)))
            history["length"].append(float(np.sqrt(sum(np.sum(w**2) for w in weights))))
        hidden = X[train] @ weights[0]
        gap = 2 / len(train) * (hidden**2 @ weights[1] - target)
        gradients = X[train].T @ (gap @ weights[1].T * 2 * hidden), (hidden**2).T @ gap
        for i, gradient in enumerate(gradients):
            states[i], move = rule.update(states[i], gradient, weights[i], RATE)
            weights[i] = weights[i] + move
    return {name: np.array(values) for name, values in history.items()}


def _outputs(X: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    return (X @ weights[0]) ** 2 @ weights[1]


def check(data: dict[str, Any]) -> Verdict:
    decayed, plain = (data["curves"][name] for name in DECAYS)
    fitted = int(np.argmax(decayed["train"] >= 0.99))
    understood = int(np.argmax(decayed["test"] >= 0.9))
    return every(
        memorized=above(float(decayed["train"][fitted]), 0.98),
        guessing_when_memorized=below(float(decayed["test"][fitted]), 0.2),
        understood_in_the_end=above(float(decayed["test"][-1]), 0.95),
        later_by_a_factor=above(understood / max(fitted, 1), 1.8),
        not_without_decay=below(float(plain["test"][-1]), 0.3),
        though_it_memorized=above(float(plain["train"][-1]), 0.98),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.5)
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    for (name, curve), dash in zip(data["curves"].items(), ("-", "--"), strict=True):
        left.plot(data["steps"] + 1, curve["train"], dash, color="C0", label=f"training, {name}")
        left.plot(data["steps"] + 1, curve["test"], dash, color="C3", label=f"test, {name}")
        right.plot(data["steps"] + 1, curve["length"], dash, color="C4", label=name)
    left.axhline(data["chance"], color="0.6", ls=":", label="guessing")
    left.set(xscale="log", xlim=(10, None), xlabel="step", ylabel="accuracy", title=f"Addition modulo {MODULUS}")
    left.legend(loc="center right", fontsize=9)
    right.set(xscale="log", xlim=(10, None), xlabel="step", title="Length of all weights")
    right.legend(fontsize=9)
