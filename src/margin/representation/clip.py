r"""CLIP (Radford et al. 2021) at small scale: one space for images and their captions.

An image encoder and a text encoder learn together that, within a batch of N pairs, an image finds its caption and a
caption its image: cross-entropy over the rows and columns of the N x N matrix of cosine similarities times a learned
scale (at most 100). Afterwards any list of class names, put into a prompt and encoded, is a classifier of images.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from margin.core.arguments import refuse_told_twice
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Integer, Number, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ListOf, StringOf, sometimes
from margin.core.notices import warn_user
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import available, torch_threads
from margin.data.image_arrays import ImageParameters, channel_scaling, check_images
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.estimators.fine_tuning import PretrainedNetwork, image_start
from margin.neural.estimators.image_input import ImageRows, image_tags
from margin.neural.estimators.parameters import FALLING_RATE
from margin.neural.nets.clip import LARGEST_SCALE, CLIPNetwork
from margin.neural.nets.image_parts import Standardized
from margin.neural.nets.layer_list import layer_list_network, parse_layer
from margin.neural.training.evaluation import EVALUATION_ROWS
from margin.optimize.rate_schedules import RateSchedule
from margin.representation.clip_folder import (
    is_of_folder,
    read_clip,
    tower_network,
    tower_tokens,
    write_clip,
)
from margin.representation.contrastive import clip_loss
from margin.representation.stored import TWO_ENCODERS, both_encoders_are_stored
from margin.representation.word_codes import FIRST_WORD, PADDING, vocabulary_of, word_codes, words_of

__all__ = ["CLIP", "CLIPNetwork", "TextEncoder", "clip_network", "zero_shot_probabilities"]

MOST_NAMED = 5  # words that a warning names


def zero_shot_probabilities(images: np.ndarray, texts: np.ndarray, scale: float = LARGEST_SCALE) -> np.ndarray:
    """softmax(scale * images @ texts.T) of unit rows: the probability (n, classes) of every class name.

    >>> zero_shot_probabilities(np.eye(2), np.eye(2), scale=1.0).round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """
    logits = scale * images @ texts.T
    logits = logits - logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True)


class TextEncoder(nn.Module):
    """Words and their positions embedded, a hidden layer for each, the mean over the words of a text, a linear map."""

    def __init__(self, n_words: int, n_positions: int, width: int, n_outputs: int):
        super().__init__()
        self.words = nn.Embedding(n_words, width, padding_idx=PADDING)
        self.positions = nn.Embedding(n_positions, width)
        self.hidden = nn.Linear(width, width)
        self.last = nn.Linear(width, n_outputs)

    def pool(self, tokens: Tensor) -> Tensor:
        """The mean (N, width) of the hidden units over the words of each text."""
        mask = (tokens != PADDING).unsqueeze(2)
        # Words beyond the longest caption of the fit stand at its last position: they are read, not cut.
        places = torch.arange(tokens.shape[1], device=tokens.device).clip(max=self.positions.num_embeddings - 1)
        embedded = self.words(tokens) + self.positions(places)  # (N, T, width)
        hidden = functional.relu(self.hidden(embedded)) * mask
        return hidden.sum(dim=1) / mask.sum(dim=1).clip(min=1)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(self.pool(tokens))


def clip_network(described: Mapping[str, Any]) -> CLIPNetwork:
    """The network that the attribute ``network_`` of a :class:`CLIP` describes."""
    if is_of_folder(described):
        return tower_network(described)
    c, h, w = described["shape"]
    n = described["n_components"]
    images = layer_list_network(described["encoder"], (c, h, w), n)
    texts = TextEncoder(described["n_words"], described["n_positions"], described["text_width"], n)
    return CLIPNetwork(Standardized(images, described["center"], described["scale"]), texts)


class CLIP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ImageParameters, NeuralEstimator):
    """Images and captions in one space; classes of images by their names, without training on them.

    :meth:`from_transformers` begins with a pretrained pair of transformers.

    >>> images = np.stack([np.full((8, 8), k % 2.0) for k in range(40)])
    >>> captions = ["a bright image" if k % 2 else "a dark image" for k in range(40)]
    >>> model = CLIP(["dense 8"], n_components=8, max_iter=30, batch_size=8, random_state=0).fit(images, captions)
    >>> model.zero_shot(images[:2], ["dark", "bright"], "a {c} image").argmax(axis=1)
    array([0, 1])
    """

    _whole_batch = "its loss compares every row of a batch with all others"

    encoder: Sequence[str] = parameter(
        ("conv 16 3", "pool 2", "conv 32 3", "pool 2"),
        SequenceOf(Text(), min_length=1),
        "Layers of the image encoder, written as for CNNClassifier; a dense layer of n_components units follows.",
    )
    _: KW_ONLY
    n_components: int = parameter(32, Integer(low=1), "Numbers of a representation.")
    text_width: int = parameter(32, Integer(low=1), "Numbers of the embedding of a word.")
    batch_size: int | str = parameter(
        64,
        Either(Choice("auto"), Integer(low=2, search=(16, 256), log=True)),
        "Pairs per update: all others of the batch are the negatives of a pair; 'auto' is min(200, number of pairs).",
    )
    learning_rate: str | RateSchedule = FALLING_RATE
    learning_rate_init: float = parameter(
        0.005, Number(above=0, search=(1e-4, 1e-2), log=True), "Initial learning rate of the schedule."
    )
    max_iter: int = default(30, "Most epochs.")

    vocabulary_: list[str] = attribute(
        ListOf(StringOf()), "Words of the captions, in the order of their codes from 2 on; none with reading_."
    )
    reading_: str = attribute(sometimes(StringOf()), "The tokenizer.json of the folder that from_transformers read.")
    network_: dict[str, Any] = attribute(TWO_ENCODERS)
    _stored_rules = (both_encoders_are_stored,)

    @classmethod
    def from_transformers(cls, folder: str | os.PathLike[str], **params: Any) -> Self:
        """The CLIP of a folder that transformers wrote, fitted: it encodes images and texts at once.

        The folder has ``config.json``, ``model.safetensors``, ``tokenizer.json`` and, for the scaling of the pixels,
        ``preprocessor_config.json``; nothing in it is executed. Images are bytes, of the size that the folder
        says. ``params`` are parameters of training, for a fit that goes on with ``warm_start``.
        """
        network, weights, reading = read_clip(folder)
        refuse_told_twice(cls.__name__, params, {"encoder", "n_components", "text_width"})
        model = cls(**{"learning_rate_init": 1e-5, "n_components": network["n_components"], **params})
        model._check_parameters()
        model.network_, model.weights_, model.reading_, model.vocabulary_ = network, weights, reading, []
        model.n_features_in_ = int(np.prod(network["shape"]))
        model._begin_counts()
        return model

    def to_transformers(self, folder: str | os.PathLike[str]) -> Path:
        """Write a folder from which transformers builds this model, which must have begun in such a one."""
        check_is_fitted(self)
        if not is_of_folder(self.network_):
            raise ValueError(
                f"{type(self).__name__}: only a network of from_transformers is one that transformers has."
            )
        module: Any = self._ready_module()
        return write_clip(folder, module, self.network_, self.reading_)

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Learn from images ``X`` and their captions ``y``."""
        return self._consume(self.iterate(X, y), X, y)

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from pairs, yielding records; ``state`` continues a fit exactly where it was taken."""
        self._check_parameters()
        going_on = self._goes_on()
        images = self._images(X) if going_on else check_images(self, X, self.image_shape, self.channels)
        captions = _texts("y", y)
        check_consistent_length(images, captions)
        seed = self._seed(state)
        train, valid = self._split(len(images), seed)
        if not going_on:
            self.__dict__.pop("reading_", None)
            self.vocabulary_ = vocabulary_of(captions)
            center, scale = channel_scaling(images, np.ones(len(images)), train)
            self.network_ = {
                "encoder": [str(text) for text in self.encoder],
                "shape": [int(n) for n in images.shape[1:]],
                "n_components": int(self.n_components),
                "n_words": len(self.vocabulary_) + FIRST_WORD,
                "n_positions": max(len(words_of(text)) for text in captions),
                "text_width": int(self.text_width),
                "center": center,
                "scale": scale,
            }
        rows = ImageRows.of(images, self._tokens(captions))
        yield from self._train(_pair_loss, rows, train, valid, seed=seed, state=state)

    def as_pretrained(self) -> PretrainedNetwork:
        """The image encoder as where a fit begins: ``CNNClassifier.from_encoder(model)``."""
        check_is_fitted(self)
        layers = {"architecture": [*self.network_["encoder"], f"dense {self.network_['n_components']}"]}
        return image_start("CLIP", layers, self.network_, self.weights_, "images.body.")

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Unit vectors (n, n_components) of images, as :meth:`encode_images`."""
        return self.encode_images(X)

    def encode_images(self, X: MatrixLike) -> np.ndarray:
        """Unit vectors (n, n_components) of images."""
        check_is_fitted(self)
        module: Any = self._ready_module()
        images = self._images(X)
        parts = self._compute_predictions().rows(ImageRows.of(images)).chunks(EVALUATION_ROWS)
        with torch.inference_mode(), torch_threads(available()):
            codes = torch.cat([module.images(part.tensors[0]) for part in parts])
            return functional.normalize(codes, dim=1).numpy(force=True)

    def differentiable(self, X: MatrixLike) -> tuple[Callable[[Tensor], Tensor], Tensor]:
        check_is_fitted(self)
        module: Any = self._ready_module()
        x = torch.from_numpy(self._images(X)).to(next(module.parameters()))
        return lambda images: functional.normalize(module.images(images), dim=1), x

    def _images(self, X: Any) -> np.ndarray:
        return check_images(self, X, self.image_shape, self.channels, fitted=self.network_["shape"])

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (n, n_components) of texts, read to their end; words that no caption had are left out.

        Nothing was learned of such words, which a warning names; a text that has no other is one unknown word.
        """
        check_is_fitted(self)
        module: Any = self._ready_module()
        tokens = self._to_device(self._tokens(self._known_words(_texts("texts", texts))))
        with torch.inference_mode():
            return functional.normalize(module.texts(tokens), dim=1).numpy(force=True)

    def zero_shot(self, X: MatrixLike, class_names: Sequence[str], template: str = "a photo of a {c}") -> np.ndarray:
        """Probability (n, classes) that each image is what the prompt with each class name says."""
        if "{c}" not in template:
            raise ValueError(f"CLIP: template must contain {{c}} for the class name; got {template!r}.")
        prompts = [template.replace("{c}", name) for name in class_names]
        images, texts = self.encode_images(X), self.encode_texts(prompts)
        module: Any = self._ready_module()
        return zero_shot_probabilities(images, texts, float(module.scale.detach()))

    def similarity(self, X: MatrixLike, texts: Sequence[str]) -> np.ndarray:
        """Cosine similarities (n, m) of images and texts."""
        return self.encode_images(X) @ self.encode_texts(texts).T

    @property
    def _n_features_out(self) -> int:
        return self.network_["n_components"]

    def __sklearn_tags__(self) -> Any:
        tags = image_tags(super().__sklearn_tags__())
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _tokens(self, texts: Sequence[str]) -> np.ndarray:
        if is_of_folder(self.network_):
            return tower_tokens(texts, self.reading_, self.network_["texts"]["context"])
        return word_codes(texts, self.vocabulary_)

    def _known_words(self, texts: Sequence[str]) -> list[str]:
        """The texts without words that no caption had."""
        if is_of_folder(self.network_):
            return list(texts)
        known, split = set(self.vocabulary_), [words_of(text) for text in texts]
        unknown = dict.fromkeys(word for words in split for word in words if word not in known)
        if unknown:
            named = ", ".join(list(unknown)[:MOST_NAMED]) + (", ..." if len(unknown) > MOST_NAMED else "")
            bare = [text for text, words in zip(texts, split) if known.isdisjoint(words)]
            nothing = f", and nothing is known of {bare[0]!r}" if bare else ""
            warn_user(f"CLIP: no caption of the fit had the words {named}; they are left out{nothing}.")
        return [" ".join(word for word in words if word in known) or words[0] for words in split]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for text in self.encoder:
            try:
                parse_layer(text)
            except ValueError as error:
                raise ValueError(f"CLIP: encoder: {error}.") from None

    def _network(self) -> nn.Module:
        return clip_network(self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return None  # what convolutions cost is counted in the first step


def _pair_loss(module: Any, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
    images, tokens = batch
    return {"loss": clip_loss(module.images(images), module.texts(tokens), module.scale)}


def _texts(name: str, texts: Any) -> list[str]:
    ordered = isinstance(texts, Sequence) or getattr(texts, "ndim", 0) == 1  # a list, an array or a column
    given = list(texts) if ordered and not isinstance(texts, str) else []
    if not given or not all(isinstance(text, str) and words_of(text) for text in given):
        raise ValueError(f"CLIP: {name} must be a sequence of strings with words; got {str(texts)[:40]!r}.")
    return given
