"""Claims about learning without labels: k-means, expectation-maximization and its variational form."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.optimize as so
from scipy.special import expit, logit, rel_entr

from margin.claims import claim
from margin.cluster import KMeans
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.data import load
from margin.linear import LinearRegression
from margin.metrics import accuracy, adjusted_rand
from margin.mixture import GaussianMixture
from margin.mixture.bound import elbo, evidence, posterior
from margin.mixture.coins import coins_em
from margin.mixture.covariances import Full
from margin.mixture.em import MixtureParameters, log_joint, mixture_of, q_function
from margin.mixture.factorial import Factors, factorized_posterior, factors_em


def _two_groups(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Two groups apart in the first column; the second is noise of the same size."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n)
    return np.column_stack([6.0 * label + rng.normal(size=n), rng.normal(size=n)]), label


def _overlapping(seed: int, n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 2.0]])
    return means[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


@claim("unsupervised-learning")
def structure_is_learned_from_features_alone(seed: int) -> Verdict:
    X, label = _two_groups(seed)
    clusters = KMeans(2, random_state=seed).fit(X).labels_
    mixture = GaussianMixture(2, random_state=seed).fit(X)
    arguments: Any = LinearRegression().fit
    return every(
        clusters=above(adjusted_rand(label, clusters), 0.95),
        components=above(adjusted_rand(label, mixture.predict(X)), 0.95),
        supervised=raises(TypeError, lambda: arguments(X), match="y"),
    )


@claim("k-means")
def every_row_is_nearest_to_the_mean_of_its_cluster(seed: int) -> Verdict:
    from sklearn.cluster import KMeans as Reference

    X = np.asarray(load("iris").X)
    model = KMeans(3, n_init=10, tol=0, random_state=seed).fit(X)
    distances = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    theirs = Reference(3, n_init=10, tol=0, random_state=seed).fit(X).inertia_
    return every(
        nearest=equal(model.labels_, distances.argmin(axis=1)),
        means=near(model.cluster_centers_, means, tolerance=1e-12),
        inertia=near(model.inertia_ / theirs, 1.0, tolerance=0.01),
    )


@claim("lloyd-algorithm")
def the_objective_never_increases_and_ends_at_a_fixed_point(seed: int) -> Verdict:
    X = _overlapping(seed, 600)
    model = KMeans(5, init=X[:5], algorithm="lloyd", tol=0)
    records = list(model.iterate(X))
    again = KMeans(5, init=model.cluster_centers_, tol=0).fit(X)
    return every(
        falls=below(float(np.diff([record["inertia"] for record in records]).max()), 1e-9),
        settled=equal(int(records[-1]["changed"]), 0),
        fixed_point=near(again.cluster_centers_, model.cluster_centers_, tolerance=1e-12),
    )


@claim("lloyd-stopping-rule")
def finitely_many_steps_reach_a_fixed_point_and_a_threshold_saves_some(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(2000, 2))
    exact, early, last_shift = [], [], []
    for start in range(10 * seed, 10 * seed + 10):
        runs = [list(KMeans(8, init="random", n_init=1, tol=tol, random_state=start).iterate(X)) for tol in (0, 1e-3)]
        exact.append((len(runs[0]), runs[0][-1]["changed"]))
        early.append(len(runs[1]))
        last_shift.append(runs[1][-1]["shift"])
    bound = float(np.sqrt(1e-3 * X.var(axis=0).mean()))
    return corrected(
        every(
            fixed_points=equal([changed for _, changed in exact], [0] * 10),
            iterations=below(max(length for length, _ in exact), 300),
            earlier=below(float(np.mean(early)), float(np.mean([length for length, _ in exact]))),
            shift=below(max(last_shift), bound),
        ),
        # Without a threshold some run would have to go on changing: it would show as rows moved in its last step.
        printed=above(max(changed for _, changed in exact), 0),
    )


@claim("claim-knn-versus-k-means")
def both_need_comparable_scales(seed: int) -> Verdict:
    X, label = _two_groups(seed)
    scores = {}
    for name, scale in (("equal", 1.0), ("stretched", 100.0)):
        rows = X * [1.0, scale]
        clusters = adjusted_rand(label, KMeans(2, n_init=10, random_state=seed).fit(rows).labels_)
        scores[name] = clusters, _nearest_neighbor_accuracy(rows, label)
    stretched = X * [1.0, 100.0]
    standard = stretched / stretched.std(axis=0)
    again = adjusted_rand(label, KMeans(2, n_init=10, random_state=seed).fit(standard).labels_)
    return corrected(
        every(
            k_means=above(scores["equal"][0], 0.95),
            k_means_stretched=below(scores["stretched"][0], 0.05),
            standardized=above(again, 0.95),
            knn=above(scores["equal"][1], 0.98),
            knn_stretched=below(scores["stretched"][1], 0.9),
        ),
        printed=near(scores["stretched"][0], scores["equal"][0], tolerance=0.05),
    )


def _nearest_neighbor_accuracy(X: np.ndarray, label: np.ndarray, k: int = 5) -> float:
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    distances = ((X[test][:, None] - X[train]) ** 2).sum(axis=2)
    votes = label[train][np.argsort(distances, axis=1)[:, :k]].mean(axis=1)
    return accuracy(label[test], (votes > 0.5).astype(int))


@claim("em-algorithm")
def alternate_maximization_of_the_one_and_only_bound(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    heads = rng.binomial(20, np.where(rng.random(400) < 0.3, 0.8, 0.4))
    coins = coins_em(heads, np.full(400, 20), [0.7, 0.5])
    X = _overlapping(seed)
    starts = [_fitted(X, X[rows]) for rows in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11])]
    mixture = starts[0]._mixture()
    table, prior = log_joint(X, mixture), np.log(mixture.weights)
    q = rng.dirichlet(np.ones(3), size=len(X))
    divergence = rel_entr(q, mixture.weights).sum()
    autoencoder_form = float((q * (table - prior)).sum() - divergence)
    gap = abs(elbo(table, q) - autoencoder_form)
    ends = [model.log_likelihood_ for model in starts]
    return corrected(
        every(
            coins=near(coins.heads, [0.8, 0.4], tolerance=0.03),
            coins_rise=above(float(np.diff(coins.trace).min()), -1e-9),
            same_as_scikit_learn=near(ends[0], _reference_end(X), tolerance=1e-9),
            one_bound=below(gap, 1e-9),
            ends_differ=above(max(ends) - min(ends), 1e-3),
        ),
        bounds_differ=above(gap, 1e-6),  # the notes call the two bounds different
        every_start_reaches_the_maximum=near(min(ends), max(ends), tolerance=1e-4),
    )


def _start(means: np.ndarray) -> dict[str, Any]:
    k, d = means.shape
    start = {"weights_init": np.full(k, 1 / k), "means_init": means, "precisions_init": np.stack([np.eye(d)] * k)}
    return {"n_components": k, "max_iter": 40, "tol": 0.0, **start}


def _fitted(X: np.ndarray, means: np.ndarray) -> GaussianMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed number of steps is not meant to converge
        return GaussianMixture(**_start(means)).fit(X)


def _reference_end(X: np.ndarray) -> float:
    from sklearn.mixture import GaussianMixture as Reference

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(Reference(**_start(X[:3])).fit(X).score(X))


@claim("em-q-function")
def the_m_step_is_the_maximum_of_q(seed: int) -> Verdict:
    X = _overlapping(seed, 60)
    resp = np.random.default_rng([seed, 1]).dirichlet([1.0, 1.0], size=60)
    best = q_function(X, mixture_of(X, resp, Full, 0.0), resp)

    def minus_q(v: np.ndarray) -> float:
        weights = np.exp(v[:2]) / np.exp(v[:2]).sum()
        roots = v[6:].reshape(2, 2, 2)
        parts = Full(v[2:6].reshape(2, 2), roots @ roots.transpose(0, 2, 1))
        return -q_function(X, MixtureParameters(weights, parts, X.mean(axis=0)), resp)

    start = np.concatenate([np.zeros(6), np.eye(2).ravel(), np.eye(2).ravel()])
    numerical = -so.minimize(minus_q, start, method="BFGS").fun
    return every(same=near(best, numerical, tolerance=1e-4), not_below=above(best, numerical - 1e-8))


@claim("claim-em-monotone")
def no_half_step_lowers_the_bound(seed: int) -> Verdict:
    X = _overlapping(seed, 400)
    mixture = mixture_of(X, np.random.default_rng(seed).dirichlet(np.full(3, 0.3), size=len(X)), Full, 0.0)
    chain, touches = [], []
    for _ in range(40):
        table = log_joint(X, mixture)
        q = posterior(table)  # E step
        touches.append(abs(elbo(table, q) - evidence(table)))
        chain += [evidence(table)]
        mixture = mixture_of(X, q, Full, 0.0)  # M step
        chain += [elbo(log_joint(X, mixture), q)]
    return every(
        rises=above(float(np.diff(chain).min()), -1e-10),
        equality_after_e_step=below(max(touches), 1e-9),
        gained=above(chain[-1] - chain[0], 1.0),
    )


@claim("variational-em")
def a_restricted_family_costs_unless_the_posterior_is_in_it(seed: int) -> Verdict:
    rng = np.random.default_rng([seed, 1])
    parts: dict[str, Verdict] = {}
    for name, overlap in (("coupled", 1.5), ("apart", 0.0)):
        model = Factors(np.array([[2.0, overlap], [0.0, 2.0]]), np.zeros(2), 0.5, np.array([0.4, 0.6]))
        z = rng.random((200, 2)) < model.chances
        X = z @ model.loadings.T + np.sqrt(model.variance) * rng.normal(size=(200, 2))
        table = model.log_joint(X)
        q, exact = factorized_posterior(table), posterior(table)
        runs = {f: list(factors_em(X, model, family=f, max_iter=12)) for f in ("exact", "factorized")}
        bounds = {family: np.array([record["bound"] for record, _ in run]) for family, run in runs.items()}
        gap = elbo(table, exact) - elbo(table, q)
        parts[f"{name}_gap_is_the_divergence"] = near(gap, rel_entr(q, exact).sum(), tolerance=1e-8)
        parts[f"{name}_first_bound"] = near(bounds["factorized"][0], elbo(table, q), tolerance=1e-9)
        parts[f"{name}_steps"] = equal([len(run) for run in runs.values()], [12, 12])
        parts[f"{name}_bounds_rise"] = above(min(np.diff(b).min() for b in bounds.values()), -1e-8)
        parts[f"{name}_factorizes"] = near(q, _product_of_marginals(q), tolerance=1e-10)
        parts[f"{name}_best_product"] = near(elbo(table[:3], q[:3]), _best_product_bound(table[:3]), tolerance=1e-5)
        # Where the posterior factorizes the restriction costs nothing; where switches explain the same rows it does,
        # at these parameters and still after EM.
        costs = min(gap, bounds["exact"][-1] - bounds["factorized"][-1])
        parts[f"{name}_costs"] = above(costs, 1.0) if overlap else near(gap, 0.0, tolerance=1e-8)
    return every(**parts)


def _product_of_marginals(q: np.ndarray) -> np.ndarray:
    """(n, 4) over two switches: off-off, off-on, on-off, on-on."""
    first, second = q[:, 2:].sum(axis=1), q[:, 1] + q[:, 3]
    return np.stack([(1 - first) * (1 - second), (1 - first) * second, first * (1 - second), first * second], axis=1)


def _best_product_bound(table: np.ndarray) -> float:
    """The highest bound of any product distribution: the best of a fine grid of chances, improved by SciPy."""
    total, levels = 0.0, np.linspace(0.02, 0.98, 12)
    for row in table:

        def minus_bound(logits: np.ndarray, row: np.ndarray = row) -> float:
            on = expit(logits)
            q = np.array([(1 - on[0]) * (1 - on[1]), (1 - on[0]) * on[1], on[0] * (1 - on[1]), on[0] * on[1]])
            return -elbo(row[None], q[None])

        start = min(product(logit(levels), repeat=2), key=lambda pair: minus_bound(np.array(pair)))
        total -= so.minimize(minus_bound, start, method="BFGS").fun
    return total


def _partly_labeled(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three rows of each group keep their label."""
    X, label = _two_groups(seed)
    kept = np.concatenate([np.flatnonzero(label == group)[:3] for group in (0, 1)])
    return X, np.where(np.isin(np.arange(len(X)), kept), label, -1)


@claim("semi-supervised-learning")
def rows_without_a_label_are_used_however_they_are_marked(seed: int) -> Verdict:
    from margin.neural.estimators import MLPClassifier
    from margin.semi import PseudoLabel, SelfTrainingClassifier

    X, y = _partly_labeled(seed)
    known = y >= 0
    as_none = y.astype(object)
    as_none[~known] = None
    spellings = [y, np.where(known, y, np.nan), as_none]
    answers = [SelfTrainingClassifier().fit(X, labels).predict_proba(X) for labels in spellings]
    alone = SelfTrainingClassifier().fit(X[known], y[known]).predict_proba(X)
    network = PseudoLabel(MLPClassifier((8,), max_iter=2), random_state=seed)
    taught = [network.fit(X, labels).predict_proba(X) for labels in spellings]
    return every(
        as_nan=equal(answers[1], answers[0]),
        as_none=equal(answers[2], answers[0]),
        network_as_nan=equal(taught[1], taught[0]),
        network_as_none=equal(taught[2], taught[0]),
        used=above(float(np.abs(answers[0] - alone).max()), 0.01),
    )


@claim("self-training")
def only_confident_rows_are_added_and_given_labels_stay(seed: int) -> Verdict:
    from margin.semi import SelfTrainingClassifier

    X, y = _partly_labeled(seed)
    model, least, left = SelfTrainingClassifier(threshold=0.9, max_iter=None), [], [int((y < 0).sum())]
    before = None
    for record in model.iterate(X, y):
        if before is not None and record["added"]:
            chosen = model.labeled_iter_ == record.iteration
            least.append(before.predict_proba(X[chosen]).max(axis=1).min())
        before = model.estimator_
        left.append(int(record["unlabeled"]))
    return every(
        confident=above(min(least), 0.9),
        shrinking=equal(sorted(left, reverse=True), left),
        given=equal(model.transduction_[y >= 0], y[y >= 0]),
        accuracy=above(float((model.predict(X) == _two_groups(seed)[1]).mean()), 0.98),
    )


@claim("pseudo-labelling")
def the_loss_of_rows_without_a_label_is_weighted_by_the_ramp(seed: int) -> Verdict:
    import torch

    from margin.semi.pseudo_label import pseudo_label_loss, ramp

    torch_rng = torch.Generator().manual_seed(seed)
    module = torch.nn.Linear(2, 3, dtype=torch.float64)
    X = torch.randn(8, 2, dtype=torch.float64, generator=torch_rng)
    y = torch.tensor([0, 1, 2, -1, -1, -1, -1, -1])
    log_p = torch.log_softmax(module(X), dim=1).detach().numpy()
    labeled = -np.mean([log_p[i, int(y[i])] for i in range(3)])
    guessed = -np.mean(log_p[3:].max(axis=1))
    losses = [
        pseudo_label_loss(module, (X, y), torch_rng, alpha=partial(float, weight))["loss"].detach().mean().item()
        for weight in (0.0, 1.5)
    ]
    return every(
        without=near(losses[0], labeled, tolerance=1e-12),
        weighted=near(losses[1], labeled + 1.5 * guessed, tolerance=1e-12),
        ramp=near([ramp(t, 0.1, 0.7, 3.0) for t in (0.0, 0.1, 0.4, 0.7, 1.0)], [0, 0, 1.5, 3, 3], tolerance=1e-12),
    )
