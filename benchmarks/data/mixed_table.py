"""A generated table like those that come from a business: numbers, categories, flags, dates, missing values."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["mixed_table"]


def mixed_table(n_rows: int = 60_000, seed: int = 0) -> pd.DataFrame:
    """29 columns and the target ``churned``: 16 numbers (four skewed, three with gaps), 8 categories of 3 to 200
    labels, three flags, a date and an identifier. Effects are additive, interacting, and of single labels."""
    rng = np.random.default_rng(seed)
    numbers = {f"number_{i}": rng.normal(size=n_rows) for i in range(9)}
    numbers |= {f"amount_{i}": rng.lognormal(3, 1, n_rows).round(2) for i in range(4)}
    gaps = {f"measured_{i}": np.where(rng.random(n_rows) < 0.15, np.nan, rng.normal(size=n_rows)) for i in range(3)}
    sizes = (3, 4, 5, 8, 12, 30, 60, 200)
    codes = {f"category_{k}": rng.integers(0, k, n_rows) for k in sizes}
    labels = {name: np.array([f"{name[9:]}-{c:03d}" for c in found], dtype=object) for name, found in codes.items()}
    flags = {f"flag_{i}": rng.random(n_rows) < 0.3 + 0.2 * i for i in range(3)}
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), "D")
    effect = {name: rng.normal(0, 0.5, int(name[9:])) for name in codes}
    score = (
        numbers["number_0"] - 0.7 * numbers["number_1"] + np.sin(2 * numbers["number_2"])
        + 1.2 * numbers["number_3"] * numbers["number_4"] + 0.8 * (np.log(numbers["amount_0"]) > 3.5)
        + np.nan_to_num(gaps["measured_0"]) + 0.9 * (flags["flag_0"] & (numbers["number_5"] > 0))
        + sum(effect[name][codes[name]] for name in codes)
    )  # fmt: skip
    target = np.where(score + rng.logistic(0, 1, n_rows) > np.quantile(score, 0.7), "yes", "no")
    identifier = {"customer_id": rng.permutation(n_rows) + 100_000}
    return pd.DataFrame({**identifier, **numbers, **gaps, **labels, **flags, "since": day, "churned": target})
