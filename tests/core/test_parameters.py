"""A declared parameter gives the constructor, the documentation, the schema and the search space."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import KW_ONLY

import numpy as np
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Flag, Integer, Number, Optional
from margin.core.estimator import Estimator
from margin.core.parameters import (
    Declared,
    InvalidParameter,
    attribute,
    attributes_of,
    default,
    parameter,
    parameter_table,
    parameters_of,
    parse_settings,
    search_space,
)


class Metric(Declared):
    """A group of parameters that several estimators share."""

    _: KW_ONLY
    p: float = parameter(2.0, Number(low=1, search=(1, 4)), "Exponent of the distance.")
    scaled: bool = parameter(False, Flag(), "Whether columns are divided by their deviation.")


class NearestCentroid(ClassifierMixin, Metric, Estimator):
    """The class whose mean is nearest.

    It assumes round classes.

    Examples
    --------
    >>> NearestCentroid(0.5).shrinkage
    0.5
    """

    shrinkage: float = parameter(0.0, Number(low=0, high=1, search=(0, 1)), "Fraction of the way to the common mean.")
    _: KW_ONLY
    prior: str = parameter("uniform", Choice("uniform", "counts"), "How probable a class is before a row is seen.")
    depth: int | None = parameter(None, Optional(Integer(low=1)), "A limit that nothing here needs.")

    classes_: np.ndarray = attribute(None, "The classes.")
    centroids_: np.ndarray = attribute(None, "Their means, (classes, p).")

    def fit(self, X, y):
        self._check_parameters()
        X, y = validate_data(self, X, y)
        if np.asarray(y).dtype.kind == "f" and not np.array_equal(y, np.floor(y)):
            raise ValueError("Unknown label type: continuous")
        self.classes_ = np.unique(y)
        means = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        self.centroids_ = (1 - self.shrinkage) * means + self.shrinkage * X.mean(axis=0)
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        gaps = np.abs(X[:, None] - self.centroids_) ** self.p
        return self.classes_[gaps.sum(axis=2).argmin(axis=1)]

    @property
    def spread_(self) -> float:
        """Largest distance between two means."""
        return float(np.abs(self.centroids_[:, None] - self.centroids_).max())


class Renamed(NearestCentroid):
    """A subclass that changes one default.

    >>> Renamed().p
    1.0
    """

    _: KW_ONLY
    p: float = parameter(1.0, Number(low=1), "Exponent of the distance, city block by default.")


@parametrize_with_checks([NearestCentroid()])
def test_scikit_learns_checks_hold(estimator, check):
    check(estimator)


def test_the_signature_is_that_of_a_plain_function():
    signature = inspect.signature(NearestCentroid)
    assert list(signature.parameters) == ["shrinkage", "prior", "depth", "p", "scaled"]
    kinds = [p.kind.name for p in signature.parameters.values()]
    assert kinds == ["POSITIONAL_OR_KEYWORD", *["KEYWORD_ONLY"] * 4]
    assert signature.parameters["p"].default == 2.0
    with pytest.raises(TypeError, match=r"NearestCentroid.__init__\(\) got an unexpected keyword argument 'q'"):
        NearestCentroid(q=1)
    with pytest.raises(TypeError, match="positional"):
        NearestCentroid(0.1, "counts")


def test_a_constructor_is_not_written_by_hand():
    with pytest.raises(TypeError, match="Doubled: __init__ is made from the declared parameters"):

        class Doubled(Estimator):
            def __init__(self, alpha=1.0):
                self.alpha = alpha


def test_a_declared_name_does_not_exist_before_it_is_set():
    assert not hasattr(NearestCentroid, "shrinkage")
    assert not hasattr(NearestCentroid(), "centroids_")
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(NearestCentroid())


def test_scikit_learns_tools_see_the_parameters():
    model = NearestCentroid(0.25, p=3.0)
    assert model.get_params() == {"shrinkage": 0.25, "prior": "uniform", "depth": None, "p": 3.0, "scaled": False}
    assert repr(model) == "NearestCentroid(p=3.0, shrinkage=0.25)"
    assert clone(model).set_params(p=1.5).p == 1.5
    X, y = load_iris(return_X_y=True)
    grid = GridSearchCV(model, {"prior": np.array(["uniform", "counts"]), "p": np.array([1.0, 2.0])}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.8
    search = RandomizedSearchCV(model, search_space(NearestCentroid), n_iter=4, cv=2, random_state=0).fit(X, y)
    assert set(search.best_params_) == {"shrinkage", "prior", "p"}


def test_a_subclass_redeclares_a_parameter():
    assert Renamed().p == 1.0
    assert list(parameters_of(Renamed)) == ["shrinkage", "p", "prior", "depth", "scaled"]
    assert parameters_of(NearestCentroid)["p"].default == 2.0


def test_a_new_default_keeps_the_rest_of_the_declaration():
    class City(Metric):
        """Distances along the streets."""

        p: float = default(1.0)
        scaled: bool = default(True, "Whether blocks are of one size.")

    found = parameters_of(City)
    assert (City().p, City().scaled) == (1.0, True)
    assert found["p"].domain == parameters_of(Metric)["p"].domain
    assert found["p"].sentence == "Exponent of the distance."
    assert found["scaled"].sentence == "Whether blocks are of one size."
    with pytest.raises(TypeError, match="Lost: q has a new default, but no base declares q"):

        class Lost(Metric):
            """No base has q."""

            q: float = default(1.0)


def test_help_shows_everything():
    text = pydoc.plain(pydoc.render_doc(NearestCentroid))
    for part in (
        "It assumes round classes.",
        "shrinkage : float, at least 0 and at most 1, default=0.0",
        "Fraction of the way to the common mean.",
        "prior : {'uniform', 'counts'}, default='uniform'",
        "depth : int, at least 1 or None, default=None",
        "scaled : bool, default=False",
        "centroids_ : np.ndarray",
        "spread_ : float",
        "n_features_in_ : int",
        ">>> NearestCentroid(0.5).shrinkage",
    ):
        assert part in text, part
    order = [text.index(f"{title}\n |  {'-' * len(title)}") for title in ("Parameters", "Attributes", "Examples")]
    assert order == sorted(order)


def test_the_table_and_the_settings_follow():
    table = {row["name"]: row for row in parameter_table(NearestCentroid)}
    assert table["shrinkage"]["schema"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert table["shrinkage"]["sentence"] == "Fraction of the way to the common mean."
    assert parse_settings(NearestCentroid, ["p=3", "depth=none"]) == {"p": 3.0, "depth": None}
    with pytest.raises(ValueError, match="has no parameter 'q'; it has depth, p, prior, scaled, shrinkage"):
        parse_settings(NearestCentroid, ["q=1"])
    with pytest.raises(InvalidParameter, match=r"NearestCentroid: p must be a number at least 1; got 0\.5"):
        NearestCentroid(p=0.5).fit([[0.0], [1.0]], [0, 1])


def test_properties_are_learned_attributes():
    assert attributes_of(NearestCentroid)["spread_"].sentence == "Largest distance between two means."
    assert list(attributes_of(NearestCentroid)) == [
        "classes_",
        "centroids_",
        "spread_",
        "n_features_in_",
        "feature_names_in_",
    ]


def test_an_integer_beyond_64_bits_is_refused_in_words():
    from margin.linear import Ridge
    from margin.text import Word2Vec

    for model, name in ((Ridge(alpha=2**70), "alpha"), (Word2Vec(vector_size=2**70), "vector_size")):
        with pytest.raises(ValueError, match=rf"{name} must be below 2\^63 in size; got 1180591620717411303424"):
            model.fit([[1.0], [2.0]], [1.0, 2.0])
