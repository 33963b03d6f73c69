"""Word vectors and topics, pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import optimize, sparse
from scipy.special import digamma, expit
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.text import glove, topics, vectors, word_vectors

PATH = "margin.text"


@oracle(f"{PATH}.glove.co_occurrences", f"{PATH}.glove.glove_loss", f"{PATH}.glove.GloVe")
def counted_neighbors(seed: int) -> Verdict:
    """Every pair of positions of a sentence; a pass of AdaGrad over the entries in the drawn order."""
    rng = np.random.default_rng(seed)
    tokens, ends = rng.integers(5, size=20), np.array([7, 8, 20])
    counted = np.zeros((5, 5))
    for begin, end in zip((0, 7, 8), ends):
        for i, j in combinations(range(begin, end), 2):
            if j - i <= 3:
                counted[tokens[i], tokens[j]] += 1 / (j - i)
                counted[tokens[j], tokens[i]] += 1 / (j - i)
    W, C = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    loss = sum(
        min(1.0, (counted[i, j] / 2.5) ** 0.6) * (W[i, :3] @ C[j, :3] + W[i, 3] + C[j, 3] - np.log(counted[i, j])) ** 2
        for i, j in zip(*np.nonzero(counted))
    )
    sentences = [[f"w{tokens[i]}" for i in range(a, b)] for a, b in zip((0, 7, 8), ends)]
    model = glove.GloVe(3, window=3, x_max=2.5, alpha=0.6, min_count=1, max_iter=2, random_state=seed).fit(sentences)
    names = list(model.vocabulary_)
    expected_vectors, expected_loss = _adagrad(counted[np.ix_(*[[int(name[1:]) for name in names]] * 2)], seed)
    return every(
        counts=near(glove.co_occurrences(tokens, ends, 5, 3).toarray(), counted, tolerance=1e-12),
        loss=near(glove.glove_loss(W, C, sparse.csr_matrix(counted), x_max=2.5, alpha=0.6), loss, tolerance=1e-9),
        vectors=near(model.vectors_, expected_vectors, tolerance=1e-5),
        told=near(model.loss_, expected_loss, tolerance=1e-5),
    )


def _adagrad(counted: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    rng, n = np.random.default_rng(seed), len(counted)
    W, C = ((rng.random((n, 4)) - 0.5) / 4 for _ in range(2))
    squares = np.ones((2, n, 4))
    table = sparse.csr_matrix(counted).tocoo()
    weights = np.minimum(1.0, (table.data / 2.5) ** 0.6)
    for _ in range(2):
        total = 0.0
        for e in rng.permutation(table.nnz):
            i, j = table.row[e], table.col[e]
            error = W[i, :3] @ C[j, :3] + W[i, 3] + C[j, 3] - np.log(table.data[e])
            total += weights[e] * error**2
            slope = weights[e] * error
            by_w, by_c = slope * np.append(C[j, :3], 1.0), slope * np.append(W[i, :3], 1.0)
            W[i] -= 0.05 * by_w / np.sqrt(squares[0, i])
            C[j] -= 0.05 * by_c / np.sqrt(squares[1, j])
            squares[0, i] += by_w**2
            squares[1, j] += by_c**2
    return W[:, :3] + C[:, :3], total / weights.sum()


@oracle(*(f"{PATH}.word_vectors.{name}" for name in ("huffman", "hierarchical_softmax", "negative_sampling_loss",
                                                     "analogy")), f"{PATH}.vectors.one_hot")  # fmt: skip
def words_one_by_one(seed: int) -> Verdict:
    """The tree's cost against every merge of the two rarest; slopes by differences; cosines by loops."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 50, size=7)
    tree, queue, cost = word_vectors.huffman(counts), sorted(counts.tolist()), 0
    while len(queue) > 1:
        joined = queue[0] + queue[1]
        cost += joined
        queue = sorted([*queue[2:], joined])
    v, U = rng.normal(size=3), rng.normal(size=(6, 3))
    chances = [
        np.prod([expit(U[m] @ v) if t == 0 else 1 - expit(U[m] @ v) for m, t in zip(tree.nodes[w][:k], tree.turns[w])])
        for w, k in enumerate(tree.lengths)
    ]
    paths = {tuple(tree.turns[w][: tree.lengths[w]]) for w in range(7)}
    negatives, context = rng.normal(size=(4, 3)), rng.normal(size=3)
    start = np.concatenate([v, context, negatives.ravel()])

    def loss(flat: np.ndarray) -> float:
        a, b, c = flat[:3], flat[3:6], flat[6:].reshape(4, 3)
        return float(-np.log(expit(b @ a)) - np.log(1 - expit(c @ a)).sum())

    value, *slopes = word_vectors.negative_sampling_loss(v, context, negatives)
    E, names = rng.normal(size=(8, 3)), list("abcdefgh")
    unit = [e / np.sqrt(e @ e) for e in E]
    target = unit[1] - unit[0] + unit[2]
    cosines = {names[i]: unit[i] @ target / np.sqrt(target @ target) for i in range(3, 8)}
    nearest = word_vectors.analogy(E, names, "a", "b", "c", n=5)
    return every(
        cost=equal(int(counts @ tree.lengths), cost),
        prefixes=equal(any(a != b and a == b[: len(a)] for a in paths for b in paths), False),
        chances=near(word_vectors.hierarchical_softmax(v, U, tree), chances, tolerance=1e-10),
        total=near(sum(chances), 1.0, tolerance=1e-10),
        loss=near(value, loss(start), tolerance=1e-9),
        slopes=near(
            np.concatenate([s.ravel() for s in slopes]), optimize.approx_fprime(start, loss, 1e-7), tolerance=1e-5
        ),
        order=equal([name for name, _ in nearest], sorted(cosines, key=lambda name: -cosines[name])),
        cosines=near([value for _, value in nearest], sorted(cosines.values(), reverse=True), tolerance=1e-10),
        one_hot=near(np.asarray(vectors.one_hot([2, 0, 2], 4)), np.eye(4)[[2, 0, 2]], tolerance=0),
    )


@oracle(f"{PATH}.topics.document_posterior")
def topics_of_documents(seed: int) -> Verdict:
    """The fixed point of one document, word by word."""
    rng = np.random.default_rng(seed)
    counts, topic = rng.integers(0, 5, size=(3, 6)), rng.gamma(2.0, size=(2, 6)) + 0.3
    gamma, expected = topics.document_posterior(counts, topic, 0.4, tol=1e-10, max_iter=3000)
    logs = digamma(topic) - digamma(topic.sum(axis=1, keepdims=True))
    expected_gamma, total = np.zeros((3, 2)), np.zeros((2, 6))
    for d in range(3):
        row = np.ones(2)
        for _ in range(3000):
            heights = np.exp(digamma(row) - digamma(row.sum()))[:, None] * np.exp(logs)
            phi = heights / heights.sum(axis=0)
            row = 0.4 + phi @ counts[d]
        expected_gamma[d] = row
        total += phi * counts[d]
    return every(gamma=near(gamma, expected_gamma, tolerance=1e-5), expected=near(expected, total, tolerance=1e-5))
