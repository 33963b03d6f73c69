from margin.optimize import AdaMax
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(AdaMax(0.8, 0.99, 1e-2), "Adamax", betas=(0.8, 0.99), eps=1e-2)
    assert_equals_torch(AdaMax(), "Adamax")
