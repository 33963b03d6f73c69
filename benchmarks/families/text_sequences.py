"""Chains of tags and generated text: cases of the family ``text``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.graphical.hidden_markov import HiddenMarkovModel, baum_welch
from margin.text import CRFTagger, LanguageModel
from margin.text.entities import entity_scores
from margin.text.taggers import token_features

__all__ = ["cases"]

STATES, SYMBOLS = 8, 50


def cases(quick: bool) -> list[Case]:
    return [_hidden_markov(quick, "log"), _hidden_markov(quick, "scaling"), _fields(quick), _generation(quick)]


def _hidden_markov(quick: bool, implementation: str) -> Case:
    def data() -> dict[str, Any]:
        true, start = (HiddenMarkovModel.random(STATES, SYMBOLS, seed) for seed in (0, 1))
        return {"sequences": [true.sample(200, i)[0] for i in range(10 if quick else 200)], "start": start}

    def theirs(d: dict[str, Any]) -> np.ndarray:
        from hmmlearn.hmm import CategoricalHMM

        model = CategoricalHMM(STATES, n_iter=1, init_params="", implementation=implementation, n_features=SYMBOLS)
        start = d["start"]
        model.startprob_, model.transmat_, model.emissionprob_ = start.start, start.transition, start.emission
        model.fit(np.concatenate(d["sequences"])[:, None], [len(s) for s in d["sequences"]])
        return np.asarray(model.transmat_)

    def likelihood(d: dict[str, Any], transition: np.ndarray) -> float:
        model = HiddenMarkovModel(d["start"].start, transition, d["start"].emission)
        return float(np.mean([model.log_prob(s) for s in d["sequences"][:10]]))

    return Case(
        f"a step of EM of a hidden Markov model, hmmlearn's {implementation!r}",
        f"{10 if quick else 200} x 200, {STATES} states",
        data,
        lambda d: next(baum_welch(d["sequences"], d["start"])).model.transition,
        (Peer("hmmlearn", "hmmlearn", theirs),),
        likelihood,
        "log-likelihood with the new transitions",
    )


TEMPLATES = (
    "{P} went to {L} with {P} .", "{O} hired {P} in {L} last year .", "the mayor of {L} met {P} and {O} .",
    "{P} said that {O} is growing fast .", "in {L} the weather was nice , {P} told us .",
    "shares of {O} fell in {L} after {P} left .", "{L} beat {O} in the final , said {P} .",
)  # fmt: skip
KINDS = {"{P}": "PER", "{L}": "LOC", "{O}": "ORG"}


def _tagged(rng: np.random.Generator, n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences with names of three kinds; a name can be of several, so that its neighbors must tell."""
    parts = ["ba", "ri", "no", "ta", "ve", "lo", "mi", "ka", "su", "den", "fel", "gor"]
    names = ["".join(rng.choice(parts, rng.integers(1, 4))).capitalize() for _ in range(400)]
    X: list[list[str]] = []
    y: list[list[str]] = []
    for _ in range(n):
        words: list[str] = []
        tags: list[str] = []
        for word in str(rng.choice(TEMPLATES)).split():
            kind = KINDS.get(word)
            filled = [word] if kind is None else [str(name) for name in rng.choice(names, rng.integers(1, 3))]
            words += filled
            tags += ["O"] if kind is None else [f"B-{kind}"] + [f"I-{kind}"] * (len(filled) - 1)
        X, y = [*X, words], [*y, tags]
    return X, y


def _fields(quick: bool) -> Case:
    def data() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        X, y = _tagged(rng, 300 if quick else 2500)
        cut = 4 * len(X) // 5
        return {"X": X[:cut], "y": y[:cut], "new": X[cut:], "truth": y[cut:]}

    def theirs(d: dict[str, Any]) -> Any:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        for words, tags in zip(d["X"], d["y"], strict=True):
            trainer.append([token_features(words, i) for i in range(len(words))], tags)
        trainer.set_params({"c1": 0.0, "c2": 0.05, "max_iterations": 200})  # our alpha 0.1
        path = str(Path(tempfile.gettempdir()) / "margin-benchmark.crfsuite")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return lambda X: [tagger.tag([token_features(words, i) for i in range(len(words))]) for words in X]

    return Case(
        "conditional random field of names",
        f"{240 if quick else 2000} sentences",
        data,
        lambda d: CRFTagger(tol=0.03).fit(d["X"], d["y"]).predict,
        (Peer("python-crfsuite", "pycrfsuite", theirs),),
        lambda d, predict: entity_scores(d["truth"], predict(d["new"])).f1,
        "F1 of entities of new sentences",
        rounds=2,
    )


def _generation(quick: bool) -> Case:
    """The same GPT-2 everywhere: greedy continuations must be the same."""
    n = 20 if quick else 200

    def data() -> dict[str, Any]:
        sizes = {"d_model": 128, "n_heads": 4, "n_blocks": 4, "context": 256, "vocab_size": 300, "max_iter": 1}
        parts = {"position": "learned", "norm": "layer", "qk_norm": False, "activation": "gelu_tanh", "bias": True}
        model = LanguageModel("bpe", **sizes, **parts, steps_per_epoch=1, random_state=0)  # type: ignore[arg-type]
        model.fit("to be or not to be, that is the question. " * 40)
        return {"model": model, "folder": model.to_transformers(Path(tempfile.mkdtemp())), "loaded": {}}

    def again(d: dict[str, Any]) -> str:
        import torch

        module, codes = d["model"]._ready_module(), d["model"]._codes()
        ids = [0, *codes.encode("to be")]
        with torch.inference_mode():
            for _ in range(n):
                ids.append(int(module(torch.tensor([ids]))[0, -1].argmax()))
        return codes.decode(ids[1:])

    def theirs(d: dict[str, Any]) -> str:
        import torch
        from tokenizers import Tokenizer
        from transformers import GPT2LMHeadModel

        if not d["loaded"]:
            d["loaded"] = {
                "model": GPT2LMHeadModel.from_pretrained(d["folder"]).eval(),
                "tokens": Tokenizer.from_file(str(d["folder"] / "tokenizer.json")),
            }
        tokens = d["loaded"]["tokens"]
        end = tokens.token_to_id("<|endoftext|>")
        begun = torch.tensor([[end, *tokens.encode("to be").ids]])
        options = {"max_new_tokens": n, "min_new_tokens": n, "do_sample": False, "pad_token_id": end}
        with torch.inference_mode():
            out = d["loaded"]["model"].generate(begun, attention_mask=torch.ones_like(begun), **options)
        return str(tokens.decode(out[0, 1:].tolist(), skip_special_tokens=False))

    expected: dict[str, str] = {}

    def agreement(_: dict[str, Any], text: str) -> float:
        expected.setdefault("text", text)
        first = expected["text"]
        return sum(a == b for a, b in zip(text, first)) / max(len(text), len(first))  # ours comes first

    return Case(
        f"{n} tokens from a GPT-2 of 4 x 128, greedy, with a key-value cache",
        "300 tokens known",
        data,
        lambda d: "to be" + d["model"].generate("to be", n, temperature=0),
        (Peer("without a cache", "torch", again), Peer("transformers", "transformers", theirs)),
        agreement,
        "fraction of equal characters",
        rounds=2,
        memory=False,
    )
