"""Trees against scikit-learn's on rows without ties, and the choice of C4.5 with entropies of SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats
from sklearn import naive_bayes
from sklearn import tree as theirs
from tests.oracles import oracle

from margin import trees as ours
from margin.core.verdict import Verdict, above, equal, every, near
from margin.notes.claims.chance import plausible
from margin.trees import boosting
from margin.trees.cart import pruning
from margin.trees.cart.plotting import node_positions, plot_tree
from margin.trees.cart.structure import n_leaves
from margin.trees.cart.walking import apply
from margin.trees.columns import feature_count
from margin.trees.forest.bootstrap import sample_counts
from margin.trees.multiway import c45_growing, thresholds
from margin.trees.multiway.gains import gain_of_counts


@oracle(*(f"margin.trees.cart.pruning.{name}" for name in ("cost_complexity_path", "prune_by_cost")))
def weakest_links(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] ** 2 - X[:, 1] + 0.5 * rng.normal(size=80)
    model = ours.DecisionTreeRegressor(min_samples_leaf=3).fit(X, y)
    path = theirs.DecisionTreeRegressor(min_samples_leaf=3, random_state=0).cost_complexity_pruning_path(X, y)
    pruning_path = pruning.cost_complexity_path(model._tree)
    between = (path.ccp_alphas[1:] + path.ccp_alphas[:-1]) / 2
    leaves = [
        theirs.DecisionTreeRegressor(min_samples_leaf=3, random_state=0, ccp_alpha=alpha).fit(X, y).get_n_leaves()
        for alpha in between[::3]
    ]
    cut = [n_leaves(pruning.prune_by_cost(model._tree, alpha)) for alpha in between[::3]]
    return every(
        alphas=near(pruning_path["ccp_alphas"], path.ccp_alphas, tolerance=1e-8),
        impurities=near(pruning_path["impurities"], path.impurities, tolerance=1e-8),
        leaves=near(cut, leaves, tolerance=0),
    )


def bits(counts: ArrayLike) -> float:
    return float(stats.entropy(np.asarray(counts, dtype=float), base=2)) if np.sum(counts) else 0.0


def gain_and_ratio(table: np.ndarray, missing: float = 0.0) -> tuple[float, float]:
    """Of a table of weights (values, classes), as the notes define them, one entropy at a time."""
    known = table.sum()
    inside = sum(row.sum() / known * bits(row) for row in table if row.sum())
    gain = known / (known + missing) * (bits(table.sum(axis=0)) - inside)
    return gain, gain / bits(np.append(table.sum(axis=1), missing)) if np.count_nonzero(table.sum(axis=1)) > 1 else 0.0


@oracle("margin.trees.multiway.gains.gain_of_counts", "margin.trees.information_gain", "margin.trees.gain_ratio")
def gains_of_tables(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    tables, missing = rng.integers(0, 6, size=(5, 4, 3)).astype(float), np.array([0.0, 2.5, 1.0, 0.0, 7.0])
    tables[3, 1:] = 0.0  # one value only
    tables[3, 0] += 1
    gains = gain_of_counts(tables, missing)
    nothing = gain_of_counts(np.zeros((2, 3)), 0.0)
    expected = np.array([gain_and_ratio(table, m) for table, m in zip(tables, missing)]).T
    return every(
        gain=near(gains[0], expected[0], tolerance=1e-10),
        ratio=near(gains[1], expected[1], tolerance=1e-10),
        nothing=near(nothing, (0.0, 0.0), tolerance=0.0),
        single=near(ours.information_gain(*_rows_of(tables[0])), expected[0][0], tolerance=1e-10),
        single_ratio=near(ours.gain_ratio(*_rows_of(tables[0])), expected[1][0], tolerance=1e-10),
    )


def _rows_of(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes and values of rows that have this table of counts."""
    cells = np.argwhere(table > 0)
    value, label = np.repeat(cells, table[table > 0].astype(int), axis=0).T
    return label, value


@oracle("margin.trees.multiway.attribute_costs.costs_of_columns", "margin.trees.C45")
def first_questions(seed: int) -> Verdict:
    """At the root: the best ratio among columns whose gain is at least the mean, columns of many values not counted."""
    rng = np.random.default_rng(seed)
    root_features, expected, values = [], [], []
    for _ in range(40):
        y = rng.integers(0, 2, size=20)
        sizes = rng.permutation([2, 3, 5, 7, 8])
        X = np.array(
            [[f"v{v}" for v in np.where(rng.random(20) < 0.3, y, rng.integers(0, k, size=20))] for k in sizes]
        ).T
        weights = rng.uniform(0.5, 1.4, size=20)
        tables = [
            np.array([[weights[(column == v) & (y == c)].sum() for c in (0, 1)] for v in np.unique(column)])
            for column in X.T
        ]
        scores = np.array([gain_and_ratio(table) for table in tables])
        many = np.array([len(table) >= 0.3 * weights.sum() for table in tables])
        mean = scores[~many, 0].mean() if (~many).any() else scores[:, 0].mean()
        ratio = np.where(scores[:, 0] >= mean - 1e-12, scores[:, 1], -1.0)
        first, second = np.sort(ratio)[::-1][:2]
        model = ours.C45(confidence=None, min_samples_leaf=0.1, max_depth=1).fit(X.astype(object), y, weights)
        if first - second > 1e-9 and np.abs(scores[:, 0] - mean).min() > 1e-9:
            root_features.append(int(model.tree_["feature"][0]))
            expected.append(int(ratio.argmax()))
            values.append(abs(model.tree_["gain"][0] - scores[expected[-1], 0]))
    x, y = rng.normal(size=18), rng.integers(0, 2, 18)
    order = np.argsort(x)
    tables = [
        np.array([[np.sum(y[part] == c) for c in (0, 1)] for part in (order[:k], order[k:])]) for k in range(2, 17)
    ]
    # Cuts that leave two rows on both sides; naming one of all 17 costs the logarithm of their number, in bits a row.
    best = max(gain_and_ratio(table)[0] for table in tables) - np.log2(17) / 18
    cut = ours.C45(confidence=None, min_samples_leaf=2, max_depth=1, threshold_criterion="gain").fit(x[:, None], y)
    return every(
        asked=equal(root_features, expected),
        gain=near(max(values), 0.0, tolerance=1e-9),
        gain_of_a_cut=near(float(cut.tree_["gain"][0]), max(best, 0.0), tolerance=1e-9),
    )


@oracle("margin.trees.GradientBoostingClassifier")
def first_round_of_boosting(seed: int) -> Verdict:
    """Three classes, one round: in each leaf (K - 1)/K of the sum of residuals over the sum of p (1 - p)."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(90, 2)), rng.choice(3, size=90, p=[0.5, 0.3, 0.2])
    model = ours.GradientBoostingClassifier(n_estimators=1, max_depth=2, learning_rate=0.3, random_state=seed).fit(X, y)
    prior = np.bincount(y) / 90
    raised = model.decision_function(X)
    start = np.log(prior) - np.log(prior).mean()
    gaps = raised - raised.mean(axis=1, keepdims=True) - start
    leaves = model.apply(X)[:, 0]
    expected = np.empty((90, 3))
    for k in range(3):
        for leaf in np.unique(leaves[:, k]):
            inside = leaves[:, k] == leaf
            residuals = (y[inside] == k) - prior[k]
            expected[inside, k] = 0.3 * 2 / 3 * residuals.sum() / (prior[k] * (1 - prior[k]) * inside.sum())
    expected -= expected.mean(axis=1, keepdims=True)
    proba = np.exp(raised) / np.exp(raised).sum(axis=1, keepdims=True)
    begun: dict[str, Verdict] = {}
    for name, table, labels in (("three", X, y), ("two", X[y < 2], y[y < 2])):
        first = naive_bayes.GaussianNB().fit(table, labels)
        later = ours.GradientBoostingClassifier(n_estimators=1, max_depth=1, learning_rate=1e-12, init=first)
        begun_proba = later.fit(table, labels).predict_proba(table)  # the round adds next to nothing
        begun[name] = near(begun_proba, first.predict_proba(table), tolerance=1e-6)
        logs = first.predict_log_proba(table)  # of three classes around 0, of two as log-odds
        raw = logs - logs.mean(axis=1, keepdims=True) if name == "three" else logs[:, 1] - logs[:, 0]
        begun[f"{name}_raw"] = near(later.decision_function(table), raw, tolerance=1e-6)
        if name == "two":  # exp(-y f) is least at half the log-odds
            halved = later.set_params(loss="exponential").fit(table, labels).decision_function(table)
            begun["exponential"] = near(halved, raw / 2, tolerance=1e-6)
    return every(
        **begun,
        raised=near(gaps, expected, tolerance=1e-6),
        proba=near(model.predict_proba(X), proba, tolerance=1e-9),
        said=equal(model.predict(X).tolist(), proba.argmax(axis=1).tolist()),
        score=near(model.score(X, y), np.mean(proba.argmax(axis=1) == y), tolerance=1e-12),
    )


@oracle("margin.trees.cart.plotting.plot_tree", "margin.trees.multiway.c45_growing.grow")
def drawn_and_grown(seed: int) -> Verdict:
    """Texts stand at their nodes and words in the middle of their lines; a tree of one question asks one question."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] > -0.3)).astype(int)
    model = ours.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    axis = plot_tree(model._tree, names=["a", "b", "c"], axis=Figure().subplots())
    places, parents = node_positions(model._tree), np.flatnonzero(model._tree["feature"] >= 0)
    boxes = [text for text in axis.texts if text.get_text() not in ("yes", "no")]
    words = {"yes": "left", "no": "right"}
    labels_at = {(text.get_text(), *text.get_position()) for text in axis.texts if text.get_text() in words}
    middles = {(word, *((places[node] + places[model._tree[side][node]]) / 2))
               for node in parents for word, side in words.items()}  # fmt: skip
    ends = [line.get_xydata() for line in axis.lines]
    joined = [places[[node, model._tree[side][node]]] for node in parents for side in ("left", "right")]
    lines = [len(ours.C45(max_depth=k, confidence=None).fit(X, y).text().splitlines()) for k in (1, None)]
    return every(
        boxes=near([box.get_position() for box in boxes], places, tolerance=1e-12),
        counts=equal([int(box.get_text().split("\n")[-1].split()[0]) for box in boxes],
                     [int(n) for n in model._tree["n_samples"]]),
        words=equal(len(labels_at ^ middles), 0),
        lines=near(ends, joined, tolerance=1e-12),
        inside=equal(bool(axis.get_xlim()[0] < places[:, 0].min() and axis.get_xlim()[1] > places[:, 0].max()
                          and axis.get_ylim()[0] < places[:, 1].min() and axis.get_ylim()[1] > 0), True),
        one_question=equal((lines[0], lines[1] > 2), (2, True)),
    )  # fmt: skip


@oracle(*(f"margin.trees.{name}" for name in ("class_entropy", "split_information", "columns.feature_count",
                                              "forest.bootstrap.sample_counts", "best_threshold")))  # fmt: skip
def counts_and_cuts(seed: int) -> Verdict:
    """Entropies by SciPy with weights and missing values, rules for columns, draws by their law, cuts by trying all."""
    rng = np.random.default_rng(seed)
    y, w = np.array(["a", "b", "a", "c", "b", "a"]), np.array([1.0, 2.0, 0.5, 1.5, 1.0, 0.7])
    feature = np.array([1.0, np.nan, 2.0, 2.0, 1.0, 3.0])
    x, labels = rng.normal(size=25), rng.integers(3, size=25)
    cuts = np.sort(x)[:-1] + np.diff(np.sort(x)) / 2
    tables = [np.array([np.bincount(labels[side], minlength=3) for side in (x <= c, x > c)], dtype=float) for c in cuts]
    scores = np.array([gain_and_ratio(table) for table in tables])
    by_gain, by_ratio = (ours.best_threshold(x, labels, criterion=c) for c in ("gain", "gain_ratio"))
    drawn = sample_counts(np.arange(1, 301, dtype=np.uint64) * np.uint64(7919 + seed), 9, 20)
    rules = {None: 10, "sqrt": 3, "log2": 3, "third": 3, 0.45: 4, 4: 4, 99: 10, 0.01: 1}
    return every(
        entropy=near(ours.class_entropy(y, w), bits([2.2, 3.0, 1.5]), tolerance=1e-12),
        information=near(ours.split_information(feature, w), bits([2.0, 2.0, 2.0, 0.7]), tolerance=1e-12),
        gain=near([by_gain.value, by_gain.gain], [cuts[scores[:, 0].argmax()], scores[:, 0].max()], tolerance=1e-9),
        ratio=near([by_ratio.value, by_ratio.ratio], [cuts[scores[:, 1].argmax()], scores[:, 1].max()], tolerance=1e-9),
        total=near(drawn.sum(axis=1), np.full(300, 20.0), tolerance=0),
        law=plausible(stats.chisquare(drawn.sum(axis=0)).pvalue),
        spread=near(drawn.var(), 20 / 9 * 8 / 9, tolerance=0.35),
        columns=equal([feature_count(rule, 10) for rule in rules], list(rules.values())),
    )


@oracle("margin.trees.DecisionTreeClassifier", "margin.trees.DecisionTreeRegressor", "margin.trees.cart.walking.apply")
def single_trees(seed: int) -> Verdict:
    """Columns without ties, weights of the rows: leaves and predictions of scikit-learn's trees, walked by hand."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(90, 3)), rng.uniform(0.5, 2.0, 90)
    y = X[:, 0] ** 2 - X[:, 1] + 0.3 * rng.normal(size=90)
    kind, new = np.digitize(y, [0.0, 1.0]), rng.normal(size=(50, 3))
    options = {"max_depth": 4, "min_samples_leaf": 4}
    numbers = ours.DecisionTreeRegressor(**options).fit(X, y, sample_weight=w)
    labels = ours.DecisionTreeClassifier(**options).fit(X, kind, sample_weight=w)
    their_numbers = theirs.DecisionTreeRegressor(**options, random_state=0).fit(X, y, sample_weight=w)
    their_labels = theirs.DecisionTreeClassifier(**options, random_state=0).fit(X, kind, sample_weight=w)
    leaves = apply(numbers._tree, X)
    means = {leaf: np.average(y[leaves == leaf], weights=w[leaves == leaf]) for leaf in np.unique(leaves)}
    return every(
        numbers=near(numbers.predict(new), their_numbers.predict(new), tolerance=1e-9),
        training=near(numbers.predict(X), [means[leaf] for leaf in leaves], tolerance=1e-9),
        leaves=equal(len(means), their_numbers.get_n_leaves()),
        # Two columns may separate few rows equally well; on new rows such a tie shows in few places.
        labels=above(float(np.mean(labels.predict(new) == their_labels.predict(new))), 0.8),
        purity=near(impurity(labels, X, kind, w), impurity(their_labels, X, kind, w), tolerance=0.02),
    )


def impurity(model: object, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Weighted Gini impurity of the leaves that the rows fall into."""
    p = model.predict_proba(X)  # type: ignore[attr-defined]
    return float(np.average(1 - (p**2).sum(axis=1), weights=w))


@oracle(*(f"margin.trees.{name}" for name in ("BaggingRegressor", "BaggingClassifier")))
def members_averaged(seed: int) -> Verdict:
    """Predictions are means of those of the members, which are not all the same."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(20, 3))
    y = X[:, 0] + rng.normal(size=60)
    kind = np.array(["low", "mid", "top"])[np.digitize(y, [-0.5, 0.7])]
    numbers = ours.BaggingRegressor(n_estimators=7, random_state=seed).fit(X, y)
    labels = ours.BaggingClassifier(n_estimators=7, random_state=seed).fit(X, kind)
    each = np.array([member.predict(new) for member in numbers.estimators_])
    odds = np.mean([member.predict_proba(new) for member in labels.estimators_], axis=0)
    return every(
        numbers=near(numbers.predict(new), each.mean(axis=0), tolerance=1e-9),
        differ=above(float(each.std(axis=0).max()), 1e-6),
        odds=near(labels.predict_proba(new), odds, tolerance=1e-9),
        labels=equal(labels.predict(new).tolist(), labels.classes_[odds.argmax(axis=1)].tolist()),
    )


@oracle(
    "margin.trees.GradientBoostingRegressor",
    "margin.trees.GradientBoostingRegressor.staged_predict",
    *(f"margin.trees.boosting.{name}" for name in ("pseudo_residuals", "gradient_boosting")),
)
def rounds_of_boosting(seed: int) -> Verdict:
    """Each round a tree of scikit-learn's for the residuals of the last; slopes of a loss by differences."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    model = ours.GradientBoostingRegressor(n_estimators=4, learning_rate=0.3, max_depth=2, random_state=0).fit(X, y)
    F, stages = np.full(120, y.mean()), []
    for _ in range(4):
        F = F + 0.3 * theirs.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y - F).predict(X)
        stages.append(F)
    written = boosting.gradient_boosting(
        X, y, boosting.SquaredLoss(), theirs.DecisionTreeRegressor(max_depth=2, random_state=0), 4, learning_rate=0.3
    )
    # Huber's loss: the first tree is for residuals cut at their quantile, and its leaves are moved to fit them.
    robust = ours.GradientBoostingRegressor(loss="huber", alpha=0.6, n_estimators=1, learning_rate=0.3, max_depth=2,
                                            random_state=0).fit(X, y)  # fmt: skip
    residuals = y - np.median(y)
    delta = np.quantile(np.abs(residuals), 0.6, method="averaged_inverted_cdf")
    grown = theirs.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, np.clip(residuals, -delta, delta))
    leaves, moved = grown.apply(X), np.zeros(120)
    for leaf in np.unique(leaves):
        inside = residuals[leaves == leaf]
        # At the best step the slopes, residuals cut at delta, add up to nothing.
        slope = lambda c, r=inside: np.clip(r - c, -delta, delta).sum()  # noqa: E731
        moved[leaves == leaf] = optimize.brentq(slope, inside.min(), inside.max(), xtol=1e-13)
    weight = rng.uniform(0.2, 3.0, 120)
    weighted = ours.GradientBoostingRegressor(n_estimators=2, learning_rate=0.5, max_depth=2, random_state=0)
    G = np.full(120, np.average(y, weights=weight))
    for _ in range(2):
        tree = theirs.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y - G, weight)
        G = G + 0.5 * tree.predict(X)
    loss, at, h = boosting.AbsoluteLoss(), F + 0.05, 1e-6
    slopes = -(loss.evaluate(y, at + h)[0] - loss.evaluate(y, at - h)[0]) / (2 * h)
    return every(
        stages=near(np.array(list(model.staged_predict(X))), np.array(stages), tolerance=1e-8),
        last=near(model.predict(X), stages[-1], tolerance=1e-8),
        weighted=near(weighted.fit(X, y, weight).predict(X), G, tolerance=1e-8),
        huber=near(robust.predict(X), np.median(y) + 0.3 * moved, tolerance=1e-8),
        written=near(written.predict(X), stages[-1], tolerance=1e-6),
        slopes=near(boosting.pseudo_residuals(loss, y, at), slopes, tolerance=1e-5),
    )


@oracle(
    *(f"margin.trees.{name}" for name in ("RandomForestRegressor", "RandomForestClassifier", "ExtraTreesClassifier"))
)
def forests_of_members(seed: int) -> Verdict:
    """Without draws of rows and columns a forest is one tree of scikit-learn's; with them, the mean of its members."""
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    y = X[:, 0] * 2 + rng.normal(size=80)
    kind = np.digitize(y, [-0.5, 0.7])
    plain = ours.RandomForestRegressor(3, bootstrap=False, max_features=None, max_depth=3, random_state=seed).fit(X, y)
    tree = theirs.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    forests = [
        family(6, max_depth=4, random_state=seed).fit(X, kind)
        for family in (ours.RandomForestClassifier, ours.ExtraTreesClassifier)
    ]
    means = [np.mean([member.predict_proba(new) for member in forest.estimators_], axis=0) for forest in forests]
    return every(
        one_tree=near(plain.predict(new), tree.predict(new), tolerance=1e-9),
        forest=near(forests[0].predict_proba(new), means[0], tolerance=1e-6),
        extra=near(forests[1].predict_proba(new), means[1], tolerance=1e-6),
        labels=equal(forests[0].predict(new).tolist(), means[0].argmax(axis=1).tolist()),
    )


@oracle("margin.trees.ID3")
def questions_by_gain(seed: int) -> Verdict:
    """At the root the column of the largest gain; rows of one category that are pure end there."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(list("abc"), 60), rng.choice(list("xy"), 60), rng.choice(list("pqrs"), 60)])
    y = np.where((X[:, 0] == "a") | (rng.random(60) < 0.15), "yes", "no")
    gains = []
    for column in X.T:
        tables = [np.unique(y[column == value], return_counts=True)[1] for value in np.unique(column)]
        inside = sum(table.sum() / 60 * bits(table) for table in tables)
        gains.append(bits(np.unique(y, return_counts=True)[1]) - inside)
    root = next(iter(ours.ID3(max_depth=1).iterate(X, y)))
    copies = rng.integers(1, 4, 60)  # a weight counts copies
    copied = next(iter(ours.ID3(max_depth=1).iterate(np.repeat(X, copies, axis=0), np.repeat(y, copies))))
    heavy = next(iter(ours.ID3(max_depth=1).iterate(X, y, copies)))
    large = [np.repeat(column, copies) for column in X.T]
    labels, total = np.repeat(y, copies), copies.sum()
    inside = [
        sum(
            np.sum(column == v) / total * bits(np.unique(labels[column == v], return_counts=True)[1])
            for v in set(column)
        )
        for column in large
    ]
    heavy_gains = bits(np.unique(labels, return_counts=True)[1]) - np.array(inside)
    model = ours.ID3(max_depth=1).fit(X, y)
    best = X[:, int(np.argmax(gains))]
    commonest = {
        v: max(("no", "yes"), key=lambda label, v=v: np.sum((best == v) & (y == label))) for v in np.unique(best)
    }
    counts = {v: np.sum((best == v) & (y == "yes")) * 2 != np.sum(best == v) for v in np.unique(best)}
    clear = np.array([counts[v] for v in best])
    return every(
        entropy=near(root["entropy"], bits(np.unique(y, return_counts=True)[1]), tolerance=1e-9),
        gains=near([root[f"gain x{k}"] for k in range(3)], gains, tolerance=1e-9),
        weighted=near([heavy[f"gain x{k}"] for k in range(3)], heavy_gains, tolerance=1e-9),
        as_copies=equal(heavy.values, copied.values),
        answers=equal(model.predict(X)[clear].tolist(), [commonest[v] for v in best[clear]]),
    )


@oracle(*(f"margin.trees.multiway.{name}" for name in ("c45_growing.divide", "category_tree.class_fractions",
                                                      "thresholds.threshold_scan")))  # fmt: skip
def rows_that_go_several_ways(seed: int) -> Verdict:
    """Rows of unequal weight with missing values: parts of a row, fractions at a leaf, the best cut by trying all."""
    rng = np.random.default_rng(seed)
    X, y, weight = rng.integers(0, 3, size=(30, 1)).astype(float), rng.integers(0, 2, 30), rng.uniform(0.3, 2.5, 30)
    X[rng.random(30) < 0.25] = np.nan
    known = ~np.isnan(X[:, 0])
    share = [weight[known & (X[:, 0] == v)].sum() / weight[known].sum() for v in range(3)]
    branches, parts = c45_growing.divide(
        X, c45_growing.PartialRows(np.arange(30), weight), c45_growing.Split(0, np.nan, 0.1, 0.1)
    )
    weights = np.zeros((3, 30))
    for k, part in enumerate(parts):
        weights[k, part.number] = part.weight
    expected = np.array([np.where(known, (X[:, 0] == v) * weight, share[v] * weight) for v in range(3)])
    model = ours.C45(confidence=None, min_samples_leaf=0.01, max_depth=1)
    table = np.where(known, np.where(known, X[:, 0], 0).astype(int).astype(str), None).astype(object)[:, None]
    model.fit(table, y, weight)
    at = np.array([[expected[v][y == c].sum() for c in (0, 1)] for v in range(3)])
    per_leaf = at / at.sum(axis=1, keepdims=True)
    unknown = sum(at[v].sum() / at.sum() * per_leaf[v] for v in range(3))
    asked = model.predict_proba(np.array([["0"], ["1"], ["2"], [None]], dtype=object))
    x, cuts = rng.normal(size=12), rng.integers(0, 2, 12)
    u = rng.uniform(0.5, 2.0, 12)
    gains = {}
    for low, high in zip(np.sort(x)[:-1], np.sort(x)[1:]):
        sides = [np.array([u[side & (cuts == c)].sum() for c in (0, 1)]) for side in (x <= low, x > low)]
        gains[low, high] = bits(sum(sides)) - sum(side.sum() / u.sum() * bits(side) for side in sides)
    scan = thresholds.threshold_scan(x[:, None], cuts, u, 2, 0.01, "gain")
    best = max(gains, key=gains.__getitem__)
    return every(
        branches=equal(branches.tolist(), [0, 1, 2]),
        parts=near(weights, expected, tolerance=1e-12),
        fractions=near(asked[:3], per_leaf, tolerance=1e-9),
        missing=near(asked[3], unknown, tolerance=1e-9),
        gain=near(scan.gain[0], gains[best], tolerance=1e-9),
        cut=equal(bool(best[0] <= scan.value[0] < best[1]), True),
    )


@oracle("margin.trees.cart.pruning.prune_by_error", "margin.trees.error_based_pruning",
        "margin.trees.RandomForestClassifier.votes")  # fmt: skip
def leaves_that_do_not_pay(seed: int) -> Verdict:
    """Every way to prune a small tree, by its errors on held-back rows; upper limits of errors; votes one by one."""
    rng = np.random.default_rng(seed)
    X, held = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
    y, truth = (rng.integers(0, 3, n) for n in (60, 50))
    tree = ours.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)._tree

    def errors(arrays: Any, node: int, rows: np.ndarray) -> tuple[float, int]:
        """The fewest errors below a node of any pruned tree, and the fewest leaves that have them."""
        own = float(np.sum(truth[rows] != arrays["value"][node].argmax()))
        if arrays["feature"][node] < 0:
            return own, 1
        left = held[rows, arrays["feature"][node]] <= arrays["threshold"][node]
        parts = [errors(arrays, arrays[side][node], rows[go]) for side, go in (("left", left), ("right", ~left))]
        below = sum(part[0] for part in parts)
        return (own, 1) if own <= below else (below, sum(part[1] for part in parts))

    pruned = pruning.prune_by_error(tree, held, truth)
    counted = float(np.sum(pruned["value"][apply(pruned, held)].argmax(axis=1) != truth))
    forest = ours.RandomForestClassifier(5, max_depth=3, random_state=seed).fit(X, y)
    votes = np.zeros((50, 3), dtype=int)
    for member in forest.estimators_:
        votes[np.arange(50), member.predict_proba(held).argmax(axis=1)] += 1
    table = rng.choice(list("abc"), size=(40, 2)).astype(object)
    grown = ours.C45(confidence=None, min_samples_leaf=1).fit(table, rng.integers(0, 2, 40))
    cut = ours.error_based_pruning(grown.tree_, 0.25)

    def pessimist(arrays: Any, node: int) -> tuple[float, int]:
        n, wrong = arrays["value"][node].sum(), arrays["value"][node].sum() - arrays["value"][node].max()
        own = n * (stats.beta.ppf(0.75, wrong + 1, n - wrong) if wrong < n else 1.0)
        first, count = arrays["first_child"][node], arrays["n_children"][node]
        if not count:
            return own, 1
        parts = [pessimist(arrays, child) for child in range(first, first + count)]
        below = sum(part[0] for part in parts)
        return (own, 1) if own <= below + 1e-9 else (below, sum(part[1] for part in parts))

    return every(
        errors=near(counted, errors(tree, 0, np.arange(50))[0], tolerance=0.0),
        leaves=equal(int(n_leaves(pruned)), errors(tree, 0, np.arange(50))[1]),
        votes=equal(forest.votes(held).tolist(), votes.tolist()),
        pessimist=equal(int((cut["n_children"] == 0).sum()), pessimist(grown.tree_, 0)[1]),
    )
