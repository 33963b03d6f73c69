r"""Physics-informed networks: a network is a solution when it leaves nothing of the equation and of its conditions.

.. math:: L = \frac1{N_u} \sum_{i=1}^{N_u} |u(x_u^i) - u^i|^2 + \frac1{N_f} \sum_{i=1}^{N_f} |f(x_f^i)|^2

with the residual :math:`f` by automatic differentiation. Unknown coefficients of the equation are learned beside the
weights, from conditions that hold measurements.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.domains import Function, Integer, Number, Optional, Options
from margin.core.domains import Sequence as SequenceOf
from margin.core.domains.base import Domain, says_none
from margin.core.invariants import Real
from margin.core.notices import warn_user
from margin.core.number_range import require_squares
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.targets import numeric_target
from margin.core.threads import torch_threads
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import FitLoop, NeuralEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, OPTIMIZERS, layer_sizes, solvers
from margin.neural.parts import describe
from margin.neural.training import Patience, QuasiNewton, RowBatches, Rows, Step, TensorRows, Training
from margin.neural.training.compute import Compute
from margin.neural.training.steps import Objective
from margin.optimize.rules import Rule
from margin.physics.levenberg_marquardt import LevenbergMarquardt
from margin.physics.residuals import Known, equations
from margin.physics.solution_network import SolutionLoss, SolutionNetwork, pinn_loss
from margin.physics.stored import COEFFICIENTS, SOLUTION_NETWORK, solution_is_stored

__all__ = ["PINN", "Condition", "pinn_loss"]

SECOND_ORDER = ("lbfgs", "levenberg-marquardt")  # solvers that know by themselves when to end
MEMORY = 50  # pairs of the quasi-Newton method: residuals are ill-conditioned, and a pair costs little beside them


@dataclass(frozen=True, eq=False)
class Condition:
    """Values that the solution has at points (n, d): initial, boundary or measured; one column per unknown function.

    With an ``operator(u, x)``, written like a residual, they are values of what it makes of the solution: the slope at
    a wall that lets nothing through is ``Condition(points, zeros, lambda u, x: derivative(u, x, 0))``.
    """

    points: np.ndarray
    values: np.ndarray
    operator: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        points, values = np.asarray(self.points, dtype=np.float64), np.asarray(self.values, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if points.ndim != 2 or values.ndim != 2 or len(points) != len(values):
            raise ValueError(
                f"Condition: points must be (n, d) and values (n,) or (n, k); got {points.shape} and {values.shape}."
            )
        if self.operator is not None and not callable(self.operator):
            raise ValueError(f"Condition: operator must be a function of u and x, or None; got {self.operator!r}.")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)


@dataclass(frozen=True)
class Conditions(Domain):
    """None, one condition or several."""

    description = "None, a Condition or a list of them"

    def accepts(self, value: Any) -> bool:
        listed = [value] if isinstance(value, Condition) or value is None else value
        return isinstance(listed, Sequence) and all(isinstance(item, Condition) or item is None for item in listed)

    def type_text(self) -> str:
        return "Condition, list of Condition or None"

    def schema(self) -> dict[str, Any]:
        return {"type": "null"}

    def parse(self, text: str, build: Any = None) -> None:
        if not says_none(text):
            raise ValueError(f"{text!r} is not None; conditions are given in Python.")

    def wrong(self) -> list[Any]:
        return ["a string", 3]


class PINN(RegressorMixin, NeuralEstimator):
    """A network that solves a differential equation given by its residual and its conditions.

    ``fit(X)`` takes the collocation points (n, d), the rows at which the residual is to vanish; the box around them and
    the conditions is the domain. ``fit(X, y)`` adds measured values ``y`` at these points to the conditions.
    ``residual(u, x, **coefficients)`` is written with torch: ``u`` (n, outputs) is the network at ``x`` (n, d), and
    :mod:`margin.physics.derivatives` has its derivatives. Float64 points make a network in float64, in which the
    quasi-Newton method goes several digits further.

    A model file holds the solution and not the equation: what is loaded predicts, and is given its residual and
    conditions again before it is fitted anew.

    Examples
    --------
    >>> from margin.physics.derivatives import derivative
    >>> decay = PINN(lambda u, x: derivative(u, x, 0) + u[:, 0], Condition([[0.0]], [1.0]), random_state=0)
    >>> t = np.linspace(0, 1, 20)[:, None]
    >>> bool(np.abs(decay.fit(t).predict(t) - np.exp(-t[:, 0])).max() < 1e-3)
    True
    """

    _whole_batch = "its conditions hold for a batch as a whole"

    residual: Callable[..., Any] | None = parameter(
        None,
        Optional(Function("the network's values, the points and the coefficients")),
        "What the equation leaves of u at points x; None: only the conditions are fitted.",
    )
    conditions: Any = parameter(None, Conditions(), "Where which values are known: initial, boundary, measured.")
    _: KW_ONLY
    coefficients: dict[str, float] | None = parameter(
        None, Optional(Options()), "Unknown numbers of the equation by name, and where their search starts."
    )
    n_outputs: int = parameter(1, Integer(low=1), "Unknown functions.")
    periods: Sequence[float | None] | None = parameter(
        None,
        Optional(SequenceOf(Optional(Number(above=0)), min_length=1)),
        "Period of the solution in each coordinate, None where it has none; the network has it by construction.",
    )
    hidden_layer_sizes: Sequence[int] | int = parameter((20, 20, 20), LAYER_SIZES, "Units of each hidden layer.")
    activation: str | Activation = parameter("tanh", ACTIVATION, "Function of the hidden units; it must be smooth.")
    condition_weight: float = parameter(1.0, Number(above=0), "Weight of the conditions against the residual.")
    solver: str | Rule = parameter(
        "lbfgs",
        solvers("lbfgs", "levenberg-marquardt", *OPTIMIZERS),
        "Optimizer; 'lbfgs' takes all points at every step, and so does 'levenberg-marquardt' unless batch_size says "
        "less; the latter is for some thousand weights at most and for derivatives up to the second.",
    )
    alpha: float = parameter(0.0, Number(low=0), "Strength of the L2 penalty on matrices.")
    max_iter: int = default(1000)
    tol: float = default(1e-8)

    _python_only = frozenset({"residual", "conditions"})  # code and data that a model file leaves out

    coefficients_: dict[str, float] = attribute(COEFFICIENTS, "The learned coefficients by name.")
    residual_loss_: float = attribute(
        Real(low=0.0, finite=True), "Mean square of the residual over the points of the last fit."
    )
    condition_loss_: float = attribute(Real(low=0.0, finite=True), "Mean square of the misfit at the conditions.")
    network_: dict[str, Any] = attribute(SOLUTION_NETWORK)
    _stored_rules = (solution_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from collocation points, yielding records with both parts of the loss; ``state`` continues exactly."""
        self._check_parameters()
        X, y = self._points(X, y)
        conditions = self._conditions(X, y)
        self._describe(X, conditions)
        place, tensor = self._compute().tensor, _tensor(X.dtype)
        residual = self.residual or _nothing
        known = [Known(place(tensor(item.points)), place(tensor(item.values)), item.operator) for item in conditions]
        objective = SolutionLoss(residual, known, self.condition_weight)
        seed = self._seed(state)
        train, valid = self._split(len(X), seed)
        for record in self._train(objective, TensorRows.of(X), train, valid, seed=seed, state=state):
            self._keep(record)
            yield record

    def predict(self, X: Any) -> np.ndarray:
        """The solution at points: (n,), or (n, outputs) where there are several functions."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        values = self._evaluate(self._ready_module(), X)
        return values[:, 0] if self.network_["sizes"][-1] == 1 else values

    def evaluate_residual(self, X: Any) -> np.ndarray:
        """What the equation leaves of the solution at points: where it is large, more points help."""
        module = self._ready_module()
        assert isinstance(module, SolutionNetwork)
        if self.residual is None:
            raise ValueError("PINN: residual must be a function to be evaluated; got None.")
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        x = self._to_device(np.array(X)).requires_grad_()
        with torch_threads(1):
            parts = equations(self.residual(module(x), x, **dict(module.coefficients.items())), len(x))
        return torch.stack([part.detach().reshape(-1).square() for part in parts]).sum(dim=0).sqrt().numpy(force=True)

    def _points(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Collocation points, and values (n, outputs) that were measured there."""
        floats = [np.float64, np.float32]
        if y is None:
            return validate_data(self, X, dtype=floats, order="C", reset=True), None
        rules = {"dtype": floats, "order": "C", "reset": True, "y_numeric": True, "multi_output": self.n_outputs > 1}
        X, y = validate_data(self, X, numeric_target(self, y), **rules)
        y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        require_squares("PINN", "y", y)
        return X, y

    def _conditions(self, X: np.ndarray, y: np.ndarray | None) -> list[Condition]:
        given = self.conditions if isinstance(self.conditions, Sequence) else [self.conditions]
        conditions = [item for item in given if item is not None]
        conditions += [] if y is None else [Condition(X, y)]
        for item in conditions:
            columns = item.values.shape[1] if item.operator is not None else self.n_outputs
            if item.points.shape[1] != X.shape[1] or item.values.shape[1] != columns:
                raise ValueError(
                    f"PINN: conditions must have {X.shape[1]} coordinates and {columns} values per point; "
                    f"got {item.points.shape[1]} and {item.values.shape[1]}."
                )
        if not conditions and self.residual is None:
            raise ValueError("PINN: needs a residual, conditions or measured values y; got none of them.")
        return conditions

    def _refuse_other_coefficients(self) -> None:
        """Coefficients are handed to the residual by name: one that it does not take, or lacks, is a slip."""
        if self.residual is None:
            return
        try:
            inspect.signature(self.residual).bind(None, None, **(self.coefficients or {}))
        except TypeError as problem:
            names = ", ".join(self.coefficients or {}) or "none"
            raise ValueError(
                f"PINN: coefficients must be what residual takes after u and x; got {names}, and {problem}."
            ) from None
        except ValueError:  # a function of C that does not say what it takes
            return

    def _describe(self, X: np.ndarray, conditions: Sequence[Condition]) -> None:
        self._refuse_other_coefficients()
        periods = [None] * X.shape[1] if self.periods is None else list(self.periods)
        if len(periods) != X.shape[1]:
            raise ValueError(f"PINN: periods must have an entry for each of {X.shape[1]} coordinates; got {periods}.")
        everything = np.concatenate([X, *(item.points for item in conditions)]).astype(np.float64)
        low, high = everything.min(axis=0), everything.max(axis=0)
        high = np.where(high > low, high, low + 1)
        network: dict[str, Any] = {
            "sizes": [X.shape[1], *layer_sizes(self.hidden_layer_sizes), int(self.n_outputs)],
            "activation": describe("PINN: activation", self.activation, ACTIVATIONS),
            "coefficients": {name: float(value) for name, value in (self.coefficients or {}).items()},
        }
        if any(periods):
            network["periods"] = [None if period is None else float(period) for period in periods]
        if self._goes_on():  # in the box of the first fit, so that the weights mean the same
            if {name: value for name, value in self.network_.items() if name not in ("low", "high")} != network:
                raise ValueError("PINN: warm_start must go on with the same network and coefficients.")
            return
        self.network_ = {**network, "low": low.tolist(), "high": high.tolist()}

    def _keep(self, record: Record) -> None:
        names = self.network_["coefficients"]
        self.coefficients_ = {name: float(self.weights_[f"coefficients.{name}"]) for name in names}
        self.residual_loss_, self.condition_loss_ = float(record["residual_loss"]), float(record["condition_loss"])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def _network(self) -> nn.Module:
        return SolutionNetwork(**self.network_)

    def _compute(self) -> Compute:
        """Levenberg-Marquardt solves its equations by LAPACK, so it computes on the CPU."""
        if self.solver != "levenberg-marquardt" or self.batch_parts is not None:
            return super()._compute()
        if self.device not in ("auto", "cpu"):
            raise ValueError(
                f"PINN: device must be 'cpu' or 'auto' with solver 'levenberg-marquardt'; got {self.device!r}."
            )
        return Compute.of("PINN", "cpu", self.precision)

    def _follow(self, training: Training, loop: FitLoop) -> Iterator[Record]:
        yield from super()._follow(training, loop)
        if self.solver in SECOND_ORDER and not training.step.converged and training.epoch >= training.plan.epochs:
            warn_user(f"PINN: the loss still falls after max_iter={self.max_iter} iterations.", ConvergenceWarning)

    def _patience(self, validates: bool) -> Patience | None:
        return super()._patience(validates) if validates or self.solver not in SECOND_ORDER else None

    def _step(self, module: nn.Module, objective: Objective, rows: Rows, seeds: Any) -> tuple[Step, RowBatches]:
        if self.solver not in SECOND_ORDER:
            return super()._step(module, objective, rows, seeds)
        size = len(rows) if self.solver == "lbfgs" or self.batch_size == "auto" else int(self.batch_size)
        batches = RowBatches(rows, size, seeds.order)
        if self.solver == "lbfgs":
            return QuasiNewton(
                module, objective, memory=MEMORY, tol=self.tol, penalty=self.alpha, seed=seeds.noise,
                compute=self._compute(),
            ), batches  # fmt: skip
        assert isinstance(objective, SolutionLoss)
        assert isinstance(module, SolutionNetwork)
        problem = objective.least_squares(module, self._compute().batch(rows.batch(slice(0, len(rows)))).tensors[0])
        batched = size < len(rows)
        return LevenbergMarquardt(module, problem, tol=self.tol, penalty=self.alpha, batched=batched), batches


def _nothing(u: Tensor, x: Tensor, **_: Any) -> Tensor:
    return (u * 0).sum(dim=1) + 0 * x[:, 0]


def _tensor(dtype: Any) -> Callable[[np.ndarray], Tensor]:
    return lambda array: torch.from_numpy(np.array(array, dtype=dtype))
