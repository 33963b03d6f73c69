"""Maps of distances: scaling, affinities, graphs and tables, pair by pair."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import optimize, sparse, stats
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import decomposition, isotonic
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import oracle
from tests.oracles.reduction.projections import rows, same_up_to_sign

from margin import reduction as ours
from margin.core.verdict import Verdict, below, equal, every, near
from margin.reduction import affinities, fuzzy, independent, scaling

PATH = "margin.reduction"


@oracle(f"{PATH}.MDS", f"{PATH}.classical_coordinates", f"{PATH}.guttman_transform")
def scaled_distances(seed: int) -> Verdict:
    """The closed form is principal components; steps are SMACOF's, by matrices; orders go through isotonic means."""
    with warnings.catch_warnings():  # a few steps are enough to compare
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _scaled_distances(seed)


def _scaled_distances(seed: int) -> Verdict:
    X, rng = rows(seed, 12), np.random.default_rng(seed)
    D, n = cdist(X, X), 12
    Y, values = ours.classical_coordinates(D, 3)
    theirs = decomposition.PCA(3).fit(X)
    start = rng.normal(size=(n, 2))
    B = -D / np.where(np.eye(n, dtype=bool), 1.0, cdist(start, start))
    B -= np.diag(B.sum(axis=1))
    classical = ours.MDS(2, metric_mds="classical").fit(X)
    metric = ours.MDS(2, max_iter=7, eps=0.0, random_state=seed).fit(X)
    ordered = ours.MDS(2, metric_mds=False, max_iter=4, eps=0.0, random_state=seed).fit(X)
    drawn = ours.MDS(2, init="random", n_init=3, max_iter=3, eps=0.0, random_state=seed).fit(X)
    expected, stresses = np.array(classical.embedding_), []
    for _ in range(7):
        expected = scaling.guttman_transform(D, expected)
    again = np.random.default_rng(seed)
    for _ in range(3):
        points = again.normal(scale=D.mean(), size=(n, 2))
        for _ in range(3):
            points = scaling.guttman_transform(D, points)
        stresses.append(_raw_stress(D, points))
    raw = _raw_stress(D, metric.embedding_)
    normalized = ours.MDS(2, normalized_stress=True, max_iter=7, eps=0.0, random_state=seed).fit(X)
    fresh = X[:2] + 0.3
    return every(
        coordinates=same_up_to_sign(Y, theirs.transform(X), 1e-8),
        values=near(values, theirs.explained_variance_ * (n - 1), tolerance=1e-7),
        step=near(ours.guttman_transform(D, start), B @ start / n, tolerance=1e-10),
        classical=same_up_to_sign(classical.embedding_, theirs.transform(X)[:, :2], 1e-8),
        stays=equal(metric.transform(X), metric.embedding_),
        placed=near(
            np.abs(classical.transform(fresh)), np.abs(theirs.transform(fresh)[:, :2]), tolerance=1e-7
        ),
        metric=near(metric.embedding_, expected, tolerance=1e-9),
        stress=near(metric.stress_, raw, tolerance=1e-8),
        relative=near(normalized.stress_, np.sqrt(raw / (D**2).sum() * 2), tolerance=1e-8),
        best_of_starts=near(drawn.stress_, min(stresses), tolerance=1e-8),
        **_placed_by_stress(metric.embedding_, cdist(fresh, X), metric.transform(fresh)),
        **_by_order(D, ordered, Y[:, :2]),
    )  # fmt: skip


def _raw_stress(D: np.ndarray, Y: np.ndarray) -> float:
    return float(((pdist(Y) - squareform(D, checks=False)) ** 2).sum())


def _placed_by_stress(points: np.ndarray, all_lengths: np.ndarray, placed: np.ndarray) -> dict[str, Verdict]:
    """A minimum of the stress of one more row, the others held fixed, and no worse than the one SciPy finds from where
    our own search begins: there may be two."""
    parts: dict[str, Verdict] = {}
    for k, (lengths, y) in enumerate(zip(all_lengths, placed)):
        stress = lambda y, lengths=lengths: float(((np.linalg.norm(points - y, axis=1) - lengths) ** 2).sum())  # noqa: E731
        begin, precise = points[lengths.argmin()] + 1e-3, {"xatol": 1e-8, "fatol": 1e-12}
        theirs = optimize.minimize(stress, begin, method="Nelder-Mead", options=precise).x
        slope = optimize.approx_fprime(y, stress, 1e-7)
        parts[f"placed_{k}"] = below(stress(y) - stress(theirs), 1e-6)
        parts[f"level_{k}"] = near(slope, np.zeros(2), tolerance=1e-3)
    return parts


def _by_order(D: np.ndarray, model: ours.MDS, start: np.ndarray) -> dict[str, Verdict]:
    """Four steps towards the monotone change of the distances, found anew after each by scikit-learn."""
    given = squareform(D, checks=False)

    def changed(Y: np.ndarray) -> np.ndarray:
        heights = isotonic.IsotonicRegression().fit_transform(given, pdist(Y))
        return heights * np.sqrt((given**2).sum() / (heights**2).sum())

    Y = start
    for _ in range(4):
        Y = scaling.guttman_transform(squareform(changed(Y)), Y)
    last = changed(Y)
    stress = np.sqrt(((last - pdist(Y)) ** 2).sum() / (last**2).sum())
    return {
        "ordered": same_up_to_sign(model.embedding_, Y, 1e-6),
        "ordered_stress": near(model.stress_, float(stress), tolerance=1e-8),
    }


@oracle(f"{PATH}.shortest_paths")
def paths_by_scipy(seed: int) -> Verdict:
    """By both algorithms, with a part that nothing leads to."""
    rng = np.random.default_rng(seed)
    W = sparse.random(30, 30, 0.12, random_state=rng).toarray()
    W[28:], W[:, 28:] = 0.0, 0.0
    W = np.maximum(W, W.T) * (1 - np.eye(30))
    expected = csgraph.shortest_path(W, directed=False)
    finite = np.isfinite(expected)
    parts = {}
    for method in ("auto", "dijkstra", "floyd"):
        lengths = ours.shortest_paths(W, method)
        parts[method] = near(lengths[finite], expected[finite], tolerance=1e-10)
        parts[f"{method}_apart"] = equal(np.isfinite(lengths), finite)
    return every(**parts)


@oracle(
    f"{PATH}.affinities.precisions_for", f"{PATH}.bandwidths", f"{PATH}.joint_affinities", f"{PATH}.kl_gradient",
    f"{PATH}.conditional_affinities", f"{PATH}.student_similarities", f"{PATH}.intrinsic_dimensions",
)  # fmt: skip
def affinities_row_by_row(seed: int) -> Verdict:
    """Roots of the entropy by SciPy, sums over pairs written out, slopes by differences."""
    X, rng = rows(seed, 14), np.random.default_rng(seed)
    squares = cdist(X, X) ** 2
    sigma = []
    for i in range(14):
        others = np.delete(squares[i], i)
        law = lambda s, d=others: np.exp(-(d - d.min()) / (2 * s * s))  # noqa: E731
        gap = lambda s, law=law: stats.entropy(law(s)) - np.log(4.0)  # noqa: E731
        sigma.append(optimize.brentq(gap, 1e-2 * np.sqrt(others.min()), 1e2 * np.sqrt(others.max()), xtol=1e-13))
    P = np.array([[0.0 if i == j else np.exp(-squares[i, j] / (2 * sigma[i] ** 2)) for j in range(14)]
                  for i in range(14)])  # fmt: skip
    P /= P.sum(axis=1, keepdims=True)
    J, Y = (P + P.T) / 28, rng.normal(size=(14, 2))
    near_by = [np.sort(np.sqrt(np.delete(squares[i], i)))[:6] for i in range(14)]
    local = [1 / (sum(np.log(r[5] / r[j]) for j in range(5)) / 4) for r in near_by]

    def divergence(flat: np.ndarray) -> float:
        Q = 1 / (1 + cdist(flat.reshape(14, 2), flat.reshape(14, 2)) ** 2)
        np.fill_diagonal(Q, 0.0)
        return stats.entropy(J.ravel() + 1e-300, (Q / Q.sum()).ravel() + 1e-300)

    Q = 1 / (1 + cdist(Y, Y) ** 2) - np.eye(14)
    slope = optimize.approx_fprime(Y.ravel(), divergence, 1e-7).reshape(14, 2)
    return every(
        precisions=near(
            affinities.precisions_for(squares[~np.eye(14, dtype=bool)].reshape(14, 13), 4.0) * 2 * np.square(sigma),
            np.ones(14), tolerance=1e-5,
        ),
        bandwidths=near(ours.bandwidths(X, 4.0) / sigma, np.ones(14), tolerance=1e-5),
        conditional=near(ours.conditional_affinities(X, 4.0), P, tolerance=1e-6),
        joint=near(ours.joint_affinities(P), J, tolerance=1e-12),
        similar=near(ours.student_similarities(Y), Q / Q.sum(), tolerance=1e-12),
        gradient=near(ours.kl_gradient(J, Y), slope, tolerance=1e-5),
        local=near(ours.intrinsic_dimensions(X, 6), np.minimum(local, 4.0), tolerance=1e-7),
    )  # fmt: skip


@oracle(f"{PATH}.fuzzy_graph", f"{PATH}.fuzzy_cross_entropy")
def fuzzy_neighbors(seed: int) -> Verdict:
    """Scales by SciPy's roots, unions and cross-entropies pair by pair."""
    X, rng = rows(seed, 10), np.random.default_rng(seed)
    D, one_way = cdist(X, X), np.zeros((10, 10))
    for i in range(10):
        index = np.argsort(np.where(np.arange(10) == i, np.inf, D[i]))[:5]
        beyond = D[i, index] - D[i, index].min()
        scale = optimize.brentq(lambda s, b=beyond: np.exp(-b / s).sum() - np.log2(5), 1e-9, 1e6, xtol=1e-14)
        one_way[i, index] = np.exp(-beyond / scale)
    both = one_way + one_way.T - one_way * one_way.T
    Y, a, b = rng.normal(size=(10, 2)), 1.4, 0.8
    total = 0.0
    for i in range(10):
        for j in range(i + 1, 10):
            w, v = both[i, j], 1 / (1 + a * np.sum((Y[i] - Y[j]) ** 2) ** b)
            total += w * np.log(w / v) if w > 0 else 0.0
            total += (1 - w) * np.log((1 - w) / (1 - v)) if w < 1 else 0.0
    return every(
        graph=near(ours.fuzzy_graph(X, 5).toarray(), both, tolerance=1e-6),
        cross_entropy=near(fuzzy.fuzzy_cross_entropy(both, Y, a, b), total, tolerance=1e-8),
    )


@oracle(f"{PATH}.correspondence_analysis", f"{PATH}.CorrespondenceAnalysis")
def tables_by_profiles(seed: int) -> Verdict:
    """Distances of the points are those of profiles, weighted; the total is SciPy's chi squared over the counts."""
    rng = np.random.default_rng(seed)
    N = rng.integers(1, 30, size=(5, 4))
    analysis, model = ours.correspondence_analysis(N), ours.CorrespondenceAnalysis(3).fit(N)
    P = N / N.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    row_gaps, column_gaps = (
        cdist(P / r[:, None] / np.sqrt(c), P / r[:, None] / np.sqrt(c)),
        cdist(P.T / c[:, None] / np.sqrt(r), P.T / c[:, None] / np.sqrt(r)),
    )
    inertia = stats.chi2_contingency(N, correction=False).statistic / N.sum()
    fresh = rng.integers(1, 20, size=(2, 4))
    profiles = fresh / fresh.sum(axis=1, keepdims=True)
    to_rows = cdist(profiles / np.sqrt(c), P / r[:, None] / np.sqrt(c))
    return every(
        rows=near(cdist(analysis.rows, analysis.rows), row_gaps, tolerance=1e-10),
        columns=near(cdist(analysis.columns, analysis.columns), column_gaps, tolerance=1e-10),
        centered=near(r @ analysis.rows, np.zeros(3), tolerance=1e-10),
        axes=near(
            (r[:, None] * analysis.rows).T @ analysis.rows, np.diag(analysis.singular_values**2), tolerance=1e-10
        ),
        inertia=near([analysis.inertia, model.inertia_], [inertia, inertia], tolerance=1e-10),
        ratios=near(model.explained_inertia_ratio_, analysis.singular_values**2 / inertia, tolerance=1e-10),
        masses=near(np.append(model.row_masses_, model.column_masses_), np.append(r, c), tolerance=1e-12),
        fresh=near(cdist(model.transform(fresh), model.row_coordinates_), to_rows, tolerance=1e-9),
    )


@oracle(f"{PATH}.FastICA", f"{PATH}.independent.fast_ica_step")
def unmixed_signals(seed: int) -> Verdict:
    """scikit-learn's from the same start; a step with means over rows written out."""
    rng = np.random.default_rng(seed)
    signals = np.stack([rng.uniform(-1, 1, 400), rng.laplace(size=400), rng.exponential(size=400)], axis=1)
    X, start = signals @ rng.normal(size=(3, 3)) + [3.0, -1.0, 0.5], rng.normal(size=(3, 3))
    Z = np.linalg.qr(rng.normal(size=(50, 3)))[0].T * np.sqrt(50)
    W = np.linalg.qr(start)[0]
    parts: dict[str, Verdict] = {}
    slopes = {"logcosh": lambda u: (np.tanh(u), 1 / np.cosh(u) ** 2), "cube": lambda u: (u**3, 3 * u**2),
              "exp": lambda u: (u * np.exp(-u * u / 2), (1 - u * u) * np.exp(-u * u / 2))}  # fmt: skip
    for fun, pair in slopes.items():
        moved = np.array([
            np.mean([pair(w @ z)[0] * z for z in Z.T], axis=0) - np.mean([pair(w @ z)[1] for z in Z.T]) * w for w in W
        ])  # fmt: skip
        values, vectors = np.linalg.eigh(moved @ moved.T)
        expected = vectors @ np.diag(values**-0.5) @ vectors.T @ moved
        parts[f"step_{fun}"] = near(independent.fast_ica_step(W, Z, fun), expected, tolerance=1e-8)
        settings: dict[str, Any] = {
            "w_init": start,
            "whiten": "unit-variance",
            "tol": 1e-10,
            "max_iter": 500,
            "fun": fun,
        }
        model, theirs = (m(3, **settings).fit(X) for m in (ours.FastICA, decomposition.FastICA))
        alike = np.abs(np.corrcoef(model.transform(X).T, theirs.transform(X).T)[:3, 3:])  # in any order
        parts[f"sources_{fun}"] = near(np.sort(alike.ravel()), [0.0] * 6 + [1.0] * 3, tolerance=1e-3)
        parts[f"units_{fun}"] = near(np.std(model.transform(X), axis=0), np.ones(3), tolerance=1e-8)
        back = model.inverse_transform(model.transform(X))
        parts[f"back_{fun}"] = near(back, X, tolerance=1e-8)
        parts[f"whitening_{fun}"] = near(np.abs(model.whitening_), np.abs(theirs.whitening_), tolerance=1e-8)
    return every(**parts)


@oracle(f"{PATH}.coverage", f"{PATH}.occupied_cells", f"{PATH}.distance_contrast", f"{PATH}.grid_neighbors")
def cells_one_by_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, query = rng.uniform(size=(30, 2)), rng.normal(size=2)
    X[0] = 1.0  # the far corner belongs to the last cell
    taken = {(min(int(4 * a), 3), min(int(4 * b), 3)) for a, b in X}
    lengths = [np.sqrt(sum((x - query) ** 2)) for x in X]
    return every(
        coverage=near([ours.coverage(3, 10, 4), ours.coverage(2, 100, 3)], [10 / 64, 1.0], tolerance=1e-12),
        cells=near(ours.occupied_cells(X, 4), len(taken) / 16, tolerance=1e-12),
        contrast=near(ours.distance_contrast(X, query), max(lengths) / min(lengths) - 1, tolerance=1e-9),
        neighbors=equal([ours.grid_neighbors(d) for d in (1, 3, 5)], [2, 6, 10]),
    )
