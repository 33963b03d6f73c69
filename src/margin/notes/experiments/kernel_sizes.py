r"""Small kernels in a stack against one large kernel

Kernels of 3, 5 and 7 pixels with the same number of maps, and stacks of two and three 3 x 3 layers that see as much as
one of 5 x 5 or 7 x 7, with 18 against 25 and 27 against 49 weights per pair of channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAPS = 8
# Layers between the first convolution and the pooling.
NETWORKS = {
    "3": ["conv 8 3"],
    "5": ["conv 8 5"],
    "7": ["conv 8 7"],
    "3, 3": ["conv 8 3", "conv 8 3"],
    "3, 3, 3": ["conv 8 3", "conv 8 3", "conv 8 3"],
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from sklearn.datasets import load_digits
    from torch import nn

    from margin.neural.convolution.maps import filters
    from margin.neural.convolution.receptive import receptive_fields
    from margin.neural.estimators import CNNClassifier
    from margin.neural.nets import layer_list_network, multiply_adds

    images, labels = load_digits().images, load_digits().target
    order = np.random.default_rng(seed).permutation(len(images))
    train, test = order[: 600 if fast else 1200], order[1200:]
    data: dict[str, Any] = {"names": list(NETWORKS), "field": [], "weights": [], "work": [], "accuracy": [], "maps": []}
    for layers in NETWORKS.values():
        architecture = ["conv 8 3", *layers, "pool 2"]
        net = layer_list_network(architecture, (1, 8, 8), 10)
        middle = list(filters(net).values())[1:]
        options: dict[str, Any] = {"max_iter": 6 if fast else 15, "batch_size": 32, "learning_rate_init": 0.01}
        model = CNNClassifier(architecture, random_state=seed, **options).fit(images[train], labels[train])
        convolutions = cast(nn.Sequential, net[2 : 2 + 2 * len(layers)])
        data["field"].append(receptive_fields(convolutions)[-1].size[0])
        data["weights"].append(sum(weight.numel() for weight in middle) / MAPS**2)
        data["maps"].append(len(middle[-1]))
        data["work"].append(multiply_adds(net, (1, 8, 8)))
        data["accuracy"].append(model.score(images[test], labels[test]))
    return data


def check(data: dict[str, Any]) -> Verdict:
    accuracy = dict(zip(data["names"], data["accuracy"]))
    truth = every(
        fields=equal(data["field"], [3, 5, 7, 5, 7]),
        weights=equal(data["weights"], [9.0, 25.0, 49.0, 18.0, 27.0]),
        all_learn=above(min(data["accuracy"]), 0.6),
        stacks_keep_up=above(accuracy["3, 3, 3"] + accuracy["3, 3"], accuracy["5"] + accuracy["7"] - 0.12),
        larger_kernels_cost_more=below(data["work"][0], data["work"][2]),
    )
    # "Larger kernels offer finer granularity in the learnable features": there would be more features.
    return corrected(truth, finer_granularity=above(data["maps"][2], data["maps"][0]))


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.5)
    left, right = figure.subplots(1, 2)
    left.bar(data["names"], data["weights"], color="C0")
    for k, field in enumerate(data["field"]):
        left.text(k, data["weights"][k], f"sees {field} x {field}", ha="center", va="bottom")
    left.set(title="weights per pair of channels", xlabel="kernels", ylabel="weights")
    right.bar(data["names"], data["accuracy"], color="C2")
    right.set(title="accuracy on test digits", xlabel="kernels", ylabel="accuracy", ylim=(0, 1))
