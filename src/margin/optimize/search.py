"""Search over hyperparameters: every point of a grid, or points of it drawn at random.

Textbook form; models are searched with scikit-learn's ``GridSearchCV`` and compared by :mod:`margin.selection`.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SearchResult", "grid_search", "random_search"]

Space = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class SearchResult:
    """What was tried, in order, and the loss of each; a failed try has loss NaN and is never best."""

    configurations: tuple[dict[str, Any], ...]
    losses: np.ndarray

    @property
    def best(self) -> dict[str, Any]:
        return self.configurations[int(np.nanargmin(self.losses))]

    @property
    def best_loss(self) -> float:
        return float(np.nanmin(self.losses))


def grid_search(evaluate: Callable[..., float], space: Space) -> SearchResult:
    """Call ``evaluate(**configuration)`` for every configuration of the grid.

    Parameters
    ----------
    evaluate : callable
        Called with one value of every argument as keywords; returns a number, of which less is better.
    space : dict of lists
        The values of every argument.

    Examples
    --------
    >>> grid_search(lambda rate, size: (rate - 0.1) ** 2 + size, {"rate": [0.01, 0.1], "size": [1, 2]}).best
    {'rate': 0.1, 'size': 1}
    """
    _check(evaluate, space)
    return _run(evaluate, (dict(zip(space, values)) for values in itertools.product(*space.values())))


def random_search(evaluate: Callable[..., float], space: Space, n_iter: int, rng: np.random.Generator) -> SearchResult:
    """Call ``evaluate`` for ``n_iter`` different configurations drawn uniformly from the grid.

    Parameters
    ----------
    evaluate : callable
        Called with one value of every argument as keywords; returns a number, of which less is better.
    space : dict of lists
        The values of every argument.
    n_iter : int
        Number of configurations to try.
    rng : numpy.random.Generator
        Source of randomness.
    """
    _check(evaluate, space)
    sizes = [len(values) for values in space.values()]
    total = int(np.prod(sizes))
    if not 1 <= n_iter <= total:
        raise ValueError(f"random_search: n_iter must be between 1 and the {total} grid points; got {n_iter!r}.")
    cells = np.unravel_index(rng.choice(total, size=n_iter, replace=False), sizes)
    drawn = ({name: space[name][int(i)] for name, i in zip(space, cell)} for cell in zip(*cells))
    return _run(evaluate, drawn)


def _run(evaluate: Callable[..., float], configurations: Iterable[dict[str, Any]]) -> SearchResult:
    tried, losses = [], []
    for configuration in configurations:
        try:
            loss = float(evaluate(**configuration))
        except (ArithmeticError, ValueError):  # a bad configuration is a row of the table, not the end of it
            loss = np.nan
        tried.append(configuration)
        losses.append(loss if np.isfinite(loss) else np.nan)
    if np.all(np.isnan(losses)):
        raise ValueError(f"search: none of the {len(tried)} configurations gave a finite loss.")
    return SearchResult(tuple(tried), np.array(losses))


def _check(evaluate: Callable[..., float], space: Space) -> None:
    parameters = inspect.signature(evaluate).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        unknown = [name for name in space if name not in parameters]
        if unknown:
            raise ValueError(f"search: {unknown[0]!r} is no hyperparameter of it; known are {sorted(parameters)}.")
    for name, values in space.items():
        if len(values) == 0:
            raise ValueError(f"search: {name!r} has no candidate values.")
    if not space:
        raise ValueError("search: the space names no hyperparameter.")
