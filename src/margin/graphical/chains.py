r"""Chains of hidden states: sums and maxima over all paths in time linear in the length.

For log-potentials :math:`s_1(k) + \sum_t e_t(k_t) + \sum_t A(k_{t-1}, k_t)` of a path, the forward pass gives

.. math:: \alpha_t(k) = e_t(k) + \log\sum_j \exp(\alpha_{t-1}(j) + A(j, k)), \quad \log Z = \log\sum_k \exp\alpha_T(k) .

A hidden Markov model has normalized potentials, a conditional random field any; both use these functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Posteriors", "backward", "chain_posteriors", "chain_sums", "forward", "posteriors", "viterbi"]


class Posteriors(NamedTuple):
    """Log Z, the distribution of the state at every time (T, K), and of the pairs of states summed over time (K, K)."""

    log_partition: float
    states: np.ndarray
    pairs: np.ndarray


def forward(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Forward messages (T, K) of log-potentials ``emissions`` (T, K), ``transition`` (K, K) and ``start`` (K,)."""
    from margin.compiled.graphical import forward_messages

    alpha = np.empty(emissions.shape)
    forward_messages(*_contiguous(emissions, transition, start), alpha)
    return alpha


def backward(emissions: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Backward messages (T, K): the log-sum over all continuations of a state."""
    from margin.compiled.graphical import backward_messages

    beta = np.empty(emissions.shape)
    backward_messages(*_contiguous(emissions, transition), beta)
    return beta


def posteriors(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray) -> Posteriors:
    """Marginals of states and of neighboring pairs by forward and backward messages."""
    log_z, states, pairs = chain_posteriors(emissions, np.array([len(emissions)]), transition, start)
    return Posteriors(float(log_z[0]), states, pairs)


def chain_posteriors(
    emissions: np.ndarray,
    ends: np.ndarray,
    transition: np.ndarray,
    start: np.ndarray,
    last: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for several sequences one after another that stop at ``ends``: log Z of each, states, all pairs.

    ``last`` (K,) are log-potentials of the state in which a sequence stops, zeros if None.
    """
    ending = np.zeros(len(start)) if last is None else last
    scores, first, ending, between = _contiguous(emissions, start, ending, transition)
    states, pairs = np.zeros(scores.shape), np.zeros(between.shape)
    log_z = chain_sums(scores, np.asarray(ends, dtype=np.int64), first, ending, between, states, pairs)
    return log_z, states, pairs


def chain_sums(
    scores: np.ndarray,
    ends: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
    between: np.ndarray,
    marginals: np.ndarray,
    pairs: np.ndarray,
) -> np.ndarray:
    """The log of the sum over all paths, for each of the sequences that stand one after another and stop at ``ends``.

    Fills ``marginals`` (N, K) with the probability of each state at each time, and adds to ``pairs`` (K, K) the
    expected number of times that a state follows another. Messages are numbers that are scaled at every time, so an
    exponential is taken once for a state and not for every pair of states; where that could lose paths, a sequence is
    done in logarithms.
    """
    from margin.compiled.graphical import ChainScratch, sum_chains

    n, log_z = scores.shape[1], np.zeros(len(ends))
    longest = int(np.diff(ends, prepend=0).max(initial=0))
    memory = *np.empty((2, longest, n)), np.empty(longest), np.empty((n, n)), *np.empty((4, n))
    sum_chains(scores, ends, first, last, between, marginals, pairs, log_z, ChainScratch(*memory))
    return log_z


def viterbi(emissions: np.ndarray, transition: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, float]:
    """The path of states with the largest log-potential, and that value."""
    best = start + emissions[0]
    back = np.zeros(emissions.shape, dtype=np.int64)
    for t in range(1, len(emissions)):
        reached = best[:, None] + transition
        back[t] = reached.argmax(axis=0)
        best = emissions[t] + reached.max(axis=0)
    path = [int(best.argmax())]
    for t in range(len(emissions) - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    return np.array(path[::-1]), float(best.max())


def _contiguous(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(array, dtype=np.float64) for array in arrays]
