"""Networks of generators, discriminators and denoisers layer by layer, and the loss of a denoiser by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from tests.oracles.generative.diffusion import normals, same
from torch import Tensor
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.generative import SparseAutoencoder
from margin.generative.diffusion.networks import TransformerDenoiser
from margin.generative.diffusion.objective import denoising_loss
from margin.generative.diffusion.schedules import noise_schedule
from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
from margin.notes.claims.chance import plausible

PATH = "margin.generative"


@oracle(
    f"{PATH}.gan.networks.MLPGenerator",
    f"{PATH}.gan.networks.MLPDiscriminator",
)
def layers_of_a_game(seed: int) -> Verdict:
    """With classes and without, bounded and not; leaky rectifiers between linear maps."""
    z, x, label, parts = normals(seed, 4, 3), normals(seed + 1, 4, 5), torch.tensor([0, 2, 1, 2]), {}
    for classes in (0, 3):
        for bounded in (False, True):
            maker: Any = MLPGenerator(3, [6, 7], 5, classes, bounded).double()
            judge: Any = MLPDiscriminator(5, [6], classes).double()
            given = (label,) if classes else ()
            made, judged = z, x
            if classes:
                made = torch.cat([z, maker.classes.weight[label]], dim=1)
                judged = torch.cat([x, judge.classes.weight[label]], dim=1)
            for k, layer in enumerate(maker.layers):
                made = made @ layer.weight.T + layer.bias
                made = torch.where(made > 0, made, 0.2 * made) if k < 2 else made
            judged = functional.leaky_relu(judged @ judge.layers[0].weight.T + judge.layers[0].bias, 0.2)
            key = f"{classes}_{bounded}"
            parts[f"made_{key}"] = same(maker(z, *given), torch.tanh(made) if bounded else made)
            parts[f"told_{key}"] = same(
                judge(x, *given), (judged @ judge.layers[1].weight.T + judge.layers[1].bias)[:, 0]
            )
    return every(**parts)


@oracle(
    "margin.generative.diffusion.schedules.noise_schedule",
    f"{PATH}.diffusion.networks.TransformerDenoiser",
    f"{PATH}.diffusion.objective.denoising_loss",
)
def denoisers_by_hand(seed: int) -> Verdict:
    """Patches of an image that is not square; errors of every kind of prediction with the draws of the same noise."""
    net: Any = TransformerDenoiser((2, 4, 6), 8, depth=1, heads=2, patch=2, n_classes=3).double()
    generator = torch.Generator().manual_seed(seed)
    for weight in net.parameters():  # gates and the last layer begin at 0, where mistakes behind them would hide
        weight.data.add_(0.4 * torch.randn(weight.shape, generator=generator, dtype=weight.dtype))
    x, level, label = normals(seed, 3, 2, 4, 6), torch.tensor([0.1, 0.5, 0.9]).double(), torch.tensor([0, 2, 1])
    patches = x.reshape(3, 2, 2, 2, 3, 2).permute(0, 2, 4, 1, 3, 5).reshape(3, 6, 8)
    h = patches @ net.first.weight.T + net.first.bias + net.positions
    for block in net.blocks:
        h = _gated(block, h, net.embedding(level, label))
    tokens = functional.layer_norm(h, (8,), net.norm.weight, net.norm.bias) @ net.last.weight.T + net.last.bias
    image = tokens.reshape(3, 2, 3, 2, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(3, 2, 4, 6)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        first = TransformerDenoiser((1, 16, 16), 32).positions.detach().numpy().ravel() / 0.02
    return every(
        image=same(net(x, level, label), image),
        first=plausible(stats.kstest(first, "norm").pvalue),
        shape=equal(tuple(net.positions.shape), (6, 8)),
        **_losses(seed),
    )


def _gated(block: Any, x: Tensor, told: Tensor) -> Tensor:
    """A block of two heads: each part is normalized, scaled and moved, and what it adds is gated, by the embedding."""
    width = x.shape[2]
    scale_1, move_1, gate_1, scale_2, move_2, gate_2 = (
        (told @ block.tell.weight.T + block.tell.bias)[:, None, k * width : (k + 1) * width] for k in range(6)
    )
    mixed = (functional.layer_norm(x, (width,)) * (1 + scale_1) + move_1) @ block.attend.weight.T + block.attend.bias
    heads = []
    for columns in (range(width // 2), range(width // 2, width)):
        q, k, v = (mixed[..., [part * width + column for column in columns]] for part in range(3))
        heads.append(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(width / 2), dim=2) @ v)
    x = x + gate_1 * (torch.cat(heads, dim=2) @ block.join.weight.T + block.join.bias)
    h = functional.layer_norm(x, (width,)) * (1 + scale_2) + move_2
    h = functional.gelu(h @ block.expand.weight.T + block.expand.bias)
    return x + gate_2 * (h @ block.shrink.weight.T + block.shrink.bias)


def _losses(seed: int) -> dict[str, Verdict]:
    schedule, x_0 = noise_schedule("linear", 50), normals(seed, 6, 3)
    weight, parts = torch.linspace(0.5, 2.0, 51).double(), {}
    module: Any = lambda x, level, label: torch.tanh(x) + level[:, None]  # noqa: E731
    for prediction in ("epsilon", "x0", "v"):
        losses = denoising_loss(
            module, (x_0,), torch.Generator().manual_seed(seed), schedule=schedule, prediction=prediction,
            weight=weight, none=0, condition_dropout=0.0,
        )  # fmt: skip
        again = torch.Generator().manual_seed(seed)
        t = torch.randint(1, 51, (6,), generator=again)
        noise = torch.randn(x_0.shape, generator=again, dtype=x_0.dtype)
        kept = torch.from_numpy(np.cumprod(1 - np.asarray(schedule.betas, dtype=np.float64))[t.numpy()])[
            :, None
        ]  # none at time 0
        a, s = kept.sqrt(), (1 - kept).sqrt()
        x_t = a * x_0 + s * noise
        output = torch.tanh(x_t) + t[:, None] / 50
        target = {"epsilon": noise, "x0": x_0, "v": a * noise - s * x_0}[prediction]
        of_noise = {"epsilon": output, "x0": (x_t - a * output) / s, "v": s * x_t + a * output}[prediction]
        parts[f"{prediction}_loss"] = same(losses["loss"], weight[t] * (output - target).square().mean(dim=1), 1e-5)
        parts[f"{prediction}_noise"] = same(
            losses["noise_error"] / (1 + losses["noise_error"]),
            (e := (of_noise - noise).square().mean(dim=1)) / (1 + e), 1e-5,
        )  # fmt: skip
    return parts


@oracle(f"{PATH}.SparseAutoencoder")
def explained_by_codes(seed: int) -> Verdict:
    """The score is the fraction of the squares about the center that reconstructions explain, on other rows too."""
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(80, 4)) + 2.0, rng.normal(size=(15, 4)) + 1.0
    model = SparseAutoencoder(expansion=2.3, max_iter=3, random_state=seed).fit(X)
    weights = model.weights_
    codes = np.maximum(
        (fresh - model.center_) / model.scale_ @ weights["encoder.weight"].T + weights["encoder.bias"], 0
    )
    units = weights["vectors"] / np.sqrt((weights["vectors"] ** 2).sum(axis=1))[:, None]
    rows = codes * model.scale_ @ units + model.center_
    left = ((fresh - model.inverse_transform(model.transform(fresh))) ** 2).sum()
    return every(
        score=near(model.score(fresh), 1 - left / ((fresh - model.center_) ** 2).sum(), tolerance=1e-5),
        center=near(model.center_, X.mean(axis=0), tolerance=1e-8),
        root=near(model.scale_**2, X.var(axis=0).mean(), tolerance=1e-6),
        codes=near(model.transform(fresh), codes * model.scale_, tolerance=1e-4),
        rows=near(model.inverse_transform(model.transform(fresh)), rows, tolerance=1e-4),
        directions=near(model.directions_, units, tolerance=1e-6),
        count=equal(len(model.get_feature_names_out()), 10),
    )
