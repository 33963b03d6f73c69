r"""The class of a text by a network on its tokens.

.. math:: p(y \mid t_1, \dots, t_N) = \mathrm{softmax}(W\,h(t_1, \dots, t_N) + b)_y

With two classes this is the logistic sigmoid of the difference of both outputs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn

from margin.core.arguments import refuse_told_twice
from margin.core.domains import Choice, Either, Flag, Integer, Optional
from margin.core.invariants import ArrayOf, ListOf, StringOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.neural.estimators.class_scores import tell_of_nothing_learned
from margin.neural.estimators.class_targets import ClassTargets, checked_labels, coded_labels
from margin.neural.estimators.fine_tuning import FineTuning, PretrainedNetwork
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows
from margin.neural.generators import Seeds
from margin.neural.losses.network_loss import ClassLoss
from margin.neural.nets.encoder_scores import ragged_encoder
from margin.neural.nets.text import TEXT_ARCHITECTURES, TextNetwork
from margin.neural.precision import widen
from margin.neural.training.ragged import RaggedRows, flat_sequences
from margin.text.encoder_folder import FURTHER, FolderCodes, described_encoder, read_encoder, sorted_head, write_encoder
from margin.text.network_estimator import TextNetworkEstimator, hide_at_random, refuse_half_pretrained
from margin.text.stored_networks import CLASSIFIER, READING, text_network_is_stored
from margin.text.terms import TERMS, UNKNOWN, TermCodes, token_rarity
from margin.text.texts import text_rows
from margin.text.word_starts import codes_from_words, is_word_start, write_vectors_

__all__ = ["TextClassifier"]

OWN_ENCODER = {**FURTHER, "learning_rate_init": 1e-3, "max_iter": 20}  # they are smaller than those of folders


class TextClassifier(ClassTargets, JudgedEstimator, FineTuning, TextNetworkEstimator):
    """Network for the class of a text: bag of words, convolutions, a recurrent network or a transformer.

    ``X`` is a sequence of strings; a matrix of zeros and ones as ``y`` means that a text may have several labels. The
    vocabulary is learned from them and stored with the model; a token that fit has
    not seen is read as "unknown", whose vector is learned from tokens that ``token_dropout`` hides.
    :meth:`from_transformers` begins with a pretrained encoder and its tokenizer instead. In a bag of words a token
    counts as much as it is rare in the texts of the fit, as in tf-idf: few words decide about a long text.

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
        "bag-of-words",
        Either(Choice(*TEXT_ARCHITECTURES), Choice("pretrained", search=False)),
        "What makes one vector of the vectors of all tokens; 'pretrained': the encoder of from_transformers, which has "
        "sizes and tokens of its own.",
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

    classes_: np.ndarray = attribute(ArrayOf("n_outputs", kind="labels"), "The classes, or the numbers of the labels.")
    vocabulary_: list[str] = attribute(
        ListOf(StringOf(), size="n_terms"), "The tokens, and their runs, the commonest first."
    )
    reading_: dict[str, Any] = attribute(READING, "How texts are cut into tokens; byte pairs as a tokenizer.json.")
    network_: dict[str, Any] = attribute(CLASSIFIER)
    _stored_rules = (text_network_is_stored,)

    _rarity: np.ndarray | None = attribute(None, "How rare each token is, until the network has it.")

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        owner = type(self).__name__
        texts: Any = np.array(text_rows(owner, X), dtype=object)
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None.")
        y = checked_labels(y)
        check_consistent_length(texts, y)
        texts, y, weight = weighted_rows(self, texts, y, sample_weight)
        classes, labels = coded_labels(y)
        going_on = self._goes_on()
        if going_on and not np.array_equal(classes, self.classes_):
            raise ValueError(f"{owner}: warm_start must go on with classes {self.classes_}; got {classes}.")
        texts, labels, weight = self._class_weighted(texts, labels, classes, weight)
        seed = self._seed(state)
        train, valid = self._split(len(texts), seed, labels if labels.ndim == 1 else None, given=given)
        codes: Any = self._codes() if going_on else self._learned_codes(texts[train])
        self.__dict__.pop("_term_codes", None)
        sequences = self._training_ids(texts, codes)
        self._describe({"n_tokens": codes.size, "n_outputs": len(classes), "architecture": self.architecture})
        self.classes_, self.vocabulary_, self.reading_ = classes, codes.vocabulary, codes.reading()
        self.out_activation_ = "softmax" if labels.ndim == 1 else "logistic"
        tokens, starts = flat_sequences(sequences)
        if self.network_["architecture"] == "bag-of-words" and not going_on:
            self._rarity = token_rarity([sequences[i] for i in train], codes.size)
        labels = labels.astype(np.float32) if self._several else labels
        rows = RaggedRows.of([tokens], starts, labels, weight=weight)
        yield from self._train(
            partial(self._objective, self._class_loss(), codes),
            rows,
            train,
            valid,
            seed=seed,
            state=state,
            score=self._score_of_targets(),
            held=None if given is None else self._own_rows(given, codes),
        )
        if self.loss == "cross_entropy" and not self._several:
            tell_of_nothing_learned(owner, self.loss_curve_, labels[train], weight[train])

    def _own_rows(self, given: OwnRows, codes: TermCodes | FolderCodes) -> RaggedRows:
        """Texts that judge every epoch."""
        texts: Any = np.array(text_rows(type(self).__name__, given.X), dtype=object)
        labels = self._own_codes(given.y)
        check_consistent_length(texts, labels)
        texts, labels, weight = weighted_rows(self, texts, labels, given.weight)
        texts, labels, weight = self._class_weighted(texts, labels, self.classes_, weight)
        tokens, starts = flat_sequences(self._encode_rows(texts, codes))
        return RaggedRows.of([tokens], starts, labels, weight=weight)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probability of every class."""
        return self._log_proba_of(self._outputs(self._sequences(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of every class."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every text; of several labels those more probable than not."""
        return self._labels_of(self._outputs(self._sequences(X)))

    def influential_tokens(self, text: str, n: int = 5) -> list[tuple[str, float]]:
        """The ``n`` tokens with most influence on the predicted class, and how much its log-probability owes to each.

        That is what it loses when the token is read as unknown; a negative number is evidence against the class.
        """
        owner = type(self).__name__
        codes = self._codes()
        (text,) = text_rows(owner, [text])
        tokens = codes.tokens(text)
        if not tokens:
            raise ValueError(f"{owner}: text must have tokens; got {text!r}.")
        hidden = [[*tokens[:i], "", *tokens[i + 1 :]] for i in range(len(tokens))]
        outputs = self._outputs([codes.encode_tokens(some) for some in [tokens, *hidden]])
        log_p = self._log_proba_of(outputs)
        owed = log_p[0, log_p[0].argmax()] - log_p[1:, log_p[0].argmax()]
        order = np.argsort(-owed, kind="stable")[:n]
        return [(tokens[i], float(owed[i])) for i in order]

    def token_ids(self, X: Any) -> np.ndarray:
        """What the network reads of every text, (n, longest), 0 after its end: the input of an exported one."""
        sequences = self._sequences(X)
        ids = np.zeros((len(sequences), max(map(len, sequences))), dtype=np.int64)
        for row, tokens in zip(ids, sequences):
            row[: len(tokens)] = tokens
        return ids

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> Self:
        """A classifier that begins with the BERT, RoBERTa or DistilBERT of a folder that transformers wrote.

        The folder has ``config.json``, ``model.safetensors`` and ``tokenizer.json``; nothing in it is executed. If it
        holds a head with named classes, the classifier is fitted and predicts at once. ``fit`` replaces the head for
        the classes of ``y`` and trains all layers, or those that ``freeze`` leaves, in small steps; ``params`` are
        parameters of the classifier. Texts are cut after the tokens that the network can read.
        """
        start = read_encoder(folder, cls.__name__)
        model = cls._begin_with(start, FURTHER, params)
        if start.labels is not None:
            labels, model.weights_ = sorted_head(start)
            model.classes_ = np.array(labels)
            model.network_ = described_encoder(start, len(labels), start.network["config"]["dropout"])
            codes = model._learned_codes([])
            model.vocabulary_, model.reading_ = codes.vocabulary, codes.reading()
            model._begin_counts()
        return model

    @classmethod
    def _begin_with(cls, start: PretrainedNetwork, usual: Mapping[str, Any], params: Mapping[str, Any]) -> Self:
        """A classifier that trains an encoder further, as ``usual`` says where ``params`` do not."""
        config, given = start.network["config"], {"architecture": "pretrained", "pretrained": start}
        refuse_told_twice(cls.__name__, params, given.keys())
        further = {**usual, "dropout": config["dropout"], "max_length": config["context"]}
        model = cls(**{**further, **given, **params})
        model._check_parameters()
        return model

    @classmethod
    def from_encoder(cls, encoder: Any, **params: Any) -> Self:
        """A classifier that begins with the vectors of a fitted Word2Vec or GloVe, or with a MaskedLanguageModel.

        It has vectors for all their words, also those that the texts of ``fit`` lack, or all layers of the model, whose
        tokens must be byte pairs. ``freeze="encoder"`` keeps them as they are; ``params`` are parameters of the
        classifier, of which ``longest_run`` is 1 and ``max_iter`` 20 by default; a model is trained further in steps of
        0.001.
        """
        start = encoder.as_pretrained() if hasattr(encoder, "as_pretrained") else None
        if start is not None and start.reading:
            return cls._begin_with(start, OWN_ENCODER, params)
        if start is None or not is_word_start(start):
            raise ValueError(
                f"{cls.__name__}: encoder must be a fitted Word2Vec, GloVe or MaskedLanguageModel; "
                f"got {type(encoder).__name__}."
            )
        given = {"tokens": "word", "d_model": start.weights["vectors"].shape[1], "pretrained": start}
        for name in params.keys() & given.keys():
            raise ValueError(f"{cls.__name__}: {name} is what the encoder has; got {params[name]!r} as well.")
        model = cls(**{"longest_run": 1, "max_iter": 20, **params, **given})
        model._check_parameters()
        return model

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this classifier; its encoder must come from such a one."""
        check_is_fitted(self)
        if self.network_["architecture"] != "pretrained":
            raise ValueError(
                f"{type(self).__name__}: architecture must be 'pretrained' for the files of transformers; "
                f"got {self.network_['architecture']!r}."
            )
        labels = [str(label) for label in self.classes_]
        return write_encoder(folder, self.network_, self.weights_, self.reading_["pairs"], labels)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if is_word_start(self.pretrained) and self.architecture != "pretrained":
            assert self.pretrained is not None
            for name, value in (("tokens", "word"), ("d_model", self.pretrained.weights["vectors"].shape[1])):
                if getattr(self, name) != value:
                    raise ValueError(
                        f"{type(self).__name__}: {name} must be {value!r}, as the pretrained vectors have it; "
                        f"got {getattr(self, name)!r}."
                    )
        else:
            refuse_half_pretrained(self)

    def _describe(self, described: dict[str, Any]) -> None:
        if self.architecture != "pretrained":
            return super()._describe(described)
        if not self._goes_on():
            assert self.pretrained is not None
            self.network_ = described_encoder(self.pretrained, described["n_outputs"], self.dropout)
        return None

    def _network(self) -> nn.Module:
        if self.network_["architecture"] == "pretrained":
            return ragged_encoder(self.network_)
        return TextNetwork(**self.network_)

    def _begin_network(self, seeds: Seeds, dtype: torch.dtype = torch.float32) -> nn.Module:
        module = super()._begin_network(seeds, dtype)
        rarity = self.__dict__.pop("_rarity", None)
        if rarity is not None and isinstance(module, TextNetwork):
            module.set_rarity(torch.from_numpy(rarity))
        return module

    def _objective(
        self, loss: ClassLoss, codes: Any, module: nn.Module, batch: tuple[Tensor, ...], noise: torch.Generator
    ) -> dict[str, Tensor]:
        ids, y = batch
        if module.training:
            ids = hide_at_random(ids, self.token_dropout, noise, codes.unknown, codes.spared)
        return {"loss": loss.of_targets(module(ids), y, module.training)}

    def _learned_codes(self, texts: Sequence[str]) -> TermCodes | FolderCodes:
        if self.pretrained is not None and not is_word_start(self.pretrained):
            most = self.pretrained.network["config"]["context"]
            return FolderCodes(self.pretrained.reading, min(self.max_length or most, most))
        learned = TermCodes.learn(
            texts,
            self.tokens,
            lowercase=self.lowercase,
            longest_run=self.longest_run if self.architecture == "bag-of-words" else 1,
            min_count=self.min_count,
            vocab_size=self.vocab_size,
            bpe_size=self.bpe_size,
            max_length=self.max_length,
        )
        return learned if self.pretrained is None else codes_from_words(self.pretrained, learned)

    def _start_from(self, module: nn.Module, pretrained: PretrainedNetwork) -> None:
        if isinstance(module, TextNetwork):
            return write_vectors_(module.encoder.embedding.weight, pretrained, self.lowercase)
        return super()._start_from(module, pretrained)

    def _complete(self) -> None:
        super()._complete()
        if hasattr(self, "vocabulary_"):
            self._codes()

    def _codes(self) -> TermCodes | FolderCodes:
        check_is_fitted(self)
        if "_term_codes" not in self.__dict__:
            folder = self.reading_["kind"] == "folder"
            self._term_codes: TermCodes | FolderCodes = (
                FolderCodes(self.reading_["pairs"], self.reading_["max_length"])
                if folder
                else TermCodes(self.vocabulary_, **self.reading_)
            )
        return self._term_codes

    def _sequences(self, X: Any) -> list[list[int]]:
        owner, codes = type(self).__name__, self._codes()
        sequences = self._encode_rows(text_rows(owner, X), codes)
        unknown = [i for i, ids in enumerate(sequences) if all(token == UNKNOWN for token in ids)]
        if unknown:
            warn_user(
                f"{owner}: {len(unknown)} of {len(sequences)} texts have no token that fit has seen, the first is text "
                f"{unknown[0]}; what is said of them is what is said of unknown tokens."
            )
        return sequences

    def _encode_rows(self, texts: Sequence[str], codes: TermCodes | FolderCodes) -> list[list[int]]:
        """The ids of every text; one without tokens is read as a single unknown one."""
        return [codes.encode(text) or [UNKNOWN] for text in texts]

    def _training_ids(self, texts: Sequence[str], codes: TermCodes | FolderCodes) -> list[list[int]]:
        """The ids of the texts of a fit, which tells how many of them have no token."""
        owner, empty = type(self).__name__, [i for i, text in enumerate(texts) if not codes.tokens(text)]
        if len(empty) == len(texts):
            raise ValueError(f"{owner}: X must have tokens in some text; text {empty[0]} is {texts[empty[0]]!r}.")
        if empty:
            warn_user(
                f"{owner}: {len(empty)} of {len(texts)} texts have no token, the first is text {empty[0]}; they are "
                "learned from as texts of one unknown token."
            )
        return self._encode_rows(texts, codes)

    def _outputs(self, sequences: list[list[int]]) -> np.ndarray:
        """What the last layer gives; texts of like length are read together."""
        module = self._ready_module()
        order = np.argsort([len(ids) for ids in sequences], kind="stable")
        tokens, starts = flat_sequences([sequences[i] for i in order])
        rows = self._compute_predictions().rows(RaggedRows.of([tokens], starts))
        with torch.inference_mode(), torch_threads(available()):
            parts = [module(part.tensors[0]) for part in rows.chunks(len(rows))]
        by_length = widen(torch.cat(parts)).numpy(force=True)
        outputs = np.empty_like(by_length)
        outputs[order] = by_length
        return outputs
