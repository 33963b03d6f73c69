"""Windows of one long array of tokens, drawn at random; the array may be a memory map and is never copied whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.neural.training.batches import Batch, Batches

__all__ = ["TokenWindows"]


class TokenWindows(Batches):
    """Batches of ``window`` tokens and the tokens that follow each of them: both (batch_size, window), int64.

    An epoch is ``steps_per_epoch`` steps; None: as many as it takes to draw the length of the array once. A batch
    counts its tokens, so running means are per token.
    """

    def __init__(
        self, tokens: np.ndarray, window: int, batch_size: int, seed: int, *, steps_per_epoch: int | None = None
    ):
        if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
            raise ValueError(
                f"TokenWindows: tokens must be a 1-D array of integers; got {tokens.ndim}-D of {tokens.dtype}."
            )
        if len(tokens) <= window:
            raise ValueError(
                f"TokenWindows: tokens must be more than the window of {window}; got {len(tokens)} of them."
            )
        self.tokens, self.window, self.batch_size = tokens, window, batch_size
        self.steps_per_epoch = steps_per_epoch or max(1, len(tokens) // (window * batch_size))
        self.rng = as_generator(seed)

    def draw(self) -> Batch:
        starts = self.rng.integers(len(self.tokens) - self.window, size=self.batch_size)
        rows = self.tokens[starts[:, None] + np.arange(self.window + 1)]
        both = torch.from_numpy(rows.astype(np.int64, copy=False))
        return Batch((both[:, :-1], both[:, 1:]), mass=float(self.batch_size * self.window))

    def state(self) -> dict[str, Any]:
        return {"n_tokens": len(self.tokens), "rng": generator_state(self.rng)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if state["n_tokens"] != len(self.tokens):
            raise ValueError(f"TokenWindows: the state belongs to {state['n_tokens']} tokens; got {len(self.tokens)}.")
        self.rng = generator_from_state(dict(state["rng"]))
