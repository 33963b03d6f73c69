"""The step of most networks: one objective, one optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from margin.neural.generators import generator_array, load_generator
from margin.neural.layers.dropout import use_generator
from margin.neural.regularizers.regularizer import Regularizer
from margin.neural.training.averages import WeightAverage
from margin.neural.training.batches import Batch
from margin.neural.training.compute import Compute
from margin.neural.training.descent import GradientDescent
from margin.neural.training.gradient_parts import GradientParts, part_seed
from margin.neural.training.meter import Mean
from margin.neural.training.steps import Objective, Step, Terms
from margin.neural.training.written_perceptron import written_gradient
from margin.optimize.rules import Adam, Rule
from margin.optimize.schedules import Schedule

__all__ = ["Minimize"]


class Minimize(Step):
    """Lowers the ``"loss"`` of ``objective``: per row, a scalar, or a :class:`Mean` with a count of its own.

    ``rule`` is how it moves, Adam by default. ``seed`` starts the stream of noise that the objective and the layers of
    :mod:`margin.neural.layers` draw from.
    Where ``compute`` cuts a batch into parts, every part has a stream of its own instead.
    ``average`` (a decay such as 0.999) keeps an exponential average of the weights, which is then the result. The other
    options are those of :class:`GradientDescent`.
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        rule: Rule | None = None,
        *,
        schedule: Schedule | float = 1e-3,
        seed: int = 0,
        clip_norm: float | None = None,
        accumulate: int = 1,
        penalty: float = 0.0,
        regularizer: Regularizer | None = None,
        average: float | None = None,
        compute: Compute | None = None,
    ):
        self.compute = compute or Compute()
        self.module, self.objective, self.seed = module, objective, seed
        self.modules = {"network": module}
        self.descent = GradientDescent(
            module, rule or Adam(), schedule,
            clip_norm=clip_norm, accumulate=accumulate, penalty=penalty, regularizer=regularizer,
            parts=self._parts(),
        )  # fmt: skip
        self.noise = self.compute.generator(seed)
        use_generator(module, self.noise)
        self.average = None if average is None else WeightAverage(module, average)
        self.written = None if self.compute.autocast is not None else written_gradient(module, objective)

    @property
    def result(self) -> nn.Module:
        return self.module if self.average is None else self.average.module

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        means = self.descent(self._terms, batch, step, factor=self.rate_factor, written=self.written)
        if self.average is not None:
            self.average.update()
        return means

    def _parts(self) -> GradientParts | None:
        if self.compute.parts is None:
            return None
        return GradientParts(
            [p for p in self.module.parameters() if p.requires_grad],
            self.compute.parts,
            processes=self.compute.processes,
            exact=self.compute.exact,
            restart=self._restart_noise,
            statistics=list(self.module.buffers()),
        )

    def _restart_noise(self, step: int, part: int) -> None:
        seed = part_seed(self.seed, step, part)
        self.noise.manual_seed(seed)
        if self.stream is not None:
            self.stream.restart(seed)

    def _terms(self, batch: Batch) -> Terms:
        with self.compute.products():
            return self.objective(self.module, batch.tensors, self.noise)

    def rates(self) -> dict[str, float]:
        return {"learning_rate": self.descent.rate}

    def state(self) -> dict[str, Any]:
        average = None if self.average is None else self.average.state()
        return {**self.descent.state(), "noise": generator_array(self.noise), "average": average}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.descent.load_state(state)
        load_generator(self.noise, state["noise"])
        if self.average is not None:
            self.average.load_state(state["average"])
