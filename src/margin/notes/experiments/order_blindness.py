r"""Without positions a transformer reads a bag of words

Attention without a mask commutes with permutations: :math:`f(Px) = P f(x)`. The mean over the tokens, from which a text
is classified, is then the same for every order of the words. Added positional codes tell the orders apart.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = ("dog", "bites", "man", "not", "here")
KINDS = ("none", "sinusoidal", "learned", "rope")


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.attention.config import TransformerConfig
    from margin.neural.nets.transformer import EncoderTransformer
    from margin.neural.weights import build

    orders = np.array(list(permutations(range(len(WORDS)))))
    pooled = []
    for kind in KINDS:
        config = TransformerConfig(
            d_model=32, n_heads=2, n_blocks=2, position=kind, context=len(WORDS), init_std=0.3, bias=False
        )
        module = build(partial(EncoderTransformer, len(WORDS), config), seed=seed, dtype=torch.float64)
        with torch.inference_mode():
            pooled.append(module(torch.from_numpy(orders)).mean(dim=1).numpy())
    return {"orders": orders, "pooled": np.stack(pooled)}  # (kinds, orders, width)


def spread(pooled: np.ndarray) -> float:
    """The largest distance of an order from the first, in units of the vectors' length."""
    return float(np.linalg.norm(pooled - pooled[0], axis=1).max() / np.linalg.norm(pooled[0]))


def check(data: dict[str, Any]) -> Verdict:
    none, *others = (spread(pooled) for pooled in data["pooled"])
    return every(
        blind_without_positions=below(none, 1e-9),
        told_apart_with_them=above(min(others), 0.01),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 3.6)
    for axis, kind, pooled in zip(figure.subplots(1, len(KINDS)), KINDS, data["pooled"]):
        centered = pooled - pooled.mean(axis=0)
        axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
        places = centered @ axes.T
        axis.scatter(*places.T, s=9, alpha=0.7, linewidths=0)
        axis.set_title("no positions: one point" if kind == "none" else f"positions: {kind}")
        width = max(float(np.abs(places).max()), 1e-3)
        axis.set(xlim=(-1.2 * width, 1.2 * width), ylim=(-1.2 * width, 1.2 * width), xticks=[], yticks=[])
        axis.set_box_aspect(1)
    title = f"What a transformer makes of the {len(data['orders'])} orders of “{' '.join(WORDS)}” (two main directions)"
    figure.suptitle(title, fontsize=11)
