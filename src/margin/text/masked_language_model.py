r"""An encoder that learns to name hidden tokens, with the face of an estimator.

.. math:: \max \sum_{n \in M} \log p(t_n \mid t_{\setminus M})

over random sets M of hidden positions (Devlin et al., 2019).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import Choice, Either, Flag, Integer, Number
from margin.core.notices import warn_user
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.neural.activations.fused import fused_log_softmax, fused_softmax
from margin.neural.attention.config import ACTIVATION_NAMES, POSITIONS
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.fine_tuning import PretrainedNetwork
from margin.neural.estimators.transformer_parameters import BlockParameters, TransformerTraining
from margin.neural.generators import Seeds
from margin.neural.nets.language_nets import BERT
from margin.neural.precision import widen
from margin.neural.weights import forward_work
from margin.text.encoder_folder import FURTHER as FURTHER_CLASSES
from margin.text.language import sentence_pairs
from margin.text.masked_folder import described_sizes, masked_network, read_masked, write_masked
from margin.text.masked_start import masked_start
from margin.text.masking import PAD, Marks, TokenRows, masked_objective, rows_of
from margin.text.stored_networks import ENCODER, encoder_is_stored, stored_codes
from margin.text.text_input import TextInput
from margin.text.token_codes import FOLDER, WORD_TOKENS, TextCodes, one_text, texts_of

__all__ = ["MASK", "MaskedLanguageModel"]

MASK = "[MASK]"  # what stands for a hidden token in a text
AT_ONCE = 64  # texts encoded together
FURTHER = {name: value for name, value in FURTHER_CLASSES.items() if name != "token_dropout"}


class MaskedLanguageModel(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextInput, BlockParameters, TransformerTraining, NeuralEstimator
):
    r"""Transformer encoder that names hidden tokens from both sides (BERT).

    ``X`` is a sequence of strings. Every batch hides other tokens. ``fill`` names the tokens behind ``[MASK]``,
    ``transform`` gives a vector per text. With ``next_sentence`` the texts are documents, one sentence per line, and
    the network also learns whether one sentence follows another. :meth:`from_transformers` begins with a pretrained
    network.

    Examples
    --------
    >>> texts = ["the cat drinks milk", "the dog eats meat", "a cat drinks milk", "a dog eats meat"] * 10
    >>> model = MaskedLanguageModel(d_model=16, n_heads=2, n_blocks=1, max_iter=60, random_state=0).fit(texts)
    >>> ((word, p), *_), = model.fill("the cat [MASK] milk")
    >>> word, p > 0.5, model.transform(texts).shape
    ('drinks', True, (40, 16))
    """

    tokens: str = parameter(
        "word",
        Either(Choice(*WORD_TOKENS), Choice(FOLDER, search=False)),
        "What a token is: a word, a character, a byte or a pair; 'folder': as from_transformers found it.",
    )
    _: KW_ONLY
    vocab_size: int = parameter(
        10_000, Integer(low=256), "Most words, or pieces that 'bpe' learns; 'char' and 'byte' have their own."
    )
    context: int = parameter(64, Integer(low=4), "Most tokens of a row, three of which can be marks.")
    mask_rate: float = parameter(0.15, Number(above=0, below=1, search=(0.1, 0.4)), "Fraction of tokens asked for.")
    next_sentence: bool = parameter(
        False,
        Flag(),
        "Whether texts are documents of one sentence per line, and the network also learns which sentences follow.",
    )
    truncate: bool = parameter(
        False, Flag(), "Whether the end of texts longer than the context is cut off; else they are refused."
    )
    position: str = parameter("learned", Choice(*POSITIONS), "How the network knows the order of tokens.")
    activation: str = parameter("gelu", Choice(*ACTIVATION_NAMES), "Activation function of the hidden units.")
    batch_size: int = parameter(32, Integer(low=1, search=(8, 128), log=True), "Rows per update.")
    max_iter: int = default(30)

    codes_: dict[str, str] = attribute(stored_codes((*WORD_TOKENS, FOLDER)), "Kind and content of the tokens.")
    network_: dict[str, Any] = attribute(ENCODER)
    _stored_rules = (encoder_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from the texts ``X``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        owner = type(self).__name__
        # Twice the usual deviation: with less, what the context tells is noticed late or never (measured).
        texts, config = texts_of(owner, X), self._config(init_std=self.d_model**-0.5)
        codes = self._codes() if self._goes_on() else self._learned_codes(texts)
        marks, seed = Marks.after(codes.size), self._seed(state)
        arrays = self._pairs(texts, codes, marks, seed) if self.next_sentence else self._pieces(texts, codes, marks)
        network = {"vocabulary": codes.size + len(marks), "config": asdict(config)}
        if self._goes_on():
            network = self._same_network(network)
        train, valid = self._split(len(arrays[0]), seed)
        self.codes_, self.network_ = codes.stored, network
        rows = TokenRows(tuple(map(torch.from_numpy, arrays)), torch.ones(len(arrays[0])))
        objective = masked_objective(marks, self.mask_rate)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state)

    def fill(self, text: str, n: int = 5) -> list[list[tuple[str, float]]]:
        """For every ``[MASK]`` in ``text`` the ``n`` most probable tokens and their probabilities."""
        owner, codes = type(self).__name__, self._codes()
        text = one_text(owner, "text", text)
        marks = Marks.after(codes.size)
        parts = text.split(MASK)
        if len(parts) == 1:
            raise ValueError(f"{owner}: the text must have {MASK} where a token is asked for; got {text!r}.")
        ids: list[int] = []
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            if not last and codes.spaced:
                part = part.removesuffix(" ")  # tokens have the space before them: it is hidden with them
            ids += codes.encode(part, owner, start=number == 0).tolist() if part else []
            ids += [] if last else [marks.mask]
        (row,) = self._log_proba([np.array(ids)])
        proba = np.exp(row[np.array(ids) == marks.mask, 1 : codes.size])
        best = np.argsort(-proba, axis=1, kind="stable")[:, :n]
        return [[(codes.decode([i + 1]).strip(" "), float(p[i])) for i in order] for p, order in zip(proba, best)]

    def transform(self, X: Any) -> np.ndarray:
        """The mean vector of the tokens of every text, (n, d_model); 0 for one without tokens, with a warning."""
        sequences = self._sequences(X, "its vector is 0")
        return np.stack([states.sum(axis=0) / max(len(states), 1) for states in self._states(sequences)])

    def pseudo_log_likelihood(self, X: Any) -> np.ndarray:
        """Of every text, the mean log-probability of its tokens, each hidden alone: nats per token.

        NaN for a text without tokens, with a warning.
        """
        mask, means = Marks.after(self._codes().size).mask, []
        for ids in self._sequences(X, "its log-likelihood is NaN"):
            hidden = np.tile(ids, (len(ids), 1))
            np.fill_diagonal(hidden, mask)
            values = [row[n, ids[n]] for n, row in enumerate(self._log_proba(list(hidden)))]
            means.append(np.mean(values) if values else np.nan)
        return np.array(means)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of :meth:`pseudo_log_likelihood` over the texts that have tokens."""
        values = self.pseudo_log_likelihood(X)
        return float(values[~np.isnan(values)].mean())

    def predict_next(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Probability that each sentence of ``second`` follows that of ``first``."""
        owner, codes, module = type(self).__name__, self._codes(), self._ready_module()
        if not self.next_sentence:
            raise ValueError(f"{owner}: predict_next needs a fit with next_sentence=True; got False.")
        both = [texts_of(owner, part, name) for name, part in (("first", first), ("second", second))]
        if len(both[0]) != len(both[1]):
            raise ValueError(f"{owner}: first and second must be equally many; got {len(both[0])} and {len(both[1])}.")
        pairs = [[codes.encode(text, owner) for text in pair] for pair in zip(*both)]
        ids, segments = rows_of([self._shorten(i, *pair) for i, pair in enumerate(pairs)], Marks.after(codes.size))
        assert isinstance(module, BERT)
        with torch.inference_mode():
            states = module.states(*map(self._to_device, (ids, segments, _visible(ids))))
            return fused_softmax(widen(module.next_scores(states)), dim=1)[:, 1].numpy(force=True)

    @property
    def _n_features_out(self) -> int:
        return int(self.network_["config"]["d_model"])

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> MaskedLanguageModel:
        """The BERT, RoBERTa or DistilBERT with a head that names hidden tokens in a folder of transformers.

        The folder has ``config.json``, ``model.safetensors`` and ``tokenizer.json``. ``params`` are parameters of
        training, for a fit that goes on with ``warm_start``; those of the network are in the folder. Nothing in the
        files is executed, and what does not fit together is refused.
        """
        begun = read_masked(folder)
        further = {**FURTHER, "dropout": begun.network["config"]["dropout"]}
        model: MaskedLanguageModel = begun.build(cls, {**further, **params})
        return model

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this model, which must have begun in such a one."""
        return write_masked(folder, self._codes(), self.network_, self.weights_)

    def as_pretrained(self) -> PretrainedNetwork:
        """What this model has learned, as where a classifier of texts begins: :meth:`TextClassifier.from_encoder`."""
        return masked_start(type(self).__name__, self._codes(), self.network_, self.weights_)

    def _network(self) -> BERT:
        return masked_network(self.network_)

    def _learned_codes(self, texts: list[str]) -> TextCodes:
        if self.tokens == FOLDER:
            raise ValueError(
                f"{type(self).__name__}: tokens 'folder' are those of from_transformers, whose fit goes on with "
                f"warm_start=True; got warm_start={self.warm_start!r}."
            )
        return TextCodes.learn(self.tokens, texts, self.vocab_size)

    def _same_network(self, network: dict[str, Any]) -> dict[str, Any]:
        """The network that a fit goes on with, if the parameters describe it; a folder's has parts of its own."""
        owner, begun = type(self).__name__, self.network_
        if "parts" not in begun:
            same = network == begun
        else:
            same = self.tokens == FOLDER and described_sizes(network) == described_sizes(begun)
            if same and self.next_sentence and not begun["parts"]["next_sentence"]:
                raise ValueError(f"{owner}: next_sentence must be False; the network of the folder has no such head.")
        if not same:
            raise ValueError(f"{owner}: warm_start must go on with the same network.")
        return {**begun, "config": {**begun["config"], "dropout": float(self.dropout)}}

    def _codes(self) -> TextCodes:
        check_is_fitted(self)
        return TextCodes.of(self.codes_)

    def _pieces(self, texts: list[str], codes: TextCodes, marks: Marks) -> tuple[np.ndarray, ...]:
        """Texts longer than a row become several rows: nothing is lost."""
        size = self.context - 2
        encoded = codes.encode_all(texts, type(self).__name__)
        if not any(len(ids) for ids in encoded):
            raise ValueError(f"{type(self).__name__}: X must have tokens in some text; all of them are empty.")
        return rows_of([[ids[i : i + size]] for ids in encoded for i in range(0, len(ids), size)], marks)

    def _pairs(self, texts: list[str], codes: TextCodes, marks: Marks, seed: int) -> tuple[np.ndarray, ...]:
        owner = type(self).__name__
        documents = [[line for line in text.splitlines() if line.strip()] for text in texts]
        if not any(len(document) > 1 for document in documents):
            raise ValueError(f"{owner}: with next_sentence a text must have at least two lines; got none that has.")
        pairs = sentence_pairs(documents, random_state=Seeds.of(seed).evaluation)
        encoded = [[codes.encode(text, owner) for text in pair[:2]] for pair in pairs]
        ids, segments = rows_of([self._shorten(i, *pair) for i, pair in enumerate(encoded)], marks)
        return ids, segments, np.array([int(follows) for *_, follows in pairs])

    def _sequences(self, X: Any, consequence: str) -> list[np.ndarray]:
        """The codes of every text within the context; what a text without any means is said once."""
        owner = type(self).__name__
        encoded = self._codes().encode_all(texts_of(owner, X), owner)
        empty = [i for i, ids in enumerate(encoded) if not len(ids)]
        if len(empty) == len(encoded):
            raise ValueError(f"{owner}: X must have tokens in some text; all of them are empty.")
        if empty:
            warn_user(
                f"{owner}: {len(empty)} of {len(encoded)} texts have no token, the first is text {empty[0]}; "
                f"{consequence}."
            )
        return [self._cut(i, ids) for i, ids in enumerate(encoded)]

    def _cut(self, i: int, ids: np.ndarray) -> np.ndarray:
        return self._shorten(i, ids)[0]

    def _shorten(self, i: int, *parts: np.ndarray) -> list[np.ndarray]:
        """The parts of text ``i`` with their marks within the context: the end of the longer one is cut if allowed."""
        cut, room = list(parts), self.context - 1 - len(parts)
        total = sum(map(len, cut))
        if total > room and not self.truncate:
            raise ValueError(
                f"{type(self).__name__}: texts must have at most {room} tokens, or truncate must be True; "
                f"text {i} has {total}."
            )
        while sum(map(len, cut)) > room:
            longest = int(np.argmax([len(part) for part in cut]))
            others = [len(part) for k, part in enumerate(cut) if k != longest]
            excess = sum(map(len, cut)) - room
            cut[longest] = cut[longest][: max(len(cut[longest]) - excess, max(others, default=1) - 1, 1)]
        return cut

    def _log_proba(self, sequences: list[np.ndarray]) -> list[np.ndarray]:
        """Log-probabilities of all tokens at every position of every sequence."""
        module: Any = self._ready_module()
        states = self._states(sequences)
        with torch.inference_mode():
            return [
                fused_log_softmax(widen(module.token_scores(self._to_device(h))), dim=-1).numpy(force=True)
                for h in states
            ]

    def _states(self, sequences: list[np.ndarray]) -> list[np.ndarray]:
        """The vectors of the tokens of every sequence, without those of the marks."""
        module, rows = self._ready_module(), []
        marks = Marks.after(self._codes().size)
        assert isinstance(module, BERT)
        for first in range(0, len(sequences), AT_ONCE):
            group = [self._cut(first + i, ids) for i, ids in enumerate(sequences[first : first + AT_ONCE])]
            ids, segments = rows_of([[part] for part in group], marks)
            with torch.inference_mode(), torch_threads(threads_for(forward_work(module, ids.size))):
                seen = [self._to_device(array) for array in (ids, segments, _visible(ids))]
                states = module.states(*seen).numpy(force=True)
            rows += [row[1 : 1 + len(part)] for row, part in zip(states, group)]
        return rows


def _visible(ids: np.ndarray) -> np.ndarray:
    return (ids != PAD)[:, None, None, :]
