"""How much an earlier task is worth, by the number of labels of the new one

A network that has learned the digits 0 to 4 and one that has learned nothing are given 0, 1, 5, ... labeled examples of
each of the digits 5 to 9, all at random positions of a larger picture: what can be learned before is that positions do
not matter. One-shot learning is the second point of the curve, zero-shot learning the first, where nothing but a
description could help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANCE = 0.2


SIZE = 12  # pixels of a side; a digit has 8
COPIES = 2  # positions at which every known digit is shown

Rows = tuple[np.ndarray, np.ndarray]


def displaced_digits(seed: int) -> tuple[Rows, Rows]:
    """Known digits 0-4, and new digits 5-9 with labels from 0 on, each somewhere in a larger picture."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    images, y = load_digits().images / 16, load_digits().target

    def displace(chosen: np.ndarray) -> np.ndarray:
        canvas = np.zeros((len(chosen), SIZE, SIZE))
        for picture, image, (top, left) in zip(canvas, chosen, rng.integers(0, SIZE - 7, (len(chosen), 2))):
            picture[top : top + 8, left : left + 8] = image
        return canvas.reshape(len(chosen), -1)

    known = np.concatenate([displace(images[y < 5]) for _ in range(COPIES)])
    return (known, np.tile(y[y < 5], COPIES)), (displace(images[y >= 5]), y[y >= 5] - 5)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.meta.transfer import transfer_curve

    n_labels = [0, 1, 5, 20] if fast else [0, 1, 2, 5, 10, 20, 50]
    curves = transfer_curve(
        *displaced_digits(seed), n_labels, freeze=("linears.0",),
        epochs=(10, 30) if fast else (30, 60), repeats=6 if fast else 30, random_state=seed,
    )  # fmt: skip
    return {"n_labels": n_labels, **curves}


def check(data: dict[str, Any]) -> Verdict:
    pretrained, scratch = data["pretrained"].mean(axis=0), data["scratch"].mean(axis=0)
    gains = (data["pretrained"] - data["scratch"])[:, 1:].mean(axis=1)  # of each draw of labels
    error = 2 * gains.std(ddof=1) / len(gains) ** 0.5
    one = data["n_labels"].index(1)
    return every(
        no_label=within(float(pretrained[0]), CHANCE - 0.1, CHANCE + 0.1),
        one_label=above(float(pretrained[one]), CHANCE),
        head_start=above(float(gains.mean() - error), 0.0),
        more_labels_help_both=above(float(min(pretrained[-1] - pretrained[one], scratch[-1] - scratch[one])), 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    ax = figure.subplots()
    positions = np.arange(len(data["n_labels"]))
    for name, label in (("pretrained", "learned digits 0-4 before"), ("scratch", "from scratch")):
        rows = data[name]
        error = 2 * rows.std(axis=0, ddof=1) / len(rows) ** 0.5
        ax.errorbar(positions, rows.mean(axis=0), yerr=error, marker="o", capsize=3, label=label)
    ax.axhline(CHANCE, color="gray", linestyle=":", label="chance")
    ax.set(xlabel="labels of each new class", ylabel="accuracy on digits 5-9", xticks=positions)
    ax.set_xticklabels([str(n) for n in data["n_labels"]])
    ax.legend()
