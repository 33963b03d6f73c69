"""WordPiece: words cut into the longest pieces of a vocabulary, as BERT reads them (Devlin et al., 2019)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

__all__ = ["bert_words", "word_pieces"]

# Blocks of Chinese characters, each of which BERT reads as a word.
CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
ASCII_MARKS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def bert_words(
    text: str, *, lowercase: bool = True, strip_accents: bool = True, clean: bool = True, chinese: bool = True
) -> list[str]:
    """The words and marks of ``text``, without control characters, accents and capitals where asked for.

    >>> bert_words("Où est-il?")
    ['ou', 'est', '-', 'il', '?']
    """
    if clean:
        text = "".join(" " if c.isspace() else c for c in text if not _is_control(c))
    if chinese:
        text = "".join(f" {c} " if _is_chinese(c) else c for c in text)
    if strip_accents:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    if lowercase:
        text = "".join(c.lower() for c in text)  # character by character: a sigma at the end of a word stays one
    words: list[str] = []
    for word in text.split():
        start = 0
        for i, character in enumerate(word):
            if _is_mark(character):
                words += [word[start:i], character] if start < i else [character]
                start = i + 1
        if start < len(word):
            words.append(word[start:])
    return words


def word_pieces(
    word: str, ids: Mapping[str, int], *, unknown: str, inside: str = "##", longest: int = 100
) -> list[str]:
    """The longest pieces of the vocabulary from the left; a word that cannot be cut so is ``unknown``.

    >>> word_pieces("walking", {"walk": 0, "##ing": 1, "##in": 2}, unknown="?")
    ['walk', '##ing']
    """
    if len(word) > longest:
        return [unknown]
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        prefix = inside if start else ""
        while end > start and prefix + word[start:end] not in ids:
            end -= 1
        if end == start:
            return [unknown]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def _is_control(character: str) -> bool:
    if character in "\t\n\r":
        return False
    return character in "\0\ufffd" or unicodedata.category(character)[0] == "C"


def _is_chinese(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in CHINESE)


def _is_mark(character: str) -> bool:
    return character in ASCII_MARKS or unicodedata.category(character)[0] == "P"
