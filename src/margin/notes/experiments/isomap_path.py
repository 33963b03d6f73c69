r"""Isomap: the way along the Swiss roll.

Two points of a rolled-up sheet can be near in space and far apart on the sheet. Shortest paths in the graph of nearest
neighbors follow the sheet; classical scaling of their lengths, :math:`\tau(D_G) = -\frac12 H D_G^{\circ 2} H`, unrolls
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.csgraph import dijkstra

from margin.core.verdict import Verdict, above, every
from margin.data import load
from margin.reduction import Isomap, knn_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEIGHBORS = 8
# The lower half of the roll. Turns are 2 pi apart, and at the rim of a sparser sample some point has its eighth
# neighbor on the next turn: one such edge is a short cut for many paths.
HEIGHT = 10.5


def run(seed: int, fast: bool) -> dict[str, Any]:
    roll = load("swiss-roll", n_samples=1800 if fast else 4000, seed=seed)
    lower = np.asarray(roll.X)[:, 1] < HEIGHT
    X, t = np.asarray(roll.X)[lower], np.asarray(roll.y)[lower]
    model = Isomap(n_neighbors=NEIGHBORS).fit(X)
    straight = np.linalg.norm(X[:, None] - X, axis=2)
    ratio = np.where(straight > 3, model.dist_matrix_ / np.maximum(straight, 1e-12), 0.0)
    first, last = (int(i) for i in np.unravel_index(ratio.argmax(), ratio.shape))
    before = dijkstra(knn_graph(X, NEIGHBORS), indices=first, return_predecessors=True)[1]
    path = [last]
    while path[-1] != first:
        path.append(int(before[path[-1]]))
    return {
        "X": X,
        "t": t,
        "Y": model.embedding_,
        "path": path,
        "straight": float(straight[first, last]),
        "along": float(model.dist_matrix_[first, last]),
    }


def check(data: dict[str, Any]) -> Verdict:
    steps = np.diff(data["X"][data["path"]], axis=0)
    walked = float(np.linalg.norm(steps, axis=1).sum())
    ends = data["Y"][[data["path"][0], data["path"][-1]]]
    return every(
        longer_than_straight=above(data["along"] / data["straight"], 3.0),
        path_is_as_long_as_said=above(1e-9 * walked - abs(walked - data["along"]), 0.0),
        embedding_keeps_it=above(float(np.linalg.norm(ends[0] - ends[1])) / data["along"], 0.85),
        unrolled=above(abs(float(np.corrcoef(data["Y"][:, 0], data["t"])[0, 1])), 0.98),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.6)
    X, Y, path = data["X"], data["Y"], data["path"]
    halves: Any = figure.subfigures(1, 2, width_ratios=(1, 1.2))
    left, right = halves
    space: Any = left.add_subplot(projection="3d")
    space.scatter(X[:, 0], X[:, 1], X[:, 2], c=data["t"], cmap="viridis", s=8, alpha=0.45)
    space.plot(*X[path].T, color="C3", linewidth=2.4, label=f"along the surface: {data['along']:.1f}")
    space.plot(
        *X[[path[0], path[-1]]].T, color="black", linestyle="--", label=f"through the air: {data['straight']:.1f}"
    )
    space.set(title="Two points of the roll", xlabel="$x_1$", ylabel="$x_2$")
    space.view_init(elev=8, azim=-72)
    space.legend(loc="lower center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    plane = right.subplots()
    shown = plane.scatter(Y[:, 0], Y[:, 1], c=data["t"], cmap="viridis", s=14, alpha=0.6)
    plane.plot(*Y[path].T, color="C3", linewidth=2.4, label="path in the graph")
    plane.plot(*Y[[path[0], path[-1]]].T, color="black", linestyle="--", label="straight in the plane")
    # Both axes of one scale would make a strip of it: the roll is five times as long as it is wide.
    plane.set(title="Unrolled by Isomap", xlabel="first coordinate", ylabel="second coordinate")
    plane.set_ylim(plane.get_ylim()[0], plane.get_ylim()[1] + 0.25 * np.ptp(Y[:, 1]))
    plane.legend(loc="upper center", ncols=2)
    right.colorbar(shown, ax=plane, label="position along the roll $t$", location="bottom", aspect=40)
