"""The table of contents: every estimator once, and the closed list of classes that a model file may hold.

Nothing heavy is imported here. An entry's class is imported when it is asked for.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

__all__ = ["ENTRIES", "PARTS", "Entry", "class_of", "create", "entry", "name_of", "registry"]


@dataclass(frozen=True)
class Entry:
    """One public estimator.

    ``test_params`` make it cheap enough for the contract tests. ``skipped_checks`` name scikit-learn checks that
    it cannot pass, each with the reason. ``max_rows`` is where its cost (quadratic or cubic in the rows) makes a
    comparison leave it out, with a remark. ``takes`` says what columns must look like before they reach it from a
    table: "standard" numbers, non-negative "counts" or "categories". ``standard_target``: its defaults
    suit a target of deviation 1, so a comparison gives it one. ``compared`` is False for what would only repeat another
    model on a table whose rows all have a label.
    """

    name: str
    path: str
    family: str
    task: str
    rows: tuple[str, ...] = ()
    test_params: Mapping[str, Any] = field(default_factory=dict)
    skipped_checks: Mapping[str, str] = field(default_factory=dict)
    max_rows: int | None = None
    takes: str = "standard"
    standard_target: bool = False
    compared: bool = True

    @property
    def class_name(self) -> str:
        return self.path.rpartition(".")[2]


# Why a bootstrap cannot treat a row of weight two and two equal rows alike.
BOOTSTRAP = "a bootstrap draws rows, so a row of weight two and two equal rows are drawn with different luck"

ENTRIES: tuple[Entry, ...] = (
    # --- linear
    Entry(
        "linear-regression",
        "margin.linear.LinearRegression",
        family="linear",
        task="regression",
        rows=("linear-regression", "least-squares-method", "example-cholesterol-regression"),
    ),
    Entry(
        "ridge",
        "margin.linear.Ridge",
        family="linear",
        task="regression",
        rows=("l2-ridge", "weight-decay"),
    ),
    Entry(
        "logistic-regression",
        "margin.linear.LogisticRegression",
        family="linear",
        task="classification",
        rows=("logistic-regression", "log-odds"),
    ),
    Entry(
        "lasso",
        "margin.linear.Lasso",
        family="linear",
        task="regression",
        rows=("l1-lasso",),
    ),
    Entry(
        "elastic-net",
        "margin.linear.ElasticNet",
        family="linear",
        task="regression",
        rows=("regularised-loss",),
    ),
    Entry(
        "basis-regression",
        "margin.linear.BasisRegression",
        family="linear",
        task="regression",
        rows=("linear-in-parameters",),
    ),
    Entry(
        "polynomial-regression",
        "margin.linear.PolynomialRegression",
        family="linear",
        task="regression",
        rows=("polynomial-regression",),
    ),
    Entry(
        "spline-regression",
        "margin.linear.SplineRegression",
        family="linear",
        task="regression",
        rows=("cubic-spline-smoother",),
        test_params={"n_knots": 20},
    ),
    Entry(
        "heteroscedastic-regression",
        "margin.linear.HeteroscedasticRegression",
        family="linear",
        task="regression",
        rows=("heteroscedastic-regression", "homoscedastic-regression"),
    ),
    # --- kernels
    Entry(
        "svc",
        "margin.kernels.SVC",
        family="kernels",
        task="classification",
        rows=("support-vector-machine", "svm-soft-margin", "svm-kernel", "svm-dual"),
        test_params={"tol": 1e-10},
        max_rows=50_000,
    ),
    Entry(
        "hard-margin-svc",
        "margin.kernels.HardMarginSVC",
        family="kernels",
        task="classification",
        rows=("svm-hard-margin", "support-vectors"),
        # Separable whatever the labels of the checks, as long as rows differ.
        test_params={"kernel": "rbf", "gamma": 5.0, "tol": 1e-10},
        max_rows=20_000,
    ),
    Entry(
        "linear-svc",
        "margin.kernels.LinearSVC",
        family="kernels",
        task="classification",
        rows=("svm-soft-margin",),
        test_params={"tol": 1e-12},
    ),
    Entry(
        "kernel-ridge",
        "margin.kernels.KernelRidge",
        family="kernels",
        task="regression",
        rows=("kernel-trick", "kernel-methods"),
        max_rows=10_000,
        standard_target=True,
    ),
    Entry(
        "kernel-regression",
        "margin.kernels.KernelRegression",
        family="kernels",
        task="regression",
        rows=("kernel-methods",),
        test_params={"gamma": 20.0},
        max_rows=50_000,
    ),
    Entry(
        "svr",
        "margin.kernels.SVR",
        family="kernels",
        task="regression",
        rows=("support-vector-machine",),
        test_params={"tol": 1e-10},
        max_rows=50_000,
        standard_target=True,
    ),
    Entry(
        "gaussian-process-regressor",
        "margin.kernels.GaussianProcessRegressor",
        family="kernels",
        task="regression",
        rows=("gaussian-process-regression",),
        test_params={"max_iter": 20},
        max_rows=5000,
        standard_target=True,
    ),
    Entry(
        "gaussian-process-classifier",
        "margin.kernels.GaussianProcessClassifier",
        family="kernels",
        task="classification",
        test_params={"max_iter": 20},
        max_rows=3000,
    ),
    Entry(
        "sparse-gaussian-process-regressor",
        "margin.kernels.SparseGaussianProcessRegressor",
        family="kernels",
        task="regression",
        test_params={"max_iter": 20, "n_inducing": 30},
        max_rows=100_000,
        standard_target=True,
    ),
    # --- neighbors
    Entry(
        "k-neighbors-classifier",
        "margin.neighbors.KNeighborsClassifier",
        family="neighbors",
        task="classification",
        rows=("k-nearest-neighbours",),
    ),
    Entry(
        "k-neighbors-regressor",
        "margin.neighbors.KNeighborsRegressor",
        family="neighbors",
        task="regression",
        rows=("k-nearest-neighbours",),
    ),
    # --- bayes
    Entry(
        "gaussian-nb",
        "margin.bayes.GaussianNB",
        family="bayes",
        task="classification",
        rows=("naive-bayes",),
    ),
    Entry(
        "multinomial-nb",
        "margin.bayes.MultinomialNB",
        family="bayes",
        task="classification",
        rows=("naive-bayes",),
        takes="counts",
    ),
    Entry(
        "bernoulli-nb",
        "margin.bayes.BernoulliNB",
        family="bayes",
        task="classification",
        rows=("naive-bayes",),
    ),
    Entry(
        "categorical-nb",
        "margin.bayes.CategoricalNB",
        family="bayes",
        task="classification",
        rows=("naive-bayes",),
        takes="categories",
    ),
    Entry(
        "linear-discriminant-analysis",
        "margin.bayes.LinearDiscriminantAnalysis",
        family="bayes",
        task="classification",
        rows=("linear-discriminant-analysis",),
    ),
    Entry(
        "quadratic-discriminant-analysis",
        "margin.bayes.QuadraticDiscriminantAnalysis",
        family="bayes",
        task="classification",
        test_params={"reg_param": 0.1},
    ),
    # --- trees
    Entry(
        "decision-tree-classifier",
        "margin.trees.DecisionTreeClassifier",
        family="trees",
        task="classification",
        rows=("decision-tree", "tree-pruning"),
    ),
    Entry(
        "decision-tree-regressor",
        "margin.trees.DecisionTreeRegressor",
        family="trees",
        task="regression",
        rows=("decision-tree", "tree-pruning"),
    ),
    Entry(
        "bagging-classifier",
        "margin.trees.BaggingClassifier",
        family="trees",
        task="classification",
        rows=("bagging",),
        test_params={"n_estimators": 5, "oob_score": True},
        skipped_checks={"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    ),
    Entry(
        "bagging-regressor",
        "margin.trees.BaggingRegressor",
        family="trees",
        task="regression",
        rows=("bagging",),
        test_params={"n_estimators": 5, "oob_score": True},
        skipped_checks={"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    ),
    Entry(
        "random-forest-classifier",
        "margin.trees.RandomForestClassifier",
        family="trees",
        task="classification",
        rows=("random-forest", "random-forest-feature-count-rule"),
        test_params={"n_estimators": 5, "oob_score": True},
        skipped_checks={"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    ),
    Entry(
        "random-forest-regressor",
        "margin.trees.RandomForestRegressor",
        family="trees",
        task="regression",
        rows=("random-forest", "random-forest-feature-count-rule"),
        test_params={"n_estimators": 5, "oob_score": True},
        skipped_checks={"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    ),
    Entry(
        "extra-trees-classifier",
        "margin.trees.ExtraTreesClassifier",
        family="trees",
        task="classification",
        rows=("random-forest",),
        test_params={"n_estimators": 5},
    ),
    Entry(
        "extra-trees-regressor",
        "margin.trees.ExtraTreesRegressor",
        family="trees",
        task="regression",
        rows=("random-forest",),
        test_params={"n_estimators": 5, "min_samples_leaf": 1},
    ),
    Entry(
        "id3",
        "margin.trees.ID3",
        family="trees",
        task="classification",
        rows=("id3", "information-gain"),
        takes="categories",
    ),
    Entry(
        "c45",
        "margin.trees.C45",
        family="trees",
        task="classification",
        rows=(
            "c45",
            "gain-ratio",
            "c45-base-cases",
            "c45-continuous-threshold",
            "c45-missing-values",
            "c45-attribute-costs",
        ),
    ),
    Entry(
        "adaboost-classifier",
        "margin.trees.AdaBoostClassifier",
        family="trees",
        task="classification",
        test_params={"n_estimators": 5},
    ),
    Entry(
        "adaboost-regressor",
        "margin.trees.AdaBoostRegressor",
        family="trees",
        task="regression",
        test_params={"n_estimators": 5},
    ),
    Entry(
        "gradient-boosting-classifier",
        "margin.trees.GradientBoostingClassifier",
        family="trees",
        task="classification",
        rows=("gradient-boosting", "gradient-boosted-trees"),
        test_params={"n_estimators": 10, "min_samples_leaf": 1},
    ),
    Entry(
        "gradient-boosting-regressor",
        "margin.trees.GradientBoostingRegressor",
        family="trees",
        task="regression",
        rows=("gradient-boosting", "gradient-boosted-trees", "pseudo-residuals", "boosting-leaf-average"),
        test_params={"n_estimators": 10, "min_samples_leaf": 1},
    ),
    # --- cluster
    Entry(
        "kmeans",
        "margin.cluster.KMeans",
        family="cluster",
        task="clustering",
        rows=("k-means", "lloyd-algorithm", "lloyd-stopping-rule"),
        test_params={"n_clusters": 3, "n_init": 2, "max_iter": 20},
    ),
    # --- mixture
    Entry(
        "gaussian-mixture",
        "margin.mixture.GaussianMixture",
        family="mixture",
        task="density",
        rows=("em-algorithm", "em-q-function", "claim-em-monotone"),
        test_params={"n_components": 2, "max_iter": 20},
    ),
    # --- reduction
    Entry(
        "pca",
        "margin.reduction.PCA",
        family="reduction",
        task="transformation",
        rows=("principal-component-analysis", "pca-by-svd"),
        test_params={"n_components": 1},
    ),
    Entry(
        "fast-ica",
        "margin.reduction.FastICA",
        family="reduction",
        task="transformation",
        rows=("ica",),
        test_params={"max_iter": 50},
    ),
    Entry(
        "correspondence-analysis",
        "margin.reduction.CorrespondenceAnalysis",
        family="reduction",
        task="transformation",
        rows=("correspondence-analysis",),
        test_params={"n_components": 1},
        takes="counts",
    ),
    Entry(
        "mds",
        "margin.reduction.MDS",
        family="reduction",
        task="transformation",
        rows=("multidimensional-scaling",),
        test_params={"max_iter": 20},
        max_rows=5000,
    ),
    Entry(
        "isomap",
        "margin.reduction.Isomap",
        family="reduction",
        task="transformation",
        rows=("isomap", "isomap-neighbourhood-graphs", "shortest-path-distances"),
        test_params={"n_components": 1, "n_neighbors": 5},
        max_rows=10_000,
    ),
    Entry(
        "t-sne",
        "margin.reduction.TSNE",
        family="reduction",
        task="transformation",
        rows=("t-sne", "t-sne-conditional-affinities", "t-sne-joint-affinities", "t-sne-student-similarities"),
        test_params={"perplexity": 2.0, "max_iter": 60},
        max_rows=10_000,
    ),
    Entry(
        "umap",
        "margin.reduction.UMAP",
        family="reduction",
        task="transformation",
        rows=("umap", "claim-umap-preserves-connected-components"),
        test_params={"n_neighbors": 3, "n_epochs": 30},
    ),
    # --- neural
    Entry(
        "mlp-classifier",
        "margin.neural.estimators.MLPClassifier",
        family="neural",
        task="classification",
        rows=("mlp", "probability-simplex-classification"),
        test_params={"hidden": (16,), "epochs": 5, "learning_rate": 0.02},
    ),
    Entry(
        "mlp-regressor",
        "margin.neural.estimators.MLPRegressor",
        family="neural",
        task="regression",
        rows=("mlp", "iteration"),
        test_params={"hidden": (16,), "epochs": 5, "learning_rate": 0.02},
    ),
    # --- semi
    Entry(
        "self-training",
        "margin.semi.SelfTraining",
        family="semi",
        task="classification",
        rows=("self-training", "semi-supervised-learning"),
        compared=False,
    ),
    Entry(
        "pseudo-label",
        "margin.semi.PseudoLabel",
        family="semi",
        task="classification",
        rows=("pseudo-labelling", "semi-supervised-learning"),
        compared=False,
    ),
    # --- generative
    Entry(
        "vae",
        "margin.generative.VAE",
        family="generative",
        task="density",
        rows=(
            "vae",
            "elbo",
            "vae-loss",
            "vae-generation",
            "amortised-gaussian-posterior",
            "vae-prior-standard-normal",
            "claim-decoder-likelihood-choices",
            "kl-gaussian-to-standard-normal",
            "reparameterisation-trick",
        ),
        test_params={"hidden": (16,), "n_components": 2, "epochs": 3},
    ),
)

# Besides the estimators above, a model file may hold these: scikit-learn's preprocessing around a model.
PARTS: Mapping[str, str] = {
    "sklearn/pipeline": "sklearn.pipeline.Pipeline",
    "sklearn/column-transformer": "sklearn.compose.ColumnTransformer",
    "sklearn/transformed-target-regressor": "sklearn.compose.TransformedTargetRegressor",
    "sklearn/simple-imputer": "sklearn.impute.SimpleImputer",
    "sklearn/missing-indicator": "sklearn.impute.MissingIndicator",
    "sklearn/standard-scaler": "sklearn.preprocessing.StandardScaler",
    "sklearn/min-max-scaler": "sklearn.preprocessing.MinMaxScaler",
    "sklearn/k-bins-discretizer": "sklearn.preprocessing.KBinsDiscretizer",
    "sklearn/one-hot-encoder": "sklearn.preprocessing.OneHotEncoder",
    "sklearn/ordinal-encoder": "sklearn.preprocessing.OrdinalEncoder",
    # What ColumnTransformer puts in place of "passthrough" when it is fitted.
    "sklearn/function-transformer": "sklearn.preprocessing.FunctionTransformer",
    # Kernels that models take as a parameter.
    "margin/linear-kernel": "margin.kernels.LinearKernel",
    "margin/polynomial-kernel": "margin.kernels.PolynomialKernel",
    "margin/rbf-kernel": "margin.kernels.RBF",
    "margin/laplace-kernel": "margin.kernels.LaplaceKernel",
    "margin/matern-kernel": "margin.kernels.Matern",
    "margin/periodic-kernel": "margin.kernels.PeriodicKernel",
    "margin/constant-kernel": "margin.kernels.ConstantKernel",
    "margin/white-kernel": "margin.kernels.WhiteKernel",
    "margin/kernel-sum": "margin.kernels.Sum",
    "margin/kernel-product": "margin.kernels.Product",
    "margin/kernel-power": "margin.kernels.Exponentiation",
    "margin/dot-product-kernel": "margin.kernels.DotProduct",
    "margin/rational-quadratic-kernel": "margin.kernels.RationalQuadratic",
    "margin/exp-sine-squared-kernel": "margin.kernels.ExpSineSquared",
}


@cache
def registry() -> Mapping[str, str]:
    """Every name a model file may contain, with the dotted path of its class."""
    return {**{e.name: e.path for e in ENTRIES}, **PARTS}


def entry(name: str) -> Entry:
    """The entry called ``name`` (catalog name or class name)."""
    for candidate in ENTRIES:
        if name in (candidate.name, candidate.class_name):
            return candidate
    close = difflib.get_close_matches(name, [e.name for e in ENTRIES], n=3)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; margin list shows what there is."
    raise KeyError(f"There is no model {name!r}{hint}")


def class_of(name: str) -> type:
    """The class behind a registry name; only names of the closed registry are ever imported."""
    path = registry().get(name)
    if path is None:
        path = entry(name).path
    module, _, attribute = path.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def create(name: str, **params: Any) -> Any:
    """A new, unfitted model."""
    return class_of(name)(**params)


def name_of(obj: Any) -> str | None:
    """The registry name of an object's class, or None if the registry does not have it."""
    return _names().get((type(obj).__module__.partition(".")[0], type(obj).__qualname__))


@cache
def _names() -> Mapping[tuple[str, str], str]:
    # By top package and class name: public paths re-export classes from the file that defines them.
    return {(path.partition(".")[0], path.rpartition(".")[2]): name for name, path in registry().items()}
