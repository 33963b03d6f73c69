"""Strings as integers for a network: characters, bytes, byte pairs or words, with 0 for the end of a text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from margin.core.arguments import shown
from margin.core.notices import warn_user
from margin.text.bpe import BytePairTokenizer
from margin.text.pieces import split_pieces
from margin.text.texts import check_unicode, text_items

__all__ = ["END", "FOLDER", "TOKENS", "WORD_TOKENS", "TextCodes", "one_text", "texts_of"]

END = 0  # before the first token of a text and after its last one
TOKENS = ("char", "byte", "bpe")
WORD_TOKENS = (*TOKENS, "word")  # for models that write nothing: an unknown word cannot be written
FOLDER = "folder"  # the tokenizer of a pretrained encoder
UNKNOWN_WORD = " \ufffd"
UNSEEN = -1  # stands for a character without a code until it is left out


def texts_of(owner: str, X: Any, name: str = "X") -> list[str]:
    """One string is one text; else a sequence of strings, some of which may be empty."""
    texts = [X] if isinstance(X, str) else text_items(owner, X, name)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{owner}: {name} must be strings; text {i} is of type {type(text).__name__}.")
    return [check_unicode(owner, name, i, str(text)) for i, text in enumerate(texts)]


def one_text(owner: str, name: str, text: Any) -> str:
    """The argument ``name`` if it is one string with something in it."""
    if not isinstance(text, str):
        raise ValueError(f"{owner}: {name} must be one string; got {shown(text)}.")
    if not text:
        raise ValueError(f"{owner}: {name} must not be empty.")
    return texts_of(owner, text, name)[0]


class TextCodes:
    """Which integer stands for which piece of text; ``content`` says all of it as one string.

    Words are cut as by GPT-2, with the space before them; a word that is not known has the code 1.

    >>> codes = TextCodes.learn("char", ["abba"])
    >>> codes.encode("baa").tolist(), codes.decode([2, 1, 0]), codes.size
    ([2, 1, 1], 'ba', 3)
    >>> words = TextCodes.learn("word", ["to be or not to be"])
    >>> words.encode("not to see").tolist(), words.decode(words.encode("be not"))
    ([4, 3, 1], 'be not')
    """

    def __init__(self, kind: str, content: str = ""):
        self.kind, self.content = kind, content
        if kind == "char":
            self.points = np.array([ord(character) for character in content], dtype=np.uint32)
            self.size = 1 + len(content)
        elif kind == "byte":
            self.size = 1 + 256
        elif kind == "word":
            self.words = [UNKNOWN_WORD, *json.loads(content)]
            self.ids = {word: i for i, word in enumerate(self.words, start=1)}
            self.size = 1 + len(self.words)
        else:
            self.pairs = BytePairTokenizer.from_json(content)
            self.size = 1 + self.pairs.vocab_size

    @classmethod
    def learn(cls, kind: str, texts: Sequence[str], vocab_size: int = 1000) -> TextCodes:
        """Codes for all characters of ``texts``, for bytes, or for ``vocab_size`` words or pieces by byte pairs."""
        if kind == "char":
            if not any(texts):
                raise ValueError("TextCodes: texts must have at least one character; all of them are empty.")
            return cls(kind, "".join(sorted(set().union(*texts))))
        if kind == "byte":
            return cls(kind)
        if kind == "word":
            counts = Counter(word for text in texts for word in split_pieces(f" {text}"))
            commonest = sorted(counts, key=lambda word: (-counts[word], word))
            return cls(kind, json.dumps(commonest[:vocab_size]))
        return cls(kind, BytePairTokenizer.train(texts, vocab_size).to_json())

    @classmethod
    def of(cls, stored: Mapping[str, str]) -> TextCodes:
        """The codes that an estimator holds as ``{"kind": ..., "content": ...}``; read once, however often asked."""
        return _read(stored["kind"], stored["content"])

    @property
    def spaced(self) -> bool:
        """Whether tokens have the space before them."""
        return self.kind in ("word", "bpe")

    @property
    def stored(self) -> dict[str, str]:
        """What :meth:`of` reads."""
        return {"kind": self.kind, "content": self.content}

    def encode(self, text: str, owner: str = "TextCodes", *, start: bool = True) -> np.ndarray:
        """The codes of ``text``, from 1 on; without ``start`` its first word goes on where another text ends.

        A character that fit has not seen has no code: it is left out, with a warning.
        """
        if not text:
            return np.empty(0, dtype=np.int64)
        if self.kind == "byte":
            return np.frombuffer(text.encode(), dtype=np.uint8).astype(np.int64) + 1
        if self.kind == "bpe":
            return np.array(self.pairs.encode(text), dtype=np.int64) + 1
        if self.kind == "word":
            return np.array(
                [self.ids.get(word, 1) for word in split_pieces(f" {text}" if start else text)], dtype=np.int64
            )
        return self.encode_all([text], owner)[0]

    def encode_all(self, texts: Sequence[str], owner: str = "TextCodes") -> list[np.ndarray]:
        """The codes of every text; one warning tells of all characters that fit has not seen."""
        if self.kind != "char":
            return [self.encode(text, owner) for text in texts]
        encoded = [self._characters(text) for text in texts]
        unseen = [(i, int(np.argmax(codes == UNSEEN))) for i, codes in enumerate(encoded) if (codes == UNSEEN).any()]
        if unseen:
            i, position = unseen[0]
            count = sum(int((codes == UNSEEN).sum()) for codes in encoded)
            warn_user(
                f"{owner}: {count} character{'s were' if count > 1 else ' was'} not in fit and "
                f"{'are' if count > 1 else 'is'} left out, so that what is said is said of the rest; the first is "
                f"{texts[i][position]!r} at position {position} of text {i}."
            )
        return [codes[codes != UNSEEN] for codes in encoded]

    def _characters(self, text: str) -> np.ndarray:
        """The code of every character, ``UNSEEN`` where it has none."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        codes = np.searchsorted(self.points, points)
        known = self.points[np.minimum(codes, len(self.points) - 1)] == points
        return np.where(known, codes.astype(np.int64) + 1, UNSEEN)

    def bytes_of(self, code: int) -> bytes:
        """What one code stands for; nothing for the end of a text."""
        if code == END:
            return b""
        if self.kind == "char":
            return self.content[code - 1].encode()
        if self.kind == "word":
            return self.words[code - 1].encode()
        return bytes([code - 1]) if self.kind == "byte" else self.pairs.token_bytes(code - 1)

    def decode(self, codes: Iterable[int]) -> str:
        """The string of ``codes``; bytes that are no character become the replacement character."""
        text = b"".join(self.bytes_of(int(code)) for code in codes).decode(errors="replace")
        return text.removeprefix(" ") if self.kind == "word" else text

    def join_texts(self, texts: Sequence[str], owner: str) -> np.ndarray:
        """All texts in one array, with an end before, between and after them."""
        parts: list[Any] = [[END]]
        for codes in self.encode_all(texts, owner):
            parts += [codes, [END]]
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])


@lru_cache(maxsize=8)
def _read(kind: str, content: str) -> TextCodes:
    if kind == FOLDER:
        from margin.text.folder_codes import FolderTextCodes

        return FolderTextCodes(content)
    return TextCodes(kind, content)
