r"""The class of a text by a network on its tokens.

.. math:: p(y \mid t_1, \dots, t_N) = \mathrm{softmax}(W\,h(t_1, \dots, t_N) + b)_y

With two classes this is the logistic sigmoid of the difference of both outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn

from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Flag, Integer, Optional
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.neural.estimators.class_scores import log_probabilities
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.parameters import LossOfClasses
from margin.neural.losses.network_loss import ClassLoss
from margin.neural.nets.text import TEXT_ARCHITECTURES, TextNetwork
from margin.neural.training.objectives import accuracy
from margin.neural.training.ragged import RaggedRows, flat_sequences
from margin.text.network_estimator import TextNetworkEstimator, hidden_at_random
from margin.text.terms import TERMS, UNKNOWN, TermCodes
from margin.text.texts import text_rows

__all__ = ["TextClassifier"]


class TextClassifier(ClassifierMixin, LossOfClasses, TextNetworkEstimator):
    """Network for the class of a text: bag of words, convolutions, a recurrent network or a transformer.

    ``X`` is a sequence of strings. The vocabulary is learned from them and stored with the model; a token that fit has
    not seen is read as "unknown", whose vector is learned from tokens that ``token_dropout`` hides.

    Examples
    --------
    >>> reviews = ["a warm and funny film", "a film far too long", "funny, warm, wonderful", "long and dull"] * 10
    >>> labels = ["good", "bad", "good", "bad"] * 10
    >>> model = TextClassifier("bag-of-words", d_model=8, max_iter=10, random_state=0).fit(reviews, labels)
    >>> model.predict(["what a wonderful film", "dull!"]).tolist()
    ['good', 'bad']
    >>> model.influential_tokens("a wonderful story", n=1)[0][0]
    'wonderful'
    """

    architecture: str = parameter(
        "bag-of-words", Choice(*TEXT_ARCHITECTURES), "What makes one vector of the vectors of all tokens."
    )
    _: KW_ONLY
    tokens: str = parameter("word", Choice(*TERMS), "What a token is: a word or mark, a character, or a byte pair.")
    lowercase: bool = parameter(True, Flag(), "Whether upper and lower case are the same.")
    longest_run: int = parameter(
        2, Integer(low=1, search=(1, 3)), "Runs of up to so many neighboring tokens are tokens too in 'bag-of-words'."
    )
    min_count: int = parameter(1, Integer(low=1), "Tokens that occur less often in fit are unknown.")
    vocab_size: int | None = parameter(30_000, Optional(Integer(low=1)), "Most tokens, the commonest; None: all.")
    bpe_size: int = parameter(4000, Integer(low=256), "Vocabulary of the byte pairs, where tokens are such.")
    max_length: int | None = parameter(
        None, Optional(Integer(low=1)), "Texts are cut after so many tokens; None: they are read to their end."
    )

    classes_: np.ndarray = attribute("The classes.")
    vocabulary_: list[str] = attribute("The tokens, and their runs, the commonest first.")
    reading_: dict[str, Any] = attribute("How texts are cut into tokens; byte pairs as a tokenizer.json.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from strings ``X`` and classes ``y``; a text of weight w counts like w texts."""
        return self._consume(self.iterate(X, y, sample_weight), X, y)

    def iterate(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        owner = type(self).__name__
        texts: Any = np.array(text_rows(owner, X), dtype=object)
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        check_classes(y)
        check_consistent_length(texts, y)
        texts, y, weight = weighted_rows(self, texts, y, sample_weight)
        classes, labels = encode_classes(y)
        going_on = self._goes_on()
        if going_on and not np.array_equal(classes, self.classes_):
            raise ValueError(f"{owner}: warm_start must go on with classes {self.classes_}; got {classes}.")
        seed = self._seed(state)
        train, valid = self._split(len(texts), seed, labels)
        codes = self._codes() if going_on else self._learned_codes(texts[train])
        self.__dict__.pop("_term_codes", None)
        sequences = self._encoded(texts, codes)
        self._describe({"n_tokens": codes.size, "n_outputs": len(classes), "architecture": self.architecture})
        self.classes_, self.vocabulary_, self.reading_ = classes, codes.vocabulary, codes.reading()
        tokens, starts = flat_sequences(sequences)
        rows = RaggedRows.of([tokens], starts, labels, weight=weight)
        yield from self._train(
            partial(self._objective, self._class_loss()), rows, train, valid, seed=seed, state=state, score=accuracy
        )

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of every class."""
        return log_probabilities(self._outputs(self._sequences(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every text."""
        best = self._outputs(self._sequences(X)).argmax(axis=1)
        return self.classes_[best]

    def influential_tokens(self, text: str, n: int = 5) -> list[tuple[str, float]]:
        """The ``n`` tokens with most influence on the predicted class, and how much its log-probability owes to each.

        That is what it loses when the token is read as unknown; a negative number is evidence against the class.
        """
        owner = type(self).__name__
        codes = self._codes()
        (text,) = text_rows(owner, [text])
        self._encoded([text], codes)
        tokens = codes.tokens(text)
        hidden = [[*tokens[:i], "", *tokens[i + 1 :]] for i in range(len(tokens))]
        outputs = self._outputs([codes.encode_tokens(some) for some in [tokens, *hidden]])
        log_p = log_probabilities(outputs)
        owed = log_p[0, log_p[0].argmax()] - log_p[1:, log_p[0].argmax()]
        order = np.argsort(-owed, kind="stable")[:n]
        return [(tokens[i], float(owed[i])) for i in order]

    def _network(self) -> nn.Module:
        return TextNetwork(**self.network_)

    def _objective(
        self, loss: ClassLoss, module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator
    ) -> dict[str, Tensor]:
        ids, y = batch
        if module.training:
            ids = hidden_at_random(ids, self.token_dropout, noise)
        return {"loss": loss(module(ids), y, module.training)}

    def _learned_codes(self, texts: Sequence[str]) -> TermCodes:
        return TermCodes.learn(
            texts,
            self.tokens,
            lowercase=self.lowercase,
            longest_run=self.longest_run if self.architecture == "bag-of-words" else 1,
            min_count=self.min_count,
            vocab_size=self.vocab_size,
            bpe_size=self.bpe_size,
            max_length=self.max_length,
        )

    def _complete(self) -> None:
        super()._complete()
        if hasattr(self, "vocabulary_"):
            self._codes()

    def _codes(self) -> TermCodes:
        check_is_fitted(self)
        if "_term_codes" not in self.__dict__:
            self._term_codes = TermCodes(self.vocabulary_, **self.reading_)
        return self._term_codes

    def _sequences(self, X: Any) -> list[list[int]]:
        owner, codes = type(self).__name__, self._codes()
        sequences = self._encoded(text_rows(owner, X), codes)
        unknown = [i for i, ids in enumerate(sequences) if all(token == UNKNOWN for token in ids)]
        if unknown:
            warn_user(
                f"{owner}: {len(unknown)} of {len(sequences)} texts have no token that fit has seen, the first is text "
                f"{unknown[0]}; what is said of them is what is said of unknown tokens."
            )
        return sequences

    def _encoded(self, texts: Sequence[str], codes: TermCodes) -> list[list[int]]:
        sequences = [codes.encode(text) for text in texts]
        for i, ids in enumerate(sequences):
            if not ids:
                raise ValueError(f"{type(self).__name__}: X must have tokens in every text; text {i} is {texts[i]!r}.")
        return sequences

    def _outputs(self, sequences: list[list[int]]) -> np.ndarray:
        """What the last layer gives; texts of like length are read together."""
        module = self._ready_module()
        order = np.argsort([len(ids) for ids in sequences], kind="stable")
        tokens, starts = flat_sequences([sequences[i] for i in order])
        rows = RaggedRows.of([tokens], starts)
        with torch.inference_mode(), torch_threads(available()):
            by_length = torch.cat([module(part.tensors[0]) for part in rows.chunks(len(rows))]).double().numpy()
        outputs = np.empty_like(by_length)
        outputs[order] = by_length
        return outputs
