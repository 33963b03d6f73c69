r"""CLIP's byte pairs: lower case, white space dropped, and pieces that end a word told apart by ``</w>``.

.. code-block:: text

    's|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from margin.text.bpe_file import visible
from margin.text.bpe_merging import merge_symbols
from margin.text.bpe_numbers import LETTER, NUMBER
from margin.text.pieces import WHITE_SPACE, character_ranges

__all__ = ["END_OF_WORD", "WordPairs", "check_word_pairs"]

END_OF_WORD = "</w>"
MOST_WORDS = 2**16  # words whose pieces are remembered
CUT = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
MARKS = r"<\|startoftext\|>|<\|endoftext\|>|"  # which newer files cut out once more
NORMALIZER = ["NFC", "Replace", "Lowercase"]
MODEL = {"dropout": None, "continuing_subword_prefix": None, "fuse_unk": False, "byte_fallback": False,
         "ignore_merges": False}  # fmt: skip


class WordPairs:
    """Words to pieces by the model of a ``tokenizer.json``.

    >>> vocab = {"a": 0, "t</w>": 1, "at</w>": 2, "c": 3, "cat</w>": 4, "s</w>": 5, "?": 6}
    >>> model = {"vocab": vocab, "merges": ["a t</w>", "c at</w>"], "unk_token": "?"}
    >>> WordPairs(model).pieces("CAT  at s")
    ['cat</w>', 'at</w>', 's</w>']
    """

    def __init__(self, model: Mapping[str, Any]):
        self.ids = {str(token): int(i) for token, i in model["vocab"].items()}
        self.tokens = {i: token for token, i in self.ids.items()}
        self.unknown = self.ids[model["unk_token"]]
        pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
        self.ranks = {
            (self.ids[a], self.ids[b]): (rank, self.ids[a + b]) for rank, (a, b) in reversed([*enumerate(pairs)])
        }
        self._known: dict[str, list[str]] = {}

    def pieces(self, text: str) -> list[str]:
        """The pieces of all words of ``text``."""
        lower = "".join(c.lower() for c in unicodedata.normalize("NFC", text))  # a sigma at the end stays one
        return [piece for word in _pattern().findall(lower) for piece in self._merge(word)]

    def _merge(self, word: str) -> list[str]:
        found = self._known.get(word)
        if found is None:
            letters = visible(word.encode())
            symbols = [*letters[:-1], letters[-1] + END_OF_WORD]
            ids = merge_symbols([self.ids.get(symbol, self.unknown) for symbol in symbols], self.ranks)
            found = [self.tokens[i] for i in ids]
            if len(self._known) >= MOST_WORDS:
                self._known.clear()
            self._known[word] = found
        return found


def check_word_pairs(content: Mapping[str, Any]) -> None:
    """Raise ValueError where the file cuts or changes text in a way that is not CLIP's."""
    normal, cut = content.get("normalizer") or {}, content.get("pre_tokenizer") or {}
    steps = [step.get("type") for step in normal.get("normalizers") or []]
    if steps != NORMALIZER or normal["normalizers"][1].get("pattern") != {"Regex": r"\s+"}:
        raise ValueError("FolderTokenizer: words with </w> must follow NFC, Replace of white space and Lowercase.")
    cuts = cut.get("pretokenizers") or []
    pattern = ((cuts[0].get("pattern") or {}) if cuts else {}).get("Regex")
    if [step.get("type") for step in cuts] != ["Split", "ByteLevel"] or pattern not in (CUT, MARKS + CUT):
        raise ValueError("FolderTokenizer: words with </w> must be cut by CLIP's Split and ByteLevel.")
    if not cuts[0].get("invert") or cuts[0].get("behavior") != "Removed" or cuts[1].get("add_prefix_space"):
        raise ValueError("FolderTokenizer: Split must keep what matches, and ByteLevel must add no space.")
    for name, value in MODEL.items():
        if (content["model"].get(name) or None) != (value or None):
            raise ValueError(f"FolderTokenizer: {name} of the model must be {value}; got {content['model'][name]!r}.")


@cache
def _pattern() -> re.Pattern[str]:
    letters, numbers = character_ranges(LETTER), character_ranges(NUMBER)
    return re.compile(f"'s|'t|'re|'ve|'m|'ll|'d|[{letters}]+|[{numbers}]|[^{WHITE_SPACE}{letters}{numbers}]+")
