"""A synthetic table shaped like the survey of forest cover types: 54 columns, seven classes of very unequal size.

Ten continuous columns of a terrain that hang together (slope, aspect and the light at three times of day are functions
of one another up to noise), one of 4 areas and one of 40 soils as zeros and ones, and a class drawn from a rule that
no contender knows: bands of elevation, soils and areas that suit a class, light and distances, all with interactions,
plus noise in the score and three labels in a hundred replaced. Nothing of the real survey is in it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["terrain"]

CLASSES, SOILS, AREAS = 7, 40, 4
HEIGHTS = np.array([3150.0, 2900.0, 2400.0, 2200.0, 2780.0, 2420.0, 3380.0])  # where each class is at home, in meters
WIDTHS = np.array([190.0, 220.0, 190.0, 90.0, 110.0, 170.0, 110.0])
PULLS = np.array([1.6, 2.1, 0.6, -0.6, -0.9, 0.0, 0.4])  # makes the two first classes frequent, two others rare
REPLACED = 0.03


def terrain(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``X`` (n, 54) float64 and class numbers ``y`` (n,)."""
    rule, rng = np.random.default_rng(54), np.random.default_rng([54, seed])  # one rule, many tables
    area = rng.choice(AREAS, size=n, p=[0.45, 0.05, 0.44, 0.06])
    elevation = np.array([3000.0, 3300.0, 2950.0, 2250.0])[area] + rng.normal(0.0, 220.0, n)
    ground = _ground(rng, elevation)
    soil = _soil(rng, rule, elevation, area)
    score = -0.5 * ((elevation[:, None] - HEIGHTS) / WIDTHS) ** 2 + PULLS
    score += rule.normal(0.0, 0.9, (SOILS, CLASSES))[soil] + rule.normal(0.0, 0.6, (AREAS, CLASSES))[area]
    score += _light_and_distance(rule, ground)
    y = (score + 0.6 * rng.gumbel(size=score.shape)).argmax(axis=1)
    replaced = rng.uniform(size=n) < REPLACED
    y[replaced] = rng.integers(0, CLASSES, size=int(replaced.sum()))
    one_hot = [np.eye(AREAS)[area], np.eye(SOILS)[soil]]
    return np.column_stack([elevation.round(), ground.round(), *one_hot]), y


def _ground(rng: np.random.Generator, elevation: np.ndarray) -> np.ndarray:
    """Aspect, slope, distances to water (two), roads and fire, light at nine, noon and three, (n, 9)."""
    n = len(elevation)
    aspect = rng.uniform(0.0, 360.0, n)
    slope = rng.gamma(3.0, 4.5, n) * (0.6 + elevation / 6000.0)
    to_water = rng.gamma(1.6, 170.0, n)
    above_water = to_water * slope / 100.0 * rng.normal(1.0, 0.7, n)
    to_roads = rng.gamma(2.0, 1.0, n) * (elevation - 1200.0) * 0.6
    to_fire = 0.45 * to_roads + rng.gamma(2.2, 500.0, n)
    steep, facing = np.sin(np.radians(np.minimum(slope, 60.0))), np.radians(aspect)
    light = [254.0 * np.clip(0.85 + steep * np.cos(facing - hour), 0.0, 1.0) for hour in (1.9, 3.1, 4.3)]
    noisy = [level + rng.normal(0.0, 6.0, n) for level in light]
    return np.column_stack([aspect, slope, to_water, above_water, to_roads, to_fire, *noisy])


def _soil(rng: np.random.Generator, rule: np.random.Generator, elevation: np.ndarray, area: np.ndarray) -> np.ndarray:
    """One of 40 soils, likelier where the elevation and the area suit it."""
    home, frequent = rule.uniform(2000.0, 3600.0, SOILS), rule.normal(0.0, 1.2, SOILS)
    suits = frequent - 0.5 * ((elevation[:, None] - home) / 260.0) ** 2 + rule.normal(0.0, 1.0, (AREAS, SOILS))[area]
    return (suits + rng.gumbel(size=suits.shape)).argmax(axis=1)


def _light_and_distance(rule: np.random.Generator, ground: np.ndarray) -> np.ndarray:
    """What light, slope and distances add to the score of every class, products of two among them, (n, 7)."""
    z = (ground - ground.mean(axis=0)) / ground.std(axis=0)
    bent = np.column_stack([np.tanh(z), z[:, [1]] * z[:, [6]], np.tanh(z[:, [2]] * z[:, [4]]), z[:, [0]] * z[:, [8]]])
    return bent @ rule.normal(0.0, 0.45, (bent.shape[1], CLASSES))
