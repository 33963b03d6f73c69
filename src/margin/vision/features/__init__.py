"""Images before learned features: filters, histograms of gradients, keypoints, morphing; the transformers they make."""

from margin.vision.features.filters import butterworth, high_pass, low_pass
from margin.vision.features.hog import hog
from margin.vision.features.keypoints import Keypoints, match_descriptors
from margin.vision.features.morph import morph, warp
from margin.vision.features.sift import sift
from margin.vision.features.surf import surf
from margin.vision.features.transformers import HOG, ImageFilter, VisualWords

__all__ = [
    "HOG",
    "ImageFilter",
    "Keypoints",
    "VisualWords",
    "butterworth",
    "high_pass",
    "hog",
    "low_pass",
    "match_descriptors",
    "morph",
    "sift",
    "surf",
    "warp",
]
