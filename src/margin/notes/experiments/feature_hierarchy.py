"""Early filters see edges, late ones parts of digits

Three layers of equally many maps. A linear probe reads the class from the mean of each map: the later the layer, the
better it can, because its features mean more. Beside the filters of the first layer, the patches of test digits to
which the maps of each layer answer most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAPS = 16
LAYERS = [f"conv {MAPS} 3", f"conv {MAPS} 3", "pool 2", f"conv {MAPS} 3", "global-avg-pool"]
SHOWN = 8


def probe(features: np.ndarray, labels: np.ndarray, n_train: int) -> float:
    """Test accuracy of a ridge regression on the classes."""
    X = np.column_stack([(features - features.mean(0)) / (features.std(0) + 1e-9), np.ones(len(features))])
    Y = np.eye(10)[labels]
    A, B = X[:n_train], Y[:n_train]
    weights = np.linalg.solve(A.T @ A + 1e-2 * n_train * np.eye(X.shape[1]), A.T @ B)
    return float(((X[n_train:] @ weights).argmax(axis=1) == labels[n_train:]).mean())


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch
    from sklearn.datasets import load_digits
    from torch import nn

    from margin.neural.convolution.maps import feature_maps, filters, strongest_patches
    from margin.neural.convolution.receptive import receptive_fields
    from margin.neural.estimators import CNNClassifier

    images, labels = load_digits().images, load_digits().target
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    n = 900 if fast else 1200
    model = CNNClassifier(
        LAYERS, max_iter=8 if fast else 20, batch_size=32, learning_rate_init=0.01, random_state=seed
    ).fit(images[:n], labels[:n])
    rest, names = torch.from_numpy(images[n:, None].astype(np.float32)), labels[n:]
    module: Any = model._ready_module()
    maps = feature_maps(module, rest, (nn.ReLU,))
    kept = {name: output.numpy() for name, output in maps.items() if output.ndim == 4}
    fields = [field for k, field in enumerate(receptive_fields(module.body[:7])) if k != 2]  # 2 is the pooling
    return {
        "filters": next(iter(filters(module).values()))[:, 0].numpy(),
        "probes": [probe(output.mean(axis=(2, 3)), names, 500) for output in kept.values()],
        "patches": [
            strongest_patches(torch.from_numpy(output), rest, f.size[0], f.jump[0], f.size[0] // 2)[:, 0].numpy()
            for output, f in zip(kept.values(), fields)
        ],
        "fields": [field.size[0] for field in fields],
        "accuracy": model.score(images[n:], names),
    }


def check(data: dict[str, Any]) -> Verdict:
    first, _, third = data["probes"]
    truth = every(
        fields=equal(data["fields"], [3, 5, 10]),
        later_layers_tell_more=above(third, first + 0.03),
        network=above(data["accuracy"], 0.8),
    )
    return corrected(truth, early_features_are_high_level=above(first, third))


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 8)
    axes = figure.subplots(4, SHOWN)
    for ax, weights in zip(axes[0], data["filters"]):
        ax.imshow(weights, cmap="RdBu")
    axes[0, 0].set_title("filters of layer 1", loc="left", fontsize=9)
    for k, (row, patches) in enumerate(zip(axes[1:], data["patches"])):
        for ax, patch in zip(row, patches):
            ax.imshow(patch, cmap="gray_r")
        text = f"strongest patches of layer {k + 1}, probe {data['probes'][k]:.2f}"
        row[0].set_title(text, loc="left", fontsize=9)
    for ax in axes.flat:
        ax.axis("off")
