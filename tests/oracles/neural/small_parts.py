"""Small parts of networks and their training: checks of derivatives, waiting for a gain, drawings, embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn

from margin.core.verdict import Verdict, equal, every, near, within
from margin.neural.activations import measure
from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import TokenEmbedding
from margin.neural.autodiff.checking import gradient_check
from margin.neural.autodiff.primitives import exp
from margin.neural.summary import network_diagram
from margin.neural.training.evaluation import validation_split
from margin.neural.training.stopping import Patience
from margin.optimize.rate_schedules import Plateau


@oracle(f"{PATH}.autodiff.checking.gradient_check")
def disagreements(seed: int) -> Verdict:
    """A rule that is wrong by a known part disagrees by as much: relative where slopes are large, else absolute."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=3), rng.uniform(0.5, 1.5, size=3)
    right = [gradient_check(lambda a, b: exp(a) * b * b, x, z, seed=seed),
             gradient_check(lambda a: 1e6 * exp(a), x, seed=seed)]  # fmt: skip
    parts: dict[str, Verdict] = {}
    for size in (1e-3, 1e4):
        direction, weights = np.random.default_rng(seed).normal(size=(2, 3))  # as it draws them itself
        errors = gradient_check(_Bent(size), x, seed=seed)
        slope = float(np.sum(weights * size * direction))
        gap = abs(slope) / max(1.0, abs(2 * slope))
        parts[f"reverse_{size:g}"] = near(errors.reverse / gap, 1.0, tolerance=1e-4)
        parts[f"forward_{size:g}"] = near(errors.forward / gap, 1.0, tolerance=1e-4)
    return every(
        **parts,
        right=within(max(r for pair in right for r in pair), -1e-12, 1e-6),
    )


class _Bent:
    """size * x with derivatives, 2 size * x for plain arrays, from which differences are taken."""

    def __init__(self, size: float):
        self.size = size

    def __call__(self, x: Any) -> Any:
        return self.size * x * (2.0 if isinstance(x, np.ndarray) else 1.0)


@oracle(f"{PATH}.training.stopping.Patience", f"{PATH}.training.evaluation.validation_split")
def waiting_for_a_gain(seed: int) -> Verdict:
    """Losses by hand: small gains do not count but are kept, adaptive rates fall by fives; splits hold every label."""
    module = nn.Linear(1, 1)
    plain, adaptive = Patience(2, 0.1), Patience(1, 0.0, plateau=Plateau())
    stops, weights = [], []
    for k, loss in enumerate((5.0, 4.0, 3.95, 3.7, 3.72, 3.65)):
        with torch.no_grad():
            module.weight.fill_(float(k))
        stops.append(plain.see(loss, module))
        weights.append(float(plain.best_weights["weight"].item()))
    factors, ends = [adaptive.rate_factor], []
    for _ in range(6):
        ends.append(adaptive.see(1.0))
        factors.append(adaptive.rate_factor)
    labels = np.repeat([0, 1, 2], [14, 9, 8])[np.random.default_rng(seed).permutation(31)]
    splits = [validation_split(31, 0.3, k, labels) for k in range(seed, seed + 40)]
    counts = np.array([[(labels[valid] == c).sum() for c in range(3)] for _, valid in splits])
    often = np.bincount(np.concatenate([valid for _, valid in splits]), minlength=31)
    plain_split = [validation_split(31, 0.3, k)[1] for k in range(seed, seed + 40)]
    return every(
        stops=equal(stops, [False] * 5 + [True]),
        kept=equal(weights, [0.0, 1.0, 2.0, 3.0, 3.0, 5.0]),
        best=equal((plain.best_loss, plain.stale_epochs), (3.65, 2)),
        factors=near(factors, [1.0, 1.0, 0.2, 0.04, 0.008, 0.0016, 0.0016], tolerance=1e-12),
        ends=equal(ends, [False] * 5 + [True]),
        sizes=equal({(len(train), len(valid)) for train, valid in splits}, {(21, 10)}),
        together=equal(all(sorted([*a, *b]) == list(range(31)) for a, b in splits), True),
        labels=within(float(np.abs(counts - 10 * np.array([14, 9, 8]) / 31).max()), 0.0, 1.0),
        every_row=within(float(often.min()), 1, 39),
        rows_apart=equal(all(len(set(valid.tolist())) == 10 for valid in plain_split), True),
    )


@oracle(f"{PATH}.activations.measure.smoothness", f"{PATH}.activations.measure.derivative_gap",
        f"{PATH}.activations.measure.measured_range")  # fmt: skip
def bends_of_functions(seed: int) -> Verdict:
    """Powers of a rectifier at another place, beside a bend too far to count, flat or a million times steeper."""
    at = float(np.random.default_rng(seed).uniform(-1, 1))
    bend = lambda k: lambda x: torch.clamp(x - at, min=0.0) ** k  # noqa: E731
    far = lambda x: torch.tanh(x) + torch.clamp(x - at - 0.7, min=0.0) + torch.clamp(at - 0.7 - x, min=0.0)  # noqa: E731
    steep, x = lambda x: 1e6 * torch.tanh(x) + 20 * torch.clamp(x - at, min=0.0), normal(seed, 20)
    small = lambda x: torch.tanh(x) + 1e-2 * torch.clamp(x - at, min=0.0)  # noqa: E731
    jump = lambda x: (x > at).double()  # noqa: E731
    return every(
        orders=equal([measure.smoothness(f, at) for f in (jump, bend(1), bend(2), bend(3), far, steep, small)],
                     [-1, 0, 1, 2, 3, 3, 0]),
        gap=same(measure.derivative_gap(torch.sin, lambda x: torch.cos(x) + 0.25, x), torch.full((20,), 0.25).double(),
                 1e-8),
        ends=near(measure.measured_range(lambda x: torch.sin(x) + 0.1 * x, reach=20.0, points=4001), (-2.8, 2.8),
                  tolerance=0.4),
        straight=near(measure.measured_range(lambda x: 2 * x + 1, reach=3.0, points=7), (-5.0, 7.0), tolerance=1e-12),
    )  # fmt: skip


@oracle(f"{PATH}.summary.network_diagram", f"{PATH}.attention.decoder.TokenEmbedding")
def drawn_and_embedded(_seed: int) -> Verdict:
    """Layers centered at the same height; embeddings with every kind of position."""
    drawn = network_diagram([3, 2, 4])
    ids, parts = torch.tensor([[1, 4, 2], [0, 3, 3]]), {}
    for position, scale in (("learned", 1.0), ("sinusoidal", math.sqrt(6)), ("none", 1.0), ("rope", 1.0)):
        torch.manual_seed(0)
        config = TransformerConfig(d_model=6, n_heads=1, position=position, context=8)
        net = TokenEmbedding(5, config).double()
        expected = scale * net.tokens.weight[ids]
        if net.positions is not None:
            expected = expected + net.positions(3, 2, expected)
        parts[position] = same(net(ids, 2).detach(), expected.detach())
        parts[f"{position}_added"] = equal(net.positions is not None, position in ("learned", "sinusoidal"))
    return every(
        **parts,
        places=near(np.concatenate(drawn.positions),
                    [(0, 1), (0, 0), (0, -1), (1, 0.5), (1, -0.5), (2, 1.5), (2, 0.5), (2, -0.5), (2, -1.5)],
                    tolerance=1e-12),
        edges=equal(len(drawn.edges), 3 * 2 + 2 * 4),
        biases=near(drawn.biases, [(0.0, -2.5), (1.0, -2.5)], tolerance=1e-12),
    )  # fmt: skip
