r"""Chains of tags: the probability of every sequence is a product of scores of tags and of neighboring tags.

.. math:: p(y \mid x) \propto \exp\Big(a_{y_1} + \sum_t s_t(y_t) + \sum_{t>1} A_{y_{t-1}, y_t} + e_{y_T}\Big)

A hidden Markov model has log-probabilities as scores, a conditional random field any numbers. Forward-backward sums
over all :math:`K^T` sequences in :math:`O(T K^2)`, Viterbi finds the best one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["ChainSums", "TagChain", "decode_chain", "path_score", "sum_chain"]


class TagChain(NamedTuple):
    """Scores of a tag at the start (K,), of a tag after another (K, K), and of a tag at the end (K,)."""

    first: np.ndarray
    between: np.ndarray
    last: np.ndarray


class ChainSums(NamedTuple):
    """Logarithms of the sums per sentence, probabilities of tags per token, expected numbers of neighboring tags."""

    log_z: np.ndarray
    marginals: np.ndarray
    pairs: np.ndarray


def sum_chain(scores: np.ndarray, ends: np.ndarray, chain: TagChain) -> ChainSums:
    """Forward-backward over sentences that stand one after another in ``scores`` (N, K) and stop at ``ends``."""
    from margin.graphical.chains import chain_posteriors  # with it come the networks

    return ChainSums(*chain_posteriors(scores, ends, chain.between, chain.first, chain.last))


def decode_chain(scores: np.ndarray, ends: np.ndarray, chain: TagChain) -> tuple[np.ndarray, np.ndarray]:
    """The best tag of every token (Viterbi), and the score of every sentence's best sequence."""
    from margin.compiled.text import best_tags

    tags, found = np.zeros(len(scores), dtype=np.int64), np.zeros(len(ends))
    best, came_from = np.empty((2, scores.shape[1])), np.empty(scores.shape, dtype=np.int64)
    parts = _doubles(chain.first), _doubles(chain.last), _doubles(chain.between)
    best_tags(_doubles(scores), np.asarray(ends, dtype=np.int64), *parts, tags, found, best, came_from)
    return tags, found


def path_score(scores: np.ndarray, tags: np.ndarray, chain: TagChain) -> float:
    """The score of one sequence of tags for one sentence."""
    steps = scores[np.arange(len(tags)), tags].sum() + chain.between[tags[:-1], tags[1:]].sum()
    return float(chain.first[tags[0]] + steps + chain.last[tags[-1]])


def _doubles(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)
