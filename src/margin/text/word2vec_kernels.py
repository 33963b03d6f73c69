"""The loops of word2vec: one pass over the corpus with a step per pair of words.

Random numbers come from a 64-bit xorshift in ``state``, so the same seed gives the same pass. Everything runs in one
thread: steps follow each other, and threads would race. Products of vectors are summed in sixteen lanes.
"""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import exp, log
from margin.core.kernel_source import (
    ConstIntegers,
    ConstIntegers32,
    ConstVector,
    IntegerMatrix,
    Integers,
    Matrix32,
    Vector,
    inner,
    kernel,
)

__all__ = ["Corpus", "Targets", "alias_table", "draw", "output_step", "train_pass", "uniform"]

LANES_32 = 16
STAR = 2685821657736338717  # the factor of xorshift64*
STATE_BITS = 0xFFFFFFFFFFFFFFFF
State = cython.ulonglong[::1]
Turns = cython.const[cython.schar][:, ::1]
Nodes = cython.const[cython.int][:, ::1]


@kernel
def uniform(state: State) -> cython.double:
    """A number in [0, 1)."""
    x: cython.ulonglong = cython.cast(cython.ulonglong, state[0])
    x ^= x >> 12
    x ^= (x << 25) & STATE_BITS
    x ^= x >> 27
    state[0] = x
    return cython.cast(cython.longlong, ((x * STAR) & STATE_BITS) >> 11) * 2.0**-53


@inner
def _product(A: Matrix32, a: cython.Py_ssize_t, B: Matrix32, b: cython.Py_ssize_t) -> cython.float:
    """The inner product of two rows."""
    lanes = cython.declare(cython.float[LANES_32])
    rest = cython.declare(cython.float[4])
    j: cython.Py_ssize_t = 0
    d = A.shape[1]
    for lane in range(LANES_32):
        lanes[lane] = 0
    for lane in range(4):
        rest[lane] = 0
    while j + LANES_32 <= d:
        for lane in range(LANES_32):
            lanes[lane] += A[a, j + lane] * B[b, j + lane]
        j += LANES_32
    while j + 4 <= d:
        for lane in range(4):
            rest[lane] += A[a, j + lane] * B[b, j + lane]
        j += 4
    for lane in range(8):
        lanes[lane] += lanes[lane + 8]
    for lane in range(4):
        rest[lane] += lanes[lane] + lanes[lane + 4]
    total: cython.float = (rest[0] + rest[2]) + (rest[1] + rest[3])
    while j < d:
        total += A[a, j] * B[b, j]
        j += 1
    return total


@inner
def _step_rows(
    hidden: Matrix32,
    h: cython.Py_ssize_t,
    outputs: Matrix32,
    row: cython.Py_ssize_t,
    error: cython.float,
    step: cython.float,
    gradient: Matrix32,
) -> cython.void:
    for j in range(hidden.shape[1]):
        gradient[0, j] += error * outputs[row, j]
        outputs[row, j] -= step * hidden[h, j]


@kernel
def output_step(
    hidden: Matrix32,
    h: cython.Py_ssize_t,
    outputs: Matrix32,
    rows: ConstIntegers,
    labels: ConstIntegers,
    n: cython.Py_ssize_t,
    rate: cython.float,
    gradient: Matrix32,
) -> cython.double:
    """One logistic step on ``outputs[rows[:n]]`` for ``labels``; adds the gradient of the loss by ``hidden[h]``.

    Returns the loss before the step. ``gradient`` is (1, d).
    """
    loss: cython.double = 0.0
    product: cython.double = 1.0
    one: cython.float = 1
    score: cython.float
    small: cython.float
    error: cython.float
    for k in range(n):
        score = _product(hidden, h, outputs, rows[k])
        small = exp(cython.cast(cython.double, -abs(score)))
        product *= 1.0 + small  # one logarithm for all: the product of up to 2^n stays finite
        error = (one if score >= 0 else small) / (one + small)
        if labels[k] == 1:
            error -= one
            loss += -score if score < 0 else 0.0
        else:
            loss += score if score > 0 else 0.0
        _step_rows(hidden, h, outputs, rows[k], error, rate * error, gradient)
    return loss + log(product)


@kernel
def draw(chance: ConstVector, other: ConstIntegers, state: State) -> cython.longlong:
    """A number from a distribution by its alias table: two looks, however many numbers there are."""
    place = uniform(state) * chance.shape[0]
    i = cython.cast(cython.longlong, place)
    return i if place - i < chance[i] else other[i]


@kernel
def alias_table(weights: ConstVector, chance: Vector, other: Integers, waiting: IntegerMatrix) -> cython.void:
    """Vose's tables: number i stands for itself with probability ``chance[i]``, else for ``other[i]``.

    ``waiting`` (2, n) is scratch for the numbers whose share is below and above the mean.
    """
    total: cython.double = 0.0
    n_below: cython.Py_ssize_t = 0
    n_above: cython.Py_ssize_t = 0
    n = weights.shape[0]
    for i in range(n):
        total += weights[i]
    scale = n / total
    for i in range(n):
        chance[i] = weights[i] * scale
        other[i] = i
        if chance[i] < 1.0:
            waiting[0, n_below] = i
            n_below += 1
        else:
            waiting[1, n_above] = i
            n_above += 1
    while n_below > 0 and n_above > 0:
        n_below -= 1
        low = waiting[0, n_below]
        high = waiting[1, n_above - 1]
        other[low] = high
        chance[high] -= 1.0 - chance[low]
        if chance[high] < 1.0:
            n_above -= 1
            waiting[0, n_below] = high
            n_below += 1
    for k in range(n_below):
        chance[waiting[0, k]] = 1.0  # what rounding has left over


@cython.cclass
class Corpus:
    """All sentences in ``tokens``, where each ends, the probability with which a word is kept, and memory for the words
    of one sentence that are."""

    tokens: ConstIntegers32
    ends: ConstIntegers
    keep: ConstVector
    sentence: Integers  # as long as the longest

    def __init__(self, tokens: ConstIntegers32, ends: ConstIntegers, keep: ConstVector, sentence: Integers):
        self.tokens = tokens
        self.ends = ends
        self.keep = keep
        self.sentence = sentence


@cython.cclass
class Targets:
    """By which outputs a word is learned: ``negative`` drawn words, or with none the path to it in a tree."""

    negative: cython.Py_ssize_t
    chance: ConstVector
    other: ConstIntegers
    nodes: Nodes
    turns: Turns
    lengths: ConstIntegers32
    rows: Integers  # memory for the outputs of one word, negative + 1 or as many as a row of nodes has
    labels: Integers

    def __init__(
        self,
        negative: cython.Py_ssize_t,
        chance: ConstVector,
        other: ConstIntegers,
        nodes: Nodes,
        turns: Turns,
        lengths: ConstIntegers32,
        rows: Integers,
        labels: Integers,
    ):
        self.negative = negative
        self.chance = chance
        self.other = other
        self.nodes = nodes
        self.turns = turns
        self.lengths = lengths
        self.rows = rows
        self.labels = labels


@inner
def _choose(word: cython.longlong, targets: Targets, state: State) -> cython.Py_ssize_t:
    """Which outputs a word is learned by: the path to it in the tree (no negatives), or itself and drawn words."""
    n: cython.Py_ssize_t = 1
    if targets.negative == 0:
        for k in range(targets.lengths[word]):
            targets.rows[k] = targets.nodes[word, k]
            targets.labels[k] = 1 - targets.turns[word, k]
        return targets.lengths[word]
    targets.rows[0] = word
    targets.labels[0] = 1
    for _ in range(targets.negative):
        drawn = draw(targets.chance, targets.other, state)
        if drawn != word:  # as in the original program, a word is not its own negative
            targets.rows[n] = drawn
            targets.labels[n] = 0
            n += 1
    return n


@inner
def _kept(corpus: Corpus, start: cython.Py_ssize_t, end: cython.Py_ssize_t, state: State) -> cython.Py_ssize_t:
    """How many words of a sentence are kept; they stand in ``corpus.sentence``."""
    n: cython.Py_ssize_t = 0
    for i in range(start, end):
        if uniform(state) < corpus.keep[corpus.tokens[i]]:
            corpus.sentence[n] = corpus.tokens[i]
            n += 1
    return n


@inner
def _add_row(factor: cython.float, A: Matrix32, a: cython.Py_ssize_t, B: Matrix32, b: cython.Py_ssize_t) -> cython.void:
    """``B[b] += factor * A[a]``."""
    for j in range(A.shape[1]):
        B[b, j] += factor * A[a, j]


@inner
def _learn_word(
    i: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    sentence: Integers,
    vectors: Matrix32,
    outputs: Matrix32,
    targets: Targets,
    rate: cython.float,
    state: State,
    scratch: Matrix32,
    gradient: Matrix32,
) -> cython.double:
    """CBOW: a step from the mean of the words ``low`` to ``high`` but ``i`` to word ``i``."""
    one: cython.float = 1
    weight: cython.float = one / (high - low - 1)
    for k in range(vectors.shape[1]):
        scratch[0, k] = 0
        gradient[0, k] = 0
    for j in range(low, high):
        if j != i:
            _add_row(weight, vectors, sentence[j], scratch, 0)
    count = _choose(sentence[i], targets, state)
    loss = output_step(scratch, 0, outputs, targets.rows, targets.labels, count, rate, gradient)
    for j in range(low, high):
        if j != i:
            _add_row(-rate * weight, gradient, 0, vectors, sentence[j])
    return loss


@inner
def _learn_neighbor(
    center: cython.longlong,
    neighbor: cython.longlong,
    vectors: Matrix32,
    outputs: Matrix32,
    targets: Targets,
    rate: cython.float,
    state: State,
    gradient: Matrix32,
) -> cython.double:
    """Skip-gram: a step from a word to one of its neighbors."""
    for k in range(vectors.shape[1]):
        gradient[0, k] = 0
    count = _choose(neighbor, targets, state)
    loss = output_step(vectors, center, outputs, targets.rows, targets.labels, count, rate, gradient)
    _add_row(-rate, gradient, 0, vectors, center)
    return loss


@kernel
def train_pass(
    corpus: Corpus,
    targets: Targets,
    vectors: Matrix32,
    outputs: Matrix32,
    window: cython.Py_ssize_t,
    cbow: cython.bint,
    first_rate: cython.double,
    last_rate: cython.double,
    state: State,
    hidden: Matrix32,
    gradient: Matrix32,
) -> tuple[cython.double, cython.Py_ssize_t]:
    """One pass over all sentences; returns the sum of the losses and the number of steps.

    A word is kept with probability ``corpus.keep[word]``; the window shrinks by chance to 1 .. ``window``; the rate
    falls linearly over the pass. ``hidden`` and ``gradient`` (1, d) are scratch.
    """
    loss: cython.double = 0.0
    steps: cython.Py_ssize_t = 0
    start: cython.Py_ssize_t = 0
    rate: cython.float
    sentence = corpus.sentence
    for s in range(corpus.ends.shape[0]):
        end = corpus.ends[s]
        n = _kept(corpus, start, end, state)
        rate = first_rate + (last_rate - first_rate) * start / corpus.tokens.shape[0]
        start = end
        for i in range(n):
            reach = 1 + cython.cast(cython.Py_ssize_t, uniform(state) * window)
            low = max(0, i - reach)
            high = min(n, i + reach + 1)
            if high - low < 2:
                continue
            if cbow:
                loss += _learn_word(i, low, high, sentence, vectors, outputs, targets, rate, state, hidden, gradient)
                steps += 1
                continue
            for j in range(low, high):
                if j != i:
                    loss += _learn_neighbor(sentence[i], sentence[j], vectors, outputs, targets, rate, state, gradient)
                    steps += 1
    return loss, steps
