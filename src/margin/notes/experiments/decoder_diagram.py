"""A decoder-only transformer, block by block, with shapes and parameters

Embedding, positions, blocks of attention and feed-forward parts, a norm, and the embedding again as output: all
numbers are read from the network itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, equal, every
from margin.notes.diagrams import MUTED, add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.nets.language_nets import gpt2_small
    from margin.neural.weights import count_parameters

    model = gpt2_small()
    parts = {"embedding": model.embedding.tokens, "positions": model.embedding.positions}
    parts |= {f"block {i + 1}": block for i, block in enumerate(model.stack.blocks)}
    parts |= {"norm": model.stack.norm}
    counts = {name: sum(p.numel() for p in part.parameters()) for name, part in parts.items() if part is not None}
    inside = {name: sum(p.numel() for p in part.parameters()) for name, part in model.stack.blocks[0].named_children()}
    out = model.eval()(torch.zeros(1, 1024, dtype=torch.int64, device="meta"))
    return {"counts": counts, "inside": inside, "total": count_parameters(model), "output": tuple(out.shape)}


def check(data: dict[str, Any]) -> Verdict:
    counts = data["counts"]
    return every(
        blocks=equal(sum(name.startswith("block") for name in counts), 12),
        equal_blocks=equal(len({n for name, n in counts.items() if name.startswith("block")}), 1),
        inside_a_block=equal(sum(data["inside"].values()), counts["block 1"]),
        parts_are_all=equal(sum(counts.values()), data["total"]),
        scores=equal(data["output"], (1, 1024, 50_257)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    """The network from tokens below to scores above; one block is shown in full, with its two ways around."""
    figure.set_size_inches(9, 9)
    axis = blank(figure.subplots(), width=(-3.2, 4.4), height=(-0.6, 11.4))
    counts, inside = data["counts"], data["inside"]
    blocks = sum(name.startswith("block") for name in counts)
    tower = (
        (0.0, "tokens", "", "1 x 1024", "C7"),
        (1.1, "token embedding + positions", _count(counts["embedding"] + counts["positions"]), "1 x 1024 x 768", "C1"),
        (2.6, "layer norm", _count(inside["attention_norm"]), "", "C7"),
        (3.6, "causal attention, 12 heads", _count(inside["attention"]), "", "C0"),
        (4.6, "+", "", "1 x 1024 x 768", "C7"),
        (5.6, "layer norm", _count(inside["feed_norm"]), "", "C7"),
        (6.6, "feed-forward, 3072 wide", _count(inside["feed"]), "", "C0"),
        (7.6, "+", "", "1 x 1024 x 768", "C7"),
        (9.0, "layer norm", _count(counts["norm"]), "", "C7"),
        (10.0, "token embedding, transposed", "the same numbers again", "", "C1"),
        (11.0, "scores", "", " x ".join(map(str, data["output"])), "C7"),
    )
    for y, text, parameters, shape, color in tower:
        wide = 0.5 if text == "+" else 2.9
        add_box(axis, 0, y, text, width=wide, height=0.52, color=color)
        axis.text(1.75, y, parameters, va="center", fontsize=9)
        axis.text(-0.4 if text == "+" else -1.6, y, shape, va="center", ha="right", fontsize=8, color=MUTED)
    for (low, *_), (high, *_) in pairwise(tower):
        add_arrow(axis, (0, low + 0.26), (0, high - 0.26))
    for start, end in ((1.9, 4.6), (4.86, 7.6)):  # the residual ways
        axis.plot([0, 1.6, 1.6], [start, start, end], color="C2", lw=1.4, zorder=0)
        add_arrow(axis, (1.6, end), (0.25, end), color="C2")
    add_box(axis, 0.6, 5.03, "", width=7.0, height=6.3, color="C8", zorder=-1)
    axis.text(3.95, 7.85, f"{blocks} times", ha="right", va="center", fontsize=11)
    axis.text(3.95, 7.45, f"{_count(counts['block 1'])} each", ha="right", va="center", fontsize=9, color=MUTED)
    axis.set_title(f"GPT-2 small: {data['total']:,} parameters, all read from the network")


def _count(parameters: int) -> str:
    return f"{parameters:,} parameters"
