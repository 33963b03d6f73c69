"""Text from a model of the next token: choose or draw one, append it, ask again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from margin.core.arguments import shown
from margin.core.domains import Integer, Number
from margin.core.randomness import RandomLike, as_generator

__all__ = ["generate", "next_token_log_probabilities"]

FROM_ZERO, UP_TO_ONE, COUNT = Number(low=0), Number(above=0, high=1), Integer(low=1)


def next_token_log_probabilities(
    logits: Any, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> np.ndarray:
    r"""Log-probabilities from which the next token is drawn: :math:`\log\mathrm{softmax}(z / T)` over the tokens kept.

    ``top_k`` keeps the k most probable tokens, ``top_p`` the fewest most probable ones whose probabilities reach p
    together. Temperature 0 is the limit: all probability on the most probable token, the first of equal ones.

    >>> np.exp(next_token_log_probabilities([0.0, 1.0, 2.0], top_k=2)).round(3).tolist()
    [0.0, 0.269, 0.731]
    """
    z = np.array(logits, dtype=np.float64)
    if not FROM_ZERO.accepts(temperature):  # not NaN either, of which no token would be drawn
        raise ValueError(f"generate: temperature must be at least 0 and finite; got {shown(temperature)}.")
    if top_k is not None and not COUNT.accepts(top_k):
        raise ValueError(f"generate: top_k must be at least 1; got {shown(top_k)}.")
    if top_p is not None and not UP_TO_ONE.accepts(top_p):
        raise ValueError(f"generate: top_p must be above 0 and at most 1; got {shown(top_p)}.")
    if temperature == 0:
        only = np.full(z.shape, -np.inf)
        only[np.argmax(z)] = 0.0
        return only
    z -= z.max()  # divided by a small temperature, the largest stays finite
    z /= temperature
    if top_k is not None or top_p is not None:
        order, kept = np.argsort(-z, kind="stable"), len(z) if top_k is None else top_k
        if top_p is not None:
            reached = np.cumsum(np.exp(_log_softmax(z[order])))
            kept = min(kept, int(np.searchsorted(reached, top_p)) + 1)
        z[order[kept:]] = -np.inf
    return _log_softmax(z)


def _log_softmax(z: np.ndarray) -> np.ndarray:
    """Of numbers whose largest is 0."""
    return z - np.log(np.exp(z).sum())


def generate(
    next_logits: Callable[[list[int]], Any],
    prompt: Sequence[int],
    n: int,
    *,
    mode: str = "sample",
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop: int | None = None,
    random_state: RandomLike = None,
) -> Iterator[tuple[int, float]]:
    """Up to ``n`` new tokens one by one, each with the log-probability with which it was drawn; ``stop`` ends it.

    ``next_logits(ids)`` gives the logits of the token after ``ids``. ``mode`` "greedy" takes the most probable token
    and gives its log-probability at temperature 1.

    >>> [token for token, _ in generate(lambda ids: -abs(np.arange(5) - ids[-1] - 1.0), [0], 3, mode="greedy")]
    [1, 2, 3]
    """
    if mode not in ("greedy", "sample"):
        raise ValueError(f"generate: mode must be 'greedy' or 'sample'; got {mode!r}.")
    rng, ids = as_generator(random_state), list(prompt)
    for _ in range(n):
        logits = next_logits(ids)
        if mode == "greedy":
            log_p = next_token_log_probabilities(logits)
            token = int(log_p.argmax())
        else:
            log_p = next_token_log_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
            cumulative = np.cumsum(np.exp(log_p))
            token = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        yield token, float(log_p[token])
        ids.append(token)
        if token == stop:
            return
