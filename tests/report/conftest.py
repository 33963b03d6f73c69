"""Small comparisons as the report sees them: real pipelines on made-up tables, with the attributes it reads."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from margin.bayes import GaussianNB
from margin.linear import LinearRegression, LogisticRegression, Ridge
from margin.metrics import evaluate, metric

SCALE = ColumnTransformer(
    [("numbers", StandardScaler(), ["age", "income"]), ("labels", OneHotEncoder(handle_unknown="ignore"), ["town"])]
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": rng.lognormal(10, 0.5, n).round(),
            "town": rng.choice(["north", "south", "west & east"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    strength = (frame["age"] - 50) / 15 + (frame["town"] == "north") + rng.normal(size=n)
    return frame, strength.to_numpy()


def make_comparison(task="classification", n_classes=2, *, n=150, held_out=True, seed=0):
    """A finished comparison of two models and the baseline; one model failed, one was left out."""
    X, strength = table(n, seed)
    if task == "classification":
        edges = np.quantile(strength, np.linspace(0, 1, n_classes + 1)[1:-1])
        y = np.array([f"class {k}" for k in range(n_classes)], dtype=object)[np.searchsorted(edges, strength)]
        models = {"gaussian-nb": GaussianNB(), "logistic-regression": LogisticRegression()}
        name, classes = "accuracy", tuple(sorted(set(y)))
    else:
        y, classes, name = 1000 * strength, (), "rmse"
        models = {"linear-regression": LinearRegression(), "ridge": Ridge(alpha=10.0)}
    rows = np.random.default_rng(seed).permutation(n)
    held, development = (np.sort(rows[: n // 5]), np.sort(rows[n // 5 :])) if held_out else (rows[:0], np.sort(rows))
    folds = [(np.setdiff1d(development, part), part) for part in np.array_split(development, 3)]
    return _Comparison(task, X, y, classes, metric(name), models, development, held, folds)


@pytest.fixture(scope="session")
def comparison():
    """The function that makes one."""
    return make_comparison


class _Comparison(SimpleNamespace):
    def __init__(self, task, X, y, classes, measure, models, development, held, folds):
        made = {name: make_pipeline(SCALE, model) for name, model in models.items()}
        fitted = {
            name: [clone(model).fit(X.iloc[train], y[train]) for train, _ in folds] for name, model in made.items()
        }
        scores = {
            name: [measure.measure(m, X.iloc[test], y[test]) for m, (_, test) in zip(fits, folds, strict=True)]
            for name, fits in fitted.items()
        }
        sign = -1 if measure.greater_is_better else 1
        order = sorted(scores, key=lambda name: sign * np.mean(scores[name]))
        winner = order[0]
        standings = [_standing(name, scores[name], measure, tied=True) for name in order]
        standings.append(
            _standing("baseline", [0.4, 0.5, 0.45] if not (sign > 0) else [1500.0, 1600.0, 1400.0], measure)
        )
        nan = [float("nan")] * 3
        standings.append(_standing("hard-margin-svc", nan, measure, status="failed", error="classes overlap <x>"))
        standings.append(_standing("gaussian-process", nan, measure, status="left out", error="too many rows"))
        judged = clone(made[winner]).fit(X.iloc[development], y[development]) if len(held) else None
        held_scores = evaluate(judged, X.iloc[held], y[held], task) if len(held) else {}
        sizes = np.array([20, 40, 80, 160])
        noise = np.random.default_rng(0).normal(size=(2, 4, 5)) * 0.01
        curve = SimpleNamespace(
            metric=measure.name,
            sizes=sizes,
            train=0.95 - 0.0003 * sizes[:, None] + noise[0],
            validation=0.6 + 0.05 * np.log(sizes)[:, None] + noise[1],
        )
        super().__init__(
            name="people.csv",
            task=task,
            target="sold",
            metric=measure,
            X=X,
            y=y,
            features=list(X.columns),
            classes=classes,
            plan=SimpleNamespace(
                kind="random", development=development, held_out=held, folds=folds, sentence="120 rows in 3 folds"
            ),
            standings=standings,
            winner=winner,
            best_=clone(made[winner]).fit(X, y),
            judged_=judged,
            held_out_score=held_scores.get(measure.name),
            held_out_scores=held_scores,
            fitted_on="all rows",
            of_which_rows="",
            held_out_chance=None if not len(held) else 0.513 if sign < 0 else 1512.0,
            cut_short="",
            too_good="",
            unused_order="",
            curve=curve,
            diagnosis="The winner overfits a little; more rows would help.",
            remarks=["Column id was left out: it numbers the rows.", "12 rows without a target were left out."],
            profile=None,
            seed=0,
            n_folds=3,
            budget=None,
            seconds=12.3,
            versions={"numpy": "2.4.6", "scikit-learn": "1.9.1"},
            command="margin compare people.csv --target sold --seed 0",
            call='margin.compare("people.csv", target="sold", seed=0)',
            status="finished",
            folder=Path("runs/compare-people"),
            _fitted=fitted,
        )

    def output(self, model, fold):
        fitted, rows = (
            (self.judged_, self.plan.held_out) if fold < 0 else (self._fitted[model][fold], self.plan.folds[fold][1])
        )
        return _output(fitted, self.X.iloc[rows])

    def out_of_fold(self, model):
        parts = [self.output(model, fold) for fold in range(len(self.plan.folds))]
        scores = None if parts[0].scores is None else np.concatenate([part.scores for part in parts])
        joined = SimpleNamespace(
            predicted=np.concatenate([part.predicted for part in parts]), scores=scores, kind=parts[0].kind
        )
        return np.concatenate([test for _, test in self.plan.folds]), joined


def _output(model, rows):
    proba = hasattr(model, "predict_proba")
    return SimpleNamespace(
        predicted=model.predict(rows),
        scores=model.predict_proba(rows) if proba else None,
        kind="probabilities" if proba else "",
    )


def _standing(model, scores, measure, *, tied=False, status="ranked", error=""):
    mean, spread = float(np.mean(scores)), float(np.std(scores))
    return SimpleNamespace(
        model=model, metric=measure.name, mean=mean, low=mean - 2 * spread, high=mean + 2 * spread, fit_seconds=0.0123,
        predict_seconds=0.0004, folds=3, scores=scores, p_value=0.5, tied=tied, status=status, error=error, settings={},
    )  # fmt: skip
