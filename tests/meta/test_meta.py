"""Episodes, similarity, inner loops, descriptions and transfer."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import NearestCentroid
from torch.nn import functional

import margin
from margin.meta.domains import coral, domain_adapt, importance_weights, reverse_gradient
from margin.meta.embedding_network import embedding_network
from margin.meta.episodes import sample_episode
from margin.meta.few_shot import FewShotLearner
from margin.meta.inner_loop import adapt, adapted_loss, adapted_losses, reptile_gradients
from margin.meta.objectives import METHODS
from margin.meta.similarity import matching_log_probabilities, nearest_support, prototype_scores
from margin.meta.transfer import accuracy, fine_tune, pretrain_then_finetune
from margin.meta.zero_shot import ZeroShot
from margin.neural.nets.mlp import MLP
from margin.neural.weights import build


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


def test_an_episode_holds_no_row_twice():
    y = np.repeat(np.arange(6), 10)
    e = sample_episode(np.arange(60), y, 4, 2, 3, random_state=1)
    assert len({*e.support.tolist(), *e.query.tolist()}) == 4 * 5
    np.testing.assert_array_equal(y[e.support], e.classes[e.support_labels])
    np.testing.assert_array_equal(y[e.query], e.classes[e.query_labels])
    listed = sample_episode([f"row {i}" for i in range(60)], y, 2, 1, 1, random_state=0)
    assert all(item.startswith("row") for item in listed.support)


@pytest.mark.parametrize("arguments", [(1, 1, 1), (3, 0, 1), (7, 1, 1), (2, 5, 6)])
def test_impossible_episodes_are_named(arguments):
    with pytest.raises(ValueError, match="needs k at least 2"):
        sample_episode(np.arange(60), np.repeat(np.arange(6), 10), *arguments, random_state=0)


def test_similarities_agree_with_loops():
    rng = np.random.default_rng(0)
    support, query = torch.from_numpy(rng.normal(size=(6, 3))), torch.from_numpy(rng.normal(size=(4, 3)))
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    got, log_p = prototype_scores(support, labels, query, 3), matching_log_probabilities(support, labels, query, 3)
    for i, q in enumerate(query):
        for c in range(3):
            center = support[labels == c].mean(dim=0)
            assert float(got[i, c]) == pytest.approx(-float(((q - center) ** 2).sum()))
        cosine = functional.cosine_similarity(q[None], support)
        p = torch.softmax(10 * cosine, dim=0)
        assert float(log_p[i, 1].exp()) == pytest.approx(float(p[[1, 4]].sum()))
        assert nearest_support(support, labels, q[None]) == labels[((support - q) ** 2).sum(dim=1).argmin()]


def test_second_order_gradients_agree_with_differences():
    net = build(lambda: MLP([1, 4, 1], "tanh"), 0, torch.float64)
    x, y = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None], torch.ones(5, 1, dtype=torch.float64)
    task = {"support": (x, y), "query": (x + 0.3, y * 0.5), "rate": 0.1, "steps": 2}

    def value():
        return adapted_loss(net, functional.mse_loss, **task)[0]

    weight = net.linears[0].weight
    (exact,) = torch.autograd.grad(value(), weight)
    (first,) = torch.autograd.grad(adapted_loss(net, functional.mse_loss, **task, second_order=False)[0], weight)
    with torch.no_grad():
        weight[1, 0] += 1e-6
    up = float(value().detach())
    with torch.no_grad():
        weight[1, 0] -= 2e-6
    difference = (up - float(value().detach())) / 2e-6
    assert float(exact[1, 0]) == pytest.approx(difference, rel=1e-5)
    assert abs(float(first[1, 0]) - difference) > 1e-4  # the first order leaves something out


def test_reptile_is_the_sum_of_the_inner_gradients():
    net = build(lambda: MLP([1, 4, 1], "tanh"), 0)
    x, y = torch.ones(3, 1), torch.zeros(3, 1)
    one = reptile_gradients(net, functional.mse_loss, x, y, rate=0.1, steps=1)
    exact = torch.autograd.grad(functional.mse_loss(net(x), y), list(net.parameters()))
    for got, gradient in zip(one.values(), exact):
        torch.testing.assert_close(got, 0.1 * gradient, atol=1e-6, rtol=1e-4)
    assert adapt(net, functional.mse_loss, x, y, rate=0.1, steps=3).keys() == dict(net.named_parameters()).keys()


@pytest.mark.parametrize("method", METHODS)
def test_new_classes_are_told_apart(method, digits):
    X, y = digits
    model = FewShotLearner(method, ways=3, hidden_layer_sizes=(32,), episodes=20, max_iter=2, random_state=0)
    model.fit(X[y < 6], y[y < 6])
    found = model.episode_accuracies(X[y >= 6], y[y >= 6], ways=3, shots=5, n_episodes=15)
    assert found.mean() > 1 / 3 + 4 * found.std() / np.sqrt(len(found))


@pytest.mark.parametrize("method", ["prototypical", "maml"])
def test_new_classes_cost_little_beside_the_nearest_mean_of_pixels(method, digits, tmp_path):
    X, y = digits
    model = FewShotLearner(method, max_iter=2, random_state=0).fit(X[y < 5], y[y < 5])
    found = model.episode_accuracies(X[y >= 5], y[y >= 5], ways=5, shots=5, n_episodes=30)
    rng, means = np.random.default_rng(0), []
    for _ in range(30):
        e = sample_episode(X[y >= 5], y[y >= 5], 5, 5, 5, rng)
        means.append(np.mean(NearestCentroid().fit(e.support, e.support_labels).predict(e.query) == e.query_labels))
    assert found.mean() > np.mean(means) - 0.1
    margin.save(model, tmp_path / "few.margin")
    again = margin.load(tmp_path / "few.margin")
    np.testing.assert_array_equal(again.predict(X[:9], X[:40], y[:40] % 5), model.predict(X[:9], X[:40], y[:40] % 5))


def test_a_stopped_training_on_episodes_goes_on(digits):
    X, y = digits
    make = lambda: FewShotLearner(ways=3, episodes=4, max_iter=2, record_steps=1, random_state=3)  # noqa: E731
    whole, first, second = make().fit(X[:300], y[:300]), make(), make()
    for record in first.iterate(X[:300], y[:300]):
        if record.iteration == 3:
            break
    list(second.iterate(X[:300], y[:300], state=first.get_state()))
    for name in whole.weights_:
        np.testing.assert_array_equal(second.weights_[name], whole.weights_[name])


def test_frozen_weights_do_not_move_by_a_bit(digits):
    X, y = digits[0][:100] / 16, digits[1][:100]
    net = build(lambda: MLP([64, 8, 8, 10]), 0)
    tuned = fine_tune(net, X, y, freeze=["linears.0"], epochs=2)
    assert torch.equal(tuned.linears[0].weight, net.linears[0].weight)
    assert not torch.equal(tuned.linears[1].weight, net.linears[1].weight)
    with pytest.raises(ValueError, match="none begins with 'body'"):
        fine_tune(net, X, y, freeze=["body"])


def test_coral_moves_mean_and_covariance():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(200, 3)), rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)) + 2
    moved = coral(source, target, shrinkage=0)
    np.testing.assert_allclose(np.cov(moved.T), np.cov(target.T), atol=1e-10)
    np.testing.assert_allclose(moved.mean(axis=0), target.mean(axis=0), atol=1e-12)


def test_weights_are_ratios_of_densities():
    rng = np.random.default_rng(0)
    source, target = rng.normal(size=(3000, 1)), rng.normal(size=(3000, 1)) + 0.5
    exact = np.exp(0.5 * source[:, 0])
    got = importance_weights(source, target)
    assert np.corrcoef(got, exact)[0, 1] > 0.99


def test_a_reversed_gradient_has_the_other_sign():
    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad(reverse_gradient(x, 3.0) ** 2, x)
    assert float(g) == -12.0


def test_domain_methods_are_named():
    with pytest.raises(ValueError, match="none, coral, importance, dann"):
        domain_adapt((np.ones((3, 1)), [0, 1, 0]), np.ones((3, 1)), method="magic")


def test_zero_shot_needs_attributes():
    with pytest.raises(ValueError, match="2 classes or more"):
        ZeroShot({"a": [1.0]}).fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match="got none for 'z'"):
        ZeroShot({"a": [1.0], "b": [0.0]}).fit([[1.0], [2.0]], ["a", "z"])


def few_shot(**params):
    return FewShotLearner(ways=2, queries=2, hidden_layer_sizes=(8,), episodes=5, max_iter=2, random_state=0, **params)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: few_shot().fit(X, np.zeros(len(X))), "ways=2 classes of shots .* got 1 such class in"),
        (lambda X, y: few_shot().fit(X, y).predict(X, X[:2], [0, 0]), "2 classes or more .* got 1 class, 2 labels"),
        (lambda X, y: few_shot(method="maml").fit(X, y).predict(X), "'maml' has no embedding .* support set"),
        (lambda X, y: few_shot(method="maml").fit(X, y).predict(X, X[:3], [0, 1, 2]), "at most ways=2 .* got 3"),
        (lambda X, y: few_shot(early_stopping=True).fit(X, y), "holds out 2 classes and leaves 1 for ways=2"),
    ],
)  # fmt: skip
def test_mistakes_with_support_sets_are_named(call, message):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        call(rng.normal(size=(30, 3)), np.arange(30) % 3)


@pytest.mark.parametrize("method", ["prototypical", "maml", "reptile"])
def test_held_out_classes_end_a_training(method, digits):
    X, y = digits
    model = few_shot(method=method, early_stopping=True, n_iter_no_change=1, tol=10.0).set_params(max_iter=20)
    model.fit(X[:400], y[:400])
    assert model.n_iter_ <= 3


def test_episodes_come_again_only_if_asked(digits):
    from margin.meta.episodes import EpisodeBatches, EpisodeRows

    rows = EpisodeRows(digits[0][:200].astype(np.float32), digits[1][:200], (3, 1, 2))
    fresh, same = (EpisodeBatches(rows, 0, steps_per_epoch=2, batch_size=2, fresh=f) for f in (True, False))
    drawn = {name: [batches.draw().tensors[0] for _ in range(4)] for name, batches in (("f", fresh), ("s", same))}
    assert drawn["f"][0].shape == (2, 3, 64)
    assert torch.equal(drawn["s"][0], drawn["s"][2])
    assert not torch.equal(drawn["f"][0], drawn["f"][2])
    assert not torch.equal(drawn["f"][0], drawn["f"][1])


def test_zero_shot_is_a_ridge_regression_to_attributes(digits):
    from sklearn.linear_model import Ridge

    X, y = digits
    vectors = {int(c): [c % 2, c // 2, float(c > 4)] for c in range(10)}
    seen = y < 8
    model = ZeroShot(vectors, alpha=2.0).fit(X[seen], y[seen])
    ridge = Ridge(alpha=2.0).fit(X[seen], np.array([vectors[c] for c in y[seen]]))
    np.testing.assert_allclose(model.predict_attributes(X[:50]), ridge.predict(X[:50]), atol=1e-8)
    assert model.classes_.tolist() == list(range(10))
    assert set(model.predict(X[~seen], [8, 9])) <= {8, 9}
    with pytest.raises(ValueError, match="classes must have attributes; got 12"):
        model.predict(X[:2], [8, 12])


def test_layers_on_images_are_an_embedding_too(digits, tmp_path):
    X, y = digits
    model = FewShotLearner(
        ways=3, encoder=["conv 4 3 norm", "pool 2", "conv 8 3", "pool 2"], image_shape=(8, 8), n_components=8,
        episodes=15, max_iter=2, random_state=0,
    )  # fmt: skip
    model.fit(X[y < 6], y[y < 6])
    assert model.episode_accuracies(X[y >= 6], y[y >= 6], ways=3, shots=1, n_episodes=20).mean() > 0.5
    margin.save(model, tmp_path / "few.margin")
    again = margin.load(tmp_path / "few.margin")
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
    colored = embedding_network(encoder=["conv 2 1"], shape=[3, 2, 2], n_outputs=1)
    assert colored(torch.zeros(5, 12)).shape == (5, 1)
    with pytest.raises(ValueError, match=r"image_shape must be .* with a product of 64; got \(8, 7\)"):
        model.set_params(image_shape=(8, 7)).fit(X, y)


@pytest.mark.parametrize("second_order", [True, False])
def test_many_tasks_at_once_are_the_tasks_one_by_one(second_order):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()
        x, y, new_x, new_y = (torch.randn(4, 6, size, dtype=torch.float64) for size in (2, 1, 2, 1))
    options = {"rate": 0.1, "steps": 2, "second_order": second_order}
    together = adapted_losses(net, functional.mse_loss, (x, y), (new_x, new_y), **options)
    tasks = zip(zip(x, y), zip(new_x, new_y))
    alone = torch.stack([adapted_loss(net, functional.mse_loss, *task, **options)[0] for task in tasks])
    torch.testing.assert_close(together, alone)
    weights = list(net.parameters())
    for got, wanted in zip(*(torch.autograd.grad(losses.sum(), weights) for losses in (together, alone))):
        torch.testing.assert_close(got, wanted)


def test_rows_so_far_away_that_distances_overflow_are_refused():
    X, y = load_iris(return_X_y=True)
    model = FewShotLearner(ways=2, shots=2, queries=2, episodes=4, max_iter=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X * 1e12)).all()
    with pytest.raises(ValueError, match="FewShotLearner: X in standard deviations of the training rows must lie"):
        model.predict_proba(X * 1e30)
    with pytest.raises(ValueError, match="a label per row; got 2 classes, 2 labels and 0 rows"):
        model.predict(X, 3.0, [0, 1])


def test_fine_tuning_takes_a_fitted_classifier_to_other_classes():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    source = margin.MLPClassifier((32,), max_iter=15, random_state=0).fit(X[y < 5], y[y < 5])
    new, names = X[y >= 5], np.array(list("abcdefghij"))[y[y >= 5]]
    tuned = fine_tune(source, new[:100], names[:100], epochs=10, random_state=1)
    assert tuned.classes_.tolist() == list("fghij")
    assert tuned.score(new[100:], names[100:]) > 0.6
    assert source.classes_.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(tuned.center_, source.center_)
    still = fine_tune(source, new[:100], names[:100], epochs=1, rate=1e-12, random_state=1)
    first = next(iter(source.weights_))
    np.testing.assert_allclose(still.weights_[first], source.weights_[first], atol=1e-6)
    with pytest.raises(ValueError, match=r"margin.meta.fine_tune starts a model of other classes from this one"):
        source.set_params(warm_start=True).fit(new[:50], names[:50])
    with pytest.raises(ValueError, match=r"^fine_tune: module must be .*; got an unfitted MLPClassifier"):
        fine_tune(margin.MLPClassifier(), new, names)
    with pytest.raises(ValueError, match=r"^fine_tune: freeze and weight are for torch Modules; got a MLPClassifier"):
        fine_tune(source, new, names, freeze=["linears.0"])


def test_a_network_of_another_task_does_not_lose_to_one_from_scratch():
    X, y = load_digits(return_X_y=True)
    target, labels = X[y >= 5], y[y >= 5] - 5
    gains = []
    for seed in range(3):
        some = np.random.default_rng(seed).permutation(len(labels))
        few, rest = some[:50], some[50:]
        tuned, scratch = pretrain_then_finetune((X[y < 5], y[y < 5]), (target[few], labels[few]), random_state=seed)
        gains.append(accuracy(tuned, target[rest], labels[rest]) - accuracy(scratch, target[rest], labels[rest]))
    assert np.mean(gains) > -0.05  # with its first layer frozen it lost more


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ((np.zeros((3, 2)), [0, 1, 0]), np.zeros((3, 4)), r"as many columns; got \(3, 2\) and \(3, 4\)"),
        ((np.zeros((3, 2)), ["a", "b", "a"]), np.zeros((3, 2)), "labels of source must be integers from 0 on"),
        ((np.zeros((3, 2)), [0, 1]), np.zeros((3, 2)), "one for each of 3 rows"),
        (np.zeros((3, 2)), np.zeros((3, 2)), "source must be a pair of rows and labels"),
        ((np.full((3, 2), np.nan), [0, 1, 0]), np.zeros((3, 2)), "source rows must be finite"),
    ],
)
def test_domains_that_do_not_fit_are_refused(source, target, sentence):
    with pytest.raises(ValueError, match=f"^domain_adapt: .*{sentence}"):
        domain_adapt(source, target)


def nearest_centroid(e):
    classes = np.unique(e.support_labels)
    centroids = np.stack([e.support[e.support_labels == c].mean(axis=0) for c in classes])
    return classes[((e.query[:, None] - centroids) ** 2).sum(axis=-1).argmin(axis=1)]


@pytest.mark.parametrize("method", ["prototypical", "matching"])
def test_images_of_new_classes_are_told_apart_as_well_as_by_their_pixels(method, tmp_path):
    X, y = load_digits(return_X_y=True)
    model = FewShotLearner(method, image_shape=(8, 8), max_iter=4, random_state=0).fit(X[y < 5], y[y < 5])
    rng = np.random.default_rng(0)
    episodes = [sample_episode(X[y >= 5], y[y >= 5], 5, 5, 5, rng) for _ in range(40)]
    ours = np.mean([model.predict(e.query, e.support, e.support_labels) == e.query_labels for e in episodes])
    pixels = np.mean([nearest_centroid(e) == e.query_labels for e in episodes])
    assert ours > pixels - 0.05
    margin.save(model, tmp_path / "few.safetensors")
    loaded = margin.load(tmp_path / "few.safetensors")
    np.testing.assert_array_equal(loaded.embed(X[:20]), model.embed(X[:20]))


def test_a_pixel_that_seldom_differs_counts_no_more_than_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 3] = 0.0
    X[0, 3] = 0.01
    model = FewShotLearner(ways=2, queries=2, image_shape=(2, 2), episodes=2, max_iter=1, random_state=0)
    model.fit(X, np.arange(60) % 3)
    assert len(set(model.scale_.tolist())) == 1
    assert FewShotLearner(ways=2, queries=2, episodes=2, max_iter=1).fit(X, np.arange(60) % 3).scale_[3] < 0.01


def test_a_shape_that_is_not_the_rows_is_refused_without_an_encoder_too():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match=r"image_shape must be .* with a product of 64; got \(8, 7\)"):
        FewShotLearner(image_shape=(8, 7)).fit(X, y)
