"""Residual connections: sums over paths, and why the rectifier comes first."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim


@claim("claim-residual-network-is-ensemble")
def linear_residual_blocks_are_the_sum_of_all_paths(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.diagnostics import path_outputs, residual_paths
    from margin.neural.layers.residual import Residual

    rng = np.random.default_rng(seed)
    K, d = 6, 5
    blocks, x = [rng.normal(size=(d, d)) for _ in range(K)], rng.normal(size=d)

    def through(relu: bool) -> np.ndarray:
        h = torch.from_numpy(x)
        for matrix in blocks:
            layer = nn.Linear(d, d, bias=False, dtype=torch.float64)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(matrix))
                h = Residual(nn.Sequential(nn.ReLU(), layer) if relu else layer)(h)
        return h.numpy()

    paths = residual_paths(K)
    lengths = [sum(len(path) == k for path in paths) for k in range(K + 1)]
    bent = sum(_rectify(path, blocks, x) for path in paths)
    truth = every(
        how_many=equal(len(paths), 2**K),
        lengths=equal(lengths, [1, 6, 15, 20, 15, 6, 1]),
        sum_over_paths=near(sum(path_outputs(blocks, x).values()), through(relu=False), tolerance=1e-10),
    )
    # With rectifiers a block acts on the sum that reaches it, not on every path alone.
    return corrected(truth, printed=near(bent, through(relu=True), tolerance=1e-6))


def _rectify(path: tuple[int, ...], blocks: list[np.ndarray], x: np.ndarray) -> np.ndarray:
    for k in path:
        x = blocks[k] @ np.maximum(x, 0)
    return x


@claim("claim-residual-relu-order")
def a_rectifier_at_the_end_can_only_add(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.diagnostics import descend
    from margin.neural.weights import build

    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(200, 4)))
    target = x - 1.0  # what lies below the input
    changes, losses = {}, {}
    for name in ("relu last", "linear last"):
        kinds = [nn.Linear, nn.ReLU] if name == "relu last" else [nn.ReLU, nn.Linear]
        block = build(partial(_block, kinds), seed, torch.float64)
        changes[name] = (block(x) - x).detach().numpy()
        objective = lambda block=block: (block(x) - target).square().mean()  # noqa: E731
        losses[name] = descend(block.parameters(), objective, steps=300, rate=0.02, rule=torch.optim.Adam)[-1]
    return every(
        only_adds=above(float(changes["relu last"].min()), -1e-12),
        both_signs=equal((changes["linear last"].min() < 0 < changes["linear last"].max()), np.True_),
        cannot_go_down=above(losses["relu last"], 0.99),
        can_go_down=below(losses["linear last"], 1e-3),
    )


def _block(kinds: list[Any]) -> Any:
    from torch import nn

    from margin.neural.layers.residual import Residual

    return Residual(nn.Sequential(*(kind(4, 4) if kind is nn.Linear else kind() for kind in kinds)))
