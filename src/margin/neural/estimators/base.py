"""The base of estimators that learn the weights of one network with the trainer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.estimator import IterativeEstimator
from margin.core.randomness import RandomLike, seed_from
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.neural.batches import Rows, validation_split
from margin.neural.plan import Plan
from margin.neural.trainer import EVALUATION_ROWS, Objective, Score, Seeds, Trainer
from margin.neural.weights import build, forward_work, live_weights, load_weights

__all__ = ["NeuralEstimator"]


class NeuralEstimator(IterativeEstimator):
    """What is learned is ``weights_`` (arrays by name); ``network_`` holds what the network is built from.

    No fitted attribute holds a torch object. During a fit the arrays share memory with the running network, so the
    estimator is usable after every record at no cost; afterwards the network is built from them when first needed
    and kept in ``_module``, which copies and pickles leave out, like the running ``_loop``.

    A subclass sets ``network_`` in ``iterate``, builds from it in ``_network`` and hands its rows to ``_train``.
    """

    _loop: Trainer
    _module: nn.Module
    early_stopping: bool
    validation_fraction: float
    random_state: RandomLike
    network_: dict[str, Any]
    weights_: dict[str, np.ndarray]

    @abstractmethod
    def _network(self) -> nn.Module:
        """The network described by ``network_``, untrained."""

    def _seed(self, state: Mapping[str, Any] | None) -> int:
        """The one seed of this fit: a continued fit keeps the one it began with."""
        return seed_from(self.random_state) if state is None else int(state["seed"])

    def _split(self, n_rows: int, seed: int, labels: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows that train and of those that validate (none without ``early_stopping``)."""
        if not self.early_stopping:
            return np.arange(n_rows), np.arange(0)
        return validation_split(n_rows, self.validation_fraction, Seeds.of(seed).split, labels)

    def _train(
        self,
        objective: Objective,
        rows: Rows,
        train: np.ndarray,
        valid: np.ndarray,
        *,
        seed: int,
        state: Mapping[str, Any] | None,
        score: Score | None = None,
    ) -> Iterator[Record]:
        """Train a new network on the rows numbered ``train``, keeping the fitted attributes up to date."""
        held = rows.take(torch.from_numpy(valid)) if len(valid) else None
        rows = rows if np.array_equal(train, np.arange(len(rows))) else rows.take(torch.from_numpy(train))
        module = build(self._network, Seeds.of(seed).weights, rows.tensors[0].dtype)
        trainer = Trainer(module, objective, Plan.of(self), n_rows=len(rows), seed=seed, score=score)
        if state is not None:
            trainer.load_state(state)
        self.__dict__.pop("_module", None)
        self._loop = trainer
        self.weights_ = live_weights(module)
        self._note(trainer)
        for record in trainer.run(rows, held):
            self._note(trainer)
            yield record

    def _note(self, trainer: Trainer) -> None:
        self.n_iter_ = trainer.epoch
        self.loss_curve_ = list(trainer.loss_curve)

    def _ready_module(self) -> nn.Module:
        """The network with the learned weights, set to evaluate."""
        check_is_fitted(self)
        if hasattr(self, "_loop"):
            return self._loop.module.eval()
        if not hasattr(self, "_module"):
            dtype = torch.from_numpy(np.array(next(iter(self.weights_.values())))).dtype
            module = build(self._network, seed=0, dtype=dtype)
            load_weights(module, self.weights_)
            self._module = module.eval()
        return self._module

    def _evaluate(self, function: Callable[..., Tensor], *arrays: np.ndarray) -> np.ndarray:
        """``function`` of the rows of ``arrays``, in pieces that bound memory and in the precision of the network."""
        module = self._ready_module()
        dtype = next(module.parameters()).dtype
        pieces = [torch.from_numpy(np.array(array)).to(dtype).split(EVALUATION_ROWS) for array in arrays]
        with torch.inference_mode(), torch_threads(threads_for(forward_work(module, len(arrays[0])))):
            return torch.cat([function(*piece) for piece in zip(*pieces)]).numpy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_module"}
