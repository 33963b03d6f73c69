"""What a single fit may be asked, declared once: the flags, help and reference of ``margin fit`` and its checks."""

from __future__ import annotations

from collections.abc import Sequence

from margin.core.domains import Flag, Integer, Optional, Text
from margin.core.domains import Sequence as ListOf
from margin.core.parameters import parameter
from margin.service.requests import Request

__all__ = ["FitRequest"]


class FitRequest(Request):
    """How a model of the catalog is fitted to a source of data.

    >>> FitRequest.of_texts({"target": "y", "settings": ["alpha=2"], "prepare": None}).settings
    ('alpha=2',)
    """

    _command = "fit"

    target: str | None = parameter(None, Optional(Text()), "The column to predict.")
    settings: Sequence[str] = parameter((), ListOf(Text()), "Set a parameter.")
    seed: int = parameter(0, Integer(low=0), "Seed of everything random.")
    prepare: bool | None = parameter(
        None, Optional(Flag()), "Impute, encode and scale columns first; default: where they need it."
    )
    ignore: Sequence[str] = parameter((), ListOf(Text()), "A column to leave out.")
    time: str | None = parameter(
        None,
        Optional(Text()),
        "For forecasters: the column of times, or two as in year,month; default: the one of dates.",
    )
    series: str | None = parameter(
        None, Optional(Text()), "For forecasters: the column that tells several series apart."
    )
