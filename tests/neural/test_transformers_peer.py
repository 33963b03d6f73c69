"""Networks of every architecture against transformers' own on random weights: read, written, and read again."""

import numpy as np
import pytest
import torch

from margin.neural import load_transformers, save_transformers

peer = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with.")

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}
TEXT = {"vocab_size": 30, "num_labels": 3}
VOCABULARY, LENGTH = 30, 9


def configs():
    bert = peer.BertConfig(**TEXT, **SIZES, max_position_embeddings=12)
    relu = peer.BertConfig(**TEXT, **SIZES, max_position_embeddings=12, hidden_act="relu")
    roberta = peer.RobertaConfig(**TEXT, **SIZES, max_position_embeddings=14, type_vocab_size=1, pad_token_id=1)
    distil = peer.DistilBertConfig(**TEXT, **DISTIL, max_position_embeddings=12)
    llama = peer.LlamaConfig(vocab_size=30, **SIZES, num_key_value_heads=2, max_position_embeddings=12)
    tied = peer.LlamaConfig(vocab_size=30, **SIZES, tie_word_embeddings=True, rope_theta=500.0)
    return {
        "LlamaForCausalLM": llama,
        "LlamaForCausalLM, tied": tied,
        "GPT2LMHeadModel": peer.GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=4, n_positions=12),
        "BertModel": bert,
        "BertForMaskedLM": bert,
        "BertForMaskedLM, relu": relu,
        "BertForPreTraining": bert,
        "BertForSequenceClassification": bert,
        "BertForTokenClassification": bert,
        "RobertaForMaskedLM": roberta,
        "RobertaForSequenceClassification": roberta,
        "RobertaForTokenClassification": roberta,
        "DistilBertModel": distil,
        "DistilBertForMaskedLM": distil,
        "DistilBertForSequenceClassification": distil,
        "DistilBertForTokenClassification": distil,
    }


NAMES = list(configs())


def random_network(name, seed=0):
    """Weights so large that scores differ, and input whose first number is not that of padding."""
    network = getattr(peer, name.partition(",")[0])(configs()[name]).eval()
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=drawn) * 0.3 + (parameter.mean() > 0.9))
    return network, torch.randint(3, VOCABULARY, (2, LENGTH), generator=drawn)


def theirs(network, ids):
    with torch.inference_mode():
        out = network(input_ids=ids)
    return (out.last_hidden_state if "last_hidden_state" in out else out[0]).numpy()


def ours(module, ids):
    with torch.inference_mode():
        out = module(ids)
        if hasattr(out, "_asdict"):
            out = module.states(ids) if out.tokens is None else out.tokens
    return out.numpy()


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_transformers_both_ways(name, tmp_path):
    network, ids = random_network(name)
    network.save_pretrained(tmp_path / "theirs")
    expected = theirs(network, ids)
    assert np.ptp(expected) > 0.3  # the weights are not so small that anything would be near
    module = load_transformers(tmp_path / "theirs")
    np.testing.assert_allclose(ours(module, ids), expected, rtol=0, atol=1e-5)
    save_transformers(module, tmp_path / "ours")
    again, report = type(network).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"]
    np.testing.assert_allclose(theirs(again.eval(), ids), expected, rtol=0, atol=1e-5)
