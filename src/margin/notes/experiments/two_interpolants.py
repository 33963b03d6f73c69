r"""Two functions with no training error

Many functions pass through the same points. The natural cubic spline is the one with the least
:math:`\int f''(t)^2\,dt`; the polynomial of degree n - 1 is another, and far rougher. The data cannot tell them apart:
only a preference among solutions, a regularizer, can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.linear.spline_regression import natural_spline_design, roughness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS, NOISE = 12, 0.1


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Both interpolants of noisy points of a sine, on a grid."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, POINTS)
    y = np.sin(2 * x) + NOISE * rng.normal(size=POINTS)
    grid = np.linspace(-1, 1, 200 if fast else 1000)
    legendre = np.polynomial.legendre.Legendre.fit(x, y, POINTS - 1)
    smooth = natural_spline_design(grid, x) @ y
    return {
        "x": x,
        "y": y,
        "grid": grid,
        "smooth": smooth,
        "wiggly": legendre(grid),
        "residual_smooth": float(np.abs(natural_spline_design(x, x) @ y - y).max()),
        "residual_wiggly": float(np.abs(legendre(x) - y).max()),
        "roughness_smooth": float(y @ roughness(x) @ y),
        "roughness_wiggly": float(_integral(legendre.deriv(2))),
        "error_smooth": float(np.mean((smooth - np.sin(2 * grid)) ** 2)),
        "error_wiggly": float(np.mean((legendre(grid) - np.sin(2 * grid)) ** 2)),
    }


def _integral(second: Any) -> float:
    square = (second * second).integ()
    return square(1.0) - square(-1.0)


def check(data: dict[str, Any]) -> Verdict:
    return every(
        smooth_interpolates=below(data["residual_smooth"], 1e-10),
        wiggly_interpolates=below(data["residual_wiggly"], 1e-10),
        wiggly_is_rougher=above(data["roughness_wiggly"], 10 * data["roughness_smooth"]),
        smooth_generalizes=below(data["error_smooth"], data["error_wiggly"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    """The functions, and their second derivatives, whose squares the roughness adds up."""
    functions, bends = figure.subplots(1, 2)
    grid = data["grid"]
    names = {"wiggly": (f"polynomial of degree {POINTS - 1}", "C3", 1.4), "smooth": ("natural cubic spline", "C0", 2.2)}
    functions.plot(grid, np.sin(2 * grid), color="C7", lw=1, ls="--", label="truth")
    for name, (label, color, width) in names.items():
        functions.plot(grid, data[name], color=color, lw=width, label=label)
        second = np.gradient(np.gradient(data[name], grid), grid)[2:-2]  # one-sided differences at the ends
        said = f"{label}: squares sum to {data[f'roughness_{name}']:.3g}"
        bends.plot(grid[2:-2], second, color=color, lw=width, label=said)
    functions.plot(data["x"], data["y"], "o", ms=6, color="black", label="data")
    heights = np.concatenate([data["y"], data["wiggly"]])
    functions.set(
        xlabel="x", ylabel="y", title="Both pass through every point", ylim=(heights.min() - 0.2, heights.max() + 0.2)
    )
    functions.legend(loc="best")
    bends.set_yscale("symlog", linthresh=10)
    bends.axhline(0, color="C7", lw=0.8)
    bends.set(xlabel="x", ylabel="second derivative", title="One bends far more")
    bends.legend(loc="lower center")
