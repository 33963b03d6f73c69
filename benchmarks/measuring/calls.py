"""Calls of the same estimator in several libraries, for families that compare many tasks in few lines."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measuring.harness import Case, Peer

__all__ = ["PEERS", "Data", "make_case", "make_model", "repeat"]

Data = dict[str, Any]
#: The module of a peer and its name.
PEERS = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex", "lightgbm": "LightGBM", "xgboost": "XGBoost"}


def make_model(library: str, where: str, params: Data) -> Any:
    """``where`` is the path of ours and the module of the peers' class (of the same name unless it is told)."""
    own, _, theirs = where.partition(" ")
    package, _, name = own.rpartition(".")
    theirs = theirs or package
    module, _, other = theirs.partition(".")
    path, cls = (f"margin.{package}", name) if library == "margin" else (f"{library}.{module}", other or name)
    model = getattr(importlib.import_module(path), cls)(**params)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def make_case(
    name: str,
    size: str,
    data: Callable[[], Data],
    call: Callable[[str, Data], Any],
    quality: Callable[[Data, Any], float],
    quality_name: str,
    also: tuple[str, ...],
) -> Case:
    """``call(library, data)`` is timed for Margin, scikit-learn and the libraries of ``also``."""
    libraries = ("sklearn", *also)
    peers = tuple(Peer(PEERS[library], library, partial(_call_quietly, call, library)) for library in libraries)
    ours = partial(_call_quietly, call, "margin")
    return Case(name, size, data, ours, peers, quality, quality_name, rounds=5, memory=False)


def _call_quietly(call: Callable[[str, Data], Any], library: str, data: Data) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(library, data)


def repeat(call: Callable[[], Any], times: int) -> Any:
    for _ in range(times - 1):
        call()
    return call()
