"""Tokens: one-hot vectors, vocabularies, byte pairs, embeddings."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import torch

from margin.core.verdict import Verdict, above, corrected, equal, every, near, raises
from margin.notes.claims import claim
from margin.text import BytePairTokenizer
from margin.text.bpe_merging import learn_merges, merge_symbols
from margin.text.language import embed_tokens
from margin.text.pieces import split_pieces
from margin.text.vectors import one_hot
from margin.text.vocabulary import train_tokenizer

SENTENCE = "The chef cooked a meal for the critic."
TOKENIZED = ["The", "chef", "cooked", "a", "meal", "for", "his", "critic", "."]  # as the notes color it
UNSEEN = "naïve 日本語 🦉\x00\n  don't  ½"
SYLLABLES = ("lo", "wer", "ne", "st", "ing", "é", "日本", "🦉")


def corpus(seed: int, n: int = 200) -> list[str]:
    """Sentences of made-up words."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(40)]
    return [" ".join(rng.choice(words, 8)) for _ in range(n)]


@claim("one-hot-encoding")
def a_class_is_a_basis_vector(seed: int) -> Verdict:
    ids = np.random.default_rng(seed).integers(0, 7, size=500)
    table = one_hot(ids, 7)
    return every(
        one_per_row=equal(table.sum(axis=1), np.ones(500)),
        zeros_and_ones=equal(set(np.unique(table).tolist()), {0.0, 1.0}),
        argmax_inverts=equal(table.argmax(axis=1), ids),
        columns_count=equal(table.sum(axis=0), np.bincount(ids, minlength=7).astype(float)),
        rejected=raises(ValueError, lambda: one_hot([7], 7), match="from 0 to 6"),
    )


@claim("tokenisation")
def text_becomes_indices_and_comes_back(seed: int) -> Verdict:
    texts = [*corpus(seed), SENTENCE]
    tokenizers = {level: train_tokenizer(texts, level=level) for level in ("char", "word", "subword")}
    ids = {level: tokenizer.encode(SENTENCE) for level, tokenizer in tokenizers.items()}
    size, n = tokenizers["word"].vocab_size, len(ids["word"])
    T = one_hot(ids["word"], size).T  # the notes put tokens in columns
    subword = tokenizers["subword"]
    shown = [piece.strip() for piece in split_pieces(SENTENCE)]
    truth = every(
        known_text=equal(
            {level: t.decode(ids[level]) for level, t in tokenizers.items()}, dict.fromkeys(ids, SENTENCE)
        ),
        every_text=equal(subword.decode(subword.encode(UNSEEN)), UNSEEN),
        indices_of_the_vocabulary=equal(all(0 <= i < size for i in ids["word"]), True),
        shape=equal(T.shape, (size, n)),
        one_hot_columns=equal(T.sum(axis=0), np.ones(n)),
        the_sentence_split=equal(shown, ["The", "chef", "cooked", "a", "meal", "for", "the", "critic", "."]),
    )
    return corrected(
        truth,
        the_tokens_are_those_of_the_sentence=equal(shown, TOKENIZED),
        T_is_1_by_1_by_N=equal(T.shape, (1, 1, n)),
    )


def pair_counts(words: dict[bytes, int]) -> Counter[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    for word, times in words.items():
        for left, right in itertools.pairwise(word):
            counts[left, right] += times
    return counts


@claim("byte-pair-encoding")
def the_commonest_pair_becomes_a_token(seed: int) -> Verdict:
    texts = corpus(seed)
    words = {piece.encode(): count for piece, count in Counter(p for t in texts for p in split_pieces(t)).items()}
    merges = learn_merges(words, 40)
    counts = pair_counts(words)
    size, longest = 300, max(words, key=len)
    tokenizer = BytePairTokenizer.train(texts, size)
    ranks = {pair: (rank, 256 + rank) for rank, pair in enumerate(merges)}
    times = [sum(n * _occurrences(word, merges[:k], merges[k]) for word, n in words.items()) for k in (0, 10, 39)]
    by_hand = BytePairTokenizer.train("hug pug pun bun hugs hug", 259)  # "ug" 4 times; then h + ug 3; then " p" twice
    again = BytePairTokenizer.from_json(tokenizer.to_json())
    truth = every(
        first_is_the_commonest=equal(counts[merges[0]], max(counts.values())),
        in_order_of_frequency=equal(times, sorted(times, reverse=True)),
        by_hand=equal(by_hand.merges, [(b"u", b"g"), (b"h", b"ug"), (b" ", b"p")]),
        vocabulary=equal(tokenizer.vocab_size, 256 + len(tokenizer.merges)),
        as_large_as_asked=equal(tokenizer.vocab_size, size),
        or_all_pairs=equal(BytePairTokenizer.train("abc", size).vocab_size, 258),
        merged_in_order=equal(merge_symbols(list(longest), ranks), _in_order(list(longest), merges)),
        lossless=equal(tokenizer.decode(tokenizer.encode(UNSEEN)), UNSEEN),
        every_byte=equal(tokenizer.decode_bytes(tokenizer.encode_bytes(bytes(range(256)))), bytes(range(256))),
        shorter=above(sum(len(t.encode()) for t in texts) / sum(len(tokenizer.encode(t)) for t in texts), 1.5),
        file=equal(again.encode(UNSEEN + texts[0]), tokenizer.encode(UNSEEN + texts[0])),
    )
    first_256 = {chr(i) for i in range(256)}
    return corrected(
        truth,
        base_are_the_first_256_characters=equal(set(UNSEEN) <= first_256, True),
        the_loop_runs_as_often_as_the_vocabulary_is_large=equal(len(tokenizer.merges), size),
    )


def _in_order(word: list[int], merges: list[tuple[int, int]]) -> list[int]:
    for rank, pair in enumerate(merges):
        merged: list[int] = []
        for symbol in word:
            merged.append(symbol)
            if tuple(merged[-2:]) == pair:
                merged[-2:] = [256 + rank]
        word = merged
    return word


def _occurrences(word: bytes, before: list[tuple[int, int]], pair: tuple[int, int]) -> int:
    """How often ``pair`` stands in a word in which ``before`` has been merged."""
    symbols = _in_order(list(word), before)
    return sum(both == pair for both in itertools.pairwise(symbols))


@claim("token-embedding")
def an_embedding_is_a_product_with_one_hot_vectors(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    E = torch.from_numpy(rng.normal(size=(4, 12))).requires_grad_()
    ids = torch.from_numpy(rng.integers(0, 6, size=9))  # columns 6 to 11 are not used
    X = embed_tokens(E, ids)
    weights = torch.from_numpy(rng.normal(size=(4, 9)))
    (slope,) = torch.autograd.grad((X * weights).sum(), E)
    table = torch.from_numpy(one_hot(ids.numpy(), 12)).T
    used = set(ids.tolist())
    truth = every(
        product=equal(X.detach().numpy(), (E @ table).detach().numpy()),
        shape=equal(tuple(X.shape), (4, 9)),
        gradient=near(slope, weights @ table.T, tolerance=1e-12),
        only_used_columns=equal({k for k in range(12) if bool(slope[:, k].any())}, used),
        far_smaller=equal(X.shape[0] < table.shape[0], True),
    )
    square = torch.from_numpy(rng.normal(size=(12, 12)))  # where both readings have the shape of an embedding
    return corrected(truth, it_selects_rows=near((square @ table)[:, 0], square[ids[0]], tolerance=1e-6))
