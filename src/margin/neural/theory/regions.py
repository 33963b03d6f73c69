r"""Activation regions counted exactly: polygons in the plane for any depth, half-spaces in any dimension for one layer.

An activation region is the set of inputs for which the same units are on; inside it the network is one affine map.
"""

from __future__ import annotations

import numpy as np

from margin.neural.diagnostics.pieces import Box, Cell, clip_polygon
from margin.neural.theory.network import DenseNetwork

__all__ = ["activation_regions", "affine_map", "along_line", "hyperplane_cells"]

Array = np.ndarray


def activation_regions(network: DenseNetwork, box: Box) -> list[Cell]:
    """The regions of a network of two inputs inside the box, each with gradient and constant of the first output.

    >>> net = DenseNetwork([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.zeros(1)])
    >>> len(activation_regions(net, (-1, 1, -1, 1)))
    4
    """
    if network.sizes[0] != 2 or network.activation != "relu":
        raise ValueError(
            f"activation_regions: the network must have two inputs and rectifiers; "
            f"got {network.sizes[0]} inputs and {network.activation!r}."
        )
    left, right, bottom, top = box
    corners = np.array([[left, bottom], [right, bottom], [right, top], [left, top]], dtype=float)
    # In every region the layer's pre-activations are affine: G x + c.
    regions = [(corners, network.weights[0], network.biases[0])]
    for W, b in zip(network.weights[1:], network.biases[1:]):
        split = [part for region in regions for part in _split(*region)]
        regions = [(polygon, W @ G, W @ c + b) for polygon, G, c in split]
    return [Cell(polygon, G[0], float(c[0])) for polygon, G, c in regions]


def _split(polygon: Array, G: Array, c: Array) -> list[tuple[Array, Array, Array]]:
    """A region cut along the zeros of every unit of a layer, which is then switched off or on in each part."""
    parts = [polygon]
    for direction, offset in zip(G, c):
        halves = (clip_polygon(part, s * direction, s * offset) for part in parts for s in (1, -1))
        parts = [half for half in halves if len(half) > 2 and _area(half) > 0]
    pieces = []
    for part in parts:
        active = G @ part.mean(axis=0) + c > 0
        pieces.append((part, G * active[:, None], c * active))
    return pieces


def _area(polygon: Array) -> float:
    """Twice the area; a part whose corners fall together by rounding has none."""
    x, y = (polygon - polygon[0]).T
    extent = float(np.ptp(x) * np.ptp(y))
    area = float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))
    return area if area > 1e-12 * extent else 0.0


def affine_map(network: DenseNetwork, x: Array) -> tuple[Array, Array]:
    """The matrix and constant that a rectifier network is in the region of the input ``x`` (d,)."""
    A, c, h = np.eye(len(x)), np.zeros(len(x)), x
    for W, b in zip(network.weights[:-1], network.biases[:-1]):
        active = W @ h + b > 0
        A, c, h = (W @ A) * active[:, None], (W @ c + b) * active, (W @ h + b) * active
    return network.weights[-1] @ A, network.weights[-1] @ c + network.biases[-1]


def along_line(network: DenseNetwork, start: Array, direction: Array) -> DenseNetwork:
    """The network of one input t that gives what ``network`` gives at start + t direction."""
    W, b = network.weights[0], network.biases[0]
    first = (W @ direction)[:, None]
    return DenseNetwork([first, *network.weights[1:]], [W @ start + b, *network.biases[1:]], network.activation)


def hyperplane_cells(w: Array, b: Array) -> list[Array]:
    r"""Sign patterns of the cells into which the hyperplanes :math:`w_d \cdot x + b_d = 0` cut all of space.

    A pattern exists if a linear program finds a point on the right side of every plane by a positive margin.

    >>> len(hyperplane_cells(np.eye(3), np.zeros(3)))
    8
    """
    patterns: list[Array] = [np.empty(0)]
    for d in range(len(w)):
        candidates = [np.append(pattern, sign) for pattern in patterns for sign in (-1.0, 1.0)]
        patterns = [signs for signs in candidates if _exists(signs, w[: d + 1], b[: d + 1])]
    return patterns


def _exists(signs: Array, w: Array, b: Array) -> bool:
    from scipy.optimize import linprog  # slow to import, and only this needs it

    # Largest t <= 1 with signs * (w x + b) >= t.
    A = np.c_[-signs[:, None] * w, np.ones(len(w))]
    bounds = [(None, None)] * w.shape[1] + [(None, 1.0)]
    solution = linprog(np.append(np.zeros(w.shape[1]), -1.0), A_ub=A, b_ub=signs * b, bounds=bounds)
    return bool(solution.status == 0 and -solution.fun > 1e-9)
