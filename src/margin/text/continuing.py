"""Text from a decoder, token by token, with a key-value cache; stop strings; pieces as they come."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from margin.core.arguments import shown
from margin.core.domains import Number
from margin.core.randomness import RandomLike, as_generator
from margin.core.threads import torch_threads
from margin.neural.activations.fused import fused_log_softmax
from margin.neural.attention.cache import KeyValueCache
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.precision import widen
from margin.neural.weights import device_of
from margin.text.beam import beam_search
from margin.text.decoding import next_token_log_probabilities
from margin.text.scoring import window_start
from margin.text.token_codes import END, TextCodes

__all__ = [
    "Drawing",
    "NextToken",
    "NextTokens",
    "continue_text",
    "continued_rows",
    "most_probable",
    "penalize",
    "until",
]


@dataclass(frozen=True)
class Drawing:
    """How the next token is drawn: :func:`next_token_log_probabilities` and :func:`penalize` say what each does."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        next_token_log_probabilities(
            np.zeros(1), temperature=self.temperature, top_k=self.top_k, top_p=self.top_p
        )  # says what is wrong with them
        if not Number(above=0).accepts(self.repetition_penalty):
            raise ValueError(f"generate: repetition_penalty must be above 0; got {shown(self.repetition_penalty)}.")

    def log_probabilities(self, logits: np.ndarray, seen: Iterable[int]) -> np.ndarray:
        """Those that the next token is drawn from, given the tokens already ``seen``."""
        if self.repetition_penalty != 1:
            logits = penalize(logits, seen, self.repetition_penalty)
        return next_token_log_probabilities(logits, temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)

    def draw(self, logits: np.ndarray, seen: Iterable[int], rng: np.random.Generator) -> int:
        """The next token."""
        cumulative = np.cumsum(np.exp(self.log_probabilities(logits, seen)))
        return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


class NextTokens:
    """Logits of the token after all that were read, for ``n`` texts of equally many tokens at once.

    Each new token costs one row of attention. When ``context`` tokens were read, the last half of them is read anew, so
    that a text can go on without end.
    """

    def __init__(self, module: DecoderTransformer, context: int, n: int):
        self.module, self.context = module, context
        self.cache, self.start = KeyValueCache(), 0
        self.read: list[list[int]] = [[] for _ in range(n)]

    def after_rows(self, ids: Sequence[Sequence[int]]) -> np.ndarray:
        """The logits (n, tokens) after the tokens read before and now a row of ``ids`` in each text."""
        for read, row in zip(self.read, ids, strict=True):
            read += [int(token) for token in row]
        start = window_start(len(self.read[0]), self.context)
        if start != self.start:
            self.cache, self.start = KeyValueCache(), start
        first = start + self.cache.length()
        with torch.inference_mode(), torch_threads(1):  # a row of work: threads would only wait for each other
            now = torch.tensor([read[first:] for read in self.read], device=device_of(self.module))
            return widen(self.module(now, self.cache)[:, -1]).numpy(force=True)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with the texts numbered ``rows``, in this order."""
        self.cache.select(torch.tensor(rows, device=device_of(self.module)))
        self.read = [list(self.read[row]) for row in rows]


class NextToken(NextTokens):
    """The same for one text."""

    def __init__(self, module: DecoderTransformer, context: int):
        super().__init__(module, context, 1)

    def after(self, ids: Sequence[int]) -> np.ndarray:
        """The logits after the tokens read before and now ``ids``."""
        logits: np.ndarray = self.after_rows([ids])[0]
        return logits


def penalize(logits: np.ndarray, seen: Iterable[int], penalty: float) -> np.ndarray:
    """Logits of tokens already ``seen`` divided by ``penalty`` if positive, else multiplied (Keskar et al., 2019).

    >>> penalize(np.array([2.0, -1.0, 3.0]), [0, 1], 2.0)
    array([ 1., -2.,  3.])
    """
    out, rows = np.array(logits, dtype=np.float64), np.array(sorted(set(seen)), dtype=np.intp)
    out[rows] = np.where(out[rows] > 0, out[rows] / penalty, out[rows] * penalty)
    return out


def continue_text(
    model: NextToken, prompt: Sequence[int], n: int, drawing: Drawing, random_state: RandomLike = None
) -> Iterator[int]:
    """Up to ``n`` tokens after ``prompt``, each drawn given all before it; the end of a text ends it."""
    rng, seen, new = as_generator(random_state), set(prompt) - {END}, list(prompt)
    for _ in range(n):
        token = drawing.draw(model.after(new), seen, rng)
        if token == END:
            return
        yield token
        seen.add(token)
        new = [token]


def continued_rows(
    model: NextTokens, prompts: Sequence[Sequence[int]], n: int, drawing: Drawing, rngs: Sequence[np.random.Generator]
) -> list[list[int]]:
    """The tokens of :func:`continue_text` for several prompts of one length, each with a generator of its own."""
    written: list[list[int]] = [[] for _ in prompts]
    seen, alive, new = [set(prompt) - {END} for prompt in prompts], list(range(len(prompts))), list(prompts)
    for _ in range(n):
        logits = model.after_rows(new)
        tokens = [drawing.draw(row, seen[i], rngs[i]) for row, i in zip(logits, alive)]
        kept = [k for k, token in enumerate(tokens) if token != END]
        if not kept:
            break
        if len(kept) < len(alive):
            model.select(kept)
        alive, new = [alive[k] for k in kept], [[tokens[k]] for k in kept]
        for i, (token,) in zip(alive, new):
            written[i].append(int(token))
            seen[i].add(int(token))
    return written


def most_probable(model: NextTokens, prompt: Sequence[int], n: int) -> list[int]:
    """The most probable up to ``n`` tokens after ``prompt`` that a beam search with a row of ``model`` each finds."""
    width = len(model.read)
    if len(prompt) > 1:
        model.after_rows([prompt[:-1]] * width)

    def next_scores(tokens: Tensor, parents: Tensor) -> Tensor:
        model.select(parents.tolist())
        return fused_log_softmax(torch.from_numpy(model.after_rows(tokens[:, None].tolist())).double(), dim=1)

    ((tokens, _),) = beam_search(next_scores, 1, begin=prompt[-1], end=END, width=width, max_tokens=n, unfinished=True)
    return tokens


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
