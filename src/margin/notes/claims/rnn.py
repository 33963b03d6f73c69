"""Claims about recurrent networks: their cells, what they learn, and gradients through time."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.notes.claims import claim


def cell_against_torch(cell: str, layer: str, seed: int) -> tuple[Verdict, Any]:
    """Outputs and gradients of the unrolled equation against torch's layer with the same weights."""
    import torch
    from torch import nn

    from margin.neural.layers.recurrent import unroll
    from margin.neural.weights import build

    theirs = build(lambda: getattr(nn, layer)(3, 6, batch_first=True), seed, torch.float64)
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(4, 9, 3)))
    weights: Any = tuple(theirs.parameters())
    ours, expected = unroll(cell, x, weights), theirs(x)[0]
    gradients = [torch.autograd.grad(out.square().sum(), weights) for out in (ours, expected)]
    gap = max(float((a - b).abs().max()) for a, b in zip(*gradients))
    return every(
        states=near(ours.detach().numpy(), expected.detach().numpy(), tolerance=1e-10),
        gradients=below(gap, 1e-8),
    ), theirs


@claim("rnn")
def a_recurrent_network_learns_to_echo_and_to_count(seed: int) -> Verdict:
    from margin.neural import SequenceClassifier

    rng = np.random.default_rng(seed)
    series = [rng.choice([-1.0, 1.0], size=rng.integers(3, 6)) for _ in range(120)]
    first = [int(s[0] > 0) for s in series]
    bits = np.array([[i >> k & 1 for k in range(3)] for i in range(8)], dtype=float)
    parity = bits.sum(axis=1).astype(int) % 2
    common: dict[str, Any] = {"hidden_size": 16, "learning_rate_init": 0.02, "random_state": seed}
    wrong, weights = [1 - label for label in first], np.repeat([1.0, 0.02], 120)  # what hardly counts teaches little
    echo = SequenceClassifier("rnn", **common, max_iter=25).fit(series * 2, first + wrong, sample_weight=weights)
    even = SequenceClassifier("rnn", **common, max_iter=200).fit(bits, parity)
    states = echo.hidden_states(series[:2])
    steps, W = len(series[0]), {name.split(".")[-1]: w for name, w in echo.weights_.items()}
    h = np.zeros(16)
    for x in (series[0] - echo.center_[0]) / echo.scale_[0]:
        h = np.tanh(W["weight_ih_l0"][:, 0] * x + W["bias_ih_l0"] + W["weight_hh_l0"] @ h + W["bias_hh_l0"])
    torchs, _ = cell_against_torch("rnn", "RNN", seed)
    return every(
        cell=torchs,
        echo=above(echo.score(series, first), 0.95),
        parity=equal(even.predict(bits), parity),
        states_can_be_seen=equal(states[0].shape, (steps, 16)),
        by_the_equation=near(states[0][-1], h, tolerance=1e-8),
    )


@claim("lstm")
def the_lstm_cell_is_torchs(seed: int) -> Verdict:
    cell, layer = cell_against_torch("lstm", "LSTM", seed)
    return every(cell=cell, four_gates=equal(tuple(layer.weight_ih_l0.shape), (4 * 6, 3)))


@claim("gru")
def the_gru_cell_is_torchs_with_fewer_parameters(seed: int) -> Verdict:
    from margin.neural.weights import count_parameters

    cell, layer = cell_against_torch("gru", "GRU", seed)
    _, lstm = cell_against_torch("lstm", "LSTM", seed)
    return every(
        cell=cell, fewer_parameters=near(count_parameters(layer) / count_parameters(lstm), 0.75, tolerance=1e-12)
    )


@claim("bptt")
def gradients_through_time_agree_with_differences(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.layers.recurrent import unroll
    from margin.neural.weights import build

    weights: Any = tuple(build(lambda: nn.RNN(2, 4, batch_first=True), seed, torch.float64).parameters())
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, 6, 2))).requires_grad_()
    value = lambda w: unroll("rnn", x, w)[:, -1].square().sum()  # noqa: E731
    gradients = torch.autograd.grad(value(weights), weights)
    directions = [torch.randn(w.shape, generator=torch.Generator().manual_seed(seed), dtype=w.dtype) for w in weights]
    h = 1e-6
    with torch.no_grad():
        moved = [float(value(tuple(w + s * h * d for w, d in zip(weights, directions)))) for s in (1, -1)]
    along = float(sum((g * d).sum() for g, d in zip(gradients, directions)))
    untruncated, cut = unroll("rnn", x, weights), unroll("rnn", x, weights, truncation=3)
    (reach,) = torch.autograd.grad(cut[:, -1].sum(), x)
    return every(
        differences=near(along, (moved[0] - moved[1]) / (2 * h), tolerance=1e-6),
        same_values=near(cut.detach().numpy(), untruncated.detach().numpy(), tolerance=0.0),
        no_gradient_before_the_cut=equal(bool((reach[:, :3] == 0).all()), True),
        gradient_after_it=equal(bool((reach[:, 3:] != 0).all()), True),
    )
