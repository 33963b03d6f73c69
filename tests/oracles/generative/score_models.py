"""A model of scores step by step in NumPy: what its network sees, what it pays, and the walk that draws rows."""

from __future__ import annotations

import math

import numpy as np
import torch
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.generative import ScoreModel
from margin.generative.diffusion.score_network import ScoreNetwork, noise_conditional_loss
from margin.neural.weights import build

PATH = "margin.generative.diffusion"


def answer(network: ScoreNetwork, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """The score at every row, from the inner network alone."""
    seen = x / np.hypot(1, sigma)[:, None]
    level = np.log10(sigma / network.smallest) / np.log10(network.largest / network.smallest)
    like = next(network.parameters())
    with torch.no_grad():
        inner = network.denoiser(torch.from_numpy(seen).to(like), torch.from_numpy(level).to(like))
    return inner.numpy().astype(float) / sigma[:, None]


@oracle(f"{PATH}.score_network.noise_conditional_loss")
def the_error_of_the_noise_at_random_levels(seed: int) -> Verdict:
    """Per coordinate half the squared error of sigma times the score against minus the noise, with the same draws."""
    network = build(lambda: ScoreNetwork("mlp", 3, [], [6, 5], 0.2, 7.0), seed, torch.float64)
    for parameter in network.parameters():  # the last layer starts at 0, which would hide what the network sees
        torch.nn.init.normal_(parameter, 0.1, 0.4, generator=torch.Generator().manual_seed(seed))
    x = np.random.default_rng(seed).normal(0.4, 1.3, size=(5, 3))
    got = noise_conditional_loss(network, (torch.from_numpy(x),), torch.Generator().manual_seed(seed))["loss"]
    draws = torch.Generator().manual_seed(seed)
    u = torch.rand(5, generator=draws, dtype=torch.float64).numpy()
    epsilon = torch.randn((5, 3), generator=draws, dtype=torch.float64).numpy()
    sigma = np.exp((1 - u) * math.log(0.2) + u * math.log(7.0))
    gap = sigma[:, None] * answer(network, x + sigma[:, None] * epsilon, sigma) + epsilon
    return near(got.detach().numpy(), 0.5 * (gap**2).mean(axis=1), tolerance=1e-9)


@oracle(f"{PATH}.score_model.ScoreModel", f"{PATH}.score_model.ScoreModel.score_field")
def slopes_and_walks_in_the_units_of_the_data(seed: int) -> Verdict:
    """Columns of other place and width: standardized, walked by hand at three levels, denoised, and put back."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2)) * [1.5, 0.2] + [3.0, -1.0]
    model = ScoreModel((8,), n_levels=3, steps_per_level=2, max_iter=4, learning_rate_init=0.02, random_state=seed).fit(
        X
    )
    network, center, scale = model.module_, X.mean(axis=0), X.std(axis=0)
    assert isinstance(network, ScoreNetwork)
    field = answer(network, (X - center) / scale, np.full(50, 0.5)) / scale
    draws = torch.Generator().manual_seed(int(np.random.default_rng(7).integers(2**63 - 1)))
    draw = lambda: torch.randn((4, 2), generator=draws, dtype=next(network.parameters()).dtype).numpy()  # noqa: E731
    largest = max(1.0, float(np.linalg.norm((X - center) / scale, axis=1).max()))
    x = largest * draw()
    for sigma in (largest, math.sqrt(largest * 0.01), 0.01):
        for _ in range(2):
            step = 0.1 * sigma**2
            x = x + step * answer(network, x, np.full(4, sigma)) + math.sqrt(2 * step) * draw()
    x = x + 0.01**2 * answer(network, x, np.full(4, 0.01))
    return every(
        largest=near(network.largest, largest, tolerance=1e-5),
        field=near(model.score_field(X, 0.5), field, tolerance=1e-3),
        denoised=near(model.denoise(X, 0.5), X + 0.25 * field * scale**2, tolerance=1e-3),
        drawn=near(model.sample(4, random_state=7), x * scale + center, tolerance=1e-3),
    )
