"""When to stop: remember the best loss, how long there has been nothing better, and on request the best weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from margin.neural.weights import copy_weights, load_weights

__all__ = ["Patience"]

SMALLEST_RATE_FACTOR = 1e-3  # an adaptive learning rate that fell below this fraction has nothing left to try
RATE_DIVISOR = 5.0  # what an adaptive learning rate is divided by


class Patience:
    """Watches the loss of every epoch; ``patience`` epochs without a gain above ``tol`` are enough.

    With ``keep_best`` the weights of the lowest loss ever seen are kept, however small the gain. With ``adaptive`` the
    learning rate is divided by 5 first, and training ends when that has been done too often.
    """

    def __init__(self, patience: float, tol: float, *, keep_best: bool = True, adaptive: bool = False):
        self.patience, self.tol = patience, tol
        self.keep_best, self.adaptive = keep_best, adaptive
        self.stale_epochs = 0
        self.rate_factor = 1.0
        self.best_loss: float | None = None
        self.best_weights: dict[str, np.ndarray] = {}

    def see(self, loss: float, module: nn.Module | None = None) -> bool:
        """Take note of an epoch; True when it is time to stop."""
        gain = np.inf if self.best_loss is None else self.best_loss - loss
        self.stale_epochs = 0 if gain > self.tol else self.stale_epochs + 1
        if gain > 0:
            self.best_loss = loss
            if self.keep_best and module is not None:
                self.best_weights = copy_weights(module)
        if self.stale_epochs < self.patience:
            return False
        if not self.adaptive or self.rate_factor / RATE_DIVISOR < SMALLEST_RATE_FACTOR:
            return True
        self.rate_factor /= RATE_DIVISOR
        self.stale_epochs = 0
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
