from margin.optimize import RMSProp
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(RMSProp(0.95, 1e-4), "RMSprop", alpha=0.95, eps=1e-4)
    assert_equals_torch(RMSProp(), "RMSprop")
