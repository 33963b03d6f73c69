"""Names that several pages show: areas of the notes, verdicts."""

from __future__ import annotations

from docs.generators.rst import escape

from margin.notes import atlas

__all__ = ["AREAS", "lab_link", "row_title", "verdict_badge"]

LAB = "http://127.0.0.1:8765"  # where ``margin lab`` answers unless told otherwise

SPELLED = {
    "bayesian-network": "Bayesian networks",
    "bias-variance": "Bias and variance",
    "cnn": "Convolutional networks",
    "gan": "Adversarial networks",
    "generative-evaluation": "Evaluating generative models",
    "graph": "Graph networks",
    "layers": "Layers",
    "neural-core": "Neural networks",
    "reduction": "Dimension reduction",
    "rnn": "Recurrent networks",
    "supervised": "Supervised models",
    "trees-ensembles": "Trees and ensembles",
    "unsupervised": "Clusters and mixtures",
    "vae": "Variational autoencoders",
    "transport": "Optimal transport",
    "meta-learning": "Meta-learning",
    "linear-algebra": "Linear algebra",
    "transformer": "Transformers",
    "autoencoder": "Autoencoders",
    "diffusion": "Diffusion models",
}
GREEK = {"lambda": "λ", "theta": "θ", "phi": "φ"}
#: Every area as a heading, in the order of the contract.
AREAS = {area: SPELLED.get(area, area.capitalize().replace("-", " ")) for area in atlas.areas()}


def row_title(row: atlas.Row) -> str:
    """The title of a row as text; a few have a Greek letter as LaTeX writes it."""
    title = row.title
    for name, letter in GREEK.items():
        title = title.replace(f"\\{name}", letter)
    return escape(title)


def verdict_badge(word: str) -> str:
    """The verdict as a role that the stylesheet colors; ``conf.py`` declares the roles."""
    return f":{word}:`{word}`"


def lab_link(path: str) -> str:
    """The same thing in the lab, for readers on whose machine it runs."""
    return f"`open in the lab <{LAB}{path}>`__"
