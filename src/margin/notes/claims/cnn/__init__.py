"""Claims of the area cnn: images, convolution, pooling, upsampling, and the networks built of them."""

from __future__ import annotations

import numpy as np
import torch

from margin.neural.nets.image_parts import LayerChain

__all__ = ["convolved_by_network", "normal", "pooled_by_network", "stream"]


def stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers; different shapes draw from different streams."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def convolved_by_network(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None, stride: int = 1, padding: int = 0
) -> np.ndarray:
    """What the layer that image networks are built of makes of images (N, C, H, W) with these square filters."""
    with torch.random.fork_rng(devices=[]):  # the weights that it draws are replaced
        chain = LayerChain(x.shape[1:]).conv(len(weight), weight.shape[2], stride, padding, bias=bias is not None)
    layer = chain.layers[0].double()
    layer.load_state_dict({"weight": torch.tensor(weight)} | ({} if bias is None else {"bias": torch.tensor(bias)}))
    out = layer(torch.tensor(x)).numpy(force=True)
    assert out.shape[1:] == chain.shape
    return out


def pooled_by_network(x: np.ndarray, kind: str, window: int, stride: int | None = None, padding: int = 0) -> np.ndarray:
    """The same of the pooling layer of image networks."""
    chain = LayerChain(x.shape[1:]).pool(kind, window, stride, padding)
    out = chain.layers[0](torch.tensor(x)).numpy()
    assert out.shape[1:] == chain.shape
    return out
