r"""Double descent: the test error falls, peaks where parameters meet rows, and falls again.

Least squares on p features of n rows, the shortest solution where there are many, :math:`\hat\theta = \Phi_p^+ y`.
From p = n on all training rows are fitted. At p = n the only solution must bend to all the noise: its coefficients are
long and its curve is wild. Beyond, ever shorter solutions fit the rows as well. A ridge penalty has no peak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.selection.double_descent import legendre_features, random_relu_features, width_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, COLUMNS, NOISE, PENALTY = 40, 8, 0.3, 1.0
POINTS, DECAY = 20, 1.0
WIDTHS = (1, 2, 4, 7, 10, 14, 20, 30, 36, 40, 44, 50, 80, 200, 600)
DEGREES = (1, 2, 3, 4, 6, 8, 11, 14, 17, 20, 24, 32, 45, 80, 200, 400)
SHOWN = (6, 20, 400)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    draws = [_random_features(rng) for _ in range(15 if fast else 60)]
    curves = [_polynomials(rng) for _ in range(15 if fast else 60)]
    middle = lambda sweeps, name: np.median([getattr(sweep, name) for sweep in sweeps], axis=0)  # noqa: E731
    plain, penalized = [pair[0] for pair in draws], [pair[1] for pair in draws]
    sweeps = [curve["sweep"] for curve in curves]
    return {
        "random": {name: middle(plain, name) for name in ("train", "test", "norm")},
        "ridge": middle(penalized, "test"),
        "polynomial": {name: middle(sweeps, name) for name in ("train", "test")},
        "roughness": np.median([curve["roughness"] for curve in curves], axis=0),
        "thresholds": sorted({sweep.threshold for sweep in plain}),
        "shown": {name: curves[0][name] for name in ("x", "y", "grid", "fits")},
    }


def _random_features(rng: np.random.Generator) -> tuple[Any, Any]:
    X, X_test = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(300, COLUMNS))
    weights = rng.normal(size=COLUMNS)
    weights /= np.linalg.norm(weights)
    Phi, Phi_test = random_relu_features(rng, X, X_test, WIDTHS[-1])
    y = X @ weights + NOISE * rng.normal(size=ROWS)
    arguments = (Phi, y, Phi_test, X_test @ weights, WIDTHS)
    return width_sweep(*arguments), width_sweep(*arguments, alpha=PENALTY)


def _polynomials(rng: np.random.Generator) -> dict[str, Any]:
    x = 2 * (np.arange(POINTS) + rng.uniform(0.2, 0.8, POINTS)) / POINTS - 1
    y = np.sin(4 * x) + NOISE * rng.normal(size=POINTS)
    grid = np.linspace(-1, 1, 401)
    Phi, Phi_grid = legendre_features(x, DEGREES[-1], DECAY), legendre_features(grid, DEGREES[-1], DECAY)
    fits = {p: Phi_grid[:, :p] @ np.linalg.lstsq(Phi[:, :p], y, rcond=None)[0] for p in DEGREES}
    bends = [float(np.mean(np.diff(fits[p], 2) ** 2)) for p in DEGREES]
    sweep = width_sweep(Phi, y, Phi_grid, np.sin(4 * grid), DEGREES)
    return {"sweep": sweep, "roughness": bends, "x": x, "y": y, "grid": grid, "fits": {p: fits[p] for p in SHOWN}}


def check(data: dict[str, Any]) -> Verdict:
    train, test, norm = (data["random"][name] for name in ("train", "test", "norm"))
    widths, under = np.array(WIDTHS), np.array(WIDTHS) <= ROWS // 2
    degrees, curve = np.array(DEGREES), data["polynomial"]["test"]
    return every(
        interpolates_from_n_on=equal(data["thresholds"], [ROWS]),
        training_error_left=below(float(train[widths >= ROWS].max()), 1e-16),
        first_descent=below(float(test[under].min()), 0.6 * float(test[0])),
        peak_at_n=equal(int(widths[np.argmax(test)]), ROWS),
        peak_height=above(float(test.max() / test[under].min()), 5.0),
        second_descent_goes_deeper=below(float(test[-1]), float(test[under].min())),
        ridge_has_no_peak=below(float(data["ridge"].max()), 1.05 * float(data["ridge"][0])),
        longest_coefficients_at_n=equal(int(widths[np.argmax(norm)]), ROWS),
        polynomial_peak=equal(int(degrees[np.argmax(curve)]), POINTS),
        roughest_at_n=equal(int(degrees[np.argmax(data["roughness"])]), POINTS),
        polynomial_second_descent=below(float(curve[-1]), 0.01 * float(curve.max())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 8.5)
    grid = figure.add_gridspec(2, 3, height_ratios=[1.35, 1])
    left, right = figure.add_subplot(grid[0, :2]), figure.add_subplot(grid[0, 2])
    ratio = np.array(WIDTHS) / ROWS
    left.plot(ratio, data["random"]["test"], "o-", color="C3", label="test, shortest solution")
    fitted = np.array(WIDTHS) < ROWS
    left.plot(ratio[fitted], data["random"]["train"][fitted], "o-", color="C0", label="training (0 from n on)")
    left.plot(ratio, data["ridge"], "s--", color="C2", ms=4, label=f"test, ridge penalty {PENALTY:g}")
    left.axhline(data["random"]["test"][np.array(WIDTHS) <= ROWS // 2].min(), color="0.6", ls=":", lw=1)
    left.set(xscale="log", yscale="log", xlabel="features / training rows", ylabel="mean squared error (median)")
    left.set_title(f"Random ReLU features, {ROWS} rows")
    right.plot(ratio, data["random"]["norm"], "o-", color="C4", label="length of coefficients")
    # Lines are not rough at all, so the curve starts with parabolas; the last one has roughness 1.
    scaled = data["roughness"][2:] / data["roughness"][-1]
    right.plot(np.array(DEGREES[2:]) / POINTS, scaled, "o-", color="C5", label="roughness, polynomial")
    right.set(xscale="log", yscale="log", xlabel="features / training rows", title="Forced and wild at the threshold")
    for axes in (left, right):
        axes.axvline(1, color="black", lw=1, ls="--")
        axes.legend(fontsize=9)
    shown = data["shown"]
    names = {6: "p < n: smooth, cannot fit all", 20: "p = n: fits all, oscillates", 400: "p >> n: fits all, calm"}
    for column, p in enumerate(SHOWN):
        axes = figure.add_subplot(grid[1, column])
        axes.plot(shown["grid"], np.sin(4 * shown["grid"]), color="0.6", ls="--", label="truth")
        axes.plot(shown["grid"], shown["fits"][p], color="C3", lw=1.5)
        axes.plot(shown["x"], shown["y"], "o", color="black", ms=4)
        axes.set(ylim=(-2.5, 2.5), xlabel="x", title=f"{p} Legendre polynomials, {names[p]}")
        axes.title.set_fontsize(10)
