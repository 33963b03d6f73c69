r"""Risk is least at intermediate complexity: squared bias falls, variance rises, noise stays.

.. math:: \mathbb E_D\bigl[R(\hat f_D)\bigr] = \mathbb E_X\bigl[(f - \mathbb E_D\hat f_D)^2
          + \mathbb E_D(\hat f_D - \mathbb E_D\hat f_D)^2\bigr] + \sigma^2

Polynomials of degree 0 to 10 are fitted to many samples of a cubic with noise. The training error falls all the way;
the error on new observations turns where more freedom only follows the noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.selection.double_descent import legendre_features
from margin.selection.loss_parts import squared_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, NOISE = 25, 0.5
DEGREES = np.arange(11)


def truth(x: np.ndarray) -> np.ndarray:
    return 4 * x**3 - 2 * x


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sets = 300 if fast else 3000
    x, grid = np.linspace(-1, 1, ROWS), np.linspace(-0.98, 0.98, 197)
    Y = truth(x)[:, None] + NOISE * rng.normal(size=(ROWS, sets))
    new = truth(x)[:, None] + NOISE * rng.normal(size=(ROWS, sets))
    fresh = truth(grid)[:, None] + NOISE * rng.normal(size=(len(grid), sets))
    rows = []
    for degree in DEGREES.tolist():
        Phi, at_grid = legendre_features(x, degree + 1), legendre_features(grid, degree + 1)
        theta = np.linalg.lstsq(Phi, Y, rcond=None)[0]  # one column per training set
        parts = squared_parts((at_grid @ theta).T, truth(grid), NOISE**2)
        errors = [float(np.mean((Phi @ theta - target) ** 2)) for target in (Y, new)]
        measured = float(np.mean((at_grid @ theta - fresh) ** 2))
        rows.append([part.mean() for part in (parts.bias, parts.variance, parts.noise)] + [measured, *errors])
    return dict(zip(("bias", "variance", "noise", "risk", "train", "test"), np.array(rows).T, strict=True))


def check(data: dict[str, Any]) -> Verdict:
    total = data["bias"] + data["variance"] + data["noise"]
    best = int(np.argmin(total))
    return every(
        sum_is_the_risk=below(float(np.abs(total / data["risk"] - 1).max()), 0.02),
        bias_falls=below(float(np.diff(data["bias"]).max()), 1e-3),
        bias_vanishes_at_the_truth=below(float(data["bias"][3]), 0.02 * float(data["bias"][1])),
        variance_rises=above(float(np.diff(data["variance"]).min()), 0.0),
        minimum_inside=equal(best, 3),
        noise_is_constant=near(data["noise"], np.full(len(DEGREES), NOISE**2), tolerance=1e-12),
        training_error_falls=below(float(np.diff(data["train"]).max()), 0.0),
        test_error_turns=equal(int(np.argmin(data["test"])), 3),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.5)
    left, right = figure.subplots(1, 2)
    left.stackplot(
        DEGREES,
        data["noise"],
        data["variance"],
        np.maximum(data["bias"], 0),
        labels=("noise", "variance", "squared bias"),
        colors=("0.85", "#f2b179", "#8fb8de"),
    )
    left.plot(DEGREES, data["risk"], "o", color="black", label="risk, measured")
    left.set(xlabel="degree", ylabel="expected squared error", title="Three parts add up to the risk", xlim=(0, 10))
    left.legend(loc="upper center")
    right.plot(DEGREES, data["train"], "o-", color="C0", label="training rows")
    right.plot(DEGREES, data["test"], "o-", color="C3", label="new observations")
    right.axvline(3, color="0.5", ls=":", label="degree of the truth")
    right.axhline(NOISE**2, color="0.5", lw=1, label="noise")
    right.set(
        xlabel="degree", ylabel="mean squared error", yscale="log", title="More capacity always fits better, until"
    )
    right.set_title("Training error only falls, test error turns")
    right.legend()
