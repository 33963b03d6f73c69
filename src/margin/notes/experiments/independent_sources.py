r"""Unmixing signals: independent components are found again, principal ones are not.

Mixtures :math:`x = As` of independent sources that are not normal determine the sources up to order, sign and scale.
FastICA finds them, because it looks for directions far from normal; PCA looks only at variances and stops at a
rotation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.reduction import PCA, FastICA

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 2000
MIXING = np.array([[1.0, 1.0, 1.0], [0.5, 2.0, 1.0], [1.5, 1.0, 2.0]])


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 8, ROWS)
    S = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t)), 2 * ((t * 1.3) % 1) - 1])
    S += 0.1 * rng.normal(size=S.shape)
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    X = S @ MIXING.T
    estimates = {
        "mixtures": X,
        "principal components": PCA(whiten=True).fit_transform(X),
        "independent components": FastICA(random_state=seed).fit_transform(X),
    }
    return {"t": t, "sources": S, **{name: _match(S, signals) for name, signals in estimates.items()}}


def _match(S: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """The signals scaled, and each put (with its sign) beside the source it is most like."""
    correlation = np.corrcoef(S.T, signals.T)[:3, 3:]
    nearest = np.abs(correlation).argmax(axis=1)
    signs = np.sign(correlation[np.arange(3), nearest])
    chosen = signals[:, nearest]
    return signs * (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)


def _worst_match(data: dict[str, Any], name: str) -> float:
    return float(np.mean(data["sources"] * data[name], axis=0).min())


def check(data: dict[str, Any]) -> Verdict:
    return every(
        independent=above(_worst_match(data, "independent components"), 0.95),
        principal=below(_worst_match(data, "principal components"), 0.95),
        mixtures=below(_worst_match(data, "mixtures"), 0.95),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 7)
    names = ("sources", "mixtures", "principal components", "independent components")
    axes = figure.subplots(4, 1, sharex=True)
    for ax, name in zip(axes, names):
        for j, color in enumerate(("C0", "C1", "C2")):
            ax.plot(data["t"], data[name][:, j] + 4.5 * j, color=color, linewidth=0.9, label=f"signal {j + 1}")
        worst = "" if name == "sources" else f" (worst correlation with its source {_worst_match(data, name):.2f})"
        ax.set_title(name.capitalize() + worst, fontsize=10)
        ax.set(ylabel="signal + offset", yticks=[])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    axes[-1].set_xlabel("time")
