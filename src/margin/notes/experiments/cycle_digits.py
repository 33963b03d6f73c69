r"""Digits are translated to inverted digits without a single pair

One half of the digits trains as it is, the other half inverted: no image of one set belongs to one of the other. Two
convolutional maps must fool a judge each and come back,
:math:`|F(G(a)) - a|_1 + |G(F(b)) - b|_1`. The true partner :math:`1 - a` of a new digit is known, so the translation is
measured against it, beside leaving the digit as it is, the partner of another digit, and the mean of the target set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10
N_TEST = 397


def _error(made: np.ndarray, truth: np.ndarray) -> float:
    """Root mean square over pixels, which lie between 0 and 1."""
    return float(np.sqrt(np.mean((made - truth) ** 2)))


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.generative import CycleGAN

    rng = np.random.default_rng([seed, 12])
    X = load_digits().data[rng.permutation(1797)] / 16
    test, X = X[:N_TEST], X[N_TEST:]
    half = 300 if fast else len(X) // 2
    A, B, partners = X[:half], 1 - X[half : 2 * half], 1 - test
    model = CycleGAN((16, 16), image_shape=(8, 8), max_iter=8 if fast else 20, batch_size=30)
    model.set_params(random_state=seed).fit(A, B)
    forth, back = model.transform(test), model.inverse_transform(partners)
    return {
        "forth": _error(forth, partners),
        "back": _error(back, test),
        "round": _error(model.inverse_transform(forth), test),
        "identity": _error(test, partners),
        "another digit": _error(partners[rng.permutation(N_TEST)], partners),
        "mean image": _error(B.mean(axis=0), partners),
        "images": np.stack([test[:SHOWN], forth[:SHOWN], partners[:SHOWN], back[:SHOWN]]),
    }


def check(data: dict[str, Any]) -> Verdict:
    parts = {
        f"{way}_beats_{name.replace(' ', '_')}": below(data[way], 0.5 * data[name])
        for way in ("forth", "back")
        for name in ("identity", "another digit", "mean image")
    }
    return every(**parts, comes_back=below(data["round"], 0.5 * data["mean image"]))


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots(4, 1)
    titles = ("digits", f"translated, error {data['forth']:.2f}", "true partners", f"back, error {data['back']:.2f}")
    for ax, title, images in zip(axes, titles, data["images"]):
        ax.imshow(images.reshape(SHOWN, 8, 8).transpose(1, 0, 2).reshape(8, -1), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize="small", loc="left")
    others = ", ".join(f"{name} {data[name]:.2f}" for name in ("identity", "another digit", "mean image"))
    axes[-1].set_xlabel(f"for comparison: {others}")
