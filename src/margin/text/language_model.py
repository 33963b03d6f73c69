r"""A decoder that learns to continue text, with the face of an estimator.

.. math:: \log p(t_1, \dots, t_N) = \sum_n \log p(t_n \mid t_1, \dots, t_{n-1})
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike
from margin.core.records import Record
from margin.core.threads import torch_threads
from margin.neural.attention.config import ACTIVATION_NAMES, FEED_FORWARDS, NORMS, POSITIONS, TransformerConfig
from margin.neural.estimators.base import FitLoop, NeuralEstimator
from margin.neural.generators import Seeds
from margin.neural.nets.transformer import DecoderTransformer, balance
from margin.neural.training import Minimize, Plan, Training, rate_schedule
from margin.neural.training.schedules import SCHEDULES
from margin.neural.training.tokens import TokenWindows
from margin.neural.weights import build, load_weights
from margin.text.continuing import NextToken, continued, until
from margin.text.token_codes import END, TOKENS, TextCodes, texts_of

__all__ = ["LanguageModel"]

BALANCE = 0.01  # weight of the load-balancing loss of experts, as in the Switch Transformer
EVALUATION_WINDOWS = 64  # windows scored at once


class LanguageModel(NeuralEstimator):
    r"""Transformer decoder that predicts the next token of a text.

    ``X`` is one string or a sequence of them. The network reads windows of ``context`` tokens drawn at random. The
    defaults are what trains fastest here: rotary positions, root mean square norms of tokens, queries and keys, squared
    rectifiers, and blocks that start as the identity.

    Examples
    --------
    >>> model = LanguageModel(d_model=16, n_heads=2, n_blocks=1, context=8, max_iter=20, random_state=0)
    >>> model = model.fit("abcd" * 200)
    >>> model.generate("ab", max_tokens=6, temperature=0)
    'cdabcd'
    >>> model.perplexity(["abcdabcd"]) < 2
    True
    """

    tokens: str = parameter("char", Choice(*TOKENS), "What a token is: a character, a byte, or a piece by byte pairs.")
    _: KW_ONLY
    vocab_size: int = parameter(1000, Integer(low=256), "Tokens that 'bpe' learns; 'char' and 'byte' have their own.")
    d_model: int = parameter(128, Integer(low=1, search=(32, 512), log=True), "Width of a token's vector.")
    n_heads: int = parameter(4, Integer(low=1), "Attention heads of a block; they divide d_model.")
    n_blocks: int = parameter(4, Integer(low=1, search=(1, 8)), "Blocks on top of each other.")
    d_ff: int | None = parameter(None, Optional(Integer(low=1)), "Width of the feed-forward part; None: 4 d_model.")
    n_kv_heads: int | None = parameter(
        None, Optional(Integer(low=1)), "Key-value heads that groups of heads share; None: one for each head."
    )
    context: int = parameter(64, Integer(low=2), "Tokens that a prediction can look back at.")
    position: str = parameter("rope", Choice(*POSITIONS), "How the network knows the order of tokens.")
    norm: str = parameter("rms", Choice(*NORMS), "Normalization of a token's vector.")
    qk_norm: bool = parameter(True, Flag(), "Whether queries and keys are normalized.")
    activation: str = parameter("relu_squared", Choice(*ACTIVATION_NAMES), "Function inside the 'mlp' feed-forward.")
    feed_forward: str = parameter("mlp", Choice(*FEED_FORWARDS), "The part of a block that acts on each token alone.")
    n_experts: int = parameter(4, Integer(low=1), "Networks of 'experts'.")
    top_k: int = parameter(2, Integer(low=1), "Experts that a token is sent to.")
    window: int | None = parameter(None, Optional(Integer(low=1)), "Tokens that one block looks back; None: all.")
    tie_weights: bool = parameter(True, Flag(), "Whether the matrix that embeds tokens also scores them.")
    dropout: float = parameter(
        0.0, Number(low=0, below=1, search=(0, 0.3)), "Probability that an entry of a branch is left out of an update."
    )
    batch_size: int = parameter(16, Integer(low=1, search=(8, 128), log=True), "Windows per update.")  # type: ignore[assignment]
    solver: str = parameter(
        "adamw", Choice("adam", "adamw", "sgd", "muon"), "Optimizer; 'muon' moves hidden matrices and AdamW the rest."
    )
    alpha: float = parameter(0.1, Number(low=0), "Weight decay of 'adamw' and 'muon'; L2 penalty of the others.")
    learning_rate: str = parameter(
        "cosine", Choice("constant", "invscaling", *(s for s in SCHEDULES if s != "constant")), "Its schedule."
    )
    learning_rate_init: float = parameter(0.004, Number(above=0, search=(3e-4, 1e-2), log=True), "Full learning rate.")
    warmup: float = parameter(0.05, Number(low=0, below=1), "Fraction of all updates in which the rate rises.")
    beta_2: float = parameter(0.99, Number(low=0, below=1), "Decay of Adam's mean of the squared gradient.")
    clip_norm: float | None = parameter(1.0, Optional(Number(above=0)), "Bound on the norm of the whole gradient.")
    max_iter: int = parameter(10, Integer(low=1), "Most epochs, each as many windows as cover the text once.")
    shuffle: bool = parameter(True, Choice(True, search=False), "Windows are drawn at random: always True.")
    early_stopping: bool = parameter(
        False, Flag(), "Whether the end of the text is held out and training ends when its loss has stopped falling."
    )

    codes_: dict[str, str] = attribute("Kind and content of the tokens.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from the text ``X``, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        owner = type(self).__name__
        texts = texts_of(owner, X)
        codes = self._codes() if self._goes_on() else TextCodes.learn(self.tokens, texts, self.vocab_size)
        tokens = codes.joined(texts, owner)
        held = math.ceil(self.validation_fraction * len(tokens)) if self.early_stopping else 0
        if len(tokens) - held <= self.context or 0 < held < 2:
            raise ValueError(
                f"{owner}: X must have more tokens to learn from than the context of {self.context}; "
                f"got {len(tokens) - held}."
            )
        network = {"vocabulary": codes.size, "tied": bool(self.tie_weights), "config": asdict(self._config())}
        if self._goes_on() and network != self.network_:
            raise ValueError(f"{owner}: warm_start must go on with the same network.")
        self.codes_, self.network_ = {"kind": codes.kind, "content": codes.content}, network
        self.__dict__.pop("_text_codes", None)
        yield from self._learn(tokens[: len(tokens) - held], tokens[len(tokens) - held :], state)

    def generate(
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
    ) -> str:
        """What follows ``prompt``; the pieces of :meth:`stream` together."""
        options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "stop": stop}
        options |= {"repetition_penalty": repetition_penalty, "random_state": random_state}
        return "".join(self.stream(prompt, max_tokens, **options))

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
        ``stop`` ends the text before it. Only the last ``context`` tokens of a prompt count.
        """
        module: Any = self._ready_module()
        codes = self._codes()
        stop = [stop] if isinstance(stop, str) else list(stop)
        if any(not isinstance(s, str) or not s for s in stop):
            raise ValueError(f"{type(self).__name__}: stop must be strings that are not empty; got {stop!r}.")
        ids = [END, *codes.encode(prompt, type(self).__name__).tolist()] if prompt else [END]
        new = continued(
            NextToken(module, self.network_["config"]["context"]),
            ids,
            max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            repetition_penalty=repetition_penalty,
            random_state=random_state,
        )
        with torch_threads(1):  # one row of work per token: threads would only wait for each other
            yield from until(new, codes, stop)

    def token_log_proba(self, text: str) -> np.ndarray:
        """Log-probability of every token of ``text`` given those before it, and of its end, in nats.

        Exact where the text fits into the context; in longer ones each token sees at least half of a context.
        """
        owner = type(self).__name__
        (text,) = texts_of(owner, text)
        check_is_fitted(self)
        return self._scored(self._codes().joined([text], owner))

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-probability of every text, its end included, in nats."""
        return np.array([self.token_log_proba(text).sum() for text in texts_of(type(self).__name__, X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-probability of a token in nats; minus the cross-entropy loss."""
        return float(np.concatenate([self.token_log_proba(t) for t in texts_of(type(self).__name__, X)]).mean())

    def perplexity(self, X: Any) -> float:
        """Exponential of the mean loss per token: among how many equally likely tokens the model hesitates."""
        return math.exp(-self.score(X))

    def bits_per_byte(self, X: Any) -> float:
        """Bits that the model needs for a byte of the text, whatever its tokens are."""
        texts = texts_of(type(self).__name__, X)
        return -float(self.score_samples(texts).sum()) / math.log(2) / sum(len(text.encode()) for text in texts)

    def attention_maps(self, text: str) -> list[np.ndarray]:
        """The attention weights of every block, (heads, tokens, tokens) each, for one text within the context."""
        module: Any = self._ready_module()
        ids = self._codes().joined([text], type(self).__name__)[:-1]
        with torch.inference_mode():
            return [weights[0].numpy() for weights in module.attention_maps(torch.from_numpy(ids)[None])]

    def _config(self) -> TransformerConfig:
        names = TransformerConfig.__dataclass_fields__.keys() & self.get_params().keys()
        return TransformerConfig(bias=False, zero_init=True, **{name: getattr(self, name) for name in names})

    def _network(self) -> DecoderTransformer:
        config = TransformerConfig(**self.network_["config"])
        return DecoderTransformer(self.network_["vocabulary"], config, tied=self.network_["tied"])

    def _codes(self) -> TextCodes:
        check_is_fitted(self)
        if "_text_codes" not in self.__dict__:
            self._text_codes = TextCodes(**self.codes_)
        return self._text_codes

    def _learn(self, tokens: np.ndarray, held: np.ndarray, state: Mapping[str, Any] | None) -> Iterator[Record]:
        seed = self._seed(state)
        seeds = Seeds.of(seed)
        module = build(self._network, seeds.weights)
        going_on = self._goes_on()
        before = self._done_before(going_on) if state is None else state["before"]
        if going_on:
            load_weights(module, self.weights_)
        batches = TokenWindows(tokens, self.context, self.batch_size, seeds.order)
        steps = batches.steps_per_epoch
        schedule = rate_schedule(
            self.learning_rate, self.learning_rate_init, steps=self.max_iter * steps, warmup=self.warmup,
            steps_per_epoch=steps, n_rows=steps * self.batch_size, power=self.power_t,
        )  # fmt: skip
        step = Minimize(
            module, next_token, self._optimization(), schedule=schedule, seed=seeds.noise,
            clip_norm=self.clip_norm, penalty=self._penalty(), average=self.weight_average,
        )  # fmt: skip

        def evaluate() -> dict[str, float]:
            self._module = step.result
            loss = -float(self._scored(held).mean())
            return {"valid_loss": loss, "valid_score": -loss}

        training = Training(
            batches,
            step,
            Plan(self.max_iter, self.record_steps, self.record_seconds),
            evaluate=evaluate if len(held) else None,
            stopping=self._patience(len(held) > 0),
        )
        if state is not None:
            training.load_state(state)
        yield from self._follow(training, FitLoop(training, seed, steps * self.batch_size, before))

    def _scored(self, tokens: np.ndarray) -> np.ndarray:
        """Log-probability of every token but the first; windows overlap by half, and the overlap counts once."""
        n, context = len(tokens) - 1, self.network_["config"]["context"]
        length, stride = min(context, n), max(1, context // 2)
        starts = np.array([*range(0, n - length, stride), n - length])
        windows = np.lib.stride_tricks.sliding_window_view(tokens, length + 1)
        module, found = self._ready_module(), np.empty(n)
        for group in np.array_split(starts, math.ceil(len(starts) / EVALUATION_WINDOWS)):
            ids = torch.from_numpy(windows[group].copy())
            with torch.inference_mode():
                log_p = functional.log_softmax(module(ids[:, :-1]).double(), dim=-1)
            for start, values in zip(group, log_p.gather(-1, ids[:, 1:, None])[..., 0].numpy()):
                skip = 0 if start == 0 else length - stride
                found[start + skip : start + length] = values[skip:]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_text_codes"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def next_token(module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    """Mean cross-entropy of the next token in nats, with what keeps experts equally busy."""
    inputs, targets = batch
    loss = functional.cross_entropy(module(inputs).flatten(0, 1), targets.flatten())
    return {"loss": loss + BALANCE * balance(module)}
