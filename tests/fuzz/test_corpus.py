"""The models whose files are mutated: none of the catalog is left out."""

import pytest
from fuzz.worker import attempt

import margin
from fuzz import corpus
from margin import catalog
from margin.store import StoreError


def test_every_model_of_the_catalog_is_there_with_rows_of_its_own():
    assert {entry.name for entry in catalog.ENTRIES} <= set(corpus.names())
    assert len(set(corpus.names())) == len(corpus.names())
    assert all(len(corpus.data_of(entry.name)[0]) > 1 for entry in catalog.ENTRIES)


# One graph, a variant that stores two columns per leaf, and texts: what is no table of numbers.
@pytest.mark.parametrize("name", ["link-predictor", "several-targets", "hmm-tagger"])
def test_an_unchanged_file_answers_every_question(tmp_path, name):
    assert list(corpus.write(tmp_path, [name])) == [name]
    assert attempt(tmp_path / f"{name}.safetensors", *corpus.data_of(name), fit=True) == ("predicted", "")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("neural-ode", "steps"),
        ("diffusion-model", "n_steps"),
        ("diffusion-model", "sampling_steps"),
        ("diffusion-model", "bound_samples"),
        ("score-model", "n_levels"),
        ("score-model", "steps_per_level"),
        ("vae", "bound_samples"),
        ("translator", "beam_width"),
        ("few-shot-learner", "inner_steps"),
        ("gan", "discriminator_updates"),
        ("link-predictor", "n_layers"),
        ("language-model", "n_blocks"),
        ("normalizing-flow", "n_blocks"),
    ],
)
def test_a_file_cannot_ask_for_endless_work(tmp_path, name, parameter):
    """What a prediction or an iteration repeats is bounded by its domain, so a file with more is refused."""
    model = corpus.unfitted(name).set_params(**{parameter: 2**31})
    margin.save(model, tmp_path / "model.safetensors")
    with pytest.raises(StoreError, match=parameter):
        margin.load(tmp_path / "model.safetensors")
