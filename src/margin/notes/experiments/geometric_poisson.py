r"""The Poisson closest to a geometric distribution has its mean.

:math:`H(p, q_\lambda) = \lambda - E_p[K] \log \lambda + E_p[\log K!]` is least at :math:`\lambda = E_p[K]`. For
:math:`p(k) = 2^{-(k+1)}` on :math:`k \ge 0` that is 1, for :math:`p(k) = 2^{-k}` on :math:`k \ge 1` it is 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from margin.core.verdict import Verdict, every, near
from margin.foundations.information import fit_poisson_to_geometric, geometric_pmf, poisson_pmf

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUPPORTS = (0, 1)
RATES = np.linspace(0.3, 4.0, 371)


def run(seed: int, fast: bool) -> dict[str, Any]:
    k = np.arange(80)
    panels = []
    for start in SUPPORTS:
        p = geometric_pmf(k, 0.5, start)
        fit = fit_poisson_to_geometric(0.5, start)
        curve = RATES - p @ k * np.log(RATES) + p @ gammaln(k + 1.0)
        panels.append({"start": start, "p": p[:9], "q": poisson_pmf(k, fit.rate)[:9], "curve": curve, "rate": fit.rate,
                       "cross_entropy": fit.cross_entropy, "kl": fit.kl})  # fmt: skip
    return {"panels": panels}


def check(data: dict[str, Any]) -> Verdict:
    zero, one = data["panels"]
    scanned = [RATES[np.argmin(panel["curve"])] for panel in (zero, one)]
    return every(
        rates=near([zero["rate"], one["rate"]], [1.0, 2.0], tolerance=1e-12),
        scan=near(scanned, [1.0, 2.0], tolerance=0.011),
        cross_entropies=near([zero["cross_entropy"], one["cross_entropy"]], [1.507834, 1.629373], tolerance=1e-6),
        divergences=near([zero["kl"], one["kl"]], [0.121540, 0.243079], tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    for (bars, curve), panel in zip(figure.subplots(2, 2), data["panels"]):
        k = np.arange(len(panel["p"]))
        bars.bar(k - 0.2, panel["p"], width=0.4, label=f"geometric on k ≥ {panel['start']}", color="C0")
        bars.bar(k + 0.2, panel["q"], width=0.4, label=f"Poisson({panel['rate']:g})", color="C1")
        bars.set(xlabel="k", ylabel="probability", title=f"KL = {panel['kl']:.4f} nats")
        bars.legend(frameon=False)
        curve.plot(RATES, panel["curve"], color="#444444")
        curve.plot(panel["rate"], panel["cross_entropy"], "o", color="C1", label=f"λ = {panel['rate']:g}")
        curve.set(xlabel="λ", ylabel="cross-entropy (nats)", title=f"least {panel['cross_entropy']:.4f} at the mean")
        curve.legend(frameon=False)
    figure.suptitle("A Poisson fitted to a geometric distribution")
