from margin.optimize import AdaDelta
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(AdaDelta(0.95, 1e-4), "Adadelta", rho=0.95, eps=1e-4)
    assert_equals_torch(AdaDelta(), "Adadelta")
