"""One hidden layer of rectifiers: joints, shared joints, planes clipped along lines, affine pieces."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.notes import atlas
from margin.notes.claims import claim


@claim("claim-d-hidden-units-give-d-joints")
def each_unit_adds_at_most_one_joint(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, linear_pieces

    notes = atlas.row("claim-d-hidden-units-give-d-joints").values
    rng = np.random.default_rng(seed)
    counts, joints_right = [], True
    for D in range(1, 21):
        net = DenseNetwork.random((1, D, 1), rng)
        pieces = linear_pieces(net)
        counts.append(len(pieces))
        joints_right &= bool(np.allclose(pieces.joints, np.sort(-net.biases[0] / net.weights[0][:, 0])))
    (w, phi), (b, _) = net.weights, net.biases
    zero_weight, zero_slope, twice, twice_b = phi.copy(), w.copy(), w.copy(), b.copy()
    zero_weight[0, 0], zero_slope[0] = 0.0, 0.0
    twice[1], twice_b[1] = 2 * w[0], 2 * b[0]  # two lines that cross zero at one point
    fewer = [
        len(linear_pieces(DenseNetwork(*parts)))
        for parts in (
            ([w, zero_weight], net.biases),
            ([zero_slope, phi], net.biases),
            ([twice, phi], [twice_b, np.zeros(1)]),
        )
    ]
    three = linear_pieces(DenseNetwork.random((1, 3, 1), rng))
    truth = every(
        regions=equal(counts, [D + 1 for D in range(1, 21)]),
        joints=equal(joints_right, True),
        three_units=equal((len(three.joints), len(three)), (notes["joints"], notes["regions"])),
        degenerate_units_add_none=equal(fewer, [20, 20, 20]),
    )
    return corrected(
        truth,
        every_unit_adds_one=equal(fewer, [21, 21, 21]),
        zero_plus_one=equal(len(three), 0 + 1),
    )


@claim("shallow-multivariate-output")
def outputs_share_joints_and_differ_in_slopes(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, linear_pieces

    net = DenseNetwork.random((1, 4, 2), np.random.default_rng(seed))
    (w, phi), (b, phi_0) = net.weights, net.biases
    each = [linear_pieces(DenseNetwork([w, phi[j : j + 1]], [b, phi_0[j : j + 1]])) for j in range(2)]
    return every(
        same_joints=equal(each[0].joints, each[1].joints),
        four=equal(len(each[0].joints), 4),
        both_at_once=equal(linear_pieces(net).joints, each[0].joints),
        other_slopes=above(float(np.abs(each[0].slopes - each[1].slopes).max()), 1e-3),
    )


@claim("shallow-multivariate-input")
def three_clipped_planes_make_seven_regions(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, activation_regions, hyperplane_cells

    rng = np.random.default_rng(seed)
    net, box = DenseNetwork.random((2, 3, 1), rng), (-1e4, 1e4, -1e4, 1e4)
    cells = activation_regions(net, box)
    inside = np.array([cell.corners.mean(axis=0) for cell in cells])
    parallel = DenseNetwork([np.array([[1.0, 0.5]] * 3), net.weights[1]], net.biases)
    return every(
        seven=equal(len(cells), 1 + 3 + 3),
        by_linear_programs=equal(len(hyperplane_cells(net.weights[0], net.biases[0])), 7),
        affine_in_each=near(
            [c.gradient @ x + c.constant for c, x in zip(cells, inside)], net(inside)[:, 0], tolerance=1e-6
        ),
        parallel_lines_make_fewer=equal(len(activation_regions(parallel, box)), 4),
    )


@claim("claim-relu-network-continuous-piecewise-linear")
def a_rectifier_network_is_affine_in_each_region_and_continuous(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, linear_pieces
    from margin.neural.theory.regions import affine_map, along_line

    rng = np.random.default_rng(seed)
    net = DenseNetwork.random((3, 6, 5, 2), rng)
    x = rng.normal(size=3)
    A, c = affine_map(net, x)
    close = x + 1e-6 * rng.normal(size=(50, 3))  # within the region: no boundary is that near
    line = linear_pieces(along_line(net, x, rng.normal(size=3)))
    left = line.slopes[:-1] * line.joints[:, None] + line.constants[:-1]
    right = line.slopes[1:] * line.joints[:, None] + line.constants[1:]
    jumps = np.abs(np.diff(line.slopes, axis=0))
    return every(
        affine=near(net(close), close @ A.T + c, tolerance=1e-10),
        crosses_regions=above(len(line), 3),
        values_agree=near(left, right, tolerance=1e-9),
        gradients_jump=above(float(jumps.max(axis=1).min()), 1e-9),
        outputs_share_boundaries=above(float(jumps.min(axis=1).max()), 1e-3),
    )
