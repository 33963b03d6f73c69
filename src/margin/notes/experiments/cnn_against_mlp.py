"""A convolutional against a fully connected network, from few images and on moved ones

Disks and crosses at random positions stand in for cats and dogs. The convolutional network learns from fewer images;
trained on centered digits, it also reads moved ones better. It usually needs fewer parameters, but not always: on
centered digits a small perceptron does well with less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 16
SHAPE_LAYERS = ["conv 8 3", "pool 2", "conv 16 3", "global-max-pool"]
DIGIT_LAYERS = ["conv 16 3", "pool 2", "conv 24 3", "global-max-pool"]


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits

    from margin.data import load
    from margin.neural.estimators import CNNClassifier, MLPClassifier

    sizes = (40, 120) if fast else (20, 40, 80, 160, 320, 640)
    data: dict[str, Any] = {"sizes": list(sizes), "shapes": {"cnn": [], "mlp": []}}
    test = load("shapes", n_samples=400, noise=0.3, size=SIZE, seed=seed + 900)
    X_test, y_test = test.arrays()
    options: dict[str, Any] = {"batch_size": 20, "learning_rate_init": 0.01, "random_state": seed}
    # A quick run takes smaller batches: from 40 images, as many updates as a network needs to have learned them.
    shape_options = options | {"batch_size": 10 if fast else 20}
    for n in sizes:
        X, y = load("shapes", n_samples=n, noise=0.3, size=SIZE, seed=seed).arrays()
        cnn = CNNClassifier(SHAPE_LAYERS, image_shape=(SIZE, SIZE), max_iter=1800 // n if fast else 40, **shape_options)
        mlp = MLPClassifier((64,), max_iter=1800 // n if fast else 80, **shape_options)
        data["shapes"]["cnn"].append(cnn.fit(X, y).score(X_test, y_test))
        data["shapes"]["mlp"].append(mlp.fit(X, y).score(X_test, y_test))
    images = np.pad(load_digits().images, ((0, 0), (2, 2), (2, 2)))
    labels = load_digits().target
    order = np.random.default_rng(seed).permutation(len(images))
    train, rest = order[: 600 if fast else 1200], order[1200:]
    moved = np.roll(images[rest], (2, -2), axis=(1, 2))
    cnn = CNNClassifier(DIGIT_LAYERS, max_iter=14 if fast else 30, **options).fit(images[train], labels[train])
    mlp = MLPClassifier((12,), max_iter=20, **options).fit(images[train].reshape(len(train), -1), labels[train])

    def flat(pictures: np.ndarray) -> np.ndarray:
        return pictures.reshape(len(pictures), -1)

    data["digits"] = {
        "cnn": [cnn.score(images[rest], labels[rest]), cnn.score(moved, labels[rest])],
        "mlp": [mlp.score(flat(images[rest]), labels[rest]), mlp.score(flat(moved), labels[rest])],
    }
    data["parameters"] = {
        name: sum(array.size for array in model.weights_.values()) for name, model in (("cnn", cnn), ("mlp", mlp))
    }
    data["example"] = X_test[:8].reshape(-1, SIZE, SIZE)
    return data


def check(data: dict[str, Any]) -> Verdict:
    shapes, digits = data["shapes"], data["digits"]
    truth = every(
        from_few_images=above(float(np.mean(shapes["cnn"])), float(np.mean(shapes["mlp"])) + 0.05),
        on_moved_digits=above(digits["cnn"][1], digits["mlp"][1] + 0.1),
        centered_perceptron_is_good=above(digits["mlp"][0], 0.85),
    )
    ratio = data["parameters"]["mlp"] / data["parameters"]["cnn"]
    # "The perceptron needs orders of magnitude more parameters": one of about equal size reads centered digits as well.
    needed = every(many_more=above(ratio, 10), to_keep_up=below(digits["cnn"][0] - digits["mlp"][0], 0.05))
    return corrected(truth, necessarily_larger=needed)


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.8)
    left, right = figure.subplots(1, 2)
    for k, (name, color) in enumerate((("cnn", "C0"), ("mlp", "C1"))):
        scores = data["shapes"][name]
        left.plot(data["sizes"], scores, "o-", color=color)
        left.annotate(
            name, (data["sizes"][-1], scores[-1]), (8, 0), textcoords="offset points", va="center", color=color
        )
        text = f"{name}, {data['parameters'][name]:,} parameters"
        bars = right.bar(np.arange(2) + 0.4 * k - 0.2, data["digits"][name], width=0.38, color=color, label=text)
        right.bar_label(bars, fmt="%.2f", padding=2)
    left.set(title="Disks and crosses anywhere in the image", xlabel="training images", ylabel="test accuracy")
    left.set(xscale="log", ylim=(0.45, 1.02), xlim=(0.8 * min(data["sizes"]), 1.4 * max(data["sizes"])))
    left.axhline(0.5, color="C7", lw=0.8, ls=":")
    left.annotate("a guess", (min(data["sizes"]), 0.5), (0, 4), textcoords="offset points", color="C7", fontsize=9)
    left.set_xticks(data["sizes"], [str(size) for size in data["sizes"]])
    left.set_xticks([], minor=True)
    right.set(title="Digits as in training, and moved", ylabel="test accuracy", ylim=(0, 1.25))
    right.set_xticks([0, 1], ["centered", "moved by 2 pixels"])
    right.legend(loc="upper center", ncols=2)
