from margin.optimize import Descent
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(Descent(), "SGD")
