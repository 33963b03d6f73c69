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

__all__ = ["data_of", "names", "unfitted", "write"]

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


def raw_frame() -> tuple[pd.DataFrame, np.ndarray]:
    """A table as a file holds it: a currency, days, free text, a flag, an identifier."""
    table, y = frame()
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(ROWS) * 5, "D"))
    notes = [" ".join(np.roll(["old", "red", "big", "new", "car", "house"], i)[: 3 + i % 3]) for i in range(ROWS)]
    raw = {
        "id": [f"K{i:04d}" for i in range(ROWS)],
        "price": [f"${1000 * i:,.2f}" for i in range(ROWS)],
        "day": days.dt.strftime("%d.%m.%Y"),
        "note": notes,
        "sold": np.arange(ROWS) % 3 == 0,
    }
    return table.assign(**raw), y


def _on_raw_rows(model: Any, **steps: str) -> Any:
    from sklearn.pipeline import make_pipeline

    from margin.data import preprocessor

    return make_pipeline(preprocessor(raw_frame()[0], **steps), model)


def _targets_scaled(model: Any) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(model, transformer=StandardScaler())


# Beyond the catalog at its test parameters: what holds other models, categories or steps of scikit-learn.
MORE = {
    "pipeline": lambda: _prepared(margin.LogisticRegression()),
    "pipeline-of-trees": lambda: _prepared(margin.RandomForestClassifier(n_estimators=3, random_state=0)),
    "scaled-target": lambda: _prepared(_targets_scaled(margin.Ridge())),
    "pipeline-on-raw-rows": lambda: _on_raw_rows(margin.LogisticRegression()),
    "bins-of-raw-rows": lambda: _on_raw_rows(margin.GaussianNB(), numbers="bins", encode="ordinal"),
    "tree-of-categories": lambda: margin.DecisionTreeClassifier(random_state=0),
    "boosting-of-categories": lambda: margin.HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=1, random_state=0
    ),
    "c45-of-categories": lambda: margin.C45(),
    "bagged-neighbors": lambda: margin.BaggingClassifier(margin.KNeighborsClassifier(), n_estimators=3, random_state=0),
    "boosted-trees": lambda: margin.AdaBoostRegressor(
        margin.DecisionTreeRegressor(max_depth=2), n_estimators=3, random_state=0
    ),
}
ON_NUMBERS, ON_RAW_ROWS = {"bagged-neighbors", "boosted-trees"}, {"pipeline-on-raw-rows", "bins-of-raw-rows"}

# Catalog entries again with parameters that make them store something else: other layers, other learned arrays.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "detector-of-regions": ("object-detector", {"architecture": "faster-r-cnn"}),
    "detector-of-queries": ("object-detector", {"architecture": "detr"}),
    "u-net": ("segmenter", {"architecture": "unet"}),
    "mixture-vae": ("vae", {"latent": "mixture"}),
    "hierarchical-vae": ("vae", {"latent": "hierarchical"}),
    "spline-flow": ("normalizing-flow", {"layers": "spline-coupling"}),
    "continuous-flow": ("normalizing-flow", {"layers": "continuous"}),
    "attention-on-graphs": ("node-classifier", {"architecture": "gat"}),
    "messages-on-graphs": ("graph-classifier", {"architecture": "mpnn"}),
    "transformer-tagger": ("token-tagger", {"architecture": "transformer", "n_heads": 2}),
    "byte-pair-classifier": ("text-classifier", {"tokens": "bpe", "architecture": "rnn"}),
    "recurrent-translator": ("translator", {"architecture": "gru"}),
    "residual-network": ("cnn-classifier", {"architecture": ("conv 4 3", "residual 4", "pool 2")}),
    "adaptive-learner": ("few-shot-learner", {"method": "maml"}),
    "several-targets": ("random-forest-regressor", {}),
}


def names() -> list[str]:
    return [*(entry.name for entry in catalog.ENTRIES), *MORE, *VARIANTS]


def data_of(name: str) -> tuple[Any, Any]:
    """Rows and targets for a model of the corpus."""
    if name in ON_NUMBERS:
        name = "random-forest-classifier"
    elif name in MORE:
        return raw_frame() if name in ON_RAW_ROWS else frame()
    entry = catalog.entry(VARIANTS[name][0] if name in VARIANTS else name)
    X, y = problem(entry)
    if entry.data == "graph":  # one graph is no list of rows
        return X, y
    y = np.column_stack([y, y**2]) if name == "several-targets" else y
    return X[:ROWS], None if y is None else y[:ROWS]


def unfitted(name: str) -> Any:
    """The model of this name before it has seen anything."""
    if name in MORE:
        return MORE[name]()
    entry, settings = VARIANTS.get(name, (name, {}))
    return build(catalog.entry(entry), **settings)


def write(folder: Path, chosen: Iterable[str]) -> Iterator[str]:
    """Fit and save the chosen models; yields each name when its file is there."""
    for name in chosen:
        path = folder / f"{name}.safetensors"
        if not path.exists():
            X, y = data_of(name)
            model = unfitted(name)
            with warnings.catch_warnings(action="ignore"):
                model.fit(X) if y is None else model.fit(X, y)
            margin.save(model, path)
        yield name
