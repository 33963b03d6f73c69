r"""A sequence from a sequence: digits in reverse, and where the decoder looks

An encoder-decoder transformer learns to write a string of digits backwards. Its cross-attention shows how: while it
writes digit t, the decoder looks at position n - t of the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS, BEGIN = 10, 10  # the token that a target begins with


def greedy(model: Any, source: Any) -> np.ndarray:
    """The most probable target, token by token, with a key-value cache."""
    import torch

    from margin.neural.attention import KeyValueCache

    cache, memory = KeyValueCache(), model.encode(source)
    token, written = torch.full((len(source), 1), BEGIN), []
    for _ in range(source.shape[1]):
        token = model.decode(token, memory, cache=cache)[:, -1:, :DIGITS].argmax(dim=-1)
        written.append(token)
    return torch.cat(written, dim=1).numpy()


def train(seed: int, length: int, steps: int, width: int) -> Any:
    import torch
    from torch.nn import functional

    from margin.neural.attention import TransformerConfig
    from margin.neural.nets.transformer import EncoderDecoderTransformer
    from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
    from margin.neural.weights import build
    from margin.optimize.rules import AdamW
    from margin.optimize.schedules import one_cycle

    def next_digit(module: Any, batch: tuple[Any, ...], _noise: Any) -> dict[str, Any]:
        (source,) = batch
        target = source.flip(1)
        begun = torch.cat([torch.full_like(target[:, :1], BEGIN), target[:, :-1]], dim=1)
        return {"loss": functional.cross_entropy(module(source, begun).transpose(1, 2), target).reshape(())}

    config = TransformerConfig(d_model=width, n_heads=2, n_blocks=1, d_ff=2 * width, context=length, norm="rms")
    model = build(lambda: EncoderDecoderTransformer(DIGITS, DIGITS + 1, config), seed)
    sources = np.random.default_rng(seed).integers(DIGITS, size=(steps * 64, length))
    step = Minimize(model, next_digit, AdamW(weight_decay=0.0), schedule=one_cycle(0.02, steps=steps), clip_norm=1.0)
    training = Training(RowBatches(TensorRows.of(sources), 64, seed), step, Plan(1, None), threads=1)
    list(train(training))
    return model.eval()


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    length, steps, width = (4, 220, 32) if fast else (10, 3000, 64)
    model = train(seed, length, steps, width)
    new = torch.from_numpy(np.random.default_rng(seed + 1000).integers(DIGITS, size=(200, length)))
    with torch.inference_mode():
        written = greedy(model, new)
        begun = torch.cat([torch.full((200, 1), BEGIN), new.flip(1)[:, :-1]], dim=1)
        weights = model.alignment(new, begun)[0].mean(dim=(0, 1)).numpy()
    exact = float((written == new.flip(1).numpy()).all(axis=1).mean())
    return {"exact": exact, "alignment": weights}


def check(data: dict[str, Any]) -> Verdict:
    n = len(data["alignment"])
    return every(
        exact_match=above(data["exact"], 0.95),
        looks_backwards=equal(data["alignment"].argmax(axis=1).tolist(), list(range(n))[::-1]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(6.5, 5)
    axis = figure.subplots()
    shades = axis.imshow(data["alignment"], cmap="magma", vmin=0, vmax=1)
    figure.colorbar(shades, ax=axis, label="attention weight")
    length = range(len(data["alignment"]))
    axis.set(xticks=length, yticks=length)
    axis.set(title=f"{data['exact']:.1%} of new strings exactly right", xlabel="position in the source")
    axis.set_ylabel("position in what is written")
