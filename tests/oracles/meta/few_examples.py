"""Learning without examples against ridge regression onto attributes; learning from few, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy import linalg
from scipy.special import logsumexp, softmax
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression, Ridge
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near, raises
from margin.meta import ZeroShot
from margin.meta.domains import coral, importance_weights
from margin.meta.episodes import EpisodeRows, sample_episode
from margin.meta.few_shot import FewShotLearner
from margin.meta.objectives import episode_loss
from margin.meta.similarity import one_shot_classify, pair_logits
from margin.meta.transfer import fine_tune, pretrain_then_finetune, transfer_curve
from margin.neural.generators import Seeds
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build
from margin.notes.claims.chance import plausible


@oracle("margin.meta.zero_shot.ZeroShot")
def attributes_by_ridge_regression(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    attributes = {"a": [0.2, 1.0], "b": [1.4, -0.3], "c": [-0.7, 0.5], "d": [2.0, 2.0]}  # nobody has seen d
    X, y = rng.normal(0.8, 1.5, size=(40, 3)), np.array(["a", "b", "c"])[rng.integers(3, size=40)]
    model = ZeroShot(attributes, alpha=0.7).fit(X, y)
    theirs = Ridge(alpha=0.7).fit(X, np.array([attributes[name] for name in y]))
    predicted = theirs.predict(X)
    distance = np.linalg.norm(predicted[:, None] - np.array(list(attributes.values())), axis=2)
    return every(
        weights=near(model.coef_, theirs.coef_.T, tolerance=1e-8),
        attributes=near(model.predict_attributes(X), predicted, tolerance=1e-8),
        classes=equal(model.predict(X).tolist(), [list(attributes)[k] for k in distance.argmin(axis=1)]),
    )


@oracle("margin.meta.domains.coral", "margin.meta.domains.importance_weights", "margin.meta.similarity.pair_logits")
def rows_of_another_domain(seed: int) -> Verdict:
    """Moved rows have the other mean and covariance; weights are odds of scikit-learn's regression; logits by hand."""
    rng = np.random.default_rng(seed)
    # Turned and stretched by known factors: a matrix of random numbers may be nearly singular.
    source, target = (
        rng.normal(size=(n, 3)) * [0.6, 1.3, 2.1] @ linalg.qr(rng.normal(size=(3, 3)))[0] + shift
        for n, shift in ((60, 1.0), (50, -2.0))
    )
    moved, exact = coral(source, target), coral(source, target, shrinkage=1e-10)
    roots = [linalg.sqrtm(np.cov(X.T) + 0.001 * np.eye(3)).real for X in (source, target)]
    rows = np.vstack([source[:20, :1], target[:, :1]])
    theirs = LogisticRegression(C=0.4, tol=1e-10).fit(rows, np.repeat([0, 1], [20, 50]))
    odds = np.exp(theirs.decision_function(source[:20, :1]))
    a, b = torch.tensor([[1.0, 2.0], [0.5, -1.0]]), torch.tensor([[0.0, 4.0], [0.5, 1.0]])
    return every(
        mean=near(exact.mean(axis=0), target.mean(axis=0), tolerance=1e-8),
        covariance=near(np.cov(exact.T), np.cov(target.T), tolerance=1e-6),
        moved=near(moved, (source - source.mean(axis=0)) @ np.linalg.inv(roots[0]) @ roots[1] + target.mean(axis=0),
                   tolerance=1e-6),
        weights=near(importance_weights(source[:20, :1], target[:, :1], 0.4), odds / odds.mean(),
                     tolerance=1e-3 * float(odds.max() / odds.mean())),
        logits=near(pair_logits(a, b, 0.7, 2.5).numpy(), [2.5 - 0.7 * 5.0, 2.5 - 0.7 * 4.0], tolerance=1e-5),
    )  # fmt: skip


CLASSES = "rstuvwxyz"  # of the few-shot problem: nine, of eight rows each


def crowded(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(list(CLASSES), 8))
    centers = 3 * rng.normal(size=(9, 3))
    return centers[np.searchsorted(list(CLASSES), y)] * [1.0, 5.0, 0.2] + rng.normal(size=(72, 3)) + 2.0, y


def layers(model: Any, X: np.ndarray) -> np.ndarray:
    """Rows at scale along the axes, and what one hidden layer of rectifiers adds, by the stored weights."""
    axes, w1, b1, w2, b2 = _weights(model, "axes")
    rows = (X - model.center_) / model.scale_
    return rows @ axes + np.maximum(rows @ w1.T + b1, 0) @ w2.T + b2


def _weights(model: Any, first: str) -> list[np.ndarray]:
    names = [first, *(f"added.linears.{k}.{part}" for k in (0, 1) for part in ("weight", "bias"))]
    return [np.array(model.weights_[name], dtype=np.float64) for name in names]


@oracle("margin.meta.few_shot.FewShotLearner")
def few_examples_by_hand(seed: int) -> Verdict:
    """Distances to means, a step of descent, rows counted over two fits, classes held out, rates along a cosine."""
    X, y = crowded(seed)
    sizes: dict[str, Any] = {"ways": 3, "shots": 2, "queries": 4, "episodes": 5, "batch_size": 2, "max_iter": 2}
    sizes |= {"hidden_layer_sizes": (6,), "n_components": 4, "random_state": seed}
    model = FewShotLearner(warm_start=True, learning_rate="cosine", learning_rate_init=0.004, **sizes).fit(X, y)
    once = model.t_
    twice = model.fit(X, y).t_
    z, support = layers(model, X), np.concatenate([np.flatnonzero(y == c)[:4] for c in "vsz"])
    scores = _from_means(z, z, y, CLASSES)
    few = _from_means(z, z[support], y[support], "svz")
    rows = EpisodeRows(X.astype(np.float32), np.searchsorted(list(CLASSES), y), (3, 2, 4))
    step: Any = model._step(model._ready_module(), model._objective, rows, Seeds.of(0))[0]
    schedule = step.descent.schedule
    maml = FewShotLearner("maml", inner_rate=0.3, **sizes).fit(X, y)
    held = FewShotLearner(early_stopping=True, validation_fraction=0.3, **sizes).fit(X, y)
    train, valid = held._split_classes(rows.y, held._seed(None))
    four = np.isin(y, list("rsvz"))
    first = np.concatenate([np.flatnonzero(y == c)[:n] for c, n in zip("rstu", (6, 5, 7, 5))])
    return every(
        rows=equal((once, twice), (2 * 5 * 2 * 3 * 6, 2 * 2 * 5 * 2 * 3 * 6)),
        rates=near([schedule(t) for t in (0, 3, 9)], [0.002 * (1 + math.cos(math.pi * t / 10)) for t in (0, 3, 9)],
                   tolerance=1e-9),
        known=near(model.predict_proba(X), softmax(scores, axis=1), tolerance=1e-4),
        said=equal(model.predict(X).tolist(), [CLASSES[k] for k in scores.argmax(axis=1)]),
        far_away=near(model.predict_proba(1000 * X).sum(axis=1), np.ones(72), tolerance=1e-5),  # scores below -1000
        few=near(model.predict_proba(X, X[support], y[support]), softmax(few, axis=1), tolerance=1e-4),
        few_said=equal(model.predict(X, X[support], y[support]).tolist(), ["svz"[k] for k in few.argmax(axis=1)]),
        descended=near(maml.predict_proba(X, X[support], y[support]), _descended(maml, X, y, support), tolerance=1e-4),
        too_many=raises(ValueError, lambda: maml.predict(X, X[four], y[four]), match="at most ways=3"),
        too_few=raises(ValueError, lambda: maml.fit(X[first], y[first]), match="= 6 rows; got 2 such classes"),
        held_out=equal([len(np.unique(y[part])) for part in (train, valid)], [6, 3]),
        all_of_a_class=equal(set(y[train]) & set(y[valid]), set()),
        center=near(held.center_, X[train].mean(axis=0), tolerance=1e-4),
    )  # fmt: skip


def _from_means(z: np.ndarray, near_rows: np.ndarray, y: np.ndarray, classes: Any) -> np.ndarray:
    """Minus the squared distances to the mean row of every class."""
    return -np.square(z[:, None] - [near_rows[y == c].mean(axis=0) for c in classes]).sum(axis=2)


def _descended(model: Any, X: np.ndarray, y: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Probabilities after three steps of descent on the cross-entropy of the support, gradients written out."""
    w, w1, b1, w2, b2 = _weights(model, "direct.weight")
    unit = 16 / math.sqrt(X.shape[1])
    rows, targets = (X - model.center_) / model.scale_, (y[support, None] == list("svz")).astype(float)
    for _ in range(3):
        x = rows[support]
        h = np.maximum(x @ w1.T + b1, 0)
        out = (softmax(unit * x @ w.T + h @ w2.T + b2, axis=1) - targets) / len(x)
        inside = out @ w2 * (h > 0)
        w1, b1 = w1 - 0.3 * inside.T @ x, b1 - 0.3 * inside.sum(axis=0)
        w = w - 0.3 * unit * out.T @ x
        w2, b2 = w2 - 0.3 * out.T @ h, b2 - 0.3 * out.sum(axis=0)
    return softmax(unit * rows @ w.T + np.maximum(rows @ w1.T + b1, 0) @ w2.T + b2, axis=1)


@oracle("margin.meta.objectives.episode_loss")
def episodes_pair_by_pair(seed: int) -> Verdict:
    """A linear network; similarities of every pair of rows, and the loss after one step of descent."""
    rng = np.random.default_rng(seed)
    W, b, labels, query_labels = (
        rng.normal(size=(3, 2)),
        rng.normal(size=3),
        np.array([0, 1, 2, 0]),
        rng.integers(3, size=5),
    )
    support, query = rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    net = torch.nn.Linear(2, 3, dtype=torch.float64)
    net.load_state_dict({"weight": torch.from_numpy(W), "bias": torch.from_numpy(b)})
    episode = [torch.from_numpy(part) for part in (support, labels, query, query_labels)]
    methods = ("prototypical", "siamese", "matching", "maml", "fomaml")
    results = {method: episode_loss(method, net, *episode, rate=0.4, steps=1) for method in methods}
    near_rows, far = support @ W.T + b, query @ W.T + b
    scores = _from_means(far, near_rows, labels, range(3))
    logits = 1 - np.square(far[:, None] - near_rows).sum(axis=2)
    same = query_labels[:, None] == labels
    pairs = np.where(same, 2 * np.logaddexp(0, -logits), np.logaddexp(0, logits))  # the others are twice as many
    cosines = far @ near_rows.T / np.outer(*(np.linalg.norm(part, axis=1) for part in (far, near_rows)))
    attention = softmax(10 * cosines, axis=1) @ np.eye(3)[labels] + 1e-12
    error = (softmax(near_rows, axis=1) - np.eye(3)[labels]) / 4
    moved = query @ (W - 0.4 * error.T @ support).T + b - 0.4 * error.sum(axis=0)
    entropy = lambda outputs: np.mean(logsumexp(outputs, axis=1) - outputs[np.arange(5), query_labels])  # noqa: E731
    losses = [entropy(scores), pairs.mean(), entropy(np.log(attention)), entropy(moved), entropy(moved)]
    right = [np.mean(out.argmax(axis=1) == query_labels) for out in (scores, scores, attention, moved, moved)]
    return every(
        losses=near([float(loss.detach()) for loss, _ in results.values()], losses, tolerance=1e-6),
        accuracies=near([float(accuracy) for _, accuracy in results.values()], right, tolerance=1e-12),
    )


@oracle("margin.meta.episodes.sample_episode")
def rows_of_an_episode(seed: int) -> Verdict:
    """Classes of unequal size, some too small: every row has its class, none comes twice, all classes as often."""
    y = np.repeat([7, 3, 9, 5, 1], [6, 4, 8, 2, 7])
    rows = np.arange(len(y)) + 100
    drawn = [sample_episode(rows, y, 2, 3, 1, random_state=1000 * seed + k) for k in range(200)]
    one = drawn[0]
    of = lambda part: y[np.asarray(part) - 100]  # noqa: E731
    counts = [sum(c in e.classes for e in drawn) for c in (7, 3, 9, 1)]
    return every(
        support=equal(all((of(e.support) == e.classes[e.support_labels]).all() for e in drawn), True),
        query=equal(all((of(e.query) == e.classes[e.query_labels]).all() for e in drawn), True),
        no_row_twice=equal(all(len({*e.support, *e.query}) == 8 for e in drawn), True),
        sizes=equal((len(one.support), len(one.query)), (6, 2)),
        too_small=equal(any(5 in e.classes for e in drawn), False),
        evenly=plausible(chisquare(counts).pvalue),
    )


@oracle("margin.meta.similarity.one_shot_classify")
def nearest_of_the_shown(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    W, support, query = rng.normal(size=(3, 2)), rng.normal(size=(4, 3)), rng.normal(size=(9, 3))
    names = ["wren", "crow", "kite", "dove"]
    expected = [names[int(np.argmin([np.sum(((q - s) @ W) ** 2) for s in support]))] for q in query]
    return equal(one_shot_classify(lambda X: np.asarray(X) @ W, support, names, query).tolist(), expected)


@oracle(
    "margin.meta.transfer.fine_tune",
    "margin.meta.transfer.pretrain_then_finetune",
    "margin.meta.transfer.transfer_curve",
)
def tuned_step_by_step(seed: int) -> Verdict:
    """One batch of all rows with weights: Adam's first step has the length of the rate, along the sign of the slope.

    Frozen layers stay; what is learned before starts the second task; curves begin at the untrained heads.
    """
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(12, 3)).astype(np.float32), np.arange(12) % 2, rng.uniform(0.5, 2.0, 12)
    start = build(lambda: MLP([3, 4, 2], "tanh"), seed)
    tuned = fine_tune(start, X, y, epochs=1, batch_size=12, rate=1e-3, weight=weight, random_state=seed)
    scores = start(torch.from_numpy(X)).log_softmax(dim=1)[torch.arange(12), torch.from_numpy(y)]
    (-(scores * torch.from_numpy(weight).float()).sum() / weight.sum()).backward()
    slopes = [p.grad for p in start.parameters()]
    moves = [(a - b).detach() for a, b in zip(tuned.parameters(), start.parameters())]
    clear = [s.abs() > 1e-4 for s in slopes]
    frozen = fine_tune(start, X, y, freeze=["linears.0"], epochs=3, random_state=seed)
    source, target = (X, np.arange(12) % 3), (X, y)
    options: dict[str, Any] = {"hidden": (4,), "random_state": seed}
    first, scratch = pretrain_then_finetune(source, target, freeze=["linears.0"], epochs=(2, 1), **options)
    learned = fine_tune(build(lambda: MLP([3, 4, 3]), seed), *source, epochs=2, random_state=seed)
    curve = transfer_curve(source, target, [0, 2], epochs=(2, 1), repeats=2, **options)
    return every(
        first_step=near(
            torch.cat([m[c] for m, c in zip(moves, clear)]),
            torch.cat([-1e-3 * s[c].sign() for s, c in zip(slopes, clear)]),
            tolerance=1e-4,
        ),
        frozen=equal(torch.equal(frozen.linears[0].weight, start.linears[0].weight), True),
        head_moved=equal(torch.equal(frozen.linears[1].weight, start.linears[1].weight), False),
        begun_where_the_first_ended=near(
            first.linears[0].weight.detach(), learned.linears[0].weight.detach(), tolerance=1e-6
        ),
        new_head=equal((first.linears[-1].out_features, scratch.linears[-1].out_features), (2, 2)),
        curves=equal({name: rows.shape for name, rows in curve.items()}, {"pretrained": (2, 2), "scratch": (2, 2)}),
        rest=equal(all(np.allclose(rows * 8 % 1, 0) for rows in curve.values()), True),  # 8 rows are never shown
    )
