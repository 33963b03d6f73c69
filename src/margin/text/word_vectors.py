r"""Vectors of words: which are alike, analogies by adding and subtracting, and the losses that make them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

__all__ = [
    "Huffman",
    "analogy",
    "hierarchical_softmax",
    "huffman",
    "nearest_words",
    "negative_sampling_loss",
]


def nearest_words(
    vectors: np.ndarray, vocabulary: Sequence[str], target: np.ndarray, *, n: int = 10, without: Sequence[str] = ()
) -> list[tuple[str, float]]:
    """The ``n`` words whose vectors have the largest cosine with ``target``, and the cosines."""
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
    cosines = vectors @ target / np.where(lengths > 0, lengths, 1.0)
    skipped = set(without)
    order = np.argsort(-cosines, kind="stable")
    candidates = ((vocabulary[i], float(cosines[i])) for i in order if vocabulary[i] not in skipped)
    return [pair for pair, _ in zip(candidates, range(n))]


def analogy(
    vectors: np.ndarray, vocabulary: Sequence[str], a: str, b: str, c: str, *, n: int = 1
) -> list[tuple[str, float]]:
    r"""What is to ``c`` as ``b`` is to ``a``: the words nearest to :math:`\hat b - \hat a + \hat c` (3CosAdd).

    The vectors are scaled to length 1 first, and the three words themselves are no answers.
    """
    position = {word: i for i, word in enumerate(vocabulary)}
    for word in (a, b, c):
        if word not in position:
            raise KeyError(f"analogy: {word!r} is not in the vocabulary.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    target = unit[position[b]] - unit[position[a]] + unit[position[c]]
    return nearest_words(unit, vocabulary, target, n=n, without=(a, b, c))


def negative_sampling_loss(
    center: np.ndarray, context: np.ndarray, negatives: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    r"""Loss of one pair and its gradients with respect to center, context and negatives.

    .. math:: -\log\sigma(u_o^\top v_c) - \sum_i \log\sigma(-u_{n_i}^\top v_c)
    """
    right, wrong = context @ center, negatives @ center
    loss = -log_expit(right) - log_expit(-wrong).sum()
    error, errors = expit(right) - 1, expit(wrong)
    return float(loss), error * context + errors @ negatives, error * center, np.outer(errors, center)


class Huffman(NamedTuple):
    """A binary tree with words at its leaves: for each word the inner nodes from the root and the turns taken there.

    Rows of ``nodes`` and ``turns`` are filled up to the word's ``length``; there are one inner node fewer than words.
    """

    nodes: np.ndarray
    turns: np.ndarray
    lengths: np.ndarray


def huffman(counts: Sequence[int] | np.ndarray) -> Huffman:
    """The tree in which common words are near the root: the mean number of turns, weighted by counts, is smallest.

    >>> huffman([5, 1, 1, 2]).lengths.tolist()
    [1, 3, 3, 2]
    """
    n = len(counts)
    heap = [(int(count), i) for i, count in enumerate(counts)]
    heapq.heapify(heap)
    parent, turn = np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n, dtype=np.int8)
    for inner in range(n, 2 * n - 1):
        (first, left), (second, right) = heapq.heappop(heap), heapq.heappop(heap)
        parent[left], parent[right], turn[right] = inner, inner, 1
        heapq.heappush(heap, (first + second, inner))
    root = 2 * n - 2
    paths = []
    for word in range(n):
        path, node = [], word
        while node != root:
            path.append((parent[node] - n, turn[node]))
            node = parent[node]
        paths.append(path[::-1])
    lengths = np.array([len(path) for path in paths], dtype=np.int32)
    nodes = np.zeros((n, max(1, lengths.max())), dtype=np.int32)
    turns = np.zeros(nodes.shape, dtype=np.int8)
    for word, path in enumerate(paths):
        for depth, (node, turned) in enumerate(path):
            nodes[word, depth], turns[word, depth] = node, turned
    return Huffman(nodes, turns, lengths)


def hierarchical_softmax(hidden: np.ndarray, outputs: np.ndarray, tree: Huffman) -> np.ndarray:
    r"""The probability of every word: the product of the probabilities of its turns.

    At node m the turn 0 has probability :math:`\sigma(u_m^\top v)`, the turn 1 the rest, so all words sum to 1.
    """
    scores = outputs @ hidden
    signs = np.where(tree.turns == 0, 1.0, -1.0)
    steps = np.arange(tree.nodes.shape[1]) < tree.lengths[:, None]
    return np.exp(np.where(steps, log_expit(signs * scores[tree.nodes]), 0.0).sum(axis=1))
