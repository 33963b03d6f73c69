"""Parts of a language model: activations add up to the vector that leaves a block, ablation removes exactly one."""

import numpy as np
import pytest
import torch

from margin.interpretation.language_parts import ablate, ablations, activations, completion_log_probability
from margin.text import LanguageModel


@pytest.fixture(scope="module")
def model():
    options = {"d_model": 8, "n_heads": 2, "n_blocks": 2, "context": 12, "max_iter": 2, "random_state": 0}
    return LanguageModel(**options).fit("abcabd" * 40)


def test_what_the_parts_add_is_the_vector_that_leaves_the_block(model):
    texts = ["abc", "dab"]
    entering, leaving = activations(model, texts, 0), activations(model, texts, 1)
    parts = activations(model, texts, 1, "attention") + activations(model, texts, 1, "mlp")
    assert leaving.shape == (6, 8)
    np.testing.assert_allclose(entering + parts, leaving, atol=1e-5)


def test_ablation_is_the_model_with_the_last_matrix_at_zero(model):
    (drop,) = [a for a in ablations(model, "ab", "c") if (a.block, a.part) == (1, "mlp")]
    weights = {name: array.copy() for name, array in model.weights_.items()}
    module = model._ready_module()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith("stack.blocks.1.feed.down"):
                parameter.zero_()
        expected = np.exp(completion_log_probability(model, "ab", "c"))
        module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    assert drop.after == pytest.approx(expected, rel=1e-6)
    assert drop.before == pytest.approx(np.exp(completion_log_probability(model, "ab", "c")))
    assert drop.drop == drop.before - drop.after


def test_the_model_is_whole_again_after_an_error(model):
    before = model.score("abc")
    with pytest.raises(RuntimeError), ablate(model, 0, "mlp"):
        raise RuntimeError
    assert model.score("abc") == before


def test_probabilities_of_all_completions_sum_to_one_with_the_end(model):
    letters = sum(np.exp(completion_log_probability(model, "ab", letter)) for letter in "abcd")
    end = np.exp(model.token_log_proba("ab")[-1])
    assert letters + end == pytest.approx(1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: ablations(m, "", "c"), "prompt must be a string that is not empty"),
        (lambda m: activations(m, "abc", 2), "block must be from 0 to 1; got 2"),
        (lambda m: activations(m, "abc", 0, "head"), "part must be one of attention, mlp, block; got 'head'"),
        (lambda m: activations(m, "abc" * 5, 0), "at most 11 tokens, so that the model sees all of it; text 0 has 15"),
        (lambda m: ablate(m, 0, "block").__enter__(), "part must be 'attention' or 'mlp'; got 'block'"),
    ],
)
def test_refusals(model, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(model)
