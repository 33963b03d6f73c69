"""Few-shot learning as an estimator: trained on episodes of known classes, used on classes it has never seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn
from torch.func import functional_call

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Choice, Integer, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.invariants import ArrayOf, Count, ListOf, optional, sometimes
from margin.core.number_range import check_magnitude, within_float32
from margin.core.parameters import attribute, default, parameter
from margin.core.records import Record
from margin.core.threads import torch_threads
from margin.data.image_arrays import ROW_SHAPE, flat_pictures, order_of_pixels, row_layout
from margin.foundations.probability.softmax import softmax_rows
from margin.meta.embedding_network import PixelEmbedding, embedding_network
from margin.meta.episodes import EpisodeBatches, EpisodeRows, sample_episode
from margin.meta.inner_loop import adapt
from margin.meta.objectives import EMBEDDING, METHODS, episode_loss
from margin.meta.similarity import matching_log_probabilities, pair_logits, prototype_scores, prototypes
from margin.meta.stored import NETWORK, network_is_stored
from margin.neural.activations.table import ACTIVATIONS, Activation
from margin.neural.estimators.base import FitLoop, NeuralEstimator
from margin.neural.estimators.parameters import ACTIVATION, LAYER_SIZES, layer_sizes
from margin.neural.generators import Seeds
from margin.neural.losses.fused import fused_cross_entropy
from margin.neural.parts import describe
from margin.neural.scaling import Scaling, share_a_unit, usual_deviation
from margin.neural.stored import MOST_PIXELS
from margin.neural.training import Minimize, Rows, Step, Training, rate_schedule
from margin.neural.training.steps import Objective
from margin.reduction import PCA

__all__ = ["FewShotLearner"]

ROWS_AT_ONCE = 2048  # embedded together
LARGEST_DEVIATION = 1e15  # squares of distances stay within float32
Layout = tuple[tuple[int, int, int], bool]  # channels, height and width; whether channels come last
USE_STEPS = 3  # inner steps on a new support set for every one in training: there is no query loss to overfit


class FewShotLearner(ClassifierMixin, NeuralEstimator):
    """Learns to tell new classes apart from a few examples of each.

    ``fit(X, y)`` sees the training classes; ``predict(X, support, support_labels)`` labels rows from a support set of
    any classes. Three methods learn an embedding, in which a class is the mean of its support ('prototypical'), its
    support weighed by similarity ('matching'), or what pairs of rows have in common ('siamese'); without a support set
    they label rows by the prototypes of the training classes. 'maml', 'fomaml' and 'reptile' learn where a few steps of
    descent on the support should start. With early_stopping whole classes are held out, at least two.

    What is learned from a few training classes serves those. Without an encoder the embedding therefore starts from the
    principal axes of the columns and keeps them, and descent starts from a linear map that is 0: on five digits of
    MNIST after training on the five others, with five examples of each, the accuracy is 0.76 (mean of three draws;
    'matching' 0.72, 'maml' 0.68, 'siamese' 0.62), and that of the nearest centroid of pixels 0.72. What stands below it
    wants many training classes, as an encoder does: the 964 letters of Omniglot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = FewShotLearner(ways=4, max_iter=3, random_state=0).fit(X[y < 6], y[y < 6])
    >>> new, labels = X[y >= 6], y[y >= 6]
    >>> support = [np.flatnonzero(labels == c)[0] for c in (6, 7, 8, 9)]
    >>> bool(np.mean(model.predict(new, new[support], labels[support]) == labels) > 0.5)
    True
    """

    _whole_batch = "its batches are episodes, not rows"

    method: str = parameter("prototypical", Choice(*METHODS), "How a support set is used.")
    _: KW_ONLY
    ways: int = parameter(5, Integer(low=2), "Classes of a training episode.")
    shots: int = parameter(1, Integer(low=1), "Support rows per class of a training episode.")
    queries: int = parameter(5, Integer(low=1), "Query rows per class of a training episode.")
    hidden_layer_sizes: Sequence[int] | int = parameter((64,), LAYER_SIZES, "Units of each hidden layer.")
    encoder: Sequence[str] | None = parameter(
        None,
        Optional(SequenceOf(Text(), min_length=1)),
        "Layers on images of image_shape, written as for CNNClassifier, in place of hidden_layer_sizes.",
    )
    image_shape: Sequence[int] | None = parameter(
        None,
        Optional(SequenceOf(Integer(low=1), min_length=2)),
        "(height, width), (height, width, channels) or (channels, height, width) of a row that is an image: its values "
        "have one scale. None: that of X, where it is pictures.",
    )
    n_components: int = parameter(32, Integer(low=1), "Coordinates of the embedding.")
    activation: str | Activation = parameter("relu", ACTIVATION, "Activation function of the hidden units.")
    inner_rate: float = parameter(0.1, Number(above=0), "Learning rate of the inner loop.")
    inner_steps: int = parameter(
        1, Integer(low=1, high=1_000), "Steps of the inner loop in training; at least 3 for 'reptile'."
    )
    episodes: int = parameter(50, Integer(low=1), "Updates of an epoch.")
    batch_size: int = parameter(1, Integer(low=1), "Episodes per update.")
    shuffle: bool = default(True, "Whether every epoch draws new episodes.")
    max_iter: int = default(10, "Most epochs.")
    alpha: float = parameter(0.0, Number(low=0), "Strength of the L2 penalty on matrices.")

    center_: np.ndarray = attribute(ArrayOf("n_features"), "What is subtracted from every column.")
    scale_: np.ndarray = attribute(ArrayOf("n_features"), "What every column is divided by.")
    classes_: np.ndarray = attribute(ArrayOf("n_classes", kind="labels"), "The training classes.")
    prototypes_: np.ndarray | None = attribute(
        optional(ArrayOf("n_classes", None)), "Mean embedding of each training class; None without an embedding."
    )
    row_shape_: list[int] | None = attribute(sometimes(optional(ListOf(Count(low=1, high=MOST_PIXELS)))), ROW_SHAPE)
    network_: dict[str, Any] = attribute(NETWORK)
    _stored_rules = (network_is_stored,)

    _axes: np.ndarray | None = attribute(None, "Principal axes of the images, until the network has them.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        self._check_parameters()
        X, picture = flat_pictures("FewShotLearner", X, self.image_shape)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        X = within_float32("FewShotLearner", "X", X)
        check_classes(y)
        layout = None if picture is None else row_layout("FewShotLearner", picture, X.shape[1])
        self.row_shape_ = None if picture is None else list(picture)
        self.classes_, codes = encode_classes(y)
        sizes = (int(self.ways), int(self.shots), int(self.queries))
        self._refuse_poor_classes(codes)
        seed = self._seed(state)
        train, valid = self._split_classes(codes, seed)
        if not self._goes_on():
            self.center_, self.scale_ = self._scaling(X[train])
        outputs = int(self.n_components if self.method in EMBEDDING else self.ways)
        self.network_ = self._description(X.shape[1], outputs, layout)
        rows = EpisodeRows(Scaling(self.center_, self.scale_).apply(X), codes.astype(np.int64), sizes)
        self._axes = self._principal_axes(rows.X[train], seed) if "pixel_sizes" in self.network_ else None
        record: Record | None = None
        for record in self._train(self._objective, rows, train, valid, seed=seed, state=state):
            self._keep_prototypes(rows)
            yield record
        if record is None:  # the state was that of a finished fit
            self._keep_prototypes(rows)

    def predict(self, X: MatrixLike, support: Any = None, support_labels: Any = None) -> np.ndarray:
        """The label of every row of ``X``: one of those of the support set, or of the training classes without."""
        classes, scores = self._scores(X, support, support_labels)
        return classes[scores.argmax(axis=1)]

    def predict_proba(self, X: MatrixLike, support: Any = None, support_labels: Any = None) -> np.ndarray:
        """Probabilities of the classes of the support set, sorted, or of the training classes without."""
        scores = self._scores(X, support, support_labels)[1].astype(np.float64)
        # In the precision of the network: further digits would depend on the number of rows per call.
        return softmax_rows(scores).astype(np.float32)

    def embed(self, X: MatrixLike) -> np.ndarray:
        """The embedding of every row, (n, n_components)."""
        return _embed(self._embedding(), self._tensor(X)).numpy(force=True)

    def same_class(self, A: Any, B: Any) -> np.ndarray:
        """Logits that rows of ``A`` and ``B`` are of one class, by the distance of their embeddings."""
        return pair_logits(torch.from_numpy(self.embed(A)), torch.from_numpy(self.embed(B))).numpy(force=True)

    def episode_accuracies(self, X: MatrixLike, y: ArrayLike, *, ways: int, shots: int, queries: int = 5,
                           n_episodes: int = 100, random_state: int = 0) -> np.ndarray:  # fmt: skip
        """Accuracy on the queries of ``n_episodes`` episodes; their mean has an interval of two standard errors."""
        rng = np.random.default_rng(random_state)
        accuracies = []
        for _ in range(n_episodes):
            e = sample_episode(np.asarray(X), y, ways, shots, queries, rng)
            accuracies.append(np.mean(self.predict(e.query, e.support, e.support_labels) == e.query_labels))
        return np.array(accuracies)

    def _refuse_poor_classes(self, codes: np.ndarray) -> None:
        rows = int(self.shots + self.queries)
        rich = int((np.bincount(codes) >= rows).sum())
        if rich < self.ways:
            raise ValueError(
                f"FewShotLearner: an episode needs ways={self.ways} classes of shots + queries = {rows} rows; got "
                f"{rich} such {'class' if rich == 1 else 'classes'} in {len(codes)} sample{'s' * (len(codes) > 1)}."
            )

    def _split_classes(self, codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows of training and of held-out classes (none without ``early_stopping``)."""
        if not self.early_stopping:
            return np.arange(len(codes)), np.arange(0)
        n = len(self.classes_)
        held = max(2, math.ceil(self.validation_fraction * n))
        if n - held < self.ways:
            raise ValueError(
                f"FewShotLearner: early_stopping holds out {held} classes and leaves {n - held} for ways={self.ways}."
            )
        chosen = np.random.default_rng(Seeds.of(seed).split).permutation(n)[:held]
        return np.flatnonzero(~np.isin(codes, chosen)), np.flatnonzero(np.isin(codes, chosen))

    def _step(self, module: nn.Module, objective: Objective, rows: Rows, seeds: Any) -> tuple[Step, Any]:
        assert isinstance(rows, EpisodeRows)
        batches = EpisodeBatches(
            rows, seeds.order, steps_per_epoch=self.episodes, batch_size=self.batch_size, fresh=self.shuffle
        )
        schedule = rate_schedule(
            self.learning_rate, self.learning_rate_init, steps=self.max_iter * self.episodes, warmup=self.warmup,
            steps_per_epoch=self.episodes, n_rows=self._rows_of_an_epoch(), power=self.power_t,
        )  # fmt: skip
        step = Minimize(
            module, objective, self._rule(), schedule=schedule, seed=seeds.noise, clip_norm=self.clip_norm,
            penalty=self._penalty(), average=self.weight_average, compute=self._compute(),
        )  # fmt: skip
        return step, batches

    def _rows_of_an_epoch(self) -> int:
        return int(self.episodes * self.batch_size * self.ways * (self.shots + self.queries))

    def _note(self, training: Training, loop: FitLoop) -> None:
        super()._note(training, loop)
        self.t_ = loop.own["before"]["rows"] + training.epoch * self._rows_of_an_epoch()

    def _objective(self, module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        """Mean loss and accuracy over the episodes of a batch."""
        by_episode = [
            episode_loss(self.method, module, *episode, rate=self.inner_rate, steps=self.inner_steps)
            for episode in zip(*batch)
        ]
        losses, accuracies = zip(*by_episode)
        return {"loss": torch.stack(losses).mean(), "accuracy": torch.stack(accuracies).mean()}

    def _keep_prototypes(self, rows: EpisodeRows) -> None:
        self.prototypes_ = None
        if self.method in EMBEDDING:
            z = _embed(self._ready_module(), self._to_device(rows.X))
            self.prototypes_ = prototypes(z, self._to_device(rows.y), len(self.classes_)).numpy(force=True)

    def _scores(self, X: Any, support: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "prototypes_")
        if support is None:
            self._embedding()
            near, y, classes = torch.from_numpy(self.prototypes_), torch.arange(len(self.classes_)), self.classes_
            return classes, self._by_similarity(near, y, X, len(classes))
        classes, codes = encode_classes(np.asarray(labels))
        n_rows = len(support) if np.ndim(support) else 0
        if len(classes) < 2 or codes.shape != (n_rows,):
            raise ValueError(
                f"FewShotLearner: support must have 2 classes or more and a label per row; got {len(classes)} "
                f"{'class' if len(classes) == 1 else 'classes'}, {codes.size} labels and {n_rows} rows."
            )
        y, k = torch.from_numpy(codes), len(classes)
        if self.method in EMBEDDING:
            return classes, self._by_similarity(torch.from_numpy(self.embed(support)), y, X, k)
        return classes, self._by_descent(self._tensor(support), self._to_device(codes), X, k)

    def _by_similarity(self, near: Tensor, y: Tensor, X: Any, k: int) -> np.ndarray:
        scorer = matching_log_probabilities if self.method == "matching" else prototype_scores
        return scorer(near, y, torch.from_numpy(self.embed(X)), k).numpy(force=True)

    def _by_descent(self, support: Tensor, y: Tensor, X: Any, k: int) -> np.ndarray:
        module, most = self._ready_module(), _n_outputs(self.network_)
        if k > most:
            raise ValueError(
                f"FewShotLearner: method {self.method!r} tells at most ways={most} classes apart; got {k}."
            )
        with torch_threads(1):
            weights = adapt(
                module, fused_cross_entropy, support, y,
                rate=self.inner_rate, steps=USE_STEPS * self.inner_steps, second_order=False,
            )  # fmt: skip
            with torch.inference_mode():
                return functional_call(module, weights, (self._tensor(X),))[:, :k].numpy(force=True)

    def _embedding(self) -> nn.Module:
        check_is_fitted(self)
        if self.method not in EMBEDDING:
            raise ValueError(
                f"FewShotLearner: method {self.method!r} has no embedding and labels rows only from a support set; "
                f"{', '.join(EMBEDDING)} have one."
            )
        return self._ready_module()

    def _tensor(self, X: Any) -> Tensor:
        X, _ = flat_pictures("FewShotLearner", X, order_of_pixels(self))
        X = within_float32(
            "FewShotLearner", "X", validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        )
        X = Scaling(self.center_, self.scale_).apply(X)
        check_magnitude("FewShotLearner", "X in standard deviations of the training rows", X, LARGEST_DEVIATION)
        return self._to_device(np.ascontiguousarray(X))

    def _scaling(self, X: np.ndarray) -> Scaling:
        """Mean and deviation of every column; of pixels one deviation, or those that seldom differ would count most."""
        scaling = Scaling.of(X)
        if self.row_shape_ is None and not share_a_unit(X):
            return scaling
        moves = X.min(axis=0) < X.max(axis=0)
        common = usual_deviation(np.where(moves, scaling.scale, 0.0)) if moves.any() else 1.0
        return Scaling(scaling.center, np.full_like(scaling.scale, common))

    def _principal_axes(self, X: np.ndarray, seed: int) -> np.ndarray:
        n = min(int(self.n_components), *X.shape)
        return PCA(n, random_state=Seeds.of(seed).weights).fit(X).components_.T

    def _begin_network(self, seeds: Seeds, dtype: torch.dtype = torch.float32) -> nn.Module:
        module = super()._begin_network(seeds, dtype)
        if isinstance(module, PixelEmbedding) and self._axes is not None and not self._goes_on():
            module.set_axes(self._axes)
        self.__dict__.pop("_axes", None)
        return module

    def _description(self, n_features: int, n_outputs: int, layout: Layout | None) -> dict[str, Any]:
        if self.encoder is not None:
            if layout is None:
                raise ValueError("FewShotLearner: image_shape must be (height, width) for an encoder; got None.")
            shape, last = layout
            layers = [str(layer) for layer in self.encoder]
            return {"encoder": layers, "shape": list(shape), "n_outputs": n_outputs, "channels_last": last}
        sizes = [n_features, *layer_sizes(self.hidden_layer_sizes), n_outputs]
        name = "pixel_sizes" if self.method in EMBEDDING else "direct_sizes"
        return {name: sizes, "activation": describe("FewShotLearner: activation", self.activation, ACTIVATIONS)}

    def _network(self) -> nn.Module:
        return embedding_network(**self.network_)

    def _threads(self, module: nn.Module, batch_size: int) -> int | None:
        return 1  # an episode is a handful of rows


def _n_outputs(network: dict[str, Any]) -> int:
    return network["n_outputs"] if "encoder" in network else next(v for k, v in network.items() if "sizes" in k)[-1]


def _embed(module: nn.Module, x: Tensor) -> Tensor:
    """Embeddings of many rows, some at a time: feature maps of all of them would fill the memory."""
    with torch.inference_mode(), torch_threads(1):
        return torch.cat([module(part) for part in x.split(ROWS_AT_ONCE)])
