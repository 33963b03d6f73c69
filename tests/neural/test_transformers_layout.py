"""Files that transformers wrote (by ``benchmarks.studies.transformers_layout``): read, written, refused if wrong."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from margin.neural import load_transformers, save_transformers
from margin.neural.nets.language_nets import gpt_oss_style
from margin.text import LanguageModel

FILES = Path(__file__).parent / "transformers_files"
KINDS = ("gpt2", "bert", "vit")
GPT2 = {"position": "learned", "norm": "layer", "qk_norm": False, "activation": "gelu_tanh", "bias": True}


def scores(module, inputs):
    values = [torch.tensor(value) for value in inputs.values()]
    with torch.inference_mode():
        out = module(*values)
    return out._asdict() if hasattr(out, "_asdict") else {"scores": out}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_transformers(kind):
    reference = json.loads((FILES / kind / "scores.json").read_text())
    found = scores(load_transformers(FILES / kind), reference["inputs"])
    assert found.keys() == reference["outputs"].keys()
    for name, expected in reference["outputs"].items():
        np.testing.assert_allclose(found[name].numpy(), expected, rtol=0, atol=2e-5)
        assert np.ptp(expected) > 0.5  # the weights are not so small that anything would be near


@pytest.mark.parametrize("kind", KINDS)
def test_written_files_hold_the_tensors_that_transformers_wrote(kind, tmp_path):
    save_transformers(load_transformers(FILES / kind), tmp_path)
    expected, found = (load_file(folder / "model.safetensors") for folder in (FILES / kind, tmp_path))
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    theirs, ours = (json.loads((folder / "config.json").read_text()) for folder in (FILES / kind, tmp_path))
    same = ours.keys() & theirs.keys() - {"attention_probs_dropout_prob", "attn_pdrop", "n_inner"}
    assert {name: ours[name] for name in same} == {name: theirs[name] for name in same}


def test_names_of_older_files_and_of_networks_without_prefix(tmp_path):
    for kind, change in {
        "bert": lambda n: n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
        "gpt2": lambda n: n.removeprefix("transformer."),
    }.items():
        folder = tmp_path / kind
        shutil.copytree(FILES / kind, folder)
        tensors = load_file(folder / "model.safetensors")
        tensors = {change(name): tensor for name, tensor in tensors.items()}
        if kind == "gpt2":
            tensors["h.0.attn.bias"] = torch.ones(1, 1, 16, 16)  # a mask, which older files keep
        save_file(tensors, folder / "model.safetensors")
        ours, again = load_transformers(FILES / kind).state_dict(), load_transformers(folder).state_dict()
        assert all(torch.equal(ours[name], again[name]) for name in ours)


def _config(**changes):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def _tensors(change):
    def apply(folder):
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return apply


def _cut(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


WTE = "transformer.wte.weight"
WRONG = {
    "another model": (_config(model_type="t5"), "model_type .* must be one of gpt2, llama, bert, .*; got 't5'"),
    "a list of models": (_config(model_type=["gpt2"]), r"model_type .* must be one of .*; got \['gpt2'\]"),
    "a list of activations": (_config(activation_function=["relu"]), "activation_function .* must be one of"),
    "more blocks than tensors": (_config(n_layer=10**7), "too few tensors for 10000000 blocks"),
    "huge": (_config(vocab_size=10**12), "vocab_size .* must be an integer from 1"),
    "wide": (_config(n_embd=2**20, n_head=1), r"wte.weight .* must have shape \(24, 1048576\); got \(24, 8\)"),
    "no number": (_config(n_embd="8"), "n_embd .* must be an integer"),
    "heads": (_config(n_head=3), "n_heads must divide d_model 8; got 3"),
    "scaled by layer": (_config(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx .* must be"),
    "activation": (_config(activation_function="mish"), "activation_function .* must be one of"),
    "epsilon": (_config(layer_norm_epsilon=-1.0), "layer_norm_epsilon .* must be a number from 0"),
    "list": (lambda folder: (folder / "config.json").write_text("[]"), "must hold a JSON object"),
    "no JSON": (lambda folder: (folder / "config.json").write_text("{"), "must be JSON"),
    "no config": (lambda folder: (folder / "config.json").unlink(), "config.json cannot be read"),
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "must have a file model.safetensors"),
    "cut": (_cut, "cannot be read"),
    "missing": (_tensors(lambda t: t.pop("transformer.ln_f.bias")), "must have the tensor transformer.ln_f.bias"),
    "unknown": (_tensors(lambda t: t.update(other=torch.ones(2))), "the tensor transformer.other, which gpt2 here"),
    "integers": (_tensors(lambda t: t.update({WTE: t[WTE].long()})), "wte.weight .* must be of BF16, F16, F32, F64"),
    "shape": (_tensors(lambda t: t.update({WTE: t[WTE].T.contiguous()})), r"must have shape \(24, 8\); got \(8, 24\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_with_one_sentence(name, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(FILES / "gpt2", folder)
    change, sentence = WRONG[name]
    change(folder)
    with pytest.raises(ValueError, match=sentence) as caught:
        load_transformers(folder)
    assert "\n" not in str(caught.value)


def test_networks_that_transformers_has_not_are_refused(tmp_path):
    with pytest.raises(ValueError, match="save_transformers: bias must be False for llama"):
        save_transformers(gpt_oss_style(11, 8, 2, 1), tmp_path)
    with pytest.raises(ValueError, match=r"module must be a DecoderTransformer, .* or a CLIP; it is of type Linear"):
        save_transformers(torch.nn.Linear(2, 2), tmp_path)


LLAMA = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}
WRONG_LLAMA = {
    "scaled angles": ({"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters .* must be of type 'default'"),
    "angles as a list": ({"rope_parameters": [1]}, r"rope_parameters .* must be of type 'default'; got \[1\]"),
    "base": ({"rope_theta": 0}, "rope_theta .* must be a number from 1"),
    "heads": ({"num_key_value_heads": 3}, "n_kv_heads must divide n_heads 2; got 3"),
    "width of heads": ({"head_dim": 16}, "head_dim .* must be hidden_size over num_attention_heads, 4; got 16"),
    "biases": ({"attention_bias": True}, "attention_bias .* must be False; got True"),
    "no tensors": ({}, "must have the tensor model.embed_tokens.weight"),
}


@pytest.mark.parametrize("name", WRONG_LLAMA)
def test_wrong_settings_of_llama_are_refused_with_one_sentence(name, tmp_path):
    changes, sentence = WRONG_LLAMA[name]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", **LLAMA, **changes}))
    save_file({"other": torch.ones(1), "one": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=sentence) as caught:
        load_transformers(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def language_model():
    texts = ["to be or not to be, that is the question. "] * 8
    sizes = {"d_model": 8, "n_heads": 2, "n_blocks": 1, "context": 8, "vocab_size": 262, "max_iter": 1}
    return LanguageModel("bpe", **sizes, **GPT2, random_state=0).fit(texts)


def test_language_model_round_trip_and_further_training(language_model, tmp_path):
    language_model.to_transformers(tmp_path)
    again = LanguageModel.from_transformers(tmp_path, warm_start=True, max_iter=1, random_state=0)
    text = "not to be 🙂"
    np.testing.assert_array_equal(again.token_log_proba(text), language_model.token_log_proba(text))
    before = {name: array.copy() for name, array in again.weights_.items()}
    again.fit(["to be or not to be, that is the question. "] * 8)
    assert any(not np.array_equal(before[name], again.weights_[name]) for name in before)
    assert again.get_params()["vocab_size"] == 262


LLAMA_BLOCKS = {"norm": "rms", "qk_norm": False, "feed_forward": "swiglu", "activation": "silu", "n_kv_heads": 1}


def test_language_model_of_llama_round_trip_and_further_training(tmp_path):
    texts = ["to be or not to be, that is the question. "] * 4
    sizes = {"d_model": 8, "n_heads": 2, "n_blocks": 1, "context": 8, "vocab_size": 260, "max_iter": 1}
    model = LanguageModel("bpe", **sizes, **LLAMA_BLOCKS, tie_weights=False, random_state=0).fit(texts)
    model.to_transformers(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    assert config["model_type"] == "llama"
    path.write_text(json.dumps(config | {"rms_norm_eps": 1e-6}))
    again = LanguageModel.from_transformers(tmp_path, warm_start=True, max_iter=1, random_state=0)
    np.testing.assert_allclose(again.token_log_proba("not to be"), model.token_log_proba("not to be"), atol=1e-4)
    assert again.fit(texts).network_["config"]["norm_eps"] == 1e-6


def test_tokenizers_with_other_special_tokens_or_none(language_model, tmp_path):
    language_model.to_transformers(tmp_path)
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text())
    n, tensors = len(content["model"]["vocab"]), load_file(tmp_path / "model.safetensors")
    end = content["added_tokens"][0]
    # The end of a text first, as in Llama's files, and another special token behind all others.
    vocab = {token: i + 1 for token, i in content["model"]["vocab"].items()}
    added = [end | {"id": 0}, end | {"id": n + 1, "content": "<pad>"}]
    path.write_text(json.dumps(content | {"added_tokens": added, "model": content["model"] | {"vocab": vocab}}))
    rows = tensors[WTE]
    rows = torch.cat([rows[n:], rows[:n], torch.full_like(rows[:1], -9.0)])
    save_file(tensors | {WTE: rows}, tmp_path / "model.safetensors")
    _config(vocab_size=n + 2, eos_token_id=[0])(tmp_path)
    again = LanguageModel.from_transformers(tmp_path)
    assert again.network_["vocabulary"] == n + 2
    found = again.token_log_proba("not to be")
    module = load_transformers(tmp_path)
    ids = again._codes().encode("not to be")  # one higher than in the file before, as the end is first in both
    with torch.inference_mode():
        log_p = module(torch.tensor([[0, *ids]])).double().log_softmax(-1)[0]
    np.testing.assert_allclose(found, [float(log_p[i, t]) for i, t in enumerate([*ids, 0])], atol=1e-6)
    path.write_text(json.dumps(content | {"added_tokens": []}))
    save_file(tensors | {WTE: tensors[WTE][:n].contiguous()}, tmp_path / "model.safetensors")
    _config(vocab_size=n)(tmp_path)
    plain = LanguageModel.from_transformers(tmp_path)
    assert plain.network_["vocabulary"] == n + 1
    np.testing.assert_array_equal(plain.weights_["embedding.tokens.weight"][0], np.zeros(8))
    assert plain.generate("to be", max_tokens=3, temperature=0) is not None


def test_scores_of_the_language_model_are_those_of_the_plain_network(language_model, tmp_path):
    language_model.to_transformers(tmp_path)
    module = load_transformers(tmp_path)
    ids = language_model._codes().encode("not to be") - 1  # GPT-2's numbers
    end = module.embedding.tokens.num_embeddings - 1  # the end of a text is GPT-2's last token
    tokens = torch.tensor([[end, *ids]])
    with torch.inference_mode():
        log_p = module(tokens).double().log_softmax(-1)[0]
    expected = [float(log_p[i, target]) for i, target in enumerate([*ids, end])]
    np.testing.assert_allclose(language_model.token_log_proba("not to be"), expected, atol=1e-6)


def test_language_model_refuses_what_does_not_fit(language_model, tmp_path):
    with pytest.raises(ValueError, match="LanguageModel: d_model is what the folder says; got 3 as well"):
        LanguageModel.from_transformers(language_model.to_transformers(tmp_path / "a"), d_model=3)
    with pytest.raises(ValueError, match="must hold a GPT-2 or a Llama; it holds a BERT"):
        LanguageModel.from_transformers(FILES / "bert")
    folder = tmp_path / "b"
    shutil.copytree(FILES / "gpt2", folder)
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read"):
        LanguageModel.from_transformers(folder)
    shutil.copy(tmp_path / "a" / "tokenizer.json", folder)
    with pytest.raises(ValueError, match="must have at most the network's 24 tokens; got 263"):
        LanguageModel.from_transformers(folder)
    characters = LanguageModel("char", d_model=8, n_heads=2, n_blocks=1, context=4, max_iter=1).fit("abcabcabc")
    with pytest.raises(ValueError, match="tokens must be 'bpe' for the files of transformers; got 'char'"):
        characters.to_transformers(tmp_path / "c")
