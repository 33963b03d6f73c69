"""Word vectors against finite differences, NumPy twins of the kernels, brute force, and a planted corpus."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from margin.compiled.text import alias_table, draw, glove_pass, output_step, uniform
from margin.text.glove import GloVe, co_occurrences, glove_loss
from margin.text.word2vec import Word2Vec, keep_probability
from margin.text.word_vectors import analogy, hierarchical_softmax, huffman, negative_sampling_loss


def numeric(function, x, step=1e-6):
    slope = np.empty_like(x)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        slope[index] = (function(up) - function(down)) / (2 * step)
    return slope


def test_gradients_of_negative_sampling_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    v, u, negatives = rng.normal(size=4), rng.normal(size=4), rng.normal(size=(3, 4))
    _, to_v, to_u, to_negatives = negative_sampling_loss(v, u, negatives)
    np.testing.assert_allclose(to_v, numeric(lambda x: negative_sampling_loss(x, u, negatives)[0], v), atol=1e-7)
    np.testing.assert_allclose(to_u, numeric(lambda x: negative_sampling_loss(v, x, negatives)[0], u), atol=1e-7)
    numbers = numeric(lambda x: negative_sampling_loss(v, u, x)[0], negatives)
    np.testing.assert_allclose(to_negatives, numbers, atol=1e-7)


def test_the_compiled_step_is_a_gradient_step():
    rng = np.random.default_rng(1)
    v, outputs = rng.normal(size=6).astype(np.float32), rng.normal(size=(5, 6)).astype(np.float32)
    rows, labels = np.array([2, 0, 4]), np.array([1, 0, 0])
    loss, to_v, to_u, to_negatives = negative_sampling_loss(v, outputs[2], outputs[[0, 4]])
    stepped, gradient = outputs.copy(), np.zeros((1, 6), dtype=np.float32)
    got = output_step(v[None], 0, stepped, rows, labels, 3, 0.1, gradient)
    assert got == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(gradient[0], to_v, rtol=1e-4, atol=1e-5)
    expected = outputs.copy()
    expected[2] -= 0.1 * to_u
    expected[[0, 4]] -= 0.1 * to_negatives
    np.testing.assert_allclose(stepped, expected, rtol=1e-4, atol=1e-6)


def test_the_tree_is_the_best_of_all_and_its_probabilities_sum_to_one():
    rng = np.random.default_rng(2)
    for n in (2, 3, 5, 40):
        counts = rng.integers(1, 100, n)
        tree = huffman(counts)
        assert np.sum(2.0**-tree.lengths) == 1  # a full binary tree
        p = counts / counts.sum()
        entropy = -(p * np.log2(p)).sum()
        assert entropy <= p @ tree.lengths < entropy + 1
        assert hierarchical_softmax(rng.normal(size=3), rng.normal(size=(n - 1, 3)), tree).sum() == pytest.approx(1)
    counts = [7, 5, 1, 1]
    full = [lengths for lengths in itertools.product(range(1, 4), repeat=4) if sum(2.0**-n for n in lengths) == 1]
    assert np.dot(counts, huffman(counts).lengths) == min(np.dot(counts, lengths) for lengths in full)


def test_drawn_numbers_are_uniform():
    state = np.array([12345], dtype=np.uint64)
    drawn = np.array([uniform(state) for _ in range(20_000)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    np.testing.assert_allclose(np.histogram(drawn, 10, (0, 1))[0] / 20_000, 0.1, atol=0.01)


def test_common_words_are_left_out_more_often():
    keep = keep_probability(np.array([1000, 100, 10]), 0.01)
    assert (np.diff(keep) > 0).all()
    assert keep_probability(np.array([3, 1]), 0).tolist() == [1, 1]


def test_co_occurrences_are_those_of_two_loops():
    rng = np.random.default_rng(3)
    tokens, ends = rng.integers(0, 6, 40), np.array([11, 11, 25, 40])
    expected = np.zeros((6, 6))
    for start, end in zip([0, *ends[:-1]], ends):
        for i, j in itertools.combinations(range(start, end), 2):
            if j - i <= 4:
                expected[tokens[i], tokens[j]] += 1 / (j - i)
                expected[tokens[j], tokens[i]] += 1 / (j - i)
    np.testing.assert_allclose(co_occurrences(tokens, ends, 6, 4).toarray(), expected)


def test_the_compiled_pass_of_glove_descends_its_loss():
    rng = np.random.default_rng(4)
    table = sparse.coo_matrix(np.array([[0.0, 3.0], [2.0, 5.0]]))
    W, C = rng.normal(size=(2, 4)), rng.normal(size=(2, 4))
    weights = np.minimum(1.0, (table.data / 100) ** 0.75)
    entry = 1
    one = sparse.coo_matrix((table.data[[entry]], (table.row[[entry]], table.col[[entry]])), shape=(2, 2))
    to_W, to_C = numeric(lambda x: glove_loss(x, C, one), W), numeric(lambda x: glove_loss(W, x, one), C)
    new_W, new_C, squares = W.copy(), C.copy(), [np.ones((2, 4)), np.ones((2, 4))]
    loss = glove_pass(np.array([entry]), table.row, table.col, np.log(table.data), weights, new_W, new_C, *squares, 0.1)
    assert loss == pytest.approx(glove_loss(W, C, one))
    np.testing.assert_allclose(new_W, W - 0.1 * to_W / 2, atol=1e-8)  # a first step of AdaGrad: squares are ones
    np.testing.assert_allclose(new_C, C - 0.1 * to_C / 2, atol=1e-8)
    np.testing.assert_allclose(squares[0], 1 + (to_W / 2) ** 2, atol=1e-7)


def planted(seed, n=1500):
    """Sentences from two subjects; words of one subject have the same neighbors."""
    rng = np.random.default_rng(seed)
    subjects = [[f"{name}{i}" for i in range(8)] for name in ("sea", "wine")]
    return [" ".join(rng.choice(subjects[rng.integers(2)], 8)) for _ in range(n)]


MODELS = [
    *(
        pytest.param(Word2Vec(16, mode=mode, objective=objective, sample=0, min_count=1, max_iter=6, random_state=0))
        for mode in ("skipgram", "cbow")
        for objective in ("negative-sampling", "hierarchical-softmax")
    ),
    pytest.param(GloVe(16, min_count=1, random_state=0)),
]


@pytest.mark.parametrize("model", MODELS)
def test_words_with_the_same_neighbors_become_neighbors(model):
    texts = planted(0)
    losses = [record["loss"] for record in model.iterate(texts)]
    assert losses[-1] < losses[0]
    right = [other.startswith("sea") for i in range(8) for other, _ in model.most_similar(f"sea{i}", 5)]
    assert np.mean(right) > 0.9
    assert model.transform([["sea0", "sea1"], "unknown"])[1].tolist() == [0.0] * 16


@pytest.mark.parametrize("model", [Word2Vec(4, min_count=1, random_state=1), GloVe(4, min_count=1, random_state=1)])
def test_a_resumed_fit_has_the_same_bits(model):
    texts = planted(1, 60)
    for _ in itertools.islice(model.iterate(texts), 2):
        pass
    state = model.get_state()
    list(model.iterate(texts, state=state))
    resumed = model.vectors_.copy()
    list(model.iterate(texts))
    np.testing.assert_array_equal(model.vectors_, resumed)


def test_analogies_of_an_exactly_linear_embedding():
    rng = np.random.default_rng(5)
    country = rng.normal(size=(4, 8))
    vocabulary = [f"{kind}{i}" for kind in ("country", "capital") for i in range(4)]
    vectors = np.vstack([country, country + 0.5 * rng.normal(size=8)])
    assert analogy(vectors, vocabulary, "country0", "capital0", "country2")[0][0] == "capital2"
    with pytest.raises(KeyError, match="'x' is not in the vocabulary"):
        analogy(vectors, vocabulary, "x", "capital0", "country2")


@pytest.mark.parametrize("X", ["one text", [3], [], [["a", 2]], ["a a a"]])
def test_bad_texts_are_named(X):
    with pytest.raises(ValueError, match=r"^Word2Vec: "):
        Word2Vec(min_count=1).fit(X)


def test_alias_tables_hold_the_distribution():
    weights = np.array([5.0, 0.0, 1.0, 3.0, 11.0, 0.5])
    chance, other = np.empty(6), np.empty(6, dtype=np.int64)
    alias_table(weights, chance, other, np.empty((2, 6), dtype=np.int64))
    expected = weights / weights.sum()
    held = chance / 6
    np.add.at(held, other, (1 - chance) / 6)
    np.testing.assert_allclose(held, expected, atol=1e-12)
    state = np.array([12345], dtype=np.uint64)
    drawn = np.bincount([draw(chance, other, state) for _ in range(20_000)], minlength=6) / 20_000
    assert drawn[1] == 0
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(0.25 / 20_000)
