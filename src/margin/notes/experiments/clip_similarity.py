"""Images and captions in one space: the similarity matrix, and a classifier made of names

In a batch every image must find its caption: the diagonal of the N x N matrix. Afterwards the names of classes in a
prompt, encoded, are the weights of a classifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.representation import CLIP

    order = np.random.default_rng(seed).permutation(1797)
    images, labels = load_digits().images[order].astype(np.float32), load_digits().target[order]
    n = 700 if fast else 1500
    captions = [f"a photo of a {WORDS[k]}" for k in labels]
    model = CLIP(n_components=32, max_iter=10 if fast else 30, batch_size=64, random_state=seed).fit(
        images[:n], captions[:n]
    )
    test = images[1500:], labels[1500:]
    batch = [int(np.flatnonzero(test[1] == k)[0]) for k in range(10)]  # one image of every digit
    probabilities = model.zero_shot(test[0], WORDS)
    return {
        "similarity": model.similarity(test[0][batch], [f"a photo of a {word}" for word in WORDS]),
        "probabilities": probabilities[batch[3]],
        "image": test[0][batch[3]],
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == test[1])),
    }


def check(data: dict[str, Any]) -> Verdict:
    matrix = data["similarity"]
    diagonal = np.diag(matrix).mean()
    others = matrix[~np.eye(10, dtype=bool)].mean()
    return every(
        diagonal_dominates=above(float(diagonal), float(others) + 0.3),
        zero_shot=above(data["accuracy"], 0.7),
        sums=near(float(data["probabilities"].sum()), 1.0, tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    left.imshow(data["similarity"], cmap="viridis")
    left.set(
        xticks=range(10), yticks=range(10), xticklabels=WORDS, ylabel="image of the digit", title="cosine similarity"
    )
    left.tick_params(axis="x", rotation=60)
    right.barh(WORDS, data["probabilities"])
    right.set(title="one image of a three, by name", xlabel="probability")
    inner = right.inset_axes((0.65, 0.05, 0.3, 0.3))
    inner.imshow(data["image"], cmap="gray")
    inner.set(xticks=[], yticks=[])
