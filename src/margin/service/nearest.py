"""The method a user means by a name that is not ours: other libraries' names, abbreviations, slips of the keyboard."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from margin import catalog
from margin.notes import atlas
from margin.service.requests import BadRequest

__all__ = ["Nearest", "entry_of", "nearest", "plain_name"]

#: Names that other libraries and books use, and the model of ours that does what they do.
SYNONYMS = {
    "autoencoder": "vae",
    "boosting": "gradient-boosting-classifier",
    "cart": "decision-tree-classifier",
    "catboost": "hist-gradient-boosting-classifier",
    "cnn": "cnn-classifier",
    "convolutional-network": "cnn-classifier",
    "decision-tree": "decision-tree-classifier",
    "em": "gaussian-mixture",
    "extra-trees": "extra-trees-classifier",
    "forest": "random-forest-classifier",
    "gbdt": "gradient-boosting-classifier",
    "gbm": "gradient-boosting-classifier",
    "glm": "linear-regression",
    "gmm": "gaussian-mixture",
    "gp": "gaussian-process-regressor",
    "gradient-boosting": "gradient-boosting-classifier",
    "hidden-markov": "gaussian-hmm",
    "hmm": "gaussian-hmm",
    "ica": "fast-ica",
    "knn": "k-neighbors-classifier",
    "kriging": "gaussian-process-regressor",
    "lda": "linear-discriminant-analysis",
    "lgbm": "hist-gradient-boosting-classifier",
    "lightgbm": "hist-gradient-boosting-classifier",
    "logit": "logistic-regression",
    "mlp": "mlp-classifier",
    "naive-bayes": "gaussian-nb",
    "ncsn": "score-model",
    "nearest-neighbors": "k-neighbors-classifier",
    "neural-network": "mlp-classifier",
    "ols": "linear-regression",
    "perceptron": "mlp-classifier",
    "qda": "quadratic-discriminant-analysis",
    "random-forest": "random-forest-classifier",
    "seq2seq": "translator",
    "sequence-to-sequence": "translator",
    "stable-diffusion": "latent-diffusion",
    "svd": "pca",
    "svm": "svc",
    "tsne": "t-sne",
    "xgb": "hist-gradient-boosting-classifier",
    "xgboost": "hist-gradient-boosting-classifier",
}
#: How alike two names must be, from 0 to 1: one or two wrong letters in a name of ten.
ALIKE = 0.75


@dataclass(frozen=True)
class Nearest:
    """A name that exists, and whether it is a synonym of the requested one or only spelled like it."""

    name: str
    is_synonym: bool


def entry_of(requested: str) -> catalog.Entry:
    """The catalog's entry of a model; where there is none, the sentence names the one that is meant, if one can be.

    >>> entry_of("knn")
    Traceback (most recent call last):
    margin.service.requests.BadRequest: There is no model 'knn'; try k-neighbors-classifier or k-neighbors-regressor.
    """
    try:
        return catalog.entry(requested)
    except KeyError as error:
        other = nearest(requested)
        if other is not None and other.is_synonym:
            names = {other.name, other.name.replace("-classifier", "-regressor")}
            ours = " or ".join(entry.name for entry in catalog.ENTRIES if entry.name in names)
            raise BadRequest(f"There is no model {requested!r}; try {ours}.") from None
        raise BadRequest(error.args[0]) from None


def plain_name(requested: str) -> str:
    """The name in the catalog's spelling.

    >>> plain_name("Latent diffusion")
    'latent-diffusion'
    """
    return "-".join(requested.lower().replace("_", " ").split())


def nearest(requested: str) -> Nearest | None:
    """What exists under another name or one spelled alike, or None.

    >>> nearest("XGBoost")
    Nearest(name='hist-gradient-boosting-classifier', is_synonym=True)
    >>> nearest("logistic_regresion")
    Nearest(name='logistic-regression', is_synonym=False)
    """
    plain = plain_name(requested)
    known = {entry.name for entry in catalog.ENTRIES}
    for name in (plain, plain.removesuffix("s"), plain.removesuffix("-classifier").removesuffix("-regressor")):
        synonym = SYNONYMS.get(name)
        if synonym in known:
            return Nearest(synonym, is_synonym=True)
    from margin.notes import experiments  # with it comes NumPy

    classes = {entry.class_name.lower(): entry.name for entry in catalog.ENTRIES}
    names = [*known, *classes, *atlas.rows(), *experiments.names()]
    matches = difflib.get_close_matches(plain, sorted(names), n=1, cutoff=ALIKE)
    return Nearest(classes.get(matches[0], matches[0]), is_synonym=False) if matches else None
