"""Depth: compositions that fold, how many regions they make, and for how many parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes import atlas
from margin.notes.claims import claim
from margin.notes.claims.neural_core.perceptron import network, outputs, parameters, scalar_forward


def alternating() -> Any:
    """Three units whose slopes 3, -3, 3 cover [-1, 1] three times over [-1, 1]."""
    from margin.neural.theory import DenseNetwork

    return DenseNetwork(
        [np.ones((3, 1)), np.array([[3.0, -6.0, 6.0]])], [np.array([1.0, 1 / 3, -1 / 3]), np.array([-1.0])]
    )


def bend() -> Any:
    """Three units with three different slopes on [-1, 1]."""
    from margin.neural.theory import DenseNetwork

    return DenseNetwork([np.ones((3, 1)), np.array([[1.0, -2.5, 2.0]])], [np.array([1.0, 0.3, -0.4]), np.array([-0.2])])


@claim("example-composed-shallow-networks")
def three_folds_of_three_pieces_make_nine_regions() -> Verdict:
    from margin.neural.theory import compose, linear_pieces

    notes = atlas.row("example-composed-shallow-networks").values
    first, second = alternating(), bend()
    both = linear_pieces(compose(first, second)).within(-1, 1)
    x = np.linspace(-1, 1, 501)
    return every(
        copies=equal(len(linear_pieces(first).within(-1, 1)), notes["copies"]),
        pieces=equal(len(linear_pieces(second).within(-1, 1)), notes["pieces"]),
        regions=equal(len(both), notes["regions"]),
        composition=near(both.evaluate(x), second(first(x)), tolerance=1e-12),
    )


@claim("claim-non-injective-map-duplicates-function", "folding-analogy")
def points_that_are_folded_together_have_one_output() -> Verdict:
    from margin.neural.theory import compose

    first, both = alternating(), compose(alternating(), bend())
    y = np.linspace(-0.99, 0.99, 101)
    preimages = [-1 + (y + 1) / 3, 1 / 3 - (y + 1) / 3, 1 / 3 + (y + 1) / 3]
    direction = [
        np.sign(np.diff(first(x)[:, 0]) * np.diff(x))[0]
        for x in (np.linspace(c - 0.3, c + 0.3, 9) for c in (-2 / 3, 0, 2 / 3))
    ]
    return every(
        folded=near(np.c_[tuple(first(x)[:, 0] for x in preimages)], np.tile(y[:, None], 3), tolerance=1e-12),
        same_output=near(both(preimages[0]), both(preimages[1]), tolerance=1e-10),
        third=near(both(preimages[0]), both(preimages[2]), tolerance=1e-10),
        middle_is_reversed=equal([float(d) for d in direction], [1.0, -1.0, 1.0]),
    )


@claim("claim-composition-is-special-two-layer-network")
def a_composition_has_middle_weights_of_rank_one(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, compose

    rng = np.random.default_rng(seed)
    # So many units that some of them are awake: a second network that is constant hides every mistake.
    first, second = (DenseNetwork.random((1, 3, 1), rng), DenseNetwork.random((1, 30, 1), rng))
    deep = compose(first, second)
    x = np.linspace(-3, 3, 201)
    phi, theta = first.weights[1][0], second.weights[0][:, 0]
    without = DenseNetwork(deep.weights, [deep.biases[0], theta * first.biases[1][0], deep.biases[2]])
    general = DenseNetwork.random((1, 3, 3, 1), rng)
    truth = every(
        same_function=near(deep(x), second(first(x)), tolerance=1e-12),
        outer_product=near(deep.weights[1], np.outer(theta, phi), tolerance=1e-14),
        rank=equal(int(np.linalg.matrix_rank(deep.weights[1])), 1),
        a_free_one_has_more=equal(int(np.linalg.matrix_rank(general.weights[1])), 3),
    )
    return corrected(truth, printed=near(without(x), second(first(x)), tolerance=1e-3))


@claim("two-hidden-layer-network")
def widths_1_3_3_1_make_22_parameters(seed: int) -> Verdict:
    from margin.neural.theory import parameter_count
    from margin.neural.weights import count_parameters

    notes = atlas.row("two-hidden-layer-network").values
    net = network(1, 3, 3, 1, seed=seed)
    W, b = parameters(net)
    X = np.linspace(-2, 2, 21)[:, None]
    return every(
        parameters=equal(count_parameters(net), notes["parameters"]),
        formula=equal(parameter_count(3, 2), notes["parameters"]),
        equations=near(outputs(net, X)[:, 0], [scalar_forward(W, b, x) for x in X], tolerance=1e-12),
    )


@claim("claim-second-layer-clips-shallow-functions")
def the_second_layer_clips_shallow_functions_of_common_joints(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork
    from margin.neural.theory.pieces import LinearPieces, clip, merge, unit_lines

    net = DenseNetwork.random((1, 3, 3, 1), np.random.default_rng(seed))
    lines = unit_lines(net, 1)
    one = lambda pieces, j: merge(LinearPieces(pieces.joints, pieces.slopes[:, [j]], pieces.constants[:, [j]]))  # noqa: E731
    before = [one(lines, j).joints for j in range(3)]
    zeros = []  # found on a grid, not by the clipping
    x = np.linspace(-60, 60, 600_001)
    values = lines.evaluate(x)
    for j in range(3):
        crossed = np.flatnonzero(np.sign(values[1:, j]) * np.sign(values[:-1, j]) < 0)
        zeros.append(x[crossed])
    after = [one(clip(lines), j).joints for j in range(3)]
    new = [np.setdiff1d(after[j].round(9), before[j].round(9)) for j in range(3)]
    inside = [part[np.abs(part) < 59.9] for part in new]
    return every(
        common_joints=equal(all(np.array_equal(joints, before[0]) for joints in before), True),
        three=equal(len(before[0]), 3),
        as_many_new_ones_as_zeros=equal([len(part) for part in inside], [len(z) for z in zeros]),
        at_the_zeros=below(max(np.abs(a - b).max(initial=0.0) for a, b in zip(inside, zeros)), 1e-3),
    )


@claim("claim-regions-shallow")
def lines_in_general_position_cut_the_plane(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, activation_regions, hyperplane_cells, shallow_regions

    notes = atlas.row("claim-regions-shallow").values
    rng = np.random.default_rng(seed)
    counts = []
    for n in notes["units"]:
        # Normals spread over half a turn: no two lines are nearly parallel, so all crossings are in the box.
        angle = np.pi * (np.arange(n) + rng.uniform(0.2, 0.8, n)) / n
        net = DenseNetwork([np.c_[np.cos(angle), np.sin(angle)], np.ones((1, n))], [rng.normal(size=n), np.zeros(1)])
        counts.append(len(activation_regions(net, (-1e3, 1e3, -1e3, 1e3))))
    space = len(hyperplane_cells(rng.normal(size=(3, 3)), rng.normal(size=3)))
    truth = every(
        counted=equal(counts, notes["regions"]),
        formula=equal([(n * n + n + 2) // 2 for n in notes["units"]], notes["regions"]),
        sum_of_binomials=equal([shallow_regions(n, 2) for n in notes["units"]], notes["regions"]),
        three_inputs=equal(space, shallow_regions(3, 3)),
    )
    return corrected(truth, printed=below(space, (3 * 3 + 3 + 2) / 2 + 0.5))


@claim("shallow-region-and-parameter-count")
def a_shallow_network_has_d_plus_1_regions_for_3d_plus_1_parameters(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, linear_pieces, parameter_count, region_limit

    rng = np.random.default_rng(seed)
    widths = range(3, 51)
    nets = [DenseNetwork.random((1, D, 1), rng) for D in widths]
    return every(
        regions=equal([len(linear_pieces(net)) for net in nets], [region_limit(D, 1) for D in widths]),
        d_plus_1=equal([region_limit(D, 1) for D in widths], [D + 1 for D in widths]),
        parameters=equal([net.n_parameters for net in nets], [parameter_count(D, 1) for D in widths]),
        three_d_plus_1=equal([parameter_count(D, 1) for D in widths], [3 * D + 1 for D in widths]),
    )


@claim("claim-regions-deep")
def folding_attains_the_formula_and_others_exceed_it(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, activation_regions, folding_network, hyperplane_cells, region_limit
    from margin.neural.theory.counting import deep_region_bound

    notes = atlas.row("claim-regions-deep").values
    rng = np.random.default_rng(seed)
    folded = folding_network(3, 6, rng)
    turned = folded.weights[0] + 1e-3 * rng.normal(size=(6, 2))  # lines that were parallel now meet, far away
    other = DenseNetwork([turned, *folded.weights[1:]], folded.biases)
    more = len(activation_regions(other, (-1e5, 1e5, -1e5, 1e5)))
    space = len(hyperplane_cells(rng.normal(size=(3, 3)), rng.normal(size=3)))
    truth = every(
        formula=equal(deep_region_bound(6, 2), float(notes["formula"])),
        folding_attains_it=equal(len(activation_regions(folded, (-10, 10, -10, 10))), notes["formula"]),
        limit=equal(region_limit(6, 2, 2), notes["limit"]),
        below_the_limit=below(more, notes["limit"]),
    )
    return corrected(
        truth,
        an_upper_bound=below(more, notes["formula"] + 0.5),
        for_any_number_of_inputs=below(space, deep_region_bound(3, 1, 3) + 0.5),
    )


@claim("deep-region-and-parameter-count")
def depth_multiplies_regions_and_adds_parameters(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, linear_pieces, max_region_network, parameter_count, region_limit

    notes = atlas.row("deep-region-and-parameter-count").values
    rng = np.random.default_rng(seed)
    shapes = [(D, K) for D in (3, 10) for K in (1, 2, 5)]
    built = [DenseNetwork.random([1, *[D] * K, 1], rng).n_parameters for D, K in shapes]
    two = max(len(linear_pieces(DenseNetwork.random((1, 2, 2, 1), rng))) for _ in range(1500))
    return every(
        parameters=equal(built, [parameter_count(D, K) for D, K in shapes]),
        formula=equal(built, [3 * D + 1 + (K - 1) * D * (D + 1) for D, K in shapes]),
        example=equal((parameter_count(10, 5), region_limit(10, 5)), (notes["parameters"], notes["regions"])),
        counted=equal([len(linear_pieces(max_region_network(3, K))) for K in range(1, 6)], [4**K for K in range(1, 6)]),
        two_units_do_not=below(two, 7.5),
    )


@claim("claim-depth-over-width")
def the_same_parameters_allow_more_regions_in_depth(seed: int) -> Verdict:
    from margin.neural.theory import DenseNetwork, compare_depths, linear_pieces, max_region_network

    notes = atlas.row("claim-depth-over-width").values
    best = {b.depth: b for b in compare_depths(notes["budget"])}
    few = {b.depth: b for b in compare_depths(22)}
    deep, shallow = max_region_network(3, 5), 1 + max_region_network(3, 5).n_parameters // 3
    rng = np.random.default_rng(seed)
    drawn = np.mean([len(linear_pieces(DenseNetwork.random([1, *[10] * 5, 1], rng))) for _ in range(20)])
    multiply_adds = lambda width, depth: 2 * width + (depth - 1) * width**2  # noqa: E731
    truth = every(
        shallow=equal((best[1].width, best[1].regions), (notes["shallow_width"], notes["shallow_regions"])),
        deep=equal((best[5].width, best[5].regions), (notes["deep_width"], notes["deep_regions"])),
        cost_is_alike=below(multiply_adds(10, 5) / multiply_adds(166, 1), 1.5),
        starts_at_22=equal((few[2].regions, few[1].regions), (16, 8)),
        built=above(len(linear_pieces(deep)) / shallow, 10),
    )
    # What is compared are limits: networks as they are drawn have far fewer regions than the limit, whatever the depth.
    return corrected(truth, printed=above(float(drawn), notes["shallow_regions"]))


@claim("montufar-region-lower-bound")
def the_lower_bound_needs_its_floor_and_binomials(seed: int) -> Verdict:
    from margin.neural.theory import (
        activation_regions,
        folding_network,
        linear_pieces,
        max_region_network,
        shallow_regions,
    )
    from margin.neural.theory import montufar_bound as bound

    notes = atlas.row("montufar-region-lower-bound").values
    folded = folding_network(3, 6, np.random.default_rng(seed))
    truth = every(
        numbers=equal([bound(n, list(widths)) for n, widths in notes["cases"]], notes["bounds"]),
        one_layer_is_exact=equal([bound(n, [7]) for n in (1, 2, 3)], [shallow_regions(7, n) for n in (1, 2, 3)]),
        below_the_zigzag=equal(
            [bound(1, [3] * K) <= len(linear_pieces(max_region_network(3, K))) for K in (1, 2, 3)], [True] * 3
        ),
        below_the_folding=equal(bound(2, [6, 6]) <= len(activation_regions(folded, (-10, 10, -10, 10))), True),
    )
    plain = (5 / 2) ** 2 * shallow_regions(5, 2)
    return corrected(
        truth,
        no_floor=near(plain, bound(2, [5, 5]), tolerance=0.5),
        fraction_for_binomial=equal(_sum_of_fractions(5, 2), shallow_regions(5, 2)),
    )


def _sum_of_fractions(n: int, n_inputs: int) -> float:
    """What is printed: n / j in place of n over j; the first term does not exist."""
    return sum(n / j if j else float("nan") for j in range(n_inputs + 1))
