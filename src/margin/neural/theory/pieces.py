r"""The linear pieces of a rectifier network of one input, exactly and for any depth.

Between two joints every unit is a line. A layer adds the zeros of its lines to the joints, cuts the lines off there,
and mixes them. Nothing is sampled, so the number of pieces is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.neural.theory.network import DenseNetwork

__all__ = ["LinearPieces", "linear_pieces", "merge", "unit_lines"]

Array = np.ndarray
SAME_SLOPE = 1e-9  # relative to the steepest: what two lines that are one differ by after rounding


class LinearPieces(NamedTuple):
    """A continuous function with P linear pieces: joints (P - 1,), and slope and constant of every piece (P, m)."""

    joints: Array
    slopes: Array
    constants: Array

    def __len__(self) -> int:
        return len(self.slopes)

    def within(self, low: float, high: float) -> LinearPieces:
        """The pieces that have a part between ``low`` and ``high``."""
        inside = (self.joints > low) & (self.joints < high)
        first = int(np.searchsorted(self.joints, low, side="right"))
        kept = slice(first, first + int(inside.sum()) + 1)
        return LinearPieces(self.joints[inside], self.slopes[kept], self.constants[kept])

    def evaluate(self, x: Array) -> Array:
        """Values at ``x``, from the piece that each point lies in."""
        piece = np.searchsorted(self.joints, x)
        return self.slopes[piece] * x[:, None] + self.constants[piece]


def linear_pieces(network: DenseNetwork) -> LinearPieces:
    """Joints, slopes and constants of the outputs; joints at which no output bends are left out.

    >>> net = DenseNetwork([np.array([[1.0], [1.0]]), np.array([[1.0, -2.0]])], [np.array([0.0, -1.0]), np.zeros(1)])
    >>> linear_pieces(net).joints, linear_pieces(net).slopes.ravel()
    (array([0., 1.]), array([ 0.,  1., -1.]))
    """
    return merge(unit_lines(network, len(network.weights) - 1))


def unit_lines(network: DenseNetwork, layer: int) -> LinearPieces:
    """The pre-activations of ``layer`` (0: the first hidden one), with all joints of the layers before it."""
    if network.sizes[0] != 1 or network.activation != "relu":
        raise ValueError(
            f"linear_pieces: the network must have one input and rectifiers; "
            f"got {network.sizes[0]} inputs and {network.activation!r}."
        )
    W, b = network.weights[0], network.biases[0]
    lines = LinearPieces(np.empty(0), W.T.copy(), b[None].copy())  # one piece: the lines of the first layer
    for W, b in zip(network.weights[1 : layer + 1], network.biases[1 : layer + 1]):
        clipped = clip(lines)
        lines = LinearPieces(clipped.joints, clipped.slopes @ W.T, clipped.constants @ W.T + b)
    return lines


def clip(lines: LinearPieces) -> LinearPieces:
    """Every line set to 0 where it is negative; its zeros become joints."""
    joints, slopes, constants = lines
    left, right = np.r_[-np.inf, joints][:, None], np.r_[joints, np.inf][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = -constants / slopes + 0.0  # no joint at minus zero
    inside = (slopes != 0) & (zeros > left) & (zeros < right)
    everywhere = np.union1d(joints, zeros[inside])
    middle = _inner_points(everywhere)
    piece = np.searchsorted(joints, middle)  # which old piece a new one lies in
    active = slopes[piece] * middle[:, None] + constants[piece] > 0
    return LinearPieces(everywhere, slopes[piece] * active, constants[piece] * active)


def merge(pieces: LinearPieces) -> LinearPieces:
    """Neighboring pieces on which all outputs are the same line become one."""
    steepest = np.abs(pieces.slopes).max(initial=0.0)
    bends = (np.abs(np.diff(pieces.slopes, axis=0)) > SAME_SLOPE * steepest).any(axis=1)
    kept = np.r_[True, bends]
    return LinearPieces(pieces.joints[bends], pieces.slopes[kept], pieces.constants[kept])


def _inner_points(joints: Array) -> Array:
    """One point inside every piece."""
    if not len(joints):
        return np.zeros(1)
    return np.r_[joints[0] - 1, (joints[1:] + joints[:-1]) / 2, joints[-1] + 1]
