"""Claims on features, embeddings and learned metrics."""

from __future__ import annotations

import math

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.representation import rows


@claim("feature")
def columns_of_all_kinds_become_numbers(seed: int) -> Verdict:
    import pandas as pd

    from margin.data.preprocessing import preprocessor

    rng = np.random.default_rng(seed)
    width, height = rng.uniform(1, 9, size=(2, 40))
    colors = np.array(["red", "green", "blue"])[np.arange(40) % 3]
    table = pd.DataFrame({"width": width, "area": width * height, "color": colors, "new": np.arange(40) % 2 == 0})
    encoded = np.asarray(preprocessor(table).fit_transform(table))
    numeric = (table[["width", "area"]] - table[["width", "area"]].mean()) / table[["width", "area"]].std(ddof=0)
    one_hot = np.array([[c == name for name in sorted(set(colors))] for c in colors], dtype=float)
    columns = {tuple(np.round(column, 9)) for column in encoded.T}
    return every(
        numbers=equal({tuple(c) for c in numeric.round(9).to_numpy().T} <= columns, True),
        categories=equal({tuple(c) for c in one_hot.T} <= columns, True),
        flag=equal(tuple(table["new"].astype(float)) in columns, True),
    )


@claim("embedding")
def an_embedding_is_a_product_with_one_hot_rows(seed: int) -> Verdict:
    import torch
    from torch import nn

    from margin.neural.diagnostics import descend
    from margin.representation.factors import FactorModel, embed

    rng = np.random.default_rng(seed)
    weight = torch.from_numpy(rows(seed, 7, 3))
    index = torch.from_numpy(rng.integers(0, 7, size=10))
    layer = nn.Embedding.from_pretrained(weight)
    # Ratings of rank 2, of which a fifth is never seen.
    users, items = rows(seed, 20, 2), rows(seed, 15, 2)
    ratings = users @ items.T
    seen = rng.random(ratings.shape) < 0.8
    who, what = (torch.from_numpy(part) for part in np.nonzero(seen))
    target = torch.from_numpy(ratings[seen])
    model = FactorModel(20, 15, 2, seed=seed).double()
    losses = descend(
        model.parameters(),
        lambda: (model(who, what) - target).square().mean(),
        steps=400,
        rate=0.05,
        rule=torch.optim.Adam,
    )
    with torch.no_grad():
        everyone = [torch.from_numpy(part) for part in np.nonzero(~seen)]
        error = float((model(*everyone) - torch.from_numpy(ratings[~seen])).square().mean())
    return every(
        lookup=near(embed(weight, index), layer(index), tolerance=0.0),
        one_hot=near(np.eye(7)[index.numpy()] @ weight.numpy(), layer(index), tolerance=1e-14),
        learns=below(losses[-1], 0.05 * losses[0]),
        unseen_ratings=below(error, 0.3 * float(np.var(ratings))),
    )


@claim("cosine-similarity")
def cosine_of_the_angle(seed: int) -> Verdict:
    import torch
    from torch.nn import functional

    from margin.representation.contrastive import cosine_similarity

    a, b = torch.from_numpy(rows(seed, 6, 4)), torch.from_numpy(rows(seed, 5, 4))
    cosines = cosine_similarity(a, b)
    known = cosine_similarity(torch.tensor([[1.0, 2.0]]), torch.tensor([[2.0, 4.0], [-2.0, 1.0], [-1.0, -2.0]]))
    return every(
        known=near(known, [[1.0, 0.0, -1.0]], tolerance=1e-6),
        torch=near(cosines, functional.cosine_similarity(a[:, None], b[None], dim=2), tolerance=1e-12),
        range=below(float(cosines.abs().max()), 1 + 1e-12),
    )


@claim("metric-learning-mahalanobis")
def a_learned_metric_ignores_a_large_column_of_noise(seed: int) -> Verdict:
    from margin.neighbors import KNeighborsClassifier
    from margin.representation import NeighborhoodComponentsAnalysis

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3)) * [1, 1, 100]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    train, test = slice(0, 150), slice(150, None)

    def accuracy(fit: np.ndarray, ask: np.ndarray) -> float:
        return float(KNeighborsClassifier(n_neighbors=5).fit(fit, y[train]).score(ask, y[test]))

    full = NeighborhoodComponentsAnalysis(random_state=seed).fit(X[train], y[train])
    low = NeighborhoodComponentsAnalysis(n_components=1).fit(X[train], y[train])
    gap = X[test][0] - X[test][1]
    mapped = full.transform(X[test][:2])
    return every(
        linear_map=near(gap @ full.mahalanobis_ @ gap / np.sum((mapped[0] - mapped[1]) ** 2), 1.0, tolerance=1e-9),
        gain=above(accuracy(full.transform(X[train]), full.transform(X[test])), accuracy(X[train], X[test]) + 0.2),
        rank=equal(int(np.linalg.matrix_rank(low.mahalanobis_)), 1),
        low_rank_gain=above(
            accuracy(low.transform(X[train]), low.transform(X[test])), accuracy(X[train], X[test]) + 0.2
        ),
    )


@claim("claim-riemannian-metric-local-mahalanobis")
def a_metric_pulled_back_measures_small_steps(seed: int) -> Verdict:
    import torch

    from margin.representation.riemannian import pullback_metric

    W = torch.from_numpy(rows(seed, 5, 2))

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(W @ x) + (W @ x) ** 2 / 5

    x, step = rows(seed, 2, 1)[:, 0], rows(seed, 1, 2)[0]
    M = pullback_metric(f, x)

    def ratio(size: float) -> float:
        moved = f(torch.from_numpy(x + size * step)) - f(torch.from_numpy(x))
        return float(moved.square().sum()) / float(size**2 * step @ M @ step)

    gaps = [abs(ratio(size) - 1) for size in (1e-1, 1e-2, 1e-3, 1e-4)]

    def globe(angles: torch.Tensor) -> torch.Tensor:
        polar, turn = angles
        return torch.stack([torch.sin(polar) * torch.cos(turn), torch.sin(polar) * torch.sin(turn), torch.cos(polar)])

    # If the metric of the sphere came from a map into the plane, circles of radius 1 would be 2 pi long.
    circle = 2 * math.pi * math.sqrt(float(pullback_metric(globe, np.array([1.0, 0.3]))[1, 1]))
    truth = every(
        circle_on_a_sphere=near(circle, 2 * math.pi * math.sin(1.0), tolerance=1e-9),
        tends_to_one=below(gaps[3], 2e-3),
        falls=above(gaps[1], gaps[3]),
        symmetric=near(M, M.T, tolerance=1e-12),
        not_negative=above(float(np.linalg.eigvalsh(M)[0]), -1e-12),
    )
    return corrected(truth, every_metric_is_a_jacobian=near(circle, 2 * math.pi, tolerance=0.1))


def half_circle(seed: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, size=n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.03 * rng.normal(size=(n, 2))


def along_the_arc(n_pieces: int = 24) -> np.ndarray:
    """A start for a geodesic from (-1, 0) to (1, 0): an arc inside of the half circle."""
    angle = np.linspace(np.pi, 0, n_pieces + 1)
    return np.column_stack([np.cos(angle), 0.8 * np.sin(angle)])


@claim("covariance-as-riemannian-metric")
def geodesics_are_drawn_towards_data(seed: int) -> Verdict:
    from margin.representation.riemannian import curve_length, geodesic_curve, local_metric

    X = half_circle(seed)
    metric = local_metric(X, 0.15, 0.01)
    a, b = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    curve = geodesic_curve(a, b, metric, n_pieces=24, start=along_the_arc())
    line = np.linspace(a, b, 25)
    on_data, far = metric(X[:20]), metric(np.array([0.0, -1.0]))
    # At an end of the arc the cheapest direction is up, along the data; the geodesic to a point beside goes sideways.
    here, beside = np.array([1.0, 0.3]), np.array([0.6, 0.3])
    cheapest = int(np.argmin(metric(here)))
    short = geodesic_curve(here, beside, metric, n_pieces=24)
    truth = every(
        positive=above(float(on_data.min()), 0.0),
        small_on_data=below(float(on_data.min(axis=1).max()), float(far.min())),
        shorter=below(curve_length(curve, metric), 0.8 * curve_length(line, metric)),
        bends=below(abs(float(np.linalg.norm(curve[12])) - 1), 0.3),  # the middle of the line is 1 away from the arc
    )
    first = short[1] - short[0]
    return corrected(truth, printed=equal(int(np.argmax(np.abs(first))), cheapest))


@claim("manifold-learning-embedding-versus-metric")
def embeddings_have_coordinates_and_metrics_have_geodesics(seed: int) -> Verdict:
    from margin.reduction import Isomap
    from margin.representation.riemannian import curve_length, geodesic_curve, local_metric

    X = half_circle(seed)
    angle = np.arctan2(X[:, 1], X[:, 0])
    angle[angle < -np.pi / 2] += 2 * np.pi  # noise may carry the left end of the arc below the axis
    order = np.abs(np.corrcoef(Isomap(n_components=1, n_neighbors=8).fit_transform(X)[:, 0], angle)[0, 1])
    # The metric knows points between the data too: a new one needs no fit.
    metric = local_metric(X, 0.15, 0.01)
    new = np.array([np.cos(2.0), np.sin(2.0)])
    arc = np.linspace(np.pi, 2.0, 25)
    start = np.column_stack([np.cos(arc), np.sin(arc)])
    start[0], start[-1] = [-1.0, 0.0], new
    curve = geodesic_curve([-1.0, 0.0], new, metric, n_pieces=24, start=start)
    line = np.linspace([-1.0, 0.0], new, 25)
    return every(
        embedding_orders_the_arc=above(float(order), 0.98),
        geodesic_is_no_longer=below(curve_length(curve, metric), curve_length(line, metric) + 1e-9),
        geodesic_stays_near_the_data=below(float(np.abs(np.linalg.norm(curve, axis=1) - 1).max()), 0.15),
    )
