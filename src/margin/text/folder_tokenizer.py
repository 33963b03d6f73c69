"""The tokenizer of a pretrained encoder: a ``tokenizer.json`` of WordPiece, byte-level byte pairs or CLIP's.

Files are not trusted: a kind or an option that would change what a text becomes and is not known here is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_file import visible
from margin.text.word_pairs import END_OF_WORD, WordPairs, check_word_pairs
from margin.text.wordpiece import bert_words, word_pieces

__all__ = ["FolderTokenizer", "folder_tokenizer"]

MOST_ID = 2**24
UNKNOWN_NAMES = ("[UNK]", "<unk>")
MASK_NAMES = ("[MASK]", "<mask>")


class FolderTokenizer:
    """Texts to ids by the content of a ``tokenizer.json``.

    >>> vocab = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "cat": 4, "##s": 5}
    >>> marks = {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}
    >>> model = {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]"}
    >>> cut = {"type": "BertPreTokenizer"}
    >>> content = {"model": model, "pre_tokenizer": cut, "normalizer": {"type": "BertNormalizer"}}
    >>> tokenizer = FolderTokenizer(content | {"post_processor": marks})
    >>> tokenizer.pieces("A cats dog"), tokenizer.encode("A cats dog")
    (['a', 'cat', '##s', '[UNK]'], [1, 3, 4, 5, 0, 2])
    """

    def __init__(self, content: Any):
        try:
            self._read(content)
        except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as problem:
            raise ValueError(f"FolderTokenizer: the file is no tokenizer.json ({problem!r}).") from None

    def _read(self, content: Any) -> None:
        model = content["model"]
        added = {str(t["content"]): _whole(t["id"]) for t in content.get("added_tokens") or []}
        self.pairs: BytePairTokenizer | None = None
        self.words: WordPairs | None = None
        if model.get("type") == "WordPiece":
            self.ids: dict[str, int] = {str(token): _whole(i) for token, i in model["vocab"].items()} | added
            self._read_word_pieces(content, model)
        elif model.get("type") == "BPE" and model.get("end_of_word_suffix") == END_OF_WORD:
            check_word_pairs(content)
            self.ids = {str(token): _whole(i) for token, i in model["vocab"].items()} | added
            self.words = WordPairs(model)
            self.unknown_token = str(model["unk_token"])
        elif model.get("type") == "BPE":
            self.pairs = BytePairTokenizer.from_json(json.dumps(content))
            special = self.pairs.special_tokens
            plain = {i: visible(self.pairs.token_bytes(i)) for i in range(self.pairs.vocab_size)}
            self.ids = {token: i for i, token in plain.items() if i not in special.values()} | special
        else:
            raise ValueError(
                f"FolderTokenizer: the model must be WordPiece or byte-level BPE; got {str(model.get('type'))[:40]!r}."
            )
        if sorted(self.ids.values()) != list(range(len(self.ids))):
            raise ValueError("FolderTokenizer: the ids of the file must be 0, 1, 2, ... without a gap.")
        self.tokens = sorted(self.ids, key=self.ids.__getitem__)
        self.before, self.after = _marks(content.get("post_processor"), self.ids)
        names = [name for name in added if name]
        self.special = frozenset(self.ids[name] for name in names) | {*self.before, *self.after}
        longest_first = sorted(names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if names else None

    def _read_word_pieces(self, content: Any, model: Any) -> None:
        normal, cut = content.get("normalizer") or {}, content.get("pre_tokenizer") or {}
        if normal.get("type") != "BertNormalizer" or cut.get("type") != "BertPreTokenizer":
            raise ValueError(
                "FolderTokenizer: WordPiece must follow a BertNormalizer and a BertPreTokenizer; "
                f"got {str(normal.get('type'))[:40]} and {str(cut.get('type'))[:40]}."
            )
        lowercase = bool(normal.get("lowercase", True))
        accents = normal.get("strip_accents")
        self.cutting = {
            "lowercase": lowercase,
            "strip_accents": lowercase if accents is None else bool(accents),
            "clean": bool(normal.get("clean_text", True)),
            "chinese": bool(normal.get("handle_chinese_chars", True)),
        }
        self.unknown_token = str(model["unk_token"])
        if self.unknown_token not in self.ids:
            raise ValueError(f"FolderTokenizer: unk_token {self.unknown_token[:40]!r} must be in the vocabulary.")
        self.inside = str(model.get("continuing_subword_prefix", "##"))
        self.longest = _whole(model.get("max_input_chars_per_word", 100))

    @property
    def hidden(self) -> int:
        """The id that hides a token: that of a mask, of an unknown token, or the first one."""
        names = (*MASK_NAMES, getattr(self, "unknown_token", ""), *UNKNOWN_NAMES)
        return next((self.ids[name] for name in names if name in self.ids), 0)

    def pieces(self, text: str) -> list[str]:
        """The tokens of ``text`` as strings, without the marks around it; special tokens stand for themselves."""
        if self._pattern is None:
            return self._plain(text)
        pieces: list[str] = []
        end = 0
        for match in self._pattern.finditer(text):
            pieces += [*self._plain(text[end : match.start()]), match.group()]
            end = match.end()
        return pieces + self._plain(text[end:])

    def _plain(self, text: str) -> list[str]:
        if self.pairs is not None:
            return [self.tokens[i] for i in self.pairs.encode(text, parse_special=False)]
        if self.words is not None:
            return self.words.pieces(text)
        cut = bert_words(text, **self.cutting)
        unknown, inside, longest = self.unknown_token, self.inside, self.longest
        return [p for w in cut for p in word_pieces(w, self.ids, unknown=unknown, inside=inside, longest=longest)]

    def encode(self, text: str, most: int | None = None) -> list[int]:
        """The ids of ``text`` between its marks, at most ``most`` with them: the end of a longer text is cut."""
        return self.enclose([self.ids[piece] for piece in self.pieces(text)], most)

    def enclose(self, ids: list[int], most: int | None = None) -> list[int]:
        """``ids`` between the marks."""
        room = None if most is None else max(most - len(self.before) - len(self.after), 0)
        return [*self.before, *ids[:room], *self.after]


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_ID:
        raise ValueError(f"FolderTokenizer: ids must be integers from 0 to {MOST_ID}; got {str(value)[:40]}.")
    return value


def _marks(processor: Any, ids: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """What stands before and after one text."""
    kind = (processor or {}).get("type")
    if kind in (None, "ByteLevel"):
        return [], []
    if kind in ("BertProcessing", "RobertaProcessing"):
        return [ids[processor["cls"][0]]], [ids[processor["sep"][0]]]
    if kind == "TemplateProcessing":
        # The text itself stands where a part is no special token; no token has an empty name.
        names = [str(part["SpecialToken"]["id"]) if "SpecialToken" in part else "" for part in processor["single"]]
        if names.count("") == 1:
            text = names.index("")
            return [ids[name] for name in names[:text]], [ids[name] for name in names[text + 1 :]]
    raise ValueError(
        "FolderTokenizer: post_processor must put marks before and after one text; "
        f"got {str(kind)[:40]!r} of another form."
    )


@lru_cache(maxsize=4)
def folder_tokenizer(content: str) -> FolderTokenizer:
    """The tokenizer of the text of a file; read once, however often asked."""
    try:
        return FolderTokenizer(json.loads(content))
    except (json.JSONDecodeError, RecursionError) as problem:
        raise ValueError(f"FolderTokenizer: this is no JSON ({str(problem)[:80]}).") from None
