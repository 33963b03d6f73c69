r"""A complicated density from simple parts

.. math:: p(x) = \int p(x|z)\,p(z)\,dz

A normal prior and a normal likelihood whose mean bends make a joint density, and its integral over the latent a density
with several peaks. With finitely many latents it is a weighted sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEVIATION = 0.25
COMPONENTS = 7  # latents of the finite sum


def bend(z: np.ndarray) -> np.ndarray:
    return 1.5 * np.sin(2 * z) + 0.5 * z


def joint_at(x: np.ndarray, z: float) -> np.ndarray:
    """p(x, z) of all x at one latent, written out."""
    gap = (x - bend(np.array(z))) / DEVIATION
    return np.exp(-0.5 * (gap**2 + z**2)) / (2 * np.pi * DEVIATION)


def run(seed: int, fast: bool) -> dict[str, Any]:
    from scipy.integrate import quad_vec

    from margin.generative.latent import NormalDecoder, log_marginal, normal_nodes

    del seed  # nothing is drawn
    x, z = np.linspace(-4, 4, 201), np.linspace(-6, 6, 601 if fast else 4001)
    decoder = NormalDecoder(bend, DEVIATION)
    joint = np.exp(decoder.log_likelihood(x[:, None], z[:, None]) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi))
    # The bends are too narrow for few nodes at fixed positions, so the nodes are an even grid.
    log_weights = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + np.log(z[1] - z[0])
    marginal = np.exp(log_marginal(x[:, None], decoder.log_likelihood, z[:, None], log_weights))
    nodes, log_weights = normal_nodes(COMPONENTS)
    return {
        "x": x,
        "z": z,
        "joint": joint,
        "marginal": marginal,
        "integral": quad_vec(lambda at: joint_at(x, at), -8, 8, epsabs=1e-9)[0],
        "parts": np.exp(decoder.log_likelihood(x[:, None], nodes) + log_weights),
        "finite": np.exp(log_marginal(x[:, None], decoder.log_likelihood, nodes, log_weights)),
    }


def check(data: dict[str, Any]) -> Verdict:
    density = data["marginal"]
    peaks = int(np.sum((density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])))
    return every(
        marginal_is_the_integral=near(data["marginal"], data["integral"], tolerance=1e-6),
        parts_add_up=near(data["parts"].sum(axis=1), data["finite"], tolerance=1e-12),
        integrates_to_one=near(float(np.trapezoid(density, data["x"])), 1.0, tolerance=1e-3),
        several_peaks=above(peaks, 1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    joint, sums, marginal = figure.subplots(1, 3)
    joint.pcolormesh(data["z"][::4], data["x"], data["joint"][:, ::4], shading="auto")
    joint.set(xlim=(-3, 3), xlabel="z", ylabel="x", title="p(x, z)")
    sums.plot(data["x"], data["parts"], color="C0", alpha=0.6)
    sums.plot(data["x"], data["finite"], color="black")
    sums.set(xlabel="x", title=f"{COMPONENTS} latents: weighted parts and their sum")
    marginal.plot(data["x"], data["marginal"], color="black")
    marginal.set(xlabel="x", title="p(x), all latents")
