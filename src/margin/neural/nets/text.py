r"""Networks for the class of a text: vectors of tokens, an encoder, one vector for the text, a linear map.

"bag-of-words" is a sum of the token vectors, whatever their order, in which a token counts as much as it is rare (idf).
"cnn" (Kim, 2014) takes of each filter over a few
neighboring tokens the largest response in the text. "rnn" reads the text from both ends, and "transformer" lets every
token look at all others; of both, the mean over the tokens stands for the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from margin.neural.attention.config import TransformerConfig
from margin.neural.attention.decoder import TransformerStack, initialize_transformer
from margin.neural.attention.masks import padding_mask
from margin.neural.layers.dropout import Dropout
from margin.neural.nets.sequence import LAYERS

__all__ = ["PADDING", "TEXT_ARCHITECTURES", "TextNetwork", "TokenEncoder", "mean_of_tokens", "sum_by_rarity"]

PADDING = 0  # the id that stands after the end of a text
DEVIATION = 0.1  # of the initial vectors of tokens
BAG_SCALE = 0.3  # of the sum of a bag; at 1 the few epochs of small sets learn their texts by heart
TEXT_ARCHITECTURES = ("bag-of-words", "cnn", "rnn", "transformer")


def mean_of_tokens(states: Tensor, mask: Tensor) -> Tensor:
    """(N, T, d) vectors to (N, d): the mean over the tokens where ``mask`` is True.

    >>> mean_of_tokens(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]))
    tensor([[2.]])
    """
    weights = mask.to(states.dtype)
    return torch.einsum("ntd,nt->nd", states, weights) / weights.sum(dim=1, keepdim=True).clamp(min=1)


def sum_by_rarity(states: Tensor, weights: Tensor) -> Tensor:
    r"""(N, T, d) vectors to (N, d): :math:`\sum_t w_t x_t / \lVert w\rVert_2`, zero where all weights are.

    The mean of a long text is that of its common words; with ``weights`` that grow with how rare a token is, and
    without a length to divide by, what few words say is not lost.

    >>> sum_by_rarity(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[3.0, 4.0, 0.0]]))
    tensor([[3.]])
    """
    # sizes are at least 1 where a token is known, as an idf is: only texts of padding are divided by 1
    sizes = weights.square().sum(dim=1, keepdim=True).sqrt().clamp(min=1)
    return torch.einsum("ntd,nt->nd", states, weights) / sizes


def read_packed(layers: nn.ModuleList, dropout: nn.Module, x: Tensor, lengths: Tensor) -> Tensor:
    """Recurrent layers over texts (N, T, d), each from its own ends; zeros after the end."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    for k, layer in enumerate(layers):
        if k:
            packed = packed._replace(data=dropout(packed.data))
        packed, _ = layer(packed)
    states: Tensor = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])[0]
    return states


class TokenEncoder(nn.Module):
    """Ids (N, T), 0 after the end of a text, to a vector for every token, (N, T, ``size``).

    "bag-of-words" leaves the vectors alone, and "cnn" gives the responses of all filters at every token.
    """

    def __init__(
        self,
        n_tokens: int,
        architecture: str,
        d_model: int = 64,
        n_layers: int = 1,
        n_heads: int = 4,
        cell: str = "gru",
        hidden_size: int = 64,
        kernel_sizes: Sequence[int] = (3, 4, 5),
        n_filters: int = 64,
        dropout: float = 0.0,
    ):
        super().__init__()
        if architecture not in TEXT_ARCHITECTURES:
            raise ValueError(
                f"TokenEncoder: architecture must be one of {', '.join(TEXT_ARCHITECTURES)}; got {architecture!r}."
            )
        self.architecture, self.size = architecture, d_model
        self.embedding = nn.Embedding(n_tokens, d_model, padding_idx=PADDING)
        with torch.no_grad():
            self.embedding.weight[1:].normal_(std=DEVIATION)
        if architecture == "cnn":
            self.filters = nn.ModuleList(nn.Conv1d(d_model, n_filters, width) for width in kernel_sizes)
            self.size = n_filters * len(kernel_sizes)
        elif architecture == "rnn":
            sizes = [d_model, *[2 * hidden_size] * (n_layers - 1)]
            layer: Any = LAYERS[cell]
            self.layers = nn.ModuleList(layer(n, hidden_size, batch_first=True, bidirectional=True) for n in sizes)
            self.dropout, self.size = Dropout(dropout), 2 * hidden_size
            self.read_layers: Callable[..., Tensor] = read_packed
        elif architecture == "transformer":
            config = TransformerConfig(
                d_model=d_model, n_heads=n_heads, n_blocks=n_layers, position="rope", norm="rms", dropout=dropout
            )
            self.stack = TransformerStack(config)
            initialize_transformer(self.stack, config)

    def forward(self, ids: Tensor, extra: Tensor | None = None) -> Tensor:
        """The vectors; ``extra`` (N, T, d_model) is added to those of the tokens before the encoder."""
        mask = ids != PADDING
        x = self.embedding(ids) if extra is None else self.embedding(ids) + extra
        if self.architecture == "cnn":
            return self._convolve(x) * mask[..., None]
        if self.architecture == "rnn":
            return self.read_layers(self.layers, self.dropout, x, mask.sum(dim=1))
        if self.architecture == "transformer":
            out: Tensor = self.stack(x, mask=padding_mask(mask.sum(dim=1), ids.shape[1]))
            return out
        return x

    def _convolve(self, x: Tensor) -> Tensor:
        responses = []
        for layer in self.filters:
            assert isinstance(layer, nn.Conv1d)
            width = layer.kernel_size[0]
            around = functional.pad(x.transpose(1, 2), (width // 2, (width - 1) // 2))
            responses.append(functional.relu(layer(around)))
        return torch.cat(responses, dim=1).transpose(1, 2)


class TextNetwork(nn.Module):
    """Ids (N, T), 0 after the end of a text, to outputs (N, n_outputs); options are those of :class:`TokenEncoder`.

    ``rarity`` are the weights of the tokens in "bag-of-words", 1 until :meth:`set_rarity` says others.

    >>> net = TextNetwork(10, 2, "cnn", d_model=4, kernel_sizes=(2, 3), n_filters=5)
    >>> net(torch.tensor([[3, 4, 5], [6, 0, 0]])).shape
    torch.Size([2, 2])
    """

    def __init__(self, n_tokens: int, n_outputs: int, architecture: str, dropout: float = 0.0, **options: Any):
        super().__init__()
        self.encoder = TokenEncoder(n_tokens, architecture, dropout=dropout, **options)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(self.encoder.size, n_outputs)
        if architecture == "bag-of-words":
            self.register_buffer("rarity", torch.ones(n_tokens))

    def set_rarity(self, rarity: Tensor) -> None:
        """Let token i of a bag of words count ``rarity[i]`` times, at least once."""
        self.get_buffer("rarity").copy_(rarity)

    def forward(self, ids: Tensor) -> Tensor:
        out: Tensor = self.head(self.dropout(self.pool(ids)))
        return out

    def pool(self, ids: Tensor) -> Tensor:
        """One vector for each text, (N, size)."""
        states = self.encoder(ids)
        if self.encoder.architecture == "cnn":
            return states.amax(dim=1)  # responses are not negative, and 0 after the end of a text
        if self.encoder.architecture == "bag-of-words":
            return BAG_SCALE * sum_by_rarity(states, self.get_buffer("rarity")[ids] * (ids != PADDING))
        return mean_of_tokens(states, ids != PADDING)
