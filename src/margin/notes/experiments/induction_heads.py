r"""Two layers learn to copy from their context, one does not

In a text that repeats itself with an unknown period, what follows can be read off: find where the present token stood
before, and take what stood after it. That takes two steps of attention. A head of the first layer writes into every
token which one stood before it; a head of the second looks for tokens after the present one, an *induction head*
(Olsson et al., 2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.threads import torch_threads
from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOKENS, LENGTH, PERIODS = 12, 24, (5, 11)
BATCH, SHOWN = 64, 8  # the period of the text that is drawn


def texts(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """``n`` rows of random tokens that repeat, and their periods."""
    periods = rng.integers(*PERIODS, size=n)
    rows = rng.integers(0, TOKENS, size=(n, PERIODS[1]))
    return np.stack([np.resize(row[:period], LENGTH) for row, period in zip(rows, periods)]), periods


def train(n_blocks: int, seed: int, steps: int) -> Any:
    import torch

    from margin.neural.attention.config import TransformerConfig
    from margin.neural.attention.decoder import DecoderTransformer
    from margin.neural.weights import build

    config = TransformerConfig(
        d_model=32, n_heads=1, n_blocks=n_blocks, position="rope", norm="rms", qk_norm=True, bias=False,
        activation="relu_squared", zero_init=True, init_std=0.1, context=LENGTH,
    )  # fmt: skip
    module = build(lambda: DecoderTransformer(TOKENS, config, tied=False), seed=seed)
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    rng = np.random.default_rng(seed)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * min(1, (step + 1) / 20) * (1 - step / steps)
        ids = torch.from_numpy(texts(rng, BATCH)[0])
        loss = torch.nn.functional.cross_entropy(module(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return module


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    rows, periods = texts(np.random.default_rng([seed, 1]), 400)
    again = np.arange(LENGTH - 1)[None] >= periods[:, None]  # tokens that have been there before
    accuracy, modules = [], {}
    for n_blocks in (1, 2):
        with torch_threads(1):
            modules[n_blocks] = train(n_blocks, seed, 150 if fast else 600)
        with torch.inference_mode():
            predicted = modules[n_blocks](torch.from_numpy(rows[:, :-1])).argmax(dim=-1).numpy()
        accuracy.append(float((predicted == rows[:, 1:])[again].mean()))
    shown = np.resize(np.random.default_rng([seed, 2]).permutation(TOKENS)[:SHOWN], LENGTH)
    with torch.inference_mode():
        maps = [m[0, 0].numpy() for m in modules[2].attention_maps(torch.from_numpy(shown[None]))]
    return {"accuracy": np.array(accuracy), "maps": np.stack(maps), "tokens": shown}


def check(data: dict[str, Any]) -> Verdict:
    # Of the second layer, what a repeated token gives to the one after its last appearance.
    places = np.arange(SHOWN, LENGTH)
    looked = data["maps"][1][places, places - SHOWN + 1]
    return every(
        two_layers_copy=above(data["accuracy"][1], 0.85),
        one_layer_does_not=below(data["accuracy"][0], 0.65),
        by_looking_after_the_last_appearance=above(float(looked.mean()), 3 / SHOWN),  # three times chance
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right, bars = figure.subplots(1, 3, width_ratios=[2, 2, 1])
    names = [chr(ord("a") + int(token)) for token in data["tokens"]]
    for axis, weights, title in zip((left, right), data["maps"], ("first layer", "second layer: what came after it")):
        axis.imshow(weights, cmap="magma", vmin=0)
        axis.set_xticks(range(LENGTH), names, fontsize=6)
        axis.set_yticks(range(LENGTH), names, fontsize=6)
        axis.set_title(title, fontsize=8)
    bars.bar(["1 layer", "2 layers"], data["accuracy"])
    bars.axhline(1 / TOKENS, color="gray", linestyle=":")
    bars.set(title="repeated tokens\npredicted", ylim=(0, 1))
