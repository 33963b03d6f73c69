"""The function being minimized, seen by a method: a flat vector in, checked and counted numbers out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from margin.optimize.derivatives import autograd, numerical_gradient, numerical_hessian
from margin.optimize.steps import Array, Diverged, MinimizerStep, OptimizationError

__all__ = ["Function", "Gradient", "Hessian", "HessianProduct", "Objective", "starting_point"]

Function = Callable[[Array], Any]
# A callable; True when f returns (value, gradient); "torch" for automatic differentiation; None for differences.
Gradient = Callable[[Array], Any] | Literal["torch", "numerical", True] | None
Hessian = Callable[[Array], Any] | None
HessianProduct = Callable[[Array, Array], Any] | None

# A value this many times above the start (plus one) is a run that will only overflow later.
BLOW_UP = 1e20


class Objective:
    """Counts evaluations, checks shapes, and remembers the last recorded iterate for error messages.

    Methods work on flat vectors; the user's function sees arrays of the shape of ``x0``.
    """

    def __init__(
        self,
        name: str,
        f: Function,
        grad: Gradient,
        x0: Any,
        *,
        hess: Hessian = None,
        hessp: HessianProduct = None,
        max_iter: int | None = None,
    ) -> None:
        if max_iter is not None and not (isinstance(max_iter, int | np.integer) and max_iter >= 0):
            raise ValueError(f"{name}: max_iter must be an integer, not negative; got {max_iter!r}.")
        self.name = name
        start = starting_point(name, x0)
        self.shape, self.x, self.iteration = start.shape, start.ravel(), 0
        self.evaluations = self.gradient_evaluations = self.hessian_products = 0
        self.total = max_iter
        self._f, self._grad, self._hess, self._hessp = f, grad, hess, hessp
        self._joint = autograd(f) if grad == "torch" else f if grad is True else None
        if self._joint is None and not (callable(grad) or grad is None or grad == "numerical"):
            raise ValueError(f'{name}: grad must be a function, True, "torch", "numerical" or None; got {grad!r}.')
        self._first_value: float | None = None

    def value(self, x: Array) -> float:
        if self._joint is not None:
            return self.both(x)[0]
        self.evaluations += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._scalar(self._f(x.reshape(self.shape)))

    def gradient(self, x: Array) -> Array:
        if self._joint is not None:
            return self.both(x)[1]
        self.gradient_evaluations += 1
        if not callable(self._grad):
            return numerical_gradient(self.value, x)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.flat(self._grad(x.reshape(self.shape)))

    def both(self, x: Array) -> tuple[float, Array]:
        """Value and gradient at one point; a single call when the user's function gives both."""
        if self._joint is None:
            return self.value(x), self.gradient(x)
        self.evaluations += 1
        self.gradient_evaluations += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pair = self._joint(x.reshape(self.shape))
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise self._error(f"with grad=True f must return (value, gradient); got {type(pair).__name__}")
        return self._scalar(pair[0]), self.flat(pair[1])

    def hessian(self, x: Array) -> Array:
        """(d, d) second derivatives: the user's, or symmetric differences of the gradient."""
        if self._hess is None:
            return numerical_hessian(self.value, x, grad=self.gradient)
        matrix = np.asarray(self._hess(x.reshape(self.shape)), dtype=float)
        if matrix.size != x.size**2:
            raise self._error(f"the Hessian must have {x.size} x {x.size} entries; got shape {matrix.shape}")
        return matrix.reshape(x.size, x.size)

    def hessian_product(self, x: Array, direction: Array, gradient: Array) -> Array:
        """H(x) direction, from ``hessp``, from ``hess``, or from one more gradient along the direction."""
        self.hessian_products += 1
        if self._hessp is not None:
            return self.flat(self._hessp(x.reshape(self.shape), direction.reshape(self.shape)), "Hessian product")
        if self._hess is not None:
            return self.hessian(x) @ direction
        # Forward difference of the gradient: the step balances truncation and rounding for a unit-scaled gradient.
        size = np.sqrt(np.finfo(float).eps) * (1 + np.linalg.norm(x)) / max(np.linalg.norm(direction), 1e-300)
        return (self.gradient(x + size * direction) - gradient) / size

    def record(self, iteration: int, x: Array, value: float, gradient_norm: float, step_size: float) -> MinimizerStep:
        """The record of an accepted iterate; a value or gradient that is not finite ends the run here."""
        if self._first_value is None:
            self._first_value = value
        finite = np.isfinite(value) and np.isfinite(gradient_norm) and np.all(np.isfinite(x))
        if not finite or value > BLOW_UP * (1 + abs(self._first_value)):
            raise self.describe_divergence(iteration, value, gradient_norm)
        self.x, self.iteration = x, iteration
        return self._step(iteration, x, value, gradient_norm, step_size)

    def record_value(self, iteration: int, x: Array, value: float, step_size: float) -> MinimizerStep:
        """The record of a method that uses no gradient."""
        self.record(iteration, x, value, 0.0, step_size)
        return self._step(iteration, x, value, float("nan"), step_size)

    def describe_divergence(self, iteration: int, value: float, gradient_norm: float) -> Diverged:
        if iteration == 0:
            return Diverged(
                f"{self.name}: the start is not usable: value {value:.6g}, gradient norm {gradient_norm:.6g}.",
                self.x.reshape(self.shape),
                0,
            )
        return Diverged(
            f"{self.name}: diverged at step {iteration} (value {value:.6g}, gradient norm {gradient_norm:.6g}); "
            f"the iterate of step {self.iteration} is kept; a smaller step size may help.",
            self.x.reshape(self.shape),
            self.iteration,
        )

    def _step(self, iteration: int, x: Array, value: float, gradient_norm: float, step_size: float) -> MinimizerStep:
        values = {
            "value": value,
            "gradient_norm": gradient_norm,
            "step_size": step_size,
            "evaluations": float(self.evaluations),
        }
        return MinimizerStep(iteration, values, self.total, x.reshape(self.shape).copy())

    def _scalar(self, value: Any) -> float:
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "fiub":
            raise self._error(f"f must return one real number; got {_describe(array)}")
        return float(array.reshape(()))

    def flat(self, gradient: Any, what: str = "gradient") -> Array:
        """A fresh flat vector of what the user's function returned, which must have the shape of ``x``."""
        array = np.asarray(gradient)
        if array.shape != self.shape or array.dtype.kind not in "fiub":
            raise self._error(f"the {what} must have the shape {self.shape} of x; got {_describe(array)}")
        return array.astype(float).ravel()  # a copy: the user may fill the same buffer again

    def _error(self, sentence: str) -> OptimizationError:
        message = f"{self.name}: {sentence}, after step {self.iteration}."
        return OptimizationError(message, self.x.reshape(self.shape), self.iteration)


def starting_point(name: str, x0: Any) -> Array:
    """``x0`` as a fresh array of finite numbers, or one sentence about what is wrong with it."""
    try:
        start = np.array(x0, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: x0 must be an array of real numbers; got {x0!r}.") from None
    if start.size == 0 or not np.all(np.isfinite(start)):
        raise ValueError(f"{name}: x0 must hold at least one number and only finite ones; got {_describe(start)}.")
    return start


def _describe(array: np.ndarray) -> str:
    return str(array.tolist()) if array.size <= 4 else f"an array of shape {array.shape} and type {array.dtype}"
