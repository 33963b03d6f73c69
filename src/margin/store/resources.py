"""Parameters that say what a process may use or touch. They belong to whoever loads a model, never to its file.

A cache folder in a file would be read by the next fit, a number of workers started by the next prediction, a
permission to overwrite would change the caller's arrays: none of them changes what a model predicts.
"""

from __future__ import annotations

from typing import Any

__all__ = ["RESOURCES", "adopt_resources"]

RESOURCES = frozenset(
    {"memory", "n_jobs", "pre_dispatch", "verbose", "cache_size", "device", "copy", "copy_X", "copy_x", "path"}
)


def adopt_resources(model: Any, like: Any) -> Any:
    """Give ``model`` the resources of ``like``, wherever both have the parameter, nested ones too."""
    known = model.get_params()
    resources = {name: value for name, value in like.get_params().items() if name.rpartition("__")[2] in RESOURCES}
    return model.set_params(**{name: value for name, value in resources.items() if name in known})
