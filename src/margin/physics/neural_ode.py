r"""A network as the slope of a differential equation: a model in continuous time.

.. math:: \frac{dy}{dt} = f_\theta(t, y)

Gradients come by differentiating the solver's steps, or from the adjoint :math:`a = \partial L / \partial y`, which is
solved backward in time and needs no memory of the way:

.. math:: \frac{da}{dt} = -a^T \frac{\partial f}{\partial y}, \qquad
          \frac{dL}{d\theta} = \int_{t_0}^{t_1} a^T \frac{\partial f}{\partial \theta}\,dt
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.arguments import finite
from margin.core.domains import Choice, Integer, Number
from margin.core.invariants import Real
from margin.core.number_range import check_magnitude
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import torch_threads
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.parameters import (
    ACTIVATION,
    LAYER_SIZES,
    OPTIMIZERS,
    layer_sizes,
    learning_rates,
    solvers,
)
from margin.neural.losses.regression import squared_error
from margin.neural.nets.mlp import MLP
from margin.neural.parts import describe
from margin.neural.training import TensorRows
from margin.neural.training.steps import Objective
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.rules import Rule
from margin.physics.discrete_adjoint import can_be_written_out, perceptron_states
from margin.physics.steps import explicit_step
from margin.physics.stored import SLOPE_NETWORK, slope_is_stored
from margin.physics.tableaus import EXPLICIT

__all__ = ["NeuralODE", "SlopeNetwork", "integrate", "integrate_adjoint"]

MOST_INTERVALS = 10_000  # between two times of predict: beyond it an interval was meant in another unit
SAME_INTERVAL = 1e-4  # relative difference of intervals that count as equal: times are often rounded
LARGEST_STATE = 1e15  # squares of errors stay within float32


class SlopeNetwork(nn.Module):
    """A perceptron of the state alone: the law does not change with time."""

    def __init__(self, sizes: Sequence[int], activation: str):
        super().__init__()
        self.mlp = MLP(sizes, activation)
        with torch.no_grad():
            self.mlp.linears[-1].weight.mul_(0.1)  # a field that hardly moves anything is a stable start

    def forward(self, t: Any, y: Tensor) -> Tensor:
        return self.mlp(y)


def integrate(f: nn.Module, y0: Tensor, times: Sequence[float], steps: int, method: str = "rk4") -> Tensor:
    """States (len(times), ...) by ``steps`` steps between two times; gradients by differentiating every one of them."""
    if type(f) is SlopeNetwork and y0.ndim == 2 and can_be_written_out(f.mlp):
        lengths = [(end - start) / steps for start, end in pairwise(times) for _ in range(steps)]
        return perceptron_states(f.mlp, y0, lengths, steps, EXPLICIT[method])
    y, states = y0, [y0]
    for start, end in pairwise(times):
        y = _between(f, y, start, end, steps, method)
        states.append(y)
    return torch.stack(states)


def integrate_apart(f: nn.Module, y0: Tensor, lengths: Tensor, steps: int, method: str = "rk4") -> Tensor:
    """States (1 + k, n, d) of rows that were seen ``lengths`` (n, k) apart, each at times of its own."""
    y, states = y0, [y0]
    for length in lengths.unbind(dim=1):
        h = length[:, None] / steps
        for _ in range(steps):
            y, _ = explicit_step(f, 0.0, y, h, EXPLICIT[method])
        states.append(y)
    return torch.stack(states)


def _between(f: Any, y: Any, start: float, end: float, steps: int, method: str) -> Any:
    h = (end - start) / steps
    for k in range(steps):
        y, _ = explicit_step(f, start + k * h, y, h, EXPLICIT[method])
    return y


def integrate_adjoint(f: nn.Module, y0: Tensor, times: Sequence[float], steps: int, method: str = "rk4") -> Tensor:
    """The same states, with gradients by the adjoint equation: memory does not grow with the steps."""
    parameters = tuple(p for p in f.parameters() if p.requires_grad)
    return _Adjoint.apply(f, y0, tuple(map(float, times)), steps, method, *parameters)


class _Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, f: nn.Module, y0: Tensor, times: tuple[float, ...], steps: int, method: str, *parameters: Tensor
    ) -> Tensor:
        with torch.no_grad():
            states = integrate(f, y0, times, steps, method)
        ctx.f, ctx.times, ctx.steps, ctx.method = f, times, steps, method
        ctx.save_for_backward(states, *parameters)
        return states

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Any, ...]:
        states, *parameters = ctx.saved_tensors
        (upstream,) = outputs
        sizes = [p.numel() for p in parameters]
        a, total = upstream[-1], states.new_zeros(sum(sizes))
        slope = partial(_augmented_slopes, ctx.f, parameters, states[0].shape)
        for k in range(len(ctx.times) - 1, 0, -1):
            # Every piece starts from the state that the way there has found, so that errors do not add up.
            start = torch.cat([states[k].reshape(-1), a.reshape(-1), total])
            augmented = _between(slope, start, ctx.times[k], ctx.times[k - 1], ctx.steps, ctx.method)
            n = states[0].numel()
            a, total = augmented[n : 2 * n].view_as(a) + upstream[k - 1], augmented[2 * n :]
        gradients = [part.view_as(p) for part, p in zip(total.split(sizes), parameters)]
        return (None, a, None, None, None, *gradients)


def _augmented_slopes(
    f: nn.Module, parameters: Sequence[Tensor], shape: torch.Size, t: float, augmented: Tensor
) -> Tensor:
    """Slopes of state, adjoint and gradient, put one after the other."""
    n = shape.numel()
    y, a = augmented[:n].view(shape), augmented[n : 2 * n].view(shape)
    with torch.enable_grad():
        y = y.detach().requires_grad_()
        value = f(t, y)
        moved = torch.autograd.grad(value, (y, *parameters), a, allow_unused=True, materialize_grads=True)
    return torch.cat([value.detach().reshape(-1), *(-part.reshape(-1) for part in moved)])


class NeuralODE(NeuralEstimator):
    """A law of motion learned from trajectories.

    ``X`` is (trajectories, times, d). ``y`` are the times at which it was seen, (times,) for all trajectories or
    (trajectories, times), at any distances; without them the states were seen every ``interval``. Training looks at
    windows of ``window`` intervals: the state at their start is integrated and compared with the rest.
    ``predict(y0, times)`` goes on as far as asked.

    Examples
    --------
    >>> t = 0.1 * np.arange(40)
    >>> circle = np.stack([np.cos(t), np.sin(t)], axis=1)[None]
    >>> model = NeuralODE(interval=0.1, max_iter=60, random_state=0).fit(circle)
    >>> model.predict(circle[:, 0], t).shape
    (1, 40, 2)
    """

    hidden_layer_sizes: Sequence[int] | int = parameter((32,), LAYER_SIZES, "Units of each hidden layer of the slope.")
    _: KW_ONLY
    activation: str | Activation = parameter("tanh", ACTIVATION, "Activation function of the hidden units.")
    interval: float = parameter(
        1.0, Number(above=0), "Time between two rows of a trajectory, where fit is given no times."
    )
    window: int = parameter(5, Integer(low=1), "Intervals that a training window covers.")
    steps: int = parameter(2, Integer(low=1, high=1_000), "Steps of the solver per interval.")
    method: str = parameter("rk4", Choice(*EXPLICIT), "Method of the solver.")
    gradient: str = parameter("backprop", Choice("backprop", "adjoint"), "How gradients pass the solver.")
    learning_rate_init: float = default(0.01)
    solver: str | Rule = parameter(
        "adam",
        solvers("lbfgs", *OPTIMIZERS),
        "Optimizer; 'lbfgs' takes all windows at every step.",
    )
    learning_rate: str | RateSchedule = parameter(
        "cosine", learning_rates("constant", "cosine"), "Schedule of the learning rate."
    )
    alpha: float = parameter(0.0, Number(low=0), "Strength of the L2 penalty on matrices.")

    interval_: float = attribute(
        Real(low=1e-300, finite=True), "The usual time between two rows of a trajectory of the fit."
    )
    network_: dict[str, Any] = attribute(SLOPE_NETWORK)
    _stored_rules = (slope_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from the trajectories ``X`` seen at the times ``y``, yielding records; ``state`` continues a fit."""
        self._check_parameters()
        X = _states(X)
        X = X[None] if X.ndim == 2 and np.ndim(y) == 1 and len(y) == len(X) else X  # one trajectory with its times
        if X.ndim != 3 or not X.size or X.shape[1] <= self.window:
            raise ValueError(
                f"NeuralODE: X must be trajectories (n, times, d) of more than window={self.window} times; "
                f"got shape {X.shape}."
            )
        self.n_features_in_ = X.shape[2]
        sizes = [X.shape[2], *layer_sizes(self.hidden_layer_sizes), X.shape[2]]
        network = {"sizes": sizes, "activation": describe("NeuralODE: activation", self.activation, ACTIVATIONS)}
        if self._goes_on() and network != self.network_:
            raise ValueError("NeuralODE: warm_start must go on with the same network.")
        self.network_ = network
        lengths = self._lengths(y, X.shape[:2])
        self.interval_ = float(np.median(lengths))
        starts = np.arange(X.shape[1] - self.window)
        windows = np.concatenate([X[:, s : s + self.window + 1] for s in starts])
        apart = np.concatenate([lengths[:, s : s + self.window] for s in starts]).astype(np.float32)
        seed = self._seed(state)
        train, valid = self._split(len(windows), seed)
        regular = np.allclose(lengths, self.interval_, rtol=SAME_INTERVAL)
        rows = TensorRows.of(windows) if regular else TensorRows.of(windows, apart)
        yield from self._train(self._objective(regular), rows, train, valid, seed=seed, state=state)

    def _lengths(self, times: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The time between every row of a trajectory and the next, (trajectories, times - 1)."""
        if times is None:
            return np.full((shape[0], shape[1] - 1), float(self.interval))
        given = finite("NeuralODE", "y", times)
        if given.shape not in (shape, shape[1:]):
            raise ValueError(
                f"NeuralODE: y must be the times of the rows of X, of shape {shape[1:]} or {shape}; got shape "
                f"{given.shape}."
            )
        lengths = np.diff(np.broadcast_to(given, shape), axis=1)
        if not (lengths > 0).all():
            raise ValueError("NeuralODE: y must be times that grow from row to row.")
        if self.gradient == "adjoint" and not np.allclose(lengths, np.median(lengths), rtol=SAME_INTERVAL):
            raise ValueError("NeuralODE: gradient must be 'backprop' for times at unequal distances; got 'adjoint'.")
        return lengths

    def _objective(self, regular: bool) -> Objective:
        """Squared error of the states of a window, which are seen every ``interval_`` or at times of their own."""
        times = [k * self.interval_ for k in range(self.window + 1)]
        solve = integrate if self.gradient == "backprop" else integrate_adjoint

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            states = batch[0]
            if regular:
                predicted = solve(module, states[:, 0], times, self.steps, self.method)
            else:
                predicted = integrate_apart(module, states[:, 0], batch[1], self.steps, self.method)
            return {"loss": squared_error(predicted.transpose(0, 1), states).mean(dim=(1, 2))}

        return objective

    def predict(self, X: Any, times: Any = None) -> np.ndarray:
        """States (n, times, d) at ``times``, the first of which is where the rows of ``X`` (n, d) hold.

        From trajectories (n, times, d) their first states go on; their own times are the default.
        """
        check_is_fitted(self)
        X = _states(X)
        if X.ndim not in (2, 3) or not X.size or X.shape[-1] != self.n_features_in_:
            raise ValueError(
                f"NeuralODE: X must be states (n, {self.n_features_in_}) or trajectories (n, times, "
                f"{self.n_features_in_}); got shape {X.shape}."
            )
        if times is None:
            if X.ndim == 2:
                raise ValueError("NeuralODE: times must be given where X has states and not trajectories.")
            times = self.interval_ * np.arange(X.shape[1])
        start = self._to_device(np.ascontiguousarray(X[:, 0] if X.ndim == 3 else X))
        with torch.inference_mode(), torch_threads(1):
            times = _times(times)
            most = max((abs(b - a) for a, b in pairwise(times)), default=0.0)
            steps = max(1, int(np.ceil(self.steps * self._intervals(most))))
            return integrate(self._ready_module(), start, times, steps, self.method).transpose(0, 1).numpy(force=True)

    def _intervals(self, most: float) -> float:
        """How many intervals fit between two times that are asked for; refused where steps would go on for hours."""
        count = most / self.interval_
        if not count <= MOST_INTERVALS:
            raise ValueError(
                f"NeuralODE: times must be at most {MOST_INTERVALS} intervals of {self.interval_} apart; got {most}."
            )
        return count

    def score(self, X: Any, y: Any = None) -> float:
        """R^2 of trajectories predicted from their first states: 1 where they agree, 0 as good as their mean.

        ``y`` are the times at which all of them were seen, as in fit, where they are not those of ``interval_``. States
        that never change have no variance to explain: 1 if they are predicted exactly, 0 otherwise.
        """
        X = finite("NeuralODE", "X", X)
        X = X[None] if X.ndim == 2 and np.ndim(y) == 1 and len(y) == len(X) else X
        predicted = (
            self.predict(X, y)
            if np.ndim(y) < 2
            else np.concatenate([self.predict(row[None], times) for row, times in zip(X, y, strict=True)])
        )
        errors, around = np.square(predicted - X).sum(), np.square(X - X.mean(axis=(0, 1))).sum()
        return float(1 - errors / around) if around else float(errors == 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True
        return tags

    def _network(self) -> nn.Module:
        return SlopeNetwork(**self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # a step of the solver counts for several passes, so the work is counted


def _states(X: Any) -> np.ndarray:
    """Finite numbers in the precision of the network."""
    X = finite("NeuralODE", "X", X)
    check_magnitude("NeuralODE", "X", X, LARGEST_STATE)
    return X.astype(np.float32)


def _times(times: Any) -> list[float]:
    found = finite("NeuralODE", "times", times)
    if found.ndim != 1 or not found.size:
        raise ValueError(f"NeuralODE: times must be a list of numbers, at least one; got shape {found.shape}.")
    return [float(t) for t in found]
