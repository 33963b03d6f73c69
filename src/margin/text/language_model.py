r"""A decoder that learns to continue text, with the face of an estimator.

.. math:: \log p(t_1, \dots, t_N) = \sum_n \log p(t_n \mid t_1, \dots, t_{n-1})
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from margin.core.domains import MOST_LAYERS, Choice, Flag, Integer, Optional
from margin.core.parameters import attribute, default, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.neural.attention.config import FEED_FORWARDS, POSITIONS, TransformerConfig
from margin.neural.attention.decoder import DecoderTransformer
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.transformer_parameters import BlockParameters, TransformerTraining
from margin.neural.generators import Seeds
from margin.neural.training.tokens import TokenWindows
from margin.text.chat import Chat
from margin.text.continuing import Drawing, NextToken, NextTokens, continue_text, continued_rows, most_probable, until
from margin.text.decoder_folder import read_decoder, write_decoder
from margin.text.next_token import next_token, without_start
from margin.text.scoring import token_log_probabilities
from margin.text.stored_networks import DECODER, decoder_is_stored, stored_codes
from margin.text.text_input import TextInput
from margin.text.token_codes import END, TOKENS, TextCodes, one_text, texts_of
from margin.text.token_file import TokenFile

__all__ = ["LanguageModel"]


class LanguageModel(TextInput, BlockParameters, TransformerTraining, NeuralEstimator):
    r"""Transformer decoder that predicts the next token of a text.

    ``X`` is one string, a sequence of them, or a :class:`~margin.text.TokenFile` of more text than memory holds. The
    network reads windows of ``context`` tokens drawn at random. Its blocks have rotary positions, root mean square
    norms of tokens, queries and keys, squared rectifiers, and start as the identity; other choices are parameters. Long
    texts are learned soonest with ``solver="muon"``, ``learning_rate_init=0.01`` and ``momentum=0.95``. Scores are
    exact: each token is scored given the tokens from which :meth:`generate` would draw it.

    Examples
    --------
    >>> model = LanguageModel(d_model=16, n_heads=2, n_blocks=1, context=8, max_iter=20, random_state=0)
    >>> model = model.fit("abcd" * 200)
    >>> model.generate("ab", max_tokens=6, temperature=0)
    'cdabcd'
    >>> model.perplexity(["abcdabcd"]) < 2
    True
    """

    log_density_kind = "exact"

    tokens: str = parameter("char", Choice(*TOKENS), "What a token is: a character, a byte, or a piece by byte pairs.")
    _: KW_ONLY
    vocab_size: int = parameter(1000, Integer(low=256), "Tokens that 'bpe' learns; 'char' and 'byte' have their own.")
    context: int = parameter(64, Integer(low=2), "Tokens that a prediction can look back at.")
    position: str = parameter("rope", Choice(*POSITIONS), "How the network knows the order of tokens.")
    n_kv_heads: int | None = parameter(
        None, Optional(Integer(low=1)), "Key-value heads that groups of heads share; None: one for each head."
    )
    window: int | None = parameter(None, Optional(Integer(low=1)), "Tokens that one block looks back; None: all.")
    feed_forward: str = parameter("mlp", Choice(*FEED_FORWARDS), "The part of a block that acts on each token alone.")
    n_experts: int = parameter(4, Integer(low=1, high=MOST_LAYERS), "Networks of 'experts'.")
    top_k: int = parameter(2, Integer(low=1), "Experts that a token is sent to.")
    bias: bool = parameter(False, Flag(), "Whether matrices come with biases.")
    tie_weights: bool = parameter(True, Flag(), "Whether the matrix that embeds tokens also scores them.")
    batch_size: int = parameter(16, Integer(low=1, search=(8, 128), log=True), "Windows per update.")
    max_iter: int = default(10)
    steps_per_epoch: int | None = parameter(
        None, Optional(Integer(low=1)), "Updates of an epoch; None: as many as draw the length of the text once."
    )
    shuffle: bool = parameter(True, Choice(True, search=False), "Windows are drawn at random: always True.")
    early_stopping: bool = default(
        False, "Whether the end of the text is held out and training ends when its loss has stopped falling."
    )

    codes_: dict[str, str] = attribute(stored_codes(TOKENS), "Kind and content of the tokens.")
    network_: dict[str, Any] = attribute(DECODER)
    _stored_rules = (decoder_is_stored,)

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from the text ``X``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        owner = type(self).__name__
        config = self._config()
        codes, tokens = self._tokens_of_file(X) if isinstance(X, TokenFile) else self._tokens_of_texts(X)
        held = math.ceil(self.validation_fraction * len(tokens)) if self.early_stopping else 0
        if len(tokens) - held <= self.context or 0 < held < 2:
            raise ValueError(
                f"{owner}: X must have more tokens to learn from than the context of {self.context}; "
                f"got {len(tokens) - held}."
            )
        network = {"vocabulary": codes.size, "tied": bool(self.tie_weights), "config": asdict(config)}
        if self._goes_on():
            if without_start(network) != without_start(self.network_):
                raise ValueError(f"{owner}: warm_start must go on with the same network.")
            network = self.network_
        self.codes_, self.network_ = codes.stored, network
        yield from self._learn(tokens[: len(tokens) - held], tokens[len(tokens) - held :], state)

    def generate(
        self,
        prompt: str | Sequence[str] = "",
        max_tokens: int = 200,
        *,
        beams: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float = 1.0,
        stop: Sequence[str] = (),
        random_state: RandomLike = None,
    ) -> Any:
        """What follows ``prompt``: the pieces of :meth:`stream` together, or a list of texts for a list of prompts.

        Prompts of equally many tokens are read and continued together. With ``beams`` above 1 nothing is drawn: that
        many texts are followed at a time, and the most probable one is given (:mod:`margin.text.beam`).
        """
        drawing = Drawing(temperature, top_k, top_p, repetition_penalty)
        owner = type(self).__name__
        if not Integer(low=1).accepts(beams):
            raise ValueError(f"{owner}: beams must be an integer at least 1; got {beams!r}.")
        if beams > 1 and drawing not in (Drawing(), Drawing(0), Drawing(0.0)):
            raise ValueError(f"{owner}: beams above 1 draw nothing; got {drawing}.")
        if isinstance(prompt, str) and beams == 1:
            return "".join(self._continue(prompt, max_tokens, drawing, stop, random_state))
        prompts = [prompt] if isinstance(prompt, str) else texts_of(owner, prompt, "prompt")
        ids = [self._prompt_ids(text, max_tokens) for text in prompts]
        if beams > 1:
            new = [most_probable(self._next_tokens(int(beams)), row, max_tokens) for row in ids]
        else:
            new = self._continue_rows(ids, max_tokens, drawing, random_state)
        texts = ["".join(until(tokens, self._codes(), _stops(owner, stop))) for tokens in new]
        return texts[0] if isinstance(prompt, str) else texts

    def chat(self, opening: str = "", *, user: str = "User: ", reply: str = "Reply: ", end: str = "\n") -> Chat:
        """A conversation of several turns, each of which the model reads with all before it (:class:`Chat`)."""
        check_is_fitted(self)
        return Chat(self, opening, user, reply, end)

    def stream(
        self,
        prompt: str = "",
        max_tokens: int = 200,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        repetition_penalty: float = 1.0,
        stop: Sequence[str] = (),
        random_state: RandomLike = None,
    ) -> Iterator[str]:
        """What follows ``prompt``, piece by piece as it is drawn.

        Temperature 0 takes the most probable token. ``top_k`` and ``top_p`` cut the improbable ones, a
        ``repetition_penalty`` above 1 makes tokens that were there less likely, and the first of the strings in
        ``stop`` ends the text before it. Of a prompt longer than the context only its end counts.
        """
        drawing = Drawing(temperature, top_k, top_p, repetition_penalty)
        return self._continue(prompt, max_tokens, drawing, stop, random_state)

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, *, max_tokens: int = 200) -> list[str]:
        """New texts from their first token to their end, or to ``max_tokens``."""
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"{type(self).__name__}: n_samples must be an integer at least 1; got {n_samples!r}.")
        rng = as_generator(random_state)
        return [self.generate("", max_tokens, random_state=rng) for _ in range(n_samples)]

    def token_log_proba(self, text: str) -> np.ndarray:
        """Log-probability of every token of ``text`` given those before it, and of its end, in nats."""
        return self._scores(text)[0]

    def score_samples(self, X: Any) -> np.ndarray:
        """Mean log-probability of a token of every text, its end included: nats per token."""
        return np.array([values.mean() for values in self._scores(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability of a token of all texts in nats; minus the cross-entropy loss."""
        return float(np.concatenate(self._scores(X)).mean())

    def perplexity(self, X: Any) -> float:
        """Exponential of the mean loss per token: among how many equally likely tokens the model hesitates."""
        return math.exp(-self.score(X))

    def bits_per_byte(self, X: Any) -> float:
        """Bits that the model needs for a byte of the text, whatever its tokens are."""
        owner = type(self).__name__
        texts = _some_text(owner, texts_of(owner, X))
        nats = -float(np.concatenate(self._scores(texts)).sum())
        return nats / math.log(2) / sum(len(text.encode()) for text in texts)

    def attention_maps(self, text: str) -> list[np.ndarray]:
        """The attention weights of every block, (heads, tokens, tokens) each, for one text within the context."""
        module: Any = self._ready_module()
        owner = type(self).__name__
        ids = self._codes().join_texts([one_text(owner, "text", text)], owner)[:-1]
        with torch.inference_mode():
            return [weights[0].numpy(force=True) for weights in module.attention_maps(self._to_device(ids)[None])]

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> LanguageModel:
        """The GPT-2 or Llama in a folder of transformers (``config.json``, ``model.safetensors``, ``tokenizer.json``).

        Its tokenizer must be byte-level byte pairs, cut as GPT-2's are; without a token that ends a text one is added.
        ``params`` are parameters of training, for a fit that goes on with ``warm_start``; those of the network are in
        the folder. Nothing in the files is executed, and what does not fit together is refused.
        """
        model: LanguageModel = read_decoder(folder).build(cls, params)
        return model

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this model: blocks of GPT-2 or Llama, tokens by byte pairs."""
        return write_decoder(folder, self._codes(), self.network_, self.weights_)

    def _network(self) -> DecoderTransformer:
        config = TransformerConfig(**self.network_["config"])
        return DecoderTransformer(self.network_["vocabulary"], config, tied=self.network_["tied"])

    def _codes(self) -> TextCodes:
        check_is_fitted(self)
        return TextCodes.of(self.codes_)

    def _tokens_of_texts(self, X: Any) -> tuple[TextCodes, np.ndarray]:
        owner = type(self).__name__
        texts = _some_text(owner, texts_of(owner, X))
        codes = self._codes() if self._goes_on() else TextCodes.learn(self.tokens, texts, self.vocab_size)
        return codes, codes.join_texts(texts, owner)

    def _tokens_of_file(self, file: TokenFile) -> tuple[TextCodes, np.ndarray]:
        owner = type(self).__name__
        file.check_kind(owner, self.tokens, self.vocab_size)
        if self._goes_on() and self.codes_ != file.codes.stored:
            raise ValueError(f"{owner}: warm_start must go on with the same tokens; those of {file.folder} are others.")
        return file.codes, file.tokens

    def _continue(
        self, prompt: str, max_tokens: int, drawing: Drawing, stop: Sequence[str], random_state: RandomLike
    ) -> Iterator[str]:
        stop, ids = _stops(type(self).__name__, stop), self._prompt_ids(prompt, max_tokens)
        module: Any = self._ready_module()
        new = continue_text(
            NextToken(module, self.network_["config"]["context"]), ids, max_tokens, drawing, random_state
        )
        return until(new, self._codes(), stop)

    def _prompt_ids(self, prompt: Any, max_tokens: Any) -> list[int]:
        owner, codes = type(self).__name__, self._codes()
        if not Integer(low=1).accepts(max_tokens):
            raise ValueError(f"{owner}: max_tokens must be an integer at least 1; got {max_tokens!r}.")
        return [END, *(codes.encode(one_text(owner, "prompt", prompt), owner).tolist() if prompt else [])]

    def _next_tokens(self, n: int) -> NextTokens:
        module: Any = self._ready_module()
        return NextTokens(module, self.network_["config"]["context"], n)

    def _continue_rows(
        self, ids: list[list[int]], max_tokens: int, drawing: Drawing, random_state: RandomLike
    ) -> list[list[int]]:
        """What follows every prompt, those of equally many tokens together."""
        rng = as_generator(random_state)
        rngs = [np.random.default_rng(int(rng.integers(2**63))) for _ in ids]
        new: list[list[int]] = [[] for _ in ids]
        for length in sorted({len(row) for row in ids}):
            group = [i for i, row in enumerate(ids) if len(row) == length]
            rows, drawn = [ids[i] for i in group], [rngs[i] for i in group]
            written = continued_rows(self._next_tokens(len(group)), rows, max_tokens, drawing, drawn)
            for i, tokens in zip(group, written):
                new[i] = tokens
        return new

    def _learn(self, tokens: np.ndarray, held: np.ndarray, state: Mapping[str, Any] | None) -> Iterator[Record]:
        seed = self._seed(state)
        seeds = Seeds.of(seed)
        module = self._begin_network(seeds)
        batches = TokenWindows(tokens, self.context, self.batch_size, seeds.order, steps_per_epoch=self.steps_per_epoch)
        n_windows = batches.steps_per_epoch * self.batch_size
        step = self._minimize(module, next_token, batches, n_windows, seeds)

        def evaluate() -> dict[str, float]:
            (values,) = token_log_probabilities(step.result.eval(), [held], self.context)
            return {"valid_loss": -float(values.mean()), "valid_score": float(values.mean())}

        yield from self._run(
            step, batches, seed=seed, state=state, n_rows=n_windows, evaluate=evaluate if len(held) else None
        )

    def _scores(self, X: Any) -> list[np.ndarray]:
        """Log-probabilities of the tokens of every text."""
        owner, module, codes = type(self).__name__, self._ready_module(), self._codes()
        sequences = [np.array([END, *ids, END]) for ids in codes.encode_all(texts_of(owner, X), owner)]
        return token_log_probabilities(module, sequences, self.network_["config"]["context"])


def _stops(owner: str, stop: Any) -> list[str]:
    """Strings before which a text ends."""
    strings = [stop] if isinstance(stop, str) or not isinstance(stop, Iterable) else list(stop)
    if any(not isinstance(s, str) or not s for s in strings):
        raise ValueError(f"{owner}: stop must be strings that are not empty; got {strings!r}.")
    return strings


def _some_text(owner: str, texts: list[str]) -> list[str]:
    """``texts``, if one of them has something in it."""
    if not any(texts):
        raise ValueError(f"{owner}: X must have at least one character; all texts are empty.")
    return texts
