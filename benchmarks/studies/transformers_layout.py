"""Networks in files of transformers against transformers itself: ``python -m benchmarks.studies.transformers_layout``.

Random small networks of every architecture are written by transformers and read here, and written here and read by
transformers; the largest difference of the scores is stored. ``--references FOLDER`` also keeps the files and the
scores of the smallest GPT-2, BERT and ViT, against which the tests read where transformers is not installed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.measuring.evidence import Finding, save_findings
from margin.neural import load_transformers, save_transformers

BOUND = 1e-5
KEPT = ("gpt2", "bert", "vit")  # whose files the tests read
SIZES = {"small": (8, 2, 2, 24), "medium": (96, 6, 3, 200), "wide": (256, 8, 2, 1000)}  # width, heads, blocks, tokens


def networks(size: str) -> dict[str, tuple[Any, dict[str, Any]]]:
    """A network of each kind with weights of deviation 0.8 / sqrt(width), so that scores differ, and its input."""
    import transformers as peer

    width, heads, blocks, vocabulary = SIZES[size]
    drawn = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (2, 12), generator=drawn)
    common = {"hidden_size": width, "num_hidden_layers": blocks, "num_attention_heads": heads}
    common |= {"intermediate_size": 3 * width}
    gpt2 = peer.GPT2Config(
        vocab_size=vocabulary, n_positions=16, n_embd=width, n_layer=blocks, n_head=heads, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    bert = peer.BertConfig(vocab_size=vocabulary, max_position_embeddings=16, **common)
    vit = peer.ViTConfig(image_size=8, patch_size=4, num_channels=3, num_labels=5, **common)
    roberta = peer.RobertaConfig(
        vocab_size=vocabulary, max_position_embeddings=18, type_vocab_size=1, pad_token_id=1, **common
    )
    distil = peer.DistilBertConfig(
        vocab_size=vocabulary, max_position_embeddings=16, dim=width, n_layers=blocks, n_heads=heads,
        hidden_dim=3 * width,
    )  # fmt: skip
    llama = peer.LlamaConfig(vocab_size=vocabulary, num_key_value_heads=heads // 2, **common)
    other = {"input_ids": ids.clamp(min=3)}  # without the number that stands for padding
    clip = peer.CLIPConfig(
        text_config={**common, "vocab_size": vocabulary, "max_position_embeddings": 16, "eos_token_id": 5},
        vision_config={**common, "image_size": 8, "patch_size": 4},
        projection_dim=width,
    )
    ended = other["input_ids"].clone()
    ended[:, -1] = 5
    pixels = torch.randn(2, 3, 8, 8, generator=drawn)
    built = {
        "clip": (peer.CLIPModel(clip), {"pixel_values": pixels, "input_ids": ended}),
        "llama": (peer.LlamaForCausalLM(llama), other),
        "bert, masked": (peer.BertForMaskedLM(bert), other),
        "bert, texts": (peer.BertForSequenceClassification(bert), other),
        "bert, tokens": (peer.BertForTokenClassification(bert), other),
        "roberta, masked": (peer.RobertaForMaskedLM(roberta), other),
        "roberta, texts": (peer.RobertaForSequenceClassification(roberta), other),
        "roberta, tokens": (peer.RobertaForTokenClassification(roberta), other),
        "distilbert, masked": (peer.DistilBertForMaskedLM(distil), other),
        "distilbert, texts": (peer.DistilBertForSequenceClassification(distil), other),
        "distilbert, tokens": (peer.DistilBertForTokenClassification(distil), other),
        "gpt2": (peer.GPT2LMHeadModel(gpt2), {"input_ids": ids}),
        "bert": (peer.BertForPreTraining(bert), {"input_ids": ids, "token_type_ids": (ids > vocabulary // 2).long()}),
        "vit": (
            peer.ViTForImageClassification(vit),
            {"pixel_values": torch.randn(2, 3, 8, 8, generator=drawn)},
        ),
    }
    for network, _ in built.values():
        network.eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.copy_(
                    torch.randn(parameter.shape, generator=drawn) * 0.8 / width**0.5 + (parameter.mean() > 0.9)
                )
    return built


def theirs(network: Any, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Scores by transformers."""
    with torch.inference_mode():
        out = network(**inputs)
    if "prediction_logits" in out:
        return {"tokens": out.prediction_logits, "next_sentence": out.seq_relationship_logits}
    return {"scores": out.logits_per_image if "logits_per_image" in out else out.logits}


def ours(network: Any, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The same by our network."""
    with torch.inference_mode():
        out = network(*inputs.values())
    if not hasattr(out, "_asdict"):
        return {"scores": out}
    return {"scores": out.tokens} if out.next_sentence is None else out._asdict()


def doubled(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}


def difference(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    return max(float((a[name] - b[name]).abs().max()) for name in a)


def compare(size: str, references: Path | None) -> dict[str, dict[str, float]]:
    """The largest difference of any score, read by us and read by transformers from what we wrote."""
    differences = {}
    for kind, (network, inputs) in networks(size).items():
        with tempfile.TemporaryDirectory() as scratch:
            kept = references if kind in KEPT else None
            folder = kept / kind if kept else Path(scratch) / kind
            network.save_pretrained(folder)
            mine = load_transformers(folder)
            expected = theirs(network, inputs)
            ways = ((theirs, network), (ours, mine))
            again = type(network).from_pretrained(save_transformers(mine, Path(scratch) / "written")).eval()
            differences[kind] = {
                "scores up to": max(float(value.abs().max()) for value in expected.values()),
                "read": difference(expected, ours(mine, inputs)),
                "written": difference(expected, theirs(again, inputs)),
                "read, double": difference(*(way(net.double(), doubled(inputs)) for way, net in ways)),
            }
            if kept:
                (folder / "generation_config.json").unlink(missing_ok=True)
                content = {"inputs": {k: v.tolist() for k, v in inputs.items()}}
                content |= {"outputs": {k: v.tolist() for k, v in expected.items()}}
                (folder / "scores.json").write_text(json.dumps(content) + "\n", encoding="utf-8")
    return differences


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.transformers_layout", description=__doc__)
    parser.add_argument("--references", type=Path, default=None, help="folder for the files of the smallest networks")
    options = parser.parse_args()
    raw = {size: compare(size, options.references if size == "small" else None) for size in SIZES}
    print(json.dumps(raw, indent=1))
    findings = []
    for kind in raw["small"]:
        for way, bound in (("read", BOUND), ("written", BOUND), ("read, double", 1e-12)):
            if way == "read, double" and kind == "llama":
                continue  # transformers rounds its norms and angles to single precision whatever the weights are
            worst = max(raw[size][kind][way] for size in SIZES)
            findings.append(
                Finding(
                    f"{kind}, largest difference of a score, {way} here",
                    f"{worst:.1e} (scores up to {max(raw[s][kind]['scores up to'] for s in SIZES):.0f})",
                    f"at most {bound:g}",
                    worst <= bound,
                )
            )
    save_findings(
        "transformers-layout",
        "Weights in the layout of transformers",
        protocol="Random networks of three sizes, written by transformers and read here, and the other way round.",
        command="python -m benchmarks.studies.transformers_layout",
        findings=findings,
        raw=raw,
    )


if __name__ == "__main__":
    main()
