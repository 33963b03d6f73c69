"""Models inside models of the stages, written so that the exported code can hold their source."""

from __future__ import annotations

__all__ = ["code_diffusion", "digit_coder"]


def digit_coder():
    """Twelve numbers per digit, and the digit from them."""
    from margin.generative import VAE

    return VAE(12, (64,), likelihood="bernoulli", beta=0.05, max_iter=25, learning_rate_init=0.005)


def code_diffusion():
    """What is drawn are codes."""
    from margin.generative import DiffusionModel

    return DiffusionModel((64, 64), n_steps=50, max_iter=150, record_steps=4)
