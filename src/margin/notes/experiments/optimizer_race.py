r"""Optimizer race: ten methods on six landscapes from one start.

First-order rules :math:`(s_{t+1}, \Delta\theta) = rule(s_t, g_t)` run at the best rate of a sweep; BFGS and the
trust-region Newton method set their own steps. Momentum takes a ravine in fewer steps than plain descent, methods
that know curvature reach a minimum everywhere, and nobody stays on the saddle. Critical points are found by
Newton's method from a grid and told apart by the eigenvalues of the Hessian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.optimize import follow, minimize
from margin.optimize.derivatives import numerical_hessian
from margin.optimize.descent import descend
from margin.optimize.landscapes import BEALE, HIMMELBLAU, ROSENBROCK, SADDLE, Landscape, ravine
from margin.optimize.problems import least_squares
from margin.optimize.quadratics import classify_critical_point
from margin.optimize.rules import AdaDelta, AdaGrad, Adam, AdamW, Descent, Momentum, Nesterov, RMSProp, Rule

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

RULES: dict[str, Rule] = {
    "gradient descent": Descent(),
    "momentum": Momentum(0.9),
    "Nesterov": Nesterov(0.9),
    "AdaGrad": AdaGrad(),
    "RMSProp": RMSProp(0.9),
    "AdaDelta": AdaDelta(),
    "Adam": Adam(),
    "AdamW": AdamW(weight_decay=0.001),
}
SECOND_ORDER = {"BFGS": "bfgs", "trust region": "trust_region"}
COLORS = ("#444444", "#1f77b4", "#17becf", "#ff7f0e", "#bcbd22", "#8c564b", "#d62728", "#e377c2", "#2ca02c", "#9467bd")


def fitted_line(seed: int) -> Landscape:
    """The squared error of a line through noisy points, its two parameters strongly correlated."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.5, 2.5, 30)
    X, y = np.column_stack([np.ones(30), t]), 1.0 + 0.5 * t + 0.2 * rng.standard_normal(30)
    problem, best = least_squares(X, y), np.linalg.lstsq(X, y)[0]
    center, gram = float(np.mean((X @ best - y) ** 2)), X.T @ X / 30
    return Landscape(
        "least squares",
        lambda p: center + np.einsum("i...,ij,j...->...", d := p - best.reshape(2, *[1] * (np.ndim(p) - 1)), gram, d),
        problem.gradient,
        lambda _: 2 * gram,
        minima=((float(best[0]), float(best[1])),),
        start=(-1.0, -0.5),
        window=(-1.5, 2.6, -0.9, 1.9),
    )


def run(seed: int, fast: bool) -> dict[str, Any]:
    steps, rates = (80, np.geomspace(1e-3, 0.1, 4)) if fast else (250, np.geomspace(3e-4, 0.6, 12))
    return {
        land.name: {
            "contours": contours(land),
            "critical": critical_points(land),
            "paths": {name: race(land, rule, rates, steps) for name, rule in RULES.items()}
            | {
                name: minimize(
                    land.f,
                    land.start,
                    method=method,
                    grad=land.grad,
                    **({"hess": land.hess} if "trust" in name else {}),
                ).path
                for name, method in SECOND_ORDER.items()
            },
            "minima": np.array(land.minima),
            "floor": min(float(land.f(np.array(m))) for m in land.minima),
            "window": land.window,
        }
        for land in (ravine(100.0), ROSENBROCK, SADDLE, BEALE, HIMMELBLAU, fitted_line(seed))
    }


def race(land: Landscape, rule: Rule, rates: np.ndarray, steps: int) -> np.ndarray:
    """The path at the tame rate that is lowest on average over its steps (AdaDelta scales its own unit rate)."""
    floor = min(float(land.f(np.array(m))) for m in land.minima)
    scale = 20.0 if isinstance(rule, AdaDelta) else 1.0
    runs = [
        follow(descend(land.f, land.grad, land.start, rule, learning_rate=scale * rate, max_iter=steps, tol=1e-8))
        for rate in rates
    ]
    tame = [run for run in runs if _stays(run.path, land.window)] or runs
    return min(tame, key=lambda run: float(np.mean(np.log(run.history("value") - floor + 1e-9)))).path


def _stays(path: np.ndarray, window: tuple[float, float, float, float]) -> bool:
    """Whether the path leaves the window by no more than a quarter of its size."""
    low, high = np.array(window[::2]), np.array(window[1::2])
    return bool(np.all(np.abs(path - (low + high) / 2) <= 0.75 * (high - low)))


def contours(land: Landscape, size: int = 120) -> dict[str, np.ndarray]:
    left, right, low, high = land.window
    x, y = np.meshgrid(np.linspace(left, right, size), np.linspace(low, high, size))
    return {"x": x, "y": y, "z": np.asarray(land.f(np.stack([x, y])))}


def critical_points(land: Landscape) -> dict[str, list[list[float]]]:
    """Minima, maxima and saddles in the window, by Newton's method from a coarse grid."""
    left, right, low, high = land.window
    points: dict[str, list[list[float]]] = {"minimum": [], "maximum": [], "saddle": []}
    for start in np.stack(np.meshgrid(np.linspace(left, right, 8), np.linspace(low, high, 8)), axis=-1).reshape(-1, 2):
        end = minimize(land.f, start, method="newton", grad=land.grad, hess=land.hess, max_iter=12)
        inside = left <= end.x[0] <= right and low <= end.x[1] <= high
        if not inside or end.gradient_norm > 1e-8:
            continue
        kind = classify_critical_point(land.grad(end.x), numerical_hessian(land.f, end.x, grad=land.grad)).kind
        if all(np.linalg.norm(end.x - other) > 1e-3 for other in points.get(kind, [])):
            points.setdefault(kind, []).append(end.x.tolist())
    return points


def steps_to(path: np.ndarray, target: np.ndarray, distance: float = 1e-1) -> int:
    """The first step after which the path stays within ``distance`` of the target."""
    far = np.linalg.norm(path - target, axis=1) > distance
    return int(np.max(np.flatnonzero(far), initial=-1)) + 1


def check(data: dict[str, Any]) -> Verdict:
    def gap(name: str, path: np.ndarray) -> float:
        return float(np.min(np.linalg.norm(data[name]["minima"] - path[-1], axis=1)))

    valley = data["ravine"]["paths"]
    origin = np.zeros(2)
    return every(
        second_order_arrives=below(max(gap(n, d["paths"][m]) for n, d in data.items() for m in SECOND_ORDER), 1e-4),
        momentum_beats_descent=below(
            steps_to(valley["momentum"], origin) / steps_to(valley["gradient descent"], origin), 1.0
        ),
        all_leave_the_saddle=above(min(abs(path[-1, 1]) for path in data["saddle"]["paths"].values()), 0.5),
        minima_of_himmelblau=equal(len(data["Himmelblau"]["critical"]["minimum"]), 4),
        saddles_of_himmelblau=equal(len(data["Himmelblau"]["critical"]["saddle"]), 4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 8.2)
    axes = figure.subplots(2, 3).ravel()
    for axis, (name, item) in zip(axes, data.items()):
        background(axis, name, item)
        x, y, z = (item["contours"][key] for key in "xyz")
        axis.contour(x, y, np.log10(z - item["floor"] + 1e-3), levels=16, colors="gray", linewidths=0.5)
        for (method, path), color in zip(item["paths"].items(), COLORS):
            axis.plot(*path.T, color=color, lw=1.4, alpha=0.9, label=method)
            axis.plot(*path[-1], "o", color=color, ms=4)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle("Ten optimizers from one start (first-order methods at their best rate of a sweep)")


def background(axis: Any, name: str, item: dict[str, Any]) -> None:
    depth = np.log10(item["contours"]["z"] - item["floor"] + 1e-3)
    # Few shades: a GIF has 256 colors for everything, and the lines need theirs.
    shades = np.digitize(depth, np.linspace(depth.min(), depth.max(), 13)[1:-1])
    axis.imshow(shades, extent=item["window"], origin="lower", aspect="auto", cmap="Greys", vmin=-2, vmax=24)
    axis.plot(*next(iter(item["paths"].values()))[0], "ks", ms=5)
    for kind, marker in (("minimum", "*"), ("saddle", "X"), ("maximum", "^")):
        points = np.array(item["critical"][kind]).reshape(-1, 2)
        axis.plot(*points.T, marker, color="gold", mec="black", ms=10 if kind == "minimum" else 7, ls="none", zorder=5)
    axis.set(title=name, xlim=item["window"][:2], ylim=item["window"][2:], xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")


def animate(data: dict[str, Any]) -> Animation:
    """All paths at once, one step per frame, then a pause."""
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), dpi=64)
    FigureCanvasAgg(figure)
    heads = []
    for axis, (name, item) in zip(figure.subplots(2, 3).ravel(), data.items()):
        background(axis, name, item)
        axis.set(xticks=[], yticks=[], xlabel="", ylabel="")  # text is most of the cost of a frame
        for (method, path), color in zip(item["paths"].items(), COLORS):
            (line,) = axis.plot([], [], color=color, lw=1.6, label=method)
            (head,) = axis.plot([], [], "o", color=color, ms=5)
            heads.append((line, head, path))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0.08, 1, 1))

    def update(frame: int) -> list[Any]:
        for line, head, path in heads:
            shown = path[: frame + 1]
            line.set_data(*shown.T)
            head.set_data(*shown[-1:].T)
        return [artist for line, head, _ in heads for artist in (line, head)]

    return FuncAnimation(figure, update, frames=[*range(40), *[39] * 5], interval=100)
