"""The bad habits of columns, each a function of a random generator and a number of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["HABITS", "NAMES", "TARGETS"]

Habit = Callable[[np.random.Generator, int], Any]

NAMES = (
    "",
    " ",
    "a",
    "a",
    "Unnamed: 0",
    "id",
    "x y",
    "naïve",
    "列",
    "very " * 30,
    "date",
    "1",
    "3.5",
    "target ",
    "a\nb",
    "=SUM(A1)",
)
_WORDS = ("the", "red", "fox", "jumps", "over", "während", "naïve", "東京", "emoji😀", "price", "very", "good", "bad")


def _objects(values: list[Any]) -> pd.Series:
    return pd.Series(values, dtype=object)


def _holes(rng: np.random.Generator, values: list[Any], fraction: float = 0.2) -> pd.Series:
    return _objects([None if rng.random() < fraction else value for value in values])


def _labels(rng: np.random.Generator, n: int, k: int, prefix: str = "label ") -> list[str]:
    return [f"{prefix}{i}" for i in rng.integers(0, k, n)]


def _dates(rng: np.random.Generator, n: int) -> pd.Series:
    return pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 9e7, n), unit="s"))


def _text(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(_WORDS, rng.integers(0, 12))) for _ in range(n)]


HABITS: Mapping[str, Habit] = {
    "numbers": lambda rng, n: pd.Series(rng.normal(size=n)),
    "numbers with holes": lambda rng, n: pd.Series(np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))),
    "integers": lambda rng, n: pd.Series(rng.integers(-5, 50, n)),
    "float32": lambda rng, n: pd.Series(rng.normal(size=n).astype(np.float32)),
    "infinite": lambda rng, n: pd.Series(np.where(rng.random(n) < 0.2, np.inf, rng.normal(size=n))),
    "huge": lambda rng, n: pd.Series(rng.choice([1e308, -1e308, 1e-308, 0.0, 1.0], n)),
    "codes for missing": lambda rng, n: pd.Series(np.where(rng.random(n) < 0.2, -999, rng.integers(0, 9, n))),
    "constant": lambda _, n: pd.Series(np.full(n, 7.0)),
    "constant label": lambda _, n: _objects(["same"] * n),
    "constant or nothing": lambda rng, n: _holes(rng, ["x"] * n, 0.5),
    "empty": lambda _, n: _objects([None] * n),
    "NaN only": lambda _, n: pd.Series(np.full(n, np.nan)),
    "nearly empty": lambda _, n: _objects(["once"] + [None] * (n - 1)),
    "row numbers": lambda _, n: pd.Series(np.arange(n)),
    "identifiers": lambda rng, n: _objects([f"K{v:08x}" for v in rng.integers(0, 2**31, n)]),
    "long identifiers": lambda rng, n: pd.Series(rng.integers(2**60, 2**61, n)),
    "leading zeros": lambda rng, n: _objects([f"{v:05d}" for v in rng.integers(0, 99999, n)]),
    "dollars": lambda rng, n: _holes(rng, [f"${v:,.2f}" for v in rng.uniform(-5e4, 5e4, n)]),
    "euros": lambda rng, n: _objects(
        [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in rng.uniform(1, 5e4, n)]
    ),
    "percent": lambda rng, n: _holes(rng, [f"{v:.0f} %" for v in rng.uniform(0, 100, n)]),
    "number strings": lambda rng, n: _objects([f" {v:.2f} " for v in rng.normal(size=n)]),
    "numbers and strays": lambda rng, n: _objects(
        [str(rng.choice(["-", "unknown"])) if rng.random() < 0.1 else str(v) for v in range(n)]
    ),
    "numbers and words": lambda _, n: _objects([str(v) if v % 2 else f"word{v}" for v in range(n)]),
    "days": lambda rng, n: _objects(_dates(rng, n).dt.strftime("%d.%m.%Y").tolist()),
    "american days": lambda rng, n: _objects(_dates(rng, n).dt.strftime("%m/%d/%Y").tolist()),
    "impossible days": lambda _, n: _objects(["31.02.2023", "14.05.2023"] * (n // 2) + ["00.00.0000"] * (n % 2)),
    "moments": _dates,
    "moments with holes": lambda rng, n: _dates(rng, n).mask(rng.random(n) < 0.3),
    "moments with zone": lambda rng, n: _dates(rng, n).dt.tz_localize(
        "Europe/Berlin", ambiguous="NaT", nonexistent="NaT"
    ),
    "one moment": lambda _, n: pd.Series([pd.Timestamp("2020-02-29")] * n),
    "durations": lambda rng, n: pd.Series(pd.to_timedelta(rng.integers(0, 9e5, n), unit="s")),
    "periods": lambda _, n: pd.Series(pd.period_range("2020-01", periods=n, freq="M")),
    "few labels": lambda rng, n: _objects(_labels(rng, n, 3)),
    "labels with holes": lambda rng, n: _holes(rng, _labels(rng, n, 5)),
    "many labels": lambda rng, n: _objects(_labels(rng, n, 400)),
    "category dtype": lambda rng, n: pd.Series(pd.Categorical(_labels(rng, n, 4))),
    "number categories": lambda rng, n: pd.Series(pd.Categorical(rng.integers(0, 4, n))),
    "string dtype": lambda rng, n: pd.Series(_labels(rng, n, 4), dtype="string"),
    "text": lambda rng, n: _holes(rng, _text(rng, n), 0.1),
    "empty strings": lambda _, n: _objects([""] * n),
    "punctuation": lambda rng, n: _objects([str(v) for v in rng.choice(["!", "...", ", ;", '"', "'"], n)]),
    "booleans": lambda rng, n: pd.Series(rng.random(n) < 0.5),
    "nullable booleans": lambda rng, n: pd.Series(
        pd.array([None if v == 2 else bool(v) for v in rng.integers(0, 3, n)], dtype="boolean")
    ),
    "nullable integers": lambda rng, n: pd.Series(
        pd.array([None if v == 2 else int(v) for v in rng.integers(0, 9, n)], dtype="Int64")
    ),
    "yes and no": lambda rng, n: _holes(rng, [str(v) for v in rng.choice(["yes", "no", "Yes"], n)]),
    "true and false": lambda rng, n: _objects([str(v) for v in rng.choice(["true", "FALSE"], n)]),
    "mixed types": lambda rng, n: _objects(
        [[1, "two", 3.5, None, True, pd.Timestamp("2020-01-01")][v] for v in rng.integers(0, 6, n)]
    ),
    "lists": lambda rng, n: _objects([["a", "b"][: int(v)] for v in rng.integers(0, 3, n)]),
    "dictionaries": lambda rng, n: _objects([{"a": int(v)} for v in rng.integers(0, 3, n)]),
    "decimals": lambda rng, n: _objects([Decimal(int(v)) / 4 for v in rng.integers(0, 99, n)]),
    "bytes": lambda rng, n: _objects([bytes([int(v)]) for v in rng.integers(0, 255, n)]),
    "complex": lambda rng, n: (
        pd.Series(rng.normal(size=n) + 1j) if rng.random() < 0.3 else pd.Series(rng.normal(size=n))
    ),
    "long strings": lambda rng, n: _objects(["x" * int(v) for v in rng.integers(1, 3000, n)]),
    "line breaks": lambda rng, n: _objects([f'a\nb {v}\r\n"c"' for v in rng.integers(0, 4, n)]),
    "half characters": lambda rng, n: (
        _objects(["\ud800" if rng.random() < 0.1 else "ok" for _ in range(n)])
        if rng.random() < 0.3
        else _objects(_labels(rng, n, 2))
    ),
    "patients": lambda _, n: pd.Series(np.arange(n) // 4, name="patient_id"),
}

TARGETS: Mapping[str, Habit] = {
    "two classes": lambda rng, n: _objects(_labels(rng, n, 2)),
    "zero and one": lambda rng, n: pd.Series(rng.integers(0, 2, n)),
    "imbalanced": lambda rng, n: _objects(["rare" if v < 0.05 else "common" for v in rng.random(n)]),
    "many classes": lambda rng, n: _objects(_labels(rng, n, 40)),
    "booleans": lambda rng, n: pd.Series(rng.random(n) < 0.5),
    "quantity": lambda rng, n: pd.Series(rng.normal(size=n)),
    "quantity with holes": lambda rng, n: pd.Series(np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))),
    "price": lambda rng, n: _objects([f"${v:,.2f}" for v in rng.uniform(1, 9e4, n)]),
    "classes with holes": lambda rng, n: _holes(rng, _labels(rng, n, 3), 0.4),
    "dates": _dates,
    "constant": lambda _, n: _objects(["only"] * n),
    "nothing": lambda _, n: _objects([None] * n),
    "infinite": lambda rng, n: pd.Series(np.where(rng.random(n) < 0.2, np.inf, rng.normal(size=n))),
}
