"""Gradient boosting against LightGBM, XGBoost and scikit-learn at matched settings, and how its cost grows.

31 leaves, learning rate 0.1, 255 bins, 20 rows per leaf (XGBoost counts hessian in place of rows, which is the same for
squared error only), no subsampling, no early stopping; 100 rounds, 10 for the seven classes of the terrain and 50 for
the growth of cost. The terrain and the clusters are synthetic; ``adult`` (categories native to all, missing values),
``california-housing`` and ``titanic`` are real and take part where ``MARGIN_DATA`` says where they are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.data.tables import Data, covertype_like, friedman, generated, has_real, real
from benchmarks.measuring.harness import Case
from benchmarks.measuring.race import Contender, Table, fitting, predicting, threads
from margin.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor

__all__ = ["cases"]

LEAVES, RATE, ROWS_PER_LEAF = 31, 0.1, 20
FIT, PREDICT = partial(fitting, "boosting"), predicting
REAL = (("adult", "32561 x 14"), ("california-housing", "16512 x 9"), ("titanic", "713 x 7"))


def cases(quick: bool) -> list[Case]:
    small, terrain_rounds = (20, 5) if quick else (1, 10)
    everyone, many, few = contenders(100), contenders(terrain_rounds), contenders(50)
    n = 80_000 // small
    terrain = partial(covertype_like, n)
    listed = [
        FIT("boosting, covertype-like", f"{n} x 54", terrain, many, on=1, rounds=1, memory=not quick),
        FIT("boosting, covertype-like", f"{n} x 54", terrain, many, on=2, rounds=1),
        PREDICT("boosting, predict covertype-like", "20000 x 54", terrain, many, on=1),
    ]
    for name, size in REAL if has_real() else ():
        table = Table(partial(real, name), "regression" if name.startswith("california") else "classification")
        listed += [
            FIT(f"boosting, {name}", size, table, everyone, on=on, memory=on == 1 and name == "adult" and not quick)
            for on in (1, 2)
        ]
        listed.append(PREDICT(f"boosting, predict {name}", size, table, everyone, on=1))
    clusters = partial(generated, 50_000 // small, 50)
    listed += [
        FIT("boosting, clusters", f"{50_000 // small} x 50", clusters, everyone, on=on, rounds=1, first_call=on == 2)
        for on in (1, 2)
    ]
    listed += [
        PREDICT("boosting, predict clusters", "20000 x 50", clusters, everyone),
        FIT("boosting, 5 classes", f"{20_000 // small} x 20", partial(generated, 20_000 // small, 20, 5), few),
        FIT(
            "boosting, regression",
            f"{100_000 // small} x 20",
            Table(partial(friedman, 100_000 // small, 20), "regression"),
            few,
        ),
    ]
    for rows, columns, along in ((1_000, 20, "n"), (10_000, 20, "n"), (100_000, 20, "n"), (20_000, 10, "p"),
                                 (20_000, 40, "p"), (20_000, 160, "p")):  # fmt: skip
        rows = max(rows // small, 500)
        listed.append(
            FIT(f"boosting, growth with {along}", f"{rows} x {columns}", partial(generated, rows, columns), few, on=1)
        )
    return listed


def contenders(rounds: int) -> tuple[Contender, ...]:
    return (
        Contender("margin", "margin", partial(_ours, rounds)),
        Contender("LightGBM", "lightgbm", partial(_lightgbm, rounds)),
        Contender("LightGBM quantized", "lightgbm", partial(_lightgbm, rounds, use_quantized_grad=True)),
        Contender("XGBoost", "xgboost", partial(_xgboost, rounds)),
        Contender("scikit-learn HistGB", "sklearn", partial(_histogram, rounds)),
    )


def _ours(rounds: int, d: Data) -> Any:
    model = HistGradientBoostingClassifier if d["task"] == "classification" else HistGradientBoostingRegressor
    return model(
        max_iter=rounds,
        early_stopping=False,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=ROWS_PER_LEAF,
        categorical_features=d["categorical"],
        random_state=0,
    )


def _lightgbm(rounds: int, d: Data, **options: Any) -> Any:
    import lightgbm

    model = lightgbm.LGBMClassifier if d["task"] == "classification" else lightgbm.LGBMRegressor
    columns = [j for j, named in enumerate(d["categorical"]) if named]
    made = model(
        n_estimators=rounds,
        num_leaves=LEAVES,
        learning_rate=RATE,
        min_child_samples=ROWS_PER_LEAF,
        n_jobs=threads(),
        verbose=-1,
        **options,
    )
    return _WithWords(made, {"categorical_feature": columns} if columns else {})


def _xgboost(rounds: int, d: Data) -> Any:
    import xgboost

    classify = d["task"] == "classification"
    model = xgboost.XGBClassifier if classify else xgboost.XGBRegressor
    kinds = ["c" if named else "q" for named in d["categorical"]]
    return model(
        n_estimators=rounds,
        max_leaves=LEAVES,
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        learning_rate=RATE,
        min_child_weight=1.0 if classify else ROWS_PER_LEAF,
        n_jobs=threads(),
        **({"feature_types": kinds, "enable_categorical": True} if "c" in kinds else {}),
    )


def _histogram(rounds: int, d: Data) -> Any:
    from sklearn import ensemble

    classify = d["task"] == "classification"
    model = ensemble.HistGradientBoostingClassifier if classify else ensemble.HistGradientBoostingRegressor
    return model(
        max_iter=rounds,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=ROWS_PER_LEAF,
        early_stopping=False,
        categorical_features=d["categorical"] if any(d["categorical"]) else None,
    )


class _WithWords:
    """A model whose fit takes a few words more."""

    def __init__(self, model: Any, words: dict[str, Any]):
        self.model, self.words = model, words

    def fit(self, X: Any, y: Any) -> Any:
        return self.model.fit(X, y, **self.words)
