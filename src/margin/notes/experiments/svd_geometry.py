r"""Every matrix turns, stretches and turns again

:math:`M = U\Sigma V^\top`: an orthogonal :math:`V^\top` moves the unit disc onto itself, :math:`\Sigma` stretches it
along the axes by the singular values, an orthogonal U turns the ellipse. "Turns" allows for a reflection: if
:math:`\det M < 0`, exactly one of the two orthogonal factors has determinant -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.linalg import classify_orthogonal, svd

if TYPE_CHECKING:
    from matplotlib.figure import Figure

M = np.array([[1.0, 1.3], [0.9, -0.5]])  # negative determinant


def run(seed: int, fast: bool) -> dict[str, Any]:
    U, s, V = svd(M)
    angle = np.linspace(0, 2 * np.pi, 721 if fast else 7201)
    disc = np.array([np.cos(angle), np.sin(angle)])
    # Follow one disc, two arrows on it, and a letter F that shows a reflection.
    letter = np.array([[-0.2, -0.2, 0.25, np.nan, -0.2, 0.12], [-0.4, 0.4, 0.4, np.nan, 0.05, 0.05]])
    steps = {"unit disc": np.eye(2), "$V^T$": V.T, "$\\Sigma V^T$": np.diag(s) @ V.T, "$U\\Sigma V^T = M$": M}
    return {
        "panels": {name: (T @ disc, T @ letter, T @ V) for name, T in steps.items()},
        "radii": np.linalg.norm(M @ disc, axis=0),
        "s": s,
        "product": U @ np.diag(s) @ V.T,
        "kinds": [classify_orthogonal(U), classify_orthogonal(V.T)],
    }


def check(data: dict[str, Any]) -> Verdict:
    radii = data["radii"]
    return corrected(
        every(
            semi_axes=near(np.array([radii.max(), radii.min()]), data["s"], tolerance=1e-4),
            product=near(data["product"], M, tolerance=1e-12),
            one_reflection=equal(sorted(data["kinds"]), ["reflection", "rotation"]),
        ),
        printed=equal(data["kinds"], ["rotation", "rotation"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 3.8)
    for axes, (name, (disc, letter, arrows)) in zip(
        figure.subplots(1, 4, sharex=True, sharey=True), data["panels"].items()
    ):
        axes.fill(*disc, color="C0", alpha=0.12)
        axes.plot(*disc, color="C0", linewidth=1)
        axes.plot(*letter, color="0.25", linewidth=2.5)
        for arrow, color in zip(arrows.T, ("C1", "C2")):
            axes.annotate("", arrow, (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2})
        axes.set(title=name, aspect="equal", xlim=(-1.9, 1.9), ylim=(-1.9, 1.9))
        axes.grid(alpha=0.3)
    s1, s2 = data["s"]
    kinds = f"U is a {data['kinds'][0]}, $V^T$ a {data['kinds'][1]}"
    figure.suptitle(f"Semi-axes {s1:.2f} and {s2:.2f} are the singular values; {kinds}")
