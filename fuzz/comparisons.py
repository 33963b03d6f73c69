"""What is compared with scikit-learn on a random table: objectives at the end of a fit, or answers that have one truth.

Each comparison yields how far ours is behind, as a fraction of what is allowed: above 1 it is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn import decomposition, discriminant_analysis, gaussian_process, linear_model, naive_bayes, svm, tree
from sklearn import kernel_ridge as sklearn_ridge
from sklearn import neighbors as sklearn_neighbors
from sklearn.gaussian_process import kernels as covariance

from fuzz.random_tables import RandomTable
from margin import bayes, kernels, linear, neighbors, reduction, trees
from margin.neighbors import density

__all__ = ["COMPARISONS", "Found"]

Found = tuple[str, float]  # what was compared, and how far ours is behind, 1 being just allowed
GIVES_NOISE = ("other units", "far from zero", "heavy tails")  # kinds on which the peer's own answer is rounding


def _behind(ours: float, theirs: float, relative: float, absolute: float = 0.0) -> float:
    """How far ``ours`` is above ``theirs``; both are to be small."""
    return (ours - theirs) / (relative * abs(theirs) + absolute + 1e-300)


def _apart(ours: Any, theirs: Any, allowed: float) -> float:
    return float(np.max(np.abs(np.asarray(ours) - np.asarray(theirs)), initial=0.0)) / allowed


def least_squares(t: RandomTable) -> Iterator[Found]:
    total = float(t.share @ (t.y - np.average(t.y, weights=t.share)) ** 2)
    for positive in (False, True):
        sums = [
            float(t.share @ (t.y - model(positive=positive).fit(t.X, t.y, **t.weighted).predict(t.X)) ** 2)
            for model in (linear.LinearRegression, linear_model.LinearRegression)
        ]
        yield f"LinearRegression(positive={positive})", _behind(*sums, 0.0, 1e-6 * total)


def ridge(t: RandomTable) -> Iterator[Found]:
    for alpha in (1e-6, 1.0, 100.0):

        def value(model: Any, alpha: float = alpha) -> float:
            fit = model.fit(t.X, t.y, **t.weighted)
            return float(t.share @ (t.y - fit.predict(t.X)) ** 2) + alpha * float((fit.coef_**2).sum())

        values = value(linear.Ridge(alpha=alpha)), value(linear_model.Ridge(alpha=alpha, solver="svd"))
        yield f"Ridge(alpha={alpha:g})", _behind(*values, 1e-6, 1e-9 * float(t.share @ t.y**2))


def elastic_nets(t: RandomTable) -> Iterator[Found]:
    size = float(t.y.std() * t.X.std(axis=0).mean())
    for name, ratio, options in (("Lasso", 1.0, {}), ("ElasticNet", 0.3, {"l1_ratio": 0.3})):
        for alpha in (0.01 * size, 0.3 * size):

            def value(model: Any, alpha: float = alpha, ratio: float = ratio) -> float:
                fit = model.fit(t.X, t.y, **t.weighted)
                squares = float(t.share @ (t.y - fit.predict(t.X)) ** 2) / 2 / float(t.share.sum())
                w = fit.coef_
                return squares + alpha * (ratio * float(np.abs(w).sum()) + (1 - ratio) / 2 * float((w**2).sum()))

            ours = value(getattr(linear, name)(alpha=alpha, tol=1e-8, max_iter=100_000, **options))
            theirs = value(getattr(linear_model, name)(alpha=alpha, tol=1e-9, max_iter=20_000, **options))
            yield name, _behind(ours, theirs, 1e-5, 1e-9 * float(t.y.var()))


def lasso_path(t: RandomTable) -> Iterator[Found]:
    X, y = t.X - t.X.mean(axis=0), t.y - t.y.mean()
    alphas = np.abs(X.T @ y).max() / len(X) * np.logspace(0, -2, 30)
    if not alphas[-1] > 0:
        return
    ours = linear.lasso_path(X, y, alphas=alphas, fit_intercept=False).coefs
    theirs = linear_model.lasso_path(X, y, alphas=alphas, tol=1e-8, max_iter=20_000)[1]
    values = [((y[:, None] - X @ w) ** 2).mean(axis=0) / 2 + alphas * np.abs(w).sum(axis=0) for w in (ours, theirs)]
    yield "lasso_path", float(np.max(values[0] - values[1])) / (1e-3 * float(y.var()))


def logistic(t: RandomTable) -> Iterator[Found]:
    numbers = np.arange(len(t.X))
    for C in (1e-3, 1.0, 1e3):

        def value(model: Any, ratio: float, C: float = C) -> float:
            fit = model.fit(t.X, t.classes, **t.weighted)
            scores = t.X @ fit.coef_.T + fit.intercept_
            scores = np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores
            losses = logsumexp(scores, axis=1) - scores[numbers, t.classes]
            w = fit.coef_
            return C * float(t.share @ losses) + float(ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w**2).sum())

        ours = value(linear.LogisticRegression(C=C, max_iter=2000, tol=1e-6), 0.0)
        theirs = value(linear_model.LogisticRegression(C=C, max_iter=3000, tol=1e-7), 0.0)
        yield f"LogisticRegression(C={C:g})", _behind(ours, theirs, 1e-4, 1e-8 * C * float(t.share.sum()))
        if t.kind in GIVES_NOISE or t.classes.max() > 1:
            continue
        ours = value(linear.LogisticRegression(C=C, l1_ratio=1.0, max_iter=1000, tol=1e-6), 1.0)
        peer = linear_model.LogisticRegression(
            C=C, l1_ratio=1.0, solver="liblinear", max_iter=300, tol=1e-6, intercept_scaling=1e3
        )
        yield f"LogisticRegression(C={C:g}, l1_ratio=1)", _behind(ours, value(peer, 1.0), 1e-3, 1e-8 * C)


def linear_machines(t: RandomTable) -> Iterator[Found]:
    sign = np.where(t.classes > 0, 1.0, -1.0)
    for C in (1e-3, 1.0, 1e3):

        def value(model: Any, C: float = C) -> float:
            fit = model.fit(t.X, sign, **t.weighted)
            slack = np.maximum(0.0, 1 - sign * fit.decision_function(t.X))
            penalized = float((fit.coef_**2).sum() + fit.intercept_[0] ** 2)
            return C * float(t.share @ slack**2) + penalized / 2

        ours = value(kernels.LinearSVC(C=C, intercept_scaling=1.0, max_iter=5000))
        theirs = value(svm.LinearSVC(C=C, dual="auto", max_iter=5000))
        yield f"LinearSVC(C={C:g})", _behind(ours, theirs, 0.1, 1e-6 * C)


def kernel_machines(t: RandomTable) -> Iterator[Found]:
    sign, share = np.where(t.classes > 0, 1.0, -1.0), t.share
    gamma = 1.0 / (t.X.shape[1] * float(t.X.var()) or 1.0)
    for C in (0.1, 10.0):

        def value(model: Any, C: float = C) -> float:
            fit = model.fit(t.X, sign, **t.weighted)
            beta, scores = np.zeros(len(t.X)), fit.decision_function(t.X)
            beta[fit.support_] = fit.dual_coef_[0]
            norm = float(beta @ (scores - fit.intercept_[0]))
            return norm / 2 + C * float(share @ np.maximum(0.0, 1 - sign * scores))

        values = value(kernels.SVC(C=C, gamma=gamma)), value(svm.SVC(C=C, gamma=gamma, max_iter=100_000))
        yield f"SVC(C={C:g})", _behind(*values, 1e-2, 1e-9 * C)  # both end at a violation of 1e-3
    pair = (kernels.KernelRidge, sklearn_ridge.KernelRidge)
    predictions = [m(alpha=0.5, kernel="rbf", gamma=gamma).fit(t.X, t.y, **t.weighted).predict(t.Q) for m in pair]
    yield "KernelRidge", _apart(*predictions, 1e-6 * max(1.0, float(np.abs(t.y).max())))


def gaussian_processes(t: RandomTable) -> Iterator[Found]:
    if len(t.X) > 120 or t.kind in GIVES_NOISE:
        return
    kernel = covariance.ConstantKernel() * covariance.RBF() + covariance.WhiteKernel()
    peer = gaussian_process.GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(t.X, t.y)
    ours = kernels.GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(t.X, t.y)
    behind = peer.log_marginal_likelihood_value_ - ours.log_marginal_likelihood_value_
    yield "GaussianProcessRegressor", float(behind) / 0.5


def discriminants(t: RandomTable) -> Iterator[Found]:
    if len(t.X) < 3 * t.X.shape[1] or t.kind in (
        *GIVES_NOISE,
        "repeated columns",
        "constant column",
        "rare indicators",
    ):
        return
    for name, options in (
        ("LinearDiscriminantAnalysis", {}),
        ("LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
        ("QuadraticDiscriminantAnalysis", {"reg_param": 0.1}),
    ):
        ours = getattr(bayes, name)(**options).fit(t.X, t.classes).predict_proba(t.Q)
        theirs = getattr(discriminant_analysis, name)(**options).fit(t.X, t.classes).predict_proba(t.Q)
        yield name, _apart(ours, theirs, 1e-4)


def naive(t: RandomTable) -> Iterator[Found]:
    if t.X.std(axis=0).max() > 0:
        both = (bayes.GaussianNB, naive_bayes.GaussianNB)
        # Without weights: the peer's smoothing does not know of them.
        probabilities = [model().fit(t.X, t.classes).predict_proba(t.X) for model in both]
        yield "GaussianNB", _apart(*probabilities, 1e-4)
    counts = np.minimum(np.abs(np.round(t.X)), 20)
    both = (bayes.MultinomialNB, naive_bayes.MultinomialNB)
    probabilities = [model().fit(counts, t.classes, **t.weighted).predict_proba(counts) for model in both]
    yield "MultinomialNB", _apart(*probabilities, 1e-6)


def distances(t: RandomTable) -> Iterator[Found]:
    for metric in ("minkowski", "manhattan", "chebyshev"):
        ours = neighbors.KNeighborsRegressor(3, metric=metric).fit(t.X, t.y).kneighbors(t.Q)[0]
        theirs = sklearn_neighbors.KNeighborsRegressor(3, metric=metric).fit(t.X, t.y).kneighbors(t.Q)[0]
        size = max(float(theirs.max()), float(np.abs(t.X).max()), 1e-300)
        yield f"kneighbors, {metric}", _apart(ours, theirs, 1e-6 * size)


def densities(t: RandomTable) -> Iterator[Found]:
    width, p = float(t.X.std()) or 1.0, t.X.shape[1]
    squares = ((t.Q[:, None] - t.X[None]) ** 2).sum(axis=-1)
    truth = logsumexp(-squares / 2 / width**2, axis=1) - np.log(len(t.X)) - p * np.log(width * np.sqrt(2 * np.pi))
    ours = density.KernelDensity(bandwidth=width).fit(t.X).score_samples(t.Q)
    yield "KernelDensity", _apart(ours, truth, 1e-6 * max(1.0, float(np.abs(truth).max())))


def components(t: RandomTable) -> Iterator[Found]:
    if t.kind == "far from zero":
        return
    ours, theirs = (m().fit(t.X).explained_variance_ for m in (reduction.PCA, decomposition.PCA))
    yield "PCA", _apart(ours, theirs, 1e-6 * float(theirs[0]) + 1e-300)


def single_trees(t: RandomTable) -> Iterator[Found]:
    if t.kind == "tiny numbers":  # the peer takes steps below 1e-7 for none
        return

    def wrong(model: Any) -> float:
        return float(np.average(model.fit(t.X, t.classes, **t.weighted).predict(t.X) != t.classes, weights=t.share))

    def squares(model: Any) -> float:
        return float(np.average((model.fit(t.X, t.y, **t.weighted).predict(t.X) - t.y) ** 2, weights=t.share))

    pair = [module.DecisionTreeClassifier(random_state=0) for module in (trees, tree)]
    yield "DecisionTreeClassifier", _behind(wrong(pair[0]), wrong(pair[1]), 0.0, 1e-9)
    pair = [module.DecisionTreeRegressor(random_state=0) for module in (trees, tree)]
    yield "DecisionTreeRegressor", _behind(squares(pair[0]), squares(pair[1]), 1e-6, 1e-9 * float(t.y.var()))
    pair = [module.DecisionTreeRegressor(max_depth=1, random_state=0) for module in (trees, tree)]
    yield (
        "DecisionTreeRegressor(max_depth=1)",
        _behind(squares(pair[0]), squares(pair[1]), 1e-6, 1e-9 * float(t.y.var())),
    )


COMPARISONS: tuple[Callable[[RandomTable], Iterator[Found]], ...] = (
    least_squares, ridge, elastic_nets, lasso_path, logistic, linear_machines, kernel_machines, gaussian_processes,
    discriminants, naive, distances, densities, components, single_trees,
)  # fmt: skip
