"""What a decoder learns, and when two descriptions of a decoder mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.attention.config import TransformerConfig
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.nets.transformer import balance

__all__ = ["next_token", "without_start"]

NOT_CHOSEN = ("init_std", "zero_init", "norm_eps", "rope_base")  # a pretrained network brings its own
BALANCE = 0.01  # weight of the load-balancing loss of experts, as in the Switch Transformer


def next_token(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Mean cross-entropy of the next token in nats, with what keeps experts equally busy."""
    inputs, targets = batch
    loss = fused_cross_entropy(module(inputs).flatten(0, 1), targets.flatten())
    return {"loss": loss + BALANCE * balance(module)}


def without_start(network: Mapping[str, Any]) -> dict[str, Any]:
    """What a network is made of, without what its first weights are drawn from and what no parameter says."""
    config = {name: value for name, value in network["config"].items() if name not in NOT_CHOSEN}
    return {**network, "config": {**config, "d_ff": TransformerConfig(**network["config"]).hidden}}
