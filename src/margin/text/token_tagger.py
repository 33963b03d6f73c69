"""The tag of every word by a network, such as named entities."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.arguments import refuse_told_twice
from margin.core.class_weights import ClassWeight, class_factors
from margin.core.domains import Choice, Either, Flag, Integer
from margin.core.invariants import ListOf, StringOf, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.neural.estimators.fine_tuning import FineTuning
from margin.neural.estimators.mlp import weighted_rows
from margin.neural.estimators.own_validation import JudgedEstimator, OwnRows
from margin.neural.nets.tagging import PiecesTaggingNetwork, TaggingNetwork, TagScores
from margin.neural.precision import widen
from margin.neural.training import Rows
from margin.neural.training.ragged import RaggedRows, flat_sequences
from margin.text.chain import TagChain, decode_chain
from margin.text.encoder_folder import FURTHER, FolderCodes, described_encoder, read_encoder, sorted_head, write_encoder
from margin.text.network_estimator import TextNetworkEstimator, hide_at_random, refuse_half_pretrained
from margin.text.sentences import vocabulary_of
from margin.text.stored_networks import TAGGER, tagging_network_is_stored
from margin.text.taggers import shape_of
from margin.text.tagging import ChainTagger
from margin.text.terms import FIRST, UNKNOWN

__all__ = ["TAGGING_ARCHITECTURES", "TokenTagger"]

TAGGING_ARCHITECTURES = ("rnn", "cnn", "transformer")


class TokenTagger(ChainTagger, JudgedEstimator, FineTuning, TextNetworkEstimator):
    """Network for the tag of every word: an encoder of the sentence, then a softmax per word or a chain of tags.

    Sentences are strings, which are cut at white space, or sequences of words; so are their tags. A word is seen by
    itself in lower case and by its outline (:func:`margin.text.taggers.shape_of`), which is all that is known of words
    that fit has not seen. With ``chain`` neighboring tags have scores of their own and the output is a conditional
    random field; without it every word has its softmax. :meth:`from_transformers` begins with a pretrained encoder,
    which sees a word by its pieces.

    Examples
    --------
    >>> X, y = ["Ann saw Rome", "Bob left Paris"] * 10, ["B-PER O B-LOC", "B-PER O B-LOC"] * 10
    >>> model = TokenTagger(d_model=8, hidden_size=8, max_iter=30, random_state=0).fit(X, y)
    >>> model.predict(["Eve left Berlin"])
    [['B-PER', 'O', 'B-LOC']]
    """

    architecture: str = parameter(
        "rnn",
        Either(Choice(*TAGGING_ARCHITECTURES), Choice("pretrained", search=False)),
        "What a word's tag sees of its sentence; 'pretrained': the encoder of from_transformers, with its own sizes.",
    )
    _: KW_ONLY
    class_weight: Any = parameter(
        None,
        ClassWeight(),
        "Weights of the tags in the loss of their words; 'balanced': all count alike, however few their words.",
    )
    chain: bool = parameter(True, Flag(), "Whether neighboring tags have scores: a conditional random field.")
    min_count: int = parameter(1, Integer(low=1), "Words that occur less often in fit are unknown.")

    vocabulary_: list[str] = attribute(
        ListOf(StringOf(), size="n_words"), "The words in lower case, the commonest first."
    )
    outlines_: list[str] = attribute(
        ListOf(StringOf(), size="n_outlines"), "The outlines of words, in alphabetical order."
    )
    _pretrained_prefix = "scores."
    reading_: str = attribute(sometimes(StringOf()), "The tokenizer.json of a pretrained encoder, else empty.")
    network_: dict[str, Any] = attribute(TAGGER)
    _stored_rules = (tagging_network_is_stored,)
    _may_be_empty = ("n_outlines",)

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, given: OwnRows | None, state: Any) -> Iterator[Record]:
        sentences, codes, tags = self._checked_pairs(X, y)
        sentences, codes, weight = self._weighted(sentences, codes, sample_weight)
        seed = self._seed(state)
        train, valid = self._split(len(sentences), seed, given=given)
        if self._goes_on():
            if tags != self.tags_:
                raise ValueError(f"{type(self).__name__}: warm_start must go on with tags {self.tags_}; got {tags}.")
            vocabulary, outlines = self.vocabulary_, self.outlines_
        elif self.pretrained is not None:
            vocabulary, outlines = FolderCodes(self.pretrained.reading, None).vocabulary, []
        else:
            known = [sentences[i] for i in train]
            vocabulary, _ = vocabulary_of(([word.lower() for word in words] for words in known), self.min_count)
            outlines = sorted({shape_of(word) for words in known for word in words})
        described = {"n_tokens": FIRST + len(vocabulary), "n_outlines": FIRST + len(outlines), "n_tags": len(tags)}
        self._describe(described | {"architecture": self.architecture, "chain": bool(self.chain)})
        self.tags_, self.vocabulary_, self.outlines_ = tags, vocabulary, outlines
        if not self._goes_on():
            self.reading_ = "" if self.pretrained is None else self.pretrained.reading
        rows = self._tagged_rows(sentences, codes, weight)
        held = None if given is None else self._own_rows(given)
        objective = partial(self._objective, factors=self._tag_factors([codes[i] for i in train], weight[train]))
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=right_tags, held=held)

    def _tag_factors(self, codes: list[np.ndarray], weight: np.ndarray) -> Tensor | None:
        """What a word with each tag weighs in the loss; None where all weigh the same."""
        if self.class_weight is None:
            return None
        words = np.repeat(weight, [len(part) for part in codes])
        counts = np.bincount(np.concatenate(codes), words, minlength=len(self.tags_))
        owner, tags = type(self).__name__, np.array(self.tags_)
        factors = class_factors(owner, self.class_weight, tags, counts, float(counts.sum()))
        if not (factors > 0).any():
            raise ValueError(f"{owner}: class_weight must leave a tag of y with a weight above 0.")
        return torch.from_numpy(factors).float()

    def _weighted(
        self, sentences: list[list[str]], codes: list[np.ndarray], sample_weight: Any
    ) -> tuple[list[list[str]], list[np.ndarray], np.ndarray]:
        """The sentences that have words, and a weight above 0."""
        numbers, filled, weight = weighted_rows(
            self, np.arange(len(sentences)), np.array([bool(words) for words in sentences]), sample_weight
        )
        if not filled.any():
            raise ValueError(f"{type(self).__name__}: a sentence with words must have a weight above 0; none has.")
        kept = numbers[filled].tolist()
        return [sentences[i] for i in kept], [codes[i] for i in kept], weight[filled]

    def _tagged_rows(self, sentences: list[list[str]], codes: list[np.ndarray], weight: np.ndarray) -> RaggedRows:
        *seen, starts = self._encode_rows(sentences)
        return RaggedRows.of([*seen, self._at_tokens(np.concatenate(codes), seen[1])], starts, weight=weight)

    def _own_rows(self, given: OwnRows) -> RaggedRows:
        """Sentences that judge every epoch."""
        sentences, codes, tags = self._checked_pairs(given.X, given.y)
        strange = sorted(set(tags) - set(self.tags_))
        if strange:
            raise ValueError(
                f"{type(self).__name__}: validation_data must have tags of y, {self.tags_}; got {strange[0]!r}."
            )
        number = np.array([self.tags_.index(tag) for tag in tags])
        sentences, codes, weight = self._weighted(sentences, [number[part] for part in codes], given.weight)
        return self._tagged_rows(sentences, codes, weight)

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> Self:
        """A tagger that begins with the BERT, RoBERTa or DistilBERT of a folder that transformers wrote.

        The folder is as for :meth:`TextClassifier.from_transformers`. If it holds a head with named tags, the tagger is
        fitted and predicts at once. ``fit`` replaces the head; ``params`` are parameters of the tagger.
        """
        start = read_encoder(folder, cls.__name__, per_token=True)
        config = start.network["config"]
        given = {"architecture": "pretrained", "pretrained": start}
        refuse_told_twice(cls.__name__, params, given.keys())
        model = cls(**{**FURTHER, "chain": False, "dropout": config["dropout"], **given, **params})
        model._check_parameters()
        if start.labels is not None and not model.chain:
            model.tags_, weights = sorted_head(start)
            model.network_ = described_encoder(start, len(model.tags_), config["dropout"]) | {"chain": False}
            model.weights_ = {f"scores.{name}": array for name, array in weights.items()}
            model.vocabulary_, model.outlines_ = FolderCodes(start.reading, None).vocabulary, []
            model.reading_ = start.reading
            model._begin_counts()
        return model

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this tagger: a pretrained encoder without a chain."""
        check_is_fitted(self)
        if self.network_["architecture"] != "pretrained" or self.network_["chain"]:
            raise ValueError(
                f"{type(self).__name__}: the files of transformers are for architecture 'pretrained' without a chain; "
                f"got {self.network_['architecture']!r} and chain={self.network_['chain']}."
            )
        network = {name: value for name, value in self.network_.items() if name != "chain"}
        weights = {name.removeprefix("scores."): array for name, array in self.weights_.items()}
        return write_encoder(folder, network, weights, self.reading_, self.tags_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_half_pretrained(self)

    def _describe(self, described: dict[str, Any]) -> None:
        if self.architecture != "pretrained":
            return super()._describe(described)
        if not self._goes_on():
            assert self.pretrained is not None
            network = described_encoder(self.pretrained, described["n_tags"], self.dropout)
            self.network_ = network | {"chain": bool(self.chain)}
        return None

    def _network(self) -> nn.Module:
        if self.network_["architecture"] == "pretrained":
            network = {name: value for name, value in self.network_.items() if name != "chain"}
            return PiecesTaggingNetwork(network, self.network_["chain"])
        return TaggingNetwork(**self.network_)

    def _objective(
        self, module: Any, batch: tuple[Tensor, ...], noise: torch.Generator, factors: Tensor | None
    ) -> dict[str, Tensor]:
        ids, outlines, tags = batch
        seen = ids
        if module.training and self.token_dropout:
            codes = FolderCodes(self.reading_, None) if self.reading_ else None
            hidden = (UNKNOWN, ()) if codes is None else (codes.unknown, codes.spared)
            seen = hide_at_random(ids, self.token_dropout, noise, *hidden)
        return {"loss": module.losses(seen, outlines, tags, factors)}

    def _encode_rows(self, sentences: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids of all words, ids of their outlines, and where each sentence begins.

        For a pretrained encoder, ids of their pieces, and 1 for the first piece of a word instead of the outline.
        """
        if self.network_["architecture"] == "pretrained":
            return self._pieces(sentences)
        words = {word: FIRST + i for i, word in enumerate(self.vocabulary_)}
        outlines = {outline: FIRST + i for i, outline in enumerate(self.outlines_)}
        ids, starts = flat_sequences([[words.get(word.lower(), UNKNOWN) for word in some] for some in sentences])
        shapes, _ = flat_sequences([[outlines.get(shape_of(word), UNKNOWN) for word in some] for some in sentences])
        return ids, shapes, starts

    def _pieces(self, sentences: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        codes, most = FolderCodes(self.reading_, None), self.network_["config"]["context"]
        encoded = [codes.encode_words(words) for words in sentences]
        longest = max(len(ids) for ids, _ in encoded)
        if longest > most:
            raise ValueError(
                f"{type(self).__name__}: sentences must have at most {most} pieces, which is what the network reads; "
                f"the longest has {longest}."
            )
        ids, starts = flat_sequences([ids for ids, _ in encoded])
        return ids, flat_sequences([first for _, first in encoded])[0], starts

    def _at_tokens(self, tags: np.ndarray, beside: np.ndarray) -> np.ndarray:
        """The tags of words where the network reads them: of a pretrained encoder, at their first pieces."""
        if self.network_["architecture"] != "pretrained":
            return tags
        spread = np.zeros(len(beside), dtype=tags.dtype)
        spread[beside == 1] = tags
        return spread

    def _scores(self, sentences: list[list[str]]) -> np.ndarray:
        """The scores of all words; sentences of like length are read together."""
        module = self._ready_module()
        order = np.argsort([len(words) for words in sentences], kind="stable")
        filled = [i for i in order.tolist() if sentences[i]]
        scores = np.zeros((sum(map(len, sentences)), len(self.tags_)))
        if not filled:
            return scores
        *seen, starts = self._encode_rows([sentences[i] for i in filled])
        rows = self._compute_predictions().rows(RaggedRows.of(seen, starts))
        with torch.inference_mode(), torch_threads(available()):
            assert isinstance(module, TagScores)
            parts = [(module(*part.tensors), module.words(*part.tensors)) for part in rows.chunks(len(rows))]
        tag_scores = widen(torch.cat([scores[mask] for scores, mask in parts])).numpy(force=True)
        begin = np.cumsum([0, *map(len, sentences)])
        scores[np.concatenate([np.arange(begin[i], begin[i + 1]) for i in filled])] = tag_scores
        return scores

    def _chain(self) -> TagChain:
        return chain_of(self.weights_, len(self.tags_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def chain_of(weights: Mapping[str, np.ndarray], n_tags: int) -> TagChain:
    """The chain among the weights of a network; zeros where it has none."""
    if "between" not in weights:
        return TagChain(np.zeros(n_tags), np.zeros((n_tags, n_tags)), np.zeros(n_tags))
    return TagChain(weights["first"], weights["between"], weights["last"])


def right_tags(module: Any, rows: Rows) -> float:
    """Fraction of words whose tag in the best sequence is right."""
    right = words = 0
    for part in rows.chunks(len(rows)):
        ids, outlines, tags = part.tensors
        mask, tags = module.words(ids, outlines), module.by_word(tags, outlines)
        scores = widen(module(ids, outlines)[mask]).numpy(force=True)
        chain = chain_of({name: w.numpy(force=True) for name, w in module.named_parameters()}, scores.shape[1])
        best, _ = decode_chain(scores, mask.sum(dim=1).cumsum(dim=0).numpy(force=True), chain)
        right, words = right + int((best == tags[mask].numpy(force=True)).sum()), words + len(best)
    return right / words
