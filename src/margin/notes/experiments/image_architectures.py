"""From LeNet to AlexNet to VGG, and a residual beside a dense block

Shapes and parameters as the modules themselves have them: deeper, wider, rectifiers in place of sigmoids, maxima in
place of means, and blocks in place of single layers. A residual block adds its input, a dense block keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, above, equal, every

if TYPE_CHECKING:
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
    figure.set_size_inches(16, 9)
    axes = figure.subplots(1, 5)
    for ax, (name, listed) in zip(axes, data["stages"].items()):
        shown = [(kind, shape) for kind, shape, _ in listed if kind.split()[0] not in ("ReLU", "Sigmoid", "Dropout")]
        lines = [f"{kind}: {'x'.join(map(str, shape))}" for kind, shape in shown]
        _stack(ax, lines, f"{name}, {data['facts'][name]['parameters']:,} parameters")
    for ax, (name, block) in zip(axes[3:], data["blocks"].items()):
        lines = [f"input: {CHANNELS}"]
        lines += [f"3x3 convolution: {a} to {b}" for a, b in block["convolutions"]]
        lines.append(f"{'sum' if name == 'residual' else 'concatenation'}: {block['out']}")
        _stack(ax, lines, f"{name} block")


def _stack(ax: Any, lines: list[str], title: str) -> None:
    for k, line in enumerate(lines):
        ax.text(0.5, -k, line, ha="center", va="center", bbox={"boxstyle": "round", "fc": "lavender"}, fontsize=8)
    ax.set(title=title, xlim=(0, 1), ylim=(-len(lines), 1))
    ax.axis("off")
