"""Minimizers of any differentiable function of an array, each a generator of records.

``minimize`` runs one to its end. ``rules`` are the first-order updates and ``rate_schedules`` the learning rates, as
objects that networks take too; ``schedules`` are the functions behind the latter. ``sgd`` descends on finite sums by
batches. Newton, trust-region, quasi-Newton, conjugate-gradient, coordinate and proximal methods, a quadratic-program
solver, a genetic algorithm and hyperparameter search follow.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names, names_of

if TYPE_CHECKING:
    from margin.optimize.bisection import bisect
    from margin.optimize.clipping import accumulate, clip_norm, clip_value
    from margin.optimize.conjugate import conjugate_gradient, nonlinear_cg, steepest_descent
    from margin.optimize.coordinate import coordinate_descent, lasso_coordinate_descent
    from margin.optimize.derivatives import (
        autograd,
        gradient_error,
        numerical_gradient,
        numerical_hessian,
        taylor2,
        torch_hessian,
    )
    from margin.optimize.descent import (
        adadelta,
        adagrad,
        adam,
        adamw,
        descend,
        gradient_descent,
        momentum,
        nesterov,
        rmsprop,
    )
    from margin.optimize.evolution import genetic
    from margin.optimize.finite_sum import FiniteSum, batches, sgd
    from margin.optimize.flow import gradient_flow
    from margin.optimize.interior_point import quadratic_program
    from margin.optimize.line_searches import line_search
    from margin.optimize.methods import METHODS, minimize
    from margin.optimize.proximal import fista, proximal_gradient, soft_threshold
    from margin.optimize.quadratics import classify_critical_point, classify_quadratic
    from margin.optimize.quasi_newton import bfgs, lbfgs
    from margin.optimize.rate_schedules import (
        Constant,
        Cosine,
        CosineRestarts,
        Cyclical,
        ExponentialDecay,
        InversePower,
        InverseTime,
        LinearDecay,
        OneCycle,
        Plateau,
        RateSchedule,
        StepDecay,
        WarmUp,
    )
    from margin.optimize.rate_search import rate_range_test
    from margin.optimize.rules import *  # noqa: F403
    from margin.optimize.search import grid_search, random_search
    from margin.optimize.second_order import damped_newton, newton, newton_root
    from margin.optimize.steps import Diverged, MinimizerStep, OptimizationError, Result, follow
    from margin.optimize.trust import newton_cg, trust_region
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    *names_of("margin.optimize.rules"),
    "METHODS",
    "Constant",
    "Cosine",
    "CosineRestarts",
    "Cyclical",
    "Diverged",
    "ExponentialDecay",
    "FiniteSum",
    "InversePower",
    "InverseTime",
    "LinearDecay",
    "MinimizerStep",
    "OneCycle",
    "OptimizationError",
    "Plateau",
    "RateSchedule",
    "Result",
    "StepDecay",
    "WarmUp",
    "accumulate",
    "adadelta",
    "adagrad",
    "adam",
    "adamw",
    "autograd",
    "batches",
    "bfgs",
    "bisect",
    "classify_critical_point",
    "classify_quadratic",
    "clip_norm",
    "clip_value",
    "conjugate_gradient",
    "coordinate_descent",
    "damped_newton",
    "descend",
    "fista",
    "follow",
    "genetic",
    "gradient_descent",
    "gradient_error",
    "gradient_flow",
    "grid_search",
    "lasso_coordinate_descent",
    "lbfgs",
    "line_search",
    "minimize",
    "momentum",
    "nesterov",
    "newton",
    "newton_cg",
    "newton_root",
    "nonlinear_cg",
    "numerical_gradient",
    "numerical_hessian",
    "proximal_gradient",
    "quadratic_program",
    "random_search",
    "rate_range_test",
    "rmsprop",
    "sgd",
    "soft_threshold",
    "steepest_descent",
    "taylor2",
    "torch_hessian",
    "trust_region",
]
