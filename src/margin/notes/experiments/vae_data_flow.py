r"""The way of a row through a VAE, with the shapes and the two terms of its loss

:math:`x \to (\mu, \log\sigma^2) \to z = \mu + \sigma\epsilon \to \hat x`: the layers are read off the fitted network,
the loss of the row is the sum of its reconstruction term and its divergence, and the latents of a batch lie over the
contours of the prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every, near
from margin.notes.diagrams import add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 200


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits

    from margin.generative import VAE
    from margin.generative.workflow import describe, follow
    from margin.neural.summary import layer_table

    X = (load_digits().data[np.random.default_rng(seed).permutation(1797)] >= 8).astype(np.float32)
    model = VAE(2, (64,), likelihood="bernoulli", standardize=False, learning_rate_init=5e-3, random_state=seed)
    model.set_params(max_iter=8 if fast else 80, batch_size=32).fit(X[: 500 if fast else 1500])
    steps = follow(model, X[-ROWS:], random_state=seed)
    module = model._trained_network()
    lines = layer_table(module, torch.zeros(1, 64), call=lambda x: module.decode(module.encode(x)[0]))
    reconstruction, kl = model.elbo_terms(X[-1:])
    return {
        "layers": [(line.name, line.kind, list(line.output_shape)) for line in lines],
        "shapes": {name: list(value.shape) for name, value in steps._asdict().items()},
        "distributions": describe(model),
        "latents": steps.z,
        "row": X[-1],
        "decoded": steps.decoded[-1],
        "reconstruction": float(reconstruction[0]),
        "kl": float(kl[0]),
        "bound": float(model.score_samples(X[-1:])[0]),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        latents=equal(data["shapes"]["z"], [ROWS, 2]),
        decoded=equal(data["shapes"]["decoded"], [ROWS, 64]),
        ends_with_the_row=equal(data["layers"][-1][2], [1, 64]),
        terms_make_the_bound=near(data["reconstruction"] - data["kl"], data["bound"], tolerance=1e-4),
        divergence_is_positive=below(-data["kl"], 0.0),
        over_the_prior=below(float(np.abs(data["latents"].std(axis=0) - 1).max()), 0.5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 7)
    flow, cloud = figure.subplots(2, 1, height_ratios=[1, 3])
    blank(flow, width=(-0.6, 6.6), height=(-0.75, 0.75))
    stages = {
        "x\n64 pixels": "C7",
        "encoder": "C0",
        r"$\mu, \log\sigma^2$" + "\n2 and 2": "C7",
        r"$z = \mu + \sigma\epsilon$" + "\n2": "C1",
        "decoder": "C0",
        "decoded\n64 pixels": "C7",
    }
    for k, (stage, color) in enumerate(stages.items()):
        add_box(flow, 1.2 * k, 0, stage, width=0.9, height=0.9, color=color)
        if k:
            add_arrow(flow, (1.2 * k - 0.74, 0), (1.2 * k - 0.47, 0))
    loss, kl = -data["reconstruction"], data["kl"]
    flow.set_title(f"Loss of one row: {loss:.2f} nats of reconstruction + {kl:.2f} of divergence")
    for radius in (1, 2, 3):
        angle = np.linspace(0, 2 * np.pi, 100)
        cloud.plot(radius * np.cos(angle), radius * np.sin(angle), color="gray", linewidth=0.7)
    cloud.scatter(*data["latents"].T, s=8)
    cloud.set(
        aspect="equal",
        xlabel="$z_1$",
        ylabel="$z_2$",
        title="Latents of a batch; circles are 1, 2, 3 deviations of the prior",
    )
