"""Sets by name: those that come with scikit-learn, the notes' patients, generators, and files below MARGIN_DATA."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from margin.data import bundled, files, generators
from margin.data.dataset import Dataset
from margin.data.table import close_names

__all__ = ["Dataset", "load", "names"]

#: Generator, task, what a row's features are called, names of the classes or of the response.
_GENERATED: dict[str, tuple[Callable[..., Any], str, tuple[str, ...]]] = {
    "blobs": (generators.blobs, "clustering", ()),
    "circles": (generators.circles, "classification", ("outer", "inner")),
    "friedman": (generators.friedman, "regression", ("y",)),
    "moons": (generators.moons, "classification", ("upper", "lower")),
    "noisy-polynomial": (generators.noisy_polynomial, "regression", ("y",)),
    "s-curve": (generators.s_curve, "regression", ("position",)),
    "shapes": (generators.shapes, "classification", ("disk", "cross")),
    "spirals": (generators.spirals, "classification", ()),
    "swiss-roll": (generators.swiss_roll, "regression", ("position",)),
    "two-gaussians": (generators.two_gaussians, "density", ("left", "right")),
    "xor": (generators.xor, "classification", ("equal signs", "different signs")),
}

_BUNDLED: dict[str, Callable[..., Dataset]] = {
    "airline-passengers": bundled.airline_passengers,
    "breast-cancer": bundled.breast_cancer,
    "cholesterol": bundled.cholesterol,
    "diabetes": bundled.diabetes,
    "digits": bundled.digits,
    "iris": bundled.iris,
    "wine": bundled.wine,
}

_FILES: dict[str, Callable[..., Dataset]] = {
    **{name: partial(files.load_table, name) for name in files.FILE_TABLES},
    "mnist": files.load_mnist,
    "sms-spam": files.load_sms,
}


def names(source: str | None = None) -> tuple[str, ...]:
    """The names ``load`` knows, in alphabetical order; ``source`` keeps "bundled", "generated" or "files".

    >>> names("bundled")
    ('airline-passengers', 'breast-cancer', 'cholesterol', 'diabetes', 'digits', 'iris', 'wine')
    """
    sources = {"bundled": tuple(_BUNDLED), "generated": tuple(_GENERATED), "files": tuple(_FILES)}
    if source is not None and source not in sources:
        raise ValueError(f"names: source must be one of {', '.join(sources)}; got {source!r}.")
    chosen = sources.values() if source is None else [sources[source]]
    return tuple(sorted(name for group in chosen for name in group))


def load(name: str, **options: Any) -> Dataset:
    """The set called ``name``. Generated sets take ``n_samples``, ``noise``, ``seed`` and what their generator takes.

    >>> load("iris")
    Dataset(iris: 150 rows, 4 features, classification)
    >>> load("moons", n_samples=50, noise=0.2, seed=1)
    Dataset(moons: 50 rows, 2 features, classification)
    """
    if name in _GENERATED:
        return _generate(name, options)
    loader = _BUNDLED.get(name) or _FILES.get(name)
    if loader is None:
        raise ValueError(f"load: there is no set {name!r}; {close_names(name, names())}.")
    _check_options(name, options, tuple(inspect.signature(loader).parameters))
    return loader(**options)


def _generate(name: str, options: dict[str, Any]) -> Dataset:
    generate, task, target_names = _GENERATED[name]
    _check_options(name, options, (*list(inspect.signature(generate).parameters)[1:], "seed"))
    seed = options.pop("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"load: seed of {name!r} must be an integer of at least 0; got {seed!r}.")
    X, y = generate(np.random.default_rng(seed), **options)
    if y.dtype.kind == "i" and not target_names:
        target_names = tuple(str(label) for label in range(y.max() + 1))
    side = round(X.shape[1] ** 0.5)
    return Dataset(
        name=name,
        X=X,
        y=y,
        feature_names=tuple(f"x{i + 1}" for i in range(X.shape[1])),
        target_names=target_names,
        task=task,
        description=str(inspect.getdoc(generate)).split("\n")[0],
        target={"regression": "y", "classification": "class"}.get(task, "group"),
        image_shape=(side, side) if name == "shapes" else None,
    )


def _check_options(name: str, options: dict[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        takes = f"takes {', '.join(allowed)}" if allowed else "takes no options"
        raise TypeError(f"load: {name!r} {takes}; got {unknown[0]!r}.")
