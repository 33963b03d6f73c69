"""``margin.fit``: the fit of a scikit-learn estimator, in a folder that survives a kill."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

from margin import catalog
from margin.core.streaming import Stream
from margin.core.summaries import check_takes_stream
from margin.runs.extending import lengthen
from margin.runs.folder import CHECKPOINT_SECONDS
from margin.runs.identity import data_hash, fingerprint
from margin.runs.shared_runs import open_run, processes_of

__all__ = ["fit"]

Model = TypeVar("Model")  # an estimator or a pipeline: a copy of it comes back fitted


def fit(
    model: Model,
    X: Any,
    y: Any = None,
    *,
    run: str | Path,
    sample_weight: Any = None,
    stop: threading.Event | None = None,
    progress: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Model:
    """Fit a copy of ``model`` in the folder ``run`` and return it; ``model`` itself stays as it is.

    The folder keeps the records of the fit (``metrics.jsonl``), checkpoints and the finished model. The same call again
    continues after a kill with the same bits, or returns the finished model without training. Another class, other
    parameters or other data are refused: one folder holds one fit. A network with a larger ``max_iter`` goes on from
    where the folder's fit ended, to the bits of one fit of that length, unless its learning rate was laid out over
    ``max_iter``: that is said.

    Parameters
    ----------
    model : estimator
        An estimator of the catalog, or a Pipeline around one. One that iterates, alone or as the last step, is
        checkpointed; any other is fitted in one go. Set its ``random_state``.
    X, y, sample_weight
        What ``fit`` takes: arrays, sparse matrices, data frames; or, for a model that says so, a stream of rows with
        their targets (``margin.stream``) as ``X`` alone. A Pipeline prepares it with what
        ``margin.data.preprocessor`` builds.
    run : path
        The folder; it is created if need be.
    stop : threading.Event, optional
        Setting it ends the fit at the next record with a usable model; the same call continues.
        ``margin.runs.interruptible()`` gives one that Ctrl-C sets.
    progress : bool
        Whether a progress bar is drawn on stderr. ``margin.watch`` works as well.
    checkpoint_seconds : float
        Least time between two checkpoints.

    Examples
    --------
    >>> import tempfile, margin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> model = margin.GradientBoostingClassifier(n_estimators=5, random_state=0)
    >>> fitted = margin.fit(model, X, y, run=folder.name)
    >>> run = margin.Run.existing(folder.name)
    >>> run.status, len(run.metrics())
    ('finished', 5)
    >>> again = margin.fit(model, X, y, run=folder.name)  # trained already: read back
    >>> bool((again.predict(X) == fitted.predict(X)).all())
    True
    >>> margin.fit(margin.GradientBoostingClassifier(n_estimators=6, random_state=0), X, y, run=folder.name)
    Traceback (most recent call last):
    margin.runs.journal.RunError: ... holds another run: its n_estimators is 5, this one's is 6; choose another folder.
    >>> folder.cleanup()
    """
    from sklearn.base import clone

    from margin.core.watching import watch

    estimator: Any = clone(model)
    if isinstance(X, Stream):  # before its files are read for their hash
        check_takes_stream(estimator.steps[-1][1] if isinstance(getattr(estimator, "steps", None), list) else estimator)
    identity = {
        "kind": "fit",
        "model": catalog.name_of(estimator),
        "fingerprint": fingerprint(estimator),
        "data_hash": data_hash(X, y, sample_weight),
    }
    processes = processes_of(estimator)
    params = {key: str(value) for key, value in estimator.get_params().items()}
    opened = open_run(lambda: lengthen(run, estimator, identity, params), identity, processes, params=params)
    if opened.status == "finished":
        return opened.model(like=estimator)
    with watch() if progress and opened.writes else nullcontext():
        return opened.fit(
            estimator, X, y, sample_weight=sample_weight, stop=stop, checkpoint_seconds=checkpoint_seconds
        )
