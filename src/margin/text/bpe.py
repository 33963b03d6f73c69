"""Byte-level byte-pair encoding: any string as tokens of a vocabulary learned from text, and back without loss."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from margin.text.bpe_compiled import CompiledEncoder, count_pieces, learn_merges_compiled
from margin.text.bpe_file import parse, write
from margin.text.bpe_merging import merge_symbols
from margin.text.pieces import split_pieces

__all__ = ["BytePairTokenizer"]

MOST_PIECES = 2**17  # pieces whose tokens are remembered; most text is made of fewer different ones
LARGE = 2**8  # characters from which on kernels are faster than looking remembered pieces up


class BytePairTokenizer:
    r"""A byte-level byte-pair tokenizer.

    The base vocabulary are the 256 byte values. Training cuts text into pieces (:mod:`margin.text.pieces`) and then,
    ``vocab_size - 256 - len(special_tokens)`` times, makes the commonest pair of neighboring symbols a new token, so
    the i-th merge is token ``256 + i``. Encoding applies the merges in the order in which they were learned. Special
    tokens have the last ids and stand for themselves wherever their string occurs. The file ``tokenizer.json`` is the
    one of Hugging Face's ``tokenizers``.

    Examples
    --------
    >>> tokenizer = BytePairTokenizer.train(["low lower lowest", "new newer newest"], vocab_size=264)
    >>> ids = tokenizer.encode("lowest 🦉")
    >>> [tokenizer.token_bytes(i) for i in ids][:2]
    [b'lo', b'west']
    >>> tokenizer.decode(ids)
    'lowest 🦉'
    >>> tokenizer.vocab_size
    264
    """

    def __init__(
        self, tokens: Sequence[bytes], merges: Sequence[tuple[int, int, int]], special_tokens: dict[str, int]
    ) -> None:
        """From the bytes of each token, the merges (left, right, merged id) in order, and the ids of special tokens."""
        self._tokens = list(tokens)
        self._merges = list(merges)
        self._special = dict(special_tokens)
        self._byte_ids = [-1] * 256
        for i, token in enumerate(self._tokens):
            if len(token) == 1 and i not in self._special.values():
                self._byte_ids[token[0]] = i
        if -1 in self._byte_ids:
            raise ValueError(f"BytePairTokenizer: the byte {self._byte_ids.index(-1)} has no token.")
        self._ranks = {(a, b): (rank, new) for rank, (a, b, new) in enumerate(self._merges)}
        longest_first = sorted(self._special, key=len, reverse=True)
        self._special_pattern = re.compile("|".join(map(re.escape, longest_first))) if self._special else None
        self._pieces: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        vocab_size: int,
        *,
        special_tokens: Sequence[str] = (),
        min_frequency: int = 1,
    ) -> BytePairTokenizer:
        """Learn merges from ``texts`` until there are ``vocab_size`` tokens or no pair occurs ``min_frequency`` times.

        A single string is one text. Occurrences of special tokens in the texts are left out.
        """
        special = list(special_tokens)
        if len(set(special)) != len(special) or not all(isinstance(s, str) and s for s in special):
            raise ValueError(f"BytePairTokenizer: special_tokens must be different non-empty strings; got {special}.")
        n_merges = vocab_size - 256 - len(special)
        if n_merges < 0:
            smallest = 256 + len(special)
            raise ValueError(
                f"BytePairTokenizer: vocab_size must be at least {smallest} (256 bytes and the special tokens); "
                f"got {vocab_size}."
            )
        pattern = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True)))) if special else None

        def parts() -> Iterator[str]:  # counted as they come: texts may be chunks of more than memory holds
            for text in [texts] if isinstance(texts, str) else texts:
                _check_text(text)
                yield from pattern.split(text) if pattern else [text]

        merges = learn_merges_compiled(count_pieces(parts()), n_merges, min_frequency=min_frequency)
        tokens = [bytes([i]) for i in range(256)]
        for left, right in merges:
            tokens.append(tokens[left] + tokens[right])
        numbered = [(left, right, 256 + i) for i, (left, right) in enumerate(merges)]
        ids = {token: len(tokens) + i for i, token in enumerate(special)}
        return cls([*tokens, *(s.encode() for s in special)], numbered, ids)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, special tokens included."""
        return len(self._tokens)

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merged pairs in the order in which they were learned."""
        return [(self._tokens[a], self._tokens[b]) for a, b, _ in self._merges]

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens and their ids."""
        return dict(self._special)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one token."""
        if not 0 <= token < len(self._tokens):
            raise ValueError(f"BytePairTokenizer: ids are between 0 and {len(self._tokens) - 1}; got {token}.")
        return self._tokens[token]

    def encode(self, text: str, *, parse_special: bool = True) -> list[int]:
        """The ids of the tokens of ``text``; with ``parse_special`` false special tokens are plain text."""
        _check_text(text)
        if self._special_pattern is None or not parse_special:
            return self._encode_plain(text)
        ids: list[int] = []
        end = 0
        for match in self._special_pattern.finditer(text):
            ids += self._encode_plain(text[end : match.start()])
            ids.append(self._special[match.group()])
            end = match.end()
        return ids + self._encode_plain(text[end:])

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of any bytes, valid UTF-8 or not; of valid UTF-8 the same as of its string without special tokens."""
        if len(data) >= LARGE:
            return self._compiled.encode(data)
        return self._encode_plain(data.decode(errors="surrogateescape"))

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """The string of ``ids``; bytes that are no UTF-8, as when a character is cut, become U+FFFD."""
        kept = set(self._special.values()) if skip_special_tokens else set()
        return self.decode_bytes(i for i in ids if i not in kept).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ``ids``."""
        return b"".join(self.token_bytes(int(i)) for i in ids)

    def to_json(self) -> str:
        """The text of ``tokenizer.json``."""
        return json.dumps(write(self._tokens, self._merges, self._special), ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> BytePairTokenizer:
        """The tokenizer of :meth:`to_json`, or of a byte-level BPE file that Hugging Face's ``tokenizers`` wrote."""
        try:
            content: Any = json.loads(text)
        except ValueError as problem:
            raise ValueError(f"BytePairTokenizer: this is no JSON ({problem}).") from None
        return cls(*parse(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``tokenizer.json`` to ``path``."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BytePairTokenizer:
        """Read a ``tokenizer.json``."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    @cached_property
    def _compiled(self) -> CompiledEncoder:
        return CompiledEncoder(self._byte_ids, self._ranks)

    def _encode_plain(self, text: str) -> list[int]:
        if len(text) >= LARGE:
            return self._compiled.encode(text)
        known, ids = self._pieces, []
        for piece in split_pieces(text):
            tokens = known.get(piece)
            if tokens is None:
                data = piece.encode(errors="surrogateescape")
                tokens = merge_symbols([self._byte_ids[byte] for byte in data], self._ranks)
                if len(known) >= MOST_PIECES:
                    known.clear()
                known[piece] = tokens
            ids += tokens
        return ids


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"BytePairTokenizer: texts must be strings; got {type(text).__name__}.")
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise ValueError(
            f"BytePairTokenizer: text must be valid Unicode; it has a lone surrogate at position {problem.start}."
        ) from None
