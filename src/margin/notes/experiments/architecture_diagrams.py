r"""Seven architectures, read off the networks themselves

Layers, shapes and parameter counts of a perceptron, a convolutional network, a decoder-only transformer, an
autoencoder, a variational autoencoder, the two players of a GAN and a U-Net. A box is as high as the
logarithm of its output size; below it stand that size and the number of weights. Arcs are ways around layers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from margin.core.verdict import Verdict, equal, every
from margin.notes.diagrams import MUTED, add_arrow, add_box, blank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def networks() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Name: a function that makes the network, and its input."""
    import torch
    from torch import nn

    from margin.generative.vae_network import VAENetwork
    from margin.neural.nets.mlp import MLP

    return {
        "perceptron, 3 hidden layers": (lambda: MLP([3, 5, 5, 5, 2]), (torch.zeros(1, 3),)),
        "2-1-2 perceptron": (lambda: MLP([2, 1, 2]), (torch.zeros(1, 2),)),
        "convolutional network": (_convolutional, (torch.zeros(1, 1, 28, 28),)),
        "decoder-only transformer": (_transformer, (torch.zeros(1, 16, dtype=torch.long),)),
        "autoencoder": (lambda: MLP([64, 32, 8, 32, 64]), (torch.zeros(1, 64),)),
        "variational autoencoder": (lambda: VAENetwork(64, 8, [32]), (torch.zeros(1, 64),)),
        "GAN, generator": (lambda: MLP([8, 32, 64]), (torch.zeros(1, 8),)),
        "GAN, discriminator": (lambda: nn.Sequential(MLP([64, 32, 1]), nn.Sigmoid()), (torch.zeros(1, 64),)),
        "U-Net": (_u_net, (torch.zeros(1, 1, 16, 16),)),
    }


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.neural.summary import layer_table
    from margin.neural.weights import build, count_parameters

    tables, counts = {}, {}
    for name, (factory, inputs) in networks().items():
        net = build(factory, seed).eval()
        # A variational autoencoder is used by its two halves.
        call = (lambda x, net=net: net.decode(net.encode(x)[0])) if hasattr(net, "encode") else None
        tables[name] = [tuple(line) for line in layer_table(net, *inputs, call=call)]
        counts[name] = count_parameters(net)
    return {"tables": tables, "parameters": counts}


def check(data: dict[str, Any]) -> Verdict:
    sums = {name: sum(parameters for *_, parameters in lines) for name, lines in data["tables"].items()}
    linears = [line for line in data["tables"]["perceptron, 3 hidden layers"] if line[1] == "Linear"]
    return every(
        all_parameters_are_in_the_table=equal(sums, data["parameters"]),
        hidden_layers=equal(len(linears) - 1, 3),
        small_one=equal(
            [line[2] for line in data["tables"]["2-1-2 perceptron"] if line[1] == "Linear"], [(1, 1), (1, 2)]
        ),
        image_in_image_out=equal(data["tables"]["U-Net"][-1][2], (1, 2, 16, 16)),
    )


#: How kinds of layers are called in the drawing; of others only those with weights are shown.
SHORT = {
    "Conv2d": "conv",
    "ConvTranspose2d": "up-conv",
    "Embedding": "embed",
    "Flatten": "flatten",
    "LayerNorm": "norm",
    "Linear": "linear",
    "MaxPool2d": "max pool",
    "MultiheadAttention": "attention",
    "Sigmoid": "sigmoid",
    "Parameter": "noise",  # the deviation of a decoder, no layer
}
ROWS = (
    ("perceptron, 3 hidden layers", "2-1-2 perceptron"),
    ("convolutional network",),
    ("decoder-only transformer",),
    ("autoencoder", "variational autoencoder"),
    ("GAN, generator", "GAN, discriminator"),
    ("U-Net",),
)
#: Ways around layers, which a table of layers does not have: from the box before them to the box that joins.
AROUND = {"decoder-only transformer": ((1, 4), (4, 7), (7, 9), (9, 12)), "U-Net": ((0, 4),)}
ACROSS = 14  # layers side by side


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 10.5)
    grid = figure.add_gridspec(len(ROWS), 2)
    for line, names in enumerate(ROWS):
        for column, name in enumerate(names):
            axis = figure.add_subplot(grid[line, column if len(names) > 1 else slice(None)])
            blank(axis, width=(-0.6, ACROSS / len(names) - 0.4), height=(-1.2, 1.35))
            axis.set_title(f"{name}: {data['parameters'][name]:,} weights")
            _draw_layers(axis, data["tables"][name])
            for start, end in AROUND.get(name, ()):
                add_arrow(axis, (start, 0.55), (end, 0.55), color="C2", bend=-0.55 / (end - start))


def _draw_layers(axis: Axes, lines: list[tuple[str, str, tuple[int, ...], int]]) -> None:
    """What every layer is; below, the size of its output and how many weights it has."""
    for k, (_, kind, shape, parameters) in enumerate(line for line in lines if line[3] or line[1] in SHORT):
        height = 0.35 + 0.9 * math.log10(math.prod(shape)) / 4
        color = "C0" if parameters else "C7"
        add_box(axis, k, 0, SHORT.get(kind, kind.lower()), width=0.76, height=height, color=color)
        axis.text(k, -0.76, " x ".join(map(str, shape[1:])), ha="center", va="center", fontsize=8, color=MUTED)
        axis.text(k, -1.03, f"{parameters:,}" if parameters else "", ha="center", va="center", fontsize=8)
        if k and kind != "Parameter":
            add_arrow(axis, (k - 0.62, 0), (k - 0.38, 0))


def _convolutional() -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10),
    )  # fmt: skip


def _transformer() -> Any:
    import torch
    from torch import nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(50, 32), nn.Embedding(16, 32)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True) for _ in range(2)
            )
            self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 50)

        def forward(self, tokens: Any) -> Any:
            h = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
            mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
            for block in self.blocks:
                h = block(h, src_mask=mask, is_causal=True)
            return self.head(self.norm(h))

    return Decoder()


def _u_net() -> Any:
    import torch
    from torch import nn

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.pool = nn.Conv2d(1, 8, 3, padding=1), nn.MaxPool2d(2)
            self.bottom, self.up = nn.Conv2d(8, 16, 3, padding=1), nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.join, self.head = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(8, 2, 1)

        def forward(self, x: Any) -> Any:
            left = torch.relu(self.down(x))
            right = self.up(torch.relu(self.bottom(self.pool(left))))
            return self.head(torch.relu(self.join(torch.cat([left, right], dim=1))))

    return UNet()
