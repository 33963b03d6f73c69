"""How to train, independent of what is trained: the parameters that every network estimator shares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Any

import numpy as np

from margin.core.domains import Choice, Either, Flag, Integer, Named, Number, Optional, Seed, Sequence
from margin.core.parameters import VERBOSE, Declared, attribute, parameter
from margin.core.randomness import RandomLike
from margin.neural.activations.table import ACTIVATIONS, USUAL, Activation
from margin.neural.initialize.initializers import INITIALIZERS, Initializer
from margin.neural.losses.class_losses import CLASS_LOSSES, CrossEntropy
from margin.neural.losses.network_loss import ClassLoss, TargetLoss, locations
from margin.neural.losses.target_losses import TARGET_LOSSES
from margin.neural.parts import chosen
from margin.neural.regularizers.regularizer import REGULARIZERS, Regularizer
from margin.neural.training.optimizers import OPTIMIZERS, Optimization
from margin.neural.training.schedules import SCHEDULES

__all__ = [
    "ACTIVATION",
    "CLASS_LOSS",
    "INITIALIZER",
    "LAYER_SIZES",
    "LEARNING_RATES",
    "LOSS_OF_TARGETS",
    "InitialWeights",
    "LossOfClasses",
    "LossOfTargets",
    "RegularizedWeights",
    "TrainingParameters",
    "layer_sizes",
]

LEARNING_RATES = ("constant", "invscaling", *(name for name in SCHEDULES if name != "constant"))
LAYER_SIZES = Either(Sequence(Integer(low=1)), Integer(low=1))

DECOUPLED = {"adamw", "muon"}  # solvers that shrink the weights beside the gradient, not through it
OPEN_ENDED = {"constant", "invscaling", "adaptive"}  # schedules that do not know when training ends


def layer_sizes(value: Any) -> list[int]:
    """Widths of the hidden layers; one integer is one layer.

    >>> layer_sizes(100), layer_sizes((64, 32))
    ([100], [64, 32])
    """
    return [int(value)] if isinstance(value, int) or getattr(value, "ndim", 1) == 0 else [int(width) for width in value]


# Parts of networks: a name of their table, or an object.
ACTIVATION = Named(Activation, ACTIVATIONS, searched=USUAL)
INITIALIZER = Optional(Named(Initializer, INITIALIZERS))
LOSS_OF_TARGETS = Named(TargetLoss, TARGET_LOSSES)
CLASS_LOSS = Named(ClassLoss, CLASS_LOSSES)


class InitialWeights(Declared):
    """Where training starts."""

    _: KW_ONLY
    initializer: str | Initializer | None = parameter(
        None,
        INITIALIZER,
        "What draws the first weights, by name or an object like HeInitializer(mode='mean'); None: He's for rectified "
        "units, Glorot's for the last layer.",
    )


class LossOfClasses(Declared):
    """What a classifier minimizes."""

    _: KW_ONLY
    loss: str | ClassLoss = parameter(
        "cross_entropy",
        CLASS_LOSS,
        "What is minimized, by name or an object like CrossEntropy(label_smoothing=0.1). Only cross-entropy makes the "
        "softmax of the scores probabilities; of other losses the order of the scores counts.",
    )

    def _class_loss(self) -> ClassLoss:
        if self.loss == "cross_entropy":  # by its name it takes the smoothing that some estimators have
            return CrossEntropy(getattr(self, "label_smoothing", 0.0))
        return chosen(f"{type(self).__name__}: loss", self.loss, CLASS_LOSSES)


class LossOfTargets(Declared):
    """What a regressor minimizes."""

    _: KW_ONLY
    loss: str | TargetLoss = parameter(
        "squared_error",
        LOSS_OF_TARGETS,
        "What is minimized, by name or an object like Huber(delta=2.0): 'squared_error' is half of it, 'poisson' half "
        "the deviance of counts; with 'normal' and 'laplace' the network also gives the width of every prediction.",
    )

    out_activation_: str = attribute("What the outputs are passed through: 'identity', or 'exp' for counts.")

    def _target_loss(self, Y: np.ndarray | None = None) -> TargetLoss:
        """The loss; with the targets ``Y`` of a fit, which are checked, also what predictions pass through."""
        loss = chosen(f"{type(self).__name__}: loss", self.loss, TARGET_LOSSES)
        if Y is not None:
            if loss.of_counts and (Y.min() < 0 or not Y.any()):
                raise ValueError(
                    f"{type(self).__name__}: y must have no negative number and one above 0 with loss 'poisson'; "
                    f"got a smallest of {Y.min()} and a sum of {Y.sum()}."
                )
            self.out_activation_ = "exp" if loss.of_counts else "identity"
        return loss

    def _linked(self, outputs: Any, n_targets: int) -> Any:
        """Predicted targets, in the scale of the training, from outputs (..., k targets): arrays or tensors."""
        outputs = locations(outputs, n_targets)
        if getattr(self, "out_activation_", "identity") == "identity":  # a model stored before it had others
            return outputs
        return np.exp(outputs) if isinstance(outputs, np.ndarray) else outputs.exp()


class RegularizedWeights(Declared):
    """What acts on weights beside the L2 penalty ``alpha``."""

    _: KW_ONLY
    regularizer: str | Regularizer | None = parameter(
        None,
        Optional(Named(Regularizer, REGULARIZERS)),
        "What acts on the weights beside alpha, by name or an object like MaxNorm(2.0).",
    )


class TrainingParameters(Declared):
    """Solver, learning rate, batches, stopping: one line each, for all networks."""

    _: KW_ONLY
    solver: str = parameter(
        "adam",
        Choice(*OPTIMIZERS),
        "Optimizer. 'muon' moves hidden matrices by their orthogonalized momentum and the rest by AdamW.",
    )
    alpha: float = parameter(
        0.0001,
        Number(low=0, search=(1e-5, 10.0), log=True),
        "Strength of the L2 penalty alpha/2 |W|^2 on the sum of the losses of a batch; biases, norms and embeddings "
        "are spared. With 'adamw' and 'muon' it is the decoupled weight decay.",
    )
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(16, 256), log=True)),
        "Rows per update; 'auto' is min(200, number of rows).",
    )
    learning_rate: str = parameter(
        "constant",
        Choice(*LEARNING_RATES),
        "Schedule of the learning rate, which starts at learning_rate_init: 'invscaling' divides it by a power of the "
        "rows seen, 'adaptive' by 5 whenever the loss has stopped falling; the others fall over max_iter epochs.",
    )
    learning_rate_init: float = parameter(
        0.001, Number(above=0, search=(1e-4, 3e-2), log=True), "Initial learning rate of the schedule."
    )
    power_t: float = parameter(0.5, Number(low=0), "Exponent of the 'invscaling' learning rate.")
    max_iter: int = parameter(200, Integer(low=1), "Most epochs, or iterations of 'lbfgs'.")
    shuffle: bool = parameter(True, Flag(), "Whether every epoch visits the rows in a new order.")
    momentum: float = parameter(0.9, Number(low=0, below=1), "Momentum of 'sgd' and 'muon'.")
    nesterovs_momentum: bool = parameter(True, Flag(), "Whether the momentum of 'sgd' and 'muon' is Nesterov's.")
    beta_1: float = parameter(0.9, Number(low=0, below=1), "Decay of Adam's mean of the gradient.")
    beta_2: float = parameter(0.999, Number(low=0, below=1), "Decay of Adam's mean of the squared gradient.")
    epsilon: float = parameter(1e-8, Number(above=0), "What Adam adds to the root of the mean square.")
    warmup: float = parameter(
        0.0, Number(low=0, below=1), "Fraction of all updates in which the learning rate rises to its full value."
    )
    clip_norm: float | None = parameter(
        None, Optional(Number(above=0)), "Bound on the Euclidean norm of the whole gradient."
    )
    weight_average: float | None = parameter(
        None,
        Optional(Number(above=0, below=1)),
        "Decay of an exponential average of the weights, which then predicts; None: the last weights do.",
    )
    early_stopping: bool = parameter(
        False,
        Flag(),
        "Whether a part of the rows is held out, training ends when its loss has stopped falling, and the weights of "
        "the best epoch are kept.",
    )
    validation_fraction: float = parameter(
        0.1, Number(above=0, below=1), "Fraction of rows that early_stopping holds out."
    )
    n_iter_no_change: int | float = parameter(
        10,
        Either(Integer(low=1), Choice(inf)),
        "Epochs without a gain of tol after which training ends; infinite: it never does. Without early_stopping the "
        "training loss counts, and only if the learning rate does not fall by itself.",
    )
    tol: float = parameter(1e-4, Number(low=0), "Smallest fall of the loss that counts as a gain; gradient of 'lbfgs'.")
    warm_start: bool = parameter(False, Flag(), "Whether fit continues from the weights of the last fit.")
    record_steps: int | None = parameter(
        50, Optional(Integer(low=1)), "Updates between two records inside an epoch; None: records at its end only."
    )
    record_seconds: float | None = parameter(
        None, Optional(Number(above=0)), "Seconds after which a record is made early; the result does not depend on it."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws weights, order of rows, noise and held-out rows.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    def _optimization(self) -> Optimization:
        return Optimization(
            self.solver,
            betas=(float(self.beta_1), float(self.beta_2)),
            eps=self.epsilon,
            momentum=self.momentum,
            nesterov=self.nesterovs_momentum,
            weight_decay=self.alpha if self.solver in DECOUPLED else 0.0,
        )

    def _penalty(self) -> float:
        return 0.0 if self.solver in DECOUPLED else self.alpha

    def _rows_per_update(self, n_rows: int) -> int:
        return min(200, n_rows) if self.batch_size == "auto" else int(self.batch_size)
