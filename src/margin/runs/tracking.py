"""Fits seen in the tools that a team already has: TensorBoard, MLflow, Weights & Biases.

>>> import margin
>>> with margin.watch(margin.track("tensorboard", "logs")):  # doctest: +SKIP
...     model.fit(X, y)

Each fit is a run of the tool, with the parameters of the estimator, and every record a step of it. The tools are not
dependencies: they are imported when a tracker is made.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.records import Record
from margin.core.watching import Watcher

__all__ = ["TRACKERS", "Tracker", "track"]


class Tracker(Watcher, ABC):
    """Sends the records of every fit that it watches to a tool.

    Nested fits (a pipeline's, an ensemble's) are runs of their own, so what belongs to a fit is found by its estimator.
    """

    #: What is imported, and what a user installs to have it.
    module: str
    package: str

    def __init__(self, where: str | Path | None, name: str | None, histograms: bool):
        try:
            self.tool = importlib.import_module(self.module)
        except ImportError:
            raise ImportError(
                f"track: {self.package} is not installed; pip install {self.package} makes it available."
            ) from None
        self.where, self.name, self.histograms = where, name, histograms
        self._runs: dict[int, Any] = {}
        self._fits = 0

    def begin(self, estimator: Any) -> None:
        self._fits += 1
        run = self.open(self.run_name(estimator), _readable(estimator.get_params(deep=False)))
        self._runs[id(estimator)] = run

    def record(self, estimator: Any, record: Record) -> None:
        run = self._runs[id(estimator)]
        self.send(run, record.iteration, {name: float(value) for name, value in record.values.items()})
        if self.histograms:
            gradients = getattr(estimator, "gradients_", {})
            self.send_weights(run, record.iteration, getattr(estimator, "weights_", {}))
            self.send_weights(run, record.iteration, {f"gradients/{name}": g for name, g in gradients.items()})

    def end(self, estimator: Any) -> None:
        run = self._runs.pop(id(estimator), None)
        if run is not None:
            self.close(run)

    def run_name(self, estimator: Any) -> str:
        """``name``, or the class; the second fit of a tracker is number 2."""
        name = self.name or type(estimator).__name__
        return name if self._fits == 1 else f"{name}-{self._fits}"

    @abstractmethod
    def open(self, name: str, parameters: Mapping[str, str]) -> Any:
        """A run of the tool, which the other methods are given."""

    @abstractmethod
    def send(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        """The numbers of one record."""

    @abstractmethod
    def send_weights(self, run: Any, step: int, weights: Mapping[str, np.ndarray]) -> None:
        """Histograms of the weights of a network, array by array."""

    @abstractmethod
    def close(self, run: Any) -> None:
        """The fit is over, finished or not."""


class TensorBoard(Tracker):
    """Event files below ``where``, a folder per fit, as ``tensorboard --logdir`` shows them."""

    module, package = "torch.utils.tensorboard", "tensorboard"

    def open(self, name: str, parameters: Mapping[str, str]) -> Any:
        writer = self.tool.SummaryWriter(str(Path(self.where or "runs/tensorboard") / name))
        rows = "\n".join(f"| {key} | {value} |" for key, value in parameters.items())
        writer.add_text("parameters", f"| parameter | value |\n| --- | --- |\n{rows}")
        return writer

    def send(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        for key, value in values.items():
            run.add_scalar(key, value, step)

    def send_weights(self, run: Any, step: int, weights: Mapping[str, np.ndarray]) -> None:
        for key, array in weights.items():
            if array.size and np.isfinite(array).all():  # its histogram refuses what is not finite
                run.add_histogram(key, array, step)

    def close(self, run: Any) -> None:
        run.close()


class MLflow(Tracker):
    """Runs of the experiment ``where`` on the server or in the folder that MLflow's own settings name."""

    module, package = "mlflow", "mlflow-skinny"

    def open(self, name: str, parameters: Mapping[str, str]) -> Any:
        client = self.tool.MlflowClient()
        experiment = str(self.where or "margin")
        known = client.get_experiment_by_name(experiment)
        number = client.create_experiment(experiment) if known is None else known.experiment_id
        run = client.create_run(number, run_name=name).info.run_id
        for key, value in parameters.items():
            client.log_param(run, key, value)
        return client, run

    def send(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        client, number = run
        for key, value in values.items():
            client.log_metric(number, key, value, step=step)

    def send_weights(self, run: Any, step: int, weights: Mapping[str, np.ndarray]) -> None:
        """MLflow has no histograms: deviation and largest value of every array are numbers of the run."""
        self.send(run, step, _spreads(weights))

    def close(self, run: Any) -> None:
        client, number = run
        client.set_terminated(number)


class WeightsAndBiases(Tracker):
    """Runs of the project ``where``; ``WANDB_MODE=offline`` keeps them on this machine."""

    module, package = "wandb", "wandb"

    def open(self, name: str, parameters: Mapping[str, str]) -> Any:
        return self.tool.init(
            project=str(self.where or "margin"), name=name, config=dict(parameters), reinit="create_new"
        )

    def send(self, run: Any, step: int, values: Mapping[str, float]) -> None:
        run.log(dict(values), step=step)

    def send_weights(self, run: Any, step: int, weights: Mapping[str, np.ndarray]) -> None:
        run.log({key: self.tool.Histogram(array) for key, array in weights.items() if array.size}, step=step)

    def close(self, run: Any) -> None:
        run.finish()


TRACKERS: Mapping[str, type[Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow, "wandb": WeightsAndBiases}


def track(tool: str, where: str | Path | None = None, *, name: str | None = None, histograms: bool = False) -> Tracker:
    """A watcher that sends the records of fits to a tool: ``with margin.watch(margin.track("tensorboard")):``.

    Parameters
    ----------
    tool : "tensorboard", "mlflow" or "wandb"
    where : folder of TensorBoard's event files, experiment of MLflow, or project of Weights & Biases
    name : name of the runs; None: the class of the estimator
    histograms : whether the weights of networks and the gradients of their last update are sent with every record, too

    Examples
    --------
    >>> import margin
    >>> margin.track("paper")
    Traceback (most recent call last):
    ValueError: track: tool must be one of tensorboard, mlflow, wandb; got 'paper'.
    """
    if tool not in TRACKERS:
        raise ValueError(f"track: tool must be one of {', '.join(TRACKERS)}; got {tool!r}.")
    return TRACKERS[tool](where, name, histograms)


def _readable(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as short texts: tools refuse long ones."""
    return {name: text if len(text := repr(value)) <= 250 else f"{text[:247]}..." for name, value in parameters.items()}


def _spreads(weights: Mapping[str, np.ndarray]) -> dict[str, float]:
    found = {}
    for name, array in weights.items():
        if array.size:
            found[f"{name}/deviation"], found[f"{name}/largest"] = float(array.std()), float(np.abs(array).max())
    return found
