"""What estimators of games share: how a player moves, when a game has diverged, and what a game cannot take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.records import Record
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.training import RowBatches, rate_schedule
from margin.neural.training.stopping import Patience

__all__ = ["GameEstimator", "no_objective"]

LARGEST_LOSS = 1e6  # a mean log-odds, or a distance in deviations of the data, that no game comes back from


class GameEstimator(NeuralEstimator):
    """An estimator whose network has the players ``discriminator`` and ``generator``."""

    _whole_batch = "its players see a whole batch"

    def _moves(self, batches: RowBatches, n_rows: int, factor: float = 1.0, updates: int = 1) -> dict[str, Any]:
        """How a player moves: ``updates`` per batch, with ``factor`` times the learning rate."""
        schedule = rate_schedule(
            self.learning_rate,
            factor * self.learning_rate_init,
            steps=updates * self.max_iter * batches.steps_per_epoch,
            warmup=self.warmup,
            steps_per_epoch=updates * batches.steps_per_epoch,
            n_rows=n_rows,
            power=self.power_t,
        )
        return {"rule": self._rule(), "schedule": schedule, "updates": updates, "clip_norm": self.clip_norm}

    def _refuse_diverged(self, record: Record) -> None:
        loss = record["discriminator_loss"]
        if abs(loss) > LARGEST_LOSS:
            raise FloatingPointError(
                f"{type(self).__name__}: the loss of the discriminator is {loss:.3g} after {record.iteration} steps, "
                f"the game has diverged; {self._remedies()} keeps it bounded."
            )

    def _remedies(self) -> str:
        return "a smaller learning_rate_init, a penalty or a clip_norm"

    def _go_back(self, before: Mapping[str, Any]) -> None:
        for name in [*self._learned_attributes(), "_module"]:  # a game that diverged is no model
            self.__dict__.pop(name, None)
        super()._go_back(before)

    def _patience(self, validates: bool) -> Patience | None:
        return None  # neither loss falls as the game gets better

    def _check_parameters(self) -> None:
        super()._check_parameters()
        owner = type(self).__name__
        if self.early_stopping:
            raise ValueError(
                f"{owner}: early_stopping must be False, since neither loss says how good the game is; got True."
            )
        if self._rate_schedule().plateau is not None:
            raise ValueError(
                f"{owner}: learning_rate must not wait for a plateau, since neither loss says when to lower it; got "
                f"{self.learning_rate!r}."
            )
        if self.alpha and self._penalty():
            raise ValueError(
                f"{owner}: alpha must be 0 for solver {self.solver!r}; 'adamw', 'lion' and 'muon' take it."
            )


def no_objective(*_: Any) -> Any:
    raise AssertionError("a game has an objective per player")
