"""Convolution explained: the equations in NumPy, forward and backward, and what they imply; torch's kernels are equal.

Read in this order: padding, equations, sizes, backward, transposed, pooling, upsampling, receptive, symmetry.
"""

from margin.neural.convolution.backward import ConvGradients, conv_backward
from margin.neural.convolution.equations import conv1d, conv2d, convolve, correlate, flip, patches, unfold
from margin.neural.convolution.layers import GlobalAvgPool, GlobalMaxPool, LocallyConnected2d, ResizeConv2d
from margin.neural.convolution.maps import feature_maps, filters, strongest_patches
from margin.neural.convolution.matrices import linear_map_matrix
from margin.neural.convolution.padding import PADDING_MODES, pad
from margin.neural.convolution.pooling import (
    POOLINGS,
    Pooled,
    downsample,
    global_pool,
    max_unpool,
    pool,
    pool_backward,
    subsample,
)
from margin.neural.convolution.receptive import Field, footprint, receptive_fields
from margin.neural.convolution.sizes import (
    ConvArithmetic,
    conv_arithmetic,
    conv_output_size,
    count_positions,
    pool_output_size,
    transposed_output_size,
)
from margin.neural.convolution.symmetry import equivariance_error, invariance_error, shift
from margin.neural.convolution.transposed import conv_transpose, deconvolve, overlap_count, scaled_copies, stretch
from margin.neural.convolution.upsampling import UPSAMPLINGS, interpolation_matrix, resize, upsample

__all__ = [
    "PADDING_MODES",
    "POOLINGS",
    "UPSAMPLINGS",
    "ConvArithmetic",
    "ConvGradients",
    "Field",
    "GlobalAvgPool",
    "GlobalMaxPool",
    "LocallyConnected2d",
    "Pooled",
    "ResizeConv2d",
    "conv1d",
    "conv2d",
    "conv_arithmetic",
    "conv_backward",
    "conv_output_size",
    "conv_transpose",
    "convolve",
    "correlate",
    "count_positions",
    "deconvolve",
    "downsample",
    "equivariance_error",
    "feature_maps",
    "filters",
    "flip",
    "footprint",
    "global_pool",
    "interpolation_matrix",
    "invariance_error",
    "linear_map_matrix",
    "max_unpool",
    "overlap_count",
    "pad",
    "patches",
    "pool",
    "pool_backward",
    "pool_output_size",
    "receptive_fields",
    "resize",
    "scaled_copies",
    "shift",
    "stretch",
    "strongest_patches",
    "subsample",
    "transposed_output_size",
    "unfold",
    "upsample",
]
