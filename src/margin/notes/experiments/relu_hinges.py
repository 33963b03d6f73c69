r"""K rectifiers bend a line at most K times

A network :math:`y = \phi_0 + \sum_{d=1}^K\phi_d\,\mathrm{relu}(w_d x + b_d)` is straight between its joints
:math:`-b_d/w_d`. Few units follow a curve badly, many follow it well; in the plane the same units make polygons.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNITS = (1, 2, 4, 8, 16, 32)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.diagnostics import joints

    rng, x = np.random.default_rng(seed), np.linspace(-2, 2, 400)
    y = np.sin(3 * x + rng.uniform(0, 6)) + 0.5 * np.sin(rng.uniform(4, 5) * x) + 0.3 * x
    fits, bends, errors = {}, {}, {}
    for k in UNITS:
        places = np.linspace(-2, 2, k, endpoint=False)
        w, b = np.ones(k), -places  # the best output weights for these hidden units are a least-squares problem
        hidden = np.column_stack([np.maximum(x[:, None] * w + b, 0), np.ones_like(x)])
        phi = np.linalg.lstsq(hidden, y, rcond=None)[0]
        fits[k], bends[k] = hidden @ phi, joints(w, b, phi[:-1])
        errors[k] = float(((fits[k] - y) ** 2).mean())
    return {"x": x, "y": y, "fits": fits, "joints": bends, "errors": errors}


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    straight = []
    for k, fit in data["fits"].items():
        h = data["x"][1] - data["x"][0]
        bent = np.abs(np.diff(fit, 2)) > 1e-9
        near_joint = (np.abs(data["x"][1:-1, None] - data["joints"][k]) <= h + 1e-12).any(axis=1)
        straight.append(not (bent & ~near_joint).any())
    return every(
        at_most_k_joints=equal(all(len(places) <= k for k, places in data["joints"].items()), True),
        straight_between_joints=equal(straight, [True] * len(UNITS)),
        more_is_better=equal(all(errors[a] > errors[b] for a, b in pairwise(UNITS)), True),
        many_are_good=below(errors[32], 0.01 * errors[1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 7.5)
    axes = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for axis, k in zip(axes, UNITS):
        axis.plot(data["x"], data["y"], color="silver", lw=3, label="target")
        axis.plot(data["x"], data["fits"][k], color="C0", lw=1.6, label="network")
        inside = data["joints"][k][np.abs(data["joints"][k]) < 2]
        axis.plot(inside, np.interp(inside, data["x"], data["fits"][k]), "o", color="C3", ms=4, label="joints")
        axis.set(title=f"{k} units, {len(inside)} joints inside, mean squared error {data['errors'][k]:.4f}")
    axes[0].legend()
