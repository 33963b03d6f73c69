"""Naive Bayes, and how a generative model differs from a discriminative one."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from margin.bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.notes.claims import claim


@claim("naive-bayes")
def independent_features_by_bayes_rule() -> Verdict:
    """The posterior is the prior times the product over features, and that is no vote of neighbors."""
    from margin.neighbors import KNeighborsClassifier

    iris = load("iris")
    X, y = np.asarray(iris.X), np.asarray(iris.y)
    groups = [X[y == c] for c in range(3)]
    joint = np.stack([norm.pdf(X, g.mean(axis=0), g.std(axis=0)).prod(axis=1) / 3 for g in groups], axis=1)
    rows, labels = np.array([[2, 0, 1], [0, 1, 0], [0, 3, 1], [1, 0, 2]]), np.array([0, 0, 1, 1])
    # Counts by hand with one added to each: class 0 has (2, 1, 1) of 4, rows with the feature (1, 1, 1) of 2.
    words = MultinomialNB().fit(rows, labels).feature_log_prob_[0]
    log_joint = BernoulliNB().fit(rows, labels).predict_joint_log_proba([[1, 1, 1]])[0, 0]
    kinds = CategoricalNB().fit(rows[:, :1], labels)  # class 0 has 2 and 0, class 1 has 0 and 1
    bayes = GaussianNB(var_smoothing=0).fit(X, y)
    agree = [np.mean(KNeighborsClassifier(k).fit(X, y).predict(X) == bayes.predict(X)) for k in (1, 5, 15)]
    truth = every(
        gaussian=near(bayes.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), tolerance=1e-10),
        multinomial=near(np.exp(words), np.array([3, 2, 2]) / 7, tolerance=1e-12),
        bernoulli=near(log_joint, np.log(0.5 * 0.5**3), tolerance=1e-12),
        # Of the first column, one added to each of three categories: 0 is as likely in both, 2 twice in class 0.
        categorical=near(kinds.predict_proba([[0]])[0], np.array([2 / 5, 2 / 5]) / (4 / 5), tolerance=1e-12),
        rarer=near(kinds.predict_proba([[2]])[0], np.array([2, 1]) / 3, tolerance=1e-12),
    )
    return corrected(truth, printed=equal(max(agree), 1.0))  # as printed, it would be the vote of k neighbors


@claim("discriminative-model")
def fewer_assumptions_win_with_more_rows(seed: int) -> Verdict:
    """Naive Bayes assumes too much of correlated features: ahead with few rows, behind with many."""
    from margin.linear import LogisticRegression

    def errors(make: type, n: int, repeats: int) -> np.ndarray:
        rates = []
        for repeat in range(repeats):
            rng = np.random.default_rng([seed, repeat])
            (X, y), (T, truth) = _correlated_features(rng, n), _correlated_features(rng, 2000)
            rates.append(1 - make().fit(X, y).score(T, truth))
        return np.array(rates)

    # The leads are 0.025 and 0.019 with standard errors of 0.003 and 0.002 over so many repeats.
    few, many = ([errors(m, n, k) for m in (GaussianNB, LogisticRegression)] for n, k in ((60, 30), (2000, 20)))
    return every(
        few_rows=above(float(np.mean(few[1] - few[0])), 0.005),
        many_rows=above(float(np.mean(many[0] - many[1])), 0.005),
        a_discriminative_model_learns=below(float(many[1].mean()), float(few[1].mean())),
        only_one_knows_the_rows=equal(
            [hasattr(m, "predict_joint_log_proba") for m in (GaussianNB, LogisticRegression)], [True, False]
        ),
    )


def _correlated_features(rng: np.random.Generator, n: int, d: int = 20, rho: float = 0.15) -> tuple:
    """Two normal classes whose features all share one component, so that they are not independent given the class."""
    y = np.arange(n) % 2
    X = np.sqrt(1 - rho) * rng.normal(size=(n, d)) + np.sqrt(rho) * rng.normal(size=(n, 1))
    return X + 0.25 * np.outer(2 * y - 1, np.linspace(1, 0.2, d)), y
