"""What transformers with the face of an estimator share: the parameters of their blocks, and how they are trained."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

from margin.core.domains import MOST_LAYERS, Choice, Flag, Integer, Number, Optional
from margin.core.parameters import Declared, default, parameter, parameters_of
from margin.neural.attention.config import ACTIVATION_NAMES, NORMS, TransformerConfig
from margin.neural.estimators.parameters import TrainingParameters
from margin.optimize.rate_schedules import RateSchedule
from margin.optimize.rules import Rule

__all__ = ["BlockParameters", "TransformerTraining"]

# Initial weights have the deviation INIT / sqrt(d_model): GPT-2's 0.02 at its width of 768, and as much signal at
# smaller ones, where 0.02 stays on a plateau for long.
INIT = 0.5


class BlockParameters(Declared):
    """Sizes and parts of the blocks: one line each, for all transformers."""

    _: KW_ONLY
    d_model: int = parameter(128, Integer(low=1, search=(32, 512), log=True), "Width of a token's vector.")
    n_heads: int = parameter(4, Integer(low=1), "Attention heads of a block; they divide d_model.")
    n_blocks: int = parameter(4, Integer(low=1, high=MOST_LAYERS, search=(1, 8)), "Blocks on top of each other.")
    d_ff: int | None = parameter(None, Optional(Integer(low=1)), "Width of the feed-forward part; None: 4 d_model.")
    norm: str = parameter("rms", Choice(*NORMS), "Normalization of a token's vector.")
    qk_norm: bool = parameter(True, Flag(), "Whether queries and keys are normalized.")
    activation: str = parameter("relu_squared", Choice(*ACTIVATION_NAMES), "Function inside the 'mlp' feed-forward.")
    feed_forward: str = parameter(
        "mlp", Choice("mlp", "swiglu"), "The part of a block that acts on each token alone; 'swiglu' is gated."
    )
    dropout: float = parameter(
        0.0, Number(low=0, below=1, search=(0, 0.3)), "Probability that an entry of a branch is left out of an update."
    )

    def _config(self, **fixed: Any) -> TransformerConfig:
        """The blocks that the parameters describe; the error for a wrong combination names the estimator."""
        names = TransformerConfig.__dataclass_fields__.keys() & parameters_of(type(self)).keys() - fixed.keys()
        chosen = {name: getattr(self, name) for name in names} | fixed
        try:
            deviation = INIT / math.sqrt(self.d_model)
            return TransformerConfig(**{"bias": False, "zero_init": True, "init_std": deviation, **chosen})
        except ValueError as error:
            raise ValueError(str(error).replace("TransformerConfig", type(self).__name__)) from None


class TransformerTraining(TrainingParameters):
    """AdamW with warmup, a falling rate and clipped gradients, as transformers are trained."""

    _: KW_ONLY
    solver: str | Rule = default("adamw", "Optimizer; 'muon' moves hidden matrices and AdamW the rest.")
    alpha: float = parameter(
        0.1,
        Number(low=0, search=(1e-3, 0.3), log=True),
        "Weight decay of 'adamw' and 'muon'; L2 penalty of the others.",
    )
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = parameter(
        0.004, Number(above=0, search=(3e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    warmup: float = default(0.05, "Fraction of all updates in which the rate rises.")
    beta_2: float = default(0.99)
    clip_norm: float | None = default(1.0, "Bound on the norm of the whole gradient.")
    max_iter: int = default(10, "Most epochs.")
