r"""Self-attention step by step: values, weights, and a weighted sum for every word

Every word m gives a value :math:`v_m = \beta_v + \Omega_v x_m`, a key and a query. Word n takes
:math:`\sum_m \alpha[x_m, x_n] v_m`, with weights
:math:`\alpha[x_m, x_n] = \mathrm{softmax}_m(k_m^T q_n / \sqrt{D})` that are not negative and sum to one over the words
m it looks at. They need not sum to one over the words that look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = ("the", "cat", "that", "sat", "purred")
INPUTS, SIZE = 6, 4  # values of a word, and of its query, key and value


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.attention.dot_product import column_attention

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(INPUTS, len(WORDS)))  # a column per word
    maps = {name: (rng.normal(size=SIZE), rng.normal(size=(SIZE, INPUTS)) / np.sqrt(INPUTS)) for name in "qkv"}
    parts = {name: bias[:, None] + weights @ X for name, (bias, weights) in maps.items()}
    order = rng.permutation(len(WORDS))

    def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        import torch

        return column_attention(*(torch.from_numpy(part) for part in (q, k, v))).output.numpy()

    weights = np.empty((len(WORDS), len(WORDS)))  # of word m (row) in word n (column)
    outputs = np.zeros((SIZE, len(WORDS)))
    for n in range(len(WORDS)):
        scores = np.array([parts["k"][:, m] @ parts["q"][:, n] / np.sqrt(SIZE) for m in range(len(WORDS))])
        weights[:, n] = np.exp(scores) / np.exp(scores).sum()
        for m in range(len(WORDS)):
            outputs[:, n] += weights[m, n] * parts["v"][:, m]
    return {
        **parts,
        "X": X,
        "weights": weights,
        "by_hand": outputs,
        "outputs": attend(parts["q"], parts["k"], parts["v"]),
        "order": order,
        "reordered": attend(*(parts[name][:, order] for name in "qkv")),
    }


def check(data: dict[str, Any]) -> Verdict:
    weights = data["weights"]
    return every(
        sums_of_values=near(data["outputs"], data["by_hand"], tolerance=1e-12),
        one_over_what_is_looked_at=near(weights.sum(axis=0), np.ones(len(WORDS)), tolerance=1e-12),
        not_over_who_looks=above(float(np.abs(weights.sum(axis=1) - 1).max()), 0.02),
        not_negative=equal(bool((weights >= 0).all()), True),
        order_moves_with_the_words=near(data["reordered"], data["outputs"][:, data["order"]], tolerance=1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(10, 9)
    axes = figure.subplots(2, 2).ravel()
    size = max(float(np.abs(data[name]).max()) for name in ("X", "v", "outputs"))
    pictures = (
        ("X", "words $x_m$", INPUTS),
        ("v", "values $v_m$", SIZE),
        ("weights", r"weights $\alpha[x_m, x_n]$", None),
        ("outputs", r"sums $\sum_m \alpha[x_m, x_n] v_m$", SIZE),
    )
    for ax, (name, title, rows) in zip(axes, pictures):
        if rows is None:
            ax.imshow(data[name], cmap="Greys", vmin=0, vmax=1)
            for m, n in np.ndindex(*data[name].shape):
                value = data[name][m, n]
                ax.text(n, m, f"{value:.2f}", ha="center", va="center", fontsize=10, color="w" if value > 0.5 else "C0")
            ax.set(yticks=range(len(WORDS)), ylabel="looked at")
            ax.set_yticklabels(WORDS)
        else:
            shown = ax.imshow(data[name], cmap="RdBu_r", vmin=-size, vmax=size)
            ax.set_yticks([])
        ax.set(title=title, xticks=range(len(WORDS)), xlabel="who looks" if rows is None else "")
        ax.set_xticklabels(WORDS, rotation=40)
    figure.colorbar(shown, ax=axes[-1], shrink=0.6)
