r"""word2vec: vectors from which the words nearby can be predicted.

Skip-gram with negative sampling makes the vector v of a word and the output vectors u of its neighbors alike, and
unlike those of drawn words, :math:`-\log\sigma(u_o^\top v_c) - \sum_i \log\sigma(-u_{n_i}^\top v_c)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from margin.core.domains import Choice, Integer, Number, Seed
from margin.core.invariants import ArrayOf, Real, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.core.restoring import restore
from margin.text.sentences import encode, sentences_of
from margin.text.word_model import WordVectorModel
from margin.text.word_vectors import huffman

__all__ = ["Word2Vec"]

LAST_RATE = 1e-4  # where the step size ends, the value of the original program
NOISE_POWER = 0.75  # negatives are drawn by count ** 0.75, the value of the paper


class Word2Vec(WordVectorModel):
    """Word vectors by skip-gram or CBOW, with negative sampling or hierarchical softmax.

    A text is a string, cut at white space, or a list of words. Common words are left out by chance: one of relative
    frequency f stays with probability :math:`\\sqrt{s/f} + s/f`, s being ``sample``. Records carry ``loss`` per step.

    Examples
    --------
    >>> texts = ["red wine cheese", "red wine bread", "blue sea sand", "blue sea wave"] * 50
    >>> model = Word2Vec(8, window=2, min_count=1, sample=0, max_iter=20, random_state=0).fit(texts)
    >>> model.most_similar("bread", 1)[0][0]
    'cheese'
    """

    vector_size: int = parameter(100, Integer(low=1, search=(20, 300), log=True), "Length of the vectors.")
    _: KW_ONLY
    mode: str = parameter(
        "skipgram",
        Choice("skipgram", "cbow"),
        "Whether a word predicts its neighbors (skipgram), or the mean of their vectors the word (cbow).",
    )
    objective: str = parameter(
        "negative-sampling",
        Choice("negative-sampling", "hierarchical-softmax"),
        "Negative sampling (a word against drawn ones) or a hierarchical softmax (the path to it in a Huffman tree).",
    )
    window: int = parameter(5, Integer(low=1, search=(2, 10)), "Most words between a word and its neighbor, plus one.")
    negative: int = parameter(5, Integer(low=1, search=(2, 20)), "Drawn words per pair in negative sampling.")
    sample: float = parameter(1e-3, Number(low=0), "Frequency from which on words are left out by chance; 0: none is.")
    min_count: int = parameter(5, Integer(low=1), "Words that occur less often are left out.")
    max_iter: int = parameter(5, Integer(low=1), "Passes over the texts.")
    learning_rate_init: float = parameter(
        0.025, Number(above=0, search=(0.005, 0.2), log=True), "First step size; it falls linearly."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws first vectors, left-out words, windows and negatives.")

    outputs_: np.ndarray = attribute(
        sometimes(ArrayOf("n_outputs", "vector_size")),
        "Output vectors: one row per word, or per inner node of the tree; vectors of a file have none.",
    )
    loss_: float = attribute(sometimes(Real()), "Mean loss per step of the last pass.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from texts, yielding a record per pass; ``y`` is ignored."""
        self._check_parameters()
        sentences = sentences_of("Word2Vec", X)
        self._learn_vocabulary(sentences, self.min_count)
        self._loop = loop = _Passes(self, sentences)
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while loop.iteration < self.max_iter:
            loop.advance()
            self._refuse_diverged(loop.vectors, loop.iteration)
            self._learn(loop)
            yield Record(loop.iteration, {"loss": loop.loss}, total=self.max_iter)

    def _learn(self, loop: _Passes) -> None:
        self.vectors_, self.outputs_ = loop.vectors.copy(), loop.outputs.copy()
        self.loss_, self.n_iter_ = loop.loss, loop.iteration


class _Passes:
    """The passes over one corpus."""

    def __init__(self, model: Word2Vec, sentences: list[list[str]]) -> None:
        from margin.compiled.text import alias_table

        self.model = model
        self.tokens, self.ends = encode(sentences, model._position())
        self.rng = as_generator(model.random_state)
        n, d = len(model.vocabulary_), model.vector_size
        self.vectors = ((self.rng.random((n, d)) - 0.5) / d).astype(np.float32)
        tree = huffman(model.counts_)
        self.by_tree = model.objective == "hierarchical-softmax"
        self.tree = tree.nodes, tree.turns, tree.lengths
        self.outputs = np.zeros((n - 1 if self.by_tree else n, d), dtype=np.float32)
        self.noise = np.empty(n), np.empty(n, dtype=np.int64)
        alias_table(model.counts_**NOISE_POWER, *self.noise, np.empty((2, n), dtype=np.int64))
        self.keep = keep_probability(model.counts_, model.sample)
        self.iteration, self.loss = 0, float("nan")

    def advance(self) -> None:
        from margin.compiled.text import Corpus, Targets, train_pass

        model, first = self.model, self.model.learning_rate_init
        last = min(LAST_RATE, first)
        rates = [first + (last - first) * (self.iteration + i) / model.max_iter for i in (0, 1)]
        state = np.array([self.rng.integers(1, 2**63)], dtype=np.uint64)
        negative = 0 if self.by_tree else model.negative
        longest = int(np.diff(self.ends, prepend=0).max(initial=0))
        corpus = Corpus(self.tokens, self.ends, self.keep, np.empty(longest, dtype=np.int64))
        rows, labels = np.empty((2, max(negative + 1, self.tree[0].shape[1])), dtype=np.int64)
        targets = Targets(negative, *self.noise, *self.tree, rows, labels)
        hidden, gradient = np.empty((2, 1, model.vector_size), dtype=np.float32)
        given = corpus, targets, self.vectors, self.outputs, model.window, model.mode == "cbow", *rates, state
        loss, steps = train_pass(*given, hidden, gradient)
        self.iteration, self.loss = self.iteration + 1, loss / max(steps, 1)

    def state(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "loss": self.loss,
            "vectors": self.vectors.copy(),
            "outputs": self.outputs.copy(),
            "generator": generator_state(self.rng),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.loss = int(state["iteration"]), float(state["loss"])
        self.vectors, self.outputs = restore(state, "vectors", self.vectors), restore(state, "outputs", self.outputs)
        self.rng = generator_from_state(state["generator"])


def keep_probability(counts: np.ndarray, sample: float) -> np.ndarray:
    r"""With which probability a word of relative frequency f stays: :math:`\sqrt{s/f} + s/f`, at most 1; s = 0: all.

    >>> keep_probability(np.array([90, 10]), 0.1).round(3).tolist()
    [0.444, 1.0]
    """
    if sample == 0:
        return np.ones(len(counts))
    ratio = sample * counts.sum() / counts
    return np.minimum(np.sqrt(ratio) + ratio, 1.0)
