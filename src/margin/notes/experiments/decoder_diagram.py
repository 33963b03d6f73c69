"""A decoder-only transformer, block by block, with shapes and parameters

Embedding, positions, blocks of attention and feed-forward parts, a norm, and the embedding again as output: all
numbers are read from the network itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, equal, every

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
    out = model.eval()(torch.zeros(1, 1024, dtype=torch.int64, device="meta"))
    return {"counts": counts, "total": count_parameters(model), "output": tuple(out.shape)}


def check(data: dict[str, Any]) -> Verdict:
    counts = data["counts"]
    return every(
        blocks=equal(sum(name.startswith("block") for name in counts), 12),
        equal_blocks=equal(len({n for name, n in counts.items() if name.startswith("block")}), 1),
        parts_are_all=equal(sum(counts.values()), data["total"]),
        scores=equal(data["output"], (1, 1024, 50_257)),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axis = figure.subplots()
    names = list(data["counts"])
    axis.barh(names, [data["counts"][name] / 1e6 for name in names])
    axis.invert_yaxis()
    axis.set(title=f"GPT-2 small: {data['total']:,} parameters", xlabel="millions of parameters")
