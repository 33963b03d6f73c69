"""The LatentDiffusion estimator: drawn codes are decoded, kills in either stage change nothing, bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import NotFittedError

import margin
from margin.generative import VAE, Autoencoder, DiffusionModel, FlowMatching, LatentDiffusion, ScoreModel
from margin.reduction import PCA
from margin.store.models import load_state, save_state

CODER = VAE(3, (8,), max_iter=2, batch_size=40, record_steps=2)
CODES = DiffusionModel((16,), n_steps=20, sampling_steps=5, max_iter=2, batch_size=40, record_steps=2)
X = load_digits().data[:120] / 16


@pytest.mark.parametrize("coder", [TheirPCA(5), CODER, Autoencoder(4, (8,), max_iter=1)], ids=["pca", "vae", "ae"])
@pytest.mark.parametrize("codes", [CODES, FlowMatching((8,), n_steps=5, max_iter=1)], ids=["diffusion", "flow"])
def test_codes_are_drawn_and_decoded(coder, codes):
    model = LatentDiffusion(coder, codes, random_state=0).fit(X)
    drawn = model.diffusion_.sample(4, random_state=1)
    np.testing.assert_array_equal(model.sample(4, random_state=1), model.autoencoder_.inverse_transform(drawn))
    np.testing.assert_array_equal(model.encode(X), model.autoencoder_.transform(X))
    *_, (done, last) = model.sample_path(4, random_state=1)
    assert done == 1
    np.testing.assert_array_equal(last, model.sample(4, random_state=1))


def test_both_models_learn_what_they_would_alone():
    model = LatentDiffusion(CODER, CODES, random_state=0)
    records = list(model.iterate(X))
    seeds = [part.random_state for part in (model.autoencoder_, model.diffusion_)]
    assert seeds[0] != seeds[1]
    coder = clone(CODER).set_params(random_state=seeds[0]).fit(X)
    alone = clone(CODES).set_params(random_state=seeds[1]).fit(coder.transform(X))
    np.testing.assert_array_equal(
        model.sample(4, random_state=1), coder.inverse_transform(alone.sample(4, random_state=1))
    )
    stages = ["autoencoder" if "autoencoder_train_loss" in record.values else "diffusion" for record in records]
    assert stages == sorted(stages)
    assert set(stages) == {"autoencoder", "diffusion"}
    assert [record.iteration for record in records] == sorted({record.iteration for record in records})


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_kill_in_either_stage_changes_nothing(stop, tmp_path):
    whole, first, second = (LatentDiffusion(CODER, CODES, random_state=3) for _ in range(3))
    expected = [record.as_dict() for record in whole.iterate(X)]
    assert len(expected) == 8
    seen = []
    for record in first.iterate(X):
        seen.append(record.as_dict())
        if len(seen) == stop:
            save_state(first.get_state(), tmp_path / "state.safetensors")
            break
    state, _ = load_state(tmp_path / "state.safetensors")
    assert seen + [record.as_dict() for record in second.iterate(X, state=state)] == expected
    np.testing.assert_array_equal(second.sample(3, random_state=0), whole.sample(3, random_state=0))


def test_codes_are_normal_while_the_autoencoder_learns(tmp_path):
    model = LatentDiffusion(CODER, CODES, random_state=0)
    next(iter(model.iterate(X)))
    assert model.diffusion_ is None
    codes = model.encode(X)
    np.testing.assert_allclose(model.code_center_, codes.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.code_scale_, codes.std(axis=0), rtol=1e-5)
    normal = np.random.default_rng(1).standard_normal((4, 3)) * model.code_scale_ + model.code_center_
    np.testing.assert_allclose(model.sample(4, random_state=1), model.decode(normal), rtol=1e-5)
    with pytest.raises(ValueError, match=r"^LatentDiffusion: sample takes no y while the autoencoder learns"):
        model.sample(2, y=1)
    margin.save(model, tmp_path / "early.safetensors")
    again = margin.load(tmp_path / "early.safetensors")
    np.testing.assert_array_equal(again.sample(4, random_state=1), model.sample(4, random_state=1))


def test_a_fitted_autoencoder_is_taken_as_it_is(tmp_path):
    coder = PCA(3).fit(X[:50])
    before = coder.components_.copy()
    model = LatentDiffusion(coder, CODES, fitted=True, random_state=0).fit(X)
    np.testing.assert_array_equal(coder.components_, before)
    np.testing.assert_array_equal(model.autoencoder_.components_, before)
    assert model.autoencoder_ is not coder
    margin.save(model, tmp_path / "model.safetensors")
    again = margin.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.sample(3, random_state=0), model.sample(3, random_state=0))
    with pytest.raises(ValueError, match="autoencoder must have learned already when fitted is True; got PCA that"):
        clone(model).fit(X)


def test_pictures_reach_a_convolutional_autoencoder_and_come_out_as_rows():
    pictures = X.reshape(-1, 8, 8)
    model = LatentDiffusion(VAE(3, (4,), max_iter=1), ScoreModel((8,), n_levels=3, max_iter=1), random_state=0)
    model.fit(pictures)
    assert model.autoencoder_.network_["image_shape"] == [8, 8]
    assert model.encode(pictures).shape == (120, 3)
    assert model.sample(2, random_state=0).shape == (2, 64)


def test_classes_reach_a_conditional_diffusion():
    y = np.arange(120) % 3
    model = LatentDiffusion(CODER, clone(CODES).set_params(conditional=True), random_state=0).fit(X, y)
    drawn = [model.sample(3, random_state=0, y=k, guidance_scale=3.0) for k in (0, 2)]
    assert not np.array_equal(*drawn)
    with pytest.raises(ValueError, match=r"guidance_scale must be one finite number; got nan"):
        model.sample(2, y=0, guidance_scale=float("nan"))
    with pytest.raises(ValueError, match="y must name classes of the fit"):
        model.sample(2, y=7)


def test_bad_requests_get_one_sentence():
    with pytest.raises(NotFittedError, match="LatentDiffusion"):
        LatentDiffusion().sample(2)
    with pytest.raises(NotFittedError, match="LatentDiffusion"):
        LatentDiffusion().encode(X)
    model = LatentDiffusion(CODER, CODES, random_state=0).fit(X)
    with pytest.raises(ValueError, match="60 features, but LatentDiffusion is expecting 64"):
        model.encode(X[:, :60])
    with pytest.raises(ValueError, match=r"^LatentDiffusion: Z must have 3 columns.* got shape \(2, 4\)\.$"):
        model.decode(np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"^LatentDiffusion: Z must be finite"):
        model.decode(np.full((2, 3), np.nan))
    with pytest.raises(ValueError, match="autoencoder must be an estimator with fit and transform and inverse_transf"):
        LatentDiffusion(autoencoder=ScoreModel()).fit(X)
    with pytest.raises(ValueError, match="diffusion must be an estimator with fit and iterate and sample_path"):
        LatentDiffusion(diffusion=VAE()).fit(X)
