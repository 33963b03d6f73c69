"""Start screens: one idea each, with what to look at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """A screen: a model with settings (written name=value) on a set, a title, and a sentence that says where to look.

    ``beside`` are other settings of the same model, shown on the right with the same data.
    """

    title: str
    sentence: str
    model: str
    data: str = ""
    settings: tuple[str, ...] = ()
    speed: float = 0.0
    beside: tuple[str, ...] = ()


PRESETS = (
    Preset(
        "A perceptron bends around spirals",
        "Two hidden layers cut the plane into pieces; drag a point and see the border follow.",
        "mlp-classifier",
        "spirals",
        ("hidden_layer_sizes=24,24", "max_iter=300"),
    ),
    Preset(
        "k-means, step by step",
        "Centers move to the mean of their points, points to their nearest center, until nothing changes.",
        "kmeans",
        "clouds",
        speed=2,
    ),
    Preset(
        "EM: ellipses find their clouds",
        "Each component takes responsibility for points and moves to where they are.",
        "gaussian-mixture",
        "clouds",
        speed=4,
    ),
    Preset(
        "A tree grows a question at a time",
        "ID3 asks what tells most about the day; the bits gained stand beside it.",
        "id3",
        "tennis",
        speed=1,
    ),
    Preset(
        "Boosting fixes residuals",
        "Every small tree is fitted to what the others left; a high rate hurries and overfits.",
        "gradient-boosting-regressor",
        "steps",
        ("learning_rate=0.1", "max_depth=2"),
        speed=8,
        beside=("learning_rate=0.9", "max_depth=2"),
    ),
    Preset(
        "The lasso lets go of columns",
        "The same table under two penalties: the stronger it is, the more weights are exactly zero.",
        "lasso",
        "patients",
        ("alpha=0.2",),
        beside=("alpha=0.01",),
    ),
    Preset(
        "A kernel machine and its margin",
        "Only the ringed points hold the border; drag one of them, then one of the others.",
        "svc",
        "moons",
        ("C=1.0",),
        beside=("C=100.0",),
    ),
    Preset(
        "A Gaussian process knows where it knows",
        "The band tightens where points are: move the mouse through the gap, and click to add some.",
        "gaussian-process-regressor",
        "wave",
        speed=6,
    ),
    Preset(
        "t-SNE unfolds the digits",
        "First pressed together, then let go: classes part that the method was never told of.",
        "t-sne",
        "digits",
        speed=8,
    ),
    Preset(
        "Optimizers race down one landscape",
        "The same slope, the same start: plain descent zigzags, momentum overshoots, Adam scales its axes.",
        "optimizers",
        "rosenbrock",
        speed=30,
    ),
    Preset(
        "The latent plane of a VAE",
        "Two numbers per digit: walk over the plane with the mouse and see one digit turn into another.",
        "vae",
        "digits",
    ),
    Preset(
        "Diffusion runs backwards",
        "From noise to data in a few steps, better with every epoch.",
        "diffusion-model",
        "ring",
    ),
    Preset(
        "A GPT writes while it learns",
        "Letters first, then words, then the story; give it a beginning of your own.",
        "language-model",
        "story",
        speed=15,
    ),
    Preset(
        "Attention over your own sentence",
        "Write numbers in English: every letter of the German looks back at the letters that it needs.",
        "translator",
        "number_words",
        speed=15,
    ),
    Preset(
        "A network reads your digit",
        "Draw a digit and see the chance of every class move while it learns.",
        "cnn-classifier",
        "digits",
        speed=2,
    ),
    Preset(
        "Why is the grass wet?",
        "Click what you know: seeing rain explains the wet grass, and the sprinkler becomes unlikely.",
        "bayesian-network",
        "sprinkler",
    ),
    Preset(
        "A network solves an equation",
        "Temperature of a plate, hot on one edge, and what Laplace's equation leaves of it.",
        "pinn",
        "plate",
        speed=15,
    ),
    Preset(
        "Messages in a club that split",
        "Four people say where they stand; the graph tells the rest.",
        "node-classifier",
        "karate_club",
        speed=15,
    ),
)
