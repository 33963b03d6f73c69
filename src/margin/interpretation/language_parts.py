"""Inside a language model: what its parts compute, and what is lost without one of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from margin.text.token_codes import texts_of

if TYPE_CHECKING:
    from torch import nn

    from margin.text import LanguageModel

__all__ = ["PARTS", "Ablation", "ablate", "ablations", "activations", "completion_log_probability"]

# What a block adds to the vector of a token, by the name of the module that computes it; "block" is their sum so far.
PARTS = {"attention": "attention", "mlp": "feed", "block": None}


class Ablation(NamedTuple):
    """The probability of a completion with and without one part of one block."""

    block: int
    part: str
    before: float
    after: float

    @property
    def drop(self) -> float:
        return self.before - self.after


def completion_log_probability(model: LanguageModel, prompt: str, completion: str) -> float:
    """Log-probability in nats that ``completion`` follows ``prompt``."""
    for name, text in (("prompt", prompt), ("completion", completion)):
        if not isinstance(text, str) or not text:
            raise ValueError(f"completion_log_probability: {name} must be a string that is not empty; got {text!r}.")
    codes = model._codes()
    prompt_tokens, all_tokens = (codes.encode(text, type(model).__name__) for text in (prompt, prompt + completion))
    if not np.array_equal(all_tokens[: len(prompt_tokens)], prompt_tokens):
        raise ValueError(
            "completion_log_probability: prompt must end where a token ends; "
            f"the last of {prompt!r} goes on in {completion!r}."
        )
    return float(model.token_log_proba(prompt + completion)[len(prompt_tokens) : -1].sum())


@contextmanager
def ablate(model: LanguageModel, block: int, part: str) -> Iterator[None]:
    """Inside, one part of one block adds 0 to the vectors of all tokens: ``part`` is "attention" or "mlp"."""
    if part not in ("attention", "mlp"):
        raise ValueError(f"ablate: part must be 'attention' or 'mlp'; got {part!r}.")
    hook = _part(model, block, part).register_forward_hook(lambda _module, _inputs, output: output * 0)
    try:
        yield
    finally:
        hook.remove()


def ablations(model: LanguageModel, prompt: str, completion: str) -> list[Ablation]:
    """What the probability of ``completion`` after ``prompt`` becomes without each attention and each MLP."""
    before = math.exp(completion_log_probability(model, prompt, completion))
    measured = []
    for block in range(len(_blocks(model))):
        for part in ("attention", "mlp"):
            with ablate(model, block, part):
                after = math.exp(completion_log_probability(model, prompt, completion))
            measured.append(Ablation(block, part, before, after))
    return measured


def activations(model: LanguageModel, texts: Any, block: int, part: str = "block") -> np.ndarray:
    """What a part of a block computes for every token of ``texts``, in their order, (tokens, d_model).

    ``part`` "attention" or "mlp" is what they add; "block" is the vector that leaves the block.
    """
    import torch

    owner, codes, module = "activations", model._codes(), model._ready_module()
    context = model.network_["config"]["context"]
    caught: list[np.ndarray] = []
    hook = _part(model, block, part).register_forward_hook(
        lambda _module, _inputs, output: caught.append(output[0, 1:].numpy(force=True).copy())  # not that of the start
    )
    try:
        for i, text in enumerate(texts_of(owner, texts)):
            ids = codes.join_texts([text], owner)[:-1]
            if len(ids) > context:
                raise ValueError(
                    f"{owner}: a text must have at most {context - 1} tokens, so that the model sees all of it; "
                    f"text {i} has {len(ids) - 1}."
                )
            with torch.inference_mode():
                module(torch.from_numpy(ids)[None].to(next(module.parameters()).device))
    finally:
        hook.remove()
    return np.concatenate(caught)


def _blocks(model: LanguageModel) -> Any:
    module: Any = model._ready_module()
    return module.stack.blocks


def _part(model: LanguageModel, block: int, part: str) -> nn.Module:
    blocks = _blocks(model)
    if part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(PARTS)}; got {part!r}.")
    if not 0 <= block < len(blocks):
        raise ValueError(f"block must be from 0 to {len(blocks) - 1}; got {block!r}.")
    name = PARTS[part]
    module: nn.Module = blocks[block] if name is None else getattr(blocks[block], name)
    return module
