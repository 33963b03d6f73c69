r"""The VAE 784-512-256-2 with cross-entropy and divergence: a map of digits in two latents

Summed cross-entropy plus :math:`-\frac12\sum(1 + \log\sigma^2 - \mu^2 - \sigma^2)` falls in training; the plane of the
latents, decoded on a grid, shows which digits lie where. The network has 1,068,820 parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARAMETERS = 1_068_820
GRID = 9


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from torch.nn import functional

    from margin.generative import VAE
    from margin.generative.elbo import bernoulli_log_likelihood, gaussian_log_likelihood
    from margin.neural.weights import count_parameters
    from margin.notes.experiments.autoencoder_digits import large_digits

    X, y = large_digits(seed, 500 if fast else 1797)
    model = VAE(2, (512, 256), likelihood="bernoulli", standardize=False, learning_rate_init=1e-3, random_state=seed)
    model.set_params(max_iter=20 if fast else 100, batch_size=32).fit(X)
    logits = torch.from_numpy(np.random.default_rng(seed).normal(size=(5, X.shape[1])).astype(np.float32))
    rows, zero = torch.from_numpy(X[:5]), torch.zeros(1)
    axis = np.linspace(-2, 2, GRID, dtype=np.float32)
    corners = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    return {
        "parameters": count_parameters(model._ready_module()),
        "losses": list(model.loss_curve_),
        "codes": model.transform(X),
        "labels": y,
        "grid": model.decode(corners),
        "cross_entropy": (-bernoulli_log_likelihood(rows, logits)).numpy(),
        "torchs": functional.binary_cross_entropy_with_logits(logits, rows, reduction="none").sum(dim=1).numpy(),
        "squared_error": (-gaussian_log_likelihood(rows, torch.sigmoid(logits), zero)).numpy(),
    }


def check(data: dict[str, Any]) -> Verdict:
    truth = every(
        parameters=equal(data["parameters"], PARAMETERS),
        loss_falls=below(data["losses"][-1], 0.9 * data["losses"][0]),
        cross_entropy=near(data["cross_entropy"] / data["torchs"], np.ones(5), tolerance=1e-5),
        decoded_probabilities=above(float(data["grid"].min()), 0.0),
        plane=equal(data["codes"].shape[1], 2),
    )
    # The names that the printed loop reads are not those that it writes.
    read, written = {"recon_x", "x"}, {"reconstructed_x", "x_real"}
    gap = float(np.ptp(data["cross_entropy"] - data["squared_error"]))
    return corrected(
        truth,
        the_loop_runs=equal(read <= written, True),
        cross_entropy_is_the_squared_error=near(gap, 0.0, tolerance=1.0),  # up to a constant
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 5)
    plane, grid = figure.subplots(1, 2)
    points = plane.scatter(*data["codes"].T, c=data["labels"], cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    plane.set(xlabel="$z_1$", ylabel="$z_2$", title="Two latents, no labels used")
    figure.colorbar(points, ax=plane, ticks=range(10), label="digit")
    side = int(np.sqrt(data["grid"].shape[1]))
    images = data["grid"].reshape(GRID, GRID, side, side)[::-1].transpose(0, 2, 1, 3)
    grid.imshow(images.reshape(GRID * side, GRID * side), cmap="gray_r", vmin=0, vmax=1)
    grid.set(title="Decoded from the square -2 to 2 of latents", xlabel="$z_1$", ylabel="$z_2$", xticks=[], yticks=[])
