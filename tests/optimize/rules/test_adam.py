from margin.optimize import Adam
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(Adam(0.8, 0.99, 1e-4), "Adam", betas=(0.8, 0.99), eps=1e-4)
    assert_equals_torch(Adam(), "Adam")
