r"""A recurrent network over sequences of different lengths: the state after the last step, then a linear map.

.. math:: h_t = \mathrm{cell}(x_t, h_{t-1}),\qquad y = W h_{T} + b
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.layers.dropout import Dropout

__all__ = ["SequenceNetwork"]

LAYERS: dict[str, Any] = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class SequenceNetwork(nn.Module):
    """Sequences (N, T, d) padded with NaN at their ends give outputs (N, n_outputs).

    ``truncation`` bounds, while learning, the steps through which gradients go back: the states are cut from their past
    after every so many. The forget gates of an LSTM start with a bias of 1, so that it remembers before it has learned.

    >>> net = SequenceNetwork(2, 3, cell="gru", hidden_size=8)
    >>> net(torch.tensor([[[0.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [float("nan")] * 2]])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        cell: str = "lstm",
        hidden_size: int = 64,
        n_layers: int = 1,
        dropout: float = 0.0,
        truncation: int | None = None,
    ):
        super().__init__()
        if cell not in LAYERS:
            raise ValueError(f"SequenceNetwork: cell must be one of {', '.join(LAYERS)}; got {cell!r}.")
        sizes = [n_inputs, *[hidden_size] * (n_layers - 1)]
        self.layers = nn.ModuleList(LAYERS[cell](size, hidden_size, batch_first=True) for size in sizes)
        self.head = nn.Linear(hidden_size, n_outputs)
        self.dropout = Dropout(dropout)
        self.truncation = truncation
        if cell == "lstm":
            with torch.no_grad():
                for layer in self.layers:
                    bias: Any = layer.bias_ih_l0
                    bias[hidden_size : 2 * hidden_size] += 1.0

    def forward(self, x: Tensor) -> Tensor:
        lengths = steps_of(x)
        states = self.states(x[:, : int(lengths.max())].nan_to_num())
        last = states[torch.arange(len(x), device=x.device), lengths - 1]
        return self.head(self.dropout(last))

    def states(self, x: Tensor) -> Tensor:
        """The states (N, T, H) of the last layer after every step of sequences without NaN."""
        cut = self.truncation if self.training and self.truncation is not None else x.shape[1]
        memory: list[Any] = [None] * len(self.layers)
        outputs = []
        for chunk in x.split(cut, dim=1):
            h = chunk
            for k, layer in enumerate(self.layers):
                h, state = layer(self.dropout(h) if k else h, memory[k])
                memory[k] = tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()
            outputs.append(h)
        return torch.cat(outputs, dim=1)


def steps_of(x: Tensor) -> Tensor:
    """How many steps of every sequence are there: those before the first NaN."""
    return x[..., 0].isnan().logical_not().sum(dim=1)
