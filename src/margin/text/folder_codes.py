"""The tokenizer of a pretrained encoder as the codes of texts: texts from 1 on, and marks behind them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from margin.text.folder_tokenizer import FolderTokenizer, folder_tokenizer
from margin.text.token_codes import TextCodes

__all__ = ["FolderTextCodes"]

FIRST_NAMES, SEPARATOR_NAMES = ("[CLS]", "<s>"), ("[SEP]", "</s>")
MASK_NAMES, PAD_NAMES = ("[MASK]", "<mask>"), ("[PAD]", "<pad>")


class FolderTextCodes(TextCodes):
    """Codes of a ``tokenizer.json`` that has a token which hides others.

    ``order`` are the ids of the file by code: what fills up (None if the file has none), all tokens of texts, the mark
    that begins a text, the one that ends it and the one that hides a token.
    """

    def __init__(self, content: str):
        self.kind, self.content = "folder", content
        self.tokenizer: FolderTokenizer = folder_tokenizer(content)
        self.pairs = self.tokenizer.pairs  # type: ignore[assignment]
        if self.tokenizer.words is not None:
            raise ValueError("FolderTextCodes: byte pairs that end words with </w> are CLIP's, which hides no token.")
        marks = self._marks()
        fill = next((self.tokenizer.ids[name] for name in PAD_NAMES if name in self.tokenizer.ids), None)
        kept = [i for i in range(len(self.tokenizer.tokens)) if i != fill and i not in marks]
        self.order: list[int | None] = [fill, *kept, *marks]
        self.size = 1 + len(kept)
        self.code = {i: code for code, i in enumerate(self.order) if i is not None}

    def _marks(self) -> tuple[int, int, int]:
        """First mark, separator and mask: around a text as the file says, by their names where it says nothing."""
        before, after = self.tokenizer.before, self.tokenizer.after
        if max(len(before), len(after)) > 1:
            raise ValueError("FolderTextCodes: post_processor must put at most one mark before and one after a text.")
        first = before[0] if before else self._find_id(FIRST_NAMES, "begins a text")
        separator = after[0] if after else self._find_id(SEPARATOR_NAMES, "ends a text")
        mask = self._find_id(MASK_NAMES, "hides others")
        if len({first, separator, mask}) < 3:
            raise ValueError("FolderTextCodes: the first, the last and the hiding mark must be different tokens.")
        return first, separator, mask

    def _find_id(self, names: tuple[str, ...], purpose: str) -> int:
        found = [self.tokenizer.ids[name] for name in names if name in self.tokenizer.ids]
        if not found:
            raise ValueError(f"FolderTextCodes: the file must have a token that {purpose}, {' or '.join(names)}.")
        return found[0]

    @property
    def spaced(self) -> bool:
        return self.pairs is not None

    @cached_property
    def unknown(self) -> int:
        """The code of a token that a text cannot have, such as what fills up written out."""
        names = (getattr(self.tokenizer, "unknown_token", ""), "[UNK]", "<unk>")
        found = (self.code[self.tokenizer.ids[name]] for name in names if name in self.tokenizer.ids)
        return next(found, 1)

    def encode(self, text: str, owner: str = "TextCodes", *, start: bool = True) -> np.ndarray:
        """The codes of ``text``; a mark that is written out in it is that mark."""
        ids = [self.tokenizer.ids[piece] for piece in self.tokenizer.pieces(text)]
        return np.array([self.code[i] or self.unknown for i in ids], dtype=np.int64)

    def bytes_of(self, code: int) -> bytes:
        """What one code stands for: of a piece inside a word its letters, of another also the space before it."""
        number = self.order[code]
        if number is None or number == self.order[0]:
            return b""
        if self.pairs is not None:
            return self.pairs.token_bytes(number)
        piece, inside = self.tokenizer.tokens[number], self.tokenizer.inside
        return (piece.removeprefix(inside) if piece.startswith(inside) else f" {piece}").encode()

    def decode(self, codes: Iterable[int]) -> str:
        text = super().decode(codes)
        return text if self.pairs is not None else text.removeprefix(" ")
