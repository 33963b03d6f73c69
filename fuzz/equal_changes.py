"""Changes after which a function returns the same, by a proof that is given: no check could notice them.

Each is named by module, function and the changed expression. What a check merely misses does not belong here.
"""

EQUAL = {
    ("margin.foundations.linalg.determinants", "adjugate", "i - j"): "(-1)^(i - j) is (-1)^(i + j)",
    ("margin.foundations.linalg.orthogonal", "random_orthogonal", "Q / np.sign(np.diag(R))"): "1 / s is s for s = +-1",
    ("margin.foundations.linalg.operators", "laplacian", "total.shape[1]"): "the matrix is square",
    ("margin.foundations.probability.heavy", "_quantile", "np.clip(q, 1e-300, 1) + 0.5"): "tan has the period pi",
    (
        "margin.foundations.probability.heavy",
        "_sample",
        "self.scale / rng.standard_cauchy(n)",
    ): "one over a standard Cauchy variable is one",
    ("margin.kernels.hard_margin", "is_separable", "X + X.mean(axis=0)"): "the plane's offset takes up any shift",
    (
        "margin.kernels.hard_margin",
        "is_separable",
        "(X - X.mean(axis=0)) * np.where(spread > 0, spread, 1.0)",
    ): "the plane's weights take up any positive factor of a column",
    ("margin.kernels.hard_margin", "is_separable", "labels[:, None]"): "a plane that parts -1 from 1 parts 1 from -1",
    ("margin.kernels.hard_margin", "is_separable", "2.0"): "a constant column may be divided by anything",
    (
        "margin.kernels.hard_margin",
        "_begin",
        "loop.pairs[pair][1]",
    ): "all labels turn, and a plane parts them as before",
    ("margin.neural.nets.ensemble", "forward", "self.weights[1]"): "every layer has as many members",
    ("margin.neural.theory.pieces", "linear_pieces", "len(network.weights) + 1"): "a slice may end past the end",
    ("margin.reduction.topology", "betti", "len(rows) + 1"): "a bound on the rank, which no graph reaches",
    (
        "margin.foundations.linalg.exponential",
        "expm",
        "1.0",
    ): "how often a matrix is halved before; squaring undoes any number of halvings",
    (
        "margin.foundations.linalg.exponential",
        "expm",
        "size * reach",
    ): "how often a matrix is halved before; squaring undoes any number of halvings",
    (
        "margin.foundations.probability.categories",
        "_cdf",
        "2.0",
    ): "a bound for rounding; beyond the support the base class answers",
    ("margin.foundations.probability.trials", "_cdf", "2.0"): "at the end of the support the base class says 1",
    (
        "margin.foundations.transport.one_dimension",
        "monotone_plan",
        "levels_y",
    ): "equal totals are checked before: the factor is 1 but for rounding",
    (
        "margin.foundations.transport.one_dimension",
        "monotone_plan",
        "levels_y / (levels_x[-1] / levels_y[-1])",
    ): "equal totals are checked before: the factor is 1 but for rounding",
    ("margin.foundations.transport.one_dimension", "monotone_plan", "len(x) + 1"): "a bound that only rounding reaches",
    ("margin.foundations.transport.one_dimension", "monotone_plan", "len(y) + 1"): "a bound that only rounding reaches",
    (
        "margin.generative.gradients",
        "gradient_inside",
        "f(z) - 0 * (mean + log_variance)",
    ): "nothing is added or taken away",
    ("margin.generative.gradients", "gradient_inside", "mean - log_variance"): "it is multiplied by 0",
    (
        "margin.generative.gradients",
        "gradient_inside",
        "0 / (mean + log_variance)",
    ): "it is 0, and so is its derivative",
    (
        "margin.kernels.dual",
        "step_on_one_thread",
        "self.objective + self.climbed",
    ): "when to give up without gain; optimality ends the search before",
    (
        "margin.kernels.dual",
        "_judge_gain",
        "self.highest - rounding",
    ): "when to give up without gain; optimality ends the search before",
    (
        "margin.linear.interpolation",
        "interpolating_solutions",
        "shortest - shift",
    ): "the shift is a normal deviate under a linear map",
    ("margin.linear.spline_regression", "_knots", "len(distinct) + 1"): "a bound that only rounding reaches",
    ("margin.linear.spline_regression", "_knots", "wanted"): "a guard against rounding",
    ("margin.mixture.em", "mixture_of", "1 * k"): "weights are set anew by the step that follows",
    (
        "margin.mixture.em",
        "mixture_of",
        "first[:, :-1] * (first[:, -1:] + NOBODY)",
    ): "only about which points sums are taken; the step that follows is the same",
    (
        "margin.neural.convolution.pooling",
        "pool_backward",
        "c",
    ): "a slice may end past the end, and the padding there is cut off",
    ("margin.optimize.derivatives", "numerical_gradient", "2.0"): "the width of a difference, whose double is as good",
    ("margin.optimize.derivatives", "numerical_hessian", "2.0"): "the width of a difference, whose double is as good",
    ("margin.optimize.evolution", "genetic", "people[1]"): "only its shape is read",
    ("margin.reduction.affinities", "precisions_for", "120.0"): "the end of a bracket that no root reaches",
    ("margin.reduction.graphs", "shortest_paths", "graph.shape[1]"): "the matrix is square",
    ("margin.selection.loss_parts", "cross_entropy_parts", "2.0"): "the logarithm of a stand-in is multiplied by 0",
    ("margin.text.glove", "co_occurrences", "len(tokens) + 1"): "words so far apart do not exist",
    (
        "margin.trees.multiway.c45_growing",
        "grow",
        "value.sum() + value.max()",
    ): "a node of one class gains nothing by any split",
    ("margin.representation.metric_learning", "nca_objective", "axis=0"): "the matrix is symmetric",
    ("margin.linear.logistic_loss", "curvature_diagonal", "2.0"): "what a sum of squares that is 0 is divided by",
    ("margin.linear.least_squares", "solve_moments", "axis=1"): "the matrix is symmetric",
    ("margin.linear.logistic_loss", "_dense_rows", "X.dtype.itemsize"): "only how many rows a block has",
    ("margin.kernels.kernel_regression", "predict", "self.weights_ @ y * self.weights_.sum()"): (
        "a level that is taken off and put back"
    ),
    ("margin.reduction.isomap", "transform", "axis=1"): "the matrix is symmetric",
    ("margin.reduction.isomap", "reconstruction_error", "axis=1"): "the matrix is symmetric",
    ("margin.neural.training.evaluation", "validation_split", "np.arange(n_valid) - rng.random()"): (
        "equal distances from a random start, in a circle: the same law"
    ),
    ("margin.foundations.information.gaussians", "fit_normal", "np.exp(log_p) / step"): "it is divided by its sum",
    ("margin.foundations.information.gaussians", "fit_normal", "np.exp(log_p)"): "it is divided by its sum",
    (
        "margin.foundations.information.coding",
        "shannon_code",
        "probability * probability.sum()",
    ): "the sum is 1 but for rounding",
    ("margin.foundations.information.coding", "huffman_code", "2 * n + 1"): "two more places than are needed",
    (
        "margin.foundations.probability.heavy",
        "_log_survival",
        "np.sqrt(self.nu)",
    ): "a stand-in where the other branch is taken",
    ("margin.graphical.elimination", "elimination_order", "entry[1]"): "keys are renewed that have not changed",
    ("margin.neural.convolution.upsampling", "interpolation_matrix", "n + 1"): "a bound that only rounding reaches",
    ("margin.neural.nets.lenet", "alexnet", "channels[3]"): "the third and the fourth have as many channels",
    (
        "margin.optimize.trust",
        "newton_cg",
        "np.sqrt(min(norm / start['norm'], 1.0))",
    ): "how exactly a step is solved; the minimum is the same",
    (
        "margin.optimize.trust",
        "newton_cg",
        "norm * start['norm']",
    ): "how exactly a step is solved; the minimum is the same",
    ("margin.optimize.trust", "newton_cg", "1.0"): "how exactly a step is solved; the minimum is the same",
    ("margin.optimize.trust", "newton_cg", "2.0"): "how exactly a step is solved; the minimum is the same",
    ("margin.optimize.trust", "newton_cg", "x.size"): "a bound on steps that conjugate gradients do not reach",
    (
        "margin.physics.burgers",
        "burgers_exact",
        "x[..., None] + nodes * np.sqrt(4 * viscosity * t[..., None])",
    ): "nodes and weights are symmetric",
    (
        "margin.physics.burgers",
        "burgers_exact",
        "exponents + exponents.max(axis=-1, keepdims=True)",
    ): "a factor that cancels in a ratio",
    ("margin.text.decoding", "generate", "rng.random() / cumulative[-1]"): "the sum is 1 but for rounding",
    ("margin.text.decoding", "generate", "rng.random()"): "the sum is 1 but for rounding",
    ("margin.trees.multiway.gains", "gain_of_counts", "2.0"): "what a weight of 0 is divided by",
    (
        "margin.neighbors.density.kernel_density",
        "score_samples",
        "len(space.near(index, pilot, radius * self.bandwidth_)[0]) * len(pilot)",
    ): "which of two exact ways is taken, and how many rows a block has",
    (
        "margin.neighbors.density.kernel_density",
        "score_samples",
        "space.near(index, pilot, radius * self.bandwidth_)[1]",
    ): "rows of the same length",
    ("margin.neighbors.density.kernel_density", "score_samples", "SAFETY * in_sight - 1"): "how many rows a block has",
    (
        "margin.neighbors.density.kernel_density",
        "score_samples",
        "radius / self.bandwidth_",
    ): "which of two exact ways is taken, and how many rows a block has",
    (
        "margin.neighbors.density.kernel_density",
        "score_samples",
        "radius",
    ): "which of two exact ways is taken, and how many rows a block has",
    (
        "margin.neural.initialize.signal",
        "signal_through_depth",
        "f[-2]",
    ): "only a shape is read, and all layers have one",
    ("margin.trees.cart.plotting", "plot_tree", "0.5"): "how strong a color is, and white around a picture",
    ("margin.trees.cart.plotting", "plot_tree", "1.2"): "how strong a color is, and white around a picture",
    ("margin.trees.cart.plotting", "plot_tree", "1.0"): "white around a picture",
    ("margin.trees.cart.plotting", "plot_tree", "1.6"): "how thick a frame is",
    ("margin.trees.cart.plotting", "plot_tree", "5.0"): "how thick a line is",
    ("margin.trees.cart.plotting", "plot_tree", "1.7"): "how large letters are",
    ("margin.trees.cart.plotting", "plot_tree", "fontsize"): "how large letters are",
    ("margin.trees.cart.plotting", "plot_tree", "0.85 / fontsize"): "how large letters are",
    ("margin.text.masked_language_model", "iterate", "arrays[1]"): "tokens and segments have as many rows",
    (
        "margin.generative.flows.layers",
        "__init__",
        "torch.arange(n_features) - parity",
    ): "odd stays odd, even stays even",
    (
        "margin.trees.forest.bootstrap",
        "sample_counts",
        "keys[:, None] - np.arange(1, draws + 1, dtype=np.uint64) * STEP",
    ): ("counters that are hashed: any that differ are as good"),
    ("margin.trees.forest.bootstrap", "sample_counts", "np.arange(1, draws + 1, dtype=np.uint64)"): (
        "counters that are hashed: any that differ are as good"
    ),
}
