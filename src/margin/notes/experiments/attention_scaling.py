r"""Why scores are divided by the root of the width

The product of two vectors with independent entries of variance 1 has variance :math:`d`. Unscaled, the softmax comes
near 0 and 1 as :math:`d` grows, and its gradient vanishes; divided by :math:`\sqrt d`, variance, entropy and gradient
stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (4, 16, 64, 256)
KEYS = 16


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.attention import attention_scores, masked_softmax, softmax_backward

    n = 2000 if fast else 20_000
    rng = np.random.default_rng(seed)
    measures: dict[str, list[list[float]]] = {"variance": [], "entropy": [], "gradient": []}
    for d in WIDTHS:
        q, k = (torch.from_numpy(rng.normal(size=(n, rows, d))) for rows in (1, KEYS))
        at_weights = torch.from_numpy(rng.normal(size=(n, 1, KEYS)))
        rows: dict[str, list[float]] = {name: [] for name in measures}
        for scale in (1.0, None):
            scores = attention_scores(q, k, scale)
            weights = masked_softmax(scores)
            rows["variance"].append(float(scores.var()))
            rows["entropy"].append(float(-torch.xlogy(weights, weights).sum(dim=-1).mean()))
            rows["gradient"].append(float(softmax_backward(weights, at_weights).norm(dim=-1).mean()))
        for name, values in rows.items():
            measures[name].append(values)
    return {name: np.array(values) for name, values in measures.items()}  # (widths, unscaled and scaled)


def check(data: dict[str, Any]) -> Verdict:
    variance, entropy, gradient = (data[name] for name in ("variance", "entropy", "gradient"))
    return every(
        unscaled_variance_is_d=near(variance[:, 0] / np.array(WIDTHS), np.ones(len(WIDTHS)), tolerance=0.1),
        scaled_variance_is_1=near(variance[:, 1], np.ones(len(WIDTHS)), tolerance=0.1),
        unscaled_entropy_falls=below(entropy[-1, 0], 0.3 * entropy[0, 0]),
        scaled_entropy_stays=above(entropy[-1, 1], 0.9 * entropy[0, 1]),
        unscaled_gradient_falls=below(gradient[-1, 0], 0.5 * gradient[0, 0]),
        scaled_gradient_stays=above(gradient[-1, 1], 0.9 * gradient[0, 1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    for axis, name in zip(figure.subplots(1, 3), data):
        axis.plot(WIDTHS, data[name][:, 0], "o-", label="unscaled")
        axis.plot(WIDTHS, data[name][:, 1], "o-", label=r"divided by $\sqrt{d}$")
        axis.set(title=name, xlabel="width d", xscale="log", yscale="log" if name == "variance" else "linear")
    figure.axes[0].legend()
