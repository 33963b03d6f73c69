r"""Binary classification by maximum likelihood: a line, a sigmoid, and the probability of every label

The model sets the parameter of a Bernoulli law, :math:`P(y \mid x) = (1 - \lambda)^{1 - y} \lambda^y` with
:math:`\lambda = \sigma(\phi_0 + \phi_1 x)`. The loss, binary cross-entropy, is minus the sum of the log-probabilities
that the labels get. Where the likelihood is largest the mean of the predicted probabilities is that of the labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, TRUTH = 30, (-1.0, 2.0)  # of the line
LAMBDAS = (0.2, 0.5, 0.85)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.foundations.probability import Bernoulli
    from margin.linear import LogisticRegression

    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, size=ROWS))
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-(TRUTH[0] + TRUTH[1] * x)))).astype(int)
    y[x < -2], y[x > 2.5] = 0, 1
    middle = np.argsort(np.abs(x - 0.5))[:2]
    y[middle] = (1, 0)  # no line separates the classes, so that the likelihood has a maximum
    y[np.abs(x - 0.5).argsort()[2:4]] = (0, 1)
    fit = LogisticRegression(C=np.inf, tol=1e-12).fit(x[:, None], y)
    phi = np.array([fit.intercept_[0], fit.coef_[0, 0]])

    def log_probabilities(line: np.ndarray) -> np.ndarray:
        rates = 1 / (1 + np.exp(-(line[0] + line[1] * x)))
        return np.array([Bernoulli(rate).log_prob([label])[0] for rate, label in zip(rates, y)])

    slopes = phi[1] * np.linspace(0.05, 2.5, 50)
    return {
        "x": x,
        "y": y,
        "phi": phi,
        "log_probabilities": log_probabilities(phi),
        "slopes": slopes,
        "losses": np.array([-log_probabilities(np.array([phi[0], slope])).sum() for slope in slopes]),
        "loss": float(-log_probabilities(phi).sum()),
        "nearby": [float(-log_probabilities(phi + step).sum()) for step in 0.1 * np.vstack([np.eye(2), -np.eye(2)])],
        "masses": np.array([Bernoulli(rate).pmf([0, 1]) for rate in LAMBDAS]),
    }


def check(data: dict[str, Any]) -> Verdict:
    z, y = data["phi"][0] + data["phi"][1] * data["x"], data["y"]
    rates = 1 / (1 + np.exp(-z))
    cross_entropy = np.logaddexp(0, z) - y * z
    return every(
        masses=near(data["masses"], [[1 - rate, rate] for rate in LAMBDAS], tolerance=1e-12),
        loss_is_cross_entropy=near(-data["log_probabilities"], cross_entropy, tolerance=1e-9),
        least_loss=below(data["loss"], min(data["nearby"])),
        slope_zero=near([np.sum(rates - y), np.sum((rates - y) * data["x"])], [0.0, 0.0], tolerance=1e-4),
        below_guessing_the_mean=below(data["loss"], ROWS * _entropy(float(y.mean()))),
    )


def _entropy(p: float) -> float:
    return float(-p * np.log(p) - (1 - p) * np.log(1 - p))


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.8)
    left, middle, right = figure.subplots(1, 3, width_ratios=(2, 3.4, 2))
    for k, (rate, masses) in enumerate(zip(LAMBDAS, data["masses"])):
        left.bar(np.arange(2) + 0.25 * (k - 1), masses, width=0.22, label=rf"$\lambda = {rate:g}$")
    left.set(xticks=[0, 1], xlabel="$y$", ylabel=r"$P(y \mid \lambda)$", title="Bernoulli law", ylim=(0, 1.05))
    left.legend(loc="upper center")
    x, y, line = data["x"], data["y"], np.linspace(-3, 3, 200)
    rates = 1 / (1 + np.exp(-(data["phi"] @ [np.ones(ROWS), x])))
    # A stick from where a label is improbable to the curve: its length is the probability of the label.
    for label, color in ((0, "C0"), (1, "C1")):
        of = y == label
        middle.vlines(x[of], 1 - y[of], rates[of], color=color, lw=2.2, alpha=0.55)
        middle.plot(x[of], y[of], "o", ms=5, color=color, label=f"label {label}")
    middle.plot(line, 1 / (1 + np.exp(-(data["phi"] @ [np.ones(200), line]))), color="C3", label=r"$\lambda(x)$")
    middle.set(
        xlabel="$x$",
        ylabel="probability of label 1",
        title="A stick is the probability of its label",
        ylim=(-0.05, 1.3),
    )
    middle.set_yticks([0, 0.5, 1])
    middle.legend(loc="upper left", ncols=3)
    right.plot(data["slopes"], data["losses"])
    right.plot([data["phi"][1]], [data["loss"]], "o", color="C3")
    right.annotate("most likely", (data["phi"][1], data["loss"]), (0, 14), textcoords="offset points", ha="center")
    right.set(xlabel=r"slope $\phi_1$", ylabel=r"$-\sum_i \log P(y_i \mid x_i)$", title="Binary cross-entropy")
