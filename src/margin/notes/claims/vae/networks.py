"""Networks of variational autoencoders at which claims look without training them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["network"]


def network(
    seed: int,
    n_features: int = 4,
    n_components: int = 2,
    hidden: Sequence[int] = (6,),
    activation: str = "tanh",
    **options: Any,
) -> Any:
    """A network in double precision with weights as training may leave them: log-variances, which begin as 0, are
    anything."""
    import torch

    from margin.generative.coders import last_layer
    from margin.generative.vae_network import VAENetwork
    from margin.neural.weights import build

    def draw() -> VAENetwork:
        made = VAENetwork(n_features, n_components, hidden, activation, **options)
        last_layer(made.encoder).reset_parameters()
        return made

    return build(draw, seed=seed, dtype=torch.float64)
