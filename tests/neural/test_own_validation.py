"""Weights of classes, and rows of a user's own that judge every epoch, in networks of every kind of input."""

import numpy as np
import pytest

import margin
from margin.graphs.generators import grid, ring

RNG = np.random.default_rng(0)
Y = np.array(["a", "b"])[(np.arange(60) % 3 == 0).astype(int)]
OTHER_Y = np.array(["b", "a"] * 10)
SHIFT, OTHER_SHIFT = (Y == "b") * 1.0, (OTHER_Y == "b") * 1.0
ROWS, OTHER_ROWS = RNG.normal(size=(60, 3)) + SHIFT[:, None], RNG.normal(size=(20, 3)) + OTHER_SHIFT[:, None]
IMAGES = RNG.normal(size=(60, 8, 8)).astype(np.float32) + SHIFT[:, None, None]
OTHER_IMAGES = RNG.normal(size=(20, 8, 8)).astype(np.float32) + OTHER_SHIFT[:, None, None]
WORDS = {"a": ["red", "blue"], "b": ["cat", "dog"]}
TEXTS = [f"{WORDS[y][i % 2]} thing" for i, y in enumerate(Y)]
OTHER_TEXTS = [f"{WORDS[y][i % 2]} one" for i, y in enumerate(OTHER_Y)]
SERIES = [RNG.normal(size=(4 + i % 3, 2)) + shift for i, shift in enumerate(SHIFT)]
OTHER_SERIES = [RNG.normal(size=(3 + i % 4, 2)) + shift for i, shift in enumerate(OTHER_SHIFT)]
SETTINGS = {"max_iter": 4, "random_state": 0}


def classifiers():
    return {
        "rows": (margin.MLPClassifier(hidden_layer_sizes=(8,), **SETTINGS), ROWS, OTHER_ROWS),
        "tables": (margin.TabularNetClassifier(n_networks=2, **SETTINGS), ROWS, OTHER_ROWS),
        "images": (margin.CNNClassifier(["conv 4 3", "pool 2"], **SETTINGS), IMAGES, OTHER_IMAGES),
        "patches": (margin.VisionTransformer(d_model=16, n_blocks=1, **SETTINGS), IMAGES, OTHER_IMAGES),
        "texts": (margin.TextClassifier(**SETTINGS), TEXTS, OTHER_TEXTS),
        "series": (margin.SequenceClassifier(hidden_size=8, **SETTINGS), SERIES, OTHER_SERIES),
        "modules": (margin.NeuralClassifier(**SETTINGS), ROWS, OTHER_ROWS),
    }


def regressors():
    target, other = ROWS[:, 0] * 3 + 7, OTHER_ROWS[:, 0] * 3 + 7
    return {
        "rows": (margin.MLPRegressor(hidden_layer_sizes=(8,), **SETTINGS), ROWS, target, OTHER_ROWS, other),
        "tables": (margin.TabularNetRegressor(n_networks=2, **SETTINGS), ROWS, target, OTHER_ROWS, other),
        "images": (margin.CNNRegressor(["conv 4 3"], **SETTINGS), IMAGES, target, OTHER_IMAGES, other),
        "series": (margin.SequenceRegressor(hidden_size=8, **SETTINGS), SERIES, target, OTHER_SERIES, other),
        "modules": (margin.NeuralRegressor(**SETTINGS), ROWS, target, OTHER_ROWS, other),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", list(classifiers()))
def test_the_last_record_tells_the_score_of_own_rows(kind):
    model, X, other = classifiers()[kind]
    model.set_params(early_stopping=False)
    *_, last = model.iterate(X, Y, validation_data=(other, OTHER_Y))
    proba = model.predict_proba(other)
    if kind != "tables":  # where every network is judged alone
        loss = float(np.mean(-np.log(proba[np.arange(len(OTHER_Y)), (OTHER_Y == "b").astype(int)])))
        assert last["valid_loss"] == pytest.approx(loss, rel=1e-4)
        assert last["valid_score"] == pytest.approx(model.score(other, OTHER_Y))
    assert len(model.validation_scores_) == model.n_iter_ == 4
    plain, *_ = classifiers()[kind]
    plain.set_params(early_stopping=False).fit(X, Y)
    assert plain.validation_scores_ is None
    assert all(np.array_equal(plain.weights_[name], array) for name, array in model.weights_.items())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", list(regressors()))
def test_own_rows_of_regressors_are_scored_in_their_units(kind):
    model, X, y, other, other_y = regressors()[kind]
    *_, last = model.set_params(early_stopping=False).iterate(X, y, validation_data=(other, other_y))
    assert len(model.validation_scores_) == 4
    if kind != "tables":
        assert last["valid_score"] == pytest.approx(model.score(other, other_y), abs=1e-4)
    with pytest.raises(ValueError, match="validation_data must have 1 targets per row like y; got 2"):
        model.fit(X, y, validation_data=(other, np.stack([other_y, other_y], axis=1)))


def test_own_rows_end_a_training_and_the_best_epoch_is_kept():
    model = margin.MLPClassifier(hidden_layer_sizes=(8,), early_stopping=True, n_iter_no_change=3, max_iter=200,
                                 learning_rate_init=0.1, random_state=0)  # fmt: skip
    wrong = np.where(OTHER_Y == "a", "b", "a")  # the better the rows are learned, the worse it gets
    model.fit(ROWS, Y, validation_data=(OTHER_ROWS, wrong))
    assert model.n_iter_ < 100
    assert model.score(OTHER_ROWS, wrong) == pytest.approx(max(model.validation_scores_))


def test_weights_of_own_rows_count_and_wrong_ones_are_refused():
    model = margin.MLPClassifier(hidden_layer_sizes=(8,), **SETTINGS)
    weight = np.arange(20.0)
    *_, last = model.iterate(ROWS, Y, validation_data=(OTHER_ROWS, OTHER_Y, weight))
    assert last["valid_score"] == pytest.approx(model.score(OTHER_ROWS, OTHER_Y, sample_weight=weight))
    before = model.predict(OTHER_ROWS).tolist()
    for data, words in (
        (OTHER_ROWS, r"validation_data must be \(X, y\) or \(X, y, sample_weight\); got"),
        ((OTHER_ROWS, None), "validation_data must have a y"),
        ((OTHER_ROWS, ["c"] * 20), r"validation_data must have classes of y, .*; got .*'c'"),
        ((OTHER_ROWS[:, :2], OTHER_Y), "X has 2 features"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(ROWS, Y, validation_data=data)
    assert model.predict(OTHER_ROWS).tolist() == before


def test_a_fit_with_own_rows_goes_on_exactly():
    own = (OTHER_TEXTS, OTHER_Y)
    whole = margin.TextClassifier(early_stopping=True, **SETTINGS).fit(TEXTS, Y, validation_data=own)
    first = margin.TextClassifier(early_stopping=True, **SETTINGS)
    records = first.iterate(TEXTS, Y, validation_data=own)
    next(records), next(records)
    state = first.get_state()
    records.close()
    second = margin.TextClassifier(early_stopping=True, **SETTINGS)
    for _ in second.iterate(TEXTS, Y, validation_data=own, state=state):
        pass
    assert second.validation_scores_ == whole.validation_scores_
    assert all(np.array_equal(second.weights_[name], array) for name, array in whole.weights_.items())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", list(classifiers()))
def test_weights_of_classes_are_weights_of_their_rows(kind):
    model, X, _ = classifiers()[kind]
    by_class = model.set_params(class_weight={"b": 3.0}, early_stopping=False).fit(X, Y)
    weights = {name: array.copy() for name, array in by_class.weights_.items()}
    by_row = model.set_params(class_weight=None).fit(X, Y, sample_weight=np.where(Y == "b", 3.0, 1.0))
    assert all(np.array_equal(by_row.weights_[name], array) for name, array in weights.items())
    unweighted = model.fit(X, Y)
    assert any(not np.array_equal(unweighted.weights_[name], array) for name, array in weights.items())
    with pytest.raises(ValueError, match="class_weight names 'z', which is not a class of y"):
        model.set_params(class_weight={"z": 2.0}).fit(X, Y)


def test_a_class_of_graphs_without_weight_is_not_learned():
    graphs = [ring(4 + i % 9) if y == "a" else grid(2, 3 + i % 9) for i, y in enumerate(Y)]
    model = margin.GraphClassifier(class_weight={"b": 0.0}, max_iter=20, random_state=0).fit(graphs, Y)
    assert set(model.predict(graphs)) == {"a"}
    assert set(model.set_params(class_weight="balanced").fit(graphs, Y).predict(graphs)) == {"a", "b"}


def test_a_class_of_weight_two_counts_like_its_nodes_twice():
    def lonely(rows):
        return margin.graphs.Graph(edges=np.zeros((2, 0), dtype=np.int64), node_features=rows.astype(np.float32))

    settings = {"early_stopping": False, "max_iter": 5, "alpha": 0.0, "dropout": 0.0, "random_state": 0}
    b = Y == "b"
    weighted = margin.NodeClassifier(class_weight={"b": 2.0}, **settings).fit(lonely(ROWS), Y)
    twice = margin.NodeClassifier(**settings).fit(lonely(np.concatenate([ROWS, ROWS[b]])), np.concatenate([Y, Y[b]]))
    plain = margin.NodeClassifier(**settings).fit(lonely(ROWS), Y)
    other = lonely(OTHER_ROWS)
    np.testing.assert_allclose(weighted.predict_proba(other), twice.predict_proba(other), atol=1e-3)
    assert np.abs(weighted.predict_proba(other) - plain.predict_proba(other)).max() > 5e-3


SENTENCES, TAGS = ["Ann saw Rome", "Bob left Paris"] * 6, ["P O L", "P O L"] * 6


def test_own_sentences_graphs_and_nodes_judge_every_epoch():
    tagger = margin.TokenTagger(d_model=8, n_heads=2, hidden_size=8, **SETTINGS)
    tagger.fit(SENTENCES, TAGS, validation_data=(["Eve saw Oslo"], ["P O L"]))
    assert tagger.validation_scores_[-1] == pytest.approx(tagger.score(["Eve saw Oslo"], ["P O L"]))
    with pytest.raises(ValueError, match="validation_data must have tags of y"):
        tagger.fit(SENTENCES, TAGS, validation_data=(["Eve saw Oslo"], ["P O X"]))
    graphs = [ring(n) for n in (3, 4, 5, 6)] * 4
    labels = np.array([len(graph) > 4 for graph in graphs])
    more, their = [ring(n) for n in (7, 3, 9)], np.array([True, False, True])
    classifier = margin.GraphClassifier(**SETTINGS)
    *_, last = classifier.iterate(graphs, labels, validation_data=(more, their))
    loss = -np.log(classifier.predict_proba(more)[np.arange(3), their.astype(int)]).mean()
    assert last["valid_loss"] == pytest.approx(loss, rel=1e-4)
    regressor = margin.GraphRegressor(**SETTINGS)
    *_, last = regressor.iterate(graphs, labels * 3.0, validation_data=(more, their * 3.0))
    errors = (regressor.predict(more) - their * 3.0) / regressor.target_scale_
    assert last["valid_loss"] == pytest.approx(0.5 * np.mean(errors**2), rel=1e-4)
    net = grid(3, 3)
    y = np.arange(9) % 2
    nodes = margin.NodeClassifier(**SETTINGS)
    *_, last = nodes.iterate(net, y, [0, 1, 2, 3], validation_data=(net, np.where(np.arange(9) > 4, y, -1)))
    p = nodes.predict_proba(net)[np.arange(9), y]
    assert last["valid_loss"] == pytest.approx(-np.log(p[5:]).mean(), rel=1e-4)


@pytest.mark.parametrize("kind", ["sentences", "graphs", "nodes"])
def test_a_weight_of_zero_is_a_row_that_is_not_there(kind):
    if kind == "sentences":
        make, X, y = lambda: margin.TokenTagger(d_model=8, n_heads=2, hidden_size=8, **SETTINGS), SENTENCES, TAGS
        kept = np.arange(12) % 3 > 0
    elif kind == "graphs":
        make, X = lambda: margin.GraphClassifier(**SETTINGS), [ring(n) for n in (3, 4, 5, 6)] * 3
        y, kept = [len(graph) > 4 for graph in X], np.arange(12) % 3 > 0
    else:
        make, X, y = lambda: margin.NodeClassifier(**SETTINGS), grid(3, 4), np.arange(12) % 2
        kept = np.arange(12) % 3 > 0
    weighted = make().fit(X, y, sample_weight=kept.astype(float))
    if kind == "nodes":
        rest = make().fit(X, y, np.flatnonzero(kept))
    else:
        rest = make().fit(*([rows[i] for i in np.flatnonzero(kept)] for rows in (X, y)))
    assert all(np.array_equal(weighted.weights_[name], array) for name, array in rest.weights_.items())


def test_edges_have_weights_of_classes_and_own_validation():
    net = grid(4, 4)
    relation = np.where(net.edges[0] < net.edges[1], "on", "back")
    model = margin.LinkPredictor(class_weight={"on": 1, "back": 3}, early_stopping=False, **SETTINGS)
    *_, last = model.iterate(net, relation, validation_data=(grid(3, 3), np.full(grid(3, 3).edges.shape[1], "on")))
    loss = -np.log(model.predict_proba(grid(3, 3))[:, 1]).mean()
    assert last["valid_loss"] == pytest.approx(loss, rel=1e-4)
    weighed = margin.LinkPredictor(**SETTINGS).fit(net, relation, sample_weight=np.where(relation == "back", 3.0, 1.0))
    assert all(np.array_equal(weighed.weights_[name], array) for name, array in model.weights_.items())
    with pytest.raises(ValueError, match="class_weight needs the classes y of the edges"):
        model.fit(net)


@pytest.mark.parametrize("chain", [True, False])
def test_weights_of_tags_count_in_the_loss_of_their_words(chain):
    settings = {"chain": chain, "d_model": 8, "n_heads": 2, "hidden_size": 8, "early_stopping": False, **SETTINGS}
    plain = margin.TokenTagger(**settings).fit(SENTENCES, TAGS)
    same = margin.TokenTagger(class_weight={"O": 1.0}, **settings).fit(SENTENCES, TAGS)
    for name, array in plain.weights_.items():
        np.testing.assert_allclose(same.weights_[name], array, atol=1e-4)
    unseen = margin.TokenTagger(class_weight={"P": 0.0, "L": 0.0}, **{**settings, "max_iter": 30}).fit(SENTENCES, TAGS)
    assert {tag for tags in unseen.predict(SENTENCES) for tag in tags} == {"O"}
    with pytest.raises(ValueError, match="class_weight names 'X', which is not a class of y"):
        plain.set_params(class_weight={"X": 2.0}).fit(SENTENCES, TAGS)
    with pytest.raises(ValueError, match="class_weight must leave a tag of y with a weight above 0"):
        plain.set_params(class_weight=dict.fromkeys("POL", 0.0)).fit(SENTENCES, TAGS)


def test_rare_tags_are_found_when_all_tags_count_alike():
    rng = np.random.default_rng(1)
    words = [[f"w{k}" for k in rng.integers(4, size=5)] for _ in range(60)]
    tags = [["R" if word == "w0" and rng.random() < 0.3 else "O" for word in some] for some in words]
    settings = {"chain": False, "d_model": 8, "hidden_size": 8, "n_heads": 2, "max_iter": 15, "random_state": 0}

    def found(model):
        return sum(tag == "R" for some in model.fit(words, tags).predict(words) for tag in some)

    plain = found(margin.TokenTagger(**settings))
    balanced = found(margin.TokenTagger(class_weight="balanced", **settings))
    assert plain == 0  # seven of ten are none, so the likelier answer is always O
    assert balanced > sum(word == "w0" for some in words for word in some) // 2


def test_user_modules_that_give_one_loss_refuse_weighted_rows_to_judge_by():
    from torch.nn import functional

    model = margin.NeuralClassifier(criterion=functional.cross_entropy, **SETTINGS)
    *_, last = model.iterate(ROWS, Y, validation_data=(OTHER_ROWS, OTHER_Y))
    assert last["valid_score"] == pytest.approx(model.score(OTHER_ROWS, OTHER_Y))
    with pytest.raises(ValueError, match="criterion must give a loss per row where rows have weights"):
        model.fit(ROWS, Y, validation_data=(OTHER_ROWS, OTHER_Y, np.arange(1.0, 21.0)))


@pytest.mark.parametrize("kind", ["series", "modules"])
def test_fits_of_series_and_modules_with_own_rows_go_on_exactly(kind):
    _, X, other = classifiers()[kind]
    own = (other, OTHER_Y)
    whole, first, second = (classifiers()[kind][0].set_params(early_stopping=True) for _ in range(3))
    whole.fit(X, Y, validation_data=own)
    records = first.iterate(X, Y, validation_data=own)
    next(records), next(records)
    state = first.get_state()
    records.close()
    for _ in second.iterate(X, Y, validation_data=own, state=state):
        pass
    assert second.validation_scores_ == whole.validation_scores_
    assert all(np.array_equal(second.weights_[name], array) for name, array in whole.weights_.items())
