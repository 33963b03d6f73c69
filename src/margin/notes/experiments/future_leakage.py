r"""A language model that sees the future learns to peek

The next token of a random text cannot be predicted: the best loss is :math:`\log V`. A decoder with a causal mask ends
there. Without the mask its loss falls far below, because the answer stands one place further on; and where the future
is not there yet, as in generation, it is worse than guessing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.threads import torch_threads
from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOKENS, LENGTH, BATCH = 8, 12, 32
GUESSING = float(np.log(TOKENS))


def run(seed: int, fast: bool) -> dict[str, Any]:
    steps = 150 if fast else 500
    curves, masked_later = [], []
    with torch_threads(1):
        for causal in (True, False):
            module, losses = train(causal, seed, steps)
            curves.append(losses)
            see(module, causal=True)  # as when a text is generated
            later = [loss_of(module, np.random.default_rng([seed, 9, k])) for k in range(8)]
            masked_later.append(float(np.mean(later)))
    return {"curves": np.array(curves), "generating": np.array(masked_later)}


def train(causal: bool, seed: int, steps: int) -> tuple[Any, list[float]]:
    import torch

    from margin.neural.attention.config import TransformerConfig
    from margin.neural.attention.decoder import DecoderTransformer
    from margin.neural.weights import build

    config = TransformerConfig(d_model=32, n_heads=2, n_blocks=1, position="rope", qk_norm=True, init_std=0.1)
    module = build(lambda: DecoderTransformer(TOKENS, config, tied=False), seed=seed)
    see(module, causal)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, weight_decay=0.0, fused=True)
    rng, losses = np.random.default_rng(seed), []
    for _ in range(steps):
        loss = tensor_loss(module, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return module, losses


def see(module: Any, causal: bool) -> None:
    """Let every block look at the past only, or at all tokens."""
    for block in module.stack.blocks:
        block.causal = causal


def tensor_loss(module: Any, rng: np.random.Generator) -> Any:
    import torch

    ids = torch.from_numpy(rng.integers(0, TOKENS, size=(BATCH, LENGTH + 1)))
    scores = module(ids)[:, :-1]  # all tokens are read, the next ones among them
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten())


def loss_of(module: Any, rng: np.random.Generator) -> float:
    import torch

    with torch.inference_mode():
        return float(tensor_loss(module, rng))


def check(data: dict[str, Any]) -> Verdict:
    masked, open_ended = data["curves"][:, -20:].mean(axis=1)
    return every(
        nothing_to_learn_behind_the_mask=above(masked, 0.97 * GUESSING),
        peeking_pays_in_training=below(open_ended, 0.4 * GUESSING),
        and_fails_in_generation=above(data["generating"][1], 1.05 * GUESSING),
        the_masked_one_is_the_same_there=below(data["generating"][0], 1.05 * GUESSING),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    curves, bars = figure.subplots(1, 2)
    for losses, name in zip(data["curves"], ("with a causal mask", "without")):
        curves.plot(losses, label=name)
    curves.axhline(GUESSING, color="gray", linestyle=":", label=r"$\log V$")
    curves.set(xlabel="updates", ylabel="training loss", title="learning a random text")
    curves.legend()
    bars.bar(["with", "without"], data["generating"])
    bars.axhline(GUESSING, color="gray", linestyle=":")
    bars.set(title="loss when the future is not there", ylabel="nats per token")
