"""Text from a decoder, token by token, with a key-value cache; stop strings; pieces as they come."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from margin.core.randomness import RandomLike, as_generator
from margin.neural.attention.cache import KeyValueCache
from margin.neural.nets.transformer import DecoderTransformer
from margin.text.decoding import next_token_log_probabilities
from margin.text.token_codes import END, TextCodes

__all__ = ["NextToken", "continued", "penalized", "until"]


class NextToken:
    """Logits of the token after all that were read; each new token costs one row of attention.

    When ``context`` tokens were read, the last half of them is read anew, so that a text can go on without end.
    """

    def __init__(self, module: DecoderTransformer, context: int):
        self.module, self.context = module, context
        self.cache = KeyValueCache()
        self.read: list[int] = []

    def after(self, ids: Sequence[int]) -> np.ndarray:
        """The logits after the tokens read before and now ``ids``."""
        self.read += [int(token) for token in ids]
        if self.cache.length() + len(ids) > self.context:
            ids = self.read[-max(1, self.context // 2) :]
            self.read, self.cache = list(ids), KeyValueCache()
        with torch.inference_mode():
            return self.module(torch.tensor([list(ids)]), self.cache)[0, -1].double().numpy()


def penalized(logits: np.ndarray, seen: Iterable[int], penalty: float) -> np.ndarray:
    """Logits of tokens already ``seen`` divided by ``penalty`` if positive, else multiplied (Keskar et al., 2019).

    >>> penalized(np.array([2.0, -1.0, 3.0]), [0, 1], 2.0)
    array([ 1., -2.,  3.])
    """
    out, rows = np.array(logits, dtype=np.float64), np.array(sorted(set(seen)), dtype=np.intp)
    out[rows] = np.where(out[rows] > 0, out[rows] / penalty, out[rows] * penalty)
    return out


def continued(
    model: NextToken,
    prompt: Sequence[int],
    n: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    random_state: RandomLike = None,
) -> Iterator[int]:
    """Up to ``n`` tokens after ``prompt``, each drawn given all before it; the end of a text ends it."""
    if repetition_penalty <= 0:
        raise ValueError(f"generate: repetition_penalty must be above 0; got {repetition_penalty}.")
    rng, seen, new = as_generator(random_state), set(prompt) - {END}, list(prompt)[-model.context :]
    for _ in range(n):
        logits = model.after(new)
        if repetition_penalty != 1:
            logits = penalized(logits, seen, repetition_penalty)
        log_p = next_token_log_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
        cumulative = np.cumsum(np.exp(log_p))
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
