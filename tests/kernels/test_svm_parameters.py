"""Parameters and attributes of SVC, SVR and KernelRidge act as scikit-learn's do."""

import tracemalloc

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_classification
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.preprocessing import scale

from margin.kernels import RBF, SVC, SVR, KernelRegression, KernelRidge, dual
from margin.kernels.class_blocks import ClassBlocks
from margin.kernels.kernel_columns import columns_of
from margin.kernels.one_vs_one import votes


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def test_class_blocks_are_parts_of_the_matrix():
    X = np.random.default_rng(0).normal(size=(30, 3))
    blocks, K = ClassBlocks(columns_of(RBF(1.3), X), [7, 11, 12]), RBF(1.3)(X)
    for pair, rows in (((0, 1), np.r_[0:7, 7:18]), ((0, 2), np.r_[0:7, 18:30]), ((1, 2), np.r_[7:18, 18:30])):
        np.testing.assert_allclose(blocks.pair(*pair), K[np.ix_(rows, rows)], atol=1e-14)


def test_ties_go_to_the_first_class_or_are_broken_as_there():
    X, y = make_classification(
        400, 2, n_redundant=0, n_clusters_per_class=1, n_classes=4, class_sep=0.4, random_state=1
    )
    grid = np.random.default_rng(0).normal(size=(4000, 2)) * 3
    for break_ties in (False, True):
        ours, theirs = (cls(C=10.0, break_ties=break_ties).fit(X, y) for cls in (SVC, svm.SVC))
        assert np.mean(ours.predict(grid) == theirs.predict(grid)) > 0.995
    ours = SVC(C=10.0).fit(X, y)
    decisions = SVC(C=10.0, decision_function_shape="ovo").fit(X, y).decision_function(grid)
    count = votes(decisions, 4)
    tied = (count == count.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.any()
    np.testing.assert_array_equal(ours.predict(grid[tied]), count[tied].argmax(axis=1))
    with pytest.raises(ValueError, match="break_ties=True needs decision_function_shape='ovr'"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


@pytest.mark.parametrize("model", [SVC, SVR])
def test_no_limit_ends_at_rounding(model, monkeypatch):
    X, y = make_classification(120, 4, flip_y=0.2, random_state=0)
    with pytest.warns(UserWarning, match="the limit of rounding"):
        end = model(C=1e4, tol=1e-300).fit(X, y)
    assert end.fit_status_ == 1
    assert model(C=1e4).fit(X, y).fit_status_ == 0
    monkeypatch.setattr(dual, "STEPS_PER_VARIABLE", 1)
    with pytest.warns(UserWarning, match="max_iter=1 working sets"):
        few = model(C=1e4, max_iter=1).fit(X, y)
    assert few.fit_status_ == 1
    assert few.shape_fit_ == (120, 4)


def test_attributes_of_the_linear_kernel():
    X, y = wine()
    ours, theirs = (cls(kernel="linear", C=0.1, tol=1e-8).fit(X, y) for cls in (SVC, svm.SVC))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert not hasattr(SVC().fit(X, y), "coef_")
    rows, numbers = load_diabetes(return_X_y=True)
    ours, theirs = (cls(kernel="linear", C=10.0, tol=1e-8).fit(rows, numbers) for cls in (SVR, svm.SVR))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)


def test_functions_are_kernels():
    X, y = load_iris(return_X_y=True)

    def cubic(A, B):
        return (A @ B.T + 1.0) ** 3

    ours, theirs = (cls(kernel=cubic).fit(X, y) for cls in (SVC, svm.SVC))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))

    def likeness(a, b, width):
        return float(np.exp(-np.abs(a - b).sum() / width))

    settings = {"kernel": likeness, "kernel_params": {"width": 3.0}, "alpha": 0.1}
    ours, theirs = (cls(**settings).fit(X[:40], X[:40, 0]) for cls in (KernelRidge, PeerRidge))
    np.testing.assert_allclose(ours.predict(X[40:60]), theirs.predict(X[40:60]), rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"kernel": "rbf"}, {"kernel": "poly", "degree": 2}], ids=str)
def test_kernel_ridge_defaults_are_the_peers(settings):
    X, y = load_diabetes(return_X_y=True)
    ours, theirs = (cls(**settings).fit(X[:200], y[:200]) for cls in (KernelRidge, PeerRidge))
    np.testing.assert_allclose(ours.predict(X[200:]), theirs.predict(X[200:]), rtol=1e-7)


def test_verbose_prints_records(capsys):
    SVC(verbose=True).fit(*wine())
    assert "SVC: iteration 1" in capsys.readouterr().out


@pytest.mark.parametrize("model", [SVC(), SVR()], ids=str)
def test_columns_whose_squares_overflow_or_vanish_are_named_as_the_reason(model):
    X, y, name = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1], type(model).__name__
    with pytest.raises(
        ValueError, match=rf"^{name}: X must hold numbers whose squares .*; got 4e\+300; scale it first\.$"
    ):
        model.fit(1e300 * X, y)
    with pytest.raises(ValueError, match=rf"^{name}: gamma='scale' is one over the variance .* at least 1e-300; got "):
        model.fit(1e-160 * X, y)


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_rows_many_length_scales_apart_are_like_themselves_only(kernel):
    """Products of such rows round by more than what an exponential tells from infinity."""
    X = np.random.default_rng(0).normal(size=(20, 3)) * 1e100
    y = np.arange(20) % 2
    np.testing.assert_array_equal(SVC(kernel=kernel, gamma=1.0).fit(X, y).predict(X), y)
    np.testing.assert_array_equal(KernelRegression(kernel=kernel, gamma=1.0).fit(X, y).predict(X), y)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_many_classes_are_judged_as_scikit_learn_judges_them_a_few_rows_at_a_time(shape, kernel, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(150) % 30
    X = rng.normal(size=(30, 4))[y] * 2 + rng.normal(size=(150, 4))
    X = X @ X.T if kernel == "precomputed" else X
    settings = {"kernel": kernel, "tol": 1e-8, "decision_function_shape": shape}
    ours, theirs = SVC(**settings).fit(X, y), svm.SVC(**settings).fit(X, y)
    at_once = ours.decision_function(X), ours.predict(X)
    # libsvm holds kernel values, here up to 50, in float32.
    np.testing.assert_allclose(at_once[0], theirs.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(at_once[1], theirs.predict(X))
    monkeypatch.setattr("margin.kernels.dual_classifier.DECISIONS_AT_A_TIME", 10_000)  # 22 rows of 435 pairs
    np.testing.assert_allclose(ours.decision_function(X), at_once[0], atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), at_once[1])


def test_memory_of_a_prediction_does_not_grow_with_pairs_times_support_vectors():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 150
    model = SVC().fit(rng.normal(size=(600, 3)), y)
    table = 150 * 149 // 2 * len(model.support_) * 8  # all coefficients of all pairs, zeros included: 53 MB
    tracemalloc.start()
    model.predict(rng.normal(size=(20, 3)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table / 4


def test_kernel_values_that_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 3)) * 1e120
    for model in (KernelRidge(kernel="poly", gamma=1.0), SVC(kernel="poly"), SVR(kernel="poly", gamma=1.0)):
        refusal = rf"^{type(model).__name__}: kernel values .* scale X first, or take a smaller degree or coef0\.$"
        with pytest.raises(ValueError, match=refusal):
            model.set_params(gamma=1.0).fit(X, X[:, 0] > 0)
        model.fit(X / 1e120, X[:, 0] > 0)
        with pytest.raises(ValueError, match=refusal):
            model.predict(X)
