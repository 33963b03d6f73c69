r"""A normal law under a learned metric

The locally adaptive normal law is :math:`p(x) \propto e^{-d(x, \mu)^2 / 2 s^2}` with the length d of the shortest curve
under the metric of the data, as a density for the volume of that metric (Arvanitidis, Hansen and Hauberg 2016). On an
arc its center lies on the data and its bell follows them, where a normal law of the plane has its center in the void.
As a density for the plane it is the bell times that volume, which is largest where no data are: new rows get less
probability than from the plain normal law, whichever volume both are stated for. Distances are those of shortest paths
on a grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGMA, RHO, ROWS = 0.15, 0.001, 150
SIDES = ((-1.5, 1.5), (-0.6, 1.5))


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.representation.riemannian import local_metric

    rng = np.random.default_rng(seed)
    X, new = arc(rng, ROWS), arc(rng, 400)
    metric = local_metric(X, SIGMA, RHO)
    width = 0.06 if fast else 0.03
    lines = [np.arange(low, high + width / 2, width) for low, high in SIDES]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    distance = shortest_paths(grid, metric)
    cells = [np.ravel_multi_index(nearest_cell(rows, lines, width), grid.shape[:2]) for rows in (X, new)]
    candidates = cells[0][:40]
    lengths = distance(candidates)
    center = int(np.argmin((lengths[:, cells[0]] ** 2).sum(axis=1)))  # the mean, among the data
    d = lengths[center]
    volume = np.sqrt(metric(grid).prod(axis=-1)).ravel()
    scales = np.geomspace(0.3, 3.0, 40) * np.sqrt((d[cells[0]] ** 2).mean())
    laws = [log_density(d, volume, scale, width) for scale in scales]
    best = int(np.argmax([law[cells[0]].mean() for law in laws]))
    covariance, mean = np.cov(X.T, bias=True), X.mean(axis=0)
    plain = -0.5 * np.einsum("ni,ij,nj->n", new - mean, np.linalg.inv(covariance), new - mean)
    plain_grid = np.einsum("abi,ij,abj->ab", grid - mean, np.linalg.inv(covariance), grid - mean).ravel()
    normal = plain - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    return {
        "X": X,
        "shape": grid.shape[:2],
        "lines": lines,
        "bell": np.exp(-0.5 * d**2 / (d[cells[0]] ** 2).mean()),
        "ends_and_void": [ends_and_void(values, cells[1], new, lines, width) for values in (d**2, plain_grid)],
        "log_density": laws[best],
        "mass": float(np.exp(laws[best]).sum() * width**2),
        "center": grid.reshape(-1, 2)[candidates[center]],
        "mean": mean,
        "covariance": covariance,
        "held_out": {"adaptive": float(laws[best][cells[1]].mean()), "normal": float(normal.mean())},
        "flat": flat_error(grid, width),
    }


def arc(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three quarters of a half circle, with more rows on its left."""
    angle = np.pi * (0.05 + 0.9 * rng.beta(1.2, 1.0, size=n))
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * rng.normal(size=(n, 2))


def nearest_cell(rows: np.ndarray, lines: list[np.ndarray], width: float) -> tuple[np.ndarray, ...]:
    return tuple(
        np.clip(np.rint((rows[:, k] - lines[k][0]) / width).astype(int), 0, len(lines[k]) - 1) for k in range(2)
    )


def ends_and_void(
    squares: np.ndarray, cells: np.ndarray, new: np.ndarray, lines: list[np.ndarray], width: float
) -> list[float]:
    """Squared distances from the center: of rows at the ends of the arc, and of the middle of its circle."""
    low = cells[new[:, 1] < np.quantile(new[:, 1], 0.15)]
    void = nearest_cell(np.zeros((1, 2)), lines, width)
    shape = (len(lines[0]), len(lines[1]))
    return [float(np.median(squares[low])), float(squares[np.ravel_multi_index(void, shape)[0]])]


def shortest_paths(grid: np.ndarray, metric: Any) -> Any:
    """Lengths from some cells to all, over steps to the 16 nearest directions, the metric taken in their middle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    number = np.arange(grid.shape[0] * grid.shape[1]).reshape(grid.shape[:2])
    parts = []
    for down, across in ((1, 0), (0, 1), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1)):
        here = (slice(None, -down or None), slice(max(0, -across), min(0, -across) or None))
        there = (slice(down, None), slice(max(0, across), min(0, across) or None))
        step, middle = grid[there] - grid[here], (grid[there] + grid[here]) / 2
        length = np.sqrt((metric(middle) * step**2).sum(axis=-1))
        parts.append((number[here].ravel(), number[there].ravel(), length.ravel()))
    start, end, length = (np.concatenate(column) for column in zip(*parts))
    graph = coo_array((length, (start, end)), shape=(number.size, number.size)).tocsr()
    return lambda cells: dijkstra(graph, directed=False, indices=cells)


def log_density(d: np.ndarray, volume: np.ndarray, scale: float, width: float) -> np.ndarray:
    """With respect to the plane: the volume of the metric times the bell of the distance, of total mass one."""
    weight = -0.5 * (d / scale) ** 2 + np.log(volume)
    return np.asarray(weight - np.logaddexp.reduce(weight) - 2 * np.log(width))


def flat_error(grid: np.ndarray, width: float) -> float:
    """Greatest relative error of the paths under a constant metric, where distances are known."""
    weights, source = np.array([1.6, 0.7]), grid.shape[1] * 11 + 9
    found = shortest_paths(grid, lambda points: np.broadcast_to(weights, points.shape))(np.array([source]))[0]
    points = grid.reshape(-1, 2)
    exact = np.sqrt((weights * (points - points[source]) ** 2).sum(axis=1))
    return float(np.abs(found[exact > 0] / exact[exact > 0] - 1).max())


def check(data: dict[str, Any]) -> Verdict:
    X = data["X"]
    to_data = [float(np.linalg.norm(X - data[name], axis=1).min()) for name in ("center", "mean")]
    (ends, void), (plain_ends, plain_void) = data["ends_and_void"]
    return every(
        mass_one=near(data["mass"], 1.0, tolerance=1e-9),
        flat_distances=below(data["flat"], 0.07),
        center_on_the_data=below(to_data[0], 0.1),
        mean_in_the_void=above(to_data[1], 0.12),
        the_void_is_farther_than_the_ends=above(void / ends, 1.2),
        much_more_than_in_the_plane=above(void / ends, 2.0 * plain_void / plain_ends),
        worse_as_a_density_of_the_plane=below(data["held_out"]["adaptive"], data["held_out"]["normal"] - 0.2),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 4.8)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    grid = np.stack(np.meshgrid(*data["lines"], indexing="ij"), axis=-1)
    gap = grid - data["mean"]
    normal = np.exp(-0.5 * np.einsum("abi,ij,abj->ab", gap, np.linalg.inv(data["covariance"]), gap))
    bells = {"normal": (normal, data["mean"]), "adaptive": (data["bell"].reshape(data["shape"]), data["center"])}
    for ax, (name, (values, point)) in zip((left, right), bells.items()):
        shown = ax.contourf(*data["lines"], values.T, levels=np.linspace(0, 1, 11), cmap="Blues")
        ax.plot(*data["X"].T, ".", ms=3, color="C1")
        ax.plot(*point, "*", ms=15, color="C3")
        where = {"normal": "of the plane", "adaptive": "of the metric"}[name]
        ax.set(title=f"Bell {where}; new rows: {data['held_out'][name]:.2f} nats in the plane", xlabel="$x_1$")
    left.set_ylabel("$x_2$")
    figure.colorbar(shown, ax=right, label=r"$e^{-d^2 / 2 s^2}$")
