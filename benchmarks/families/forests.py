"""Single trees and forests against scikit-learn, its Intel extension (oneDAL), LightGBM's and XGBoost's forests.

20 trees, the square root of the columns per split (a third for regression), 5 rows per leaf, bootstrap samples. The
boosting libraries draw 0.632 of the rows without replacement, which is what a bootstrap sample holds of them, limit
the leaves, and XGBoost counts hessian in place of rows; with as many leaves as a forest has they take minutes on the
large tables, so they run on the real ones. Categories are native to ours and to LightGBM and XGBoost; scikit-learn
gets their numbers. The terrain and the clusters are synthetic.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data.tables import Data, covertype_like, friedman, generated, has_real, real
from benchmarks.measuring.harness import Case
from benchmarks.measuring.race import Contender, Table, fitting, predicting, threads
from margin.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = ["cases"]

TREES, ROWS_PER_LEAF, MAX_LEAVES, DISTINCT = 20, 5, 8192, 0.632
FIT = partial(fitting, "forests")
REAL = (("adult", "32561 x 14"), ("california-housing", "16512 x 9"), ("titanic", "713 x 7"))


def cases(quick: bool) -> list[Case]:
    small = 20 if quick else 1
    n = 80_000 // small
    terrain, size = partial(covertype_like, n), f"{n} x 54"
    listed = [
        FIT("decision tree, covertype-like", size, terrain, SINGLE, on=1),
        *(
            FIT("forest, covertype-like", size, terrain, FORESTS, on=on, rounds=1, memory=on == 1 and not quick)
            for on in (1, 2)
        ),
        predicting("forest, predict covertype-like", "20000 x 54", terrain, FORESTS, on=1),
        *(FIT("extra trees, covertype-like", size, terrain, EXTRA, on=on) for on in (1, 2)),
    ]
    for name, rows in REAL if has_real() else ():
        table = Table(partial(real, name), "regression" if name.startswith("california") else "classification")
        listed += [FIT(f"forest, {name}", rows, table, ALL_FORESTS, on=1, memory=name == "adult" and not quick)]
        listed += [predicting(f"forest, predict {name}", rows, table, ALL_FORESTS, on=1)]
    clusters = partial(generated, 50_000 // small, 50)
    numbers = Table(partial(friedman, 50_000 // small, 20), "regression")
    listed += [
        *(FIT("forest, clusters", f"{50_000 // small} x 50", clusters, FORESTS, on=on, rounds=1) for on in (1, 2)),
        FIT("extra trees, clusters", f"{50_000 // small} x 50", clusters, EXTRA, on=1),
        predicting("forest, predict clusters", "20000 x 50", clusters, FORESTS),
        FIT("regression tree", f"{50_000 // small} x 20", numbers, SINGLE, on=1),
        FIT("regression forest", f"{50_000 // small} x 20", numbers, FORESTS, on=1),
    ]
    for rows, columns, along in ((1_000, 20, "n"), (10_000, 20, "n"), (100_000, 20, "n"), (20_000, 10, "p"),
                                 (20_000, 40, "p"), (20_000, 160, "p")):  # fmt: skip
        rows = max(rows // small, 500)
        table = partial(generated, rows, columns)
        listed.append(FIT(f"forest, growth with {along}", f"{rows} x {columns}", table, GROWING, on=1))
    return listed


def _model(module: str, classifier: str, regressor: str, **settings: Any) -> Any:
    """How to make one of two classes of a module for a table."""

    def make(d: Data) -> Any:
        name = classifier if d["task"] == "classification" else regressor
        return getattr(importlib.import_module(module), name)(random_state=0, **settings)

    return make


def _forest_model(module: str, kind: str) -> Any:
    def make(d: Data) -> Any:
        classify = d["task"] == "classification"
        settings: dict[str, Any] = {"max_features": "sqrt" if classify else 1 / 3, "min_samples_leaf": ROWS_PER_LEAF}
        name = f"{kind}{'Classifier' if classify else 'Regressor'}"
        return getattr(importlib.import_module(module), name)(TREES, n_jobs=threads(), random_state=0, **settings)

    return make


def _ours(classifier: Any, regressor: Any) -> Any:
    def make(d: Data) -> Any:
        classify = d["task"] == "classification"
        model = classifier if classify else regressor
        features = "sqrt" if classify else 1 / 3
        return model(
            TREES,
            max_features=features,
            min_samples_leaf=ROWS_PER_LEAF,
            categorical_features=d["categorical"],
            n_jobs=threads(),
            random_state=0,
        )

    return make


def _lightgbm(d: Data) -> Any:
    import lightgbm

    classify = d["task"] == "classification"
    return (lightgbm.LGBMClassifier if classify else lightgbm.LGBMRegressor)(
        boosting_type="rf",
        n_estimators=TREES,
        num_leaves=MAX_LEAVES,
        min_child_samples=ROWS_PER_LEAF,
        min_child_weight=0.0,
        bagging_freq=1,
        bagging_fraction=DISTINCT,
        feature_fraction_bynode=_fraction(d, classify),
        categorical_feature=[j for j, named in enumerate(d["categorical"]) if named],
        n_jobs=threads(),
        random_state=0,
        verbose=-1,
    )


def _xgboost(d: Data) -> Any:
    import xgboost

    classify = d["task"] == "classification"
    kinds = ["c" if named else "q" for named in d["categorical"]]
    return (xgboost.XGBRFClassifier if classify else xgboost.XGBRFRegressor)(
        n_estimators=TREES,
        max_leaves=MAX_LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        subsample=DISTINCT,
        colsample_bynode=_fraction(d, classify),
        reg_lambda=0.0,
        min_child_weight=0.5 if classify else ROWS_PER_LEAF,
        n_jobs=threads(),
        random_state=0,
        **({"feature_types": kinds, "enable_categorical": True} if "c" in kinds else {}),
    )


def _fraction(d: Data, classify: bool) -> float:
    """The fraction of the columns that a split looks at."""
    return float(1 / np.sqrt(d["X"].shape[1])) if classify else 1 / 3


SINGLE = (
    Contender(
        "margin",
        "margin",
        lambda d: (DecisionTreeClassifier if d["task"] == "classification" else DecisionTreeRegressor)(
            min_samples_leaf=ROWS_PER_LEAF, random_state=0
        ),
    ),
    Contender(
        "scikit-learn",
        "sklearn",
        _model("sklearn.tree", "DecisionTreeClassifier", "DecisionTreeRegressor", min_samples_leaf=ROWS_PER_LEAF),
    ),
)
OURS = Contender("margin", "margin", _ours(RandomForestClassifier, RandomForestRegressor))
SCIKIT = Contender("scikit-learn", "sklearn", _forest_model("sklearn.ensemble", "RandomForest"))
INTEL = Contender("scikit-learn-intelex", "sklearnex", _forest_model("sklearnex.ensemble", "RandomForest"))
LIGHTGBM = Contender("LightGBM rf", "lightgbm", _lightgbm)
XGBOOST = Contender("XGBoost rf", "xgboost", _xgboost)
FORESTS = (OURS, SCIKIT, INTEL)
ALL_FORESTS = (*FORESTS, LIGHTGBM, XGBOOST)
GROWING = (OURS, SCIKIT)
EXTRA = (
    Contender("margin", "margin", _ours(ExtraTreesClassifier, ExtraTreesRegressor)),
    Contender("scikit-learn", "sklearn", _forest_model("sklearn.ensemble", "ExtraTrees")),
    Contender("scikit-learn-intelex", "sklearnex", _forest_model("sklearnex.ensemble", "ExtraTrees")),
)
