r"""An encoder-decoder, transformer or recurrent, that turns one text into another, with the face of an estimator.

.. math:: \log p(y_1, \dots, y_N \mid x) = \sum_n \log p(y_n \mid y_1, \dots, y_{n-1}, x)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, asdict
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from margin.core.domains import MOST_LAYERS, Choice, Flag, Integer, Number
from margin.core.invariants import FieldsOf
from margin.core.notices import warn_user
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.neural.activations.fused import fused_log_softmax
from margin.neural.attention.config import POSITIONS, TransformerConfig
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.transformer_parameters import BlockParameters, TransformerTraining
from margin.neural.generators import Seeds
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.nets.recurrent_translation import RecurrentEncoderDecoder
from margin.neural.nets.transformer import EncoderDecoderTransformer
from margin.neural.precision import widen
from margin.neural.training.pairs import PADDING, PairBatches, padded_sequences
from margin.neural.training.steps import Objective, Terms
from margin.neural.weights import device_of
from margin.text.beam import beam_search
from margin.text.bleu import bleu
from margin.text.stored_networks import TRANSLATOR, stored_codes, translator_is_stored
from margin.text.text_input import TextInput
from margin.text.token_codes import END, TOKENS, TextCodes, one_text, texts_of

__all__ = ["Translator"]

EncoderDecoder = EncoderDecoderTransformer | RecurrentEncoderDecoder
ARCHITECTURES: dict[str, type[EncoderDecoder]] = {
    "transformer": EncoderDecoderTransformer,
    "gru": RecurrentEncoderDecoder,
}
AT_ONCE = 32  # texts translated together

Pairs = list[tuple[np.ndarray, np.ndarray]]


class Translator(TextInput, BlockParameters, TransformerTraining, NeuralEstimator):
    r"""Encoder and decoder that write one text for another: a transformer, or recurrent networks with attention.

    With ``architecture='gru'`` the source is read in both directions and the decoder attends to it from its state
    (sequence to sequence); of the parameters of blocks d_model, n_blocks and dropout count, the others and ``position``
    are a transformer's.

    ``X`` and ``y`` are sequences of strings, one pair after another. ``predict`` follows the ``beam_width`` best
    beginnings of every text; ``score`` is BLEU. Sentences want tens of thousands of pairs: from a few thousand it
    learns less than one gets by looking up the most similar sentence.

    Examples
    --------
    >>> import itertools
    >>> names = {"one": "eins", "two": "zwei", "three": "drei"}
    >>> sources = [" ".join(words) + "." for words in itertools.product(names, repeat=3)] * 3
    >>> targets = [" ".join(names[word] for word in text[:-1].split()) + "." for text in sources]
    >>> model = Translator("char", d_model=32, n_heads=2, n_blocks=1, max_iter=40, batch_size=16, random_state=0)
    >>> model.fit(sources, targets).predict(["three two one."]).tolist(), model.score(sources, targets) > 0.9
    (['drei zwei eins.'], True)
    """

    tokens: str = parameter("bpe", Choice(*TOKENS), "What a token is: a character, a byte, or a piece by byte pairs.")
    _: KW_ONLY
    architecture: str = parameter(
        "transformer", Choice(*ARCHITECTURES), "'gru': recurrent networks with attention, of n_blocks layers each."
    )
    vocab_size: int = parameter(
        4000, Integer(low=256), "Tokens that 'bpe' learns on either side; 'char' and 'byte' have their own."
    )
    context: int = parameter(128, Integer(low=2), "Most tokens of a text on either side, its end included.")
    position: str = parameter(
        "learned",
        Choice(*POSITIONS),
        "How the network knows the order of tokens; where the decoder looks at the source, only added positions tell.",
    )
    n_blocks: int = parameter(
        3, Integer(low=1, high=MOST_LAYERS, search=(1, 6)), "Blocks of the encoder, and as many of the decoder."
    )
    label_smoothing: float = parameter(
        0.1, Number(low=0, below=1, search=(0, 0.2)), "Fraction of the target's probability that all tokens share."
    )
    beam_width: int = parameter(
        4, Integer(low=1, high=1_000), "Beginnings that predict follows; 1 takes the best token each time."
    )
    length_penalty: float = parameter(
        0.6, Number(low=0), "How much of the loss of longer texts is forgiven when predict compares them."
    )
    truncate: bool = parameter(
        True,
        Flag(),
        "Whether the end of texts longer than the context is cut off, with a warning; else it is an error.",
    )
    batch_size: int = parameter(64, Integer(low=1, search=(16, 256), log=True), "Pairs per update.")
    learning_rate_init: float = default(0.003)
    shuffle: bool = parameter(True, Choice(True, search=False), "Pairs come in random order: always True.")

    codes_: dict[str, dict[str, str]] = attribute(
        FieldsOf({side: stored_codes(TOKENS) for side in ("source", "target")}),
        "Kind and content of the tokens of 'source' and 'target'.",
    )
    network_: dict[str, Any] = attribute(TRANSLATOR)
    _stored_rules = (translator_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from pairs of texts, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
        texts = dict(zip(("source", "target"), text_pairs(owner, X, y)))
        config = self._config()
        codes = {
            side: self._codes(side) if self._goes_on() else TextCodes.learn(self.tokens, part, self.vocab_size)
            for side, part in texts.items()
        }
        sources, targets = (self._encode(codes[side], part, side) for side, part in texts.items())
        pairs = [(source, np.array([END, *target])) for source, target in zip(sources, targets)]
        network = {"source": codes["source"].size, "target": codes["target"].size, "config": asdict(config)}
        if self.architecture != "transformer":
            network["architecture"] = self.architecture
        if self._goes_on() and network != self.network_:
            raise ValueError(f"{owner}: warm_start must go on with the same network.")
        seed = self._seed(state)
        train, valid = self._split(len(pairs), seed)
        self.codes_, self.network_ = {side: code.stored for side, code in codes.items()}, network
        yield from self._learn([pairs[i] for i in train], [pairs[i] for i in valid], seed, state)

    def predict(self, X: Any) -> np.ndarray:
        """The translation of every text; that of an empty one is empty."""
        owner, translations = type(self).__name__, []
        codes = self._codes("target")
        sources = self._encode(self._codes("source"), texts_of(owner, X), "source")
        order = np.argsort([len(source) for source in sources], kind="stable")
        with torch.inference_mode(), torch_threads(available()):
            for first in range(0, len(order), AT_ONCE):
                translations += self._translate([sources[i] for i in order[first : first + AT_ONCE]])
        texts = [""] * len(sources)
        for i, tokens in zip(order, translations):
            texts[i] = codes.decode(tokens) if len(sources[i]) > 1 else ""  # a source of nothing but its end
        return np.array(texts)

    def score(self, X: Any, y: Any) -> float:
        """BLEU of the translations, from 0 to 1."""
        sources, targets = text_pairs(type(self).__name__, X, y)
        return bleu(self.predict(sources).tolist(), targets)

    def score_pairs(self, X: Any, y: Any) -> np.ndarray:
        """Mean log-probability of a token of every target, its end included, given its source: nats per token."""
        owner, module = type(self).__name__, self._ready_module()
        both = [
            self._encode(self._codes(side), texts, side)
            for side, texts in zip(("source", "target"), text_pairs(owner, X, y))
        ]
        pairs = [(source, np.array([END, *target])) for source, target in zip(*both, strict=True)]
        return np.array([total / count for total, count in _log_probabilities(module, pairs)])

    def alignment(self, source: str, target: str) -> list[np.ndarray]:
        """Where the decoder looks while it writes ``target``: (heads, target tokens, source tokens) of every block."""
        owner, module = type(self).__name__, self._ready_module()
        ids = [
            self._to_device(self._encode(self._codes(side), [one_text(owner, side, text)], side)[0])[None]
            for side, text in (("source", source), ("target", target))
        ]
        begun = torch.cat([torch.full((1, 1), END, device=ids[1].device), ids[1][:, :-1]], dim=1)
        assert isinstance(module, EncoderDecoder)
        with torch.inference_mode():
            return [weights[0].numpy(force=True) for weights in module.alignment(ids[0], begun)]

    def _network(self) -> nn.Module:
        config = TransformerConfig(**self.network_["config"])
        kind = ARCHITECTURES[self.network_.get("architecture", "transformer")]
        return kind(self.network_["source"], self.network_["target"], config)

    def _codes(self, side: str) -> TextCodes:
        check_is_fitted(self)
        return TextCodes.of(self.codes_[side])

    def _encode(self, codes: TextCodes, texts: Sequence[str], side: str) -> list[np.ndarray]:
        """Every text with its end, within the context."""
        owner = type(self).__name__
        sequences = codes.encode_all(texts, owner)
        long = [i for i, ids in enumerate(sequences) if len(ids) >= self.context]
        if long and not self.truncate:
            raise ValueError(
                f"{owner}: texts must have less than {self.context} tokens, or truncate must be True; "
                f"{side} {long[0]} has {len(sequences[long[0]])}."
            )
        if long:
            longest = max(len(sequences[i]) for i in long)
            texts_are = "text is" if len(long) == 1 else "texts are"
            warn_user(
                f"{owner}: {len(long)} {side} {texts_are} cut to {self.context - 1} tokens, the first of them {side} "
                f"{long[0]}; a context of {longest + 1} would hold all."
            )
        return [np.array([*ids[: self.context - 1], END]) for ids in sequences]

    def _learn(self, pairs: Pairs, held: Pairs, seed: int, state: Any) -> Iterator[Record]:
        seeds = Seeds.of(seed)
        module = self._begin_network(seeds)
        batches = PairBatches(pairs, self.batch_size, seeds.order)
        step = self._minimize(module, next_of_pair(self.label_smoothing), batches, len(pairs), seeds)

        def evaluate() -> dict[str, float]:
            scored = _log_probabilities(step.result.eval(), held)
            mean = sum(total for total, _ in scored) / sum(count for _, count in scored)
            return {"valid_loss": -mean, "valid_score": mean}

        yield from self._run(
            step, batches, seed=seed, state=state, n_rows=len(pairs), evaluate=evaluate if held else None
        )

    def _translate(self, sources: list[np.ndarray]) -> list[list[int]]:
        module, width = self._ready_module(), self.beam_width
        assert isinstance(module, EncoderDecoder)
        ids = padded_sequences(sources).to(device_of(module))
        mask = _visible(ids).repeat_interleave(width, dim=0)
        memory = module.encode(ids.clamp(min=0), _visible(ids)).repeat_interleave(width, dim=0)
        cache: Any = module.new_cache()

        def next_scores(tokens: Tensor, parents: Tensor) -> Tensor:  # the search itself is the CPU's
            cache.select(parents.to(ids.device))
            scores = module.decode(tokens[:, None].to(ids.device), memory, mask, cache)[:, -1]
            return fused_log_softmax(scores, dim=-1).cpu()

        options = {"width": width, "max_tokens": self.network_["config"]["context"], "alpha": self.length_penalty}
        beams = beam_search(next_scores, len(sources), begin=END, end=END, **options)
        return [tokens for tokens, _ in beams]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def text_pairs(owner: str, X: Any, y: Any) -> tuple[list[str], list[str]]:
    """Texts and their translations, equally many."""
    sources, targets = texts_of(owner, X), texts_of(owner, y, "y")
    if len(sources) != len(targets):
        raise ValueError(f"{owner}: X and y must have equally many texts; got {len(sources)} and {len(targets)}.")
    return sources, targets


def next_of_pair(label_smoothing: float) -> Objective:
    """Mean cross-entropy of the next token of the target, given the source, in nats."""

    def objective(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> Terms:
        source, target = batch
        scores = module(source.clamp(min=0), target[:, :-1].clamp(min=0), _visible(source))
        return {
            "loss": fused_cross_entropy(
                scores.flatten(0, 1),
                target[:, 1:].flatten(),
                ignore_index=PADDING,
                label_smoothing=label_smoothing if module.training else 0.0,
            )
        }

    return objective


def _visible(ids: Tensor) -> Tensor:
    return (ids != PADDING)[:, None, None, :]


def _log_probabilities(module: nn.Module, pairs: Pairs) -> list[tuple[float, int]]:
    """Log-probability of every target given its source, and how many tokens it has."""
    totals: list[tuple[float, int]] = []
    for first in range(0, len(pairs), AT_ONCE):
        sides = zip(*pairs[first : first + AT_ONCE])
        source, target = (padded_sequences(side).to(device_of(module)) for side in sides)
        with torch.inference_mode():
            scores = widen(module(source.clamp(min=0), target[:, :-1].clamp(min=0), _visible(source)))
            following = target[:, 1:].to(scores.device)
            losses = fused_cross_entropy(scores.transpose(1, 2), following, ignore_index=PADDING, reduction="none")
        counts = (target[:, 1:] != PADDING).sum(dim=1)
        totals += zip((-losses.sum(dim=1)).tolist(), counts.tolist())
    return totals
