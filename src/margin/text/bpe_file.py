"""The file ``tokenizer.json`` of Hugging Face's ``tokenizers`` for byte-level byte-pair encoding, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

__all__ = ["parse", "visible", "write"]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
MODEL = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


@cache
def _byte_characters() -> tuple[str, ...]:
    """A visible character for each byte: itself where it is printable Latin-1, else one of U+0100 and following."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return tuple(chr(byte) if byte in printable else chr(next(others)) for byte in range(256))


@cache
def _character_bytes() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(_byte_characters())}


def visible(data: bytes) -> str:
    """Bytes as the file writes them: one visible character per byte.

    >>> visible(" é".encode())
    'ĠÃ©'
    """
    return "".join(_byte_characters()[byte] for byte in data)


def write(tokens: Sequence[bytes], merges: Sequence[tuple[int, int, int]], special: dict[str, int]) -> dict[str, Any]:
    """The content of the file."""
    plain = [(i, token) for i, token in enumerate(tokens) if i not in special.values()]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": content, **ADDED} for content, i in special.items()],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {
            **MODEL,
            "vocab": {visible(token): i for i, token in plain},
            "merges": [[visible(tokens[a]), visible(tokens[b])] for a, b, _ in merges],
        },
    }


def parse(content: Any) -> tuple[list[bytes], list[tuple[int, int, int]], dict[str, int]]:
    """Tokens, merges and special tokens of a file; one sentence where it asks for what is not byte-level BPE."""
    try:
        _check_kind(content)
        vocab, model = content["model"]["vocab"], content["model"]
        added = {str(token["content"]): int(token["id"]) for token in content.get("added_tokens") or []}
        by_id = {int(i): _data(token) for token, i in vocab.items() if token not in added}
        by_id |= {i: token.encode() for token, i in added.items()}
        pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        merges = [(vocab[a], vocab[b], vocab[a + b]) for a, b in pairs]
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"BytePairTokenizer: the file is no tokenizer.json ({problem!r}).") from None
    if sorted(by_id) != list(range(len(by_id))):
        raise ValueError("BytePairTokenizer: the ids of the file must be 0, 1, 2, ... without a gap.")
    return [by_id[i] for i in range(len(by_id))], merges, added


def _check_kind(content: Any) -> None:
    model, cut = content["model"], content.get("pre_tokenizer") or {}
    if model.get("type") != "BPE" or cut.get("type") != "ByteLevel":
        got = f"{model.get('type')} after {cut.get('type')}"
        raise ValueError(
            f"BytePairTokenizer: the file must hold a BPE model after a ByteLevel pre-tokenizer; got {got}."
        )
    for part, options in ((model, MODEL), (cut, {k: BYTE_LEVEL[k] for k in ("add_prefix_space", "use_regex")})):
        for name, value in options.items():
            if name != "type" and (part.get(name, value) or None) != (value or None):
                raise ValueError(f"BytePairTokenizer: {name} of the file must be {value}; got {part[name]}.")
    if content.get("normalizer"):
        raise ValueError("BytePairTokenizer: the file must have no normalizer; ours changes no text.")


def _data(token: str) -> bytes:
    return bytes(_character_bytes()[character] for character in token)
