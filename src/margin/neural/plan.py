"""How to train, independent of what is trained: the parameters that every network estimator shares."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from margin.core.domains import Choice, Domain, Flag, Integer, Number, Optional, Seed
from margin.neural.optimizers import OPTIMIZERS
from margin.neural.schedules import SCHEDULES

__all__ = ["TRAINING", "Plan"]

# The training parameters of an estimator, in the order of its signature, after those of its network.
TRAINING: dict[str, Domain] = {
    "optimizer": Choice(*OPTIMIZERS),
    "learning_rate": Number(above=0, search=(1e-4, 3e-2), log=True),
    "momentum": Number(low=0, below=1),
    "weight_decay": Number(low=0, search=(1e-6, 1e-1), log=True),
    "schedule": Choice(*SCHEDULES),
    "warmup": Number(low=0, below=1),
    "batch_size": Integer(low=1, search=(16, 256), log=True),
    "epochs": Integer(low=1),
    "clip_norm": Optional(Number(above=0)),
    "early_stopping": Flag(),
    "validation_fraction": Number(above=0, below=1),
    "n_iter_no_change": Integer(low=1),
    "tol": Number(low=0),
    "random_state": Seed(),
}


@dataclass(frozen=True)
class Plan:
    """What the trainer needs to know.

    ``momentum`` acts for SGD only. ``warmup`` is the share of all updates in which the learning rate rises to its
    full value. ``clip_norm`` bounds the Euclidean norm of the whole gradient. ``n_iter_no_change`` and ``tol`` act
    when there are validation rows.
    """

    optimizer: str = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup: float = 0.0
    batch_size: int = 64
    epochs: int = 100
    clip_norm: float | None = None
    n_iter_no_change: int = 10
    tol: float = 1e-4

    @classmethod
    def of(cls, estimator: Any) -> Plan:
        """The plan in the parameters of ``estimator``."""
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
