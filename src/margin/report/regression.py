"""What a regressor does on rows it has not seen: predicted against true values, and what it leaves unexplained."""

from __future__ import annotations

import numpy as np

from margin.report.chart import Chart
from margin.report.layout import Figure, figure
from margin.report.numbers import number
from margin.report.scales import AxisScale

__all__ = ["predicted_figure", "residual_figure", "spread_figure"]

#: Points drawn in a cloud: enough to see its shape.
MOST_DOTS = 600


def predicted_figure(y: np.ndarray, predicted: np.ndarray, target: str) -> Figure:
    """True values over predicted ones; on the diagonal both are equal."""
    both = AxisScale.over(np.concatenate([y, predicted]), 0, 1)
    domain = (both.low, both.high)
    chart = Chart("Predicted and true values", f"predicted {target}", f"true {target}", domain, domain)
    chart.line(domain, domain, "reference").dots(*_some(predicted, y), "s1 cloud")
    errors = np.abs(y - predicted)
    caption = f"Half of the predictions are within {number(float(np.median(errors)))} of the truth, nine of ten within "
    return figure("Predicted and true", chart.render("square"), caption + f"{number(float(np.quantile(errors, 0.9)))}.")


def residual_figure(y: np.ndarray, predicted: np.ndarray, target: str) -> Figure:
    """Residuals over predictions, with their running mean: a bend is structure that the model has missed."""
    residual = y - predicted
    x, y_scale = AxisScale.over(predicted, 0, 1), AxisScale.over(residual, 0, 1)
    chart = Chart("Residuals", f"predicted {target}", "true − predicted", (x.low, x.high), (y_scale.low, y_scale.high))
    chart.rule(y=0.0, class_="reference").dots(*_some(predicted, residual), "s1 cloud")
    centers, means = running_mean(predicted, residual)
    chart.line(centers, means, "s2")
    caption = "The line is the mean of groups of equal size; where it leaves zero, the model errs in one direction."
    return figure("Residuals", chart.render("square"), caption, term_id="residuals")


def spread_figure(y: np.ndarray, predicted: np.ndarray) -> Figure:
    """The distribution of the residuals, and the normal density of the same mean and deviation."""
    residual = y - predicted
    heights, edges = np.histogram(residual, bins="auto" if len(residual) < 50 else min(40, int(len(residual) ** 0.5)))
    density = heights / (heights.sum() * np.diff(edges))
    grid = np.linspace(edges[0], edges[-1], 100)
    mean, deviation = float(residual.mean()), float(residual.std())
    top = float(density.max())
    chart = Chart("Distribution of the residuals", "true − predicted", "density", (edges[0], edges[-1]), (0, top * 1.1))
    chart.bars(edges, density, "s1")
    if deviation > 0:
        normal = np.exp(-0.5 * ((grid - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
        chart.line(grid, np.minimum(normal, top * 1.1), "s2")
    caption = f"Mean {number(mean)}, standard deviation {number(deviation)}; the line is the normal density of both."
    return figure("Spread of the residuals", chart.render("square"), caption)


def running_mean(x: np.ndarray, y: np.ndarray, groups: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Means of ``x`` and ``y`` in groups of rows with neighboring ``x``.

    >>> running_mean(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 2.0, 4.0, 6.0]), groups=2)
    (array([1.5, 3.5]), array([1., 5.]))
    """
    parts = np.array_split(np.argsort(x, kind="stable"), min(groups, len(x)))
    return np.array([x[part].mean() for part in parts]), np.array([y[part].mean() for part in parts])


def _some(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(x) <= MOST_DOTS:
        return x, y
    at = np.linspace(0, len(x) - 1, MOST_DOTS).astype(int)
    return x[at], y[at]
