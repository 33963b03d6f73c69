"""A training that ends no better than the class frequencies is told, and plain deep networks begin slowly."""

import warnings

import numpy as np
import pytest

from margin.neural.estimators import CNNClassifier
from margin.neural.estimators.class_scores import tell_of_nothing_learned

LABELS, WEIGHT = np.arange(40) % 4, np.ones(40)


def test_a_loss_that_stays_at_the_entropy_of_the_classes_is_told():
    with pytest.warns(UserWarning, match=r"^Net: the training ended no better than the class frequencies: its loss is"):
        tell_of_nothing_learned("Net", [1.39, 1.387, 1.386, 1.386, 1.386], LABELS, WEIGHT)


@pytest.mark.parametrize("losses", [[1.39] * 4, [1.39, 1.3, 1.0, 0.9, 0.8], []])
def test_a_loss_that_fell_or_had_no_time_is_not(losses):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_of_nothing_learned("Net", losses, LABELS, WEIGHT)


def test_weights_decide_what_a_constant_reaches():
    weight = np.where(LABELS == 0, 1.0, 1e-9)  # one class is all there is: its entropy is almost 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tell_of_nothing_learned("Net", [1e-9] * 5, LABELS, weight)


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({"architecture": "alexnet"}, 3e-4),
        ({"architecture": "vgg-16"}, 3e-4),
        ({"architecture": "vgg-16", "norm": "batch"}, 3e-3),
        ({"architecture": "resnet-20"}, 3e-3),
        ({"architecture": ["conv 4 3"]}, 3e-3),
        ({"architecture": "alexnet", "learning_rate_init": 0.1}, 0.1),
    ],
)
def test_the_rate_fits_the_architecture(options, rate):
    assert CNNClassifier(**options)._initial_rate() == rate
