"""What a user calls: ``save`` and ``load`` for models, ``save_state`` and ``load_state`` for checkpoints."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margin import __version__, catalog
from margin.core.notices import warn_user
from margin.store import container
from margin.store.decoding import Decoder
from margin.store.encoding import Encoder

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["library_versions", "load", "load_state", "save", "save_state"]

LIBRARIES = ("margin", "numpy", "scipy", "scikit-learn", "torch")


def save(model: BaseEstimator, path: str | Path, *, data_hash: str = "") -> Path:
    """Write a fitted (or unfitted) model to one file that cannot execute code.

    ``model`` is an estimator of the catalog or a scikit-learn ``Pipeline`` around one with the preprocessors of the
    registry. ``data_hash`` records what it was trained on.

    Parameters
    ----------
    model : estimator
        The model.
    path : str or Path
        The file to write.
    data_hash : str
        Hash of the training data.
    """
    encoder = Encoder()
    root = encoder.encode(model, type(model).__name__)
    if not (isinstance(root, dict) and root.get("!") == "estimator"):
        raise container.StoreError(f"save: model must be an estimator; got {type(model).__name__}.")
    manifest = {"kind": "model", "root": root, "versions": library_versions(), "data_hash": data_hash}
    return container.write(path, manifest, encoder.arrays)


def load(path: str | Path) -> Any:
    """Read a model written by :func:`save`; predictions are the same bits as before saving.

    Parameters
    ----------
    path : str or Path
        A file written by :func:`save`.
    """
    manifest, arrays = container.read(path, "model")
    decoder = Decoder(Path(path), arrays)
    model = decoder.decode(manifest.get("root"))
    if not hasattr(model, "get_params"):
        raise container.StoreError(f"{path} is damaged: it does not hold an estimator.")
    if any(catalog.PARTS.get(name, "").startswith("sklearn.") for name in decoder.classes):
        versions = manifest.get("versions")
        _warn_of_other_scikit_learn(path, str(versions.get("scikit-learn")) if isinstance(versions, dict) else "")
    return model


def save_state(state: dict[str, Any], path: str | Path, **facts: Any) -> Path:
    """Write the state of a running fit with a few JSON ``facts`` beside it."""
    encoder = Encoder()
    manifest = {"kind": "state", "root": encoder.encode(state, "state"), "facts": facts, "versions": library_versions()}
    return container.write(path, manifest, encoder.arrays)


def load_state(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state and facts written by :func:`save_state`."""
    manifest, arrays = container.read(path, "state")
    return Decoder(Path(path), arrays).decode(manifest.get("root")), manifest.get("facts", {})


def library_versions() -> dict[str, str]:
    """Versions of what computed the numbers, read without importing the libraries."""
    return {"python": platform.python_version(), **{name: _version(name) for name in LIBRARIES}}


@cache  # reading what an installer wrote takes longer than saving a small model
def _version(library: str) -> str:
    # Sources on the path, of which no installer knows, store models too.
    return __version__ if library == "margin" else metadata.version(library)


def _warn_of_other_scikit_learn(path: str | Path, written: str) -> None:
    """scikit-learn's own preprocessors may change their attributes between minor versions; ours do not."""
    here = metadata.version("scikit-learn")
    if written.split(".")[:2] != here.split(".")[:2]:
        warn_user(f"{path} holds scikit-learn preprocessing written with version {written}; this is {here}.")
