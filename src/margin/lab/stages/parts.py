"""Models inside models of the stages, written so that the exported code can hold their source."""

from __future__ import annotations

__all__ = ["code_diffusion", "digit_coder", "small_network", "smooth_classifier"]


def digit_coder():
    """Twelve numbers per digit, and the digit from them."""
    from margin.generative import VAE

    return VAE(12, (64,), likelihood="bernoulli", beta=0.05, max_iter=25, learning_rate_init=0.005)


def smooth_classifier():
    """Sure near rows that it knows, and less and less away from them."""
    from margin.kernels import GaussianProcessClassifier

    return GaussianProcessClassifier(max_iter=20)


def small_network():
    """Two hidden layers that bend around half circles."""
    from margin.neural import MLPClassifier

    return MLPClassifier((32, 32), learning_rate_init=0.01, max_iter=150, batch_size=64)


def code_diffusion():
    """What is drawn are codes."""
    from margin.generative import DiffusionModel

    return DiffusionModel((64, 64), n_steps=50, max_iter=150, record_steps=4)
