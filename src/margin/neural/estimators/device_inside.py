"""Device and precision of an estimator that trains networks of other estimators inside it."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from margin.core.domains import Choice, Device
from margin.core.parameters import Declared, parameter
from margin.neural.training.compute import PRECISIONS

__all__ = ["DeviceInside"]

PLACES = ("device", "precision")


class DeviceInside(Declared):
    """Hands ``device`` and ``precision`` on to the networks inside, which otherwise keep their own."""

    _: KW_ONLY
    device: str = parameter(
        "auto", Device(), "Where the networks inside compute, see there; 'auto': where their own device says."
    )
    precision: str = parameter(
        "auto",
        Choice(*PRECISIONS, search=False),
        "How precisely the networks inside compute; 'auto': as their own precision says.",
    )

    def _place_inside(self, *models: Any) -> None:
        """Give the models, and those inside of them, what is not 'auto'; refused where none of them is a network."""
        for place in PLACES:
            value = getattr(self, place)
            if value == "auto":
                continue
            found = [
                (model, [name for name in model.get_params() if name.rpartition("__")[2] == place]) for model in models
            ]
            if not any(names for _, names in found):
                inside = " and ".join(type(model).__name__ for model in models)
                raise ValueError(
                    f"{type(self).__name__}: {place} must be 'auto' with {inside}, which is no network; got {value!r}."
                )
            for model, names in found:
                model.set_params(**dict.fromkeys(names, value))
