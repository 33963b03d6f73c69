"""Networks that are built, folded and cut into regions, against their values at many points and counts by hand."""

from __future__ import annotations

import numpy as np
from scipy import interpolate
from scipy.special import comb, expit
from tests.oracles import oracle

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.neural.theory import approximation, counting, folding, regions
from margin.neural.theory.network import DenseNetwork, Neuron
from margin.neural.theory.pieces import linear_pieces

PATH = "margin.neural.theory"


def layers_by_hand(network: DenseNetwork, x: np.ndarray) -> np.ndarray:
    """Outputs of a rectifier network, one sum at a time."""
    for k, (W, b) in enumerate(zip(network.weights, network.biases)):
        x = np.array([[sum(w * v for w, v in zip(row, point)) + c for row, c in zip(W, b)] for point in x])
        x = np.maximum(x, 0) if k < len(network.weights) - 1 else x
    return x


@oracle(
    *(f"{PATH}.folding.{name}" for name in ("compose", "max_region_network", "folding_network")),
    f"{PATH}.network.Neuron",
    f"{PATH}.pieces.linear_pieces",
)
def folds(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    first, second = DenseNetwork.random([2, 4, 3], rng), DenseNetwork.random([3, 5, 2], rng)
    x, line = rng.normal(size=(6, 2)), rng.normal(size=(400, 1)) * 3
    composed = folding.compose(first, second)
    deep = DenseNetwork.random([1, 6, 5, 2], rng)
    pieces = linear_pieces(deep)
    order = np.argsort(line[:, 0])
    fold = folding.zigzag(4)
    grid = np.linspace(0, 1, 2001)
    wave = fold(grid)[:, 0]
    turns = int((np.diff(np.sign(np.diff(wave))) != 0).sum())
    squares = folding.folding_network(3, 3, np.random.default_rng(seed))
    cells = regions.activation_regions(squares, (0.0, 1.0, 0.0, 1.0))
    neuron, at = Neuron(np.array([0.7, -1.2]), 0.4, "sigmoid"), np.array([0.3, 0.9])
    value = lambda w, b, v: 1 / (1 + np.exp(-(v @ w + b)))  # noqa: E731
    ws, slope = neuron.gradients(at)
    h = 1e-6
    by_weights = [(value(neuron.w + h * e, 0.4, at) - value(neuron.w - h * e, 0.4, at)) / (2 * h) for e in np.eye(2)]
    by_bias = (value(neuron.w, 0.4 + h, at) - value(neuron.w, 0.4 - h, at)) / (2 * h)
    by_input = [(value(neuron.w, 0.4, at + h * e) - value(neuron.w, 0.4, at - h * e)) / (2 * h) for e in np.eye(2)]
    return every(
        composed=near(composed(x), layers_by_hand(second, layers_by_hand(first, x)), tolerance=1e-9),
        values=near(deep(line), layers_by_hand(deep, line), tolerance=1e-9),
        pieces=near(pieces.evaluate(line[order, 0]), layers_by_hand(deep, line[order]), tolerance=1e-7),
        bends=equal(bool((np.abs(np.diff(pieces.slopes, axis=0)).max(axis=1) > 1e-9).all()), True),
        sizes=equal((composed.sizes, composed.n_hidden, composed.n_parameters), ([2, 4, 5, 2], 9, 12 + 25 + 12)),
        wave=near([wave.min(), wave.max(), turns], [0.0, 1.0, 4], tolerance=0.01),
        folded=equal([len(linear_pieces(folding.max_region_network(3, k))) for k in (1, 2)], [4, 16]),
        squares=equal(len(cells), 4**2 * 7),
        neuron=near(neuron(at[None]), [value(neuron.w, 0.4, at)], tolerance=1e-12),
        weights=near(ws, [*by_weights, by_bias], tolerance=1e-7),
        inputs=near(slope, by_input, tolerance=1e-7),
    )


@oracle(*(f"{PATH}.regions.{name}" for name in ("activation_regions", "hyperplane_cells", "affine_map")))
def cut_into_regions(seed: int) -> Verdict:
    """Gradient and constant of each region give the network's values at its corners; areas add up to the box."""
    rng = np.random.default_rng(seed)
    network = DenseNetwork.random([2, 4, 3, 2], rng)
    cells = regions.activation_regions(network, (-2.0, 1.0, -1.0, 3.0))
    inner = [cell.corners.mean(axis=0) for cell in cells]
    values = [cell.gradient @ point + cell.constant for cell, point in zip(cells, inner)]
    corners = [
        np.abs(cell.corners @ cell.gradient + cell.constant - network(cell.corners)[:, 0]).max() for cell in cells
    ]
    areas = [abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(p, np.roll(p, -1, axis=0)))) / 2
             for p in (cell.corners for cell in cells)]  # fmt: skip
    x, way = rng.normal(size=2), rng.normal(size=2)
    A, c = regions.affine_map(network, x)
    slope = np.array([(network((x + h)[None])[0] - network((x - h)[None])[0]) / 2e-7 for h in 1e-7 * np.eye(2)]).T
    t = rng.normal(size=5)
    w, b = rng.normal(size=(4, 2)), rng.normal(size=4)
    far = 300 * rng.normal(size=(200_000, 2)) * rng.random((200_000, 1)) ** 6
    seen = len(np.unique(far @ w.T + b > 0, axis=0))
    return every(
        values=near(values, network(np.array(inner))[:, 0], tolerance=1e-8),
        corners=below(float(max(corners)), 1e-7),
        area=near(sum(areas), 12.0, tolerance=1e-6),
        slope=near(A, slope, tolerance=1e-4),
        constant=near(A @ x + c, network(x[None])[0], tolerance=1e-9),
        along=near(regions.along_line(network, x, way)(t), network(x + t[:, None] * way), tolerance=1e-9),
        cells=equal(len(regions.hyperplane_cells(w, b)), 1 + 4 + 6),
        signs=equal(
            {tuple(s) for s in np.sign(far[:4000] @ w.T + b)} <= {tuple(s) for s in regions.hyperplane_cells(w, b)},
            True,
        ),
        seen=equal(seen <= 11, True),
    )


@oracle(
    *(f"{PATH}.approximation.{name}" for name in ("interval_network", "step_network", "interpolation_network")),
    *(f"{PATH}.approximation.{name}" for name in ("bernstein", "walls_network", "random_feature_fit")),
)
def approximations(seed: int) -> Verdict:
    """On intervals that do not begin at 0, with slopes that are not 1."""
    a, b, L, eps = 1.5, 4.0, 3.0, 0.25
    f = lambda x: 1.5 * np.sin(2 * x)  # noqa: E731
    x = np.linspace(a, b, 4001)
    plain, tight, merged = (
        approximation.interval_network(f, a, b, L, eps, **options)
        for options in ({}, {"tight": True}, {"merged": True})
    )
    just = approximation.interval_network(f, a, b, 3.2, 0.5)  # 3.2 * 2.5 / 0.5 is 16, whatever rounding says
    steps = approximation.step_network(f, a, b, 6, steepness=4000.0)
    inside = a + (np.arange(6) + 0.5) * (b - a) / 6
    knots = np.linspace(a, b, 6)
    lines = approximation.interpolation_network(f, a, b, 5)
    k, at = np.arange(8), np.array([0.0, 0.3, 0.85, 1.0])
    bump = approximation.bernstein(np.exp, 7)
    cell = lambda p: p[:, 0] - 2 * p[:, 1]  # noqa: E731
    walls = approximation.walls_network(cell, -1.0, 2.0, 3)
    middles = np.array([[i, j] for i in (-0.5, 0.5, 1.5) for j in (-0.5, 0.5, 1.5)])
    soft, width = approximation.step_network(f, a, b, 6, steepness=7.0), (b - a) / 6
    rise = lambda t: expit(7.0 / width * (x - t))  # noqa: E731
    starts, ends = np.r_[a - width, a + width * np.arange(1, 6)], np.r_[a + width * np.arange(1, 6), b + width]
    bumps = sum(f(m) * (rise(s) - rise(e)) for m, s, e in zip(inside, starts, ends))
    mild, spots = approximation.walls_network(cell, -1.0, 2.0, 3, steepness=4.0), middles + 0.3
    lines_at = np.array([-2.0, 0.0, 1.0, 3.0])
    first, second = (expit(4.0 * (spots[:, [k]] - lines_at)) for k in range(2))
    by_walls = sum(
        cell(np.array([[i - 0.5, j - 0.5]]))
        * expit(4.0 * (first[:, i] - first[:, i + 1] + second[:, j] - second[:, j + 1] - 1.5))
        for i in range(3) for j in range(3)
    )  # fmt: skip
    z = np.linspace(-1, 1, 30)
    fitted, rank = approximation.random_feature_fit(z, z**2, 8, np.tanh, np.random.default_rng(seed))
    again = np.random.default_rng(seed)
    w, c = 4.0 * again.normal(size=8), again.uniform(-4, 4, 8)
    hidden = np.column_stack([np.tanh(np.outer(z, w) + c), np.ones(30)])
    return every(
        units=equal([net.n_hidden for net in (plain, tight, merged, just)], [60, 30, 30, 32]),
        within=below(max(float(np.abs(net(x)[:, 0] - f(x)).max()) for net in (plain, tight, merged)), eps),
        steps=near(steps(inside)[:, 0], f(inside), tolerance=1e-6),
        last=near(steps(np.array([a, b]))[:, 0], f(inside[[0, -1]]), tolerance=1e-6),
        edges=near(steps(inside + 0.45 * (b - a) / 6)[:, 0], f(inside), tolerance=1e-6),
        lines=near(lines(x)[:, 0], interpolate.interp1d(knots, f(knots))(x), tolerance=1e-9),
        bernstein=near(bump(at), [(np.exp(k / 7) * comb(7, k) * v**k * (1 - v) ** (7 - k)).sum() for v in at],
                       tolerance=1e-9),
        soft=near(soft(x)[:, 0], bumps, tolerance=1e-9),
        soft_walls=near(mild(spots)[:, 0], by_walls, tolerance=1e-9),
        walls=near(walls(middles)[:, 0], cell(middles), tolerance=1e-6),
        features=near(fitted, hidden @ np.linalg.lstsq(hidden, z**2, rcond=None)[0], tolerance=1e-6),
        rank=equal(rank, int(np.linalg.matrix_rank(hidden))),
    )  # fmt: skip


@oracle(
    "margin.neural.theory.counting.shallow_regions",
    "margin.neural.theory.counting.region_limit",
    *(f"{PATH}.counting.{name}" for name in ("parameter_count", "compare_depths")),
)
def counted_networks(seed: int) -> Verdict:
    """By building the network; the next wider one is too large."""
    rng = np.random.default_rng(seed)
    cases = [(3, 1, 1), (4, 3, 2), (7, 2, 3)]
    built = [DenseNetwork.random([n, *[w] * d, 1], rng).n_parameters for w, d, n in cases]
    budget = 700
    networks = counting.compare_depths(budget, (1, 2, 4), 3)
    sizes = [[3, *[entry.width + more] * entry.depth, 1] for entry in networks for more in (0, 1)]
    counts = [DenseNetwork.random(size, rng).n_parameters for size in sizes]
    return every(
        counts=equal([counting.parameter_count(*case) for case in cases], built),
        told=equal([entry.parameters for entry in networks], counts[::2]),
        fits=below(max(counts[::2]), budget + 1),
        widest=above(min(counts[1::2]), budget),
    )
