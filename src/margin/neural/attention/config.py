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
    """Sizes and choices of all blocks; the defaults are GPT-2's."""

    d_model: int  # width of a token's vector
    n_heads: int
    n_blocks: int = 1
    d_ff: int | None = None  # width of the feed-forward part; None: 4 times d_model
    n_kv_heads: int | None = None  # fewer than n_heads: a smaller cache, for queries in groups share keys and values
    norm: str = "layer"  # "rms": cheaper, for it subtracts no mean, and as good (Llama)
    norm_first: bool = True  # inputs of parts are normalized, which trains without warm-up; False: sums are (BERT)
    norm_eps: float = 1e-5
    activation: str = "gelu"
    feed_forward: str = "mlp"  # "swiglu": better for as many weights; "experts": more weights for the same work
    n_experts: int = 4
    top_k: int = 2  # experts that each token is sent to
    position: str = "learned"  # "rope", "alibi": distances alone count, so that longer texts are possible
    rope_base: float = 10_000.0
    context: int = 512  # most tokens, where positions are learned
    qk_norm: bool = False  # queries and keys of one size: scores cannot grow, so larger rates stay stable
    window: int | None = None  # keys farther away are hidden: work that grows with the length, not its square
    bias: bool = True  # False: as good, and fewer weights (Llama)
    dropout: float = 0.0
    zero_init: bool = False  # every block starts as the identity, which deep stacks learn from sooner
    init_std: float = 0.02  # deviation of the initial weights, as in GPT-2 and BERT

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
