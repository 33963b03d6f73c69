from margin.optimize import AMSGrad
from peers import assert_equals_torch


def test_equals_torch():
    assert_equals_torch(AMSGrad(0.8, 0.5, 1e-4), "Adam", betas=(0.8, 0.5), eps=1e-4, amsgrad=True)
    assert_equals_torch(AMSGrad(), "Adam", amsgrad=True)
