"""A user's own network as an estimator: the module is theirs, the loop, records, resume and scores are ours.

A file of ours never names code to run, so a model around someone's class cannot be loaded by ``margin.load``:
``save_weights`` writes the weights in safetensors, ``load_weights`` of an estimator with the same module reads them.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.domains import Choice, Function, Optional, Options
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.row_files import is_mapped
from margin.core.threads import available, torch_threads
from margin.neural.estimators.module_domains import ModuleOrFactory
from margin.neural.estimators.own_validation import JudgedEstimator
from margin.neural.estimators.parameters import RegularizedWeights
from margin.neural.estimators.streamed_rows import LearnsFromStreams
from margin.neural.nets.mlp import MLP
from margin.neural.stored import DEFAULT_WIDTH, MODULE, stand_in_is_stored
from margin.neural.training import LazyRows, TensorRows
from margin.neural.training.evaluation import EVALUATION_ROWS, Score
from margin.neural.training.steps import Objective
from margin.neural.weights import build, live_weights, load_weights

__all__ = ["ModuleEstimator"]

FILLED_IN = ("n_features", "n_outputs")  # arguments of a module that the fit knows


class ModuleEstimator(RegularizedWeights, LearnsFromStreams, JudgedEstimator):
    """What both share: building the user's module, its loss, its rows, and its weights in a file."""

    module: Any = parameter(
        None,
        ModuleOrFactory(),
        "The network: a class or function that makes one, or one whose weights are where training starts. It is given "
        "n_features and n_outputs if it takes them. None: a perceptron with 100 hidden units.",
    )
    _: KW_ONLY
    module_params: dict[str, Any] | None = parameter(
        None, Optional(Options()), "Arguments of the module; set_params and searches name them module__<argument>."
    )
    criterion: Callable[[Tensor, Tensor], Tensor] | None = parameter(
        None,
        Optional(Function("outputs and targets")),
        "A function of your own, of outputs and targets, per row or as a mean; None: what loss says.",
    )
    dtype: str = parameter(
        "float32", Choice("float32", "float64", "int64"), "Type of the inputs, and of the weights; 'int64' for tokens."
    )

    network_: dict[str, Any] = attribute(MODULE)
    _stored_rules = (stand_in_is_stored,)
    _draws_globally = True

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; ``deep``: those of the module too."""
        given = self.module_params if isinstance(self.module_params, dict) else {}  # anything else is refused at fit
        inner = {f"module__{name}": value for name, value in given.items()} if deep else {}
        return super().get_params(deep=deep) | inner

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``module__width=64`` sets the argument ``width`` of the module."""
        inner = {
            name.removeprefix("module__"): params.pop(name) for name in list(params) if name.startswith("module__")
        }
        super().set_params(**params)
        if inner:
            self.module_params = {**(self.module_params or {}), **inner}
        return self

    def save_weights(self, path: str | Path) -> Path:
        """Write weights and what goes with them to a safetensors file, which holds no code and names none."""
        from safetensors.numpy import save

        check_is_fitted(self)
        arrays = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in self.weights_.items()}
        path = Path(path)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_bytes(save(arrays, metadata={"margin": json.dumps(self._facts())}))
        os.replace(temporary, path)
        return path

    def load_weights(self, path: str | Path) -> Self:
        """Read what ``save_weights`` wrote; this estimator must have the module that the weights belong to."""
        from safetensors import safe_open

        self._check_parameters()
        with safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {}).get("margin", "null"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        if not isinstance(facts, dict):
            raise ValueError(f"{type(self).__name__}: {path} was not written by save_weights.")
        self._read_facts(facts)
        compute = self._compute_predictions()
        module = build(self._network, 0, compute.dtype_for(self._weight_dtype()))
        load_weights(module, weights)
        self._module = compute.place(module)
        self.weights_ = live_weights(self._module)
        return self

    def _facts(self) -> dict[str, Any]:
        names = ("network_", "n_features_in_", "n_iter_", "t_", "loss_curve_", "validation_scores_")
        return {name: getattr(self, name) for name in names}

    def _read_facts(self, facts: Mapping[str, Any]) -> None:
        for name in ("network_", "n_features_in_", "n_iter_", "t_", "loss_curve_", "validation_scores_"):
            setattr(self, name, facts[name])

    def _network(self) -> nn.Module:
        n_features, n_outputs = self.network_["n_features"], self.network_["n_outputs"]
        if self.module is None:
            return MLP([n_features, DEFAULT_WIDTH, n_outputs])
        if isinstance(self.module, nn.Module):
            return deepcopy(self.module)
        takes = inspect.signature(self.module).parameters
        known = {name: self.network_[name] for name in FILLED_IN if name in takes}
        module = self.module(**{**known, **(self.module_params or {})})
        if not isinstance(module, nn.Module):
            raise ValueError(
                f"{type(self).__name__}: module must make an nn.Module; it made a {type(module).__name__}."
            )
        return module

    def _weight_dtype(self) -> torch.dtype:
        return torch.float64 if self.dtype == "float64" else torch.float32

    def _rows(self, X: np.ndarray, target: np.ndarray, weight: np.ndarray) -> LazyRows | TensorRows:
        if is_mapped(X):
            return LazyRows.of(X, partial(np.asarray, dtype=self.dtype), target, weight=weight)
        return TensorRows.of(np.asarray(X, dtype=self.dtype), target, weight=weight)

    def _objective(self, default: Callable[[Tensor, Tensor, bool], Tensor], weighted: bool) -> Objective:
        """The user's criterion, or ``default`` of outputs, targets and whether the network trains."""
        criterion: Any = self.criterion
        if inspect.isclass(criterion):
            criterion = criterion()
        owner = type(self).__name__

        def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
            X, y = batch
            loss = default(module(X), y, module.training) if criterion is None else criterion(module(X), y)
            if weighted and loss.ndim == 0:
                raise ValueError(f"{owner}: criterion must give a loss per row where rows have weights; got a scalar.")
            return {"loss": loss}

        return objective

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what a user's layers cost is counted in the first step

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        if self.dtype == "int64":
            raise TypeError(f"{type(self).__name__}: rows of dtype 'int64' have no gradients; dtype must be a float.")
        module = self._ready_module()
        x = self._to_device(np.asarray(self._check_rows(X, reset=False), dtype=self.dtype).copy())

        def outputs(rows: Tensor) -> Tensor:
            output = module(rows)
            return output.reshape(len(output), -1)

        return outputs, x

    def _outputs(self, X: Any) -> np.ndarray:
        module = self._ready_module()
        X = self._check_rows(X, reset=False)
        pieces = self._to_device(np.asarray(X, dtype=self.dtype).copy()).split(EVALUATION_ROWS)
        with torch.inference_mode(), torch_threads(available()):
            return torch.cat([module(piece) for piece in pieces]).numpy(force=True)

    def _check_rows(self, X: Any, y: Any = None, *, reset: bool, **options: Any) -> Any:
        kind = "numeric" if self.dtype == "int64" else [np.float64, np.float32]
        if y is None and not reset:
            return validate_data(self, X, dtype=kind, order="C", allow_nd=True, reset=False)
        return validate_data(self, X, y, dtype=kind, order="C", allow_nd=True, reset=reset, **options)

    def _learn(
        self,
        rows: LazyRows | TensorRows,
        loss: Any,
        labels: np.ndarray | None,
        score: Score,
        state: Any,
        held: LazyRows | TensorRows | None,
    ) -> Iterator[Record]:
        seed = self._seed(state)
        train, valid = self._split(len(rows), seed, labels, given=held)
        weighted = not rows.equal or not (held is None or held.equal)
        objective = self._objective(loss, weighted=weighted)
        yield from self._train(objective, rows, train, valid, seed=seed, state=state, score=score, held=held)
