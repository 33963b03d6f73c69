"""Generative classifiers against scikit-learn's."""

from __future__ import annotations

import numpy as np
from scipy import special, stats
from sklearn import discriminant_analysis, naive_bayes
from tests.oracles import oracle

from margin import bayes as ours
from margin.bayes import QuadraticDiscriminantAnalysis
from margin.core.verdict import Verdict, equal, every, near


def classes(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 16])
    y = rng.choice(3, size=90, p=[0.5, 0.2, 0.3])
    X = rng.normal(size=(90, 3)) * [1.0, 5.0, 0.2] + np.array([[0, 0, 0], [1, 4, 0], [0, -3, 0.3]])[y] + [3, -1, 0.5]
    return X, y, X[:8] + 0.1, rng.uniform(0.3, 2, size=90)


@oracle("margin.bayes.linear_discriminant.directions_by_svd", "margin.bayes.LinearDiscriminantAnalysis")
def linear_discriminant(seed: int) -> Verdict:
    X, y, fresh, _ = classes(seed)
    parts = {}
    for priors in (None, [0.2, 0.5, 0.3]):
        for solver in ("svd", "lsqr", "eigen"):
            model, theirs = (
                m(solver=solver, priors=priors).fit(X, y)
                for m in (ours.LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis)
            )
            key = f"{solver}_{'given' if priors else 'counted'}"
            parts[f"chances_{key}"] = near(model.predict_proba(fresh), theirs.predict_proba(fresh), tolerance=1e-6)
            if solver == "svd":  # with "eigen" scikit-learn's directions are not centered and leave the priors out
                a, b = model.transform(fresh), theirs.transform(fresh)
                parts[f"transformed_{key}"] = near(np.abs(a), np.abs(b), tolerance=1e-6)
                parts[f"ratio_{key}"] = near(
                    model.explained_variance_ratio_, theirs.explained_variance_ratio_, tolerance=1e-6
                )
    return every(**parts)


@oracle("margin.bayes.GaussianNB")
def gaussian_naive_bayes(seed: int) -> Verdict:
    X, y, fresh, w = classes(seed)
    parts = {}
    for priors in (None, [0.2, 0.5, 0.3]):
        model, theirs = (m(priors=priors).fit(X, y, sample_weight=w) for m in (ours.GaussianNB, naive_bayes.GaussianNB))
        key = "given" if priors else "counted"
        parts[f"chances_{key}"] = near(model.predict_proba(fresh), theirs.predict_proba(fresh), tolerance=1e-5)
        parts[f"variances_{key}"] = near(model.var_, theirs.var_, tolerance=1e-6)
        parts[f"joint_{key}"] = near(  # with the constant that chances do not show
            model.predict_joint_log_proba(fresh), theirs.predict_joint_log_proba(fresh), tolerance=1e-5
        )
    # Smoothing is compared without weights, which scikit-learn leaves out of the variance that it is a part of.
    smooth = [m(var_smoothing=0.02).fit(X, y) for m in (ours.GaussianNB, naive_bayes.GaussianNB)]
    parts["smooth"] = near(smooth[0].var_, smooth[1].var_, tolerance=1e-6)
    return every(**parts)


@oracle(
    "margin.bayes.posterior.log_priors",
    "margin.bayes.posterior.log_posterior",
    *(f"margin.bayes.{name}" for name in ("CategoricalNB", "MultinomialNB", "BernoulliNB")),
)
def counted_classes(seed: int) -> Verdict:
    """scikit-learn's with weights, smoothing that is not 1, given priors, and rows that come in two parts."""
    rng = np.random.default_rng(seed)
    X, w, y = rng.poisson(1.2, size=(40, 4)), rng.uniform(0.3, 2.0, size=40), np.arange(40) % 3
    X[:3] = [[5, 5, 5, 5], [0, 0, 0, 0], [1, 2, 3, 4]]
    X[3, 1] = 9  # a gap among the codes: 6, 7 and 8 were never seen
    fresh, parts = np.minimum(rng.poisson(1.2, size=(9, 4)), 4), {}
    cases = {"CategoricalNB": {}, "MultinomialNB": {}, "BernoulliNB": {"binarize": 0.5}}
    for name, options in cases.items():
        for priors in ({}, {"fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}):
            model, theirs = (
                getattr(m, name)(alpha=0.7, **options, **priors).fit(X, y, sample_weight=w) for m in (ours, naive_bayes)
            )
            key = f"{name}_{next(iter(priors), 'learned')}"
            parts[key] = near(model.predict_log_proba(fresh), theirs.predict_log_proba(fresh), tolerance=1e-8)
            parts[f"{key}_prior"] = near(model.class_log_prior_, theirs.class_log_prior_, tolerance=1e-10)
        flat = [np.concatenate([np.ravel(p) for p in m.feature_log_prob_]) for m in (model, theirs)]
        parts[f"{name}_logs"] = near(flat[0], flat[1], tolerance=1e-10)
        halves = getattr(ours, name)(alpha=0.7, **options).partial_fit(X[:25], y[:25], classes=[0, 1, 2])
        halves.partial_fit(X[25:], y[25:])
        at_once = getattr(ours, name)(alpha=0.7, **options).fit(X, y)
        parts[f"{name}_parts"] = near(halves.predict_proba(fresh), at_once.predict_proba(fresh), tolerance=1e-10)
    return every(**parts)


@oracle("margin.bayes.QuadraticDiscriminantAnalysis")
def normal_laws_of_classes(seed: int) -> Verdict:
    """Weighted rows of three classes: densities with the classes' own covariances, moved towards the identity."""
    rng = np.random.default_rng(seed)
    y, weight = rng.permutation(np.repeat([0, 1, 2], [30, 20, 25])), rng.integers(1, 4, 75)
    X = rng.normal(size=(75, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]) * (1 + y[:, None]) + y[:, None]
    found = {}
    for shrink in (0.0, 0.3):
        logs = np.empty((75, 3))
        for c in range(3):
            rows = np.repeat(X[y == c], weight[y == c], axis=0)
            covariance = (1 - shrink) * np.cov(rows.T, bias=True) + shrink * np.eye(2)
            prior = len(rows) / weight.sum()
            logs[:, c] = stats.multivariate_normal(rows.mean(axis=0), covariance).logpdf(X) + np.log(prior)
        expected = np.exp(logs - special.logsumexp(logs, axis=1, keepdims=True))
        model = QuadraticDiscriminantAnalysis(reg_param=shrink).fit(X, y, sample_weight=weight)
        found[f"shrink_{shrink:g}"] = near(model.predict_proba(X), expected, tolerance=1e-8)
        found[f"labels_{shrink:g}"] = equal(model.predict(X).tolist(), expected.argmax(axis=1).tolist())
    return every(**found)
