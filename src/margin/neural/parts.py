"""Parts of networks that are chosen: losses, activations, initializers, normalizations and regularizers.

A part (:class:`margin.core.parts.Part`) can be cloned, searched (``loss__delta``) and stored. Every kind has one table
from names to parts, and a network takes either a name of the table or an object. What a fitted network is built from
holds no objects but their :func:`describe` form: the name, or a dict of the name and the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from margin.core.parameters import check_parameters
from margin.core.parts import Part

__all__ = ["choose", "describe"]

P = TypeVar("P", bound=Part)


def choose(what: str, value: Any, table: Mapping[str, Callable[..., P]]) -> P:
    """The part that ``value`` stands for: a name of ``table``, a described part, or the part itself, checked.

    ``what`` begins the sentence of an error.
    """
    if isinstance(value, Part):
        check_parameters(value)
        return value  # type: ignore[return-value]
    options = {key: option for key, option in value.items() if key != "name"} if isinstance(value, dict) else {}
    name = value.get("name") if isinstance(value, dict) else value
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{what} must be one of {', '.join(table)}; got {str(value)[:80]!r}.")
    part = table[name](**options)
    check_parameters(part)
    return part


def describe(what: str, value: Any, table: Mapping[str, Callable[..., Part]]) -> Any:
    """``value`` as plain data, from which :func:`choose` makes an equal part: a name stays as it is."""
    if not isinstance(value, Part):
        return str(value)
    for name, make in table.items():
        if make is type(value):
            params = value.get_params(deep=False)
            return {"name": name, **params} if params else name
    raise ValueError(
        f"{what} must be an object of a class of the library, which a fitted model can be built from again; "
        f"got {type(value).__name__}."
    )
