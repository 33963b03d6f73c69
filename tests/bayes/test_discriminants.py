"""Discriminant analyses: against scikit-learn and by definition."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import multivariate_normal
from sklearn import discriminant_analysis as theirs
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs

from margin.bayes import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from margin.bayes.factors import centered_factor, ledoit_wolf_shrinkage, shrunk_covariance
from margin.bayes.linear_discriminant import directions_by_eigenvalues
from margin.bayes.quadratic_discriminant import normal_log_density

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
EIGEN = [{"solver": "eigen", "shrinkage": shrinkage} for shrinkage in (None, "auto", 0.3)]


@pytest.mark.parametrize(
    "options",
    [{}, *EIGEN],
    ids=str,
)
@pytest.mark.parametrize("name", SETS)
def test_linear_parity_with_scikit_learn(name, options):
    if name == "digits" and options == EIGEN[0]:
        pytest.skip("some pixels of the digits are constant: this solver refuses them, as it should")
    X, y = SETS[name](return_X_y=True)
    ours = LinearDiscriminantAnalysis(**options).fit(X, y)
    their = theirs.LinearDiscriminantAnalysis(**options).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), their.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-7)
    if options.get("shrinkage"):
        return  # their between-class scatter is a shrunk total less a shrunk within, ours that of the class means

    a, b = ours.transform(X), their.transform(X)
    b = b - b.mean(axis=0)  # their solver "eigen" does not center
    assert a.shape == b.shape
    np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-6 * np.abs(b).max())
    kept = len(their.explained_variance_ratio_)
    np.testing.assert_allclose(ours.explained_variance_ratio_[:kept], their.explained_variance_ratio_, atol=1e-9)


@pytest.mark.parametrize("Model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_priors_that_do_not_sum_to_one_are_scaled_with_a_warning(Model):
    X, y = make_blobs(60, n_features=2, centers=2, random_state=0)
    with pytest.warns(UserWarning, match=r"priors sum to 0\.5; they are divided by it"):
        model = Model(priors=[0.2, 0.3]).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.4, 0.6])
    with pytest.raises(ValueError, match="non-negative with sum 1; got sum 0"):
        Model(priors=[0.0, 0.0]).fit(X, y)


class MeanOfSquares:
    """Not an estimator: it has nothing but fit."""

    def fit(self, X):
        self.covariance_ = np.cov(X.T, ddof=0)


@pytest.mark.parametrize("Model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_any_object_that_learns_a_covariance_will_do(Model):
    X, y = make_blobs(60, n_features=2, centers=2, random_state=0)
    estimator = MeanOfSquares()
    model = Model(solver="eigen", covariance_estimator=estimator).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), Model(solver="eigen").fit(X, y).predict_proba(X), atol=1e-10)
    assert not hasattr(estimator, "covariance_")  # a copy learned
    with pytest.raises(NotImplementedError, match="needs solver 'eigen'"):
        Model(solver="svd", shrinkage=0.5).fit(X, y)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_linear_decision_values_and_priors_equal_scikit_learn(solver):
    X, y = load_iris(return_X_y=True)
    for rows in (slice(None), y < 2):
        options = {"solver": solver, "priors": [0.2, 0.8] if isinstance(rows, np.ndarray) else [0.1, 0.2, 0.7]}
        ours = LinearDiscriminantAnalysis(**options).fit(X[rows], y[rows])
        their = theirs.LinearDiscriminantAnalysis(**options).fit(X[rows], y[rows])
        assert ours.coef_.shape == their.coef_.shape
        np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-8)
        if ours.coef_.shape[0] == 1:
            np.testing.assert_allclose(ours.decision_function(X), their.decision_function(X), rtol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_directions_maximize_the_ratio_of_scatters(solver):
    X, y = load_wine(return_X_y=True)
    model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    means, priors = model.means_, model.priors_
    within = sum((X[y == c] - means[c]).T @ (X[y == c] - means[c]) for c in range(3)) / len(X)
    between = np.einsum("c,ci,cj->ij", priors, means - model.xbar_, means - model.xbar_)

    def ratio(v):
        return (v @ between @ v) / (v @ within @ v)

    best = ratio(model.scalings_[:, 0])
    rng = np.random.default_rng(0)
    assert best >= max(ratio(v) for v in rng.normal(size=(500, X.shape[1])))
    nearby = model.scalings_[:, 0] * (1 + 0.01 * rng.normal(size=(500, X.shape[1])))
    assert best >= max(ratio(v) for v in nearby)
    gram = model.scalings_.T @ within @ model.scalings_
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)


def test_both_solvers_span_one_subspace():
    X, y = load_wine(return_X_y=True)
    a, b = (LinearDiscriminantAnalysis(solver=s).fit(X, y).scalings_ for s in ("svd", "eigen"))
    assert subspace_angles(a, b).max() < 1e-7


def test_dependent_and_constant_columns_do_no_harm_to_the_factor():
    X, y = load_iris(return_X_y=True)
    more = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    plain, wide = LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(more, y)
    np.testing.assert_allclose(wide.predict_proba(more), plain.predict_proba(X), atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="covariance within classes is singular"):
        LinearDiscriminantAnalysis(solver="eigen").fit(more, y)
    shrunk = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(more[:, :5], y)
    assert shrunk.score(more[:, :5], y) > 0.95


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 50)), np.arange(30) % 3
    X[:, 0] += 8 * y
    test = rng.normal(size=(300, 50))
    truth = np.arange(300) % 3
    test[:, 0] += 8 * truth
    assert LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y).score(test, truth) > 0.9

    their, ours = (model().fit(X, y) for model in (theirs.LinearDiscriminantAnalysis, LinearDiscriminantAnalysis))
    np.testing.assert_allclose(ours.predict_proba(test), their.predict_proba(test), atol=1e-6)


def test_a_transformer_of_few_columns():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    assert model.transform(X).shape == (150, 1)
    assert model.get_feature_names_out().tolist() == ["lineardiscriminantanalysis0"]
    np.testing.assert_array_equal(model.predict(X), LinearDiscriminantAnalysis().fit(X, y).predict(X))


@pytest.mark.parametrize("reg_param", [0.0, 0.2])
@pytest.mark.parametrize("name", ["iris", "wine", "breast cancer"])
def test_quadratic_parity_with_scikit_learn(name, reg_param):
    X, y = SETS[name](return_X_y=True)
    ours = QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y)
    their = theirs.QuadraticDiscriminantAnalysis(reg_param=reg_param, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), their.predict(X))


def test_quadratic_is_the_density_of_the_classes():
    X, y = load_iris(return_X_y=True)
    model = QuadraticDiscriminantAnalysis(priors=[0.5, 0.25, 0.25]).fit(X, y)
    for c in range(3):
        rows = X[y == c]
        np.testing.assert_allclose(model.covariance_[c], np.cov(rows.T, ddof=0), rtol=1e-10)
        expected = np.log(model.priors_[c]) + multivariate_normal(rows.mean(axis=0), np.cov(rows.T, ddof=0)).logpdf(X)
        np.testing.assert_allclose(model.predict_joint_log_proba(X)[:, c], expected, rtol=1e-9)
    binary = QuadraticDiscriminantAnalysis().fit(X[:100], y[:100])
    log = binary.predict_log_proba(X[:100])
    np.testing.assert_allclose(binary.decision_function(X[:100]), log[:, 1] - log[:, 0], rtol=1e-6)


def test_factor_in_blocks_is_that_of_all_rows(monkeypatch):
    monkeypatch.setattr("margin.bayes.factors.BLOCK_ROWS", 1)
    rng = np.random.default_rng(0)
    X, codes, means = rng.normal(size=(200, 5)), rng.integers(3, size=200), rng.normal(size=(3, 5))
    R = centered_factor(X, codes, means)
    gaps = X - means[codes]
    np.testing.assert_allclose(R.T @ R, gaps.T @ gaps, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(R)[1], np.linalg.svd(gaps)[1], rtol=1e-12)
    assert centered_factor(X[:3], codes[:3], means).shape == (3, 5)


def test_shrinkage_equals_scikit_learn():
    for n, d in ((40, 5), (10, 30), (500, 3)):
        X = np.random.default_rng(n).normal(size=(n, d)) * np.arange(1, d + 1)
        X -= X.mean(axis=0)
        assert ledoit_wolf_shrinkage(X) == pytest.approx(ledoit_wolf(X, assume_centered=True)[1], rel=1e-10)
    np.testing.assert_allclose(shrunk_covariance(X, None), np.cov(X.T, ddof=0), rtol=1e-12)
    S = np.cov(X.T, ddof=0)
    np.testing.assert_allclose(shrunk_covariance(X, 1.0), np.trace(S) / 3 * np.eye(3), rtol=1e-12)
    assert ledoit_wolf_shrinkage(np.zeros((4, 2))) == 0.0


WEIGHTED = [
    LinearDiscriminantAnalysis(),
    *(LinearDiscriminantAnalysis(**options) for options in EIGEN),
    LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.2),
]


@pytest.mark.parametrize("model", WEIGHTED, ids=str)
def test_a_weight_counts_rows(model):
    X, y = load_wine(return_X_y=True)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    weighted = clone(model).fit(X, y, w)
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-12)
    np.testing.assert_allclose(weighted.priors_, repeated.priors_, rtol=1e-12)
    np.testing.assert_allclose(
        weighted.predict_joint_log_proba(X), repeated.predict_joint_log_proba(X), rtol=1e-6, atol=1e-8
    )
    ones = clone(model).fit(X, y, np.ones(len(y)))
    np.testing.assert_allclose(ones.predict_log_proba(X), clone(model).fit(X, y).predict_log_proba(X), atol=1e-7)
    assert np.abs(ones.predict_log_proba(X) - weighted.predict_log_proba(X)).max() > 1e-3, "weights act"


def test_only_shares_of_weight_matter_without_automatic_shrinkage():
    X, y = load_wine(return_X_y=True)
    w = np.random.default_rng(1).random(len(y))
    for model in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(reg_param=0.1)):
        one, two = (clone(model).fit(X, y, scale * w).predict_log_proba(X) for scale in (1.0, 7.5))
        np.testing.assert_allclose(one, two, atol=1e-8)
    with pytest.raises(ValueError, match=r"(?i)negative"):
        LinearDiscriminantAnalysis().fit(X, y, -w)
    with pytest.raises(ValueError, match="at least two classes; got 1 class, 0"):
        QuadraticDiscriminantAnalysis().fit(X, y, (y == 0) * w)


def test_log_density_and_directions_by_definition():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    values, vectors = np.linalg.eigh(A @ A.T)
    X, mean = rng.normal(size=(6, 3)), rng.normal(size=3)
    expected = multivariate_normal(mean, A @ A.T).logpdf(X)
    np.testing.assert_allclose(normal_log_density(X, mean, vectors, values), expected, rtol=1e-9)
    spread = rng.normal(size=(4, 3))
    found = directions_by_eigenvalues(A @ A.T, spread)
    for v, ratio in zip(found.scalings.T, found.ratios):
        np.testing.assert_allclose(spread.T @ spread @ v, ratio * (A @ A.T) @ v, rtol=1e-8, atol=1e-10)


X6 = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 5.0], [3.0, 0.0], [4.0, 1.0], [3.0, 5.0]])
Y6 = ["a", "a", "a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: LinearDiscriminantAnalysis().fit(X6, ["a"] * 6), "at least two classes; got 1 class, a"),
        (lambda: LinearDiscriminantAnalysis().fit(X6[:2], [0, 1]), "more rows than classes; got 2 rows of 2 classes"),
        (lambda: LinearDiscriminantAnalysis(n_components=2).fit(X6, Y6), r"n_components must be at most .* = 1; got 2"),
        (
            lambda: LinearDiscriminantAnalysis(shrinkage="auto").fit(X6, Y6),
            "shrinkage needs solver 'eigen'",
        ),
        (lambda: LinearDiscriminantAnalysis(priors=[1.0]).fit(X6, Y6), "one number for each of the 2 classes"),
        (
            lambda: QuadraticDiscriminantAnalysis().fit(X6 * [1, 0], Y6),
            "class a is singular, rank 1 of 2 columns with 3 rows",
        ),
        (lambda: QuadraticDiscriminantAnalysis().fit(X6[:4], Y6[:4]), "class b has 1 sample"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_singular_class_can_be_regularized():
    model = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X6 * [1, 0], Y6)
    assert model.score(X6 * [1, 0], Y6) == 1.0


@pytest.mark.parametrize("name", ["iris", "wine"])
@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.2}, {"shrinkage": "auto"}])
def test_the_rule_by_least_squares_equals_scikit_learn(name, options):
    X, y = SETS[name](return_X_y=True)
    ours = LinearDiscriminantAnalysis(solver="lsqr", **options).fit(X, y)
    their = theirs.LinearDiscriminantAnalysis(solver="lsqr", **options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(ours.covariance_, their.covariance_, atol=1e-9)
    with pytest.raises(NotImplementedError, match="solver 'lsqr' finds no directions"):
        ours.transform(X)


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
def test_the_covariance_is_kept_when_asked_for(solver):
    X, y = load_iris(return_X_y=True)
    ours, their = (
        cls(solver=solver, store_covariance=True).fit(X, y)
        for cls in (LinearDiscriminantAnalysis, theirs.LinearDiscriminantAnalysis)
    )
    np.testing.assert_allclose(ours.covariance_, their.covariance_, atol=1e-10)
    assert not hasattr(LinearDiscriminantAnalysis().fit(X, y), "covariance_")


def test_another_estimator_may_learn_the_covariances():
    from sklearn.covariance import LedoitWolf

    X, y = load_wine(return_X_y=True)
    for ours, their in (
        (LinearDiscriminantAnalysis, theirs.LinearDiscriminantAnalysis),
        (QuadraticDiscriminantAnalysis, theirs.QuadraticDiscriminantAnalysis),
    ):
        options = {"solver": "eigen", "covariance_estimator": LedoitWolf()}
        np.testing.assert_allclose(
            ours(**options).fit(X, y).predict_proba(X), their(**options).fit(X, y).predict_proba(X), atol=1e-7
        )
        with pytest.raises(ValueError, match="covariance_estimator needs solver"):
            ours(covariance_estimator=LedoitWolf()).fit(X, y)
        with pytest.raises(ValueError, match="not both"):
            ours(**options, shrinkage=0.1).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.2}, {"shrinkage": "auto"}, {"reg_param": 0.1}])
def test_quadratic_by_eigenvalues(options):
    X, y = load_wine(return_X_y=True)
    ours = QuadraticDiscriminantAnalysis(solver="eigen", **options).fit(X, y)
    if "shrinkage" not in options:
        by_svd = QuadraticDiscriminantAnalysis(**options).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), by_svd.predict_proba(X), atol=1e-7)
        np.testing.assert_allclose(ours.covariance_, by_svd.covariance_, rtol=1e-6, atol=1e-8)
        return
    their = theirs.QuadraticDiscriminantAnalysis(solver="eigen", **options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"shrinkage": "auto"}])
def test_solving_for_the_rule_does_not_hang_on_units(options):
    """Columns of deviation 1e4 and 1e-4 in one table: the small one used to be cut off as if it were rounding."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    Z += np.eye(3)[y]
    X = Z * [1e5, 1.0, 1e-5]
    ours, usual = (LinearDiscriminantAnalysis(solver="lsqr", **options).fit(rows, y) for rows in (X, Z))
    np.testing.assert_allclose(ours.predict_proba(X), usual.predict_proba(Z), atol=1e-9)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_a_singular_covariance_is_an_error_of_linear_algebra(solver):
    """The kind that scikit-learn's users catch, and a ValueError as everywhere."""
    X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]] * 2), [0, 0, 0, 1, 1, 1]
    with pytest.raises(np.linalg.LinAlgError, match="class 0 is singular, rank 1 of 2 columns"):
        QuadraticDiscriminantAnalysis(solver=solver).fit(X, y)
    assert issubclass(np.linalg.LinAlgError, ValueError)


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_a_tolerance_of_zero_takes_no_axis_for_constant(name):
    ours = {"LinearDiscriminantAnalysis": LinearDiscriminantAnalysis}.get(name, QuadraticDiscriminantAnalysis)
    X, y = load_wine(return_X_y=True)
    expected = getattr(theirs, name)(tol=0.0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours(tol=0.0).fit(X, y).predict_proba(X), expected, atol=1e-8)
