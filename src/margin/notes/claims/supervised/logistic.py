"""Claims about logistic regression: what it models, when it exists, and what its scores mean."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
from scipy.special import expit, logit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises, within
from margin.data import Dataset, Table, frame, load, preprocessor, random_split
from margin.foundations.probability import Bernoulli
from margin.kernels import SVC
from margin.linear import LogisticRegression
from margin.linear.logistic_loss import LabeledRows, Likelihood
from margin.linear.separation import separating_direction
from margin.metrics import accuracy, log_loss, precision, recall
from margin.notes.claims import claim
from margin.notes.claims.chance import ERRORS, rate
from margin.notes.claims.supervised.stand_ins import heart_attack, titanic
from margin.optimize import minimize
from margin.trees import DecisionTreeClassifier, RandomForestClassifier


def _label(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, theta = rng.normal(size=(n, 2)), np.array([1.5, -1.0])
    return X, (rng.random(n) < expit(0.4 + X @ theta)).astype(int), np.array([0.4, 1.5, -1.0])


def _directions_that_part_the_classes(X: np.ndarray, y: np.ndarray) -> dict[str, Verdict]:
    """A direction is found exactly where there is one; along it the likelihood of three classes rises for ever."""
    scaled = X * [1.0, 50.0]  # columns of unlike size
    slope, offset = np.array([[0.0, 2.0, -1.0], [0.0, -0.03, 0.05]]), np.array([0.0, -0.5, -0.2])
    three = np.argmax(scaled @ slope + offset, axis=1)
    direction = separating_direction(scaled, three, 3)
    assert direction is not None
    scores = np.column_stack([np.zeros(len(y)), scaled @ direction[:-1] + direction[-1]])
    losses = [
        float(np.mean(logsumexp(t * scores, axis=1) - t * scores[np.arange(len(y)), three])) for t in (1, 10, 100)
    ]
    through_zero = separating_direction(X, (X[:, 0] > 0).astype(int), intercept=False)
    shifted = separating_direction(X, (X[:, 0] > 1.0).astype(int), intercept=False)
    assert through_zero is not None
    # A row amid those of its class: one at the edge could change sides, and planes would still part the classes.
    gaps = np.linalg.norm(X - X[three == 0].mean(axis=0), axis=1)
    inner = int(np.where(three == 0, gaps, np.inf).argmin())
    return {
        "no_direction_here": equal(separating_direction(X, y), None),
        "nor_through_the_origin": equal(shifted, None),
        "through_the_origin": above(float(np.min((2 * (X[:, 0] > 0) - 1) * (X @ through_zero[:-1, 0]))), -1e-9),
        "margins": above(float(np.min(scores[np.arange(len(y)), three] - scores.max(axis=1))), -1e-7),
        "likelihood_rises_along_it": below(losses[2] / losses[0], 0.1),
        "one_exception_and_none_parts": equal(
            separating_direction(scaled, np.where(np.arange(len(y)) == inner, 1, three), 3), None
        ),
    }


@claim("logistic-regression")
def the_likelihood_is_maximized_where_it_has_a_maximum(seed: int) -> Verdict:
    X, y, _ = _label(seed)
    model = LogisticRegression(penalty=None, tol=1e-10).fit(X, y)
    theta = np.append(model.coef_[0], model.intercept_)
    likelihood = Likelihood(LabeledRows(X, y, None), 1, 0.0, True)
    loss = lambda t: likelihood.value_and_gradient(t[:, None])[0]  # noqa: E731
    slope = lambda t: likelihood.value_and_gradient(t[:, None])[1][:, 0]  # noqa: E731
    descended = minimize(loss, np.zeros(3), method="gradient_descent", grad=slope, learning_rate=1.0, max_iter=3000)
    design = np.column_stack([X, np.ones(len(y))])
    p = model.predict_proba(X)[:, 1]
    halves = np.mean(model.predict(X, threshold=0.5) == (p >= 0.5).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        parted = LogisticRegression(penalty=None).fit(X, (X[:, 0] > 0).astype(int))
    start = theta + 0.5
    # A step down and one up the log-likelihood, which is minus the loss.
    down, up = (loss(start + sign * 0.1 * slope(start)) for sign in (1.0, -1.0))
    return corrected(
        every(
            newton_equals_descent=near(descended.x, theta, tolerance=1e-4),
            gradient=near(slope(theta + 0.1), design.T @ (expit(design @ (theta + 0.1)) - y) / len(y), tolerance=1e-12),
            open_interval=within(float(p.min()), 1e-12, 0.5),
            ascent_raises_it=below(up, loss(start)),
            threshold=equal(float(halves), 1.0),
            separable_is_reported=equal(parted.separable_, True),
            bounded=below(float(np.abs(parted.coef_).max()), 1e3),
            **_directions_that_part_the_classes(X, y),
        ),
        printed=below(down, loss(start)),  # a step of descent on the log-likelihood should raise it
    )


@claim("claim-logistic-target-is-bernoulli")
def cross_entropy_is_the_bernoulli_likelihood(seed: int) -> Verdict:
    X, y, _ = _label(seed)
    proba = LogisticRegression(penalty=None).fit(X, y).predict_proba(X)
    by_law = -np.mean([float(Bernoulli(p).log_prob(label)) for p, label in zip(proba[:, 1], y)])
    return near(log_loss(y, proba), by_law, tolerance=1e-12)


@claim("log-odds")
def the_log_odds_are_linear_with_a_plus_sign(seed: int) -> Verdict:
    X, y, truth = _label(seed, 4000)
    model = LogisticRegression(penalty=None, tol=1e-10).fit(X, y)
    table = model.summary(X, y).table
    p = model.predict_proba(X)[:, 1]
    t = np.linspace(-15, 15, 101)
    linear = X @ model.coef_[0] + model.intercept_[0]
    # Labels at one place, where the score is -0.6: their odds are counted, and the printed sign is held against them.
    score = -0.6
    counted = np.mean(np.random.default_rng([seed, 1]).random(100_000) < expit(score))
    return corrected(
        every(
            inverse=near(logit(expit(t)), t, tolerance=1e-8),
            log_odds=near(model.decision_function(X), linear, tolerance=1e-10),
            odds=near(np.log(model.odds(X)), linear, tolerance=1e-10),
            of_the_probability=near(np.log(p / (1 - p)), linear, tolerance=1e-9),
            finds_the_truth=below(float(np.max(np.abs(table.estimate - truth) / table.standard_error)), ERRORS),
            counted=near(np.log(counted / (1 - counted)), score, tolerance=0.05),
        ),
        printed=near(np.exp(-score), counted / (1 - counted), tolerance=0.5),
    )


@claim("claim-threshold-half-is-sign-rule")
def one_half_is_the_sign(seed: int) -> Verdict:
    f = np.random.default_rng(seed).normal(scale=10, size=100_000)
    X, y, _ = _label(seed)
    model = LogisticRegression().fit(X, y)
    by_sign = model.classes_[(model.decision_function(X) > 0).astype(int)]
    return every(
        everywhere=equal(int(np.sum((expit(f) > 0.5) != (f > 0))), 0),
        model=equal(model.predict(X), by_sign),
        by_threshold=equal(model.predict(X, threshold=0.5), by_sign),
    )


@claim("practice-when-logistic")
def it_explains_itself_and_competes(seed: int) -> Verdict:
    X, y = load("breast-cancer").arrays()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    train, test = random_split(len(X), test_size=0.3, seed=seed)
    few = X[:, [0, 1, 4, 7]]
    model = LogisticRegression(penalty=None, tol=1e-9).fit(few[train], y[train])
    summary = model.summary(few[train], y[train])
    scores = [
        accuracy(y[test], m.fit(X[train], y[train]).predict(X[test]))
        for m in (LogisticRegression(), SVC(), RandomForestClassifier(n_estimators=30, random_state=seed))
    ]
    return every(
        table=equal([name in str(summary) for name in ("estimate", "std. error", "z", "p", "odds ratio")], [True] * 5),
        significant=below(float(summary.table.p_value[2]), 1e-3),
        explains=above(summary.pseudo_r2, 0.7),
        competes=above(scores[0], max(scores[1:]) - 0.03),
    )


def _read_from_a_folder(table: Table, survived: np.ndarray) -> Dataset:
    """The table as a file of the layout that ``load("titanic")`` documents, and what ``load`` makes of it."""
    with TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"MARGIN_DATA": folder}):
        Path(folder, "tables").mkdir()
        passengers = frame(table).assign(Survived=survived, PassengerId=np.arange(len(survived)) + 1)
        passengers.to_csv(Path(folder, "tables", "titanic.csv"), index=False)
        return load("titanic")


@claim("dataset-titanic")
def survival_from_a_table_with_gaps(seed: int) -> Verdict:
    drawn, survival = titanic(3000, seed=seed)
    passengers = _read_from_a_folder(drawn, survival)
    table, survived = passengers.X, np.asarray(passengers.y)
    assert isinstance(table, Table)
    train, test = random_split(3000, test_size=0.3, seed=seed)
    features = frame(table)
    models = (LogisticRegression(), DecisionTreeClassifier(max_depth=4), RandomForestClassifier(30, random_state=seed))
    verdicts = {}
    for model in models:
        pipeline = make_pipeline(preprocessor(table), model).fit(features.iloc[train], survived[train])
        predicted = pipeline.predict(features.iloc[test])
        scores = [measure(survived[test], predicted) for measure in (accuracy, precision, recall)]
        verdicts[type(model).__name__] = above(min(scores), 0.55)
    with mock.patch.dict(os.environ, {"MARGIN_DATA": ""}):
        refused = raises(FileNotFoundError, lambda: load("titanic"), match="MARGIN_DATA is not set")
    return every(
        gaps=rate(float(table.missing()["age"]) / 3000, 0.2, 3000),
        labels=equal((survived.tolist(), passengers.target_names), (survival.tolist(), ("died", "survived"))),
        columns=equal(table.names, drawn.names),  # the number of a passenger is left out
        kinds=equal(table.kinds, drawn.kinds),
        ages=near(np.nan_to_num(table["age"]), np.nan_to_num(drawn["age"]), tolerance=1e-9),
        without_the_file=refused,
        **verdicts,
    )


@claim("dataset-heart-attack-risk")
def the_threshold_decides_between_precision_and_recall(seed: int) -> Verdict:
    all_X, all_risks = heart_attack(16_000, seed=seed)  # few are at risk, and still fewer above a high threshold
    X, at_risk, new, new_risk = all_X[:8000], all_risks[:8000], all_X[8000:], all_risks[8000:]
    model = LogisticRegression().fit(X, at_risk)
    careful = model.choose_threshold(X, at_risk, recall=0.9)
    strict = model.choose_threshold(X, at_risk, precision=0.6)
    predicted = {name: model.predict(new, threshold=t) for name, t in (("careful", careful), ("strict", strict))}
    on_training = model.predict(X, threshold=careful)
    return every(
        reached=above(recall(at_risk, on_training), 0.8999),
        order=below(careful, strict),
        recall_falls=below(recall(new_risk, predicted["strict"]), recall(new_risk, predicted["careful"])),
        precision_rises=above(precision(new_risk, predicted["strict"]), precision(new_risk, predicted["careful"])),
    )
