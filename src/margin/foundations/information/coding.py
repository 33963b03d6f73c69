"""Codes: why cross-entropy is a length. A good fit is a short message."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.information.arguments import as_distribution

__all__ = ["decode", "encode", "huffman_code", "kraft_sum", "mean_code_length", "shannon_code"]


def shannon_code(q: ArrayLike) -> list[str]:
    r"""A prefix code with lengths :math:`\ell(x) = \lceil -\log_2 q(x) \rceil`, one binary word per symbol.

    Data from :math:`p` then cost :math:`H(p, q) \le \sum_x p(x) \ell(x) < H(p, q) + 1` bits per symbol.

    >>> shannon_code([0.5, 0.25, 0.25])
    ['0', '10', '11']
    """
    probability = as_distribution("shannon_code", "q", q)
    if probability.ndim != 1 or (probability == 0).any():
        raise ValueError("shannon_code: q must be one distribution that is positive everywhere.")
    # Probabilities that sum to a little over one would break Kraft's inequality.
    lengths = np.ceil(-np.log2(probability / probability.sum())).astype(np.int64)
    return _canonical_words(np.maximum(lengths, 1))


def huffman_code(p: ArrayLike) -> list[str]:
    r"""Huffman's prefix code: no code of single symbols is shorter on average, :math:`H(p) \le \bar\ell < H(p) + 1`.

    The two least likely subtrees are joined until one is left.

    >>> huffman_code([0.5, 0.25, 0.25])
    ['0', '10', '11']
    """
    probability = as_distribution("huffman_code", "p", p)
    if probability.ndim != 1:
        raise ValueError(f"huffman_code: p must be one distribution; got shape {probability.shape}.")
    n = len(probability)
    if n == 1:
        return ["0"]
    parent = np.zeros(2 * n - 1, dtype=np.int64)
    heap = [(float(weight), node) for node, weight in enumerate(probability)]
    heapq.heapify(heap)
    for joined in range(n, 2 * n - 1):
        (light, first), (heavy, second) = heapq.heappop(heap), heapq.heappop(heap)
        parent[[first, second]] = joined
        heapq.heappush(heap, (light + heavy, joined))
    depth = np.zeros(2 * n - 1, dtype=np.int64)
    for node in range(2 * n - 3, -1, -1):  # parents are numbered after their children; the root is the last
        depth[node] = depth[parent[node]] + 1
    return _canonical_words(depth[:n])


def mean_code_length(p: ArrayLike, code: list[str]) -> float:
    r"""Expected bits per symbol :math:`\sum_x p(x) \ell(x)` when data follow :math:`p`.

    Parameters
    ----------
    p : array-like of shape (k,)
        Probabilities of the symbols.
    code : list of str
        A code word of 0 and 1 per symbol.
    """
    probability = as_distribution("mean_code_length", "p", p)
    if probability.shape != (len(code),):
        raise ValueError(f"mean_code_length: p must have one entry per word; got {probability.shape} and {len(code)}.")
    return float(probability @ np.array([len(word) for word in code]))


def encode(symbols: ArrayLike, code: list[str]) -> str:
    """The words of ``symbols`` in a row.

    Parameters
    ----------
    symbols : array-like of int
        Numbers of the symbols.
    code : list of str
        A code word of 0 and 1 per symbol.

    Examples
    --------
    >>> encode([0, 2, 1], ["0", "10", "11"])
    '01110'
    """
    return "".join(code[symbol] for symbol in np.asarray(symbols).tolist())


def decode(bits: str, code: list[str]) -> list[int]:
    """Read ``bits`` back into symbols; a prefix code needs no separators.

    >>> decode("01110", ["0", "10", "11"])
    [0, 2, 1]
    """
    meaning = {word: symbol for symbol, word in enumerate(code)}
    symbols, word = [], ""
    for bit in bits:
        word += bit
        if word in meaning:
            symbols.append(meaning[word])
            word = ""
    if word:
        raise ValueError(f"decode: bits end inside a word; {word!r} is no word of the code.")
    return symbols


def kraft_sum(code: list[str]) -> float:
    r""":math:`\sum_x 2^{-\ell(x)}`, at most 1 for every prefix code (Kraft's inequality)."""
    return math.fsum(2.0 ** -len(word) for word in code)


def _canonical_words(lengths: NDArray[np.int64]) -> list[str]:
    """Prefix-free words of the given lengths: in order of length, each the successor of the last."""
    words = [""] * len(lengths)
    code, length = 0, 0
    for symbol in np.argsort(lengths, kind="stable").tolist():
        code <<= int(lengths[symbol]) - length
        length = int(lengths[symbol])
        words[symbol] = format(code, f"0{length}b")
        code += 1
    return words
