"""How to train, independent of what is trained: the parameters that every network estimator shares."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Any, ClassVar

import numpy as np

from margin.core.class_weights import ClassWeight, row_weights
from margin.core.domains import (
    Choice,
    Device,
    Domain,
    Either,
    Flag,
    Instance,
    Integer,
    Named,
    Number,
    Optional,
    Seed,
    Sequence,
)
from margin.core.invariants import ArrayOf, StringOf, TrueOrFalse
from margin.core.parameters import VERBOSE, Declared, attribute, parameter, parameters_of
from margin.core.parts import Part
from margin.core.randomness import RandomLike
from margin.neural.activations.table import ACTIVATIONS, USUAL, Activation
from margin.neural.initialize.initializers import INITIALIZERS, Initializer
from margin.neural.losses.class_losses import CLASS_LOSSES, CrossEntropy
from margin.neural.losses.network_loss import ClassLoss, TargetLoss, locations
from margin.neural.losses.target_losses import TARGET_LOSSES
from margin.neural.parts import choose
from margin.neural.regularizers.regularizer import REGULARIZERS, Regularizer
from margin.neural.training.compute import PRECISIONS, Compute
from margin.neural.training.schedules import named_schedule
from margin.optimize.rate_schedules import SCHEDULES, RateSchedule
from margin.optimize.rules import RULES, AdamW, Descent, Momentum, Muon, Nesterov, Rule

__all__ = [
    "ACTIVATION",
    "CLASS_LOSS",
    "FALLING_RATE",
    "INITIALIZER",
    "LAYER_SIZES",
    "LEARNING_RATE",
    "LOSS_OF_TARGETS",
    "OPTIMIZERS",
    "SEARCHED_RATES",
    "InitialWeights",
    "LossOfClasses",
    "LossOfTargets",
    "RegularizedWeights",
    "TrainingParameters",
    "layer_sizes",
    "learning_rates",
    "solvers",
]

LAYER_SIZES = Either(Sequence(Integer(low=1)), Integer(low=1))

OPTIMIZERS = ("adam", "adamw", "sgd", "muon")  # among which a search chooses; "sgd" is descent with or without momentum
WHOLE_LOSS = ("lbfgs", "levenberg-marquardt")  # solvers that need the loss of all rows at once
SEARCHED_RATES = ("constant", "invscaling", "adaptive", "cosine", "linear", "step", "exponential", "one_cycle")


def solvers(*searched: str) -> Domain:
    """Every update rule by name or as an object; a search chooses among the names ``searched``."""
    others = [name for name in RULES if name not in searched and RULES[name] is not Descent]
    return Either(Choice(*searched), Choice(*others, search=False), Instance(Rule, "an update rule of margin.optimize"))


def learning_rates(*searched: str, search: bool = True) -> Domain:
    """Every schedule by name or as an object; a search chooses among the names ``searched``, or leaves it alone."""
    others = [name for name in ("invscaling", *SCHEDULES) if name not in searched]
    return Either(
        Choice(*searched, search=search),
        Choice(*others, search=False),
        Instance(RateSchedule, "a schedule of margin.optimize"),
    )


LEARNING_RATE = learning_rates(*SEARCHED_RATES)
#: How networks of images that say nothing more of it let their learning rate fall.
FALLING_RATE: Any = parameter(
    "cosine",
    learning_rates(*SEARCHED_RATES, search=False),
    "Schedule of the learning rate, which starts at learning_rate_init.",
)


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

    class_weight: Any = parameter(
        None,
        ClassWeight(),
        "Weights of the classes, multiplied into those of the rows; 'balanced': all count alike.",
    )

    def _class_weighted(self, X: Any, codes: np.ndarray, classes: np.ndarray, weight: np.ndarray) -> tuple[Any, ...]:
        """Rows with the weights of their classes, those of weight 0 dropped."""
        if self.class_weight is None:
            return X, codes, weight
        owner = type(self).__name__
        if codes.ndim == 2:
            raise ValueError(f"{owner}: class_weight is for one class per row; got rows with several labels.")
        weight = row_weights(owner, self.class_weight, classes, codes, weight)
        kept = weight > 0
        if not kept.any():
            raise ValueError(f"{owner}: class_weight must leave a class of y with a weight above 0.")
        return (X, codes, weight) if kept.all() else (X[kept], codes[kept], weight[kept])

    def _class_loss(self) -> ClassLoss:
        if self.loss == "cross_entropy":  # by its name it takes the smoothing that some estimators have
            return CrossEntropy(getattr(self, "label_smoothing", 0.0))
        return choose(f"{type(self).__name__}: loss", self.loss, CLASS_LOSSES)


class LossOfTargets(Declared):
    """What a regressor minimizes."""

    _: KW_ONLY
    loss: str | TargetLoss = parameter(
        "squared_error",
        LOSS_OF_TARGETS,
        "What is minimized, by name or an object like Huber(delta=2.0): 'squared_error' is half of it, 'poisson' half "
        "the deviance of counts; with 'normal' and 'laplace' the network also gives the width of every prediction.",
    )

    out_activation_: str = attribute(
        StringOf(("identity", "exp")), "What the outputs are passed through: 'identity', or 'exp' for counts."
    )

    def _target_loss(self, Y: np.ndarray | None = None) -> TargetLoss:
        """The loss; with the targets ``Y`` of a fit, which are checked, also what predictions pass through."""
        loss = choose(f"{type(self).__name__}: loss", self.loss, TARGET_LOSSES)
        if Y is not None:
            if loss.of_counts and (Y.min() < 0 or not Y.any()):
                raise ValueError(
                    f"{type(self).__name__}: y must have no negative number and one above 0 with loss 'poisson'; "
                    f"got a smallest of {Y.min()} and a sum of {Y.sum()}."
                )
            self.out_activation_ = "exp" if loss.of_counts else "identity"
        return loss

    def _apply_link(self, outputs: Any, n_targets: int) -> Any:
        """Predicted targets, in the scale of the training, from outputs (..., k targets): arrays or tensors."""
        outputs = locations(outputs, n_targets)
        if getattr(self, "out_activation_", "identity") == "identity":  # a model stored before it had others
            return outputs
        return np.exp(outputs) if isinstance(outputs, np.ndarray) else outputs.exp()


class StandardizedTargets(LossOfTargets):
    """What a regressor must know to predict in the unit of its targets."""

    target_center_: np.ndarray = attribute(ArrayOf("n_outputs"), "What is subtracted from every target.")
    target_scale_: np.ndarray = attribute(ArrayOf("n_outputs"), "What every target is divided by.")
    single_target_: bool = attribute(TrueOrFalse(), "Whether fit saw one target as a vector.")


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

    _whole_batch: ClassVar[str | None] = None  # why a batch cannot be cut into parts, where it cannot

    _: KW_ONLY
    solver: str | Rule = parameter(
        "adam",
        solvers(*OPTIMIZERS),
        "Optimizer: a name, or a rule such as Adam(beta_1=0.8). 'muon' moves hidden matrices by their orthogonalized "
        "momentum and the rest by AdamW.",
    )
    alpha: float = parameter(
        0.0001,
        Number(low=0, search=(1e-5, 10.0), log=True),
        "Strength of the L2 penalty alpha/2 |W|^2 on the sum of the losses of a batch; biases, norms and embeddings "
        "are spared. With 'adamw', 'muon' and 'lion' it is the decoupled weight decay, unless a rule has its own.",
    )
    batch_size: int | str = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=1, search=(16, 256), log=True)),
        "Rows per update; 'auto' is min(200, number of rows).",
    )
    learning_rate: str | RateSchedule = parameter(
        "constant",
        LEARNING_RATE,
        "Schedule of the learning rate, by name or an object like Cosine(floor=0.1). It starts at learning_rate_init: "
        "'invscaling' divides it by a power of the rows seen, 'adaptive' by 5 whenever the loss has stopped falling; "
        "most others fall over max_iter epochs.",
    )
    learning_rate_init: float = parameter(
        0.001, Number(above=0, search=(1e-4, 3e-2), log=True), "Initial learning rate of the schedule."
    )
    power_t: float = parameter(0.5, Number(low=0), "Exponent of the 'invscaling' learning rate.")
    max_iter: int = parameter(200, Integer(low=1), "Most epochs, or iterations of 'lbfgs'.")
    shuffle: bool = parameter(True, Flag(), "Whether every epoch visits the rows in a new order.")
    momentum: float = parameter(
        0.9, Number(low=0, below=1), "Momentum of the named solvers that have one, such as 'sgd'."
    )
    nesterovs_momentum: bool = parameter(True, Flag(), "Whether the momentum of 'sgd' and 'muon' is Nesterov's.")
    beta_1: float = parameter(
        0.9, Number(low=0, below=1), "Decay of Adam's mean of the gradient, and of named relatives'."
    )
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
    device: str = parameter(
        "auto",
        Device(),
        "Where the network computes: 'cpu', 'cuda', 'cuda:1', 'mps'; 'auto': on the accelerator of the machine if it "
        "has one. A stored model runs anywhere.",
    )
    precision: str = parameter(
        "auto",
        Choice(*PRECISIONS, search=False),
        "'auto': weights are as precise as the rows (float32 on MPS); 'float32': they are float32; 'bfloat16': float32 "
        "weights, products of the training in bfloat16, on a device that has it.",
    )
    batch_parts: int | str | None = parameter(
        None,
        Optional(Either(Integer(low=1), Choice("processes", search=False))),
        "Parts of every batch that processes of torchrun share: an integer gives the same bits on any number of them, "
        "'processes' is one part each, faster and with other last bits; None: every process fits on its own.",
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws weights, order of rows, noise and held-out rows.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    def _check_parts(self) -> None:
        """Raise one sentence for a parameter of the solver or of the schedule that is outside its domain."""
        for part in (self.solver, self.learning_rate):
            if isinstance(part, Part):
                part.check()

    def _compute(self) -> Compute:
        """Where and how precisely this estimator learns."""
        if self.batch_parts is not None:
            self._refuse_parts()
        return Compute.of(type(self).__name__, self.device, self.precision).in_parts(self.batch_parts)

    def _refuse_parts(self) -> None:
        """Raise one sentence where the gradient of a batch is no sum over parts of it."""
        reason = "its solver searches along lines of the whole loss" if self.solver in WHOLE_LOSS else self._whole_batch
        if reason is not None:
            raise ValueError(
                f"{type(self).__name__}: batch_parts must be None, because {reason}; got {self.batch_parts!r}."
            )

    def _compute_predictions(self) -> Compute:
        """Where it predicts: on the CPU where the device is not there."""
        return Compute.to_predict(type(self).__name__, self.device, self.precision)

    def _rule(self) -> Rule:
        """The update rule that ``solver`` is or names, with its weight decay."""
        if isinstance(self.solver, Rule):
            return _with_decay(self.solver, self.alpha)
        decay = {"weight_decay": self.alpha}
        adam = {"beta_1": float(self.beta_1), "beta_2": float(self.beta_2), "epsilon": self.epsilon}
        if self.solver == "muon":
            return Muon(self.momentum, self.nesterovs_momentum, **decay, rest=AdamW(**adam, **decay))
        if self.solver == "sgd":
            return _sgd(self.momentum, self.nesterovs_momentum)
        kind = RULES[self.solver]
        known = parameters_of(kind).keys()
        chosen = adam if adam.keys() <= known else {"gamma": self.momentum} if "gamma" in known else {}
        return kind(**chosen, **decay if kind.decouples else {})

    def _penalty(self) -> float:
        return 0.0 if self._rule().decouples else self.alpha

    def _rate_schedule(self) -> RateSchedule:
        """The schedule that ``learning_rate`` is or names."""
        return named_schedule(self.learning_rate)

    def _rows_per_update(self, n_rows: int) -> int:
        return min(200, n_rows) if self.batch_size == "auto" else int(self.batch_size)


def _with_decay(rule: Rule, alpha: float) -> Rule:
    """The rule with ``alpha`` as its weight decay where it has one and leaves it open."""
    params = rule.get_params(deep=False)
    parts = {name: part for name, part in params.items() if isinstance(part, Rule)}
    changes: dict[str, Any] = {name: _with_decay(part, alpha) for name, part in parts.items()}
    if rule.decouples and params["weight_decay"] is None:
        changes["weight_decay"] = alpha
    return rule.replace(**changes) if changes else rule


def _sgd(momentum: float, nesterov: bool) -> Rule:
    """What "sgd" means with these parameters; its velocity is without the rate, as in torch and scikit-learn."""
    if not momentum:
        return Descent()
    return Nesterov(momentum, shifted=True, convention="unscaled") if nesterov else Momentum(momentum, "unscaled")
