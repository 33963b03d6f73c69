r"""What language models are trained on: the next token, masked tokens, and whether two sentences follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from margin.core.randomness import RandomLike, as_generator
from margin.neural.activations import log_softmax

__all__ = ["Masked", "embed_tokens", "mask_tokens", "masked_token_loss", "next_token_loss", "sentence_pairs"]


def embed_tokens(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    r"""Token embedding :math:`X = E\,T` with :math:`E \in R^{d \times |V|}`, T one-hot: column ``ids[n]`` of E.

    >>> embed_tokens(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1, 0])).tolist()
    [[2.0, 2.0, 1.0], [4.0, 4.0, 3.0]]
    """
    return table.index_select(1, ids)


def next_token_loss(logits: torch.Tensor, ids: torch.Tensor, *, reduction: str = "mean") -> torch.Tensor:
    r"""Cross-entropy of the next token, in nats: :math:`-\sum_n \log p(t_{n+1} \mid t_1, \dots, t_n)`.

    ``logits`` (..., N, V) at position n are those of token n + 1; the last position has no target. ``reduction`` is
    "mean" (its exponential is the perplexity), "sum" or "none".
    """
    log_p = log_softmax(logits[..., :-1, :], dim=-1)
    losses = -log_p.gather(-1, ids[..., 1:, None]).squeeze(-1)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"next_token_loss: reduction must be 'mean', 'sum' or 'none'; got {reduction!r}.")
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()


class Masked(NamedTuple):
    """Inputs of a masked language model, the tokens to predict, and their positions."""

    inputs: np.ndarray
    targets: np.ndarray
    positions: np.ndarray


def mask_tokens(
    ids: np.ndarray,
    mask_id: int,
    *,
    rate: float = 0.15,
    random_state: RandomLike = None,
    vocab_size: int | None = None,
) -> Masked:
    """Choose each token with probability ``rate`` and replace it by ``mask_id``; ``positions`` is true where chosen.

    With ``vocab_size`` the replacement is BERT's: the mask in 80 % of the cases, a random token in 10 %, the token
    itself in 10 %.
    """
    if not 0 < rate <= 1:
        raise ValueError(f"mask_tokens: rate must be above 0 and at most 1; got {rate}.")
    rng = as_generator(random_state)
    ids = np.asarray(ids)
    positions = rng.random(ids.shape) < rate
    replaced = np.full_like(ids, mask_id)
    if vocab_size is not None:
        luck = rng.random(ids.shape)
        replaced = np.where(luck < 0.8, mask_id, np.where(luck < 0.9, rng.integers(vocab_size, size=ids.shape), ids))
    return Masked(np.where(positions, replaced, ids), ids.copy(), positions)


def masked_token_loss(logits: torch.Tensor, targets: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy over the chosen ``positions`` only; logits (..., N, V)."""
    log_p = log_softmax(logits[positions], dim=-1)
    return -log_p.gather(-1, targets[positions][:, None]).mean()


def sentence_pairs(
    documents: Sequence[Sequence[str]], *, random_state: RandomLike = None
) -> list[tuple[str, str, bool]]:
    """For every sentence but the last of a document a second one, and whether it follows: half of them do.

    The others are drawn from other documents (from elsewhere in the document, if it is the only one).
    """
    rng = as_generator(random_state)
    firsts = [(d, s) for d, document in enumerate(documents) for s in range(len(document) - 1)]
    true_ones = np.zeros(len(firsts), dtype=bool)
    true_ones[rng.permutation(len(firsts))[: (len(firsts) + 1) // 2]] = True
    everywhere = [(d, s) for d, document in enumerate(documents) for s in range(len(document))]
    pairs = []
    for (d, s), follows in zip(firsts, true_ones):
        if follows:
            second = documents[d][s + 1]
        else:
            others = [(e, t) for e, t in everywhere if e != d] or [(e, t) for e, t in everywhere if t not in (s, s + 1)]
            if not others:
                raise ValueError("sentence_pairs: a random second sentence needs at least two documents.")
            other, place = others[int(rng.integers(len(others)))]
            second = documents[other][place]
        pairs.append((documents[d][s], second, bool(follows)))
    return pairs
