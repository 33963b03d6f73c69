r"""Heavy tails beat every exponential

A law is heavy tailed when :math:`e^{tx}\Pr(X>x) \to \infty` for every t > 0. On a logarithmic scale of probability the
tails of the normal and of the exponential fall at least linearly; those of Lévy, Cauchy and Student's t fall like
logarithms, straight lines once x is logarithmic too, with slope minus the index of the tail. In the alpha-stable family
the tail grows heavier as alpha falls from 2 (normal).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.probability import (
    AlphaStable,
    Cauchy,
    Exponential,
    Levy,
    Normal,
    StudentT,
    heavy_tail_report,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAWS = {
    "normal": Normal(),
    "exponential": Exponential(1),
    "t, 3 degrees": StudentT(3),
    "Cauchy": Cauchy(),
    "Lévy": Levy(),
}
HEAVY = ("t, 3 degrees", "Cauchy", "Lévy")
INDEX = {"t, 3 degrees": 3.0, "Cauchy": 1.0, "Lévy": 0.5}
ALPHAS = (2.0, 1.7, 1.3, 0.9, 0.5)


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = np.linspace(0.1, 40, 120 if fast else 400)
    far = np.geomspace(1, 1e4, 60 if fast else 200)
    draws = {name: law.sample(300, np.random.default_rng(seed)) for name, law in LAWS.items()}
    return {
        "x": x,
        "far": far,
        "near_tails": {name: law.log_survival(x) for name, law in LAWS.items()},
        "far_tails": {name: law.log_survival(far) for name, law in LAWS.items()},
        "stable_tails": np.array([AlphaStable(alpha).log_survival(far) for alpha in ALPHAS]),
        "heavy": {name: heavy_tail_report(law).heavy for name, law in LAWS.items()},
        "largest": {name: float(values.max()) for name, values in draws.items()},
    }


def check(data: dict[str, Any]) -> Verdict:
    far = data["far"]
    slopes = {name: np.polyfit(np.log(far[-10:]), data["far_tails"][name][-10:], 1)[0] for name in HEAVY}
    ends = data["stable_tails"][:, -1]
    return every(
        classified=equal(data["heavy"], {name: name in HEAVY for name in LAWS}),
        indices=near([-slopes[name] for name in HEAVY], [INDEX[name] for name in HEAVY], tolerance=0.01),
        heavier_as_alpha_falls=equal(bool(np.all(np.diff(ends) > 0)), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, middle, right = figure.subplots(1, 3, sharey=True)
    for name in LAWS:
        style = "-" if name in HEAVY else "--"
        left.plot(data["x"], data["near_tails"][name] / np.log(10), style, label=name)
        middle.plot(data["far"], data["far_tails"][name] / np.log(10), style, label=name)
    left.set(xlabel="x", ylabel=r"$\log_{10}\Pr(X > x)$", title="Linear x: heavy tails bend", ylim=(-14, 0.3))
    left.legend(fontsize="small", loc="lower right")
    middle.set(xscale="log", xlabel="x", title="Logarithmic x: power laws")
    for alpha, tail in zip(ALPHAS, data["stable_tails"]):
        right.plot(data["far"], tail / np.log(10), "--" if alpha == 2 else "-", label=rf"$\alpha = {alpha:g}$")
    right.set(xscale="log", xlabel="x", title="Alpha-stable, symmetric")
    right.legend(fontsize="small", loc="lower left")
