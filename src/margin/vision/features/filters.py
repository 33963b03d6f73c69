r"""Low-pass and high-pass filters of images, in Fourier space.

A frequency is a number of cycles per pixel, at most 1/2 along a side. The masks at radius r and cut-off c:

.. math:: \text{Gaussian: } e^{-\ln 2\,(r/c)^2/2},\qquad
          \text{Butterworth of order } n:\ \bigl(1 + (r/c)^{2n}\bigr)^{-1/2},\ \text{squared: } (1 + (r/c)^{2n})^{-1}

Each has a gain of :math:`1/\sqrt2` at the cut-off (half of the power), the squared Butterworth filter one of 1/2.
The high-pass mask is what the low-pass mask leaves, so both add up to the image; the high-pass filter of
Butterworth's family has the mirrored mask :math:`(r/c)^n (1 + (r/c)^{2n})^{-1/2}`.
"""

from __future__ import annotations

import numpy as np

__all__ = ["FILTERS", "butterworth", "high_pass", "low_pass", "low_pass_mask", "radius"]

FILTERS = ("gaussian", "butterworth")


def radius(shape: tuple[int, int]) -> np.ndarray:
    """Cycles per pixel of every entry of the Fourier transform of an image of this shape."""
    return np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1]))


def low_pass_mask(shape: tuple[int, int], cutoff: float, kind: str = "gaussian", order: float = 2.0) -> np.ndarray:
    """Gain of every frequency, 1 at frequency 0."""
    if kind not in FILTERS:
        raise ValueError(f"low_pass: kind must be one of {', '.join(FILTERS)}; got {kind!r}.")
    if not cutoff > 0 or not order > 0:
        raise ValueError(f"low_pass: cutoff and order must be above 0; got {cutoff!r} and {order!r}.")
    ratio = radius(shape) / cutoff
    if kind == "gaussian":
        return np.exp(-np.log(2) / 2 * ratio**2)
    with np.errstate(over="ignore"):
        return 1 / np.sqrt(1 + ratio ** (2 * order))


def _filter(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.fft.ifft2(np.fft.fft2(image) * mask).real


def low_pass(image: np.ndarray, cutoff: float, kind: str = "gaussian", order: float = 2.0) -> np.ndarray:
    """The last two axes of ``image`` without what changes faster than ``cutoff``: smoothing.

    >>> image = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> bool(np.ptp(low_pass(image, 0.1)) < 1e-3), float(low_pass(image, 0.1).mean())
    (True, 0.5)
    """
    return _filter(image, low_pass_mask(image.shape[-2:], cutoff, kind, order))


def high_pass(image: np.ndarray, cutoff: float, kind: str = "gaussian", order: float = 2.0) -> np.ndarray:
    """What :func:`low_pass` takes away: edges and fine detail, with mean 0."""
    return image - low_pass(image, cutoff, kind, order)


def butterworth(
    image: np.ndarray, cutoff: float, order: float = 2.0, *, high: bool = False, squared: bool = True
) -> np.ndarray:
    """Butterworth's low-pass filter, or with ``high`` the mirrored one; ``squared`` applies it twice."""
    ratio = (radius(image.shape[-2:]) / cutoff) ** (2 * order)
    gain = 1 / (1 + ratio)
    gain = 1 - gain if high else gain
    return _filter(image, gain if squared else np.sqrt(gain))
