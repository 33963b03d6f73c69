"""Texts as tokens in a file that is mapped into memory: what a language model learns from when text does not fit."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.full_disk import naming
from margin.text.bpe import BytePairTokenizer
from margin.text.text_chunks import text_chunks
from margin.text.token_codes import END, TOKENS, TextCodes

__all__ = ["TokenFile"]

TOKENS_NAME, FACTS_NAME = "tokens.bin", "tokens.json"
READ_TOKENS = 2**20  # looked at together where all of them are checked


class TokenFile:
    """The tokens of text files, in a folder of two files: ``tokens.bin`` holds the codes, 0 between texts, as unsigned
    integers, and ``tokens.json`` what they stand for.

    ``LanguageModel(tokens="bpe").fit(TokenFile.write("tokens", ["a.txt", "b.txt"], tokens="bpe"))`` gives the model
    that ``fit`` of the two texts gives, to the bit, while no more of the text than a chunk, and of the tokens than a
    batch, is ever in memory. What is kept to learn byte pairs are the different pieces of the text and their counts.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = Path(folder.name, "a.txt").write_text("abba")
    >>> file = TokenFile.write(Path(folder.name, "tokens"), [Path(folder.name, "a.txt")], tokens="char")
    >>> file.tokens.tolist(), len(file), file.codes.size
    ([0, 1, 2, 2, 1, 0], 6, 3)
    >>> TokenFile(Path(folder.name, "tokens")).sha256 == file.sha256
    True
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | os.PathLike[str]):
        """Open what :meth:`write` wrote; a file that is damaged is one sentence."""
        self.folder = Path(folder)
        path = self.folder / FACTS_NAME
        try:
            facts: Any = json.loads(path.read_text(encoding="utf-8"))
            self.codes = TextCodes.of(facts["codes"])
            self.vocab_size, self.n_tokens, self.sha256 = facts["vocab_size"], facts["n_tokens"], str(facts["sha256"])
            self.dtype = np.dtype({"uint16": "<u2", "uint32": "<u4"}[facts["dtype"]])
        except FileNotFoundError:
            raise ValueError(f"{folder}: is no folder of tokens; TokenFile.write makes one.") from None
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise ValueError(f"{path}: does not describe tokens ({' '.join(str(problem).split())}).") from None
        content = self.folder / TOKENS_NAME
        size = content.stat().st_size if content.is_file() else 0
        if not isinstance(self.n_tokens, int) or size != self.n_tokens * self.dtype.itemsize or not size:
            raise ValueError(f"{content}: is truncated or of another file; it has {size} bytes.")

    @classmethod
    def write(
        cls,
        folder: str | os.PathLike[str],
        files: Iterable[str | os.PathLike[str]],
        tokens: str = "bpe",
        vocab_size: int = 1000,
    ) -> TokenFile:
        """Read text files in chunks, learn their codes, and write the tokens of all; each file is one text.

        ``tokens`` and ``vocab_size`` are those of :class:`~margin.text.LanguageModel`. The folder must not be there; it
        appears when all is written.
        """
        paths = [Path(path) for path in ([files] if isinstance(files, str | os.PathLike) else files)]
        folder = Path(folder)
        if tokens not in TOKENS:
            raise ValueError(f"TokenFile: tokens must be one of {', '.join(TOKENS)}; got {tokens!r}.")
        if folder.exists():
            raise FileExistsError(f"TokenFile: {str(folder)!r} is there already; choose another folder.")
        absent = next((path for path in paths if not path.is_file()), None)
        if absent is not None or not paths:
            raise ValueError(f"TokenFile: files must be text files; got {'none' if absent is None else str(absent)}.")
        codes = _learn(paths, tokens, vocab_size)
        folder.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            with naming(folder):
                _write_all(begun, codes, paths, vocab_size)
            os.replace(begun, folder)
        except BaseException:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        return cls(folder)

    def __len__(self) -> int:
        return self.n_tokens

    def __repr__(self) -> str:
        return f"TokenFile({self.n_tokens} {self.codes.kind} tokens, sha256 {self.sha256})"

    @cached_property
    def tokens(self) -> np.ndarray:
        """The codes, mapped into memory, none of them beyond the vocabulary."""
        mapped = np.memmap(self.folder / TOKENS_NAME, dtype=self.dtype, mode="r")
        for start in range(0, len(mapped), READ_TOKENS):
            highest = int(mapped[start : start + READ_TOKENS].max())
            if highest >= self.codes.size:
                raise ValueError(f"{self.folder / TOKENS_NAME}: holds the code {highest} of {self.codes.size} tokens.")
        return mapped

    def check_kind(self, owner: str, tokens: str, vocab_size: int) -> None:
        """Refuse a model whose parameters say other tokens than the file has."""
        for name, ours, theirs in (("tokens", self.codes.kind, tokens), ("vocab_size", self.vocab_size, vocab_size)):
            if ours != theirs and (name == "tokens" or tokens == "bpe"):
                raise ValueError(f"{owner}: {name} must be {ours!r}, as in {self.folder}; got {theirs!r}.")


def _learn(paths: Sequence[Path], kind: str, vocab_size: int) -> TextCodes:
    chunks = (chunk for path in paths for chunk in text_chunks(path))
    if kind == "byte":
        return TextCodes("byte")
    if kind == "bpe":
        return TextCodes("bpe", BytePairTokenizer.train(chunks, vocab_size).to_json())
    characters: set[str] = set()
    for chunk in chunks:
        characters.update(chunk)
    return TextCodes.learn("char", ["".join(characters)])


def _write_all(folder: Path, codes: TextCodes, paths: Sequence[Path], vocab_size: int) -> None:
    kind = "uint16" if codes.size <= 2**16 else "uint32"
    dtype, digest, n_tokens = np.dtype(kind).newbyteorder("<"), hashlib.sha256(), 0
    with (folder / TOKENS_NAME).open("wb") as file:
        for part in _encode(codes, paths):
            content = part.astype(dtype).tobytes()
            file.write(content)
            digest.update(content)
            n_tokens += len(part)
    if n_tokens == len(paths) + 1:
        raise ValueError("TokenFile: files must have at least one character; all of them are empty.")
    facts = {
        "codes": codes.stored,
        "vocab_size": int(vocab_size),
        "n_tokens": n_tokens,
        "dtype": kind,
        "sha256": digest.hexdigest(),
    }
    (folder / FACTS_NAME).write_text(json.dumps(facts), encoding="utf-8")


def _encode(codes: TextCodes, paths: Sequence[Path]) -> Iterator[np.ndarray]:
    """The codes of all texts chunk by chunk, with an end before, between and after them."""
    end = np.array([END])
    yield end
    for path in paths:
        for chunk in text_chunks(path):
            yield codes.encode(chunk, "TokenFile")
        yield end
