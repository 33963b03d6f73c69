"""Networks: plain torch modules without training, devices or randomness of their own."""

from margin.neural.nets.densenet import DenseBlock, densenet
from margin.neural.nets.ensemble import MLPEnsemble
from margin.neural.nets.images import ARCHITECTURES, image_network
from margin.neural.nets.layer_list import layer_list_network
from margin.neural.nets.lenet import alexnet, lenet5
from margin.neural.nets.mlp import MLP
from margin.neural.nets.resnet import ResidualBlock, resnet, small_resnet
from margin.neural.nets.sequence import SequenceNetwork
from margin.neural.nets.summary import Stage, multiply_adds, stages
from margin.neural.nets.vgg import vgg, vgg_block

__all__ = [
    "ARCHITECTURES",
    "MLP",
    "DenseBlock",
    "MLPEnsemble",
    "ResidualBlock",
    "SequenceNetwork",
    "Stage",
    "alexnet",
    "densenet",
    "image_network",
    "layer_list_network",
    "lenet5",
    "multiply_adds",
    "resnet",
    "small_resnet",
    "stages",
    "vgg",
    "vgg_block",
]
