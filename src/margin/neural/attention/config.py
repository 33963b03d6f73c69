"""What a transformer is made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ACTIVATION_NAMES", "FEED_FORWARDS", "NORMS", "POSITIONS", "TransformerConfig"]

POSITIONS = ("learned", "sinusoidal", "rope", "alibi", "relative", "none")
NORMS = ("layer", "rms")
FEED_FORWARDS = ("mlp", "swiglu", "experts")
ACTIVATION_NAMES = ("gelu", "gelu_tanh", "quick_gelu", "relu", "relu_squared", "silu")


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of all blocks; ``d_ff`` None is 4 times ``d_model``.

    ``norm_first`` normalizes what enters attention and the feed-forward part (GPT-2), else what leaves the sum
    (the first transformer, BERT). ``context`` is the most tokens where positions are learned. ``init_std`` is the
    deviation of the initial weights, 0.02 in GPT-2 and BERT; ``zero_init`` starts every block as the identity.
    """

    d_model: int
    n_heads: int
    n_blocks: int = 1
    d_ff: int | None = None
    n_kv_heads: int | None = None
    norm: str = "layer"
    norm_first: bool = True
    norm_eps: float = 1e-5
    activation: str = "gelu"
    feed_forward: str = "mlp"
    n_experts: int = 4
    top_k: int = 2
    position: str = "learned"
    rope_base: float = 10_000.0
    context: int = 512
    qk_norm: bool = False
    window: int | None = None
    bias: bool = True
    dropout: float = 0.0
    zero_init: bool = False
    init_std: float = 0.02

    def __post_init__(self) -> None:
        choices = {"position": POSITIONS, "norm": NORMS, "feed_forward": FEED_FORWARDS, "activation": ACTIVATION_NAMES}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"TransformerConfig: {name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}."
                )
        for name in ("d_model", "n_heads", "n_blocks", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"TransformerConfig: {name} must be at least 1; got {getattr(self, name)!r}.")
        if self.d_model % self.n_heads:
            raise ValueError(f"TransformerConfig: n_heads must divide d_model {self.d_model}; got {self.n_heads}.")
        if self.n_kv_heads is not None and (self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads):
            raise ValueError(
                f"TransformerConfig: n_kv_heads must divide n_heads {self.n_heads}; got {self.n_kv_heads}."
            )
        if self.position == "rope" and (self.d_model // self.n_heads) % 2:
            raise ValueError(
                "TransformerConfig: position 'rope' needs heads of even width; "
                f"got d_model {self.d_model} and n_heads {self.n_heads}."
            )
        if self.position == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"TransformerConfig: position 'sinusoidal' needs an even d_model; got {self.d_model}.")
        if self.feed_forward == "experts" and not 1 <= self.top_k <= self.n_experts:
            raise ValueError(
                f"TransformerConfig: top_k must be from 1 to n_experts {self.n_experts}; got {self.top_k}."
            )

    @property
    def hidden(self) -> int:
        """Width of the feed-forward part."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff
