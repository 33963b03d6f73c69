"""The base of estimators that learn the weights of one network in the training loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.array_types import MatrixLike
from margin.core.estimator import IterativeEstimator
from margin.core.new_rows import require_fitted
from margin.core.parameters import attribute
from margin.core.randomness import seed_from
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.core.trained import TRAINED
from margin.neural.estimators.parameters import TrainingParameters
from margin.neural.generators import GlobalStream, Seeds
from margin.neural.parts import choose
from margin.neural.regularizers.regularizer import REGULARIZERS, Regularizer
from margin.neural.training import (
    Batches,
    Minimize,
    Patience,
    Plan,
    QuasiNewton,
    RowBatches,
    Rows,
    Step,
    Training,
    Validation,
    rate_schedule,
    train,
    validation_split,
)  # fmt: skip
from margin.neural.training.evaluation import EVALUATION_ROWS, Score
from margin.neural.training.steps import Objective
from margin.neural.weights import build, forward_work, live_weights, load_weights

__all__ = ["FitLoop", "NeuralEstimator"]


class FitLoop:
    """The running fit of a network: its training, its seed, and what warm starts before it have done.

    When it ends, only its state is kept: neither rows nor optimizer slots that a finished training does not need.
    """

    def __init__(self, training: Training, seed: int, n_rows: int, before: Mapping[str, Any]):
        self.training: Training | None = training
        self.own: dict[str, Any] = {"seed": seed, "n_rows": n_rows, "before": dict(before)}

    def now(self) -> float:
        """How much of the training is done, from 0 to 1."""
        return 1.0 if self.training is None else self.training.steps / self.training.total

    def state(self) -> dict[str, Any]:
        return self.last if self.training is None else self.own | self.training.state()

    def release(self) -> None:
        if self.training is not None:
            self.training.forget_longer_plans()
            self.last, self.training = self.state(), None


class NeuralEstimator(TrainingParameters, IterativeEstimator):
    """What is learned is ``weights_`` (arrays by name); ``network_`` holds what the network is built from.

    No fitted attribute holds a torch object. During a fit the arrays share memory with the running network, so the
    estimator is usable after every record at no cost; the network itself is kept in ``_module``, which copies and
    pickles leave out, like the running ``_loop``, and is built from the weights when it is next needed.

    A subclass sets ``network_`` in ``iterate``, builds from it in ``_network`` and hands its rows to ``_train``.
    """

    network_: dict[str, Any] = attribute(None, "What the network is built from.")
    weights_: dict[str, np.ndarray] = attribute(TRAINED["weights_"], "Weights of the network by name.")
    n_iter_: int = attribute(TRAINED["n_iter_"], "Epochs of the last fit, or of all partial fits.")
    t_: int = attribute(TRAINED["t_"], "Rows seen in all epochs.")
    loss_curve_: list[float] = attribute(
        TRAINED["loss_curve_"], "Mean training loss of every epoch, without the penalty."
    )
    validation_scores_: list[float] | None = attribute(
        TRAINED["validation_scores_"], "Score of held-out rows after every epoch; None without."
    )

    _loop: FitLoop = attribute(None, "The running fit.")
    _module: nn.Module = attribute(None, "The network, while it is in memory.")
    _stop_requested: bool = attribute(None, "Whether the running fit was asked to end.")
    _draws_globally = False  # whether layers of the network draw from torch's global generator

    @abstractmethod
    def _network(self) -> nn.Module:
        """The network described by ``network_``, untrained."""

    @property
    def module_(self) -> nn.Module:
        """The network with the learned weights as a torch module, set to evaluate."""
        return self._ready_module()

    @property
    def gradients_(self) -> dict[str, np.ndarray]:
        """Gradients of the last update by the names of their weights, while a fit runs; empty at any other time."""
        training = getattr(getattr(self, "_loop", None), "training", None)
        if training is None:
            return {}
        modules = training.step.modules
        return {
            name if len(modules) == 1 else f"{player}.{name}": parameter.grad.detach().numpy(force=True).copy()
            for player, module in modules.items()
            for name, parameter in module.named_parameters()
            if parameter.grad is not None
        }

    @property
    def loss_(self) -> float:
        """Mean training loss of the last epoch."""
        return self.loss_curve_[-1] if self.loss_curve_ else float("nan")

    @property
    def best_loss_(self) -> float:
        """Lowest training loss of any epoch."""
        return min(self.loss_curve_, default=float("nan"))

    @property
    def best_validation_score_(self) -> float | None:
        """Highest score of the held-out rows after any epoch; None without any."""
        return max(self.validation_scores_) if self.validation_scores_ else None

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        """The outputs (n, k) as a torch function of rows, and ``X`` as such rows, in its own units.

        Outputs are scores of classes before the softmax, targets in their units, or the numbers of a representation;
        gradients pass through the function.
        """
        raise TypeError(
            f"{type(self).__name__}: its outputs are no table of numbers, so they have no gradients to ask."
        )

    def _in_units(self, outputs: Tensor) -> Tensor:
        """Outputs of the network in the units of the target."""
        if not hasattr(self, "target_center_"):
            return outputs
        center, scale = (torch.as_tensor(a).to(outputs) for a in (self.target_center_, self.target_scale_))
        return outputs * scale + center

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_parts()

    def request_stop(self) -> None:
        """Ask a running fit to end after the step it is in, from a signal handler or another thread."""
        self._stop_requested = True

    def _seed(self, state: Mapping[str, Any] | None) -> int:
        """The one seed of this fit: a continued fit keeps the one it began with."""
        return seed_from(self.random_state) if state is None else int(state["seed"])

    def _split(
        self, n_rows: int, seed: int, labels: np.ndarray | None = None, *, given: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows that train and of those that validate: none without ``early_stopping``, and none where
        rows are ``given`` for it.
        """
        if not self.early_stopping or given is not None:
            return np.arange(n_rows), np.arange(0)
        return validation_split(n_rows, self.validation_fraction, Seeds.of(seed).split, labels)

    def _depends_on_length(self) -> str:
        """What a fit with a larger max_iter does otherwise from its first step on; empty where it only goes on."""
        if self.warmup or not self._rate_schedule().open_ended:
            return f"learning_rate={self.learning_rate!r} with warmup={self.warmup} is laid out over max_iter epochs"
        return ""

    def _goes_on(self) -> bool:
        """Whether this fit starts from the weights of the last one."""
        return bool(self.warm_start) and hasattr(self, "weights_")

    def _train(
        self,
        objective: Objective,
        rows: Rows,
        train_rows: np.ndarray,
        valid_rows: np.ndarray,
        *,
        seed: int,
        state: Mapping[str, Any] | None,
        score: Score | None = None,
        held: Rows | None = None,
    ) -> Iterator[Record]:
        """Train a network on the rows numbered ``train_rows``, keeping the fitted attributes up to date.

        Those numbered ``valid_rows``, or the rows ``held`` that a user gave, judge every epoch.
        """
        seeds = Seeds.of(seed)
        held = rows.take(torch.from_numpy(valid_rows)) if held is None and len(valid_rows) else held
        everything = np.array_equal(train_rows, np.arange(len(rows)))
        rows = rows if everything else rows.take(torch.from_numpy(train_rows))
        module = self._begin_network(seeds, rows.dtype)
        self.__dict__.pop("_partial", None)
        step, batches = self._step(module, objective, rows, seeds)
        yield from self._run(
            step,
            batches,
            seed=seed,
            state=state,
            n_rows=len(rows),
            evaluate=None if held is None else self._validation(step, objective, held, seeds, score),
            threads=self._threads(module, min(batches.batch_size, len(rows))),
        )

    def _begin_network(self, seeds: Seeds, dtype: torch.dtype = torch.float32) -> nn.Module:
        """The network at the start of a fit: drawn from the seed, or that of the last fit."""
        compute = self._compute()
        module = build(self._network, seeds.weights, compute.dtype_for(dtype))
        if self._goes_on():
            load_weights(module, self.weights_)
        return compute.place(module)

    def _validation(
        self, step: Step, objective: Objective, held: Rows, seeds: Seeds, score: Score | None = None
    ) -> Validation:
        """What the rows ``held`` out say of the result of ``step`` after every epoch."""
        return Validation(step, objective, held, seeds.evaluation, score, self._compute())

    def _run(
        self,
        step: Step,
        batches: Batches,
        *,
        seed: int,
        state: Mapping[str, Any] | None,
        n_rows: int,
        evaluate: Callable[[], dict[str, float]] | None = None,
        threads: int | None = None,
    ) -> Iterator[Record]:
        """Train by ``step`` on ``batches``, of which an epoch has ``n_rows`` rows, from the start or from ``state``."""
        compute = self._compute()
        training = Training(
            batches,
            step,
            Plan(self.max_iter, self.record_steps, self.record_seconds),
            evaluate=evaluate,
            stopping=self._patience(evaluate is not None and bool(self.early_stopping)),
            stream=GlobalStream(Seeds.of(seed).noise, compute.device) if self._draws_globally else None,
            threads=threads,
            compute=compute,
        )
        before = self._earlier_work(self._goes_on()) | {"epochs": 0}  # a fit counts its own, as scikit-learn's do
        if state is not None:
            if state["n_rows"] != n_rows:
                raise ValueError(f"{type(self).__name__}: the state belongs to {state['n_rows']} rows; got {n_rows}.")
            training.load_state(state)
            before = state["before"]
        yield from self._follow(training, FitLoop(training, seed, n_rows, before))

    def _follow(self, training: Training, loop: FitLoop) -> Iterator[Record]:
        before = self._learned_attributes() if self._goes_on() else {}
        self._loop, self._module, self._stop_requested = loop, training.step.result, False
        self.weights_ = live_weights(training.step.result)
        self._note(training, loop)
        try:
            for record in train(training, lambda: self._stop_requested):
                self._refuse_diverged(record)
                self._note(training, loop)
                yield record
        except FloatingPointError as error:
            self.weights_ = live_weights(training.step.result)
            self._go_back(before)
            raise type(error)(str(error).replace("Training:", f"{type(self).__name__}:", 1)) from None
        finally:
            for module in (*training.step.modules.values(), training.step.result):
                module.zero_grad(set_to_none=True)
            loop.release()

    def _refuse_diverged(self, record: Record) -> None:
        """Raise FloatingPointError for a training whose numbers are finite but cannot become a model any more."""

    def _begin_counts(self) -> None:
        """The counts and curves of a network that was brought, not trained here."""
        self.n_iter_, self.t_, self.loss_curve_, self.validation_scores_ = 0, 0, [], None

    def _learned_attributes(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name[0] != "_"}

    def _go_back(self, before: Mapping[str, Any]) -> None:
        """Go back from weights that are not finite to what the fit began with, if it went on from another."""
        if before:
            self.__dict__.pop("_module", None)
            self.__dict__.update(before)

    def _note(self, training: Training, loop: FitLoop) -> None:
        if not training.compute.on_cpu:  # where the arrays do not share memory with the network
            self.weights_ = live_weights(training.step.result)
        before = loop.own["before"]
        self.n_iter_ = before["epochs"] + training.epoch
        self.t_ = before["rows"] + training.epoch * loop.own["n_rows"]
        self.loss_curve_ = before["loss_curve"] + training.loss_curve
        scores = before["scores"] + training.scores
        self.validation_scores_ = scores if training.evaluate is not None else None

    def _earlier_work(self, going_on: bool = True) -> dict[str, Any]:
        """What earlier fits have done that this one goes on with."""
        if not going_on or not hasattr(self, "weights_"):
            return {"epochs": 0, "rows": 0, "loss_curve": [], "scores": []}
        return {
            "epochs": self.n_iter_,
            "rows": self.t_,
            "loss_curve": list(self.loss_curve_),
            "scores": list(self.validation_scores_ or []),
        }

    def _step(self, module: nn.Module, objective: Objective, rows: Rows, seeds: Seeds) -> tuple[Step, RowBatches]:
        """What one update is, and the batches it takes."""
        if self.solver == "lbfgs":
            regularizer = getattr(self, "regularizer", None)
            if regularizer is not None:
                raise ValueError(
                    f"{type(self).__name__}: regularizer must be None with solver 'lbfgs'; got {regularizer!r}."
                )
            batches = RowBatches(rows, len(rows), seeds.order)
            limit = getattr(self, "max_fun", None)
            return QuasiNewton(
                module, objective, tol=self.tol, penalty=self.alpha, max_evaluations=limit, seed=seeds.noise,
                compute=self._compute(),
            ), batches  # fmt: skip
        batches = RowBatches(rows, self._rows_per_update(len(rows)), seeds.order, shuffle=self.shuffle)
        return self._minimize(module, objective, batches, len(rows), seeds), batches

    def _minimize(
        self, module: nn.Module, objective: Objective, batches: Batches, n_rows: int, seeds: Seeds
    ) -> Minimize:
        """Gradient descent as the parameters say, its learning rate planned for epochs of ``n_rows`` rows."""
        schedule = rate_schedule(
            self.learning_rate,
            self._initial_rate(),
            steps=self.max_iter * batches.steps_per_epoch,
            warmup=self.warmup,
            steps_per_epoch=batches.steps_per_epoch,
            n_rows=n_rows,
            power=self.power_t,
        )
        return Minimize(
            module,
            objective,
            self._rule(),
            schedule=schedule,
            seed=seeds.noise,
            clip_norm=self.clip_norm,
            penalty=self._penalty(),
            regularizer=self._regularizer(),
            average=self.weight_average,
            compute=self._compute(),
        )

    def _initial_rate(self) -> float:
        """Where the learning rate starts."""
        return float(self.learning_rate_init)

    def _regularizer(self) -> Regularizer | None:
        """What acts on the weights beside the penalty ``alpha``, where the estimator lets it be chosen."""
        value = getattr(self, "regularizer", None)
        return None if value is None else choose(f"{type(self).__name__}: regularizer", value, REGULARIZERS)

    def _patience(self, validates: bool) -> Patience | None:
        """A learning rate that falls by itself must be let fall, so only held-out rows end such a training early."""
        if not validates and (self.solver == "lbfgs" or not self._rate_schedule().open_ended):
            return None
        plateau = self._rate_schedule().plateau
        patience = self.n_iter_no_change if plateau is None or plateau.patience is None else plateau.patience
        return Patience(patience, self.tol, keep_best=validates, plateau=plateau)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        """Threads worth waking for one step; None: counted while the first one runs."""
        return threads_for(forward_work(module, batch_size))

    def _ready_module(self) -> nn.Module:
        """The network with the learned weights, set to evaluate."""
        require_fitted(self)
        if not hasattr(self, "_module"):
            dtype = torch.from_numpy(np.array(next(iter(self.weights_.values())))).dtype
            compute = self._compute_predictions()
            module = build(self._network, seed=0, dtype=compute.dtype_for(dtype))
            load_weights(module, self.weights_)
            self._module = compute.place(module)
        # Setting the mode of every part anew takes longer than a layer does for one row.
        return self._module.eval() if any(part.training for part in self._module.modules()) else self._module

    def _to_device(self, array: np.ndarray) -> Tensor:
        """``array`` where the network is, its floating-point numbers in the precision of the network."""
        weight = next(self._ready_module().parameters())
        tensor = torch.from_numpy(array)
        return tensor.to(weight) if tensor.is_floating_point() else tensor.to(weight.device)

    def _complete(self) -> None:
        if hasattr(self, "weights_"):
            self._ready_module()

    def _evaluate(self, function: Callable[..., Tensor], *arrays: np.ndarray) -> np.ndarray:
        """``function`` of the rows of ``arrays``, in pieces that bound memory and in the precision of the network."""
        module = function if isinstance(function, nn.Module) else self._ready_module()
        weights = list(module.parameters())  # walking through a network takes longer than a layer does for one row
        pieces = [torch.from_numpy(np.array(array)).to(weights[0]).split(EVALUATION_ROWS) for array in arrays]
        with torch.inference_mode(), torch_threads(threads_for(forward_work(weights, len(arrays[0])))):
            return torch.cat([function(*piece) for piece in zip(*pieces)]).numpy(force=True)

    def __getstate__(self) -> dict[str, Any]:
        running = {"_module", "_stop_requested", "_partial"}
        return {name: value for name, value in super().__getstate__().items() if name not in running}
