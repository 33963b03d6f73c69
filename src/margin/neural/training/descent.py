"""One optimizer's update of one network: gradient, penalty, clipping, learning rate, move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor, nn

from margin.neural.regularizers.regularizer import Regularizer
from margin.neural.training.batches import Batch
from margin.neural.training.gradient_parts import GradientParts
from margin.neural.training.meter import Mean
from margin.neural.training.optimizers import decayed_names, load_slots, make_optimizers, own_decay, slots
from margin.neural.training.steps import Terms, measure
from margin.neural.training.timing import timed
from margin.neural.weights import copy_weights, load_weights
from margin.optimize.rules import Rule
from margin.optimize.schedules import Schedule, as_schedule

__all__ = ["GradientDescent", "clip_gradients"]


def clip_gradients(parameters: Iterable[Tensor], limit: float) -> None:
    """:func:`margin.optimize.clip_norm` of all gradients as one vector, in place; torch adds 1e-6 to the norm."""
    nn.utils.clip_grad_norm_(parameters, limit)


class GradientDescent:
    r"""Moves the weights of ``module`` by ``rule`` against the gradient of a mean loss:

    .. math:: \theta \leftarrow \theta - \eta_t\,\mathrm{direction}\Bigl(
              \nabla_\theta \frac{\sum_{i \in B} w_i\,\ell_i(\theta) + \frac\alpha2\|W\|^2}{\sum_{i \in B} w_i}\Bigr).

    ``clip_norm`` bounds the Euclidean norm of the whole gradient. ``accumulate`` computes the gradient in so many parts
    of the batch, one after the other, for batches that do not fit into memory at once: nothing is left over between
    steps, and the result is that of the whole batch up to rounding. ``penalty`` is :math:`\alpha`, on matrices only,
    and so is what a ``regularizer`` adds to the gradient or makes of the moved weights. ``parts`` computes the gradient
    in the place of ``accumulate``.
    """

    def __init__(
        self,
        module: nn.Module,
        rule: Rule,
        schedule: Schedule | float,
        *,
        clip_norm: float | None = None,
        accumulate: int = 1,
        penalty: float = 0.0,
        regularizer: Regularizer | None = None,
        parts: GradientParts | None = None,
    ):
        if accumulate < 1:
            raise ValueError(f"GradientDescent: accumulate must be an integer at least 1; got {accumulate!r}.")
        if penalty and own_decay(rule):
            raise ValueError("GradientDescent: penalty and weight_decay are the same thing twice; give one of them.")
        self.module, self.schedule = module, as_schedule(schedule)
        self.clip_norm, self.penalty = clip_norm, penalty
        # A first penalty above 0 keeps matrices and the rest in groups of their own, whatever it is later.
        self.optimizers = make_optimizers(module, rule, self.schedule(0), penalty=penalty)
        self._decayed = [g for o in self.optimizers for g in o.param_groups if g["weight_decay"]] if penalty else []
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.parts = GradientParts(self.parameters, accumulate) if parts is None and accumulate > 1 else parts
        self.regularizer = regularizer
        matrices = decayed_names(module) if regularizer is not None else set()
        self._matrices = [p for name, p in module.named_parameters() if name in matrices and p.requires_grad]
        self.rate = self.schedule(0)

    def __call__(
        self,
        terms_of: Callable[[Batch], Terms],
        batch: Batch,
        step: int,
        *,
        factor: float = 1.0,
        written: Callable[[Batch], dict[str, Mean]] | None = None,
    ) -> dict[str, Mean]:
        """Update number ``step`` from the terms of ``batch``; what was measured before it.

        ``written``, if given, sets the gradients of these terms without recording them.
        """
        self.rate = self.schedule(step) * factor
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate * group.get("rate_factor", 1.0)
        for parameter in self.parameters:
            parameter.grad = None
        if self.parts is not None:
            with timed("gradient"):
                means = self.parts(terms_of, batch, step)
        elif written is not None:
            with timed("gradient"):
                means = written(batch)
        else:
            with timed("forward"):
                terms = terms_of(batch)
            with timed("backward"):
                means = self._gradient(terms, batch)
        with timed("update"):
            self._move(means)
        return means

    def _move(self, means: Mapping[str, Mean]) -> None:
        """Change the weights by their gradients, which penalties and bounds change first."""
        if self.penalty:
            decay = self.penalty / float(means["loss"].mass)
            for group in self._decayed:
                group["weight_decay"] = decay
        if self.regularizer is not None:
            self.regularizer.add_gradient(self._matrices, float(means["loss"].mass))
        if self.clip_norm is not None:
            clip_gradients(self.parameters, self.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()
        if self.regularizer is not None:
            self.regularizer.constrain(self._matrices)

    def _gradient(self, terms: Terms, batch: Batch) -> dict[str, Mean]:
        means = measure(terms, batch)
        loss = terms["loss"]
        mean = loss if isinstance(loss, Tensor) and loss.ndim == 0 else means["loss"].total / means["loss"].mass
        mean.backward(inputs=self.parameters)
        return means

    def state(self) -> dict[str, Any]:
        return {"weights": copy_weights(self.module), "slots": slots(self.optimizers, self.module.named_parameters())}

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_weights(self.module, state["weights"])
        load_slots(self.optimizers, self.module.named_parameters(), state["slots"])
