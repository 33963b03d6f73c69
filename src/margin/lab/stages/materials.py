"""What the stages play with: small sets that a model learns in a second or two.

Each is a function of a seed that needs nothing around it, because the code that the lab exports holds its source: what
runs elsewhere is what ran here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MATERIALS", "material"]

# ruff: noqa: ARG001 (every set takes a seed, also one that never changes)


def moons(seed):
    """Two interleaved half circles."""
    from margin.data import load

    return load("moons", n_samples=160, noise=0.18, seed=seed).arrays()


def spirals(seed):
    """Two interleaved spiral arms."""
    from margin.data import load

    return load("spirals", n_samples=200, noise=0.03, turns=1.2, seed=seed).arrays()


def circles(seed):
    """A ring around a disk."""
    from margin.data import load

    return load("circles", n_samples=160, noise=0.1, factor=0.4, seed=seed).arrays()


def xor(seed):
    """Four squares, equal across the diagonals."""
    from margin.data import load

    return load("xor", n_samples=160, noise=0.05, seed=seed).arrays()


def three_blobs(seed):
    """Three round clouds with names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    centers, y = np.array([[-1.6, -0.6], [0.2, 1.3], [1.6, -0.8]]), np.repeat([0, 1, 2], 50)
    return centers[y] + 0.65 * rng.standard_normal((150, 2)), y


def separable(seed):
    """Two clouds with a gap between them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30)
    X = rng.uniform(-1, 1, (60, 2)) * [1.2, 0.8] + np.where(y[:, None] == 0, [-0.9, -1.1], [0.9, 1.1])
    return X, y


def counts(seed):
    """How often two words occur in texts of two subjects."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 60)
    return rng.poisson(np.where(y[:, None] == 0, [9, 4], [4, 8])).astype(float), y


def cells(seed):
    """Two columns of categories, and a class that depends on both."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (160, 2))
    likely = (X[:, 0] >= 3) | (X[:, 1] <= 1)
    return X, np.where(rng.random(160) < 0.9, likely, ~likely).astype(int)


def few_labels(seed):
    """Two half circles of which only eight points have a label; -1 is none."""
    import numpy as np

    from margin.data import load

    X, y = load("moons", n_samples=160, noise=0.1, seed=seed).arrays()
    known = np.concatenate([np.flatnonzero(y == label)[:4] for label in (0, 1)])
    return X, np.where(np.isin(np.arange(len(y)), known), y, -1)


def two_instruments(seed):
    """Two classes by one instrument, and rows without labels (-1) by another of other scales."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 60)
    X = rng.standard_normal((120, 2)) * [0.5, 0.9] + np.where(y[:, None] == 0, [-1.0, 0.4], [1.0, -0.4])
    X[60:] = X[60:] * [0.6, 2.0] + [2.4, 1.0]
    return X, np.where(np.arange(120) < 60, y, -1)


def clouds(seed):
    """Four clouds of different size and direction, without names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    shapes = [((-2, -1), (0.5, 0.5)), ((0.3, 1.6), (1.0, 0.3)), ((2.2, -0.6), (0.35, 0.9)), ((0, -2.2), (0.7, 0.25))]
    X = np.concatenate([np.array(center) + rng.standard_normal((60, 2)) * size for center, size in shapes])
    return X[rng.permutation(len(X))], None


def ring(seed):
    """Points of a ring with two thick ends, without names."""
    import numpy as np

    rng = np.random.default_rng(seed)
    angle = np.pi * np.concatenate([rng.uniform(0, 2, 300), rng.normal(0.5, 0.08, 60), rng.normal(1.5, 0.08, 60)])
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.09 * rng.standard_normal((420, 2)), None


def two_sets(seed):
    """A flat cloud, and fewer points of a slanted one elsewhere: no point of one belongs to one of the other."""
    import numpy as np

    rng = np.random.default_rng(seed)
    flat = rng.standard_normal((240, 2)) * [1.0, 0.4]
    return flat, rng.standard_normal((160, 2)) @ np.array([[0.9, 0.5], [0.0, 0.4]]) + [4.0, 1.5]


def slanted(seed):
    """One long slanted cloud."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return rng.standard_normal((150, 2)) @ np.array([[1.5, 0.9], [0.0, 0.45]]), None


def mixed_sources(seed):
    """Two independent sources with flat densities, mixed."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (300, 2)) @ np.array([[1.0, 0.5], [0.6, 1.2]]), None


def wave(seed):
    """A noisy wave with a gap."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.uniform(-3, 0.2, 28), rng.uniform(1.4, 3, 14)]))
    return x[:, None], np.sin(1.6 * x) + 0.25 * x + 0.15 * rng.standard_normal(42)


def line(seed):
    """A noisy line."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, 40)
    return x[:, None], 0.7 * x + 0.4 + 0.5 * rng.standard_normal(40)


def widening(seed):
    """A wave whose noise grows to the right."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, 120))
    return x[:, None], np.sin(x) + 0.06 * np.exp(0.7 * x) * rng.standard_normal(120)


def steps(seed):
    """Levels with jumps between them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, 80))
    return x[:, None], np.select([x < -1.5, x < 0.2, x < 1.6], [0.2, 1.4, -0.6], 0.7) + 0.12 * rng.standard_normal(80)


def passengers(seed):
    """Airline passengers per month, 1949 to 1960."""
    from margin.data import load

    return load("airline-passengers").y, None


def regimes(seed):
    """A series that stays at one of three levels for a while, and is more or less restless there."""
    import numpy as np

    rng = np.random.default_rng(seed)
    state = np.repeat(rng.permutation(np.repeat([0, 1, 2], 3)), rng.integers(12, 40, 9))
    return (np.array([-1.0, 0.6, 1.8])[state] + np.array([0.5, 0.2, 0.4])[state] * rng.normal(size=len(state)))[
        :, None
    ], None


def rhythms(seed):
    """Short series: slow waves and fast ones."""
    import numpy as np

    rng = np.random.default_rng(seed)
    y = np.tile([0, 1], 30)
    phase, t = rng.uniform(0, 2 * np.pi, 60), np.arange(24)
    X = np.sin(phase[:, None] + t * np.where(y == 0, 0.35, 0.8)[:, None]) + 0.3 * rng.standard_normal((60, 24))
    return X[:, :, None], y


def growth(seed):
    """Short noisy series, and the mean that each wanders around."""
    import numpy as np

    rng = np.random.default_rng(seed)
    level = rng.normal(size=60)
    return (level[:, None] + 0.7 * rng.standard_normal((60, 16)))[:, :, None], level


def digits(seed):
    """Handwritten digits of 8 by 8 pixels."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:400]
    return X[rows] / 16, y[rows]


def slants(seed):
    """Pictures of bars, and the angle of each."""
    import numpy as np

    rng = np.random.default_rng(seed)
    angle, (row, column) = rng.uniform(-1.2, 1.2, 120), np.mgrid[-1:1:12j, -1:1:12j]
    distance = np.abs(row * np.cos(angle)[:, None, None] - column * np.sin(angle)[:, None, None])
    pictures = np.exp(-((distance / 0.25) ** 2)) + 0.05 * rng.standard_normal((120, 12, 12))
    return pictures.reshape(120, 144), angle


def scenes_with_boxes(seed):
    """Shapes on a noisy ground, and the box around each."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=16, side=24, sizes=(7, 11), n_objects=(1, 2))
    return scenes.images, scenes.boxes


def scenes_with_masks(seed):
    """Shapes on a noisy ground, and which pixels belong to each kind."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=16, side=16, sizes=(6, 9), n_objects=(1, 2))
    return scenes.images, scenes.masks


def scenes_with_captions(seed):
    """Shapes on a noisy ground, and a sentence about each picture."""
    import numpy as np

    from margin.data.scenes import SHAPES, shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=24, side=16, sizes=(6, 9), n_objects=(1, 1))
    return scenes.images, [f"a {SHAPES[boxes.labels[0]]}" for boxes in scenes.boxes]


def shapes(seed):
    """Gray pictures of 40 by 40 pixels, and the kind of the shape in each."""
    import numpy as np

    from margin.data.scenes import shape_scenes

    scenes = shape_scenes(np.random.default_rng(seed), n_samples=24, side=40, sizes=(16, 26), n_objects=(1, 1))
    images = np.asarray(scenes.images, dtype=float).reshape(24, 40, 40, -1).mean(axis=3)
    return images.reshape(24, -1), np.array([boxes.labels[0] for boxes in scenes.boxes])


def story(seed):
    """A few sentences in which the same words return."""
    return (
        "the river runs to the sea and the sea gives back the rain. the rain falls on the hill and the hill holds it "
        "for the river. a boat goes down the river in the morning and comes up the river at night. at night the wind "
        "sleeps on the hill, and in the morning the wind wakes the sea. the boat waits for the wind, the wind waits "
        "for the sun, and the sun waits for nobody. "
    ) * 3, None


def sentences(seed):
    """Sentences in which some words keep company."""
    import numpy as np

    rng = np.random.default_rng(seed)
    kings, fruit, sea = ["king queen crown throne", "apple pear plum cherry", "boat wave sail harbor"]
    groups = [group.split() for group in (kings, fruit, sea)]
    return [" ".join(rng.choice(groups[rng.integers(3)], 6)) for _ in range(120)], None


def reviews(seed):
    """Short reviews, and whether they are glad."""
    import numpy as np

    rng = np.random.default_rng(seed)
    things, glad = ["the film", "this book", "the meal", "our trip"], ["was lovely", "made me smile", "is a joy"]
    sad, tails = ["was dull", "made me yawn", "is a waste"], ["", " today", " in the end", " for all of us"]
    y = np.tile([0, 1], 40)
    return [f"{rng.choice(things)} {rng.choice(glad if label else sad)}{rng.choice(tails)}" for label in y], y


def tagged(seed):
    """Sentences, and the part of speech of every word."""
    import numpy as np

    rng = np.random.default_rng(seed)
    words = {"D": ["the", "a", "every"], "A": ["old", "red", "quiet"], "N": ["boat", "bird", "road"]}
    words["V"] = ["sees", "finds", "follows"]
    shapes = ["D N V D N", "D A N V D N", "D N V D A N", "N V N"]
    tags = [shapes[rng.integers(len(shapes))] for _ in range(60)]
    return [" ".join(rng.choice(words[tag]) for tag in text.split()) for text in tags], tags


def number_words(seed):
    """Numbers in English, and in German."""
    import itertools

    names = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier"}
    sources = [" ".join(words) for words in itertools.product(names, repeat=3)]
    return sources, [" ".join(names[word] for word in text.split()) for text in sources]


def word_counts(seed):
    """How often twelve words occur in eighty texts of three subjects."""
    import numpy as np

    rng = np.random.default_rng(seed)
    topics = np.repeat(np.eye(3), 4, axis=1) + 0.05
    shares = rng.dirichlet([0.3, 0.3, 0.3], 80) @ (topics / topics.sum(axis=1, keepdims=True))
    return np.array([rng.multinomial(40, share) for share in shares]).astype(float), None


def hair_and_eyes(seed):
    """How many people have which color of hair (rows) and of eyes (columns)."""
    import numpy as np

    return np.array([[68.0, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]]), None


def animals(seed):
    """Traits of animals of four kinds; a fifth is known only by its description."""
    import numpy as np

    rng = np.random.default_rng(seed)
    traits = np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
    y = np.repeat(np.arange(4), 15)
    return traits[y] @ np.array([[1, 0.2, 0], [0, 1, 0.3], [0.2, 0, 1]]) + 0.15 * rng.standard_normal((60, 3)), y


def patients(seed):
    """Ten measures of 300 people with diabetes, and how far it went in a year; all in standard deviations."""
    import numpy as np
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:300]
    X, y = X[rows], y[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def wines(seed):
    """Thirteen measures, in standard deviations, of 150 wines by three growers."""
    import numpy as np
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:150]
    return (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0), y[rows]


def tennis(seed):
    """Fourteen days: outlook, temperature, humidity, wind; was tennis played?"""
    import numpy as np

    days = "0210 0211 1210 2110 2000 2001 1001 0110 0000 2100 0101 1111 1200 2111"
    return np.array([[int(digit) for digit in day] for day in days.split()]), np.array([*map(int, "00111010111110")])


def sprinkler(seed):
    """Clouds, a sprinkler, rain and wet grass on 600 days: 1 is yes."""
    import numpy as np

    rng = np.random.default_rng(seed)
    cloudy = rng.random(600) < 0.5
    sprinkler = rng.random(600) < np.where(cloudy, 0.1, 0.5)
    rain = rng.random(600) < np.where(cloudy, 0.8, 0.2)
    wet = rng.random(600) < np.where(sprinkler & rain, 0.99, np.where(sprinkler | rain, 0.9, 0.02))
    return np.column_stack([cloudy, sprinkler, rain, wet]).astype(float), None


def karate_club(seed):
    """Friendships in a club that split in two."""
    from margin.graphs.generators import karate_club

    graph = karate_club()
    return graph, graph.target


def rings_and_trees(seed):
    """Small graphs: some are closed to a ring, the others are trees."""
    from margin.graphs.generators import rings_and_trees

    return rings_and_trees(40, random_state=seed)


def graph_sizes(seed):
    """Small graphs, and how many nodes each has."""
    import numpy as np

    from margin.graphs.generators import rings_and_trees

    graphs, _ = rings_and_trees(40, random_state=seed)
    return graphs, np.array([float(len(graph)) for graph in graphs])


def communities(seed):
    """Three groups whose members know each other better than the others."""
    from margin.graphs.generators import block_model

    return block_model([14, 14, 14], 0.4, 0.03, random_state=seed), None


def plate(seed):
    """Points of a square plate with a known temperature on its edge."""
    import numpy as np

    return np.random.default_rng(seed).uniform(0, 1, (250, 2)), None


def circling(seed):
    """Three trajectories that spiral inward."""
    import numpy as np

    t, start = 0.2 * np.arange(25), np.random.default_rng(seed).uniform(0.7, 1.6, 3)
    angle, radius = t + np.arange(3)[:, None] * 2, start[:, None] * np.exp(-0.12 * t)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2), None


def rosenbrock(seed):
    """A bent valley with a flat floor."""
    from margin.optimize.landscapes import ROSENBROCK

    return ROSENBROCK, None


def narrow_ravine(seed):
    """One flat and one steep direction."""
    from margin.optimize.landscapes import RAVINE

    return RAVINE, None


def himmelblau(seed):
    """Four valleys of equal depth."""
    from margin.optimize.landscapes import HIMMELBLAU

    return HIMMELBLAU, None


def beale(seed):
    """A plain with steep corners."""
    from margin.optimize.landscapes import BEALE

    return BEALE, None


def saddle(seed):
    """A pass between two valleys."""
    from margin.optimize.landscapes import SADDLE

    return SADDLE, None


MATERIALS: dict[str, Callable[[int], tuple[Any, Any]]] = {
    name: value for name, value in list(vars().items()) if getattr(value, "__module__", None) == __name__
}


def material(name: str) -> Callable[[int], tuple[Any, Any]]:
    """The set called ``name``."""
    if name not in MATERIALS:
        raise KeyError(f"There is no set {name!r} to play with; there are {', '.join(MATERIALS)}.")
    return MATERIALS[name]
