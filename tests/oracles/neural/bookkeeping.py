"""Counts, graphs and first weights: what a fraction counts, what a tape holds, what a rule adds."""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats
from tests.oracles import oracle
from tests.oracles.neural.convolution import PATH, normal, same
from torch import nn
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.autodiff.graph import graph_entries
from margin.neural.autodiff.primitives import exp
from margin.neural.autodiff.tracing import Tape
from margin.neural.convolution.layers import LocallyConnected2d
from margin.neural.diagnostics.units import saturated_fraction
from margin.neural.theory.perceptron import perceptron_rule
from margin.notes.claims.chance import plausible


@oracle(f"{PATH}.diagnostics.units.saturated_fraction", f"{PATH}.theory.perceptron.perceptron_rule",
        f"{PATH}.autodiff.graph.graph_entries")  # fmt: skip
def counted_and_traced(seed: int) -> Verdict:
    """Activations near either end of a range that does not begin at 0; Rosenblatt's rule row by row; a whole tape."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        first, x = nn.Linear(2, 5), 3 * normal(seed, 40, 2).float()
    net = nn.Sequential(first, nn.Tanh(), nn.Linear(5, 1))
    h = torch.tanh(x @ first.weight.T + first.bias).detach().numpy()
    rng = np.random.default_rng(seed)
    X, true = rng.normal(size=(30, 2)) + 0.5, np.array([1.0, -0.8])
    y = (X @ true > 0.1).astype(int)
    w, b, mistakes = np.zeros(2), 0.0, []
    for _ in range(4):
        wrong = 0
        for row, label in zip(X, y):
            if (label == 1 and row @ w + b <= 0) or (label == 0 and row @ w + b >= 0):
                w, b, wrong = (w + row, b + 1, wrong + 1) if label else (w - row, b - 1, wrong + 1)
        mistakes.append(wrong)
        if not wrong:
            break
    perceptron, tape = perceptron_rule(X, y, max_passes=4), Tape()
    u, v = tape.variable(0.7, "u"), tape.variable(1.3, "v")
    output = exp(u * v) * v
    _ = output * u  # behind the output: not part of it
    entries = graph_entries(output)
    return every(
        near_the_ends=near(saturated_fraction(net, x, -1.0, 1.0, 0.1), np.mean(np.abs(h) > 0.8), tolerance=1e-6),
        low_end=near(saturated_fraction(net, x, -0.5, 3.0, 0.1), np.mean(h < -0.15), tolerance=1e-6),
        weights=near(np.append(perceptron.w, perceptron.b), np.append(w, b), tolerance=1e-10),
        mistakes=equal(list(perceptron.mistakes), mistakes),
        nodes=equal([entry.position for entry in entries], list(range(5))),
        values=near([float(entry.value) for entry in entries],
                    [0.7, 1.3, 0.91, np.exp(0.91), 1.3 * np.exp(0.91)], tolerance=1e-12),
        adjoints=near([float(entry.adjoint) for entry in entries],
                      [1.69 * np.exp(0.91), (1 + 0.91) * np.exp(0.91), 1.3 * np.exp(0.91), 1.3, 1.0], tolerance=1e-12),
    )  # fmt: skip


@oracle(f"{PATH}.convolution.layers.LocallyConnected2d")
def weights_of_every_place(seed: int) -> Verdict:
    """A convolution of its own for every place, by torch; first weights uniform between plus and minus the root."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = LocallyConnected2d(2, 3, (2, 3), image_size=(6, 7)).double()
        nn.init.normal_(layer.bias)
    x = normal(seed, 4, 2, 6, 7)
    expected = torch.empty(4, 3, 5, 5, dtype=torch.float64)
    for p, (i, j) in enumerate(np.ndindex(5, 5)):
        kernel = layer.weight[p].reshape(3, 2, 2, 3)
        expected[:, :, i, j] = functional.conv2d(x[:, :, i : i + 2, j : j + 3], kernel, layer.bias[p])[
            :, :, 0, 0
        ].detach()
    scaled = layer.weight.detach().numpy().ravel() * np.sqrt(12)
    return every(
        values=same(layer(x).detach(), expected),
        start=plausible(stats.kstest(scaled, stats.uniform(-1, 2).cdf).pvalue),
    )
