"""Representations that are learned: by comparing views, images with captions, rows with rows; and their metrics."""

from margin.neural.losses.margins import triplet_loss
from margin.representation.clip import CLIP, zero_shot_probabilities
from margin.representation.contrastive import clip_loss, cosine_similarity, nt_xent
from margin.representation.metric_learning import NeighborhoodComponentsAnalysis, nca_objective
from margin.representation.pretraining import pretrain
from margin.representation.riemannian import curve_length, geodesic_curve, local_metric, pullback_metric
from margin.representation.simclr import SimCLR
from margin.representation.views import two_views

__all__ = [
    "CLIP",
    "NeighborhoodComponentsAnalysis",
    "SimCLR",
    "clip_loss",
    "cosine_similarity",
    "curve_length",
    "geodesic_curve",
    "local_metric",
    "nca_objective",
    "nt_xent",
    "pretrain",
    "pullback_metric",
    "triplet_loss",
    "two_views",
    "zero_shot_probabilities",
]
