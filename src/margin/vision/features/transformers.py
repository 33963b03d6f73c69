"""Handcrafted features of images as transformers, to stand before any classifier in a pipeline."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.cluster import KMeans
from margin.core.domains import Choice, Integer, Number, Seed
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, ListOf
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike
from margin.data.image_arrays import ImageParameters, check_images
from margin.vision.features.columns import MOST_COLUMNS
from margin.vision.features.filters import FILTERS, high_pass, low_pass
from margin.vision.features.hog import hog
from margin.vision.features.sift import describe_sift, sift
from margin.vision.features.stored import images_have_the_columns
from margin.vision.features.surf import describe_surf, surf

__all__ = ["HOG", "ImageFilter", "VisualWords"]


class ImageTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ImageParameters, Estimator):
    """A transformer of images of one shape into rows of numbers."""

    image_shape_: list[int] = attribute(ListOf(Count(low=1, high=2**31)), "Channels, height and width of the images.")
    n_features_out_: int = attribute(Count(low=1), "Columns of the result.")
    _stored_rules = (images_have_the_columns,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the shape of the images; ``y`` is not used."""
        self._check_parameters()
        images = check_images(self, X, self.image_shape, self.channels)
        self.image_shape_ = [int(n) for n in images.shape[1:]]
        self._learn(images)
        self.n_features_out_ = int(self._features(images[:1]).shape[1])
        if self.n_features_out_ > MOST_COLUMNS:
            raise ValueError(
                f"{type(self).__name__}: images of this size give {self.n_features_out_} columns; at most "
                f"{MOST_COLUMNS} are possible."
            )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """One row of features per image."""
        check_is_fitted(self)
        c, h, w = self.image_shape_
        return self._features(check_images(self, X, self.image_shape, self.channels, fitted=(c, h, w)))

    def _learn(self, images: np.ndarray) -> None:
        pass

    @abstractmethod
    def _features(self, images: np.ndarray) -> np.ndarray:
        """One row of numbers per image (n, c, h, w)."""

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_


class HOG(ImageTransformer):
    """Histograms of oriented gradients (:mod:`margin.vision.features.hog`).

    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().images
    >>> HOG(cell=4, block=1).fit_transform(X).shape
    (1797, 36)
    """

    cell: int = parameter(8, Integer(low=1, search=(2, 16)), "Side of a cell in pixels.")
    _: KW_ONLY
    bins: int = parameter(9, Integer(low=1, search=(4, 16)), "Orientations between 0 and 180 degrees.")
    block: int = parameter(2, Integer(low=1, search=(1, 4)), "Side in cells of a block, which is normalized together.")

    def _features(self, images: np.ndarray) -> np.ndarray:
        return hog(images, self.cell, self.bins, self.block)


class ImageFilter(ImageTransformer):
    """Low-pass or high-pass filtered images, flattened (:mod:`margin.vision.features.filters`).

    >>> X = np.random.default_rng(0).normal(size=(5, 8, 8))
    >>> smooth = ImageFilter("low-pass", cutoff=0.1).fit_transform(X)
    >>> bool(smooth.std() < X.std()), smooth.shape
    (True, (5, 64))
    """

    kind: str = parameter("low-pass", Choice("low-pass", "high-pass"), "Which frequencies are kept.")
    _: KW_ONLY
    cutoff: float = parameter(
        0.1,
        Number(above=0, search=(0.02, 0.4), log=True),
        "Frequency in cycles per pixel at which half the power is left.",
    )
    mask: str = parameter("gaussian", Choice(*FILTERS), "Shape of the gain over the frequencies.")
    order: float = parameter(2.0, Number(above=0, search=(1, 6)), "Steepness of the 'butterworth' mask.")

    def _features(self, images: np.ndarray) -> np.ndarray:
        apply = low_pass if self.kind == "low-pass" else high_pass
        return apply(images.astype(np.float64), self.cutoff, self.mask, self.order).reshape(len(images), -1)


class VisualWords(ImageTransformer):
    """How often each of ``n_words`` typical surroundings of keypoints occurs in an image: a bag of visual words.

    The words are the centers of k-means clusters of all descriptors of the fit. An image in which no keypoint is found
    is described once, around its middle. Rows are divided by the number of keypoints.

    >>> from margin.data import load
    >>> X = load("shapes", n_samples=12, size=24, seed=0).X.reshape(-1, 24, 24)
    >>> VisualWords("surf", n_words=5, random_state=0).fit_transform(X).sum(axis=1).round(6).tolist()[:2]
    [1.0, 1.0]
    """

    descriptor: str = parameter("sift", Choice("sift", "surf"), "Which keypoints and descriptors are used.")
    _: KW_ONLY
    n_words: int = parameter(50, Integer(low=1, search=(10, 500), log=True), "Most words of the vocabulary.")
    random_state: RandomLike = parameter(None, Seed(), "Draws the first centers of k-means.")

    words_: np.ndarray = attribute(ArrayOf("n_words", "n_values"), "Descriptors of the words, one row each.")

    def _learn(self, images: np.ndarray) -> None:
        rows = np.concatenate([self._describe_image(image) for image in images])
        n_words = min(self.n_words, len(np.unique(rows, axis=0)))
        seed = self.random_state
        self.words_ = KMeans(n_words, n_init=1, max_iter=50, random_state=seed).fit(rows).cluster_centers_

    def _features(self, images: np.ndarray) -> np.ndarray:
        counts = np.zeros((len(images), len(self.words_)))
        half = 0.5 * (self.words_**2).sum(axis=1)
        for row, image in zip(counts, images):
            described = self._describe_image(image)
            nearest = (half - described @ self.words_.T).argmin(axis=1)
            row[:] = np.bincount(nearest, minlength=len(self.words_)) / len(nearest)
        return counts

    def _describe_image(self, image: np.ndarray) -> np.ndarray:
        gray = image.mean(axis=0, dtype=np.float64)
        spread = np.ptp(gray)
        gray = (gray - gray.min()) / (spread if spread > 0 else 1.0)
        find, describe = (sift, describe_sift) if self.descriptor == "sift" else (surf, describe_surf)
        descriptors = find(gray).descriptors
        if len(descriptors):
            return descriptors
        middle = (np.array(gray.shape) - 1)[None] / 2
        return describe(gray, middle, np.array([max(gray.shape) / 12])).descriptors[:1]
