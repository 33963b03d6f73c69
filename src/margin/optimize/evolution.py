"""A genetic algorithm for functions of a box: no gradients, many evaluations, some hope among many minima."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.docstrings import with_parameters
from margin.optimize.objective import Function, Objective
from margin.optimize.parameter_texts import MINIMIZING
from margin.optimize.steps import Array, StepOutcome, Steps, length

__all__ = ["genetic"]


@with_parameters(MINIMIZING)
def genetic(
    f: Function,
    bounds: Any,
    *,
    rng: np.random.Generator,
    population: int = 60,
    generations: int = 100,
    mutation: float = 0.1,
    elite: int = 2,
) -> Steps:
    """Tournament selection, blend crossover, Gaussian mutation whose width shrinks, the best ``elite`` survive.

    ``bounds`` is (d, 2). One record per generation, of the best individual so far.

    Parameters
    ----------
    bounds : array-like of shape (d, 2)
        Lower and upper bound of every variable.
    rng : numpy.random.Generator
        Source of randomness.
    population : int
        Individuals of a generation.
    generations : int
        Number of generations.
    mutation : float
        First standard deviation of mutations, as a fraction of the box.
    elite : int
        Individuals that survive unchanged.
    """
    bounds = np.asarray(bounds, dtype=float)
    if bounds.ndim != 2 or bounds.shape[1] != 2 or not np.all(bounds[:, 0] < bounds[:, 1]):
        raise ValueError(f"genetic: bounds must be rows (low, high) with low < high; got {bounds.tolist()}.")
    if not 0 < elite < population:
        raise ValueError(f"genetic: elite must lie between 1 and population - 1; got {elite} of {population}.")
    low, high = bounds.T
    people = rng.uniform(low, high, size=(population, len(low)))
    objective = Objective("genetic", f, None, people[0], max_iter=generations)
    fitness = _scores(objective, people)
    best = people[np.argmin(fitness)]
    yield objective.record_value(0, best, float(fitness.min()), 0.0)
    for t in range(1, generations + 1):
        width = mutation * (high - low) * (1 - t / (generations + 1))
        children = _children(people, fitness, population - elite, width, rng).clip(low, high)
        keep = np.argsort(fitness, kind="stable")[:elite]
        people, fitness = np.vstack([people[keep], children]), np.r_[fitness[keep], _scores(objective, children)]
        previous, best = best, people[np.argmin(fitness)]
        yield objective.record_value(t, best, float(fitness.min()), length(best - previous))
    return StepOutcome(True, f"genetic: best value {fitness.min():.6g} after {generations} generations.")


def _scores(objective: Objective, people: Array) -> Array:
    values = np.array([objective.value(person) for person in people])
    return np.where(np.isnan(values), np.inf, values)  # an undefined value is the worst one


def _children(people: Array, fitness: Array, count: int, width: Array, rng: np.random.Generator) -> Array:
    def parents() -> Array:
        pairs = rng.integers(len(people), size=(count, 2))  # the better of two at random
        winners = np.where(fitness[pairs[:, 0]] <= fitness[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
        return people[winners]

    mix = rng.uniform(-0.25, 1.25, size=(count, people.shape[1]))  # a little beyond both parents
    blended = (one := parents()) + mix * (parents() - one)
    return blended + width * rng.standard_normal(blended.shape) * (rng.random(blended.shape) < 0.5)
