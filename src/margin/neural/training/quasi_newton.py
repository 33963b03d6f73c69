r"""L-BFGS on the weights of a network: for smooth objectives on one fixed batch, where it converges far beyond Adam.

.. math:: \theta \leftarrow \theta - \alpha_t H_t \nabla L(\theta)

with :math:`H_t` from the last pairs of steps and gradient changes, and :math:`\alpha_t` from a search for the strong
Wolfe conditions (:mod:`margin.optimize`). One step is one iteration.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from margin.neural.generators import generator_array, load_generator
from margin.neural.layers.dropout import use_generator
from margin.neural.training.batches import Batch
from margin.neural.training.compute import Compute
from margin.neural.training.meter import Mean
from margin.neural.training.optimizers import decayed_names
from margin.neural.training.steps import Objective, Step, measure
from margin.neural.weights import copy_weights, load_weights
from margin.optimize.line_searches import Probe, strong_wolfe

__all__ = ["QuasiNewton"]

CURVATURE_FLOOR = 1e-10  # y.s must exceed this fraction of |y||s|: below it the curvature seen is rounding


class CurvaturePair(NamedTuple):
    """A step s and the change y of the gradient along it."""

    s: Tensor
    y: Tensor


class QuasiNewton(Step):
    r"""Lowers the loss of ``objective`` plus :math:`\frac{\alpha}{2n}\|W\|^2` (``penalty``, on matrices).

    It is ``converged`` when the largest entry of the gradient is at most ``tol``, no step lowers the loss any more, or
    ``max_evaluations`` of the loss are spent. Noise in the objective is the same at every evaluation. A new batch keeps
    the curvature that was learned on the old one.
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        *,
        memory: int = 10,
        tol: float = 1e-5,
        penalty: float = 0.0,
        max_evaluations: int | None = None,
        seed: int = 0,
        compute: Compute | None = None,
    ):
        self.module, self.objective, self.modules = module, objective, {"network": module}
        self.tol, self.penalty, self.max_evaluations = tol, penalty, max_evaluations
        self.noise = (compute or Compute()).generator(seed)
        use_generator(module, self.noise)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        decayed = decayed_names(module)
        self._decayed = parameters_to_vector(
            [torch.full_like(p, float(name in decayed)) for name, p in module.named_parameters() if p.requires_grad]
        )
        self.pairs: deque[CurvaturePair] = deque(maxlen=memory)
        self.evaluations = 0
        self.batch_number: int | None = None
        self.value = 0.0
        self.gradient = torch.zeros_like(self._decayed)
        self.means: dict[str, Mean] = {}
        self.alpha = 0.0

    @property
    def result(self) -> nn.Module:
        return self.module

    @property
    def spent(self) -> bool:
        """Whether the evaluations ended before the gradient was small."""
        return self._no_evaluation_left() and float(self.gradient.abs().max()) > self.tol

    def _no_evaluation_left(self) -> bool:
        return self.max_evaluations is not None and self.evaluations >= self.max_evaluations

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        x = parameters_to_vector(self.parameters).detach()
        if self.batch_number != batch.number:
            self.value, self.gradient = self._evaluate(x, batch)
            self.batch_number = batch.number
        accepted, direction = self._search(x, batch)
        if accepted is None:
            write_parameters(x, self.parameters)  # the last probe stands elsewhere
            self.value, self.gradient = self._evaluate(x, batch)
            self.converged, self.alpha = True, 0.0
            return self.means
        s = accepted.alpha * direction
        y: Any = accepted.gradient - self.gradient
        if float(s @ y) > CURVATURE_FLOOR * float(s.norm() * y.norm()):
            self.pairs.append(CurvaturePair(s, y))
        self._move(x, accepted, direction, batch)
        self.converged = self._no_evaluation_left() or float(self.gradient.abs().max()) <= self.tol
        return self.means

    def rates(self) -> dict[str, float]:
        return {"step_size": self.alpha}

    def _move(self, x: Tensor, accepted: Probe, direction: Tensor, batch: Batch) -> None:
        target = x + accepted.alpha * direction
        if self._latest is not accepted:  # the search returned a point that is not the one it looked at last
            self._evaluate(target, batch)
        self.value, self.gradient, self.alpha = accepted.value, accepted.gradient, float(accepted.alpha)  # type: ignore[assignment]

    def _search(self, x: Tensor, batch: Batch) -> tuple[Probe | None, Tensor]:
        """A step along the quasi-Newton direction, or else along the gradient with the curvature forgotten."""
        direction = -two_loop(self.gradient, self.pairs)
        accepted = self._line(x, direction, batch)
        if accepted is None and self.pairs:
            self.pairs.clear()
            direction = -self.gradient
            accepted = self._line(x, direction, batch)
        return accepted, direction

    def _line(self, x: Tensor, direction: Tensor, batch: Batch) -> Probe | None:
        slope = float(self.gradient @ direction)
        if not slope < 0:
            return None

        def probe(alpha: float) -> Probe:
            value, gradient = self._evaluate(x + alpha * direction, batch)
            self._latest = Probe(alpha, value, float(gradient @ direction), gradient)  # type: ignore[arg-type]
            return self._latest

        # Nothing is known of the scale at first: move a unit at most. Afterwards the natural step is 1.
        first = 1.0 if self.pairs else min(1.0, 1 / float(direction.norm()))
        return strong_wolfe(probe, Probe(0.0, self.value, slope, self.gradient), first=first)  # type: ignore[arg-type]

    def _evaluate(self, x: Tensor, batch: Batch) -> tuple[float, Tensor]:
        """Loss and gradient at ``x``, always with the same noise."""
        self.evaluations += 1
        write_parameters(x, self.parameters)
        before = self.noise.get_state()
        terms = self.objective(self.module, batch.tensors, self.noise)
        self.noise.set_state(before)
        self.means = {name: Mean(mean.total.detach(), mean.mass) for name, mean in measure(terms, batch).items()}
        loss = terms["loss"]
        if not (isinstance(loss, Tensor) and loss.ndim == 0):
            mean = measure(terms, batch)["loss"]
            loss = mean.total / mean.mass
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True, materialize_grads=True)
        gradient = parameters_to_vector(list(gradients))
        value = float(loss.detach())
        if self.penalty:
            shrink = self.penalty / float(self.means["loss"].mass) * self._decayed * x
            value, gradient = value + 0.5 * float(shrink @ x), gradient + shrink
        return value, gradient

    def state(self) -> dict[str, Any]:
        return {
            "weights": copy_weights(self.module),
            "noise": generator_array(self.noise),
            "s": [pair.s.cpu().numpy().copy() for pair in self.pairs],
            "y": [pair.y.cpu().numpy().copy() for pair in self.pairs],
            "gradient": self.gradient.cpu().numpy().copy(),
            "value": self.value,
            "batch_number": self.batch_number,
            "evaluations": self.evaluations,
            "converged": self.converged,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_weights(self.module, state["weights"])
        load_generator(self.noise, state["noise"])

        def tensor(array: Any) -> Tensor:
            return torch.from_numpy(np.array(array)).to(self.gradient.device)

        self.pairs.clear()
        self.pairs.extend(CurvaturePair(tensor(s), tensor(y)) for s, y in zip(state["s"], state["y"]))
        self.gradient, self.value = tensor(state["gradient"]), float(state["value"])
        self.batch_number, self.evaluations = state["batch_number"], int(state["evaluations"])
        self.converged = bool(state["converged"])


def write_parameters(x: Tensor, parameters: Sequence[nn.Parameter]) -> None:
    """The entries of ``x`` in the memory of ``parameters``, which the arrays of the weights share."""
    with torch.no_grad():
        for parameter, part in zip(parameters, x.split([p.numel() for p in parameters])):
            parameter.copy_(part.view_as(parameter))


def two_loop(gradient: Tensor, pairs: deque[CurvaturePair]) -> Tensor:
    """H gradient for the inverse Hessian that the stored pairs stand for, newest last.

    >>> two_loop(torch.ones(2), deque([CurvaturePair(torch.ones(2), 2 * torch.ones(2))]))
    tensor([0.5000, 0.5000])
    """
    q = gradient.clone()
    weights = []
    for s, y in reversed(pairs):
        weight = (s @ q) / (s @ y)
        q -= weight * y
        weights.append(weight)
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), weight in zip(pairs, reversed(weights)):
        q += (weight - (y @ q) / (s @ y)) * s
    return q
