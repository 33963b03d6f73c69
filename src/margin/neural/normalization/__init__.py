"""Normalization: one equation over different axes, forward and backward, as functions and as layers."""

from margin.neural.normalization.blocks import conv_bn_act
from margin.neural.normalization.functions import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
    standardize,
    standardize_backward,
)
from margin.neural.normalization.fused import (
    fused_batch_norm,
    fused_group_norm,
    fused_instance_norm,
    fused_layer_norm,
)
from margin.neural.normalization.layers import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from margin.neural.normalization.modes import mc_batchnorm_predict, predict, uses_batch_statistics
from margin.neural.normalization.normalizations import (
    IMAGE_NORMS,
    NORMALIZATIONS,
    ROW_NORMS,
    BatchNormalization,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
    Normalization,
    RMSNormalization,
)
from margin.neural.normalization.pooled import pooled_cells

__all__ = [
    "IMAGE_NORMS",
    "NORMALIZATIONS",
    "ROW_NORMS",
    "BatchNorm",
    "BatchNormalization",
    "GroupNorm",
    "GroupNormalization",
    "InstanceNorm",
    "InstanceNormalization",
    "LayerNorm",
    "LayerNormalization",
    "Normalization",
    "RMSNorm",
    "RMSNormalization",
    "batch_norm",
    "conv_bn_act",
    "fused_batch_norm",
    "fused_group_norm",
    "fused_instance_norm",
    "fused_layer_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "mc_batchnorm_predict",
    "pooled_cells",
    "predict",
    "rms_norm",
    "standardize",
    "standardize_backward",
    "uses_batch_statistics",
]
