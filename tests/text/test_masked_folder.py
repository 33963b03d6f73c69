"""Masked language models that begin in a folder of transformers, and end in one."""

import json

import numpy as np
import pytest
import torch

import margin
from margin.text import MaskedLanguageModel
from margin.text.folder_codes import FolderTextCodes

peer = pytest.importorskip("transformers", reason="transformers is not installed: nothing to compare with.")

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "cat", "dog", "drinks", "milk", "eat", "##s", "meat", "a", ","]
TEXTS = ["the cat drinks milk", "the dog eats meat", "a cat drinks milk, meat", "a dog eats"] * 4
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
SPACE = "Ġ"


def word_pieces(*, closing=True):
    """BERT's kind of tokenizer; without ``closing`` no mark ends a text."""
    single = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    single += [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}] if closing else []
    return {
        "added_tokens": [{"id": i, "content": mark, "special": True} for i, mark in enumerate(MARKS)],
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": single},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "vocab": {token: i for i, token in enumerate([*MARKS, *WORDS])},
        },
    }


def byte_pairs():
    """RoBERTa's: the marks are neither first nor together."""
    content = json.loads(margin.text.BytePairTokenizer.train(TEXTS, 270).to_json())
    model = content["model"]
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    tokens = [*first, *sorted(model["vocab"], key=model["vocab"].get), "<mask>"]
    ids = {token: i for i, token in enumerate(tokens)}
    model["vocab"] = ids
    marks = [{"id": ids[name], "content": name, "special": True} for name in (*first, "<mask>")]
    ends = {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2]}
    return {**content, "added_tokens": marks, "post_processor": ends}


def configured(kind, n_tokens):
    shared = {"vocab_size": n_tokens, "initializer_range": 0.5}
    if kind == "distilbert":
        return peer.DistilBertConfig(**shared, dim=16, n_layers=2, n_heads=4, hidden_dim=24, max_position_embeddings=12)
    if kind == "roberta":
        return peer.RobertaConfig(**shared, **SIZES, max_position_embeddings=14, type_vocab_size=1, pad_token_id=1)
    return peer.BertConfig(**shared, **SIZES, max_position_embeddings=12)


NETWORKS = {
    "BertForMaskedLM": "bert",
    "BertForPreTraining": "bert",
    "RobertaForMaskedLM": "roberta",
    "DistilBertForMaskedLM": "distilbert",
}


def write_folder(folder, name, extra_rows=3, tokenizer=None):
    """A random network, with rows in its matrix that no token has, and its tokenizer."""
    kind = NETWORKS[name]
    content = tokenizer or (byte_pairs() if kind == "roberta" else word_pieces())
    ids = content["model"]["vocab"]
    torch.manual_seed(0)
    network = getattr(peer, name)(configured(kind, len(ids) + extra_rows)).eval()
    network.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(content))
    return network, content


def asked(network, content, pieces):
    """What transformers says behind the mask in place of the empty piece; and the ids of the file."""
    ids = content["model"]["vocab"]
    first, last, mask = ("<s>", "</s>", "<mask>") if "<s>" in ids else ("[CLS]", "[SEP]", "[MASK]")
    row = [ids[piece or mask] for piece in (first, *pieces, last)]
    with torch.inference_mode():
        scores = network(input_ids=torch.tensor([row]))[0][0]
    return scores[row.index(ids[mask])].double().numpy(), ids


@pytest.mark.parametrize("name", list(NETWORKS))
def test_a_hidden_token_is_named_as_by_transformers_and_written_back(name, tmp_path):
    network, content = write_folder(tmp_path / "theirs", name)
    space = "Ġ" if "roberta" in name.lower() else ""
    cut = FolderTextCodes(json.dumps(content)).tokenizer.pieces
    pieces = [*cut("the cat"), "", *cut(f"{space and ' '}milk")]
    scores, ids = asked(network, content, pieces)
    model = MaskedLanguageModel.from_transformers(tmp_path / "theirs")
    codes = FolderTextCodes(json.dumps(content))
    texts = [ids_ for ids_ in codes.order[1 : codes.size]]
    expected = np.exp(scores - np.logaddexp.reduce(scores[[i for i in codes.order if i is not None]]))
    (filled,) = model.fill("the cat [MASK] milk", n=codes.size - 1)
    got = sorted(p for _, p in filled)
    assert np.ptp(np.log(got)) > 0.5
    np.testing.assert_allclose(got, sorted(expected[texts]), rtol=1e-4, atol=1e-6)
    best = codes.tokenizer.tokens[texts[int(np.argmax(expected[texts]))]]
    assert filled[0][0] == best.removeprefix("##").removeprefix(SPACE) or codes.pairs is not None

    model.to_transformers(tmp_path / "ours")
    again, report = type(network).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["missing_keys"]
    written, _ = asked(again.eval(), content, pieces)
    np.testing.assert_allclose(written, scores[: len(written)], rtol=0, atol=1e-5)
    assert json.loads((tmp_path / "ours/tokenizer.json").read_text()) == content


def test_the_second_answer_is_next_here_and_the_first_there(tmp_path):
    network, content = write_folder(tmp_path, "BertForPreTraining")
    ids = content["model"]["vocab"]
    row = [ids[t] for t in ("[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]")]
    with torch.inference_mode():
        given = network(input_ids=torch.tensor([row]), token_type_ids=torch.tensor([[0] * 4 + [1] * 3]))
    expected = given.seq_relationship_logits.double().softmax(-1)[0, 0].item()
    model = MaskedLanguageModel.from_transformers(tmp_path, next_sentence=True)
    assert abs(expected - 0.5) > 0.02
    assert model.predict_next(["the cat"], ["a dog"])[0] == pytest.approx(expected, abs=1e-5)


def test_a_fit_goes_on_and_is_stored(tmp_path):
    write_folder(tmp_path, "BertForMaskedLM")
    further = {"warm_start": True, "max_iter": 12, "learning_rate_init": 0.003, "dropout": 0.0, "random_state": 0}
    model = MaskedLanguageModel.from_transformers(tmp_path, **further)
    before = model.score(TEXTS)
    model.fit(TEXTS)
    assert model.score(TEXTS) > before + 1
    path = margin.save(model, tmp_path / "stored.safetensors")
    again = margin.load(path)
    np.testing.assert_array_equal(again.transform(TEXTS[:3]), model.transform(TEXTS[:3]))
    assert again.network_["parts"]["pooler"] is False
    with pytest.raises(ValueError, match="tokens 'folder' are those of from_transformers"):
        MaskedLanguageModel(tokens="folder").fit(TEXTS)
    with pytest.raises(ValueError, match="next_sentence must be False; the network of the folder has no such head"):
        MaskedLanguageModel.from_transformers(tmp_path, warm_start=True, next_sentence=True).fit(["a cat\na dog"] * 9)
    with pytest.raises(ValueError, match="warm_start must go on with the same network"):
        MaskedLanguageModel.from_transformers(tmp_path, warm_start=True).set_params(d_model=32).fit(TEXTS)


def test_a_tokenizer_without_a_final_mark_has_one_by_name(tmp_path):
    network, content = write_folder(tmp_path, "BertForMaskedLM", tokenizer=word_pieces(closing=False))
    scores, ids = asked(network, content, ["the", "", "milk"])
    (((_, p),),) = MaskedLanguageModel.from_transformers(tmp_path).fill("the [MASK] milk", n=1)
    texts = [i for token, i in ids.items() if token not in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")]
    assert p == pytest.approx(np.exp(scores[texts].max() - np.logaddexp.reduce(scores[: len(ids)])), rel=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["model"]["vocab"].update({f"more{i}": 15 + i for i in range(9)}), "at most the network's 15"),
        (lambda c: c["added_tokens"].pop(), None),
        (lambda c: c.update(post_processor={"type": "Sequence"}), "post_processor must put marks"),
        (lambda c: c["model"].update(type="Unigram"), "must be WordPiece or byte-level BPE"),
        (lambda c: c["model"]["vocab"].update({"milk": 99}), "without a gap"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused(change, words, tmp_path):
    content = word_pieces()
    change(content)
    write_folder(tmp_path, "BertForMaskedLM", extra_rows=0, tokenizer=word_pieces())
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    if words is None:  # a mark that the list of added tokens does not name is known by its name
        MaskedLanguageModel.from_transformers(tmp_path)
        return
    with pytest.raises(ValueError, match=words):
        MaskedLanguageModel.from_transformers(tmp_path)


def test_a_folder_without_the_head_is_refused(tmp_path):
    peer.BertModel(configured("bert", 15)).save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(word_pieces()))
    with pytest.raises(ValueError, match="must hold a BERT, RoBERTa or DistilBERT with a head that names hidden"):
        MaskedLanguageModel.from_transformers(tmp_path)
    own = MaskedLanguageModel(d_model=16, n_heads=2, n_blocks=1, max_iter=1, random_state=0).fit(TEXTS)
    with pytest.raises(ValueError, match="tokens must be 'folder' for the files of transformers; got 'word'"):
        own.to_transformers(tmp_path / "own")
