r"""Networks that fold: compositions, and deep networks with as many regions as there can be."""

from __future__ import annotations

import numpy as np

from margin.neural.theory.network import DenseNetwork

__all__ = ["compose", "folding_network", "max_region_network", "zigzag"]

Array = np.ndarray


def compose(first: DenseNetwork, second: DenseNetwork) -> DenseNetwork:
    r"""``second`` after ``first`` as one network: the last layer of one and the first of the other are one map.

    .. math:: \Psi = \Theta'\Phi,\qquad \psi_0 = \theta'_0 + \Theta'\phi_0

    Through a single number in between, :math:`\Psi` is an outer product: a matrix of rank one.
    """
    if first.activation != second.activation or first.sizes[-1] != second.sizes[0]:
        raise ValueError(
            f"compose: both networks must have one activation and sizes that fit; "
            f"got {first.activation!r} with sizes {first.sizes} and {second.activation!r} with sizes {second.sizes}."
        )
    joint = second.weights[0] @ first.weights[-1]
    bias = second.biases[0] + second.weights[0] @ first.biases[-1]
    weights = [*first.weights[:-1], joint, *second.weights[1:]]
    return DenseNetwork(weights, [*first.biases[:-1], bias, *second.biases[1:]], first.activation)


def zigzag(n_units: int) -> DenseNetwork:
    r"""D units whose D + 1 pieces rise and fall in turn, each over all of [0, 1], with all joints inside (0, 1).

    A unit that points right, :math:`\mathrm{relu}(x - t)`, changes the slope at its joint; one that points left,
    :math:`\mathrm{relu}(t - x)`, changes it by as much and also gives a slope to everything before. The third unit
    points left, so that the first piece is not flat: its change of slope, from 1/l to -1/l where l is the length of a
    piece, makes the first slope 2/l, and the first piece half as long. With two units no choice of directions works.
    """
    if n_units < 3:
        raise ValueError(f"zigzag: n_units must be at least 3; got {n_units!r}.")
    D = n_units
    length = 1 / (D + 0.5)  # of D pieces; a slope of 1 / length covers [0, 1] on each
    t = (np.arange(D) + 0.5) * length
    slopes = 1 / length * np.array([2.0, *(-1.0 if j % 2 else 1.0 for j in range(1, D + 1))])
    direction = np.where(np.arange(D) == 2, -1.0, 1.0)
    phi = np.diff(slopes)
    hidden = np.maximum(direction * (t[0] - t), 0)
    constant = 1.0 - phi @ hidden  # the first joint is a top
    return DenseNetwork([direction[:, None], phi[None]], [-direction * t, np.array([constant])])


def max_region_network(n_units: int, depth: int) -> DenseNetwork:
    r"""K layers of D units with exactly :math:`(D+1)^K` linear regions: every layer folds [0, 1] onto itself.

    >>> from margin.neural.theory.pieces import linear_pieces
    >>> [len(linear_pieces(max_region_network(3, depth))) for depth in (1, 2, 3)]
    [4, 16, 64]
    """
    network = zigzag(n_units)
    for _ in range(depth - 1):
        network = compose(network, zigzag(n_units))
    return network


def folding_network(units_per_input: int, n_last: int, rng: np.random.Generator) -> DenseNetwork:
    r"""Two inputs, each folded by its own units, then ``n_last`` lines that all cross inside the square.

    With :math:`n = 2m` units in the first layer the plane has :math:`(m+1)^2` parts, each mapped over the unit square,
    and each of them is cut like it: :math:`(n/2+1)^2\,(n'^2+n'+2)/2` regions.
    """
    fold = zigzag(units_per_input)
    m, zero = units_per_input, np.zeros((units_per_input, 1))
    W1 = np.block([[fold.weights[0], zero], [zero, fold.weights[0]]])  # (2m, 2)
    Phi = np.block([[fold.weights[1], np.zeros((1, m))], [np.zeros((1, m)), fold.weights[1]]])
    first = DenseNetwork([W1, Phi], [np.tile(fold.biases[0], 2), np.tile(fold.biases[1], 2)])
    # Tangents of a circle at angles of less than half a turn in all: neighbors meet close to it.
    angle = np.pi * (np.arange(n_last) + rng.uniform(0.3, 0.7, n_last)) / n_last
    normals = np.c_[np.cos(angle), np.sin(angle)]
    offsets = rng.uniform(0.5, 1.0, n_last)
    pairs = [[i, j] for i in range(n_last) for j in range(i)]
    crossings = np.array([np.linalg.solve(normals[pair], offsets[pair]) for pair in pairs])
    offsets *= 0.4 / np.abs(crossings).max()  # all within 0.4 of the middle of the square
    second = DenseNetwork([normals, np.ones((1, n_last))], [-(offsets + normals @ [0.5, 0.5]), np.zeros(1)])
    return compose(first, second)
