"""The models whose files are mutated: every catalog entry, and preprocessing of every kind around one."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import margin
from margin import catalog

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "contracts"))
from problems import build, problem

__all__ = ["data_of", "names", "write"]

ROWS = 60  # a file is predicted for and fitted to so many


def frame() -> tuple[pd.DataFrame, np.ndarray]:
    """A table as users have them: numbers with gaps, categories, small integers."""
    rng = np.random.default_rng(0)
    n = ROWS
    size = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "rooms": rng.integers(1, 6, n).astype(float),
            "town": rng.choice(["north", "south", "west"], n).astype(object),
            "grade": rng.choice(["low", "mid", "high"], n).astype(object),
        }
    )
    return table, (size + (table["town"] == "north") > 0.3).to_numpy().astype(int)


def _prepared(model: Any) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

    columns = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["size"]),
            ("town", OneHotEncoder(drop="first", min_frequency=2), ["town"]),
            ("grade", make_pipeline(OrdinalEncoder(), MinMaxScaler()), ["grade"]),
            ("bins", KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ["rooms"]),
        ],
        remainder="passthrough",
    )
    return make_pipeline(columns, model)


def _targets_scaled(model: Any) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler())


# Beyond the catalog at its test parameters: what holds other models, categories or steps of scikit-learn.
MORE = {
    "pipeline": lambda: _prepared(margin.LogisticRegression()),
    "pipeline-of-trees": lambda: _prepared(margin.RandomForestClassifier(n_estimators=3, random_state=0)),
    "scaled-target": lambda: _prepared(_targets_scaled(margin.Ridge())),
    "tree-of-categories": lambda: margin.DecisionTreeClassifier(random_state=0),
    "boosting-of-categories": lambda: margin.HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1),
    "c45-of-categories": lambda: margin.C45(),
    "bagged-neighbors": lambda: margin.BaggingClassifier(margin.KNeighborsClassifier(), n_estimators=3, random_state=0),
    "boosted-trees": lambda: margin.AdaBoostRegressor(margin.DecisionTreeRegressor(max_depth=2), n_estimators=3),
}
ON_NUMBERS = {"bagged-neighbors", "boosted-trees"}


def names() -> list[str]:
    return [*(entry.name for entry in catalog.ENTRIES), *MORE]


def data_of(name: str) -> tuple[Any, Any]:
    """Rows and targets for a model of the corpus."""
    if name in ON_NUMBERS:
        name = "random-forest-classifier"
    elif name in MORE:
        return frame()
    X, y = problem(catalog.entry(name))
    return X[:ROWS], None if y is None else y[:ROWS]


def write(folder: Path, chosen: Iterable[str]) -> Iterator[str]:
    """Fit and save the chosen models; yields each name when its file is there."""
    for name in chosen:
        path = folder / f"{name}.safetensors"
        if not path.exists():
            X, y = data_of(name)
            model = MORE[name]() if name in MORE else build(catalog.entry(name))
            with warnings.catch_warnings(action="ignore"):
                model.fit(X) if y is None else model.fit(X, y)
            margin.save(model, path)
        yield name
