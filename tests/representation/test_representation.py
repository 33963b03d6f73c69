"""Losses against double loops and torch, metrics against differences, and what the estimators promise."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_similarity as sklearn_cosine

from margin.data.scenes import shape_scenes
from margin.representation import (
    CLIP,
    NeighborhoodComponentsAnalysis,
    SimCLR,
    clip_loss,
    cosine_similarity,
    curve_length,
    geodesic_curve,
    local_metric,
    nca_objective,
    nt_xent,
    pullback_metric,
    triplet_loss,
    two_views,
)
from margin.representation.riemannian import _energy, _slope
from margin.representation.views import blur, parse_view_change


def rows(seed, n=8, d=5):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d)))


def test_cosine_similarity_is_scikit_learns():
    a, b = rows(1), rows(2, 3)
    np.testing.assert_allclose(cosine_similarity(a, b).numpy(), sklearn_cosine(a, b), atol=1e-12)


@pytest.mark.parametrize("tau", [0.1, 1.0])
def test_nt_xent_is_the_double_loop(tau):
    z = rows(3)
    s = sklearn_cosine(z.numpy())
    expected = []
    for i in range(8):
        j = (i + 4) % 8
        below = sum(np.exp(s[i, k] / tau) for k in range(8) if k != i)
        expected.append(-np.log(np.exp(s[i, j] / tau) / below))
    np.testing.assert_allclose(nt_xent(z, tau).numpy(), expected, atol=1e-10)
    scale = torch.from_numpy(np.random.default_rng(4).uniform(0.1, 9, size=(8, 1)))
    torch.testing.assert_close(nt_xent(z * scale, tau), nt_xent(z, tau))
    with pytest.raises(ValueError, match="even number of rows"):
        nt_xent(z[:3])
    with pytest.raises(ValueError, match="temperature must be above 0"):
        nt_xent(z, 0.0)


def test_clip_loss_is_the_mean_of_both_directions():
    a, b = rows(5), rows(6)
    s = 7 * sklearn_cosine(a.numpy(), b.numpy())
    log_rows = np.diag(s) - np.log(np.exp(s).sum(axis=1))
    log_columns = np.diag(s) - np.log(np.exp(s).sum(axis=0))
    np.testing.assert_allclose(clip_loss(a, b, 7.0).numpy(), -(log_rows + log_columns) / 2, atol=1e-10)
    with pytest.raises(ValueError, match="one shape"):
        clip_loss(a, b[:2])


def test_triplet_loss():
    a, p, n = rows(7), rows(8), rows(9)
    expected = [
        max(0, ((x - y) ** 2).sum() - ((x - z) ** 2).sum() + 0.5) for x, y, z in zip(*(t.numpy() for t in (a, p, n)))
    ]
    np.testing.assert_allclose(triplet_loss(a, p, n, 0.5, reduction="none").numpy(), expected)


def test_views_repeat_with_the_seed_and_differ_from_each_other():
    x = torch.rand(4, 2, 8, 8, generator=torch.Generator().manual_seed(0))
    changes = ["flip", "shift 1", "crop", "cutout 3", "contrast 0.3", "blur 1", "noise"]
    first, second = two_views(x, changes, 5)
    again = two_views(x, changes, 5)
    assert torch.equal(first, again[0])
    assert torch.equal(second, again[1])
    assert not torch.equal(first, second)
    for wrong in ("turn", "flip 2", "crop x", "noise -1"):
        with pytest.raises(ValueError, match="got"):
            parse_view_change(wrong)


def test_blur_keeps_a_constant_and_lowers_the_variance():
    generator = torch.Generator().manual_seed(1)
    torch.testing.assert_close(blur(torch.full((3, 1, 9, 9), 2.0), 1.0, generator), torch.full((3, 1, 9, 9), 2.0))
    noise = torch.randn(30, 1, 9, 9, generator=generator)
    assert blur(noise, 2.0, generator).var() < 0.85 * noise.var()


def test_pullback_metric_measures_small_steps():
    def f(x):
        return torch.stack([x[0] * x[1], torch.sin(x[0]), x[1] ** 3])

    x, step = np.array([0.3, -1.2]), 1e-5 * np.array([0.6, 0.8])
    M = pullback_metric(f, x)
    moved = f(torch.from_numpy(x + step)) - f(torch.from_numpy(x))
    assert float(moved.square().sum()) / (step @ M @ step) == pytest.approx(1, abs=1e-4)


def half_circle(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, size=200)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.03 * rng.normal(size=(200, 2))


def test_slope_of_the_energy_is_its_gradient():
    metric = local_metric(half_circle(1), 0.2, 0.01)
    curve = np.linspace([-1.0, 0.0], [1.0, 0.1], 6) + 0.05 * np.random.default_rng(2).normal(size=(6, 2))
    error = check_grad(
        lambda flat: _energy(flat.reshape(6, 2), metric),
        lambda flat: _slope(flat.reshape(6, 2), metric).ravel(),
        curve.ravel(),
    )
    assert error < 1e-4 * np.linalg.norm(_slope(curve, metric))


def test_the_geodesic_bends_along_the_data():
    metric = local_metric(half_circle(3), 0.15, 0.01)
    a, b = [-1.0, 0.0], [1.0, 0.0]
    angle = np.linspace(np.pi, 0, 33)
    start = np.column_stack([np.cos(angle), np.sin(angle)]) * 0.8 + [0, 0.0]
    start[0], start[-1] = a, b
    found = geodesic_curve(a, b, metric, start=start)
    line = np.linspace(a, b, 33)
    assert curve_length(found, metric) < 0.7 * curve_length(line, metric)
    assert abs(np.linalg.norm(found[16]) - 1) < 0.15
    speeds = [curve_length(np.stack(pair), metric) for pair in pairwise(found)]
    assert np.std(speeds) < 0.35 * np.mean(speeds)
    with pytest.raises(ValueError, match="sigma and rho must be above 0"):
        local_metric(line, 0.0, 1.0)


def test_nca_objective_against_loops_and_its_gradient():
    rng = np.random.default_rng(4)
    X, y, A = rng.normal(size=(12, 3)), rng.integers(0, 3, size=12), rng.normal(size=(2, 3))
    value = 0.0
    for i in range(12):
        weight = [0 if j == i else np.exp(-((A @ (X[i] - X[j])) ** 2).sum()) for j in range(12)]
        value += sum(w for w, label in zip(weight, y) if label == y[i]) / sum(weight)
    assert nca_objective(A, X, y)[0] == pytest.approx(value)
    error = check_grad(
        lambda flat: nca_objective(flat.reshape(2, 3), X, y)[0],
        lambda flat: nca_objective(flat.reshape(2, 3), X, y)[1].ravel(),
        A.ravel(),
    )
    assert error < 1e-5


def test_nca_learns_a_metric_of_low_rank():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3)) * [1, 1, 50]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = NeighborhoodComponentsAnalysis(n_components=1, init="random", random_state=0).fit(X, y)
    assert np.linalg.matrix_rank(model.mahalanobis_) == 1
    direction = np.abs(model.components_[0])
    assert direction[2] < 0.05 * direction[:2].min()
    with pytest.raises(ValueError, match="n_components must be at most 3"):
        NeighborhoodComponentsAnalysis(n_components=4).fit(X, y)


@pytest.mark.parametrize("kind", ["simclr", "clip"])
def test_contrastive_estimators_learn_resume_and_repeat(kind):
    images = load_digits().images[:48]
    y = [f"a {'small' if k < 5 else 'large'} digit" for k in load_digits().target[:48]]
    if kind == "simclr":
        model = SimCLR(["conv 4 3", "pool 2"], n_components=8, batch_size=16, max_iter=3, random_state=1)
        ask = SimCLR.transform
    else:
        model = CLIP(["conv 4 3", "pool 2"], n_components=8, batch_size=16, max_iter=3, random_state=1)
        ask = CLIP.encode_images
    model.fit(images, y)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    again = clone(model)
    next(again.iterate(images, y))
    resumed = clone(model)
    list(resumed.iterate(images, y, state=again.get_state()))
    np.testing.assert_array_equal(ask(resumed, images), ask(model, images))


def test_what_simclr_exports_is_its_encoder():
    images = load_digits().images[:32].astype(np.float32)
    model = SimCLR(["conv 4 3", "pool 2"], n_components=8, batch_size=16, max_iter=1, random_state=1).fit(images)
    with torch.no_grad():
        found = model.export()(torch.from_numpy(images[:, None])).numpy()
    np.testing.assert_allclose(found, model.transform(images), atol=1e-6)
    with pytest.raises(ValueError, match="SimCLR: augment must name"):
        SimCLR(augment=["turn"]).fit(images)


def test_a_prompt_longer_than_the_captions_is_read_to_its_end():
    X, y = load_digits(return_X_y=True)
    shown, images = y < 4, X.reshape(-1, 8, 8)
    images, y = images[shown], y[shown]
    names = ["zero", "one", "two", "three"]
    model = CLIP(["conv 8 3", "pool 2"], n_components=8, max_iter=5, random_state=0)
    model.fit(images[:400], [names[c] for c in y[:400]])
    with pytest.warns(UserWarning, match="no caption of the fit had the words a, photo, of; they are left out"):
        p = model.zero_shot(images[400:], names)  # with the default prompt, "a photo of a {c}"
    assert np.mean(p.argmax(axis=1) == y[400:]) > 0.6  # chance is 0.25
    np.testing.assert_allclose(model.zero_shot(images[400:], names, "{c}"), p, atol=1e-6)
    longer = model.encode_texts(["one one two", "one one three"])  # all words known: beyond the longest caption
    assert not np.allclose(longer[0], longer[1], atol=1e-3)
    with pytest.warns(UserWarning, match="nothing is known of 'a yak'"):
        model.encode_texts(["a yak"])


def test_clip_says_what_is_wrong():
    images = load_digits().images[:8]
    with pytest.raises(ValueError, match="sequence of strings"):
        CLIP().fit(images, [1] * 8)
    model = CLIP(["dense 4"], max_iter=1, batch_size=4, random_state=0).fit(images, ["a digit"] * 8)
    with pytest.raises(ValueError, match="template must contain"):
        model.zero_shot(images, ["a"], "nothing")
    assert model.zero_shot(images, ["one", "two"]).sum(axis=1) == pytest.approx(1)


def test_captions_without_an_order_are_refused():
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4, side=16, sizes=(6, 9))
    model = CLIP(("conv 4 3", "pool 4"), n_components=4, max_iter=1, batch_size=2, random_state=0)
    words = ["a circle", "a square", "a ring", "a cross"]
    for wrong in (set(words), (word for word in words), np.array("a circle"), {"a": 1}, 3, [["a"], ["b", "c"]]):
        with pytest.raises(ValueError, match=r"CLIP: .* must be a sequence of strings with words"):
            model.fit(scenes.images, wrong)
