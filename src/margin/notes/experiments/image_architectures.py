"""From LeNet to AlexNet to VGG, and a residual beside a dense block

Shapes and parameters as the modules themselves have them: deeper, wider, rectifiers in place of sigmoids, maxima in
place of means, and blocks in place of single layers. A residual block adds its input, a dense block keeps it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, above, equal, every
from margin.notes.diagrams import MUTED, add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANNELS, GROWTH, LAYERS = 64, 32, 3


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.nets import DenseBlock, ResidualBlock, alexnet, lenet5, multiply_adds, stages, vgg
    from margin.neural.weights import count_parameters

    with torch.device("meta"):
        networks = {
            "LeNet-5": (lenet5(), (1, 28, 28)),
            "AlexNet": (alexnet((1, 224, 224), 10, padding=1), (1, 224, 224)),
            "VGG-11": (vgg(shape=(1, 224, 224), n_outputs=10), (1, 224, 224)),
        }
        blocks = {
            "residual": ResidualBlock(CHANNELS, CHANNELS),
            "dense": DenseBlock(CHANNELS, GROWTH, LAYERS, bottleneck=False),
        }
    data: dict[str, Any] = {"stages": {}, "facts": {}, "blocks": {}}
    for name, (network, shape) in networks.items():
        kinds = {type(layer).__name__ for layer in network}
        data["stages"][name] = [(stage.kind, stage.shape, stage.parameters) for stage in stages(network, shape)]
        data["facts"][name] = {
            "layers with weights": sum(1 for stage in data["stages"][name] if stage[2]),
            "parameters": count_parameters(network),
            "multiply-adds": multiply_adds(network, shape),
            "activation": next(kind for kind in ("Sigmoid", "ReLU") if kind in kinds),
            "pooling": next(kind for kind in ("AvgPool2d", "MaxPool2d") if kind in kinds),
            "most convolutions in a row": _longest_run([stage[0].split()[0] for stage in data["stages"][name]]),
        }
    for name, block in blocks.items():
        convolutions = [
            (layer.in_channels, layer.out_channels) for layer in block.modules() if isinstance(layer, torch.nn.Conv2d)
        ]
        out = block.eval()(torch.zeros(1, CHANNELS, 8, 8, device="meta")).shape[1]
        data["blocks"][name] = {"convolutions": convolutions, "out": int(out)}
    return data


def _longest_run(kinds: list[str]) -> int:
    """Most convolutions between two poolings."""
    best = now = 0
    for kind in kinds:
        now = now + 1 if kind == "Conv2d" else 0 if kind.endswith("Pool2d") or kind == "Linear" else now
        best = max(best, now)
    return best


def check(data: dict[str, Any]) -> Verdict:
    facts = data["facts"]
    blocks = data["blocks"]
    return every(
        parameters=equal([fact["parameters"] for fact in facts.values()], [61_706, 46_764_746, 128_806_154]),
        depth=equal([fact["layers with weights"] for fact in facts.values()], [5, 8, 11]),
        activation=equal([fact["activation"] for fact in facts.values()], ["Sigmoid", "ReLU", "ReLU"]),
        pooling=equal([fact["pooling"] for fact in facts.values()], ["AvgPool2d", "MaxPool2d", "MaxPool2d"]),
        blocks_of_convolutions=equal([fact["most convolutions in a row"] for fact in facts.values()], [1, 3, 2]),
        work=above(facts["VGG-11"]["multiply-adds"], 5 * facts["AlexNet"]["multiply-adds"]),
        residual_adds=equal((blocks["residual"]["convolutions"], blocks["residual"]["out"]), ([(64, 64)] * 2, 64)),
        dense_concatenates=equal(
            (blocks["dense"]["convolutions"], blocks["dense"]["out"]),
            ([(CHANNELS + k * GROWTH, GROWTH) for k in range(LAYERS)], CHANNELS + LAYERS * GROWTH),
        ),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 8.5)
    axes = figure.subplots(4, 1)
    for ax, (name, listed) in zip(axes, data["stages"].items()):
        shown = [stage for stage in listed if stage[0].split()[0] not in ("ReLU", "Sigmoid", "Dropout")]
        title = f"{name}: {data['facts'][name]['parameters']:,} parameters"
        _draw_stages(blank(ax, width=(-0.6, 15.6), height=(-1.25, 1.0)), shown, title)
    _draw_blocks(blank(axes[3], width=(-0.6, 15.6), height=(-1.25, 1.0)), data["blocks"])


KINDS = {"Conv2d": ("conv", "C0"), "AvgPool2d": ("mean", "C1"), "MaxPool2d": ("max", "C1"), "Linear": ("linear", "C2")}


def _draw_stages(ax: Axes, stages: list[tuple[str, tuple[int, ...], int]], title: str) -> None:
    """A box per stage, as high as the logarithm of its feature map's side; below it channels and side."""
    for x, (kind, shape, _) in enumerate(stages):
        name, *window = kind.split()
        word, color = KINDS.get(name, (name, "C7"))
        height = 0.5 + 0.12 * math.log2(shape[-1]) if len(shape) == 3 else 0.5
        add_box(ax, x, 0, "\n".join([word, *window]), width=0.82, height=height, color=color)
        side = f"{shape[0]} × {shape[1]}²" if len(shape) == 3 else f"{shape[0]:,}"
        ax.text(x, -1.0, side, ha="center", va="center", fontsize=8, color=MUTED)
        if x:
            add_arrow(ax, (x - 0.58, 0), (x - 0.42, 0))
    ax.set_title(title)


def _draw_blocks(ax: Axes, blocks: dict[str, Any]) -> None:
    """What a residual and a dense block do with their input: add it, or keep it beside."""
    x = 0.0
    for name, block in blocks.items():
        first = x
        add_box(ax, x, 0, str(CHANNELS), width=0.82, height=0.6, color="C7")
        for before, after in block["convolutions"]:
            x += 1.4
            add_box(ax, x, 0, f"conv 3x3\n{before} to {after}", width=1.1, height=0.6, color="C0")
            add_arrow(ax, (x - 0.95, 0), (x - 0.57, 0))
        x += 1.4
        sign = "+" if name == "residual" else "beside"
        add_box(ax, x, 0, f"{sign}\n{block['out']}", width=0.82, height=0.6, color="C3")
        add_arrow(ax, (x - 0.8, 0), (x - 0.43, 0))
        add_arrow(ax, (first, 0.31), (x, 0.31), bend=-0.1)
        ax.text((first + x) / 2, -0.75, f"{name} block", ha="center", color=MUTED)
        x += 2.2
    ax.set_title("Blocks: the number of channels, and the way around the convolutions")
