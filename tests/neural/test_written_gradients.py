"""Functions with written gradients: equal to the composed form, first and second derivatives by finite differences."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

from margin.neural.written_gradients import rms_normalized, squared_rectifier, turn

SEED = torch.Generator().manual_seed(0)
X = torch.randn(3, 4, 6, generator=SEED, dtype=torch.float64)
WEIGHT = torch.randn(6, generator=SEED, dtype=torch.float64)
COS, SIN = (torch.randn(4, 3, generator=SEED, dtype=torch.float64) for _ in range(2))


def composed_turn(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * COS - b * SIN, a * SIN + b * COS], dim=-1)


FORMS = {
    "norm": (lambda x, w: rms_normalized(x, w, 1e-3), lambda x, w: functional.rms_norm(x, (6,), w, 1e-3)),
    "square": (lambda x, w: squared_rectifier(x * w), lambda x, w: functional.relu(x * w).square()),
    "turn": (lambda x, w: turn(x * w, COS, SIN), lambda x, w: composed_turn(x * w)),
}


@pytest.mark.parametrize("name", FORMS)
def test_equal_to_the_composed_form_with_its_gradients(name):
    written, composed = FORMS[name]
    found = []
    for function in (written, composed):
        x, w = X.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
        y = function(x, w)
        found.append([y, *torch.autograd.grad((y * y.detach().cos()).sum(), (x, w))])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FORMS)
def test_derivatives_by_finite_differences(name):
    inputs = X.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
    assert gradcheck(FORMS[name][0], inputs)
    assert gradgradcheck(FORMS[name][0], inputs)


def test_rows_that_do_not_lie_in_order():
    x = X.clone().requires_grad_()
    assert gradcheck(lambda x: rms_normalized(x.transpose(0, 1), WEIGHT, 1e-3), (x,))
