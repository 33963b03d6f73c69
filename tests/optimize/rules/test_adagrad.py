from margin.optimize import AdaGrad
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(AdaGrad(1e-3), "Adagrad", eps=1e-3)
    assert_equals_torch(AdaGrad(), "Adagrad")
