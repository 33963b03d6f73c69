"""What stored transformers have in common: the plain values of their blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Count, FieldsOf, Real, StringOf, TrueOrFalse, Violation, optional
from margin.neural.attention.config import ACTIVATION_NAMES, FEED_FORWARDS, NORMS, POSITIONS

__all__ = ["CONFIG", "check_config"]

MOST = 2**31  # of any size: what a file says is multiplied before it is allocated

CONFIG = FieldsOf(
    {
        "d_model": Count(low=1, high=MOST),
        "n_heads": Count(low=1, high=MOST),
        "n_blocks": Count(low=1, high=MOST),
        "d_ff": optional(Count(low=1, high=MOST)),
        "n_kv_heads": optional(Count(low=1, high=MOST)),
        "norm": StringOf(NORMS),
        "norm_first": TrueOrFalse(),
        "norm_eps": Real(0.0, 1.0, finite=True),
        "activation": StringOf(ACTIVATION_NAMES),
        "feed_forward": StringOf(FEED_FORWARDS),
        "n_experts": Count(low=1, high=MOST),
        "top_k": Count(low=1, high=MOST),
        "position": StringOf(POSITIONS),
        "rope_base": Real(1.0, finite=True),
        "context": Count(low=1, high=MOST),
        "qk_norm": TrueOrFalse(),
        "window": optional(Count(low=1, high=MOST)),
        "bias": TrueOrFalse(),
        "dropout": Real(0.0, 1.0, finite=True),
        "zero_init": TrueOrFalse(),
        "init_std": Real(0.0, finite=True),
    }
)


def check_config(config: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
    """Blocks and experts have arrays of their own, so a file with few arrays cannot ask for many modules."""
    parts = config["n_blocks"] * (config["n_experts"] if config["feed_forward"] == "experts" else 1)
    if parts > len(weights):
        raise Violation("network_ must not have more blocks and experts than weights_ has arrays")
