r"""The receptive field grows with depth

:math:`r_l = r_{l-1} + (K_l - 1)D_l\,j_{l-1}` with the product j of the strides before. The marked units of every layer
are those from which a gradient reaches the one on top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from margin.core.verdict import Verdict, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTH = 31
# Kernel, stride and dilation of the layers of three networks over signals.
NETWORKS = {
    "kernel 3": [(3, 1, 1)] * 4,
    "stride 2 in the second": [(3, 1, 1), (3, 2, 1), (3, 1, 1), (3, 1, 1)],
    "dilation 1, 2, 4": [(3, 1, 1), (3, 1, 2), (3, 1, 4)],
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    from torch import nn

    from margin.neural.convolution.receptive import footprint, receptive_fields

    data: dict[str, Any] = {}
    for name, layers in NETWORKS.items():
        network = nn.Sequential(*(nn.Conv1d(1, 1, k, stride=s, dilation=d, padding=d * (k // 2)) for k, s, d in layers))
        parts = [cast(nn.Sequential, network[k:]) for k in range(len(layers))]
        lengths = [LENGTH]
        for _, stride, _ in layers:
            lengths.append(-(-lengths[-1] // stride))
        top = lengths[-1] // 2
        # Units of the layer before the last k ones that reach the unit on top.
        reached = [footprint(parts[k], (1, lengths[k]), (top,))[0] for k in range(len(layers))]
        only = np.zeros(lengths[-1], dtype=bool)
        only[top] = True
        data[name] = {
            "reached": [*reached, only],
            "sizes": [field.size[0] for field in receptive_fields(network)],
            "from_behind": [receptive_fields(parts[k])[-1].size[0] for k in range(len(layers))],
        }
    return data


def check(data: dict[str, Any]) -> Verdict:
    parts = {
        name: equal([int(units.sum()) for units in field["reached"][:1]], field["from_behind"][:1])
        for name, field in data.items()
    }
    plain = data["kernel 3"]
    every_layer = [int(units.sum()) for units in plain["reached"]]
    return every(
        **parts,
        recurrence=equal(plain["sizes"], [3, 5, 7, 9]),
        marked_units=equal(every_layer, [9, 7, 5, 3, 1]),
        dilation=equal(data["dilation 1, 2, 4"]["sizes"], [3, 7, 15]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 4.5)
    for ax, (name, field) in zip(figure.subplots(1, len(data)), data.items()):
        for depth, units in enumerate(field["reached"]):
            x = (np.arange(len(units)) + 0.5) / len(units) * LENGTH
            ax.scatter(x, np.full(len(units), depth), s=35, color=np.where(units, "C3", "lightgray"))
        ax.set(title=f"{name}: sees {field['sizes'][-1]} inputs", xlabel="position", ylabel="layer")
        ax.set_yticks(range(len(field["reached"])))
