"""Flow matching as an estimator: a diffusion whose network learns the velocity of straight lines."""

from __future__ import annotations

from dataclasses import KW_ONLY

from margin.core.parameters import default
from margin.generative.diffusion.model import DiffusionModel

__all__ = ["FlowMatching"]


class FlowMatching(DiffusionModel):
    r"""Flow matching for tables and images.

    .. math:: x_u = (1 - u)\,\epsilon + u\,x, \qquad \min_\theta E\,\|v_\theta(x_u, u) - (x - \epsilon)\|^2, \qquad
              \frac{dx}{du} = v_\theta(x, u)

    The points of the line, scaled to variance 1, are those of a diffusion with
    :math:`\bar\alpha = u^2/(u^2 + (1-u)^2)`, and the velocity is a linear function of the noise in them. So the
    samplers of :class:`DiffusionModel` draw from it ('ddim' is Euler's method along the lines), and its bound scores
    rows.

    Examples
    --------
    >>> import numpy as np
    >>> from margin.data.generators import moons
    >>> X, _ = moons(np.random.default_rng(0), n_samples=200)
    >>> model = FlowMatching(hidden_layer_sizes=(32, 32), n_steps=50, max_iter=20, random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape
    (3, 2)
    """

    _: KW_ONLY
    noise_schedule: str = default("straight", "Which points of the line are learned: 'straight' all alike.")
    prediction: str = default("velocity", "What the network predicts, by default the velocity of the line.")
