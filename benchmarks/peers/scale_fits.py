"""What the study of tables larger than memory fits: ours on a stream, ours in memory, and what others offer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FITS", "NAMES", "PREPARED", "TASKS", "WAYS", "features", "quality", "table_files", "write_table"]

FILES, GROUP_ROWS, BATCH_ROWS = 8, 100_000, 65_536
PREPARED = "median, scale, ridge"
TASKS = {
    "least squares": "price",
    "naive Bayes": "label",
    "principal components": None,
    PREPARED: "price",
    "logistic regression": "label",
    "k-means": None,
    "boosting": "label",
    "forest": "label",
    "network": "label",
}
WAYS = ("stream", "memory", "others")
NAMES = {
    "stream": "ours on a stream",
    "memory": "ours in memory",
    "others": "scikit-learn's partial_fit, or XGBoost's external memory",
}
CLUSTERS, ROUNDS, LEAVES, TREES, DEPTH, UNITS, EPOCHS = 8, 30, 31, 10, 12, 32, 2


def features(columns: int) -> list[str]:
    return [f"x{j}" for j in range(columns)]


def write_table(folder: Path, rows: int, columns: int, seed: int) -> None:
    """Files of a table in which a price and three labels depend on correlated columns."""
    import pandas as pd

    folder.mkdir(parents=True)
    mix = np.random.default_rng(0).normal(size=(columns, columns)) / columns**0.5
    for i in range(FILES):
        rng = np.random.default_rng([seed, i])
        n = rows // FILES
        label = rng.integers(3, size=n)
        X = rng.normal(size=(n, columns)) @ mix + 0.5 * label[:, None] * mix[0] + 3.0
        frame = pd.DataFrame(X, columns=features(columns))
        frame["price"], frame["label"] = X @ mix[1] + rng.normal(size=n), label
        frame.to_parquet(folder / f"{i}.parquet", row_group_size=GROUP_ROWS)


def table_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def columns_of(folder: Path) -> list[str]:
    from pyarrow import parquet

    return [name for name in parquet.read_schema(table_files(folder)[0]).names if name.startswith("x")]


def ours(task: str) -> Any:
    import margin

    return {
        "least squares": margin.LinearRegression,
        "naive Bayes": margin.GaussianNB,
        "principal components": lambda: margin.PCA(10, svd_solver="covariance_eigh"),
        PREPARED: margin.Ridge,
        "logistic regression": margin.LogisticRegression,
        "k-means": lambda: margin.KMeans(CLUSTERS, n_init=1, max_iter=20, random_state=0),
        "boosting": lambda: margin.HistGradientBoostingClassifier(
            max_iter=ROUNDS, max_leaf_nodes=LEAVES, early_stopping=False, random_state=0
        ),
        "forest": lambda: margin.RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0),
        "network": lambda: margin.MLPClassifier((UNITS,), max_iter=EPOCHS, batch_size=1024, random_state=0),
    }[task]()


def fit_stream(task: str, folder: Path) -> Any:
    import margin

    rows = margin.stream(folder, TASKS[task], columns=columns_of(folder))
    if task != PREPARED:
        return ours(task).fit(rows)
    from sklearn.pipeline import Pipeline

    from margin.data import preprocessor
    from margin.data.streams import fit_preparation

    prepare = fit_preparation(preprocessor(rows.head(1_000).X), rows)
    return Pipeline([("prepare", prepare), ("model", ours(task).fit(rows.map(prepare.transform)))])


def fit_memory(task: str, folder: Path) -> Any:
    import pandas as pd
    from sklearn.pipeline import Pipeline

    from margin.data import preprocessor

    target = TASKS[task]
    table = pd.read_parquet(folder, columns=columns_of(folder) + ([target] if target else []))
    y = table.pop(target) if target else None
    if task != PREPARED:
        return ours(task).fit(table, y)
    return Pipeline([("prepare", preprocessor(table[:1_000])), ("model", ours(task))]).fit(table, y)


def fit_others(task: str, folder: Path) -> Any:
    """The estimator of scikit-learn that learns from batches (a pass over the rows, networks as many as ours), and for
    boosting XGBoost with its external memory."""
    if task == "boosting":
        return _external_xgboost(folder)
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import IncrementalPCA
    from sklearn.linear_model import SGDClassifier, SGDRegressor
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    model = {
        "least squares": lambda: SGDRegressor(random_state=0),
        "naive Bayes": GaussianNB,
        "principal components": lambda: IncrementalPCA(10),
        "logistic regression": lambda: SGDClassifier(loss="log_loss", random_state=0),
        "k-means": lambda: MiniBatchKMeans(CLUSTERS, n_init=1, random_state=0),
        "network": lambda: MLPClassifier((UNITS,), batch_size=1024, random_state=0),
    }[task]()
    target = TASKS[task]
    options = {"classes": [0, 1, 2]} if target == "label" else {}
    for _ in range(EPOCHS if task == "network" else 1):
        for X, y in batches(folder, target):
            model.partial_fit(X, *(() if target is None else (y,)), **options)
    return model


def batches(folder: Path, target: str | None) -> Iterator[tuple[np.ndarray, Any]]:
    from pyarrow import parquet

    names = columns_of(folder)
    for path in table_files(folder):
        with parquet.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=names + ([target] if target else []), use_threads=False):
                frame = batch.to_pandas()
                yield frame[names].to_numpy(), frame[target].to_numpy() if target else None


XGBOOST = {
    "objective": "multi:softprob", "num_class": 3, "tree_method": "hist", "max_leaves": LEAVES, "max_depth": 0,
    "grow_policy": "lossguide", "eta": 0.1, "nthread": 1, "verbosity": 0,
}  # fmt: skip


def _external_xgboost(folder: Path) -> Any:
    import xgboost

    class Blocks(xgboost.DataIter):  # type: ignore[misc]
        def __init__(self, cache: str):
            self.rows = batches(folder, "label")
            super().__init__(cache_prefix=cache, on_host=False)

        def next(self, input_data: Callable[..., Any]) -> bool:
            found = next(self.rows, None)
            if found is not None:
                input_data(data=found[0], label=found[1])
            return found is not None

        def reset(self) -> None:
            self.rows = batches(folder, "label")

    with tempfile.TemporaryDirectory(prefix="margin-xgboost-") as place:
        data = xgboost.ExtMemQuantileDMatrix(Blocks(f"{place}/cache"), nthread=1)
        return xgboost.train(XGBOOST, data, num_boost_round=ROUNDS)


FITS: dict[str, Callable[[str, Path], Any]] = {"stream": fit_stream, "memory": fit_memory, "others": fit_others}
UNMATCHED = {PREPARED: "no imputer of scikit-learn learns from batches", "forest": "no forest does"}


def quality(task: str, model: Any, folder: Path) -> float:
    """R2, accuracy, or the fraction of the variance that is explained, on rows that no fit saw."""
    import pandas as pd

    table, names = pd.read_parquet(folder), columns_of(folder)
    X = table[names] if hasattr(model, "feature_names_in_") else table[names].to_numpy()
    if task == "principal components":
        centered = np.asarray(X) - model.mean_
        return float(np.square(centered @ model.components_.T).sum() / np.square(centered).sum())
    if task == "k-means":
        rows = np.asarray(X)
        nearest = np.asarray(model.cluster_centers_)[model.predict(X)]
        return 1 - float(np.square(rows - nearest).sum() / np.square(rows - rows.mean(axis=0)).sum())
    if type(model).__name__ == "Booster":
        import xgboost

        return float((model.predict(xgboost.DMatrix(np.asarray(X))).argmax(axis=1) == table["label"]).mean())
    return float(model.score(X, table[TASKS[task]]))
