"""Kernels of texts: compiled and as they are written."""

import numpy as np
import pytest
from scipy import special
from tests.compiled.levels import agree

from margin.compiled import text
from margin.text import (
    bpe_kernels,
    chain_kernels,
    glove_kernels,
    piece_kernels,
    topic_kernels,
    word2vec_kernels,
)
from margin.text.bpe_numbers import FIRST_SLOTS
from margin.text.pieces import character_classes

TEXTS = [
    b"",
    b" ",
    b"'",
    b"a",
    b"It's 2 o'clock,  isn't it?\n\n  we'll see' 're",
    "señor  Ωμέγα\u2003日本 ½Ⅷ🦉\xa0 \u3000x".encode(),
    bytes(range(256)) + b"\xe2\x82" + b"\xf4\x90\x80\x80\xed\xa0\x80 \xc2",
]


def pieces_by(kernels, texts):
    data = np.frombuffer(b"".join(texts), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    numbers, codes = np.full(len(data), -7, dtype=np.int32), np.zeros(len(data), dtype=np.uint64)
    spans = np.full((2, len(data)), -7)
    table = np.empty(max(4 * len(data), FIRST_SLOTS), dtype=np.int32)
    n, m = kernels.number_pieces(data, offsets, character_classes(False), numbers, *spans, codes, table)
    return n, m, numbers.tolist(), spans.tolist(), codes.tolist()


@pytest.mark.parametrize("texts", [[], [b""], TEXTS, TEXTS[::-1], [b"".join(TEXTS)], *([t] for t in TEXTS)])
def test_pieces(texts):
    assert pieces_by(text, texts) == pieces_by(piece_kernels, texts)


def test_a_table_of_pieces_grows():
    words = [f"{i:x}".encode().translate(bytes.maketrans(b"0123456789", b"ghijklmnop")) for i in range(1500)]
    compiled = pieces_by(text, words)
    assert compiled[:2] == (1500, 1500)
    assert compiled == pieces_by(piece_kernels, words)


def merges_by(kernels, words, weights, n_merges, min_frequency):
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    symbols = np.concatenate([np.zeros(0, dtype=np.int32), *words]).astype(np.int32)
    n, ends = len(symbols), np.cumsum(lengths)
    before, after = np.arange(-1, n - 1), np.arange(1, n + 1)
    after[ends - 1] = before[ends - lengths] = -1
    pairs = kernels.PairCounts(
        np.empty(max(12 * n, FIRST_SLOTS), dtype=np.int32),
        *(np.zeros(3 * n, dtype=np.int64) for _ in range(2)),
        *(np.full((3 * n, 2), -1, dtype=np.int32) for _ in range(2)),
        np.zeros((3 * n, 2), dtype=np.int64),
    )
    merges = np.full((n_merges, 2), -1)
    done = kernels.learn_pairs(symbols, before, after, np.repeat(weights, lengths), pairs, merges, min_frequency)
    return done, merges.tolist(), symbols.tolist(), before.tolist(), after.tolist()


@pytest.mark.parametrize("n, most, n_merges", [(0, 0, 3), (1, 2, 3), (40, 4, 0), (60, 3, 200), (150, 90, 40)])
def test_learned_pairs(n, most, n_merges):
    rng = np.random.default_rng(n)
    words = [rng.integers(0, most, rng.integers(1, 12)) for _ in range(n)]  # few symbols: ties; many: a larger table
    given = words, rng.integers(1, 4, n), n_merges, 2
    assert merges_by(text, *given) == merges_by(bpe_kernels, *given)


def encoded_by(kernels, words, ranks):
    keys = np.array([left << 32 | right for left, right in ranks], dtype=np.int64)
    table = np.empty(2 ** (2 * len(ranks) + 1).bit_length(), dtype=np.int32)
    kernels.number_pairs(table, len(table), keys, len(keys))
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    data = np.frombuffer(b"".join(words), dtype=np.uint8)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1][: len(words)]
    made, ids = np.arange(256, 256 + len(ranks), dtype=np.int32), np.arange(256, dtype=np.int32)
    symbols, first, last = np.zeros(len(data), dtype=np.int32), np.zeros(len(words), int), np.zeros(len(words), int)
    used = kernels.encode_words(data, starts, ends, ids, table, keys, made, symbols, first, last)
    short = np.flatnonzero(last >= 0).astype(np.int32)
    out = np.zeros(2 * len(data), dtype=np.int32)
    n = kernels.spread(np.append(short, short[::-1]).astype(np.int32), symbols, first, last, out)
    return table.tolist(), used, symbols.tolist(), first.tolist(), last.tolist(), n, out.tolist()


@pytest.mark.parametrize("n_words", [0, 1, 30])
@pytest.mark.parametrize("ranks", [[], [(97, 97), (256, 256), (97, 98), (257, 97), (258, 258), (256, 98)]])
def test_encoded_words(n_words, ranks):
    rng = np.random.default_rng(n_words)
    lengths = [64, 65, 1, 2, *rng.integers(1, 80, 40)][:n_words]
    words = [rng.choice([97, 98], length, p=[0.7, 0.3]).astype(np.uint8).tobytes() for length in lengths]
    assert encoded_by(text, words, ranks) == encoded_by(bpe_kernels, words, ranks)


@pytest.mark.parametrize("n, p, k", [(0, 3, 2), (1, 1, 1), (9, 12, 7), (5, 20, 19)])
def test_topics(n, p, k):
    rng = np.random.default_rng(n)
    counts = rng.poisson(0.7, (n, p))
    rows, words = (part.copy() for part in np.nonzero(counts))
    ends, likelihood = np.append(0, np.cumsum((counts > 0).sum(axis=1))), rng.random((p, k))
    likelihood[0] = 0.0  # a word that no topic explains
    outcomes = []
    for kernels in (text, topic_kernels):
        gamma, expected = np.ones((n, k)), np.zeros((p, k))
        given = ends, words, counts[rows, words].astype(float), likelihood, 0.3, 1e-4, 20
        kernels.infer_documents(*given, gamma, expected, np.empty((2, k)))
        tokens = rows.astype(np.int32), words.astype(np.int32), np.arange(len(rows)) % k
        by_document, by_word = np.zeros((n, k), dtype=np.int64), np.zeros((k, p), dtype=np.int64)
        np.add.at(by_document, (rows, tokens[2]), 1)
        np.add.at(by_word, (tokens[2], words), 1)
        drawn = np.random.default_rng(1).random(len(rows))
        tables = by_document, by_word, by_word.sum(axis=1)
        kernels.draw_topics(*tokens, *tables, 0.3, 0.1, drawn, np.empty(k))
        assert all(table.min(initial=0) >= 0 for table in tables)
        outcomes.append([part.tobytes() for part in (tokens[2], *tables, gamma, expected)])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("k", [1, 2, 5, 17])
@pytest.mark.parametrize("ends", [[], [1], [0, 3, 3, 4, 16]])
@pytest.mark.parametrize("kind", ["drawn", "ties", "impossible"])
def test_best_tags(k, ends, kind):
    rng = np.random.default_rng(k)
    n = max(ends, default=0)
    scores, first, last, between = (rng.normal(size=shape) for shape in ((n, k), k, k, (k, k)))
    if kind == "ties":
        scores, first, last, between = (np.round(part) for part in (scores, first, last, between))
    if kind == "impossible":
        between[:, k // 2] = scores[1::2] = -np.inf
    outcomes = []
    for kernels in (text, chain_kernels):
        tags, found = np.full(n, -1), np.zeros(len(ends))
        scratch = np.empty((2, k)), np.full((n, k), -1)
        kernels.best_tags(scores, np.array(ends, dtype=np.int64), first, last, between, tags, found, *scratch)
        outcomes.append((tags.tolist(), found.tobytes()))
    assert outcomes[0] == outcomes[1]


def test_random_numbers_and_alias_tables():
    weights = np.random.default_rng(0).random(37) ** 3
    outcomes = []
    for kernels in (text, word2vec_kernels):
        state = np.array([2**63 - 25], dtype=np.uint64)
        chance, other = np.empty(37), np.empty(37, dtype=np.int64)
        kernels.alias_table(weights, chance, other, np.empty((2, 37), dtype=np.int64))
        numbers = [kernels.uniform(state) for _ in range(50)]
        drawn = [kernels.draw(chance, other, state) for _ in range(200)]
        outcomes.append((chance.tobytes(), other.tobytes(), numbers, drawn, state.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("d", [1, 4, 16, 39])
@pytest.mark.parametrize("negative", [0, 3])
@pytest.mark.parametrize("cbow", [False, True])
def test_a_pass_of_word2vec(d, negative, cbow, beside):
    rng = np.random.default_rng(d)
    n, ends = 9, np.array([0, 1, 14, 14, 40])
    tokens = rng.integers(0, n, 40).astype(np.int32)
    lengths = rng.integers(1, 5, n).astype(np.int32)
    nodes, turns = rng.integers(0, n, (n, 4)).astype(np.int32), rng.integers(0, 2, (n, 4)).astype(np.int8)
    chance, other = rng.random(n), rng.integers(0, n, n)
    first = rng.normal(size=(2, n, d)).astype(np.float32)
    outcomes = []
    for kernels in (text, word2vec_kernels):
        corpus = kernels.Corpus(tokens, ends, np.linspace(0.5, 1.5, n), np.empty(26, dtype=np.int64))
        rows, labels = np.empty((2, 4), dtype=np.int64)
        targets = kernels.Targets(negative, chance, other, nodes, turns, lengths, rows, labels)
        vectors, outputs = first.copy()
        hidden, gradient = np.empty((2, 1, d), dtype=np.float32)
        state = np.array([77], dtype=np.uint64)
        settings = 3, cbow, 0.05, 0.01, state, hidden, gradient
        loss, steps = kernels.train_pass(corpus, targets, vectors, outputs, *settings)
        outcomes.append((steps, state[0], loss, vectors, outputs))
    assert outcomes[0][:2] == outcomes[1][:2]
    assert outcomes[0][0] > 20
    assert not np.array_equal(outcomes[0][3], first[0])
    agree(outcomes[0][2:], outcomes[1][2:], beside, rtol=1e-4, atol=1e-5)  # Python has no single numbers of its own


@pytest.mark.parametrize("d", [0, 1, 8, 19])
@pytest.mark.parametrize("n", [0, 1, 6])
@pytest.mark.parametrize("scale", [1.0, 1e15])
def test_a_step_of_an_output(d, n, scale, beside):
    rng = np.random.default_rng(d + n)
    hidden, first = (rng.normal(size=(3, d)) * scale).astype(np.float32), rng.normal(size=(4, d)).astype(np.float32)
    rows, labels = rng.integers(0, 4, 8), rng.integers(0, 2, 8)
    outcomes = []
    for kernels in (text, word2vec_kernels):
        outputs, gradient = first.copy(), np.zeros((1, d), dtype=np.float32)
        outcomes.append((kernels.output_step(hidden, 1, outputs, rows, labels, n, 0.1, gradient), outputs, gradient))
    agree(*outcomes, beside, rtol=1e-4, atol=1e-5 * scale)
    assert all(np.all(np.isfinite(part)) for part in outcomes[0])
    if scale == 1.0 and n == 1:
        score = (2 * labels[0] - 1) * float(hidden[1] @ first[rows[0]])
        np.testing.assert_allclose(outcomes[0][0], np.log1p(np.exp(-score)), rtol=1e-5)


@pytest.mark.parametrize("x", [1e-300, 1e-8, 0.3, 1.0, 7.999, 8.0, 1234.5, 1e300])
def test_digamma(x):
    compiled = text.digamma(x)
    assert compiled == topic_kernels.digamma(x)
    np.testing.assert_allclose(compiled, special.digamma(x), rtol=1e-12)


@pytest.mark.parametrize("d", [0, 1, 8, 21])
@pytest.mark.parametrize("n_entries", [0, 50])
def test_a_pass_of_glove(d, n_entries):
    rng = np.random.default_rng(d)
    rows, columns = rng.integers(0, 6, (2, 50)).astype(np.int32)
    given = rng.permutation(50)[:n_entries], rows, columns, rng.normal(size=50), rng.random(50)
    first = rng.normal(size=(2, 6, d + 1))
    outcomes = []
    for kernels in (text, glove_kernels):
        W, C = first.copy()
        squares = np.ones((2, 6, d + 1))
        loss = kernels.glove_pass(*given, W, C, *squares, 0.05)
        outcomes.append((loss, W.tobytes(), C.tobytes(), squares.tobytes()))
    assert outcomes[0] == outcomes[1]
