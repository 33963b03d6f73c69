r"""A network that scores the tags of every word, and the probability of a sequence of tags by a chain.

.. math:: \log p(y \mid x) = a_{y_1} + \sum_t s_t(y_t) + \sum_{t>1} A_{y_{t-1}, y_t} + e_{y_T} - \log Z(x)

Without the chain, :math:`a`, :math:`A` and :math:`e` are 0 and every word has a softmax of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.activations.fused import fused_log_softmax, fused_logsumexp
from margin.neural.layers.dropout import Dropout
from margin.neural.nets.encoder_scores import ragged_encoder
from margin.neural.nets.text import PADDING, TokenEncoder

__all__ = ["PiecesTaggingNetwork", "TagScores", "TaggingNetwork", "chain_log_likelihood", "chain_tag_log_likelihoods"]


def chain_log_likelihood(
    scores: Tensor, tags: Tensor, mask: Tensor, first: Tensor, between: Tensor, last: Tensor
) -> Tensor:
    """Log-probability of the tags (N, T) of every sentence from the scores (N, T, K) of its words.

    ``mask`` (N, T) is False at padding.

    >>> scores, mask = torch.zeros(1, 3, 2), torch.tensor([[True, True, False]])
    >>> chain = torch.zeros(2), torch.zeros(2, 2), torch.zeros(2)
    >>> chain_log_likelihood(scores, torch.tensor([[0, 1, 0]]), mask, *chain).exp()  # one of four sequences
    tensor([0.2500])
    """
    ends = mask.sum(dim=1) - 1
    gold = scores.gather(2, tags[..., None])[..., 0].where(mask, 0.0).sum(dim=1)
    steps = between[tags[:, :-1], tags[:, 1:]].where(mask[:, 1:], 0.0).sum(dim=1)
    gold = gold + steps + first[tags[:, 0]] + last[tags.gather(1, ends[:, None])[:, 0]]
    forward = first + scores[:, 0]
    for t in range(1, scores.shape[1]):
        onward = fused_logsumexp(forward[:, :, None] + between, dim=1) + scores[:, t]
        forward = torch.where(mask[:, t, None], onward, forward)
    return gold - fused_logsumexp(forward + last, dim=1)


def chain_tag_log_likelihoods(
    scores: Tensor, tags: Tensor, mask: Tensor, first: Tensor, between: Tensor, last: Tensor
) -> Tensor:
    r"""Log-probability (N, T) of every tag given the sentence and the tags before it; 0 at padding.

    .. math:: \log p(y_t \mid y_{<t}, x) = A_{y_{t-1}, y_t} + s_t(y_t) + \beta_t(y_t) - \beta_{t-1}(y_{t-1})

    with :math:`\beta_t(k)` the logarithm of the sum over all endings of a sentence after the tag k at t. The sum over a
    sentence is :func:`chain_log_likelihood`.

    >>> scores, mask = torch.zeros(1, 3, 2), torch.tensor([[True, True, False]])
    >>> chain = torch.zeros(2), torch.zeros(2, 2), torch.zeros(2)
    >>> chain_tag_log_likelihoods(scores, torch.tensor([[0, 1, 0]]), mask, *chain).exp()
    tensor([[0.5000, 0.5000, 1.0000]])
    """
    ends = mask.sum(dim=1) - 1
    endings = last.expand(len(scores), -1)
    told = []
    for t in range(scores.shape[1] - 1, 0, -1):
        onward = scores[:, t] + endings  # (N, K)
        before = fused_logsumexp(between + onward[:, None, :], dim=2)
        step = between[tags[:, t - 1]] + onward - before.gather(1, tags[:, t - 1, None])
        told.append(step.gather(1, tags[:, t, None])[:, 0].where(mask[:, t], 0.0))
        endings = torch.where((t <= ends)[:, None], before, endings)
    start = fused_log_softmax(first + scores[:, 0] + endings, dim=1)
    return torch.stack([start.gather(1, tags[:, :1])[:, 0], *reversed(told)], dim=1)


class TagScores(nn.Module):
    """A network with scores (N, W, K) of the tags of every word, and the chain between them if it has one."""

    def join(self, n_tags: int, chain: bool) -> None:
        """Make the scores of first, neighboring and last tags, all 0."""
        self.chain = chain
        if chain:
            self.first, self.last = nn.Parameter(torch.zeros(n_tags)), nn.Parameter(torch.zeros(n_tags))
            self.between = nn.Parameter(torch.zeros(n_tags, n_tags))

    def words(self, ids: Tensor, beside: Tensor) -> Tensor:
        """Where there is a word, (N, W)."""
        return ids != PADDING

    def by_word(self, values: Tensor, beside: Tensor) -> Tensor:
        """Of values at every token, (N, T, ...), those of words, (N, W, ...)."""
        return values

    def losses(self, ids: Tensor, beside: Tensor, tags: Tensor, factors: Tensor | None = None) -> Tensor:
        """Negative log-probability of the tags of every sentence; ``tags`` stand at every token.

        With ``factors`` (K,) the log-probability of each tag, given those before it, is multiplied by its own.
        """
        scores, mask, tags = self(ids, beside), self.words(ids, beside), self.by_word(tags, beside)
        if self.chain and factors is None:
            return -chain_log_likelihood(scores, tags, mask, self.first, self.between, self.last)
        if self.chain:
            log_p = chain_tag_log_likelihoods(scores, tags, mask, self.first, self.between, self.last)
        else:
            log_p = fused_log_softmax(scores, dim=-1).gather(2, tags[..., None])[..., 0]
        log_p = log_p if factors is None else log_p * factors.to(log_p)[tags]
        return -log_p.where(mask, 0.0).sum(dim=1)


class PiecesTaggingNetwork(TagScores):
    """Ids of pieces as :class:`RaggedEncoderScores` reads them, and 1 at the first piece of every word, else 0.

    The tag of a word is read off its first piece (Devlin et al., 2019).
    """

    def __init__(self, described: Mapping[str, Any], chain: bool):
        super().__init__()
        self.scores = ragged_encoder(described)
        self.join(described["n_outputs"], chain)

    def forward(self, ids: Tensor, beside: Tensor) -> Tensor:
        return self.by_word(self.scores(ids), beside)

    def words(self, ids: Tensor, beside: Tensor) -> Tensor:
        counts = beside.sum(dim=1)
        return torch.arange(int(counts.max()), device=ids.device) < counts[:, None]

    def by_word(self, values: Tensor, beside: Tensor) -> Tensor:
        order = torch.argsort(beside, dim=1, descending=True, stable=True)[:, : int(beside.sum(dim=1).max())]
        index = order.reshape(*order.shape, *[1] * (values.ndim - 2)).expand(*order.shape, *values.shape[2:])
        return values.gather(1, index)


class TaggingNetwork(TagScores):
    """Ids of words and of their outlines, (N, T) each, to scores of tags (N, T, K); 0 stands after the end.

    Options are those of :class:`~margin.neural.nets.text.TokenEncoder`.

    >>> net = TaggingNetwork(10, 5, 3, "rnn", d_model=4, hidden_size=6)
    >>> net(torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([[2, 3, 2], [4, 0, 0]])).shape
    torch.Size([2, 3, 3])
    """

    def __init__(
        self,
        n_tokens: int,
        n_outlines: int,
        n_tags: int,
        architecture: str,
        chain: bool = True,
        d_model: int = 64,
        dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__()
        self.encoder = TokenEncoder(n_tokens, architecture, d_model=d_model, dropout=dropout, **options)
        self.outlines = nn.Embedding(n_outlines, d_model, padding_idx=PADDING)
        with torch.no_grad():
            self.outlines.weight[1:].normal_(std=0.1)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(self.encoder.size, n_tags)
        self.join(n_tags, chain)

    def forward(self, ids: Tensor, outlines: Tensor) -> Tensor:
        out: Tensor = self.head(self.dropout(self.encoder(ids, self.outlines(outlines))))
        return out
