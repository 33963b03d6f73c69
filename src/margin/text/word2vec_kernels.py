"""The loops of word2vec compiled by Numba: one pass over the corpus with a step per pair of words.

Random numbers come from a 64-bit xorshift in ``state``, so the same seed gives the same pass. Everything runs in one
thread: steps follow each other, and threads would race.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["alias_table", "draw", "output_step", "train_pass"]

INNER = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}


@njit(cache=True, **INNER)
def uniform(state):
    """A number in [0, 1)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * 2.0**-53


@njit(cache=True, **INNER)
def output_step(hidden, outputs, rows, labels, n, rate, gradient):
    """One logistic step on ``outputs[rows[:n]]`` for ``labels``; adds the gradient of the loss by ``hidden``.

    Returns the loss before the step.
    """
    loss, product = 0.0, 1.0
    for k in range(n):
        row = rows[k]
        score = np.float32(0.0)
        for j in range(len(hidden)):
            score += hidden[j] * outputs[row, j]
        signed = score if labels[k] == 1 else -score
        small = np.exp(-abs(score))
        product *= 1.0 + small  # one logarithm for all: the product of up to 2^n stays finite
        loss += float(max(-signed, np.float32(0.0)))
        probability = (np.float32(1.0) if score >= 0 else small) / (np.float32(1.0) + small)
        error = np.float32(probability - labels[k])
        step = np.float32(rate) * error
        for j in range(len(hidden)):
            gradient[j] += error * outputs[row, j]
            outputs[row, j] -= step * hidden[j]
    return loss + np.log(product)


@njit(cache=True, **INNER)
def draw(chance, other, state):
    """A number from a distribution by its alias table: two looks, however many numbers there are."""
    place = uniform(state) * len(chance)
    i = int(place)
    return i if place - i < chance[i] else other[i]


@njit(cache=True, **INNER)
def alias_table(weights, chance, other):
    """Vose's tables: number i stands for itself with probability ``chance[i]``, else for ``other[i]``."""
    n = len(weights)
    scale = n / weights.sum()
    below, above = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_below = n_above = 0
    for i in range(n):
        chance[i], other[i] = weights[i] * scale, i
        if chance[i] < 1.0:
            below[n_below] = i
            n_below += 1
        else:
            above[n_above] = i
            n_above += 1
    while n_below > 0 and n_above > 0:
        n_below -= 1
        low, high = below[n_below], above[n_above - 1]
        other[low] = high
        chance[high] -= 1.0 - chance[low]
        if chance[high] < 1.0:
            n_above -= 1
            below[n_below] = high
            n_below += 1
    for k in range(n_below):
        chance[below[k]] = 1.0  # what rounding has left over


@njit(cache=True, **INNER)
def choose_targets(word, chance, other, nodes, turns, lengths, negative, state, rows, labels):
    """Which outputs a word is learned by: the path to it in the tree (no negatives), or itself and drawn words."""
    if negative == 0:
        for k in range(lengths[word]):
            rows[k] = nodes[word, k]
            labels[k] = 1 - turns[word, k]
        return lengths[word]
    rows[0], labels[0] = word, 1
    n = 1
    for _ in range(negative):
        drawn = draw(chance, other, state)
        if drawn != word:  # as in the original program, a word is not its own negative
            rows[n], labels[n] = drawn, 0
            n += 1
    return n


@njit(cache=True, **INNER)
def train_pass(
    tokens,
    ends,
    keep,
    vectors,
    outputs,
    chance,
    other,
    nodes,
    turns,
    lengths,
    window,
    negative,
    cbow,
    first_rate,
    last_rate,
    seed,
):
    """One pass over all sentences; returns the sum of the losses and the number of steps.

    ``tokens`` holds all sentences, ``ends`` where each ends. A word is kept with probability ``keep[word]``; the
    window shrinks by chance to 1 .. ``window``; the rate falls linearly over the pass.
    """
    state = np.array([seed], dtype=np.uint64)
    rows = np.empty(max(negative + 1, nodes.shape[1]), dtype=np.int64)
    labels = np.empty(len(rows), dtype=np.int64)
    hidden = np.empty(vectors.shape[1], dtype=np.float32)
    gradient = np.empty(vectors.shape[1], dtype=np.float32)
    sentence = np.empty(len(tokens), dtype=np.int64)
    loss, steps, start = 0.0, 0, 0
    for end in ends:
        n = 0
        for i in range(start, end):
            if uniform(state) < keep[tokens[i]]:
                sentence[n] = tokens[i]
                n += 1
        rate = first_rate + (last_rate - first_rate) * start / len(tokens)
        start = end
        for i in range(n):
            reach = 1 + int(uniform(state) * window)
            low, high = max(0, i - reach), min(n, i + reach + 1)
            if high - low < 2:
                continue
            if cbow:
                hidden[:] = 0.0
                gradient[:] = 0.0
                weight = np.float32(1.0 / (high - low - 1))
                for j in range(low, high):
                    if j != i:
                        for d in range(len(hidden)):
                            hidden[d] += weight * vectors[sentence[j], d]
                count = choose_targets(sentence[i], chance, other, nodes, turns, lengths, negative, state, rows, labels)
                loss += output_step(hidden, outputs, rows, labels, count, rate, gradient)
                steps += 1
                for j in range(low, high):
                    if j != i:
                        for d in range(len(hidden)):
                            vectors[sentence[j], d] -= np.float32(rate) * weight * gradient[d]
                continue
            for j in range(low, high):
                if j == i:
                    continue
                center = vectors[sentence[i]]
                gradient[:] = 0.0
                count = choose_targets(sentence[j], chance, other, nodes, turns, lengths, negative, state, rows, labels)
                loss += output_step(center, outputs, rows, labels, count, rate, gradient)
                steps += 1
                for d in range(len(center)):
                    center[d] -= np.float32(rate) * gradient[d]
    return loss, steps
