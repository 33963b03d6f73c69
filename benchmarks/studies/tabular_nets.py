"""Networks for tables on tables that had no part in their settings: ``python -m benchmarks.studies.tabular_nets``.

``TabularNetClassifier`` and ``TabularNetRegressor`` against pytabkit's RealMLP-TD-S and scikit-learn's perceptron, and
our perceptron against scikit-learn's, all at their defaults, on the same rows. Settings of the tabular networks were
chosen on german-credit, pima, wine-quality-red, abalone, breast-cancer and friedman; none of these is here. Every
table and split is one stored row, so a study that was ended goes on. Needs ``MARGIN_DATA`` and pytabkit.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.study import Row, Study, run
from benchmarks.studies.quality import difference, judged, table

TABLES = (
    "sonar", "horse-colic", "diabetes", "titanic", "banknote", "digits", "mammography", "wine-quality-white",
    "california-housing", "adult",
)  # fmt: skip
OURS, REAL_MLP, OUR_MLP, SCIKIT_LEARN = "TabularNet", "RealMLP-TD-S", "MLP (ours)", "MLP (scikit-learn)"
PAIRS = ((OURS, REAL_MLP), (OURS, SCIKIT_LEARN), (OUR_MLP, SCIKIT_LEARN))


def model(who: str, task: str, seed: int) -> Any:
    kind = "Classifier" if task == "classification" else "Regressor"
    home, name = {
        OURS: ("margin.neural", f"TabularNet{kind}"),
        REAL_MLP: ("pytabkit", f"RealMLP_TD_S_{kind}"),
        OUR_MLP: ("margin.neural", f"MLP{kind}"),
        SCIKIT_LEARN: ("sklearn.neural_network", f"MLP{kind}"),
    }[who]
    options = {"n_threads": 1} if who == REAL_MLP else {}
    return getattr(importlib.import_module(home), name)(random_state=seed, **options)


@cache
def opened(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    return table(name)


def measure(table: str, seed: int) -> Row:
    """Loss and seconds of every contender on one split; who begins changes with the seed."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y, task = opened(table)
    labels = y if task == "classification" else None
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=seed, stratify=labels)
    scaler = StandardScaler().fit(X[train])
    data = scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    order = (OURS, REAL_MLP, OUR_MLP, SCIKIT_LEARN)
    order = order if seed % 2 else order[::-1]
    return {"rows": len(y), "task": task, **{who: judged(model(who, task, seed), data, task) for who in order}}


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for ours, theirs in PAIRS:
        results = {}
        for name in TABLES:
            pairs = [{"ours": row[ours], "theirs": row[theirs]} for row in rows if row["table"] == name]
            if pairs:
                results[name] = difference(pairs)
        if not results:
            continue
        texts = [
            f"{name} {r['ours']:.3f}/{r['theirs']:.3f}{' WORSE' if r['worse'] else ''} ({r['time_ratio']:.1f}x)"
            for name, r in results.items()
        ]
        wins = sum(r["difference"] < 0 for r in results.values())
        worse = sum(r["worse"] for r in results.values())
        speed = float(np.exp(np.mean([np.log(r["time_ratio"]) for r in results.values()])))
        summary = (
            f"{wins} of {len(results)} tables better, {worse} worse beyond the interval, {speed:.1f} times as fast "
            f"(geometric mean): {', '.join(texts)}"
        )
        goal = f"mean loss not above that of {theirs} on most of ten tables, none worse beyond its interval"
        reached = len(results) == len(TABLES) and worse == 0 and 2 * wins >= len(results)
        findings.append(Finding(f"{ours} / {theirs}, loss (time ratio)", summary, goal, reached))
    return findings


STUDY = Study(
    "tabular-nets",
    "Networks for tables at their defaults",
    "Ten tables that had no part in the settings (at most 3,000 rows each, categories as indicators, columns "
    "standardized), 3 splits of 3/4 for training; log-loss, or error in deviations of the target; differences have "
    "95 % intervals corrected for splits that share rows; time is processor time of the fits, least of the splits.",
    "MARGIN_DATA=... python -m benchmarks.studies.tabular_nets",
    conclude,
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.tabular_nets", description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", default=",".join(TABLES), help="Names separated by commas.")
    parser.add_argument("--again", action="store_true", help="Forget what was measured before.")
    options = parser.parse_args()
    cases = [{"table": name, "seed": seed} for name in options.tables.split(",") for seed in range(options.splits)]
    run(STUDY, cases, measure, again=options.again)


if __name__ == "__main__":
    main()
