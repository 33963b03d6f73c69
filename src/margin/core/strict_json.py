"""Values as every JSON reader takes them."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["strict", "strict_text"]


def strict(value: Any) -> Any:
    """Plain values that every JSON reader takes: what is not a finite number is null, what is not JSON is text.

    >>> strict({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return strict(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [strict(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int) or value is None else str(value)


def strict_text(value: Any, indent: int | None = None) -> str:
    """:func:`strict` as text: the one way in which results, boards and verdicts are written.

    >>> strict_text({"measured": float("inf")})
    '{"measured": null}'
    """
    return json.dumps(strict(value), indent=indent, allow_nan=False)
