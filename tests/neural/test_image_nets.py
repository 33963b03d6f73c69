"""The networks have the parameters of their papers, and can be built for any image."""

import pytest
import torch

from margin.neural.layers import use_generator
from margin.neural.nets.densenet import DenseBlock, densenet
from margin.neural.nets.image_parts import LayerChain
from margin.neural.nets.images import ARCHITECTURES, image_network
from margin.neural.nets.layer_list import layer_list_network, parse_layer
from margin.neural.nets.lenet import lenet5
from margin.neural.nets.resnet import ResidualBlock, resnet, small_resnet
from margin.neural.nets.summary import multiply_adds, stages
from margin.neural.nets.vgg import VGG_BLOCKS, vgg


def count(network):
    return sum(p.numel() for p in network.parameters())


# Published for the networks for 1000 classes; torchvision's have the same numbers.
PUBLISHED = {
    "resnet-18": 11_689_512,
    "resnet-34": 21_797_672,
    "resnet-50": 25_557_032,
    "resnet-101": 44_549_160,
    "resnet-152": 60_192_808,
    "densenet-121": 7_978_856,
    "densenet-169": 14_149_480,
    "vgg-11": 132_863_336,
    "vgg-16": 138_357_544,
    "vgg-19": 143_667_240,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_of_the_papers(name):
    with torch.device("meta"):
        network = image_network(name, (3, 224, 224), 1000)
    assert count(network) == PUBLISHED[name]
    assert stages(network, (3, 224, 224))[-1].shape == (1000,)


def test_small_residual_networks_have_the_parameters_of_the_paper():
    """0.27 and 0.85 million without shortcut weights; projections add 2 * (1 x 1 convolution and norm)."""
    plain = [count(small_resnet(depth, residual=False)) for depth in (20, 56)]
    assert plain == [269_722, 853_018]
    projections = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64
    assert count(small_resnet(20)) - plain[0] == projections


def test_multiply_adds_of_resnet_50_are_those_of_the_paper():
    with torch.device("meta"):
        network = resnet(50)
    assert multiply_adds(network, (3, 224, 224)) == pytest.approx(3.8e9, rel=0.1)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 1, 1), (3, 8, 8), (1, 28, 20)], ids=str)
def test_every_network_can_be_built_for_every_image(name, shape):
    network = image_network(name, shape, 3, width=0.05).eval()
    assert network(torch.zeros(2, *shape)).shape == (2, 3)
    if shape == (3, 8, 8):
        network.train()
        use_generator(network, torch.Generator().manual_seed(0))
        network(torch.randn(4, *shape)).sum().backward()
        assert all(p.grad is not None for p in network.parameters())


def test_a_summary_leaves_the_network_as_it_is():
    network = lenet5()
    stages(network, (1, 28, 28)), multiply_adds(network, (1, 28, 28))
    assert network[0].weight.device.type == "cpu"
    assert network.training


def test_a_chain_knows_the_shape_of_its_output():
    chain = LayerChain((3, 17, 23)).conv(4, 5, stride=2, padding=1).pool("avg", 3, 2, padding=1)
    network = chain.network()
    assert tuple(network(torch.zeros(1, 3, 17, 23)).shape[1:]) == chain.shape


def test_densenet_layers_see_all_maps_before_them():
    block = DenseBlock(4, growth=3, n_layers=3)
    assert [layer.new[2].in_channels for layer in block] == [4, 7, 10]
    assert densenet(4, (2, 2), (1, 16, 16), 3)[-1].in_features == (2 * 4 + 2 * 4) // 2 + 2 * 4


def test_a_residual_block_with_zero_change_is_the_identity():
    block = ResidualBlock(4, 4, preactivation=True).eval()
    for p in block.change.parameters():
        torch.nn.init.zeros_(p)
    x = torch.randn(2, 4, 5, 5)
    torch.testing.assert_close(block(x), x)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("convolution 3 3", "must begin with one of conv, residual"),
        ("conv 16", "takes 2 positive numbers and may have stride"),
        ("conv 16 three", "numbers must be numbers"),
        ("conv 16 3 step=2", "may have stride, padding, groups, norm"),
        ("conv 0 3", "positive numbers"),
        ("dropout 1", "below 1"),
        ("", "must begin with"),
    ],
)
def test_a_wrong_layer_is_one_sentence(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_layer(text)


def test_layers_in_a_wrong_order_or_of_wrong_channels():
    with pytest.raises(ValueError, match=r"architecture: A convolution cannot stand behind"):
        layer_list_network(["dense 10", "conv 4 3"], (1, 8, 8), 2)
    with pytest.raises(ValueError, match=r"groups=3 must divide the channels before \(4\)"):
        layer_list_network(["conv 4 3", "conv 6 3 groups=3"], (1, 8, 8), 2)


def test_every_layer_of_a_list_is_built():
    names = ["conv 8 3 norm", "residual 8", "residual 16 stride=2", "avg-pool 2", "conv 16 3 groups=4 padding=1"]
    network = layer_list_network([*names, "global-max-pool", "dense 12", "dropout 0.2"], (3, 16, 16), 5)
    kinds = [type(layer).__name__ for layer in network]
    assert kinds == [
        *("Conv2d", "BatchNorm", "ReLU", "ResidualBlock", "ResidualBlock", "AvgPool2d", "Conv2d", "ReLU"),
        *("GlobalMaxPool", "Linear", "ReLU", "Dropout", "Linear"),
    ]  # fmt: skip
    assert vgg(VGG_BLOCKS[11], (1, 32, 32), 4, width=0.1)[-1].out_features == 4
