"""Strings as integers for a network: characters, bytes or byte pairs, with 0 for the end of a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from margin.text.bpe import BytePairTokenizer

__all__ = ["END", "TOKENS", "TextCodes", "texts_of"]

END = 0  # before the first token of a text and after its last one
TOKENS = ("char", "byte", "bpe")


def texts_of(owner: str, X: Any) -> list[str]:
    """One string is one text; else a sequence of strings, none of them empty."""
    texts = [X] if isinstance(X, str) else list(X)
    if not texts:
        raise ValueError(f"{owner}: X must have at least one text; got none.")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{owner}: X must be strings; text {i} is of type {type(text).__name__}.")
        if not text:
            raise ValueError(f"{owner}: X must have no empty strings; text {i} is empty.")
    return [str(text) for text in texts]


class TextCodes:
    """Which integer stands for which piece of text; ``content`` says all of it as one string.

    >>> codes = TextCodes.learn("char", ["abba"])
    >>> codes.encode("baa").tolist(), codes.decode([2, 1, 0]), codes.size
    ([2, 1, 1], 'ba', 3)
    """

    def __init__(self, kind: str, content: str = ""):
        self.kind, self.content = kind, content
        if kind == "char":
            self.points = np.array([ord(character) for character in content], dtype=np.uint32)
            self.size = 1 + len(content)
        elif kind == "byte":
            self.size = 1 + 256
        else:
            self.pairs = BytePairTokenizer.from_json(content)
            self.size = 1 + self.pairs.vocab_size

    @classmethod
    def learn(cls, kind: str, texts: Sequence[str], vocab_size: int = 1000) -> TextCodes:
        """Codes for all characters of ``texts``, for bytes, or for ``vocab_size`` pieces by byte-pair encoding."""
        if kind == "char":
            return cls(kind, "".join(sorted(set().union(*texts))))
        if kind == "byte":
            return cls(kind)
        return cls(kind, BytePairTokenizer.train(texts, vocab_size).to_json())

    def encode(self, text: str, owner: str = "TextCodes") -> np.ndarray:
        """The codes of ``text``, from 1 on."""
        if self.kind == "byte":
            return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) + 1
        if self.kind == "bpe":
            return np.array(self.pairs.encode(text), dtype=np.int64) + 1
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        codes = np.searchsorted(self.points, points)
        unknown = self.points[np.minimum(codes, len(self.points) - 1)] != points
        if unknown.any():
            first = int(unknown.argmax())
            raise ValueError(
                f"{owner}: {int(unknown.sum())} characters of the text were not in fit; the first is {text[first]!r} "
                f"at position {first}."
            )
        return codes.astype(np.int64) + 1

    def bytes_of(self, code: int) -> bytes:
        """What one code stands for; nothing for the end of a text."""
        if code == END:
            return b""
        if self.kind == "char":
            return self.content[code - 1].encode()
        return bytes([code - 1]) if self.kind == "byte" else self.pairs.token_bytes(code - 1)

    def decode(self, codes: Iterable[int]) -> str:
        """The string of ``codes``; bytes that are no character become the replacement character."""
        return b"".join(self.bytes_of(int(code)) for code in codes).decode(errors="replace")

    def joined(self, texts: Sequence[str], owner: str) -> np.ndarray:
        """All texts in one array, with an end before, between and after them."""
        parts: list[Any] = [[END]]
        for text in texts:
            parts += [self.encode(text, owner), [END]]
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])
