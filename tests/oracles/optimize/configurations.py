"""Searches over configurations against loops over all of them, and a saddle by differences."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import optimize as peer
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every, near
from margin.optimize import Momentum
from margin.optimize.landscapes import SADDLE
from margin.optimize.rules import hyperparameters
from margin.optimize.search import grid_search, random_search

PATH = "margin.optimize"


@oracle(*(f"{PATH}.{name}" for name in ("search.grid_search", "search.random_search", "rules.hyperparameters")))
def configurations_one_by_one(seed: int) -> Verdict:
    """Arguments with 2, 3 and 4 values and a value drawn for each of the 24 cells."""
    rng = np.random.default_rng(seed)
    space = {"rate": [0.1, 0.3], "size": [1, 2, 5], "rule": ["a", "b", "c", "d"]}
    cells = list(product(*space.values()))
    values = dict(zip(cells, rng.normal(size=24)))
    asked: list[tuple[object, ...]] = []

    def evaluate(rate: float, size: int, rule: str) -> float:
        asked.append((rate, size, rule))
        return values[rate, size, rule]

    whole = grid_search(evaluate, space)
    of_grid = list(asked)
    asked.clear()
    some = random_search(evaluate, space, 7, np.random.default_rng(seed))
    of_draws = list(asked)
    asked.clear()
    all_drawn = random_search(evaluate, space, 24, np.random.default_rng(seed))
    return every(
        all_asked=equal(of_grid, cells),
        best=equal(tuple(whole.best.values()), min(values, key=lambda cell: values[cell])),
        different=equal((len(of_draws), len(set(of_draws)), set(of_draws) <= set(cells)), (7, 7, True)),
        best_of_the_drawn=equal(tuple(some.best.values()), min(of_draws, key=lambda cell: values[cell])),
        each_once=equal((sorted(asked), all_drawn.best), (sorted(cells), whole.best)),
        chosen_before=equal(hyperparameters(Momentum(gamma=0.7)), {"gamma": 0.7, "convention": "sum"}),
    )


@oracle(f"{PATH}.landscapes.SADDLE")
def the_saddle_by_differences(seed: int) -> Verdict:
    x = np.random.default_rng(seed).normal(0.3, 0.8, size=2)
    slopes = np.array([peer.approx_fprime(x + h, SADDLE.f, 1e-7) for h in (np.zeros(2), [1e-4, 0], [0, 1e-4])])
    curvature = np.array([(SADDLE.grad(x + h) - SADDLE.grad(x - h)) / 2e-5 for h in 1e-5 * np.eye(2)])
    found = np.linalg.eigvalsh(SADDLE.hess(np.zeros(2)))
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-2, 2, 3)))
    return every(
        slope=near(SADDLE.grad(x), slopes[0], tolerance=1e-4),
        curvature=near(SADDLE.hess(x), curvature, tolerance=1e-5),
        up_and_down=equal((bool(found[0] < 0 < found[1]), SADDLE.grad(np.zeros(2)).tolist()), (True, [0.0, 0.0])),
        stacks=near(SADDLE.f(grid)[2, 3], SADDLE.f(grid[:, 2, 3]), tolerance=1e-12),
        least=near([SADDLE.grad(np.array(point)) for point in SADDLE.minima] or [[0.0, 0.0]],
                   np.zeros((max(len(SADDLE.minima), 1), 2)), tolerance=1e-6),
    )  # fmt: skip
