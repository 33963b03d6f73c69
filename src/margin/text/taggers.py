r"""Taggers of words: a hidden Markov model and a linear-chain conditional random field."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from margin.core.domains import Integer, Number
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, ListOf, Real, StringOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.text.chain import TagChain, sum_chain
from margin.text.stored import unknown_words_have_a_column
from margin.text.tagging import ChainTagger
from margin.text.text_input import TextInput

__all__ = ["CRFTagger", "HMMTagger", "shape_of", "token_features"]


def shape_of(word: str) -> str:
    """A word's outline, for words that training has not seen: kind of its first character, and its ending.

    >>> shape_of("Rivendell"), shape_of("2026"), shape_of("baking")
    ('A:ll', '0:', 'a:ng')
    """
    if any(character.isdigit() for character in word):
        return "0:"
    return f"{'A' if word[:1].isupper() else 'a' if word[:1].isalpha() else '.'}:{word[-2:].lower()}"


def token_features(words: Sequence[str], i: int) -> list[str]:
    """What a conditional random field sees of token ``i``: the word, its parts and outline, and its neighbors.

    >>> token_features(["In", "Rome"], 1)[:3]
    ['bias', 'word=rome', 'shape=A:me']
    """
    before = _parts(words[i - 1])[1] if i else "before=<start>"
    after = _parts(words[i + 1])[2] if i + 1 < len(words) else "after=<end>"
    return [*_parts(words[i])[0], before, after]


@lru_cache(maxsize=2**16)
def _parts(word: str) -> tuple[tuple[str, ...], str, str]:
    """What is seen of a word itself, from the word after it, and from the word before it."""
    low = word.lower()
    own = ("bias", f"word={low}", f"shape={shape_of(word)}", f"start3={word[:3]}", f"end3={word[-3:]}")
    return own, f"before={low}", f"after={low}"


class _Tagger(ChainTagger, TextInput, Estimator):
    """A tagger whose chain is three arrays."""

    first_: np.ndarray = attribute(ArrayOf("n_tags", kind="float64"), "Score of each tag at the start of a sentence.")
    between_: np.ndarray = attribute(
        ArrayOf("n_tags", "n_tags", kind="float64"), "Score of each tag (column) after each tag (row)."
    )
    last_: np.ndarray = attribute(ArrayOf("n_tags", kind="float64"), "Score of each tag at the end of a sentence.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Learn from sentences (strings or lists of words) and their tags (strings or lists of tags)."""

    def _chain(self) -> TagChain:
        return TagChain(self.first_, self.between_, self.last_)


def _chain_counts(codes: list[np.ndarray], n_tags: int) -> TagChain:
    """How often tags begin, follow each other, and end."""
    counts = TagChain(np.zeros(n_tags), np.zeros((n_tags, n_tags)), np.zeros(n_tags))
    for tags in codes:
        if len(tags):
            counts.first[tags[0]] += 1
            np.add.at(counts.between, (tags[:-1], tags[1:]), 1)
            counts.last[tags[-1]] += 1
    return counts


class HMMTagger(_Tagger):
    r"""Hidden Markov model fitted to tagged sentences by counting.

    .. math:: p(x, y) = p(y_1) \prod_{t>1} p(y_t \mid y_{t-1}) \prod_t p(x_t \mid y_t)\; p(\text{end} \mid y_T)

    Probabilities are counts plus ``alpha``, normalized. Words that occur once are also counted by their outline
    (:func:`shape_of`), which stands for words that training has not seen.

    Examples
    --------
    >>> X, y = ["the cat sleeps", "a dog sees the cat"], ["D N V", "D N V D N"]
    >>> HMMTagger().fit(X, y).predict(["the dog sleeps"])
    [['D', 'N', 'V']]
    """

    alpha: float = parameter(0.1, Number(above=0, search=(1e-3, 10), log=True), "Added to every count.")
    _: KW_ONLY

    words_: list[str] = attribute(ListOf(StringOf(), size="n_words"), "Words and outlines that were seen.")
    emissions_: np.ndarray = attribute(
        ArrayOf("n_tags", "n_words"), "Log-probability of each word or outline (column) given each tag (row)."
    )
    _stored_rules = (unknown_words_have_a_column,)

    def fit(self, X: Any, y: Any) -> HMMTagger:
        """Count in sentences (strings or lists of words) and their tags (strings or lists of tags)."""
        self._check_parameters()
        sentences, codes, self.tags_ = self._checked_pairs(X, y)
        n_tags = len(self.tags_)
        counts = _chain_counts(codes, n_tags)
        self.first_ = np.log((counts.first + self.alpha) / (counts.first + self.alpha).sum())
        onward = np.column_stack([counts.between, counts.last]) + self.alpha  # a tag is followed by a tag or by the end
        onward = np.log(onward / onward.sum(axis=1, keepdims=True))
        self.between_, self.last_ = onward[:, :-1], onward[:, -1]
        frequency = Counter(word for sentence in sentences for word in sentence)
        outlines = {shape_of(word) for word, count in frequency.items() if count == 1}
        # An outline is kept apart from a word of the same spelling by a character that no word has.
        self.words_ = sorted(frequency) + sorted(f"\n{outline}" for outline in outlines) + ["\n"]
        position = {word: i for i, word in enumerate(self.words_)}
        seen = np.full((n_tags, len(self.words_)), self.alpha)
        for sentence, tags in zip(sentences, codes):
            for word, tag in zip(sentence, tags):
                seen[tag, position[word]] += 1
                if frequency[word] == 1:
                    seen[tag, position[f"\n{shape_of(word)}"]] += 1
        self.emissions_ = np.log(seen / seen.sum(axis=1, keepdims=True))
        return self

    def _scores(self, sentences: list[list[str]]) -> np.ndarray:
        position = {word: i for i, word in enumerate(self.words_)}
        unknown = position["\n"]
        columns = [
            position.get(word, position.get(f"\n{shape_of(word)}", unknown)) for words in sentences for word in words
        ]
        return self.emissions_.T[columns].reshape(-1, len(self.tags_))


class CRFTagger(_Tagger):
    r"""Linear-chain conditional random field: the score of a tag is a sum of weights of the token's features.

    .. math:: \min_w\; -\sum \log p(y \mid x) + \frac{\alpha}{2}\|w\|^2

    Features are those of :func:`token_features`. The gradient is expected minus observed counts, by forward-backward;
    the problem is convex and solved by L-BFGS.

    Examples
    --------
    >>> X, y = ["Ann saw Rome", "Bob left Paris"], ["B-PER O B-LOC", "B-PER O B-LOC"]
    >>> CRFTagger().fit(X, y).predict(["Eve saw Berlin"])
    [['B-PER', 'O', 'B-LOC']]
    """

    alpha: float = parameter(0.1, Number(low=0, search=(1e-3, 10), log=True), "Strength of the L2 penalty.")
    _: KW_ONLY
    min_count: int = parameter(1, Integer(low=1), "Features that occur less often are left out.")
    max_iter: int = parameter(200, Integer(low=1), "Most iterations of L-BFGS.")
    tol: float = parameter(1e-5, Number(low=0), "The solver stops when no entry of the gradient is larger.")

    features_: list[str] = attribute(
        ListOf(StringOf(), size="n_token_features"), "The features, in alphabetical order."
    )
    weights_: np.ndarray = attribute(
        ArrayOf("n_token_features", "n_tags"), "Weight of each feature (row) for each tag (column)."
    )
    loss_: float = attribute(Real(), "The objective at the solution.")
    n_iter_: int = attribute(Count(), "Iterations of L-BFGS.")

    def fit(self, X: Any, y: Any) -> CRFTagger:
        """Learn from sentences (strings or lists of words) and their tags (strings or lists of tags)."""
        self._check_parameters()
        sentences, codes, self.tags_ = self._checked_pairs(X, y)
        seen = _features_of(sentences)
        counts = Counter(itertools.chain.from_iterable(seen))
        self.features_ = sorted(feature for feature, count in counts.items() if count >= self.min_count)
        problem = _Likelihood(self._columns(seen), codes, len(self.tags_), self.alpha)
        optimum = optimize.minimize(
            problem,
            np.zeros(problem.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxcor": 10},
        )
        self.weights_, chain = problem.unpack(optimum.x)
        self.first_, self.between_, self.last_ = (part.copy() for part in chain)
        self.loss_, self.n_iter_ = float(optimum.fun), int(optimum.nit)
        if optimum.status == 1:  # the limit of iterations or of evaluations
            warn_user(
                f"CRFTagger: L-BFGS has not converged after max_iter={self.max_iter} iterations.", ConvergenceWarning
            )
        return self

    def _design(self, sentences: list[list[str]]) -> sparse.csr_matrix:
        """Which features each token has, (N, features)."""
        return self._columns(_features_of(sentences))

    def _columns(self, seen: list[list[str]]) -> sparse.csr_matrix:
        position = {feature: i for i, feature in enumerate(self.features_)}
        columns: list[int] = []
        ends = [0]
        for features in seen:
            columns += [position[feature] for feature in features if feature in position]
            ends.append(len(columns))
        return sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, len(position)))

    def _scores(self, sentences: list[list[str]]) -> np.ndarray:
        return self._design(sentences) @ self.weights_


def _features_of(sentences: list[list[str]]) -> list[list[str]]:
    """The features of all tokens, sentence after sentence."""
    return [token_features(words, i) for words in sentences for i in range(len(words))]


class _Likelihood:
    """The penalized negative log-likelihood of tagged sentences as a function of all weights, with its gradient."""

    def __init__(self, design: sparse.csr_matrix, codes: list[np.ndarray], n_tags: int, alpha: float) -> None:
        self.design, self.alpha, self.n_tags = design, alpha, n_tags
        self.transposed = design.T.tocsr()
        self.tags = np.concatenate(codes)
        self.ends = np.cumsum([len(tags) for tags in codes])
        self.filled = [tags for tags in codes if len(tags)]
        self.counts = _chain_counts(codes, n_tags)
        observed = np.zeros((len(self.tags), n_tags))
        observed[np.arange(len(self.tags)), self.tags] = 1
        self.observed = observed
        self.starts = np.cumsum([0, *(len(tags) for tags in self.filled)])[:-1]
        self.stops = np.cumsum([len(tags) for tags in self.filled]) - 1

    @property
    def size(self) -> int:
        return (self.design.shape[1] + self.n_tags + 2) * self.n_tags

    def unpack(self, flat: np.ndarray) -> tuple[np.ndarray, TagChain]:
        table = flat.reshape(-1, self.n_tags)
        p = self.design.shape[1]
        return table[:p], TagChain(table[p], table[p + 1 : -1], table[-1])

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights, chain = self.unpack(flat)
        scores = self.design @ weights
        sums = sum_chain(scores, self.ends, chain)
        seen = float((scores * self.observed).sum()) + sum(
            float((part * count).sum()) for part, count in zip(chain, self.counts)
        )
        gradient = np.vstack(
            [
                self.transposed @ (sums.marginals - self.observed),
                sums.marginals[self.starts].sum(axis=0) - self.counts.first,
                sums.pairs - self.counts.between,
                sums.marginals[self.stops].sum(axis=0) - self.counts.last,
            ]
        ).ravel()
        return sums.log_z.sum() - seen + self.alpha / 2 * float(flat @ flat), gradient + self.alpha * flat
