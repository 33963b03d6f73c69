"""Few-shot learning as an estimator: trained on episodes of known classes, used on classes it has never seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from margin.core.domains import Choice, Integer, Number
from margin.core.parameters import attribute, parameter
from margin.core.records import Record
from margin.core.threads import torch_threads
from margin.meta.episodes import EpisodeBatches, sample_episode
from margin.meta.inner_loop import adapt, adapted_loss, reptile_gradients
from margin.meta.similarity import matching_log_probabilities, pair_logits, prototype_scores
from margin.neural.activations import ACTIVATIONS
from margin.neural.estimators.base import FitLoop, NeuralEstimator
from margin.neural.estimators.parameters import LAYER_SIZES, layer_sizes
from margin.neural.generators import Seeds
from margin.neural.nets.mlp import MLP
from margin.neural.scaling import Scaling
from margin.neural.training import Minimize, Plan, Training
from margin.neural.weights import build

__all__ = ["FewShotLearner"]

METHODS = ("prototypical", "matching", "siamese", "maml", "fomaml", "reptile")
EMBEDDING = ("prototypical", "matching", "siamese")
USE_STEPS = 3  # inner steps on a new support set for every one in training: there is no query loss to overfit


class FewShotLearner(NeuralEstimator):
    """Learns to tell new classes apart from a few examples of each.

    ``fit(X, y)`` sees the training classes; ``predict(X, support, support_labels)`` labels rows from a support set of
    any classes. The first three methods learn an embedding, the others a start for a few steps of descent.
    """

    method: str = parameter("prototypical", Choice(*METHODS), "How a support set is used.")
    _: KW_ONLY
    ways: int = parameter(5, Integer(low=2), "Classes of a training episode.")
    shots: int = parameter(1, Integer(low=1), "Support rows per class of a training episode.")
    queries: int = parameter(5, Integer(low=1), "Query rows per class of a training episode.")
    hidden_layer_sizes: Sequence[int] | int = parameter((64,), LAYER_SIZES, "Units of each hidden layer.")
    n_components: int = parameter(32, Integer(low=1), "Coordinates of the embedding.")
    activation: str = parameter("relu", Choice(*ACTIVATIONS), "Function of the hidden units.")
    inner_rate: float = parameter(0.1, Number(above=0), "Learning rate of the inner loop.")
    inner_steps: int = parameter(1, Integer(low=1), "Steps of the inner loop in training.")
    episodes: int = parameter(50, Integer(low=1), "Episodes of an epoch.")
    max_iter: int = parameter(10, Integer(low=1), "Most epochs.")
    alpha: float = parameter(0.0, Number(low=0), "Strength of the L2 penalty on matrices.")

    center_: np.ndarray = attribute("What is subtracted from every column.")
    scale_: np.ndarray = attribute("What every column is divided by.")
    classes_: np.ndarray = attribute("The training classes.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        self._check_parameters()
        X, y = check_X_y(X, y, dtype=np.float32)
        self.n_features_in_ = X.shape[1]
        self.classes_ = np.unique(y)
        self.center_, self.scale_ = Scaling.of(X)
        outputs = self.n_components if self.method in EMBEDDING else self.ways
        sizes = [X.shape[1], *layer_sizes(self.hidden_layer_sizes), int(outputs)]
        self.network_ = {"sizes": sizes, "activation": self.activation}
        seed = self._seed(state)
        seeds = Seeds.of(seed)
        scaled = Scaling(self.center_, self.scale_).apply(X)
        batches = EpisodeBatches(scaled, y, self.ways, self.shots, self.queries, seeds.order, self.episodes)
        sample_episode(scaled, y, self.ways, self.shots, self.queries, 0)  # too few rows are said before training
        module = build(self._network, seeds.weights)
        step = Minimize(
            module, self._objective, self._optimization(), schedule=self.learning_rate_init, penalty=self._penalty()
        )
        training = Training(batches, step, Plan(self.max_iter, self.record_steps, self.record_seconds), threads=1)
        if state is not None:
            training.load_state(state)
        yield from self._follow(training, FitLoop(training, seed, len(X), self._done_before(False)))

    def predict(self, X: Any, support: Any, support_labels: Any) -> np.ndarray:
        """The label of every row of ``X``, one of those of the support set."""
        classes, scores = self._scores(X, support, support_labels)
        return classes[scores.argmax(axis=1)]

    def same_class(self, A: Any, B: Any) -> np.ndarray:
        """Logits that rows of ``A`` and ``B`` are of one class, by the distance of their embeddings."""
        module = self._ready_module()
        with torch.inference_mode(), torch_threads(1):
            return pair_logits(module(self._tensor(A)), module(self._tensor(B))).numpy()

    def episode_accuracies(self, X: Any, y: Any, *, ways: int, shots: int, queries: int = 5, n_episodes: int = 100,
                           random_state: int = 0) -> np.ndarray:  # fmt: skip
        """Accuracy on the queries of ``n_episodes`` episodes; their mean has an interval of two standard errors."""
        rng = np.random.default_rng(random_state)
        found = []
        for _ in range(n_episodes):
            e = sample_episode(np.asarray(X), y, ways, shots, queries, rng)
            found.append(np.mean(self.predict(e.query, e.support, e.support_labels) == e.query_labels))
        return np.array(found)

    def _scores(self, X: Any, support: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        classes, codes = np.unique(np.asarray(labels), return_inverse=True)
        if len(classes) < 2 or len(codes) != len(support):
            raise ValueError(
                f"FewShotLearner: support must have 2 classes or more and a label per row; got {len(classes)} classes, "
                f"{len(codes)} labels and {len(support)} rows."
            )
        y, k, module = torch.from_numpy(codes), len(classes), self._ready_module()
        with torch_threads(1):
            if self.method in EMBEDDING:
                with torch.inference_mode():
                    near, far = module(self._tensor(support)), module(self._tensor(X))
                    scorer = matching_log_probabilities if self.method == "matching" else prototype_scores
                    return classes, scorer(near, y, far, k).numpy()
            if k > self.network_["sizes"][-1]:
                raise ValueError(
                    f"FewShotLearner: method {self.method!r} tells at most ways={self.network_['sizes'][-1]} classes "
                    f"apart; got {k}."
                )
            weights = adapt(
                module, functional.cross_entropy, self._tensor(support), y,
                rate=self.inner_rate, steps=USE_STEPS * self.inner_steps, second_order=False,
            )  # fmt: skip
            with torch.inference_mode():
                return classes, functional_call(module, weights, (self._tensor(X),))[:, :k].numpy()

    def _tensor(self, X: Any) -> Tensor:
        X = validate_data(self, X, dtype=np.float32, reset=False)
        return torch.from_numpy(np.ascontiguousarray(Scaling(self.center_, self.scale_).apply(X)))

    def _objective(self, module: nn.Module, batch: tuple[Tensor, ...], _noise: torch.Generator) -> dict[str, Tensor]:
        support, labels, query, wanted = batch
        k = self.ways
        if self.method in ("maml", "fomaml"):
            loss, outputs = adapted_loss(
                module, functional.cross_entropy, (support, labels), (query, wanted),
                rate=self.inner_rate, steps=self.inner_steps, second_order=self.method == "maml",
            )  # fmt: skip
        elif self.method == "reptile":
            loss, outputs = self._reptile(module, torch.cat([support, query]), torch.cat([labels, wanted]))
            wanted = torch.cat([labels, wanted])
        else:
            near, far = module(support), module(query)
            if self.method == "siamese":
                same = (wanted[:, None] == labels).to(far.dtype)
                pairs = pair_logits(far.repeat_interleave(len(near), dim=0), near.repeat(len(far), 1))
                weight = torch.where(same > 0, float(k - 1), 1.0).flatten()  # as many of one class as of two, in weight
                loss = functional.binary_cross_entropy_with_logits(pairs, same.flatten(), weight)
                outputs = prototype_scores(near, labels, far, k)
            elif self.method == "matching":
                outputs = matching_log_probabilities(near, labels, far, k)
                loss = functional.nll_loss(outputs, wanted)
            else:
                outputs = prototype_scores(near, labels, far, k)
                loss = functional.cross_entropy(outputs, wanted)
        return {"loss": loss, "accuracy": (outputs.detach().argmax(dim=1) == wanted).to(outputs.dtype).mean()}

    def _reptile(self, module: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The task's loss, with the way of the inner loop in place of its gradient."""
        steps = max(3, self.inner_steps)  # one step would be plain training on all tasks
        way = reptile_gradients(module, functional.cross_entropy, x, y, rate=self.inner_rate, steps=steps)
        with torch.no_grad():
            outputs = module(x)
        along = torch.stack([(w * way[name]).sum() for name, w in module.named_parameters()]).sum()
        return functional.cross_entropy(outputs, y) + along - along.detach(), outputs

    def _network(self) -> nn.Module:
        return MLP(**self.network_)
