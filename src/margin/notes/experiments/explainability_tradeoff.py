r"""What a model that can be read costs, in nats

A logistic regression has a number per column and a small tree a handful of questions; a perceptron has thousands of
weights and is asked from outside, by permutation importance. On classes that a product of two columns decides, it
predicts better by cross-entropy, and both measures are on the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("a", "b", "c", "noise")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.interpretation import permutation_importance
    from margin.linear import LogisticRegression
    from margin.metrics import log_loss
    from margin.neural.estimators import MLPClassifier
    from margin.trees import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    n = 800 if fast else 4000
    X = rng.normal(size=(2 * n, len(COLUMNS)))
    odds = 3 * X[:, 0] * X[:, 1] + 1.5 * X[:, 2]
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-odds))).astype(int)
    models = {
        "logistic regression": LogisticRegression(),
        "small tree": DecisionTreeClassifier(max_leaf_nodes=6, random_state=seed),
        "perceptron": MLPClassifier((32,), max_iter=40, learning_rate_init=0.01, random_state=seed),
    }
    data: dict[str, Any] = {"loss": {}, "terms": {}, "importance": {}}
    for name, model in models.items():
        model.fit(X[:n], y[:n])
        data["loss"][name] = float(log_loss(y[n:], np.clip(model.predict_proba(X[n:]), 1e-6, 1)))
        data["terms"][name] = _terms(model)
        drops = permutation_importance(model, X[n:], y[n:], n_repeats=3, random_state=seed)
        data["importance"][name] = drops.mean(axis=1).tolist()
    return data


def _terms(model: Any) -> int:
    """Numbers a reader must look at."""
    if hasattr(model, "coef_"):
        return int(np.size(model.coef_) + np.size(model.intercept_))
    if hasattr(model, "weights_"):
        return int(sum(array.size for array in model.weights_.values()))
    return int(2 * model.get_n_leaves() - 1)


def check(data: dict[str, Any]) -> Verdict:
    loss, terms = data["loss"], data["terms"]
    importance = data["importance"]["perceptron"]
    return every(
        perceptron_predicts_better=below(
            loss["perceptron"], min(loss["logistic regression"], loss["small tree"]) - 0.03
        ),
        and_is_longer=above(terms["perceptron"], 10 * max(terms["logistic regression"], terms["small tree"])),
        importance_finds_the_columns=above(min(importance[:3]), 5 * abs(importance[3]) + 0.01),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 4.8)
    left, right = figure.subplots(1, 2)
    for k, name in enumerate(data["loss"]):
        left.plot(data["terms"][name], data["loss"][name], "o", color=f"C{k}", markersize=8)
        left.annotate(
            name, (data["terms"][name], data["loss"][name]), xytext=(0, 10), textcoords="offset points",
            ha="center", color=f"C{k}",
        )  # fmt: skip
    left.set(xscale="log", xlabel="numbers to read", ylabel="cross-entropy of new rows, nats")
    left.set_title("Easier to read, or nearer to the truth")
    left.margins(x=0.25, y=0.2)
    positions = np.arange(len(COLUMNS))
    for k, (name, drops) in enumerate(data["importance"].items()):
        right.bar(positions + 0.25 * (k - 1), drops, 0.25, label=name)
    right.set(xticks=positions, xticklabels=COLUMNS, xlabel="column", ylabel="permutation importance")
    right.set_title("What each model goes by")
    right.legend()
