"""Sets that need no file: the patients of the notes, and those that scikit-learn carries."""

from __future__ import annotations

import numpy as np

from margin.data.dataset import Dataset
from margin.data.table import Table

__all__ = ["airline_passengers", "breast_cancer", "cholesterol", "diabetes", "digits", "iris", "wine"]

#: Ten patients: age in years, body-mass index in kg/m^2, cholesterol in mg/dL.
PATIENTS = (
    (25, 22.5, 180),
    (30, 24.0, 190),
    (35, 26.5, 210),
    (40, 28.0, 220),
    (45, 29.5, 240),
    (50, 30.0, 250),
    (55, 31.5, 260),
    (60, 32.0, 270),
    (65, 33.5, 280),
    (70, 34.0, 290),
)

#: Monthly passengers of international airlines in thousands, 1949 to 1960, a year per row (Box and Jenkins 1976).
PASSENGERS = (
    (112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118),
    (115, 126, 141, 135, 125, 149, 170, 170, 158, 133, 114, 140),
    (145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166),
    (171, 180, 193, 181, 183, 218, 230, 242, 209, 191, 172, 194),
    (196, 196, 236, 235, 229, 243, 264, 272, 237, 211, 180, 201),
    (204, 188, 235, 227, 234, 264, 302, 293, 259, 229, 203, 229),
    (242, 233, 267, 269, 270, 315, 364, 347, 312, 274, 237, 278),
    (284, 277, 317, 313, 318, 374, 413, 405, 355, 306, 271, 306),
    (315, 301, 356, 348, 355, 422, 465, 467, 404, 347, 305, 336),
    (340, 318, 362, 348, 363, 435, 491, 505, 404, 359, 310, 337),
    (360, 342, 406, 396, 420, 472, 548, 559, 463, 407, 362, 405),
    (417, 391, 419, 461, 472, 535, 622, 606, 508, 461, 390, 432),
)


def cholesterol() -> Dataset:
    """The notes' ten patients; the first, third, ... are for training and the others for testing.

    >>> patients = cholesterol()
    >>> train, test = patients.split
    >>> patients.y[train]
    array([180., 210., 240., 260., 280.])
    """
    rows = np.array(PATIENTS, dtype=np.float64)
    return Dataset(
        name="cholesterol",
        X=rows[:, :2].copy(),
        y=rows[:, 2].copy(),
        feature_names=("age", "bmi"),
        target_names=("cholesterol",),
        task="regression",
        description="Ten patients: cholesterol (mg/dL) from age (years) and body-mass index (kg/m^2).",
        target="cholesterol",
        split=(np.arange(0, 10, 2), np.arange(1, 10, 2)),
    )


def airline_passengers() -> Dataset:
    """144 months of passengers of international airlines, 1949 to 1960: a trend with seasons that grow with it.

    >>> series = airline_passengers()
    >>> series.y[:3], series.X.columns["month"][0]
    (array([112., 118., 132.]), np.datetime64('1949-01-01T00:00:00.000000'))
    """
    y = np.array(PASSENGERS, dtype=np.float64).ravel()
    months = np.arange("1949-01", "1961-01", dtype="datetime64[M]").astype("datetime64[us]")
    return Dataset(
        name="airline-passengers",
        X=Table({"month": months}),
        y=y,
        feature_names=("month",),
        target_names=("passengers",),
        task="regression",
        description="Passengers of international airlines in thousands, by month, 1949 to 1960.",
        target="passengers",
        split=(np.arange(132), np.arange(132, 144)),
    )


def iris() -> Dataset:
    """150 flowers of three species by the lengths and widths of sepal and petal."""
    return _from_sklearn("iris", "load_iris", "classification", iris.__doc__, "species")


def wine() -> Dataset:
    """178 Italian wines of three cultivars by 13 chemical measurements."""
    return _from_sklearn("wine", "load_wine", "classification", wine.__doc__, "cultivar")


def breast_cancer() -> Dataset:
    """569 breast tumors, malignant or benign, by 30 measurements of cell nuclei."""
    return _from_sklearn("breast-cancer", "load_breast_cancer", "classification", breast_cancer.__doc__, "diagnosis")


def digits() -> Dataset:
    """1797 handwritten digits as gray images of 8 by 8 pixels with values from 0 to 16."""
    return _from_sklearn("digits", "load_digits", "classification", digits.__doc__, "digit", image_shape=(8, 8))


def diabetes() -> Dataset:
    """442 patients: progression of diabetes after a year, from ten standardized measurements."""
    return _from_sklearn("diabetes", "load_diabetes", "regression", diabetes.__doc__, "progression")


def _from_sklearn(
    name: str,
    loader: str,
    task: str,
    description: str | None,
    target: str,
    image_shape: tuple[int, ...] | None = None,
) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, loader)()
    classes = tuple(str(label) for label in bunch.target_names) if task == "classification" else (target,)
    return Dataset(
        name=name,
        X=np.array(bunch.data, dtype=np.float64),
        y=np.array(bunch.target, dtype=np.int64 if task == "classification" else np.float64),
        feature_names=tuple(str(label) for label in bunch.feature_names),
        target_names=classes,
        task=task,
        description=str(description),
        target=target,
        image_shape=image_shape,
    )
