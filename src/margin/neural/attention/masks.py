"""Which keys a query may look at: boolean masks (queries, keys), True where it may, as in torch's attention."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["causal_mask", "padding_mask", "window_mask"]


def causal_mask(n_queries: int, n_keys: int | None = None, device: torch.device | str | None = None) -> Tensor:
    """Each query sees itself and what came before; with more keys than queries the queries are the last ones.

    >>> causal_mask(2, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    n_keys = n_queries if n_keys is None else n_keys
    return _distances(n_queries, n_keys, device) >= 0


def window_mask(
    n_queries: int,
    window: int,
    n_keys: int | None = None,
    *,
    causal: bool = True,
    device: torch.device | str | None = None,
) -> Tensor:
    """Only keys less than ``window`` positions away: behind the query alone if ``causal``, else on both sides.

    >>> window_mask(4, 2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    if window < 1:
        raise ValueError(f"window_mask: window must be at least 1; got {window!r}.")
    behind = _distances(n_queries, n_queries if n_keys is None else n_keys, device)
    return (behind >= 0) & (behind < window) if causal else behind.abs() < window


def padding_mask(lengths: Tensor, n_keys: int) -> Tensor:
    """(batch, 1, 1, keys): True for the first ``lengths[i]`` keys of sequence i, whatever head and query.

    >>> padding_mask(torch.tensor([1, 3]), 3)[:, 0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return (torch.arange(n_keys, device=lengths.device) < lengths[:, None])[:, None, None, :]


def _distances(n_queries: int, n_keys: int, device: torch.device | str | None) -> Tensor:
    """How far key j lies behind query i, (queries, keys)."""
    queries = torch.arange(n_keys - n_queries, n_keys, device=device)
    return queries[:, None] - torch.arange(n_keys, device=device)
