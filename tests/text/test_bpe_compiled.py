"""The compiled byte pairs are those of the Python functions: pieces, counts, merges, tokens."""

from collections import Counter

import numpy as np
import pytest

from margin.text import bpe, bpe_compiled
from margin.text.bpe import BytePairTokenizer
from margin.text.bpe_compiled import CompiledEncoder, count_pieces, learn_merges_compiled
from margin.text.bpe_merging import learn_merges, merge_symbols
from margin.text.pieces import split_pieces

PARTS = [
    *("the ", "critic's", " wasn't", "'ll", "'", "''ve", "  ", "   two", " \n", "\n\n", "\t", "a", "aa", "aaa", "aaaa"),
    *(
        "x_1**2",
        " ½",
        "Ⅷ",
        "2²",
        "ελληνικά",
        " русский",
        "日本語の文章",
        "한국어",
        "हिन्दी",
        "ไทย",
        "🦉",
        "👩‍👩‍👧‍👦",
        " 🏳️‍🌈",
    ),
    *("\x00", "\x1c", "\x7f", "\x85", "\xa0", " \u2003", "\u3000x", "\u200b", "\ufeff", "\r\n", "\x0b", "é", "e\u0301"),
    "long" * 40,
]


def drawn(seed, n=400):
    return "".join(np.random.default_rng(seed).choice(PARTS, n))


@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_counted_as_by_the_pattern(seed):
    texts = [drawn(100 * seed + i, 60) for i in range(8)] + ["", "plain text's only", " "]
    expected = Counter(piece.encode() for text in texts for piece in split_pieces(text))
    assert count_pieces(texts) == expected
    ascii_texts = [text.encode("ascii", "ignore").decode() for text in texts]
    assert count_pieces(ascii_texts) == Counter(p.encode() for text in ascii_texts for p in split_pieces(text))


@pytest.mark.parametrize(("seed", "min_frequency"), [(0, 1), (1, 3), (2, 1)])
def test_merges_are_those_of_the_python_twin(seed, min_frequency):
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"abc", dtype=np.uint8)
    words = {rng.choice(letters, rng.integers(1, 12)).tobytes(): int(rng.integers(1, 9)) for _ in range(300)}
    expected = learn_merges(words, 200, min_frequency=min_frequency)
    assert learn_merges_compiled(words, 200, min_frequency=min_frequency) == expected
    assert len(expected) > 50


def piece_by_piece(tokenizer, pieces):
    return [t for piece in pieces for t in merge_symbols([tokenizer._byte_ids[b] for b in piece], tokenizer._ranks)]


@pytest.mark.parametrize("seed", range(3))
def test_tokens_are_those_of_the_python_functions(seed, monkeypatch):
    text = drawn(seed, 600)
    tokenizer = BytePairTokenizer.train([text, drawn(seed + 10)], 400)
    counts = Counter(piece.encode() for part in (text, drawn(seed + 10)) for piece in split_pieces(part))
    assert [(left, right) for left, right, _ in tokenizer._merges] == learn_merges(counts, 144)
    expected = piece_by_piece(tokenizer, [piece.encode() for piece in split_pieces(text)])
    assert tokenizer.encode(text) == expected
    assert tokenizer.decode(expected) == text
    encoder = CompiledEncoder(tokenizer._byte_ids, tokenizer._ranks)
    monkeypatch.setattr(bpe_compiled, "CHUNK", 50)  # many parts, and yet the same pieces
    assert encoder.encode(text) == expected
    monkeypatch.setattr(bpe, "LARGE", 10**9)  # as short texts are encoded, by remembered pieces
    assert tokenizer.encode(text) == expected


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_are_no_text(seed):
    rng = np.random.default_rng(seed)
    tokenizer = BytePairTokenizer.train([drawn(seed)], 300)
    cut = drawn(seed + 5).encode()
    mixed = b"".join(
        rng.bytes(3) + cut[i : i + 9] + bytes([0xED, 0xA0, 0x80, 0xC0, 0x80, 0xF4, 0x90, 0x80, 0x80, 0xE2, 0x82])
        for i in range(0, 900, 9)
    )
    for data in (mixed, rng.bytes(2000), bytes(range(256)) * 4):
        pieces = split_pieces(data.decode(errors="surrogateescape"))
        expected = piece_by_piece(tokenizer, [piece.encode(errors="surrogateescape") for piece in pieces])
        assert tokenizer.encode_bytes(data) == expected


def test_nothing_to_learn_from():
    assert learn_merges_compiled({}, 5) == learn_merges_compiled({b"": 2}, 5) == []
    assert learn_merges_compiled({b"": 2, b"aab": 1, b"a": 3}, 5) == learn_merges({b"": 2, b"aab": 1, b"a": 3}, 5)
    assert BytePairTokenizer.train([], 300).encode("a b") == [97, 32, 98]


def test_words_longer_than_the_kernel_takes():
    ranks = {(97, 97): (0, 256), (256, 256): (1, 257)}
    encoder = CompiledEncoder(range(256), ranks)
    for n in (63, 64, 65, 1001):
        assert encoder.encode("a" * n) == merge_symbols([97] * n, ranks)
