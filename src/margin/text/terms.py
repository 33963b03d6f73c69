"""Texts as ids of a vocabulary learned from texts, for networks that say something about a text.

Id 0 is padding and 1 stands for every token that fit has not seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_file import visible
from margin.text.vectors import inverse_document_frequency, ngrams

__all__ = ["FIRST", "TERMS", "UNKNOWN", "TermCodes", "token_rarity"]

UNKNOWN, FIRST = 1, 2  # the id of unknown tokens, and that of the commonest known one
TERMS = ("word", "char", "bpe")
WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")
BETWEEN = "\x1f"  # joins the tokens of a run: ASCII's separator of units, which counts as white space in words


def token_rarity(sequences: Sequence[Sequence[int]], n_tokens: int) -> np.ndarray:
    r"""The inverse document frequency of every id in texts; padding and the unknown token have that of a token in all.

    >>> token_rarity([[2, 3, 2], [3]], 4).round(3).tolist()
    [1.0, 1.0, 1.405, 1.0]
    """
    lengths = [len(ids) for ids in sequences]
    row, ids = np.repeat(np.arange(len(lengths)), lengths), np.concatenate([np.asarray(s, np.intp) for s in sequences])
    counts = sparse.csr_matrix((np.ones(len(ids)), (row, ids)), shape=(len(lengths), n_tokens))
    rarity = inverse_document_frequency(counts)
    rarity[:FIRST] = 1.0
    return rarity


class TermCodes:
    """How a text is cut, and the id of every token and of every run of at most ``longest_run`` neighboring tokens.

    >>> codes = TermCodes.learn(["good film", "bad film"], "word", min_count=1)
    >>> codes.vocabulary, codes.encode("A good film!")
    (['film', 'bad', 'good'], [1, 4, 2, 1])
    """

    unknown, spared = UNKNOWN, ()  # what a hidden token is read as, and ids that are never hidden

    def __init__(
        self,
        vocabulary: Sequence[str],
        kind: str,
        *,
        lowercase: bool = True,
        longest_run: int = 1,
        max_length: int | None = None,
        pairs: str = "",
    ):
        self.vocabulary, self.kind, self.lowercase = list(vocabulary), kind, lowercase
        self.longest_run, self.max_length = longest_run, max_length
        self.pairs = BytePairTokenizer.from_json(pairs) if kind == "bpe" else None
        self.position = {term: FIRST + i for i, term in enumerate(self.vocabulary)}

    @classmethod
    def learn(
        cls,
        texts: Sequence[str],
        kind: str,
        *,
        lowercase: bool = True,
        longest_run: int = 1,
        min_count: int = 1,
        vocab_size: int | None = None,
        bpe_size: int = 1000,
        max_length: int | None = None,
    ) -> TermCodes:
        """The ``vocab_size`` commonest tokens and runs that occur ``min_count`` times, ties by alphabet."""
        given = [text.lower() for text in texts] if lowercase else texts
        pairs = BytePairTokenizer.train(given, bpe_size).to_json() if kind == "bpe" else ""
        cut = cls([], kind, lowercase=lowercase, longest_run=longest_run, max_length=max_length, pairs=pairs)
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(ngrams(cut.tokens(text), 1, longest_run, joined_by=BETWEEN))
        kept = sorted((t for t in counts if counts[t] >= min_count), key=lambda term: (-counts[term], term))
        return cls(kept[:vocab_size], **cut.reading())

    def reading(self) -> dict[str, Any]:
        """Everything but the vocabulary, as plain values."""
        return {
            "kind": self.kind,
            "lowercase": bool(self.lowercase),
            "longest_run": int(self.longest_run),
            "max_length": None if self.max_length is None else int(self.max_length),
            "pairs": "" if self.pairs is None else self.pairs.to_json(),
        }

    @property
    def size(self) -> int:
        """How many ids there are."""
        return FIRST + len(self.vocabulary)

    def tokens(self, text: str) -> list[str]:
        """The first ``max_length`` words and marks, characters, or byte pairs as ``tokenizer.json`` writes them."""
        text = text.lower() if self.lowercase else text
        if self.kind == "word":
            return WORDS_AND_MARKS.findall(text)[: self.max_length]
        if self.pairs is None:
            return list(text[: self.max_length])
        return [visible(self.pairs.token_bytes(i)) for i in self.pairs.encode(text)[: self.max_length]]

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens of ``text``, then those of its known runs."""
        return self.encode_tokens(self.tokens(text))

    def encode_tokens(self, tokens: Sequence[str]) -> list[int]:
        """The ids of tokens; one that is not in the vocabulary, as the empty string never is, becomes unknown."""
        position = self.position
        ids = [position.get(token, UNKNOWN) for token in tokens]
        if self.longest_run > 1:
            ids += [position[run] for run in ngrams(tokens, 2, self.longest_run, joined_by=BETWEEN) if run in position]
        return ids
