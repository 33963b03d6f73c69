r"""Beam search: the most probable sequences, of which a few are followed at a time.

A sequence of length n with log-probability s is worth :math:`s / \bigl(\tfrac{5 + n}{6}\bigr)^\alpha` (Wu et al.,
2016), as sums over more tokens are lower. A search ends when the best sequence that goes on is, as long as it is now,
worth less than the best that has ended; for :math:`\alpha = 0` nothing better can follow.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["beam_search", "length_worth"]

# Log-probabilities (rows, tokens) after the last token of every row, and after each row was made from row ``parents``.
NextScores = Callable[[Tensor, Tensor], Tensor]


def length_worth(n: int, alpha: float) -> float:
    """What the log-probability of ``n`` tokens is divided by.

    >>> length_worth(1, 0.6), length_worth(7, 1.0)
    (1.0, 2.0)
    """
    return ((5 + n) / 6) ** alpha


def beam_search(
    next_scores: NextScores,
    n: int,
    *,
    begin: int,
    end: int,
    width: int,
    max_tokens: int,
    alpha: float = 0.6,
    unfinished: bool = False,
) -> list[tuple[list[int], float]]:
    """For ``n`` searches at once the best sequence up to ``end``, without it, and what it is worth.

    Rows ``i * width`` to ``(i + 1) * width`` of the scores belong to search i. Where nothing ends within ``max_tokens``
    the best that has not ended counts; with ``unfinished`` it counts too where others have ended.
    """
    sums = torch.full((n, width), -torch.inf, dtype=torch.float64)
    sums[:, 0] = 0.0  # all rows begin alike: one of them is enough
    written = torch.empty(n, width, 0, dtype=torch.int64)
    best: list[tuple[list[int], float]] = [([], -torch.inf)] * n
    tokens, parents = torch.full((n * width,), begin), torch.arange(n * width)
    for length in range(1, max_tokens + 1):
        scores = next_scores(tokens, parents).double().view(n, width, -1)
        n_tokens = scores.shape[-1]
        totals = (sums[..., None] + scores).flatten(1)
        # Twice as many as are followed: at most half of them end.
        candidates, where = totals.topk(min(2 * width, totals.shape[1]), dim=1)
        rows, chosen = where // n_tokens, where % n_tokens
        ended = chosen == end
        for i, k in ended.nonzero().tolist():
            worth = float(candidates[i, k]) / length_worth(length, alpha)
            if worth > best[i][1]:
                best[i] = written[i, rows[i, k]].tolist(), worth
        sums, order = candidates.masked_fill(ended, -torch.inf).topk(min(width, candidates.shape[1]), dim=1)
        sums, order = _fill_width(sums, order, width)
        rows, chosen = rows.gather(1, order), chosen.gather(1, order)
        written = torch.cat([written.gather(1, rows[..., None].expand(-1, -1, length - 1)), chosen[..., None]], dim=2)
        tokens, parents = chosen.flatten(), (rows + torch.arange(n)[:, None] * width).flatten()
        hope = sums[:, 0] / length_worth(length, alpha)
        if all(worth >= float(h) for (_, worth), h in zip(best, hope)):
            break
    for i in range(n):
        worth = float(sums[i, 0]) / length_worth(written.shape[2], alpha)
        if best[i][1] == -torch.inf or (unfinished and worth > best[i][1]):
            best[i] = written[i, 0].tolist(), worth
    return best


def _fill_width(sums: Tensor, order: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """As many columns as are followed: a vocabulary of few tokens has fewer candidates."""
    missing = width - sums.shape[1]
    if not missing:
        return sums, order
    return torch.nn.functional.pad(sums, (0, missing), value=-torch.inf), torch.nn.functional.pad(order, (0, missing))
