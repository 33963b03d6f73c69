"""The form that runs beside the form as written: values and gradients, odd shapes, weights, masks, extremes."""

import pytest
import torch
from torch import nn

from margin.neural import losses
from margin.neural.losses.fused import FUSED
from margin.neural.nets.mlp import MLP, TwoClassMLP
from margin.neural.training.batches import Batch
from margin.neural.training.objectives import Supervised
from margin.neural.training.steps import measure
from margin.neural.training.written_perceptron import WRITTEN, written_gradient

SEED = torch.Generator().manual_seed(3)
REDUCTIONS = ("none", "sum", "mean")


def draw(*shape):
    return torch.randn(*shape, generator=SEED, dtype=torch.float64)


def labels(n_classes, *shape):
    return torch.randint(n_classes, shape, generator=SEED)


def with_ignored(y):
    y = y.clone()
    y.view(-1)[::3] = -100
    return y


W4 = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.float64)
FAR = torch.tensor([[1e4, -1e4, 0.0, 3.0], [-700.0, 700.0, 700.0, 0.0]], dtype=torch.float64)
PAIR = (FAR, torch.tensor([[0.0, 1.0, 1.0, 0.3], [1.0, 0.0, 0.5, 1.0]], dtype=torch.float64))

# For every loss: inputs, targets and options, of odd shapes, weighted, masked and far out.
CASES = {
    losses.cross_entropy: [
        (draw(7, 4), labels(4, 7), {}),
        (draw(1, 4), labels(4, 1), {"weight": W4}),
        (draw(2, 4, 3, 5), with_ignored(labels(4, 2, 3, 5)), {"weight": W4, "label_smoothing": 0.2}),
        (draw(3, 1), labels(1, 3), {"label_smoothing": 0.5}),
        (draw(3, 4, 2), torch.softmax(draw(3, 4, 2), dim=1), {"weight": W4, "label_smoothing": 0.1}),
        (FAR, torch.tensor([1, 3]), {"label_smoothing": 0.1}),
    ],
    losses.nll_loss: [
        (torch.log_softmax(draw(7, 4), dim=1), with_ignored(labels(4, 7)), {"weight": W4}),
        (torch.log_softmax(draw(2, 4, 3), dim=1), labels(4, 2, 3), {"ignore_index": 2}),
    ],
    losses.bce_with_logits: [
        (draw(5, 3), draw(5, 3).sigmoid(), {"weight": draw(5, 3).abs(), "pos_weight": draw(3).abs()}),
        (draw(0, 3), draw(0, 3), {}),
        (*PAIR, {}),
    ],
    losses.mse_loss: [(draw(3, 1, 5), draw(3, 1, 5), {}), (1e150 * draw(4), draw(4), {})],
    losses.huber_loss: [
        (3 * draw(9, 2), draw(9, 2), {"delta": 0.7}),
        (torch.tensor([2.0, -2.0, 0.0, 1e300], dtype=torch.float64), torch.zeros(4).double(), {"delta": 2.0}),
    ],
}


def test_every_fused_loss_has_cases():
    assert CASES.keys() == FUSED.keys()


def value_and_gradient(loss, x, y, **options):
    leaf = x.clone().requires_grad_()
    value = loss(leaf, y, **options)
    outer = torch.linspace(0.5, 1.5, max(value.numel(), 1), dtype=torch.float64)[: value.numel()].view_as(value)
    (gradient,) = torch.autograd.grad((value * outer).sum(), leaf)
    return value.detach(), gradient


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("plain", "case"),
    [(plain, k) for plain, cases in CASES.items() for k in range(len(cases))],
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_fused_and_plain_are_one_loss(plain, case, reduction):
    x, y, options = CASES[plain][case]
    if not x.numel() and reduction == "mean":
        pytest.skip("the mean of nothing")
    found = [value_and_gradient(form, x, y, **options, reduction=reduction) for form in (plain, FUSED[plain])]
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 17])
@pytest.mark.parametrize("loss", [losses.CrossEntropy(), losses.SquaredError()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_the_written_gradient_is_that_of_the_plain_loss(loss, rows, weighted, size):
    """Far outputs, one row, one target: the gradient written out for perceptrons against the loss as written."""
    assert type(loss) in WRITTEN
    classes = isinstance(loss, losses.CrossEntropy)
    torch.manual_seed(0)
    net = (TwoClassMLP([2, 3, 1]) if rows == 3 else MLP([2, 3, 4]) if classes else MLP([2, 3, rows])).double()
    x = size * draw(rows, 2)
    y = labels(2, rows) if classes else draw(rows, net.sizes[-1] + (rows == 3 and net.sizes[-1] == 1))
    weight = draw(rows).abs() + 0.1 if weighted else None
    batch = Batch((x, y), weight, float(weight.sum()) if weighted else float(rows))

    def plain(module, tensors, _noise):
        outputs = module(tensors[0])
        if classes:
            return {"loss": losses.cross_entropy(outputs, tensors[1], reduction="none")}
        return {"loss": 0.5 * losses.squared_error(outputs, tensors[1]).mean(dim=1)}

    written = written_gradient(net, Supervised(loss))
    found = written(batch)["loss"]
    gradients = [p.grad for p in net.parameters()]
    expected = measure(plain(net, batch.tensors, None), batch)["loss"]
    by_record = torch.autograd.grad(expected.total / expected.mass, list(net.parameters()))
    torch.testing.assert_close(found.total, expected.total.detach(), rtol=1e-12, atol=1e-12)
    for ours, theirs in zip(gradients, by_record, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_user_module_is_not_written():
    assert written_gradient(nn.Linear(2, 2), Supervised(losses.CrossEntropy())) is None
