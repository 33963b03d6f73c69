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

from margin.core.lazy_names import read_imports

__all__ = [
    "ENTRIES",
    "FUNCTIONS",
    "PACKAGES",
    "PARTS",
    "PUBLIC_FUNCTIONS",
    "Entry",
    "class_of",
    "create",
    "entry",
    "name_of",
    "registry",
]


@dataclass(frozen=True)
class Entry:
    """One public estimator: its name on the command line, the path of its class, and what it is for.

    ``data`` is the kind of input: "table" (rows of columns), "images", "text", "tokens", "graph" or "points".
    ``takes`` says what the columns of a table must look like before they reach the model: "standard" numbers,
    non-negative "counts" or "categories". Above ``max_rows`` its cost (quadratic or cubic in the rows) makes a
    comparison leave it out, with a remark. ``standard_target``: its defaults suit a target of deviation 1, so a
    comparison gives it one. ``settings`` are parameters with which a comparison tries it, where the default would only
    repeat another model or fail on most tables; ``compared`` is False where all would. ``variants`` are further
    settings with which it is tried, each a row NAME-VARIANT of the board. A ``wide`` model takes a sparse table of
    thousands of columns, so it gets all terms of a text instead of the commonest.
    """

    name: str
    path: str
    task: str
    data: str = "table"
    takes: str = "standard"
    max_rows: int | None = None
    standard_target: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    compared: bool = True
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    wide: bool = False

    @property
    def family(self) -> str:
        """The package of the model."""
        return self.path.split(".")[1]

    @property
    def class_name(self) -> str:
        return self.path.rpartition(".")[2]


LINEAR = (
    Entry("linear-regression", "margin.linear.LinearRegression", "regression"),
    Entry("ridge", "margin.linear.Ridge", "regression", wide=True),
    Entry("logistic-regression", "margin.linear.LogisticRegression", "classification", wide=True),
    Entry("lasso", "margin.linear.Lasso", "regression"),
    Entry("elastic-net", "margin.linear.ElasticNet", "regression"),
    Entry("basis-regression", "margin.linear.BasisRegression", "regression"),
    Entry("polynomial-regression", "margin.linear.PolynomialRegression", "regression"),
    Entry("spline-regression", "margin.linear.SplineRegression", "regression"),
    Entry("heteroscedastic-regression", "margin.linear.HeteroscedasticRegression", "regression"),
)

KERNELS = (
    Entry("svc", "margin.kernels.SVC", "classification", max_rows=50_000),
    Entry("hard-margin-svc", "margin.kernels.HardMarginSVC", "classification", max_rows=20_000),
    Entry("linear-svc", "margin.kernels.LinearSVC", "classification", wide=True),
    Entry(
        "kernel-ridge",
        "margin.kernels.KernelRidge",
        "regression",
        max_rows=10_000,
        standard_target=True,
        settings={"kernel": "rbf"},
    ),
    Entry("kernel-regression", "margin.kernels.KernelRegression", "regression", max_rows=50_000),
    Entry("svr", "margin.kernels.SVR", "regression", max_rows=50_000, standard_target=True),
    Entry(
        "gaussian-process-regressor",
        "margin.kernels.GaussianProcessRegressor",
        "regression",
        max_rows=5_000,
        standard_target=True,
    ),
    Entry("gaussian-process-classifier", "margin.kernels.GaussianProcessClassifier", "classification", max_rows=3_000),
    Entry(
        "sparse-gaussian-process-regressor",
        "margin.kernels.SparseGaussianProcessRegressor",
        "regression",
        max_rows=100_000,
        standard_target=True,
    ),
)

NEIGHBORS = (
    Entry("k-neighbors-classifier", "margin.neighbors.KNeighborsClassifier", "classification"),
    Entry("k-neighbors-regressor", "margin.neighbors.KNeighborsRegressor", "regression"),
)

BAYES = (
    Entry("gaussian-nb", "margin.bayes.GaussianNB", "classification"),
    Entry("multinomial-nb", "margin.bayes.MultinomialNB", "classification", takes="counts", wide=True),
    Entry("bernoulli-nb", "margin.bayes.BernoulliNB", "classification", wide=True),
    Entry("categorical-nb", "margin.bayes.CategoricalNB", "classification", takes="categories"),
    Entry("linear-discriminant-analysis", "margin.bayes.LinearDiscriminantAnalysis", "classification"),
    Entry(
        "quadratic-discriminant-analysis",
        "margin.bayes.QuadraticDiscriminantAnalysis",
        "classification",
        settings={
            "reg_param": 1e-3
        },  # columns of categories depend on each other, and a covariance must not be singular
    ),
)

TREES = (
    Entry("decision-tree-classifier", "margin.trees.DecisionTreeClassifier", "classification"),
    Entry("decision-tree-regressor", "margin.trees.DecisionTreeRegressor", "regression"),
    Entry("bagging-classifier", "margin.trees.BaggingClassifier", "classification"),
    Entry("bagging-regressor", "margin.trees.BaggingRegressor", "regression"),
    Entry("random-forest-classifier", "margin.trees.RandomForestClassifier", "classification"),
    Entry("random-forest-regressor", "margin.trees.RandomForestRegressor", "regression"),
    Entry("extra-trees-classifier", "margin.trees.ExtraTreesClassifier", "classification"),
    Entry("extra-trees-regressor", "margin.trees.ExtraTreesRegressor", "regression"),
    Entry("id3", "margin.trees.ID3", "classification", takes="categories"),
    Entry("c45", "margin.trees.C45", "classification"),
    Entry("adaboost-classifier", "margin.trees.AdaBoostClassifier", "classification"),
    Entry("adaboost-regressor", "margin.trees.AdaBoostRegressor", "regression"),
    Entry("gradient-boosting-classifier", "margin.trees.GradientBoostingClassifier", "classification"),
    Entry("gradient-boosting-regressor", "margin.trees.GradientBoostingRegressor", "regression"),
    Entry("hist-gradient-boosting-classifier", "margin.trees.HistGradientBoostingClassifier", "classification"),
    Entry("hist-gradient-boosting-regressor", "margin.trees.HistGradientBoostingRegressor", "regression"),
)

CLUSTER = (Entry("kmeans", "margin.cluster.KMeans", "clustering"),)

MIXTURE = (Entry("gaussian-mixture", "margin.mixture.GaussianMixture", "density", settings={"n_components": 8}),)

DENSITY = (
    Entry("histogram-density", "margin.neighbors.density.HistogramDensity", "density"),
    Entry(
        "kernel-density",
        "margin.neighbors.density.KernelDensity",
        "density",
        max_rows=50_000,
        settings={"bandwidth": "scott"},
    ),
)

GRAPHICAL = (
    Entry("bayesian-network", "margin.graphical.BayesianNetwork", "density"),
    Entry("gaussian-hmm", "margin.graphical.GaussianHMM", "density", compared=False),
    Entry("sum-product-network", "margin.graphical.SumProductNetwork", "density"),
)

REDUCTION = (
    Entry("pca", "margin.reduction.PCA", "transformation"),
    Entry("fast-ica", "margin.reduction.FastICA", "transformation"),
    Entry("correspondence-analysis", "margin.reduction.CorrespondenceAnalysis", "transformation", takes="counts"),
    Entry("mds", "margin.reduction.MDS", "transformation", max_rows=5_000),
    Entry("isomap", "margin.reduction.Isomap", "transformation", max_rows=10_000),
    Entry("t-sne", "margin.reduction.TSNE", "transformation", max_rows=10_000),
    Entry("umap", "margin.reduction.UMAP", "transformation"),
)

NEURAL = (
    Entry("mlp-classifier", "margin.neural.estimators.MLPClassifier", "classification"),
    Entry("mlp-regressor", "margin.neural.estimators.MLPRegressor", "regression"),
    Entry("tabular-net-classifier", "margin.neural.estimators.TabularNetClassifier", "classification"),
    Entry("tabular-net-regressor", "margin.neural.estimators.TabularNetRegressor", "regression"),
    Entry("cnn-classifier", "margin.neural.estimators.CNNClassifier", "classification", data="images"),
    Entry("vision-transformer", "margin.neural.estimators.VisionTransformer", "classification", data="images"),
    Entry("cnn-regressor", "margin.neural.estimators.CNNRegressor", "regression", data="images"),
    Entry("neural-classifier", "margin.neural.estimators.NeuralClassifier", "classification", compared=False),
    Entry("neural-regressor", "margin.neural.estimators.NeuralRegressor", "regression", compared=False),
    Entry("sequence-classifier", "margin.neural.estimators.SequenceClassifier", "classification", compared=False),
    Entry("sequence-regressor", "margin.neural.estimators.SequenceRegressor", "regression", compared=False),
)

VISION = (
    Entry("hog", "margin.vision.features.HOG", "transformation", data="images"),
    Entry("image-filter", "margin.vision.features.ImageFilter", "transformation", data="images"),
    Entry("visual-words", "margin.vision.features.VisualWords", "transformation", data="images"),
)

FORECASTING = (Entry("forecaster", "margin.forecasting.Forecaster", "forecasting", compared=False),)

SEMI = (
    Entry("self-training-classifier", "margin.meta.semi.SelfTrainingClassifier", "classification", compared=False),
    Entry("pseudo-label", "margin.meta.semi.PseudoLabel", "classification", compared=False),
)

GENERATIVE = (
    Entry("vae", "margin.generative.VAE", "density"),
    Entry("autoencoder", "margin.generative.Autoencoder", "transformation"),
    Entry("sparse-autoencoder", "margin.generative.SparseAutoencoder", "transformation"),
    Entry("normalizing-flow", "margin.generative.NormalizingFlow", "density"),
    Entry("gan", "margin.generative.GAN", "density", compared=False),
    Entry("cyclegan", "margin.generative.CycleGAN", "transformation", compared=False),
    Entry("diffusion-model", "margin.generative.DiffusionModel", "density"),
    Entry("flow-matching", "margin.generative.FlowMatching", "density"),
    Entry("latent-diffusion", "margin.generative.LatentDiffusion", "density", compared=False),
    Entry("score-model", "margin.generative.ScoreModel", "density", compared=False),
    Entry("table-synthesizer", "margin.generative.TableSynthesizer", "density", compared=False),
)

TEXT = (
    Entry("latent-dirichlet-allocation", "margin.text.LatentDirichletAllocation", "transformation", takes="counts"),
    Entry("word2vec", "margin.text.Word2Vec", "transformation", data="text"),
    Entry("glove", "margin.text.GloVe", "transformation", data="text"),
    Entry("hmm-tagger", "margin.text.HMMTagger", "tagging", data="text"),
    Entry("crf-tagger", "margin.text.CRFTagger", "tagging", data="text"),
    Entry("token-tagger", "margin.text.TokenTagger", "tagging", data="text"),
    Entry(
        "text-classifier",
        "margin.text.TextClassifier",
        "classification",
        data="text",
        variants={"cnn": {"architecture": "cnn"}},
    ),
    Entry("language-model", "margin.text.LanguageModel", "density", data="text"),
    Entry("translator", "margin.text.Translator", "translation", data="text"),
    Entry("masked-language-model", "margin.text.MaskedLanguageModel", "transformation", data="text"),
)

DETECTION = (Entry("object-detector", "margin.vision.detection.ObjectDetector", "detection", data="images"),)

SEGMENTATION = (Entry("segmenter", "margin.vision.segmentation.Segmenter", "segmentation", data="images"),)

REPRESENTATION = (
    Entry("simclr", "margin.representation.SimCLR", "transformation", data="images"),
    Entry("clip", "margin.representation.CLIP", "retrieval", data="images"),
    Entry(
        "neighborhood-components-analysis",
        "margin.representation.NeighborhoodComponentsAnalysis",
        "transformation",
        max_rows=5_000,
    ),
)

GRAPHS = (
    Entry("node-classifier", "margin.graphs.NodeClassifier", "classification", data="graph"),
    Entry("graph-classifier", "margin.graphs.GraphClassifier", "classification", data="graph"),
    Entry("graph-regressor", "margin.graphs.GraphRegressor", "regression", data="graph"),
    Entry("link-predictor", "margin.graphs.LinkPredictor", "classification", data="graph"),
)

PHYSICS = (
    Entry("pinn", "margin.physics.PINN", "regression", data="points"),
    Entry("neural-ode", "margin.physics.NeuralODE", "forecasting", data="points"),
)

META = (
    Entry("domain-adaptation-classifier", "margin.meta.DomainAdaptationClassifier", "classification", compared=False),
    Entry("few-shot-learner", "margin.meta.FewShotLearner", "classification", compared=False),
    Entry("zero-shot", "margin.meta.ZeroShot", "classification", compared=False),
)

ENTRIES: tuple[Entry, ...] = (
    *LINEAR,
    *KERNELS,
    *NEIGHBORS,
    *BAYES,
    *TREES,
    *CLUSTER,
    *MIXTURE,
    *DENSITY,
    *GRAPHICAL,
    *REDUCTION,
    *NEURAL,
    *VISION,
    *FORECASTING,
    *SEMI,
    *GENERATIVE,
    *TEXT,
    *DETECTION,
    *SEGMENTATION,
    *REPRESENTATION,
    *GRAPHS,
    *PHYSICS,
    *META,
)

# What `margin` offers besides the estimators, and where it is defined.
FUNCTIONS: Mapping[str, str] = {
    "save": "margin.store",
    "load": "margin.store",
    "export_onnx": "margin.store.onnx",
    "fit": "margin.runs",
    "stream": "margin.data.streams",
    "compare": "margin.service.comparison",
    "Run": "margin.runs",
    "watch": "margin.core.watching",
    "track": "margin.runs.tracking",
    "find_rate": "margin.neural.estimators.rate_range",
    "profile_fit": "margin.neural.estimators.time_report",
    "Record": "margin.core.records",
    "search_space": "margin.core.parameters",
}

#: The packages that a user would name, as attributes of ``margin``.
PACKAGES = (
    *("foundations", "optimize", "metrics", "data"),
    *("linear", "kernels", "neighbors", "bayes", "trees", "cluster", "mixture", "reduction", "graphical"),
    *("neural", "text", "generative", "vision", "representation", "graphs", "physics", "meta", "forecasting"),
    *("selection", "interpretation", "report", "notes"),
)

# Functions and classes that a user imports from a package beside its estimators; docs/functions.md says what each does.
PUBLIC_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "margin.data": (
        *("read", "load", "names", "profile", "detect_task", "preprocessor", "from_pandas", "from_arrow"),
        *("read_image", "read_image_folder", "read_lines", "read_text", "quantile_bins"),
        *("hold_out", "random_split", "stratified_split", "group_split", "time_split", "three_way_split"),
        *("random_folds", "stratified_folds", "group_folds", "time_folds"),
    ),
    "margin.data.cards": ("dataset_info",),
    "margin.data.image_sets": ("load_cifar10", "preprocess_imagenet"),
    "margin.data.labeled_images": ("load_cifar100", "load_lsun", "read_captioned_images"),
    "margin.data.meshes": ("read_mesh", "render"),
    "margin.metrics": (
        *("evaluate", "metric", "metrics_of", "accuracy", "balanced_accuracy", "top_k_accuracy", "precision", "recall"),
        *("sensitivity", "specificity", "negative_predictive_value", "f1", "fbeta", "matthews", "cohen_kappa"),
        *("confusion_matrix", "roc_curve", "roc_auc", "recall_at_fpr", "precision_recall_curve", "average_precision"),
        *("cumulative_gains", "threshold_sweep", "best_threshold", "cost_at_threshold", "brier", "log_loss"),
        *("calibration_bins", "expected_calibration_error", "mae", "mse", "rmse", "rmsle", "mape", "max_error"),
        *("median_absolute_error", "pinball", "r2", "adjusted_r2", "explained_variance", "squared_correlation"),
        *("mcfadden_r2", "mean_log_likelihood", "bits_per_dimension", "perplexity", "inertia", "silhouette"),
        *("silhouette_samples", "calinski_harabasz", "davies_bouldin", "adjusted_rand", "homogeneity", "completeness"),
        *("v_measure", "normalized_mutual_information", "dice", "iou", "jaccard", "box_iou", "hausdorff"),
    ),
    "margin.optimize": (
        *("minimize", "line_search", "nonlinear_cg", "conjugate_gradient", "steepest_descent", "quadratic_program"),
        *("newton", "damped_newton", "newton_root", "trust_region", "newton_cg", "bfgs", "lbfgs", "bisect", "genetic"),
        *("coordinate_descent", "proximal_gradient", "fista", "gradient_flow", "sgd", "rate_range_test"),
        *("grid_search", "random_search", "numerical_gradient", "numerical_hessian", "torch_hessian", "taylor2"),
        *("classify_critical_point", "classify_quadratic", "FiniteSum"),
    ),
    "margin.foundations.linalg": ("lu", "lu_solve", "expm", "logm", "adjugate"),
    "margin.foundations.probability": ("monte_carlo", "sample_inverse_cdf", "MarkovChain"),
    "margin.foundations.transport": ("solve", "wasserstein_1d", "barycenter", "barycenter_1d", "geodesic"),
    "margin.linear": ("lasso_path", "elastic_net_path", "draw_path", "least_squares", "nonlinear_least_squares"),
    "margin.trees": ("explain",),
    "margin.neighbors": ("nearest", "radius_neighbors", "distance_matrix"),
    "margin.reduction": (
        *("principal_components", "correspondence_analysis", "intrinsic_dimensions", "stress"),
        *("knn_graph", "epsilon_graph", "shortest_paths"),
    ),
    "margin.selection": (
        *("train_test_split", "repeated_folds", "cross_validate", "nested_cross_validate", "learning_curve"),
        *("bias_variance", "diagnose", "corrected_interval", "corrected_paired_test", "HeldOut"),
    ),
    "margin.graphical.hidden_markov": ("HiddenMarkovModel", "baum_welch"),
    "margin.graphical.crf": ("LinearChainCRF",),
    "margin.graphical.fields": ("MarkovRandomField", "ising_grid"),
    "margin.graphical.mcmc": ("metropolis", "effective_sample_size"),
    "margin.graphical.variational": ("fit_variational",),
    "margin.graphical.bif": ("read_bif", "write_bif"),
    "margin.graphs.readers": ("load_citations", "load_graphs"),
    "margin.interpretation": ("permutation_importance", "partial_dependence", "individual_curves", "shapley_values"),
    "margin.interpretation.networks": ("attribute_inputs",),
    "margin.interpretation.attribution": (
        *("class_activation_map", "grad_cam", "integrated_gradients", "occlusion", "resize_map"),
    ),
    "margin.neural": ("augment", "load_transformers", "save_transformers"),
    "margin.representation": ("pretrain", "local_metric", "geodesic_curve", "curve_length", "triplet_loss"),
    "margin.meta": ("fine_tune", "pretrain_then_finetune", "transfer_curve", "domain_adapt"),
    "margin.meta.similarity": ("one_shot_classify",),
    "margin.generative.gan.translation": ("PairTranslation",),
    "margin.generative.latent_space": ("interpolate", "attribute_direction"),
    "margin.text.synsets": ("synsets", "class_hierarchy", "path_similarity"),
    "margin.vision.features": ("hog", "sift", "surf", "match_descriptors", "low_pass", "high_pass", "morph"),
    "margin.vision.detection": ("mean_average_precision", "coco_map", "non_maximum_suppression", "selective_search"),
    "margin.vision.detection.localization": ("fit_localizer", "localize"),
    "margin.vision.segmentation": ("pixel_accuracy", "mean_iou", "class_iou", "class_dice", "class_hausdorff"),
    "margin.physics": (
        *("solve_ode", "solve_stiff", "euler", "midpoint", "rk4", "dormand_prince"),
        *("integral_curve", "linear_system"),
    ),
    "margin.physics.pde": ("solve_poisson", "solve_heat", "solve_wave"),
    "margin.physics.coordinates": ("CoordinateNetwork", "recover_from_laplacian"),
}

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
    # Steps of our own that read and encode the columns of a table.
    "margin/column-reader": "margin.data.column_reader.ColumnReader",
    "margin/category-columns": "margin.data.category_columns.CategoryColumns",
    "margin/standard-columns": "margin.data.standard_columns.StandardColumns",
    "margin/date-parts": "margin.data.date_parts.DateParts",
    "margin/tfidf-columns": "margin.data.tfidf_columns.TfidfColumns",
    "margin/joined-texts": "margin.data.joined_texts.JoinedTexts",
    # The scale on which a skewed target is learned.
    "margin/log-target": "margin.data.log_target.LogTarget",
    # What ColumnTransformer puts in place of "passthrough" when it is fitted.
    "sklearn/function-transformer": "sklearn.preprocessing.FunctionTransformer",
    # Leaders of a comparison put together.
    "margin/blend-classifier": "margin.selection.ensembles.BlendClassifier",
    "margin/blend-regressor": "margin.selection.ensembles.BlendRegressor",
    # What a comparison puts around a regressor.
    "margin/bounded-pipeline": "margin.selection.bounded.BoundedPipeline",
    # Kernels that models take as a parameter.
    "margin/linear-kernel": "margin.kernels.LinearKernel",
    "margin/polynomial-kernel": "margin.kernels.PolynomialKernel",
    "margin/rbf-kernel": "margin.kernels.RBF",
    "margin/laplace-kernel": "margin.kernels.LaplaceKernel",
    "margin/additive-chi-squared-kernel": "margin.kernels.AdditiveChiSquaredKernel",
    "margin/chi-squared-kernel": "margin.kernels.ChiSquaredKernel",
    "margin/cosine-kernel": "margin.kernels.CosineKernel",
    "margin/laplacian-kernel": "margin.kernels.LaplacianKernel",
    "margin/sigmoid-kernel": "margin.kernels.SigmoidKernel",
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
    # Losses, activations, initializers, normalizations and regularizers that networks take as a parameter.
    "margin/squared-error": "margin.neural.losses.SquaredError",
    "margin/absolute-error": "margin.neural.losses.AbsoluteError",
    "margin/huber": "margin.neural.losses.Huber",
    "margin/pinball": "margin.neural.losses.Pinball",
    "margin/poisson-deviance": "margin.neural.losses.PoissonDeviance",
    "margin/normal-likelihood": "margin.neural.losses.NormalLikelihood",
    "margin/laplace-likelihood": "margin.neural.losses.LaplaceLikelihood",
    "margin/cross-entropy": "margin.neural.losses.CrossEntropy",
    "margin/margin-loss": "margin.neural.losses.MarginLoss",
    "margin/relu": "margin.neural.activations.ReLU",
    "margin/leaky-relu": "margin.neural.activations.LeakyReLU",
    "margin/elu": "margin.neural.activations.ELU",
    "margin/gelu": "margin.neural.activations.GELU",
    "margin/tanh-gelu": "margin.neural.activations.TanhGELU",
    "margin/quick-gelu": "margin.neural.activations.QuickGELU",
    "margin/silu": "margin.neural.activations.SiLU",
    "margin/mish": "margin.neural.activations.Mish",
    "margin/softplus": "margin.neural.activations.Softplus",
    "margin/squared-rectifier": "margin.neural.activations.SquaredRectifier",
    "margin/tanh": "margin.neural.activations.Tanh",
    "margin/sigmoid": "margin.neural.activations.Sigmoid",
    "margin/linear-unit": "margin.neural.activations.LinearUnit",
    "margin/heaviside": "margin.neural.activations.Heaviside",
    "margin/sinusoid": "margin.neural.activations.Sinusoid",
    "margin/gaussian-bump": "margin.neural.activations.GaussianBump",
    "margin/maxout-units": "margin.neural.activations.MaxoutUnits",
    "margin/he-initializer": "margin.neural.initialize.HeInitializer",
    "margin/xavier-initializer": "margin.neural.initialize.XavierInitializer",
    "margin/lecun-initializer": "margin.neural.initialize.LeCunInitializer",
    "margin/orthogonal-initializer": "margin.neural.initialize.OrthogonalInitializer",
    "margin/normal-initializer": "margin.neural.initialize.NormalInitializer",
    "margin/zeros-initializer": "margin.neural.initialize.ZerosInitializer",
    "margin/batch-normalization": "margin.neural.normalization.BatchNormalization",
    "margin/layer-normalization": "margin.neural.normalization.LayerNormalization",
    "margin/rms-normalization": "margin.neural.normalization.RMSNormalization",
    "margin/group-normalization": "margin.neural.normalization.GroupNormalization",
    "margin/instance-normalization": "margin.neural.normalization.InstanceNormalization",
    "margin/l1-regularizer": "margin.neural.regularizers.L1",
    "margin/elastic-penalty": "margin.neural.regularizers.ElasticPenalty",
    "margin/max-norm": "margin.neural.regularizers.MaxNorm",
    # Schedules that networks take as a parameter.
    "margin/constant-schedule": "margin.optimize.rate_schedules.Constant",
    "margin/cosine-schedule": "margin.optimize.rate_schedules.Cosine",
    "margin/cosine-restarts-schedule": "margin.optimize.rate_schedules.CosineRestarts",
    "margin/cyclical-schedule": "margin.optimize.rate_schedules.Cyclical",
    "margin/exponential-decay-schedule": "margin.optimize.rate_schedules.ExponentialDecay",
    "margin/inverse-power-schedule": "margin.optimize.rate_schedules.InversePower",
    "margin/inverse-time-schedule": "margin.optimize.rate_schedules.InverseTime",
    "margin/linear-decay-schedule": "margin.optimize.rate_schedules.LinearDecay",
    "margin/one-cycle-schedule": "margin.optimize.rate_schedules.OneCycle",
    "margin/plateau-schedule": "margin.optimize.rate_schedules.Plateau",
    "margin/step-decay-schedule": "margin.optimize.rate_schedules.StepDecay",
    "margin/warm-up-schedule": "margin.optimize.rate_schedules.WarmUp",
}


@cache
def registry() -> Mapping[str, str]:
    """Every name a model file may contain, with the dotted path of its class."""
    return {**{e.name: e.path for e in ENTRIES}, **PARTS, **_rules()}


def _rules() -> dict[str, str]:
    """The update rules that networks take as a parameter, called by their files."""
    homes = {name: module.rpartition(".")[2] for name, module in read_imports("margin.optimize.rules").items()}
    files = {name: file.replace("_", "-") for name, file in homes.items() if file != "base"}
    return {f"margin/{file}-rule": f"margin.optimize.rules.{name}" for name, file in files.items()}


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
    for name in _names_by_class_name().get(type(obj).__qualname__, ()):
        if class_of(name) is type(obj):
            return name
    return None


@cache
def _names_by_class_name() -> Mapping[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for name, path in registry().items():
        class_name = path.rpartition(".")[2]
        names[class_name] = (*names.get(class_name, ()), name)
    return names
