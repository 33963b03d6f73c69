r"""Convolutional network for classes of images: softmax and cross-entropy."""

from __future__ import annotations

from margin.neural.estimators.cnn import CNNEstimator
from margin.neural.estimators.image_classifier import ImageClassifier

__all__ = ["CNNClassifier"]


class CNNClassifier(ImageClassifier, CNNEstimator):
    """Convolutional network for classes of images.

    Images are arrays (n, h, w), (n, h, w, c) or (n, c, h, w), bytes or numbers, or flat rows with ``image_shape``. They
    are stored as they come and standardized batch by batch. The network is a named one (``architecture="resnet-20"``;
    ``width`` makes it narrower) or a list of layers, cut to the size of the images where these are small.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CNNClassifier(["conv 16 3", "pool 2", "dense 32"], max_iter=10, random_state=0)
    >>> model.fit(X[:1000].reshape(-1, 8, 8), y[:1000]).score(X[1000:].reshape(-1, 8, 8), y[1000:]) > 0.88
    True
    >>> model.image_shape_
    (1, 8, 8)
    """
