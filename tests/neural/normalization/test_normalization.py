"""Normalizations against torch's, forward, backward and over training steps."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from margin.neural import normalization as norm
from margin.neural.normalization.functions import BatchStatistics


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def affine_like(ours, theirs, seed=5):
    for layer in (ours, theirs):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for p in layer.parameters():
                p.copy_(torch.randn(p.shape, generator=generator))


@pytest.mark.parametrize(
    ("ours", "theirs", "shape"),
    [
        (lambda: norm.BatchNorm(4), lambda: nn.BatchNorm1d(4), (6, 4)),
        (lambda: norm.BatchNorm(4), lambda: nn.BatchNorm1d(4), (6, 4, 5)),
        (lambda: norm.BatchNorm(4), lambda: nn.BatchNorm2d(4), (3, 4, 5, 2)),
        (lambda: norm.BatchNorm(4, eps=1e-2, momentum=0.3), lambda: nn.BatchNorm2d(4, 1e-2, 0.3), (3, 4, 5, 2)),
        (lambda: norm.BatchNorm(4, affine=False), lambda: nn.BatchNorm2d(4, affine=False), (3, 4, 5, 2)),
        (lambda: norm.LayerNorm(5), lambda: nn.LayerNorm(5), (3, 4, 5)),
        (lambda: norm.LayerNorm((4, 5, 2)), lambda: nn.LayerNorm((4, 5, 2)), (3, 4, 5, 2)),
        (lambda: norm.RMSNorm(5, eps=1e-6), lambda: nn.RMSNorm(5, eps=1e-6), (3, 4, 5)),
        (lambda: norm.InstanceNorm(4), lambda: nn.InstanceNorm2d(4), (3, 4, 5, 2)),
        (lambda: norm.InstanceNorm(4, affine=True), lambda: nn.InstanceNorm1d(4, affine=True), (3, 4, 5)),
        (lambda: norm.GroupNorm(2, 4), lambda: nn.GroupNorm(2, 4), (3, 4, 5, 2)),
        (lambda: norm.GroupNorm(2, 4, affine=False), lambda: nn.GroupNorm(2, 4, affine=False), (3, 4)),
    ],
)
def test_layers_equal_torch(ours, theirs, shape):
    ours, theirs = ours().double(), theirs().double()
    affine_like(ours, theirs)
    for step in range(3):
        x, outer = 3 * draw(*shape, seed=step) + 1, draw(*shape, seed=step + 10)
        pair = []
        for layer in (ours, theirs):
            leaf = x.clone().requires_grad_()
            layer.zero_grad()
            y = layer(leaf)
            y.backward(outer)
            pair.append([y.detach(), leaf.grad, *(p.grad.clone() for p in layer.parameters())])
        for a, b in zip(*pair):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-11)
    for name, buffer in ours.named_buffers():
        torch.testing.assert_close(buffer, dict(theirs.named_buffers())[name])
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (1, 2)])
def test_backward_by_hand(axes):
    x, g = draw(4, 3, 5), draw(4, 3, 5, seed=1)
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(norm.standardize(leaf, axes, eps=1e-3), leaf, g)
    torch.testing.assert_close(norm.standardize_backward(g, x, axes, eps=1e-3), expected)


def test_batch_norm_is_pure():
    running = BatchStatistics(torch.zeros(3).double(), torch.ones(3).double())
    x = draw(6, 3)
    _, after = norm.batch_norm(x, running, training=True, momentum=0.25)
    assert running.mean.abs().max() == 0
    torch.testing.assert_close(after.mean, 0.25 * x.mean(dim=0))
    torch.testing.assert_close(after.variance, 0.75 + 0.25 * x.var(dim=0))


def test_monte_carlo_leaves_the_model_as_it_was():
    net = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1)).eval()
    net[1].train()
    before = {name: value.clone() for name, value in net.state_dict().items() if "num_batches" not in name}
    x, train = torch.randn(5, 1, generator=torch.Generator().manual_seed(1)), torch.arange(20.0)[:, None]
    results = [
        norm.mc_batchnorm_predict(net, x, train, batch_size=4, samples=8, generator=torch.Generator().manual_seed(2))
        for _ in range(2)
    ]
    assert torch.equal(results[0][0], results[1][0])
    assert (results[0][1] > 0).any()
    assert [module.training for module in net] == [False, True, False, False, False]
    for name, value in before.items():
        assert torch.equal(net.state_dict()[name], value)


def test_predict_warns_in_training_mode_only():
    net = nn.Sequential(nn.Linear(2, 2), norm.BatchNorm(2))
    with pytest.warns(UserWarning, match="call its eval"):
        norm.predict(net, torch.zeros(3, 2))
    assert not norm.uses_batch_statistics(net.eval())


def test_block_orders():
    names = [type(layer).__name__ for layer in norm.conv_bn_act(1, 2, 3, order="conv-act-bn", activation="tanh")]
    assert names == ["Conv2d", "Tanh", "BatchNorm"]
    assert norm.conv_bn_act(1, 2, 3)(torch.zeros(2, 1, 5, 5)).shape == (2, 2, 5, 5)


def test_bad_input():
    with pytest.raises(ValueError, match="more than one value per channel"):
        norm.BatchNorm(3)(torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"x must have shape \(N, 3, ...\); got \(4, 2\)"):
        norm.BatchNorm(3)(torch.zeros(4, 2))
    with pytest.raises(ValueError, match="last axes of x must have sizes"):
        norm.layer_norm(torch.zeros(2, 3), [4])
    with pytest.raises(ValueError, match="num_groups must divide the 6 channels; got 4"):
        norm.group_norm(torch.zeros(1, 6, 2), 4)
    with pytest.raises(ValueError, match="x must have shape"):
        norm.instance_norm(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="order must be one of"):
        norm.conv_bn_act(1, 1, 1, order="bn-conv-act")
    with pytest.raises(ValueError, match="must have a batch normalization layer"):
        norm.mc_batchnorm_predict(
            nn.Linear(1, 1), torch.zeros(1, 1), torch.zeros(4, 1), batch_size=2, samples=1, generator=torch.Generator()
        )
    with pytest.raises(ValueError, match="batch_size must be from 2 to 4; got 9"):
        norm.mc_batchnorm_predict(
            norm.BatchNorm(1),
            torch.zeros(1, 1),
            torch.zeros(4, 1),
            batch_size=9,
            samples=1,
            generator=torch.Generator(),
        )


def test_rms_norm_is_torchs_function():
    x = draw(3, 6)
    torch.testing.assert_close(norm.rms_norm(x, eps=1e-8), F.rms_norm(x, (6,), eps=1e-8))
