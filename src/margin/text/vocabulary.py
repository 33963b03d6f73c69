"""Characters or words as tokens: the two ends between which byte pairs lie."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from margin.text.bpe import BytePairTokenizer

__all__ = ["VocabularyTokenizer", "train_tokenizer"]

CUTS = {"char": re.compile(r"(?s)."), "word": re.compile(r"(?s)\w+|\W")}


class VocabularyTokenizer:
    """One id per character, or per word and per character between words, in order of how common they are.

    Id 0 stands for everything that training has not seen, and is decoded as ``unknown``.

    >>> tokenizer = VocabularyTokenizer.train(["to be or not to be"], level="word")
    >>> tokenizer.encode("to be"), tokenizer.decode([1, 2])
    ([3, 1, 2], ' be')
    """

    def __init__(self, tokens: Iterable[str], *, level: str, unknown: str = "\ufffd") -> None:
        if level not in CUTS:
            raise ValueError(f"VocabularyTokenizer: level must be one of {sorted(CUTS)}; got {level!r}.")
        self.level, self.unknown = level, unknown
        self.tokens = [unknown, *(token for token in tokens if token != unknown)]
        self._ids = {token: i for i, token in enumerate(self.tokens)}

    @classmethod
    def train(
        cls, texts: str | Iterable[str], vocab_size: int | None = None, *, level: str = "word"
    ) -> VocabularyTokenizer:
        """The ``vocab_size - 1`` commonest characters or words of ``texts`` (None: all)."""
        if level not in CUTS:
            raise ValueError(f"VocabularyTokenizer: level must be one of {sorted(CUTS)}; got {level!r}.")
        if vocab_size is not None and vocab_size < 2:
            raise ValueError(f"VocabularyTokenizer: vocab_size must be at least 2; got {vocab_size}.")
        counts: Counter[str] = Counter()
        for text in [texts] if isinstance(texts, str) else texts:
            counts.update(CUTS[level].findall(text))
        commonest = sorted(counts, key=lambda token: (-counts[token], token))
        return cls(commonest[: None if vocab_size is None else vocab_size - 1], level=level)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, the unknown one included."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``."""
        return [self._ids.get(token, 0) for token in CUTS[self.level].findall(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The string of ``ids``."""
        return "".join(self.tokens[i] for i in ids)


def train_tokenizer(
    texts: Iterable[str], *, level: str, vocab_size: int | None = None
) -> BytePairTokenizer | VocabularyTokenizer:
    """A tokenizer of characters ("char"), words ("word") or byte pairs ("subword", where None means 1000 tokens)."""
    if level == "subword":
        return BytePairTokenizer.train(texts, 1000 if vocab_size is None else vocab_size)
    return VocabularyTokenizer.train(texts, vocab_size, level=level)
