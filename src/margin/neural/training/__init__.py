"""Training: where batches come from, what a step does with one, what is measured, and the loop around them."""

from margin.neural.generators import GlobalStream, Seeds
from margin.neural.training.adversarial import Adversarial, Player
from margin.neural.training.averages import WeightAverage
from margin.neural.training.batches import Batch, Batches
from margin.neural.training.compute import Compute
from margin.neural.training.evaluation import Validation, validation_split
from margin.neural.training.loop import Plan, Training, train
from margin.neural.training.meter import Mean, Meter
from margin.neural.training.minimize import Minimize
from margin.neural.training.points import DrawnPoints
from margin.neural.training.quasi_newton import QuasiNewton
from margin.neural.training.rows import LazyRows, RowBatches, Rows, TensorRows
from margin.neural.training.schedules import rate_schedule
from margin.neural.training.steps import Step
from margin.neural.training.stopping import Patience
from margin.neural.training.tokens import TokenWindows

__all__ = [
    "Adversarial",
    "Batch",
    "Batches",
    "Compute",
    "DrawnPoints",
    "GlobalStream",
    "LazyRows",
    "Mean",
    "Meter",
    "Minimize",
    "Patience",
    "Plan",
    "Player",
    "QuasiNewton",
    "RowBatches",
    "Rows",
    "Seeds",
    "Step",
    "TensorRows",
    "TokenWindows",
    "Training",
    "Validation",
    "WeightAverage",
    "rate_schedule",
    "train",
    "validation_split",
]
