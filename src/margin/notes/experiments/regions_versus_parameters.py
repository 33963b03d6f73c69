r"""How many linear regions a number of parameters allows, by depth

K layers of D units allow :math:`(D+1)^K` regions for one input and :math:`\bigl(\sum_j\binom{D}{j}\bigr)^K` in general.
Beyond a few parameters deep networks allow far more, and the gap grows with the inputs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTHS, INPUTS = (1, 2, 3, 4, 5), (1, 10)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.theory import compare_depths, linear_pieces, max_region_network, parameter_count, region_limit

    widths = range(3, 250 if fast else 400)
    curves = {
        n: {
            K: np.array([(parameter_count(D, K, n), math.log10(region_limit(D, K, n))) for D in widths]) for K in DEPTHS
        }
        for n in INPUTS
    }
    built = {K: (parameter_count(3, K), len(linear_pieces(max_region_network(3, K)))) for K in DEPTHS}
    at_500 = {n: {b.depth: math.log10(b.regions) for b in compare_depths(500, DEPTHS, n)} for n in INPUTS}
    return {"curves": curves, "built": built, "at_500": at_500}


def check(data: dict[str, Any]) -> Verdict:
    ahead = []
    for n in INPUTS:
        shallow = data["curves"][n][1]
        for K in DEPTHS[1:]:
            x, y = data["curves"][n][K].T
            inside = (x > 200 if n == 1 else x > 1500) & (x < shallow[-1, 0])
            ahead.append(bool((y[inside] > np.interp(x[inside], *shallow.T)).all()) and bool(inside.any()))
    gap = {n: data["at_500"][n][5 if n == 1 else 3] - data["at_500"][n][1] for n in INPUTS}
    return every(
        deep_curves_lie_above=equal(ahead, [True] * len(ahead)),
        gap_at_500=above(gap[1], 2.9),
        built_networks_reach_it=equal([regions for _, regions in data["built"].values()], [4**K for K in DEPTHS]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5)
    for axis, n in zip(figure.subplots(1, 2), INPUTS):
        for K in DEPTHS:
            axis.plot(*data["curves"][n][K].T, label=f"{K} hidden layers")
        if n == 1:
            axis.plot(
                [p for p, _ in data["built"].values()],
                np.log10([r for _, r in data["built"].values()]),
                "ko",
                label="built",
            )
        limit = data["curves"][n][1][-1, 0]
        axis.set(xlim=(0, limit), ylim=(0, None), xlabel="parameters", ylabel="log10 of the regions")
        axis.set_title(f"{n} input" + "s" * (n > 1))
        axis.legend()
