"""When to stop: remember the best loss, how long there has been nothing better, and on request the best weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from margin.neural.weights import copy_weights, load_weights
from margin.optimize.rate_schedules import Plateau
from margin.optimize.schedules import watch_loss

__all__ = ["Patience"]


class Patience:
    """Watches the loss of every epoch; ``patience`` epochs without a gain above ``tol`` are enough.

    With ``keep_best`` the weights of the lowest loss ever seen are kept, however small the gain. A ``plateau`` lowers
    the learning rate first, and training ends when that has been done too often.
    """

    def __init__(self, patience: float, tol: float, *, keep_best: bool = True, plateau: Plateau | None = None):
        self.patience, self.tol = patience, tol
        self.keep_best, self.plateau = keep_best, plateau
        self.stale_epochs = 0
        self.rate_factor = 1.0
        self.best_loss: float | None = None
        self.best_weights: dict[str, np.ndarray] = {}

    def see(self, loss: float, module: nn.Module | None = None) -> bool:
        """Take note of an epoch; True when it is time to stop."""
        before = np.inf if self.best_loss is None else self.best_loss
        best, self.stale_epochs = watch_loss(before, self.stale_epochs, loss, tol=self.tol)
        if self.best_loss is None or best < before:
            self.best_loss = loss
            if self.keep_best and module is not None:
                self.best_weights = copy_weights(module)
        if self.stale_epochs < self.patience:
            return False
        lower = None if self.plateau is None else self.plateau.lower(self.rate_factor)
        if lower is None:
            return True
        self.rate_factor, self.stale_epochs = lower, 0
        return False

    def restore_best(self, module: nn.Module) -> None:
        if self.best_weights:
            load_weights(module, self.best_weights)

    def state(self) -> dict[str, Any]:
        return {
            "stale_epochs": self.stale_epochs,
            "rate_factor": self.rate_factor,
            "best_loss": self.best_loss,
            "best_weights": {name: array.copy() for name, array in self.best_weights.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.stale_epochs = int(state["stale_epochs"])
        self.rate_factor = float(state["rate_factor"])
        self.best_loss = state["best_loss"]
        self.best_weights = {name: np.array(array) for name, array in state["best_weights"].items()}
