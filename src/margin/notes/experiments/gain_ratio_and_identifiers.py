r"""Identifiers fool information gain, not the gain ratio.

A column of m random categories knows nothing of the class, yet its gain on n rows grows with m, about
:math:`(m-1)(K-1)/(2n\ln 2)` bits, up to all of :math:`H(S)` when every row has a category of its own. Divided by the
split information (up to :math:`\log_2 n`) it stays below the ratio of a column that does know something. A tree that
trusts the gain asks for the identifier and is left with nothing to say about new rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near, within
from margin.trees import C45, ID3, class_entropy, gain_ratio, information_gain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, NEW = 256, 4096
CATEGORIES = (2, 4, 8, 16, 32, 64, 128, 256)
NOISE = 0.15  # share of rows whose class is turned over
SETS = ("without identifier", "with identifier")


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X, y = _rows(rng, N)
    repeats = 60 if fast else 200
    random_gain = np.empty((len(CATEGORIES), repeats))
    random_ratio = np.empty_like(random_gain)
    for i, m in enumerate(CATEGORIES):
        for r in range(repeats):
            column = rng.permutation(np.arange(N) % m)  # m = N: every row its own
            random_gain[i, r], random_ratio[i, r] = information_gain(y, column), gain_ratio(y, column)
    return {
        "entropy": class_entropy(y),
        "random_gain": random_gain.mean(axis=1),
        "random_ratio": random_ratio.mean(axis=1),
        "true_gain": information_gain(y, X[:, 0]),
        "true_ratio": gain_ratio(y, X[:, 0]),
        **_accuracies(rng, X, y),
    }


def check(data: dict[str, Any]) -> Verdict:
    few = np.array(CATEGORIES[:3])
    return every(
        all_of_the_entropy=near(data["random_gain"][-1], data["entropy"], tolerance=1e-12),
        gain_fooled=above(data["random_gain"][-1], data["true_gain"]),
        ratio_not_fooled=below(data["random_ratio"].max(), data["true_ratio"]),
        # 2 n ln(2) gain is nearly chi-square with m - 1 degrees of freedom: the standard error of this mean is 0.07.
        bias=within(float(np.mean(data["random_gain"][:3] / _expected_gain(few))), 0.6, 1.5),
        id3_lost=below(data["id3"][1], 0.6),
        id3_without=above(data["id3"][0], 0.75),
        c45_keeps=within(data["c45"][1] - data["c45"][0], -0.05, 0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    gain, ratio, accuracy = figure.subplots(1, 3)
    for axis, name, label in ((gain, "gain", "information gain (bits)"), (ratio, "ratio", "gain ratio")):
        axis.plot(CATEGORIES, data[f"random_{name}"], "o-", color="C3", label="random categories")
        axis.axhline(data[f"true_{name}"], color="C0", label="a column that knows")
        axis.set_xscale("log", base=2)
        axis.set(xlabel=f"number of categories ({N} rows)", ylabel=label, title=label.split(" (")[0].capitalize())
        axis.set_ylim(0, 1.3 * max(data[f"random_{name}"].max(), data[f"true_{name}"]))
    few = np.array(CATEGORIES[:6])
    gain.plot(few, _expected_gain(few), ":", color="#777777", label=r"$(m-1)(K-1)/(2n\,\ln 2)$")
    gain.axhline(data["entropy"], color="#aaaaaa", linestyle="--", label="entropy of the class")
    place = np.arange(2)
    for shift, name, color in ((-0.18, "id3", "C3"), (0.18, "c45", "C0")):
        bars = accuracy.bar(place + shift, data[name], 0.34, color=color, label={"id3": "ID3", "c45": "C4.5"}[name])
        accuracy.bar_label(bars, fmt="%.2f", fontsize=9)
    accuracy.set_xticks(place, SETS)
    accuracy.set(ylim=(0, 1.15), ylabel="accuracy on new rows", title="What it costs")
    for axis in (gain, ratio, accuracy):
        axis.legend(frameon=False, fontsize=8.5)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle("A column with a value for every row has all the gain and knows nothing")


def _rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of two categories, of which the first tells the class; a class of two, some turned over."""
    X = rng.integers(2, size=(n, 3))
    return X, X[:, 0] ^ (rng.random(n) < NOISE)


def _expected_gain(m: np.ndarray) -> np.ndarray:
    return (m - 1) / (2 * N * np.log(2))


def _accuracies(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    new_X, new_y = _rows(rng, NEW)
    tables = [(X, new_X), (np.column_stack([np.arange(N), X]), np.column_stack([np.arange(N, N + NEW), new_X]))]
    accuracies: dict[str, list[float]] = {"id3": [], "c45": []}
    for train, new in tables:
        every_column = list(range(train.shape[1]))
        models = {"id3": ID3(), "c45": C45(min_samples_leaf=1, categorical_features=every_column)}
        for name, model in models.items():
            accuracies[name].append(float(model.fit(train, y).score(new, new_y)))
    return {name: np.array(scores) for name, scores in accuracies.items()}
