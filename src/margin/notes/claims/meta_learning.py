"""Claims on learning from little: transfer, shifted domains, support sets, and classes without any example."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS

CLASSES = 5  # digits 0-4 are known, 5-9 are new


@cache
def digits() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Known digits with their labels, and new ones with labels from 0 on."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X / 16
    return (X[y < CLASSES], y[y < CLASSES]), (X[y >= CLASSES], y[y >= CLASSES] - CLASSES)


def label_rows(y: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of ``n`` rows of every class, and of all others."""
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == c), n, replace=False) for c in np.unique(y)])
    return chosen, np.setdiff1d(np.arange(len(y)), chosen)


FROZEN = ("linears.0",)  # where digits moved, the first layer of another task is worth keeping as it is


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean, and twice its standard error."""
    return float(values.mean()), 2 * float(values.std(ddof=1)) / len(values) ** 0.5


@claim("transfer-learning")
def weights_of_another_task_are_a_better_start(seed: int) -> Verdict:
    from margin.meta.transfer import accuracy, fine_tune, pretrain_then_finetune, transfer_curve, with_new_head
    from margin.notes.experiments.transfer_labels import displaced_digits

    source, (Z, labels) = displaced_digits(seed)
    curves = transfer_curve(source, (Z, labels), [5], freeze=FROZEN, epochs=(10, 30), repeats=8, random_state=seed)
    gain, error = interval((curves["pretrained"] - curves["scratch"])[:, 0])
    few, rest = label_rows(labels, 10, np.random.default_rng(seed))  # 50 labels
    tuned, scratch = pretrain_then_finetune(
        source, (Z[few], labels[few]), freeze=FROZEN, epochs=(10, 30), random_state=seed
    )
    start = with_new_head(cast(Any, tuned), CLASSES, seed)
    frozen = ["linears.0", "linears.1"]
    again = fine_tune(start, Z[few], labels[few], freeze=frozen, epochs=5, random_state=seed).state_dict()
    same = {name: bool((again[name] == w).all()) for name, w in start.state_dict().items()}
    return every(
        five_labels_per_class=above(gain - error, 0.0),
        fifty_labels=above(accuracy(tuned, Z[rest], labels[rest]), accuracy(scratch, Z[rest], labels[rest])),
        frozen_to_the_bit=equal(
            [same[f"{layer}.{part}"] for layer in frozen for part in ("weight", "bias")], [True] * 4
        ),
        the_rest_learns=equal(same["linears.2.weight"], False),
    )


def stretch(seed: int) -> tuple[Any, Any, Any]:
    """Two classes along one axis; in the target both axes have other scales and another origin."""
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(0, 2, (2, 300))
    rows = [np.stack([2.0 * c - 1, 0.0 * c], axis=1) + rng.normal(size=(300, 2)) * [0.4, 0.8] for c in (y, labels)]
    return (rows[0], y), rows[1] * [0.4, 3.0] + [2.0, 1.0], labels


def elsewhere(seed: int) -> tuple[Any, Any, Any]:
    """A curved boundary of which the target shows another end: one straight line cannot serve both."""
    rng = np.random.default_rng(seed)
    rows = [np.stack([rng.normal(m, 0.7, 400), rng.normal(0.5, 1.0, 400)], axis=1) for m in (-0.6, 0.8)]
    y, labels = ((X[:, 1] > X[:, 0] ** 2).astype(int) for X in rows)
    return (rows[0], y), rows[1], labels


def telling_column(seed: int) -> tuple[Any, Any, Any]:
    """The second column shows the class in the source and the domain in the target; the first means one thing."""
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(0, 2, (2, 300))
    first = [2.0 * c - 1 + 0.5 * rng.normal(size=300) for c in (y, labels)]
    second = [0.5 * (2 * y - 1) + 0.5 * rng.normal(size=300), 2 + 0.5 * rng.normal(size=300)]
    rows = [np.stack(pair, axis=1) for pair in zip(first, second)]
    return (rows[0], y), rows[1], labels


@claim("domain-adaptation")
def adapting_to_the_target_raises_accuracy_there(seed: int) -> Verdict:
    from margin.meta.domains import domain_adapt
    from margin.meta.transfer import accuracy

    def gain(method: str, task: Callable[[int], tuple[Any, Any, Any]], **options: Any) -> Verdict:
        gains = []
        for draw in range(3 * seed, 3 * seed + 3):
            source, target, labels = task(draw)
            nets = (domain_adapt(source, target, method=m, random_state=draw, **options) for m in ("none", method))
            plain, adapted = (accuracy(net, target, labels) for net in nets)
            gains.append(adapted - plain)
        return above(float(np.mean(gains)), 0.02)

    return every(
        coral=gain("coral", stretch, epochs=10),
        importance=gain("importance", elsewhere, width=1, epochs=20),
        dann=gain("dann", telling_column, epochs=60, width=16, strength=3.0),
        as_run=above(gain_of_a_straight_line(seed, "coral", stretch), 0.02),
        weights_as_run=above(gain_of_a_straight_line(seed, "importance", elsewhere), 0.02),
        unknown=raises(ValueError, lambda: gain("hope", stretch, epochs=1), match="none, coral, importance, dann"),
    )


def gain_of_a_straight_line(seed: int, method: str, task: Callable[[int], tuple[Any, Any, Any]]) -> float:
    """What the estimator adds to the accuracy of a logistic regression on the target, the mean of five draws."""
    from margin.meta import DomainAdaptationClassifier

    gains = []
    for draw in range(5 * seed, 5 * seed + 5):
        (X, y), target, labels = task(draw)
        rows, known = np.concatenate([X, target]), np.concatenate([y, np.full(len(target), np.nan)])
        models = (DomainAdaptationClassifier(method=m).fit(rows, known) for m in ("none", method))
        plain, adapted = (model.score(target, labels) for model in models)
        gains.append(adapted - plain)
    return float(np.mean(gains))


@claim("support-set")
def an_episode_holds_k_classes_and_n_examples_of_each(seed: int) -> Verdict:
    from margin.meta.episodes import sample_episode

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(8), 12))
    k, n, q = 4, 3, 2
    e = sample_episode(np.arange(96), y, k, n, q, random_state=rng)
    words = sample_episode([f"row {i}" for i in range(96)], y, 3, 1, 1, random_state=rng)
    return every(
        sizes=equal((len(e.support), len(e.query)), (k * n, k * q)),
        disjoint=equal(len({*e.support.tolist(), *e.query.tolist()}), k * (n + q)),
        relabeled=equal((sorted(set(e.support_labels.tolist())), len(e.classes)), (list(range(k)), k)),
        labels_mean_the_classes=equal(e.classes[e.query_labels], y[e.query]),
        n_of_each=equal(np.bincount(e.support_labels).tolist(), [n] * k),
        one_shot=equal((len(words.support), words.support_labels.tolist()), (3, [0, 1, 2])),
        any_type=equal({type(item) for item in words.support}, {str}),
        one_class=raises(ValueError, lambda: sample_episode(np.arange(96), y, 1, 1, 1), match="k at least 2"),
    )


@cache
def learner(method: str, seed: int) -> Any:
    from margin.meta.few_shot import FewShotLearner

    options = {"maml": {"inner_rate": 0.5, "inner_steps": 2, "learning_rate_init": 3e-3}}.get(method, {})
    model = FewShotLearner(method, ways=CLASSES, hidden_layer_sizes=(64,), episodes=30, max_iter=4, random_state=seed)
    return model.set_params(**options).fit(*digits()[0])


@claim("few-shot-learning")
def new_classes_are_told_apart_from_a_few_examples(seed: int) -> Verdict:
    new, labels = digits()[1]
    parts = {}
    for method in ("prototypical", "siamese", "maml"):
        one, five = (
            interval(
                learner(method, seed).episode_accuracies(
                    new, labels, ways=CLASSES, shots=shots, n_episodes=40, random_state=seed
                )
            )
            for shots in (1, 5)
        )
        parts[f"{method}_1_shot"] = above(one[0] - one[1], 1 / CLASSES)
        parts[f"{method}_5_shot"] = above(five[0] - five[1], one[0] + one[1])
    return every(**parts)


@claim("claim-few-shot-differs-from-supervised")
def a_classifier_cannot_name_new_classes_and_similarity_can(seed: int) -> Verdict:
    from margin.linear import LogisticRegression

    known, (new, labels) = digits()
    ordinary = LogisticRegression().fit(*known)
    rng = np.random.default_rng(seed)
    a = rng.integers(0, len(new), 4000)
    same = [rng.choice(np.flatnonzero(labels == labels[i])) for i in a[:2000]]
    other = [rng.choice(np.flatnonzero(labels != labels[i])) for i in a[2000:]]
    logits = learner("siamese", seed).same_class(new[a], new[[*same, *other]])
    predicted_same = logits > np.median(logits)  # as many pairs of one class as of two
    return every(
        ordinary_on_known=above(float(ordinary.score(*known)), 0.95),
        never_a_new_class=below(float(max(ordinary.predict(new))), CLASSES),
        accuracy_on_new=equal(float(np.mean(ordinary.predict(new) == labels + CLASSES)), 0.0),
        same_or_different=above(
            float(np.mean(predicted_same == (np.arange(4000) < 2000))), 0.5 + ERRORS * 0.5 / 4000**0.5
        ),
    )


@claim("one-shot-learning")
def one_example_per_class_is_enough_for_the_nearest_embedding(seed: int) -> Verdict:
    from margin.meta.similarity import one_shot_classify

    new, labels = digits()[1]
    model, rng = learner("prototypical", seed), np.random.default_rng(seed)
    accuracies = []
    for _ in range(30):
        shown, rest = label_rows(labels, 1, rng)
        accuracies.append(np.mean(one_shot_classify(model.embed, new[shown], labels[shown], new[rest]) == labels[rest]))
    mean, error = interval(np.array(accuracies))
    return every(
        above_chance=above(mean - error, 1 / CLASSES + 0.2),
        itself=equal(one_shot_classify(model.embed, new[shown], labels[shown], new[shown]), labels[shown]),
        two_examples=raises(
            ValueError, lambda: one_shot_classify(model.embed, new[:2], [0, 0], new), match="one row per class"
        ),
    )


COLORS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
SHAPES = ("square", "disk", "cross")


def colored_shape(color: str, shape: str, rng: np.random.Generator) -> np.ndarray:
    """A noisy picture of a shape, moved a little, as its gray values (64) and its mean color (3)."""
    y, x = np.mgrid[:8, :8] - 3.5 + rng.uniform(-0.5, 0.5, (2, 1, 1))
    mask = {
        "square": (abs(x) < 2.5) & (abs(y) < 2.5),
        "disk": (x**2 + y**2 > 4) & (x**2 + y**2 < 12),
        "cross": (abs(x) < 1) | (abs(y) < 1),
    }[shape]
    image = mask[..., None] * np.array(COLORS[color]) + 0.1 * rng.normal(size=(8, 8, 3))
    return np.concatenate([image.mean(axis=2).ravel(), image.mean(axis=(0, 1))])


@claim("zero-shot-learning")
def descriptions_name_classes_without_an_example(seed: int) -> Verdict:
    from margin.meta.zero_shot import ZeroShot

    rng = np.random.default_rng(seed)
    attributes = {
        f"{color} {shape}": [*COLORS[color], *(float(shape == s) for s in SHAPES)]
        for color in COLORS
        for shape in SHAPES
    }
    unseen = ["red disk", "green cross", "blue square"]

    def pictures(names: list[str], n: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = [(colored_shape(name.split()[0], name.split()[1], rng), name) for name in names for _ in range(n)]
        return np.array([image for image, _ in drawn]), np.array([name for _, name in drawn])

    seen = [name for name in attributes if name not in unseen]
    model = ZeroShot(attributes).fit(*pictures(seen, 20))
    X, y = pictures(unseen, 30)
    return every(
        among_all_nine=above(float(model.score(X, y)), 1 / 9 + 0.3),
        among_the_unseen=above(float(np.mean(model.predict(X, unseen) == y)), 1 / 3 + 0.3),
        no_example_was_shown=equal(set(unseen) & set(seen), set()),
        vectors=near(model.attributes_[list(model.classes_).index("red disk")], [1, 0, 0, 0, 1, 0], tolerance=0),
    )
