"""Images before learned features: filters, histograms of gradients, keypoints, morphing; the transformers they make."""

from margin.vision.filters import butterworth, high_pass, low_pass
from margin.vision.hog import hog
from margin.vision.keypoints import Keypoints, match_descriptors
from margin.vision.morph import morph, warp
from margin.vision.sift import sift
from margin.vision.surf import surf
from margin.vision.transformers import HOG, ImageFilter, VisualWords

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
