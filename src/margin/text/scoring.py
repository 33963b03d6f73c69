r"""Log-probabilities of given tokens under a decoder, in texts of any length.

A decoder looks back at most ``context`` tokens. It reads until they are full, then starts anew at the last half of
them and goes on. A token is scored given exactly the tokens from which it would be drawn, so that

.. math:: \log p(t_1, \dots, t_N) = \sum_n \log p(t_n \mid t_{s(n)}, \dots, t_{n-1})

is the law of what the decoder writes, whatever the length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from margin.core.threads import threads_for, torch_threads
from margin.neural.activations.fused import fused_log_softmax
from margin.neural.precision import widen
from margin.neural.weights import device_of, forward_work

__all__ = ["token_log_probabilities", "window_start"]

WINDOWS = 64  # scored at once: bounds memory, large enough to be efficient


def window_start(n: int, context: int) -> int:
    """Where the tokens begin that the one after ``n`` tokens is predicted from.

    >>> [window_start(n, context=4) for n in (1, 4, 5, 6, 7, 8)]
    [0, 0, 3, 3, 3, 6]
    """
    return max(0, -(-(n - context) // _stride(context))) * _stride(context)


def _stride(context: int) -> int:
    return context - max(1, context // 2) + 1


def token_log_probabilities(module: nn.Module, sequences: Sequence[np.ndarray], context: int) -> list[np.ndarray]:
    """For every sequence, the log-probabilities of all its tokens but the first, each given those before it."""
    log_probabilities = [np.empty(len(tokens) - 1) for tokens in sequences]
    windows = [(i, start) for i, tokens in enumerate(sequences) for start in _starts(len(tokens) - 1, context)]
    # Windows of similar length are scored together, so that little is padded.
    windows.sort(key=lambda window: min(context, len(log_probabilities[window[0]]) - window[1]))
    for first in range(0, len(windows), WINDOWS):
        group = windows[first : first + WINDOWS]
        pieces = [sequences[i][start : start + context + 1] for i, start in group]
        values = _score(module, pieces)
        for (i, start), piece, row in zip(group, pieces, values):
            skip = max(1, context // 2) - 1 if start else 0  # what the window before has scored
            log_probabilities[i][start + skip : start + len(piece) - 1] = row[skip : len(piece) - 1]
    return log_probabilities


def _starts(n: int, context: int) -> range:
    return range(0, max(1, n - max(1, context // 2) + 1), _stride(context))


def _score(module: nn.Module, pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Log-probabilities along every piece, (pieces, longest - 1); a decoder does not see what is padded behind."""
    ids = np.zeros((len(pieces), max(map(len, pieces))), dtype=np.int64)
    for row, piece in zip(ids, pieces):
        row[: len(piece)] = piece
    both = torch.from_numpy(ids).to(device_of(module))
    with torch.inference_mode(), torch_threads(threads_for(forward_work(module, ids.size))):
        log_p = fused_log_softmax(widen(module(both[:, :-1])), dim=-1)
        return log_p.gather(-1, both[:, 1:, None].to(log_p.device))[..., 0].numpy(force=True)
