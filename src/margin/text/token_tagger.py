"""The tag of every word by a network, such as named entities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.domains import Choice, Flag, Integer
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.neural.nets.tagging import TaggingNetwork
from margin.neural.nets.text import PADDING
from margin.neural.training import Rows
from margin.neural.training.ragged import RaggedRows, flat_sequences
from margin.text.chain import TagChain, decode_chain
from margin.text.network_estimator import TextNetworkEstimator, hidden_at_random
from margin.text.sentences import vocabulary_of
from margin.text.taggers import shape_of
from margin.text.tagging import ChainTagger
from margin.text.terms import FIRST, UNKNOWN

__all__ = ["TAGGING_ARCHITECTURES", "TokenTagger"]

TAGGING_ARCHITECTURES = ("rnn", "cnn", "transformer")


class TokenTagger(ChainTagger, TextNetworkEstimator):
    """Network for the tag of every word: an encoder of the sentence, then a softmax per word or a chain of tags.

    Sentences are strings, which are cut at white space, or sequences of words; so are their tags. A word is seen by
    itself in lower case and by its outline (:func:`margin.text.taggers.shape_of`), which is all that is known of words
    that fit has not seen. With ``chain`` neighboring tags have scores of their own and the output is a conditional
    random field; without it every word has its softmax.

    Examples
    --------
    >>> X, y = ["Ann saw Rome", "Bob left Paris"] * 10, ["B-PER O B-LOC", "B-PER O B-LOC"] * 10
    >>> model = TokenTagger(d_model=8, hidden_size=8, max_iter=30, random_state=0).fit(X, y)
    >>> model.predict(["Eve left Berlin"])
    [['B-PER', 'O', 'B-LOC']]
    """

    architecture: str = parameter("rnn", Choice(*TAGGING_ARCHITECTURES), "What a word's tag sees of its sentence.")
    _: KW_ONLY
    chain: bool = parameter(True, Flag(), "Whether neighboring tags have scores: a conditional random field.")
    min_count: int = parameter(1, Integer(low=1), "Words that occur less often in fit are unknown.")

    vocabulary_: list[str] = attribute("The words in lower case, the commonest first.")
    outlines_: list[str] = attribute("The outlines of words, in alphabetical order.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from ``X`` and ``y``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        sentences, codes, tags = self._checked_pairs(X, y)
        given = [(words, numbers) for words, numbers in zip(sentences, codes) if words]
        sentences = [words for words, _ in given]
        seed = self._seed(state)
        train, valid = self._split(len(sentences), seed)
        if self._goes_on():
            if tags != self.tags_:
                raise ValueError(f"{type(self).__name__}: warm_start must go on with tags {self.tags_}; got {tags}.")
            vocabulary, outlines = self.vocabulary_, self.outlines_
        else:
            known = [sentences[i] for i in train]
            vocabulary, _ = vocabulary_of(([word.lower() for word in words] for words in known), self.min_count)
            outlines = sorted({shape_of(word) for words in known for word in words})
        described = {"n_tokens": FIRST + len(vocabulary), "n_outlines": FIRST + len(outlines), "n_tags": len(tags)}
        self._describe(described | {"architecture": self.architecture, "chain": bool(self.chain)})
        self.tags_, self.vocabulary_, self.outlines_ = tags, vocabulary, outlines
        *seen, starts = self._encoded(sentences)
        rows = RaggedRows.of([*seen, np.concatenate([numbers for _, numbers in given])], starts)
        yield from self._train(self._objective, rows, train, valid, seed=seed, state=state, score=right_tags)

    def _network(self) -> nn.Module:
        return TaggingNetwork(**self.network_)

    def _objective(self, module: Any, batch: tuple[Tensor, ...], noise: torch.Generator) -> dict[str, Tensor]:
        ids, outlines, tags = batch
        seen = hidden_at_random(ids, self.token_dropout, noise) if module.training else ids
        return {"loss": module.losses(seen, outlines, tags)}

    def _encoded(self, sentences: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids of all words, ids of their outlines, and where each sentence begins."""
        words = {word: FIRST + i for i, word in enumerate(self.vocabulary_)}
        outlines = {outline: FIRST + i for i, outline in enumerate(self.outlines_)}
        ids, starts = flat_sequences([[words.get(word.lower(), UNKNOWN) for word in some] for some in sentences])
        shapes, _ = flat_sequences([[outlines.get(shape_of(word), UNKNOWN) for word in some] for some in sentences])
        return ids, shapes, starts

    def _scores(self, sentences: list[list[str]]) -> np.ndarray:
        """The scores of all words; sentences of like length are read together."""
        module = self._ready_module()
        order = np.argsort([len(words) for words in sentences], kind="stable")
        filled = [i for i in order.tolist() if sentences[i]]
        scores = np.zeros((sum(map(len, sentences)), len(self.tags_)))
        if not filled:
            return scores
        *seen, starts = self._encoded([sentences[i] for i in filled])
        rows = RaggedRows.of(seen, starts)
        with torch.inference_mode(), torch_threads(available()):
            parts = [(module(*part.tensors), part.tensors[0] != PADDING) for part in rows.chunks(len(rows))]
        tag_scores = torch.cat([scores[mask] for scores, mask in parts]).double().numpy()
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
        mask = ids != PADDING
        scores = module(ids, outlines)[mask].double().numpy()
        chain = chain_of({name: w.detach().numpy() for name, w in module.named_parameters()}, scores.shape[1])
        best, _ = decode_chain(scores, mask.sum(dim=1).cumsum(dim=0).numpy(), chain)
        right, words = right + int((best == tags[mask].numpy()).sum()), words + len(best)
    return right / words
