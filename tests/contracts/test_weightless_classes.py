"""Rows of weight zero in all classes but one: the one class is predicted, or a sentence says why it cannot be."""

import numpy as np
import pytest
from problems import build, ids, problem
from sklearn.utils.validation import has_fit_parameter

from margin import catalog

CLASSIFIERS = [
    entry
    for entry in catalog.ENTRIES
    if entry.task == "classification" and entry.data == "table" and has_fit_parameter(build(entry), "sample_weight")
]
# Without a second class their problem has no solution: an intercept that may grow for ever, or no boundary
# between classes.
REFUSE = {
    "gradient-boosting-classifier",
    "hard-margin-svc",
    "linear-discriminant-analysis",
    "linear-svc",
    "logistic-regression",
    "quadratic-discriminant-analysis",
    "svc",
}


@pytest.mark.parametrize("entry", CLASSIFIERS, ids=ids)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_class_with_weight_is_predicted_or_refused(entry, n_classes):
    X, y = problem(entry)
    X, y = X[y < n_classes], y[y < n_classes]
    for only in range(n_classes):
        weight = (y == only).astype(float)
        if entry.name in REFUSE:
            with pytest.raises(ValueError, match=r"y must (have|hold) at least two classes.*; got (one|1) class"):
                build(entry).fit(X, y, sample_weight=weight)
            continue
        model = build(entry).fit(X, y, sample_weight=weight)
        assert set(model.predict(X).tolist()) == {only}
        assert only in model.classes_
        if hasattr(model, "predict_proba"):
            probability = model.predict_proba(X)
            assert probability.shape == (len(X), len(model.classes_))
            np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-6)
            assert (model.classes_[probability.argmax(axis=1)] == only).all()
