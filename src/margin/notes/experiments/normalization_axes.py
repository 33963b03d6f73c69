r"""Which cells share a mean and a variance

Four cubes of a feature map with axes N (samples), C (channels) and H, W (space). The blue cells are those that the
output at the marked cell depends on: found by differentiating the layers themselves, not drawn by hand.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, C, SPACE, GROUPS = 4, 6, 4, 3
CELL = (0, 2, 3)


def run(seed: int, fast: bool) -> dict[str, Any]:
    import torch

    from margin.neural.normalization import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, pooled_cells

    x = torch.randn(N, C, SPACE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    layers = {
        "batch norm": BatchNorm(C),
        "layer norm": LayerNorm((C, SPACE)),
        "instance norm": InstanceNorm(C),
        "group norm": GroupNorm(GROUPS, C),
    }
    return {name: pooled_cells(layer.double(), x, CELL).numpy() for name, layer in layers.items()}


def check(data: dict[str, Any]) -> Verdict:
    n, c, _ = CELL
    group = slice(c // (C // GROUPS) * (C // GROUPS), (c // (C // GROUPS) + 1) * (C // GROUPS))
    expected = {name: np.zeros((N, C, SPACE), dtype=bool) for name in data}
    expected["batch norm"][:, c] = True
    expected["layer norm"][n] = True
    expected["instance norm"][n, c] = True
    expected["group norm"][n, group] = True
    return every(**{name.replace(" ", "_"): equal(mask, expected[name]) for name, mask in data.items()})


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(10.5, 9)
    for k, (name, mask) in enumerate(data.items()):
        axis: Any = figure.add_subplot(2, 2, k + 1, projection="3d")
        cells = mask.transpose(1, 0, 2)  # C to the right, N into the page, space upward
        colors = np.full(cells.shape, "#2a5db0", dtype=object)
        colors[CELL[1], CELL[0], CELL[2]] = "#e08e2b"
        axis.voxels(cells, facecolors=colors, edgecolor="white", linewidth=0.5)
        for start, end in combinations(product((0, C), (0, N), (0, SPACE)), 2):
            if sum(a != b for a, b in zip(start, end)) == 1:  # an edge of the whole cube
                axis.plot(*zip(start, end), color="gray", lw=0.8)
        axis.set_title(f"{name}: a mean over {int(mask.sum())} cells", y=0.98)
        axis.set(xlabel="channels C", ylabel="rows N", zlabel="H, W")
        axis.set(xticks=[], yticks=[], zticks=[], aspect="equal")
        axis.view_init(elev=24, azim=-58)
        axis.set_box_aspect(None, zoom=1.05)
