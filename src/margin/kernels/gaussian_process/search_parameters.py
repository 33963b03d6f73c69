"""The parameters that say how hyperparameters are searched, shared by all Gaussian processes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from margin.core.domains import Choice, Either, Flag, Function, Integer, Number, Optional, Seed
from margin.core.parameters import VERBOSE, Declared, parameter
from margin.core.randomness import RandomLike
from margin.kernels.gaussian_process.initial_kernel import KERNEL_DOMAIN, KERNEL_SENTENCE

__all__ = ["SearchParameters"]


class SearchParameters(Declared):
    """A kernel, and the search for its parameters."""

    kernel: Any = parameter("rbf", KERNEL_DOMAIN, KERNEL_SENTENCE)
    _: KW_ONLY
    ard: bool = parameter(False, Flag(), "Whether every column gets a length scale of its own.")
    optimizer: Any = parameter(
        "fmin_l_bfgs_b",
        Optional(Either(Choice("fmin_l_bfgs_b"), Function("an objective, a start and bounds"))),
        "Quasi-Newton search within the bounds of the kernel; None keeps the kernel as it is. A function is called as "
        "in scikit-learn, optimizer(objective, theta, bounds=bounds), and gives the best theta and its value.",
    )
    n_restarts_optimizer: int = parameter(
        0,
        Integer(low=0, high=10_000),
        "Further searches, which begin at random. Where the length scales are far from the spread of the rows, "
        "one that begins there is tried as well (by regressors on a part of many rows, by classifiers on few rows).",
    )
    max_iter: int = parameter(100, Integer(low=1), "Most evaluations of one search.")
    tol: float = parameter(1e-3, Number(low=0), "A search ends when its objective can rise by no more nats than this.")
    verbose: bool | int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws restarts, and rows where only a part is used.")
