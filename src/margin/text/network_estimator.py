"""What networks on texts share: parameters of the encoder and of its training, and batches of texts of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import torch
from torch import Tensor, nn

from margin.core.domains import MOST_LAYERS, Choice, Integer, Number
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import default, parameter
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.generators import Seeds
from margin.neural.nets.sequence import LAYERS
from margin.neural.nets.text import PADDING
from margin.neural.training import RowBatches, Rows, Step
from margin.neural.training.ragged import LengthBatches
from margin.neural.training.steps import Objective
from margin.optimize.rate_schedules import RateSchedule
from margin.text.terms import UNKNOWN
from margin.text.text_input import TextInput

__all__ = ["TextNetworkEstimator", "hide_at_random", "refuse_half_pretrained"]

UPDATES_PER_EPOCH = 20  # at least so many for 'auto' batches, so that few texts train too
SMALLEST_BATCH, LARGEST_BATCH = 4, 32
LARGEST_BATCH_OF_BAGS = 128  # an update of all vectors costs more than reading a bag, and larger batches fit better


class TextNetworkEstimator(TextInput, NeuralEstimator):
    """A network on tokens with the face of an estimator; a subclass says what it predicts."""

    _: KW_ONLY
    d_model: int = parameter(64, Integer(low=1, search=(16, 256), log=True), "Width of a token's vector.")
    n_layers: int = parameter(
        1,
        Integer(low=1, high=MOST_LAYERS, search=(1, 4)),
        "Recurrent layers of 'rnn' or blocks of 'transformer' on top of each other.",
    )
    n_heads: int = parameter(4, Integer(low=1), "Attention heads of 'transformer'; each has an even part of d_model.")
    cell: str = parameter("gru", Choice(*LAYERS), "Cell of 'rnn'.")
    hidden_size: int = parameter(
        64, Integer(low=1, search=(16, 256), log=True), "Units of the state of 'rnn' in each direction."
    )
    kernel_sizes: Sequence[int] = parameter(
        (3, 4, 5), SequenceOf(Integer(low=1), min_length=1), "How many neighboring tokens the filters of 'cnn' see."
    )
    n_filters: int = parameter(64, Integer(low=1, search=(16, 256), log=True), "Filters of 'cnn' of each size.")
    dropout: float = parameter(
        0.3, Number(low=0, below=1, search=(0, 0.5)), "Probability that an entry of a vector is left out of an update."
    )
    token_dropout: float = parameter(
        0.1, Number(low=0, below=1, search=(0, 0.3)), "Probability that a token is read as unknown in an update."
    )
    batch_size: int | str = default(
        "auto",
        "Texts per update; 'auto': 4 to 32 (128 as bags of words), such that an epoch has at least 20 updates.",
    )
    learning_rate: str | RateSchedule = default("cosine")
    learning_rate_init: float = parameter(
        0.01, Number(above=0, search=(1e-3, 3e-2), log=True), "Initial learning rate of the schedule."
    )
    max_iter: int = default(5, "Most epochs.")
    clip_norm: float | None = default(1.0)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if getattr(self, "architecture", "") == "transformer" and self.d_model % (2 * self.n_heads):
            raise ValueError(
                f"{type(self).__name__}: d_model must be a multiple of 2 n_heads = {2 * self.n_heads} in "
                f"'transformer'; got {self.d_model}."
            )

    def _describe(self, described: dict[str, Any]) -> None:
        """Set ``network_`` from what the subclass knows and from the parameters of the encoder."""
        network = described | {
            "d_model": int(self.d_model),
            "n_layers": int(self.n_layers),
            "n_heads": int(self.n_heads),
            "cell": str(self.cell),
            "hidden_size": int(self.hidden_size),
            "kernel_sizes": [int(width) for width in self.kernel_sizes],
            "n_filters": int(self.n_filters),
            "dropout": float(self.dropout),
        }
        if self._goes_on():
            changed = [name for name in network if name != "dropout" and network[name] != self.network_[name]]
            if changed:
                raise ValueError(
                    f"{type(self).__name__}: warm_start must go on with the network of the last fit, whose "
                    f"{changed[0]} is {self.network_[changed[0]]}; got {network[changed[0]]}."
                )
        self.network_ = network

    def _step(self, module: nn.Module, objective: Objective, rows: Rows, seeds: Seeds) -> tuple[Step, RowBatches]:
        step, batches = super()._step(module, objective, rows, seeds)
        return step, LengthBatches(rows, batches.batch_size, seeds.order, shuffle=self.shuffle)

    def _rows_per_update(self, n_rows: int) -> int:
        if self.batch_size == "auto":
            bags = getattr(self, "architecture", None) == "bag-of-words"
            most = LARGEST_BATCH_OF_BAGS if bags else LARGEST_BATCH
            return min(most, max(SMALLEST_BATCH, n_rows // UPDATES_PER_EPOCH))
        return int(self.batch_size)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what the tokens cost is counted in the first update

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_term_codes"}


def hide_at_random(
    ids: Tensor, probability: float, noise: torch.Generator, unknown: int = UNKNOWN, spared: Sequence[int] = ()
) -> Tensor:
    """Every token but those ``spared`` becomes the unknown one with this probability."""
    if not probability:
        return ids
    hidden = (torch.rand(ids.shape, generator=noise, device=noise.device) < probability) & (ids != PADDING)
    if spared:
        hidden &= ~torch.isin(ids, torch.tensor(spared, device=ids.device))
    return ids.masked_fill(hidden, unknown)


def refuse_half_pretrained(model: Any) -> None:
    """Refuse a pretrained network without its architecture, and the architecture without a network to begin with."""
    if (model.pretrained is not None) != (model.architecture == "pretrained") and not model._goes_on():
        raise ValueError(
            f"{type(model).__name__}: architecture 'pretrained' and a pretrained network belong together, as "
            f"from_transformers sets them, and a model file leaves the network out; got {model.architecture!r} and "
            f"{model.pretrained!r}."
        )
