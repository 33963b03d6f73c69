r"""Probabilities of the classes along a line, from one and from three outputs.

A network with a sigmoid, :math:`P(y = 1 \mid x) = \sigma(f(x))`, crosses one half once between two classes. With K
outputs through softmax, :math:`P(y = k \mid x) = e^{f_k(x)} / \sum_l e^{f_l(x)}`, every class has a curve, they sum to
one, and the prediction is the curve on top. Both come near 0 and 1 and never get there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BORDERS = {"two classes": (0.5,), "three classes": (-1.0, 1.0)}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.estimators import MLPClassifier

    rng = np.random.default_rng(seed)
    grid = np.linspace(-4, 4, 401)
    data: dict[str, Any] = {"grid": grid, "panels": {}}
    for name, borders in BORDERS.items():
        x = rng.uniform(-3, 3, size=200 if fast else 600)
        # Labels are those of a noisy look at x, so that the truth is a smooth curve too.
        y = np.searchsorted(borders, x + 0.25 * rng.normal(size=len(x)))
        model = MLPClassifier((16,), max_iter=40 if fast else 120, learning_rate_init=0.02, random_state=seed).fit(
            x[:, None], y
        )
        log = model.predict_log_proba(grid[:, None])
        predicted = model.predict(grid[:, None])
        data["panels"][name] = {"x": x, "y": y, "log": log, "predicted": predicted}
    return data


def check(data: dict[str, Any]) -> Verdict:
    parts, closed = {}, False
    for name, panel in data["panels"].items():
        proba = np.exp(panel["log"])
        changes = data["grid"][np.flatnonzero(np.diff(panel["predicted"]))]
        inside = np.abs(data["grid"]) <= 3
        key = name.replace(" ", "_")
        parts[f"{key}_sum_to_one"] = near(proba.sum(axis=1), np.ones(len(proba)), tolerance=1e-12)
        parts[f"{key}_argmax"] = equal(panel["predicted"], proba.argmax(axis=1))
        parts[f"{key}_borders"] = near(changes, BORDERS[name], tolerance=0.3)
        parts[f"{key}_certain_far_away"] = above(float(proba[~inside].max(axis=1).min()), 0.9)
        closed |= bool(np.isneginf(panel["log"]).any())
    # The notes let the sigmoid take the values 0 and 1: then some log-probability would be minus infinity.
    return corrected(every(**parts), printed=equal(closed, True))


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.6)
    for axis, (name, panel) in zip(figure.subplots(1, 2, sharey=True), data["panels"].items()):
        for k, curve in enumerate(np.exp(panel["log"]).T):
            (line,) = axis.plot(data["grid"], curve, lw=2, label=f"$P(y = {k} \\mid x)$")
            rows = panel["x"][panel["y"] == k]
            axis.plot(rows, np.full(len(rows), -0.06 - 0.035 * k), "|", color=line.get_color(), ms=7)
        axis.axhline(0.5, color="gray", lw=0.7, ls=":")
        for border in BORDERS[name]:
            axis.axvline(border, color="black", lw=0.7, ls="--")
        axis.set(title=f"{name}: curves, training rows below, true borders dashed", xlabel="$x$", ylabel="probability")
        axis.legend(loc="center left")
