r"""The widest street: hard margin on separable classes, soft margins on overlapping ones.

A hard margin has :math:`y_i f(x_i) \ge 1` for all rows, with equality on the support vectors. A soft margin allows
slack :math:`\xi_i = \max(0, 1-y_if(x_i))`: rows inside the street have :math:`0 < \xi \le 1`, rows on the wrong side
:math:`\xi > 1`. A larger C punishes slack more and narrows the street.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near
from margin.kernels import SVC, HardMarginSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOFTNESS = (0.02, 10.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = 60 if fast else 120
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    noise = rng.normal(size=(n, 2))
    apart, close = 0.6 * np.clip(noise, -2, 2) + 1.6 * y[:, None], noise + 0.9 * y[:, None]
    panels = [_panel("hard margin", HardMarginSVC(tol=1e-8), apart, y)]
    panels += [_panel(f"soft margin, C = {C:g}", SVC(C=C, kernel="linear", tol=1e-6), close, y) for C in SOFTNESS]
    return {"panels": panels}


def _panel(title: str, model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    model.fit(X, y)
    w = (model.dual_coef_ @ model.support_vectors_)[0]
    values = y * model.decision_function(X)
    return {
        "title": title,
        "X": X,
        "y": y,
        "w": w,
        "b": float(model.intercept_[0]),
        "support": model.support_,
        "slack": np.maximum(0, 1 - values),
        "smallest": float(values.min()),
        "width": 2 / float(np.linalg.norm(w)),
    }


def check(data: dict[str, Any]) -> Verdict:
    hard, wide, narrow = data["panels"]
    on_street = hard["slack"][hard["support"]]
    violators = np.flatnonzero(wide["slack"] > 1e-4)
    return every(
        hard_touches_one=near(hard["smallest"], 1.0, tolerance=1e-5),
        support_on_the_margin=near(on_street, np.zeros(len(on_street)), tolerance=1e-5),
        larger_C_is_narrower=above(wide["width"] / narrow["width"], 1.5),
        violators_are_support=equal(bool(np.isin(violators, wide["support"]).all()), True),
        some_misclassified=above(float((narrow["slack"] > 1).sum()), 0.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.4)
    drawn = {}
    for axes, panel in zip(figure.subplots(1, 3), data["panels"]):
        X, y, w, b = panel["X"], panel["y"], panel["w"], panel["b"]
        limit = float(np.abs(X).max()) + 0.3
        grid = np.linspace(-limit, limit, 200)
        u, v = np.meshgrid(grid, grid)
        f = w[0] * u + w[1] * v + b
        axes.contourf(u, v, f, levels=[-1, 1], colors=["0.93"])
        axes.contour(u, v, f, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=1)
        for label, color in ((1, "C0"), (-1, "C1")):
            drawn[f"class {label:+d}"] = axes.scatter(*X[y == label].T, color=color, s=16)
        slack, support = panel["slack"], np.zeros(len(X), bool)
        support[panel["support"]] = True
        for name, chosen, color in (
            ("support vector on the margin", support & (slack <= 1e-4), "black"),
            (r"inside: $0<\xi\leq1$", (slack > 1e-4) & (slack <= 1), "C2"),
            (r"wrong side: $\xi>1$", slack > 1, "C3"),
        ):
            drawn[name] = axes.scatter(*X[chosen].T, s=64, facecolors="none", edgecolors=color, linewidths=1.2)
        axes.set(title=f"{panel['title']}\nwidth {panel['width']:.2f}, {len(panel['support'])} support vectors")
        axes.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(-limit, limit), ylim=(-limit, limit))
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=len(drawn))
