"""A dual problem between two records: a few working sets are solved, and numbers tell how far it has come."""

from __future__ import annotations

from margin.kernels.dual import DualProblem, objectives

__all__ = ["describe", "solve_some"]

SETS_PER_RECORD = 8  # working sets solved between two records: looking at the model costs about as much as one


def solve_some(problem: DualProblem, max_iter: int) -> bool:
    """A few working sets, BLAS being held at one thread; True when the problem is solved or has had ``max_iter``."""
    for _ in range(SETS_PER_RECORD):
        if problem.over(max_iter):
            break
        problem.step_on_one_thread()
    finished = problem.over(max_iter)
    if finished:
        problem.complete()
    return finished


def describe(problem: DualProblem) -> dict[str, float]:
    """The numbers of a record: dual objective, duality gap, violation of optimality, pair steps so far."""
    primal, dual = objectives(problem)
    return {
        "objective": dual,
        "gap": primal - dual,
        "violation": problem.violation,
        "steps": float(problem.steps),
    }
