"""Normalizations against torch's, forward, backward and over training steps."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from margin.neural import normalization as norm
from margin.neural.normalization.functions import BatchStatistics
from margin.neural.written_gradients import rms_normalized


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


def both_forms(shape):
    """Plain and fused, of one input: what they say, for channels C = shape[1]."""
    c = shape[1]
    gain, shift = draw(c, seed=8), draw(c, seed=9)
    mean, variance = draw(c, seed=10), draw(c, seed=11).square() + 0.1
    group = 2 if c % 2 == 0 else 1
    last = shape[1:]
    gain_all, shift_all = draw(*last, seed=12), draw(*last, seed=13)
    forms = {
        "batch, training": (
            lambda x: norm.batch_norm(x, norm.functions.BatchStatistics(mean, variance), gain, shift, True)[0],
            lambda x: norm.fused_batch_norm(x, mean.clone(), variance.clone(), gain, shift, True),
        ),
        "batch, evaluation": (
            lambda x: norm.batch_norm(x, norm.functions.BatchStatistics(mean, variance), gain, shift)[0],
            lambda x: norm.fused_batch_norm(x, mean, variance, gain, shift),
        ),
        "layer": (
            lambda x: norm.layer_norm(x, last, gain_all, shift_all),
            lambda x: norm.fused_layer_norm(x, last, gain_all, shift_all),
        ),
        "group": (
            lambda x: norm.group_norm(x, group, gain, shift, eps=1e-2),
            lambda x: norm.fused_group_norm(x, group, gain, shift, eps=1e-2),
        ),
        "rms": (
            lambda x: norm.rms_norm(x, gain_all.reshape(-1)[: shape[-1]]),
            lambda x: rms_normalized(x, gain_all.reshape(-1)[: shape[-1]], norm.functions.EPS),
        ),
    }
    if len(shape) > 2:
        forms["instance"] = (lambda x: norm.instance_norm(x, gain), lambda x: norm.fused_instance_norm(x, gain))
    return forms


@pytest.mark.parametrize("size", [1.0, 1e6], ids=["ordinary", "large"])
@pytest.mark.parametrize("shape", [(5, 4), (3, 1, 7), (2, 6, 3, 5), (2, 4, 1, 1)], ids=str)
def test_fused_and_plain_are_one_normalization(shape, size):
    x = size * draw(*shape) + 3
    for name, forms in both_forms(shape).items():
        found = []
        for form in forms:
            leaf = x.clone().requires_grad_()
            y = form(leaf)
            outer = torch.linspace(0.3, 1.7, y.numel(), dtype=torch.float64).view_as(y)
            (gradient,) = torch.autograd.grad((y * outer).sum(), leaf)
            found.append((y.detach(), size * gradient))
        for ours, theirs in zip(*found, strict=True):
            assert torch.allclose(ours, theirs, rtol=1e-8, atol=1e-7), name


def test_running_statistics_of_both_forms():
    x, mean, variance = draw(6, 3), draw(3, seed=1), draw(3, seed=2).square()
    _, running = norm.batch_norm(x, norm.functions.BatchStatistics(mean, variance), training=True, momentum=0.3)
    norm.fused_batch_norm(x, mean, variance, training=True, momentum=0.3)
    torch.testing.assert_close(mean, running.mean)
    torch.testing.assert_close(variance, running.variance)


@pytest.mark.parametrize("name", norm.NORMALIZATIONS)
def test_a_normalization_says_for_what_it_is(name):
    part = norm.NORMALIZATIONS[name]()
    x = draw(3, 6, 4, 5).float()
    if name in norm.IMAGE_NORMS:
        assert part.of_images(6)(x).shape == x.shape
    else:
        with pytest.raises(ValueError, match="norm must be one for images, which RMSNormalization is not"):
            part.of_images(6)
    if name in norm.ROW_NORMS:
        assert part.of_rows(6)(x[..., 0, 0]).shape == (3, 6)
    else:
        with pytest.raises(ValueError, match="norm must be one for rows of units, which InstanceNormalization is not"):
            part.of_rows(6)


def test_groups_are_the_next_smaller_number_that_divides():
    assert norm.GroupNormalization(groups=8).of_images(12).num_groups == 4
    assert norm.GroupNormalization(groups=8).of_rows(7).num_groups == 1
