"""Synthetic tables in the shape of well-known ones, so that claims need no files; ``margin.data.load`` reads real ones.

Each is drawn from a documented law with the columns, kinds and gaps of the real table; no row of it is reproduced.
"""

from __future__ import annotations

import numpy as np

from margin.data import Table

__all__ = ["heart_attack", "life_expectancy", "titanic"]


def titanic(n: int, seed: int) -> tuple[Table, np.ndarray]:
    """Passengers: class, sex, age (a fifth missing), relatives, fare, port. The log-odds of survival are linear:
    women +2.5, first class +1.8, second +0.9, minus 0.03 a year of age."""
    rng = np.random.default_rng(seed)
    pclass = rng.choice([1, 2, 3], size=n, p=[0.24, 0.21, 0.55])
    female = rng.random(n) < 0.35
    age = np.clip(rng.normal(41 - 4 * pclass, 13), 0.5, 80)
    odds = -1.4 + 2.5 * female + 1.8 * (pclass == 1) + 0.9 * (pclass == 2) - 0.03 * (age - 30)
    survived = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    columns = {
        "class": np.array(["first", "second", "third"], dtype=object)[pclass - 1],
        "sex": np.where(female, "female", "male").astype(object),
        "age": np.where(rng.random(n) < 0.2, np.nan, age),
        "relatives": rng.poisson(0.9, n).astype(float),
        "fare": np.exp(rng.normal(4.6 - 0.75 * pclass, 0.5)),
        "port": rng.choice(np.array(["Southampton", "Cherbourg", "Queenstown"], dtype=object), n, p=[0.72, 0.19, 0.09]),
    }
    return Table(columns), survived


def life_expectancy(n: int, seed: int) -> tuple[Table, np.ndarray]:
    """People: height, present age, body mass index, smoking. Years fall with |BMI - 23| and by eight for smokers."""
    rng = np.random.default_rng(seed)
    height, age, bmi = rng.normal(170, 9, n), rng.uniform(20, 70, n), rng.normal(26, 4.5, n)
    smokes = rng.random(n) < 0.25
    years = 84 - 0.55 * np.maximum(bmi - 23, 0) - 0.4 * np.maximum(23 - bmi, 0) - 8 * smokes + 0.05 * age
    columns = {"height": height, "age": age, "bmi": bmi, "smokes": np.where(smokes, "yes", "no").astype(object)}
    return Table(columns), years + rng.normal(0, 2, n)


def heart_attack(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Patients (age, blood pressure, cholesterol, smoking; standardized), of whom about one in seven is at risk."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), (rng.random(n) < 0.3) - 0.3])
    odds = -2.4 + X @ np.array([0.9, 0.8, 0.5, 1.2])
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
