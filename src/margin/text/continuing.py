"""Text from a decoder, token by token, with a key-value cache; stop strings; pieces as they come."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from margin.core.randomness import RandomLike, as_generator
from margin.core.threads import torch_threads
from margin.neural.attention.cache import KeyValueCache
from margin.neural.nets.transformer import DecoderTransformer
from margin.neural.precision import widened
from margin.neural.weights import device_of
from margin.text.decoding import next_token_log_probabilities
from margin.text.scoring import window_start
from margin.text.token_codes import END, TextCodes

__all__ = ["Drawing", "NextToken", "continued", "penalized", "until"]


@dataclass(frozen=True)
class Drawing:
    """How the next token is drawn: :func:`next_token_log_probabilities` and :func:`penalized` say what each does."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        next_token_log_probabilities(
            np.zeros(1), temperature=self.temperature, top_k=self.top_k, top_p=self.top_p
        )  # says what is wrong with them
        if not self.repetition_penalty > 0:
            raise ValueError(f"generate: repetition_penalty must be above 0; got {self.repetition_penalty}.")

    def log_probabilities(self, logits: np.ndarray, seen: Iterable[int]) -> np.ndarray:
        """Those that the next token is drawn from, given the tokens already ``seen``."""
        if self.repetition_penalty != 1:
            logits = penalized(logits, seen, self.repetition_penalty)
        return next_token_log_probabilities(logits, temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)


class NextToken:
    """Logits of the token after all that were read; each new token costs one row of attention.

    When ``context`` tokens were read, the last half of them is read anew, so that a text can go on without end.
    """

    def __init__(self, module: DecoderTransformer, context: int):
        self.module, self.context = module, context
        self.cache, self.start = KeyValueCache(), 0
        self.read: list[int] = []

    def after(self, ids: Sequence[int]) -> np.ndarray:
        """The logits after the tokens read before and now ``ids``."""
        self.read += [int(token) for token in ids]
        start = window_start(len(self.read), self.context)
        if start != self.start:
            self.cache, self.start = KeyValueCache(), start
        new = self.read[start + self.cache.length() :]
        with torch.inference_mode(), torch_threads(1):  # a row of work: threads would only wait for each other
            now = torch.tensor([new], device=device_of(self.module))
            return widened(self.module(now, self.cache)[0, -1]).numpy(force=True)


def penalized(logits: np.ndarray, seen: Iterable[int], penalty: float) -> np.ndarray:
    """Logits of tokens already ``seen`` divided by ``penalty`` if positive, else multiplied (Keskar et al., 2019).

    >>> penalized(np.array([2.0, -1.0, 3.0]), [0, 1], 2.0)
    array([ 1., -2.,  3.])
    """
    out, rows = np.array(logits, dtype=np.float64), np.array(sorted(set(seen)), dtype=np.intp)
    out[rows] = np.where(out[rows] > 0, out[rows] / penalty, out[rows] * penalty)
    return out


def continued(
    model: NextToken, prompt: Sequence[int], n: int, drawing: Drawing, random_state: RandomLike = None
) -> Iterator[int]:
    """Up to ``n`` tokens after ``prompt``, each drawn given all before it; the end of a text ends it."""
    rng, seen, new = as_generator(random_state), set(prompt) - {END}, list(prompt)
    for _ in range(n):
        cumulative = np.cumsum(np.exp(drawing.log_probabilities(model.after(new), seen)))
        token = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        if token == END:
            return
        yield token
        seen.add(token)
        new = [token]


def until(tokens: Iterable[int], codes: TextCodes, stop: Sequence[str]) -> Iterator[str]:
    """The text of ``tokens`` in pieces as soon as they are certain, up to the first of the strings in ``stop``.

    Bytes that are not a whole character yet, and characters that may begin a stop string, wait for what follows.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    held, longest = "", max((len(s) for s in stop), default=0)
    for token in tokens:
        held += decoder.decode(codes.bytes_of(token))
        ends = [held.find(s) for s in stop if s in held]
        if ends:
            if min(ends):
                yield held[: min(ends)]
            return
        waits = next((k for k in range(min(longest - 1, len(held)), 0, -1) if _begins(held[-k:], stop)), 0)
        if len(held) > waits:
            yield held[: len(held) - waits]
            held = held[len(held) - waits :]
    held += decoder.decode(b"", final=True)
    if held:
        yield held


def _begins(text: str, stop: Sequence[str]) -> bool:
    return any(s.startswith(text) for s in stop)
