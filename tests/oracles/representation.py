"""Objectives of metric learning against sums over pairs and derivatives by differences."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import torch
from scipy import special, stats
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.weights import build
from margin.notes.claims.chance import plausible
from margin.representation.clip import CLIP, TextEncoder, zero_shot_probabilities
from margin.representation.contrastive import clip_loss, cosine_similarity, nt_xent
from margin.representation.factors import FactorModel
from margin.representation.metric_learning import NeighborhoodComponentsAnalysis, nca_objective
from margin.representation.pretraining import masked_words, next_words, pretrain
from margin.representation.riemannian import curve_length, geodesic_curve, local_metric, pullback_metric
from margin.representation.simclr import SimCLR
from margin.representation.views import two_views


@oracle("margin.representation.metric_learning.nca_objective")
def neighbors_of_the_same_class(seed: int) -> Verdict:
    """The expected number of rows whose random neighbor has their class, one pair at a time."""
    rng = np.random.default_rng(seed)
    X, y, A = rng.normal(size=(9, 3)), np.arange(9) % 3, rng.normal(size=(2, 3))

    def value(matrix: np.ndarray) -> float:
        total = 0.0
        for i in range(9):
            weight = [0.0 if j == i else np.exp(-np.sum((matrix @ (X[i] - X[j])) ** 2)) for j in range(9)]
            total += sum(w for w, label in zip(weight, y) if label == y[i]) / sum(weight)
        return total

    objective, slope = nca_objective(A, X, y)
    steps = [
        [np.where((np.arange(2)[:, None] == i) & (np.arange(3) == j), 1e-5, 0.0) for j in range(3)] for i in range(2)
    ]
    expected = [[(value(A + h) - value(A - h)) / 2e-5 for h in row] for row in steps]
    return every(value=near(objective, value(A), tolerance=1e-9), slope=near(slope, expected, tolerance=1e-6))


@oracle(*(f"margin.representation.riemannian.{name}" for name in ("local_metric", "curve_length", "geodesic_curve")))
def lengths_piece_by_piece(seed: int) -> Verdict:
    """The metric entry by entry at points away from the rows; lengths as sums; shortest curves are no longer."""
    rng = np.random.default_rng(seed)
    X, points, curve = rng.normal(size=(7, 3)), rng.normal(size=(4, 3)) + 0.4, rng.normal(size=(5, 3))
    metric = local_metric(X, sigma=0.8, rho=0.3)
    expected = np.empty((4, 3))
    for i, d in np.ndindex(4, 3):
        weights = [np.exp(-sum((x - points[i]) ** 2) / (2 * 0.64)) for x in X]
        expected[i, d] = 1 / (sum(w * (x[d] - points[i, d]) ** 2 for w, x in zip(weights, X)) + 0.3)
    length = sum(
        np.sqrt(float(metric((a + b) / 2) @ (b - a) ** 2)) for a, b in pairwise(curve)
    )  # fmt: skip
    flat = lambda points: np.ones(np.shape(points))  # noqa: E731
    bent = np.linspace(0, 1, 9)[:, None] * np.array([1.0, 2.0, 0.0]) + 0.2 * rng.normal(size=(9, 3))
    bent[0], bent[-1] = 0.0, [1.0, 2.0, 0.0]
    straight = geodesic_curve(bent[0], bent[-1], flat, 8, start=bent)
    shortest = geodesic_curve(X[0], X[1], metric, 8)
    return every(
        metric=near(metric(points), expected, tolerance=1e-10),
        length=near(curve_length(curve, metric), length, tolerance=1e-10),
        straight=near(straight, np.linspace(bent[0], bent[-1], 9), tolerance=1e-3),
        ends=near(shortest[[0, -1]], X[:2], tolerance=1e-12),
        shorter=equal(curve_length(shortest, metric) <= curve_length(np.linspace(X[0], X[1], 9), metric) + 1e-9, True),
    )


@oracle("margin.representation.clip.zero_shot_probabilities", "margin.representation.contrastive.nt_xent",
        "margin.representation.contrastive.clip_loss")  # fmt: skip
def pairs_by_torch(seed: int) -> Verdict:
    """Cross-entropies of torch over every pair; rows so far from all names that only differences count."""
    g = torch.Generator().manual_seed(seed)
    a, b = (torch.nn.functional.normalize(torch.randn(5, 3, generator=g).double(), dim=1) for _ in range(2))
    images, texts = 40 * a.numpy(), b.numpy()[:4]
    expected = special.softmax(0.1 * images @ texts.T, axis=1)
    lost = partial(torch.nn.functional.cross_entropy, reduction="none")
    z = torch.cat([a, b])
    logits = z @ z.T / 0.4
    logits.fill_diagonal_(-torch.inf)
    partner = torch.cat([torch.arange(5) + 5, torch.arange(5)])
    table = 7.0 * a @ b.T
    both = [lost(t, torch.arange(5)) for t in (table, table.T)]
    return every(
        names=near(zero_shot_probabilities(images, texts, 0.1), expected, tolerance=1e-9),
        shifted=near(
            zero_shot_probabilities(np.ones((2, 1)), np.array([[900.0], [901.0]]), 1.0),
            np.tile(special.softmax([0.0, 1.0]), (2, 1)),
            tolerance=1e-9,
        ),
        views=near(nt_xent(3 * z, 0.4).numpy(), lost(logits, partner).numpy(), tolerance=1e-9),
        captions=near(clip_loss(2 * a, b, 7.0).numpy(), ((both[0] + both[1]) / 2).numpy(), tolerance=1e-9),
    )


@oracle("margin.representation.factors.embed", "margin.representation.factors.FactorModel")
def ratings_by_hand(seed: int) -> Verdict:
    """Products of two rows plus two biases; first factors normal with deviation 0.3."""
    model = FactorModel(400, 300, 5, seed=seed)
    with torch.no_grad():
        model.user_bias.copy_(torch.arange(400) / 10)
        model.item_bias.copy_(torch.arange(300) / -7)
    users, items = model.users.detach().numpy(), model.items.detach().numpy()
    expected = [users[3] @ items[7] + 0.3 - 1.0, users[9] @ items[0] + 0.9]
    return every(
        ratings=near(model(torch.tensor([3, 9]), torch.tensor([7, 0])).detach().numpy(), expected, tolerance=1e-5),
        users=plausible(stats.kstest(users.ravel() / 0.3, "norm").pvalue),
        items=plausible(stats.kstest(items.ravel() / 0.3, "norm").pvalue),
    )


@oracle("margin.representation.contrastive.cosine_similarity")
def angles_pair_by_pair(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.5, 1.4, size=(4, 3)), rng.normal(-0.3, 0.6, size=(5, 3))
    expected = [[u @ v / np.sqrt((u @ u) * (v @ v)) for v in b] for u in a]
    return near(cosine_similarity(torch.from_numpy(a), torch.from_numpy(b)).numpy(), expected, tolerance=1e-12)


@oracle("margin.representation.clip.CLIP")
def captions_of_unequal_length(seed: int) -> Verdict:
    """A text is the mean over its own words, whatever stands beside it; probabilities: a softmax of scaled angles."""
    encoder: TextEncoder = build(lambda: TextEncoder(9, 6, 4, 3), seed, torch.float64).requires_grad_(False)
    texts = [[3, 2, 8, 5, 7], [4], [6, 2]]
    tokens = torch.zeros(3, 5, dtype=torch.int64)
    for row, text in zip(tokens, texts):
        row[: len(text)] = torch.tensor(text)
    words, places = encoder.words.weight.numpy(), encoder.positions.weight.numpy()
    matrix, bias = encoder.hidden.weight.numpy(), encoder.hidden.bias.numpy()
    means = [
        np.mean([np.maximum(matrix @ (words[word] + places[k]) + bias, 0) for k, word in enumerate(text)], axis=0)
        for text in texts
    ]
    images = np.random.default_rng(seed).random((12, 6, 6))
    captions = ["a small red thing", "blue", "one green one"] * 4
    model = CLIP(["dense 5"], n_components=4, max_iter=2, batch_size=6, random_state=seed).fit(images, captions)
    names = ["blue", "a small red thing"]
    similarity = model.similarity(images[:3], names)
    odds = np.exp(float(model._ready_module().scale.detach()) * similarity)
    return every(
        pooled=near(encoder.pool(tokens).numpy(), means, tolerance=1e-12),
        alone=near(model.encode_texts(captions[1:2]), model.encode_texts(captions[:3])[1:2], tolerance=1e-6),
        chosen=near(model.zero_shot(images[:3], names, "{c}"), odds / odds.sum(axis=1, keepdims=True), tolerance=1e-5),
    )


@oracle("margin.representation.riemannian.pullback_metric")
def slopes_by_differences(seed: int) -> Verdict:
    """Three numbers bent into four: the products of difference quotients, pair by pair."""
    rng = np.random.default_rng(seed)
    W, point, h = rng.normal(size=(4, 3)), rng.normal(size=3), 1e-5
    bend = lambda x: np.sin(W @ x) + (W @ x) ** 2 / 5  # noqa: E731
    columns = [(bend(point + step) - bend(point - step)) / (2 * h) for step in h * np.eye(3)]
    expected = [[a @ b for b in columns] for a in columns]
    weight = torch.from_numpy(W)
    bent = lambda x: torch.sin(weight @ x) + (weight @ x).square() / 5  # noqa: E731
    return near(pullback_metric(bent, point), expected, tolerance=1e-6)


@oracle(*(f"margin.representation.pretraining.{name}" for name in ("next_words", "masked_words")))
def labels_from_the_text_itself(seed: int) -> Verdict:
    """Texts of unequal length: every beginning with the word behind it; one word of each hidden, all as often."""
    rng = np.random.default_rng(seed)
    lengths = [5, 2, 4]
    codes = np.zeros((3, 5), dtype=np.int64)
    for row, length in enumerate(lengths):
        codes[row, :length] = rng.integers(2, 40, size=length)
    pairs = sorted(
        (tuple(codes[row, :k].tolist()) + (0,) * (5 - k), int(codes[row, k]))
        for row, length in enumerate(lengths)
        for k in range(1, length)
    )
    inputs, labels = next_words(codes)
    hidden = [masked_words(codes, rng) for _ in range(300)]
    changed = [np.argwhere(given != codes) for given, _ in hidden]
    places = np.array([where[:, 1] for where in changed])  # (300, 3)
    counts = [np.bincount(places[:, row], minlength=length) for row, length in enumerate(lengths)]
    return every(
        beginnings=equal(sorted(zip(map(tuple, inputs.tolist()), labels.tolist())), pairs),
        one_of_each=equal(all(where[:, 0].tolist() == [0, 1, 2] for where in changed), True),
        hidden_word=equal(all((codes[range(3), p] == words).all() for p, (_, words) in zip(places, hidden)), True),
        mark=equal(all((given[range(3), p] == 1).all() for p, (given, _) in zip(places, hidden)), True),
        inside=equal([len(count) for count in counts], lengths),
        evenly=every(**{f"text_{k}": plausible(stats.chisquare(count).pvalue) for k, count in enumerate(counts)}),
    )


@oracle("margin.representation.pretraining.pretrain")
def the_first_loss_by_hand(seed: int) -> Verdict:
    """Before any step the loss is the cross-entropy of the untrained encoder on the first draw of texts."""
    corpus = ["red green blue", "green blue", "blue red red green"]
    fresh, model = (pretrain("masked", corpus, width=6, steps=steps, batch_size=7, seed=seed) for steps in (0, 1))
    rng = np.random.default_rng(seed)
    rows = rng.integers(3, size=7)
    position = {word: k + 2 for k, word in enumerate(fresh.vocabulary)}
    surprises = []
    lengths = np.array([len(corpus[row].split()) for row in rows])
    for row, hidden in zip(rows, rng.integers(lengths)):
        words = [position[word] for word in corpus[row].split()]
        label, words[hidden] = words[hidden], 1
        with torch.no_grad():
            scores = fresh.encoder(torch.tensor([words + [0] * (4 - len(words))]))[0].double().numpy()
        surprises.append(-special.log_softmax(scores)[label])
    return every(
        loss=near(model.losses[0], np.mean(surprises), tolerance=1e-5),
        moved=equal(bool(torch.equal(next(model.encoder.parameters()), next(fresh.encoder.parameters()))), False),
    )


@oracle("margin.representation.views.two_views")
def views_one_change_at_a_time(seed: int) -> Verdict:
    """Noise, contrast and flips repeated from the same stream of random numbers, image by image."""
    x = torch.from_numpy(np.random.default_rng(seed).normal(0.3, 1.0, size=(3, 2, 4, 5)))
    first, second = two_views(x, ["contrast 0.4", "noise 0.2"], seed)
    stream, expected = torch.Generator().manual_seed(seed), []
    for _ in range(2):
        factor = torch.rand(3, 2, 1, 1, generator=stream, dtype=torch.float64)
        noise = torch.randn(3, 2, 4, 5, generator=stream).double()
        made = np.empty((3, 2, 4, 5))
        for n, c in np.ndindex(3, 2):
            made[n, c] = x[n, c].numpy() * (0.6 + 0.8 * float(factor[n, c])) + 0.2 * noise[n, c].numpy()
        expected.append(made)
    flips = two_views(x, ["flip"], seed)[0]
    either = [min(float((f - x[n]).abs().max()), float((f - x[n].flip(-1)).abs().max())) for n, f in enumerate(flips)]
    return every(
        first=near(first, expected[0], tolerance=1e-12),
        second=near(second, expected[1], tolerance=1e-12),
        whole_images_are_flipped=near(either, np.zeros(3), tolerance=0.0),
    )


@oracle(*(f"margin.representation.simclr.{name}" for name in ("ProjectedEncoder", "SimCLR")))
def loss_of_two_views_by_hand(seed: int) -> Verdict:
    """Channels that differ: standardized, changed twice, encoded, projected; similarities pair by pair."""
    images = np.random.default_rng(seed).normal([5.0, -2.0, 0.1], [3.0, 0.5, 0.02], size=(8, 6, 6, 3))
    model = SimCLR(["conv 4 3", "pool 2"], n_components=5, n_projected=3, temperature=0.7, augment=["noise 0.1"],
                   max_iter=1, batch_size=8, random_state=seed).fit(images)  # fmt: skip
    module = model._ready_module().double()
    center, scale = images.mean(axis=(0, 1, 2)), images.std(axis=(0, 1, 2))
    x = torch.from_numpy(((images - center) / scale).transpose(0, 3, 1, 2).copy())
    raw = torch.from_numpy(images.transpose(0, 3, 1, 2).copy())
    found = model._loss(module, (raw,), torch.Generator().manual_seed(seed))["loss"].detach()
    views = two_views(x, ["noise 0.1"], torch.Generator().manual_seed(seed))
    with torch.no_grad():
        h = module.body.encoder(torch.cat(views)).numpy()
    (w_1, b_1), (w_2, b_2) = [
        [p.detach().numpy() for p in layer.parameters()] for layer in (module.body.head[1], module.body.head[3])
    ]
    z = np.maximum(np.maximum(h, 0) @ w_1.T + b_1, 0) @ w_2.T + b_2
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    losses = []
    for i in range(16):
        odds = [np.exp(z[i] @ z[j] / 0.7) for j in range(16) if j != i]
        losses.append(-np.log(np.exp(z[i] @ z[(i + 8) % 16] / 0.7) / sum(odds)))
    with torch.no_grad():
        code = module.body.encoder(x).numpy()
    return every(
        loss=near(found, (np.array(losses[:8]) + losses[8:]) / 2, tolerance=1e-4),
        code=near(model.transform(images), code, tolerance=1e-3),
    )


@oracle("margin.representation.metric_learning.NeighborhoodComponentsAnalysis")
def a_metric_at_its_best(seed: int) -> Verdict:
    """Columns in units of their own: at the map found, the stochastic neighbors' hits, added by hand, are highest."""
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 3
    X = (rng.normal(size=(30, 3)) + np.column_stack([y, -y, 0 * y])) * [1.0, 40.0, 0.2]
    start = rng.normal(size=(2, 3)) / X.std(axis=0)
    model = NeighborhoodComponentsAnalysis(2, init=start, max_iter=300, tol=1e-9).fit(X, y)

    def hits(A: np.ndarray) -> float:
        Z = X @ A.T
        total = 0.0
        for i in range(30):
            p = np.exp(-((Z[i] - Z) ** 2).sum(axis=1))
            p[i] = 0.0
            total += p[y == y[i]].sum() / p.sum()
        return total

    step = 1e-5 / X.std(axis=0)
    slopes = [
        (hits(model.components_ + e) - hits(model.components_ - e)) / 2e-5
        for e in (row[:, None] * column * step for row in np.eye(2) for column in np.eye(3))
    ]
    return every(
        flat=near(slopes, np.zeros(6), tolerance=0.02),
        better=equal(hits(model.components_) >= hits(start), True),
        mapped=near(model.transform(X), X @ model.components_.T, tolerance=1e-10),
        metric=near(model.mahalanobis_, model.components_.T @ model.components_, tolerance=1e-10),
    )
