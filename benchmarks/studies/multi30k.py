"""German to English on multi30k: ``python -m benchmarks.studies.multi30k [table PATH | judge RUN]``.

``table`` writes the 29,000 training pairs as a table for the command line; the model is then fitted, and after a stop
continued, by the command in :data:`FIT`. ``judge`` translates the test pairs of 2016 greedily and by beam search and
stores BLEU by the standard definition, equal to sacrebleu's on the same tokens where that is installed. Needs
``MARGIN_DATA``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import torch

import margin
from benchmarks.measuring.evidence import Finding, save_findings
from margin.text.bleu import bleu, bleu_tokens

FIT = (
    "margin fit translator multi30k.csv --target en --out RUN --set max_iter=2 --set solver=muon "
    "--set learning_rate_init=0.006 --set dropout=0.1 --set n_blocks=2 --set vocab_size=3000"
)


def sentences(part: str, language: str) -> list[str]:
    """The sentences of ``train``, ``val`` or ``test_2016_flickr``."""
    path = Path(os.environ["MARGIN_DATA"]) / "multi30k" / f"{part}.{language}.gz"
    return [line.strip() for line in gzip.open(path, "rt", encoding="utf-8")]


def table(path: Path) -> None:
    """The training pairs, and after them those of validation, as columns de and en."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["de", "en"])
        for de, en in zip(sentences("train", "de"), sentences("train", "en"), strict=True):
            if de and en:
                writer.writerow([de, en])


def reference_bleu(hypotheses: list[str], references: list[str]) -> float | None:
    """Corpus BLEU by sacrebleu on our tokens, without smoothing; None where it is not installed."""
    if importlib.util.find_spec("sacrebleu") is None:
        return None
    from sacrebleu.metrics import BLEU

    hypothesis_tokens, given = ([" ".join(bleu_tokens(text)) for text in texts] for texts in (hypotheses, references))
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score(hypothesis_tokens, [given]).score / 100


def judge(run: Path, n: int | None) -> dict[str, Any]:
    """BLEU of greedy and of beam search on the test pairs, with examples."""
    model = margin.load(run / "model.safetensors")
    de, en = (sentences("test_2016_flickr", language)[:n] for language in ("de", "en"))
    judged: dict[str, Any] = {"pairs": len(de), "parameters": model.get_params()}
    for width in (1, 4):
        began = time.process_time()
        translations = model.set_params(beam_width=width).predict(de).tolist()
        judged[f"beam {width}"] = {
            "bleu": bleu(translations, en),
            "sacrebleu": reference_bleu(translations, en),
            "seconds": round(time.process_time() - began, 1),
            "examples": list(zip(de[:5], translations[:5], en[:5], strict=True)),
        }
    return judged


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.multi30k", description=__doc__)
    parser.add_argument("what", choices=["table", "judge"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--pairs", type=int, default=None, help="only the first so many test pairs")
    parser.add_argument("--seconds", type=float, default=None, help="processor time of the fit, to be stored")
    options = parser.parse_args()
    if options.what == "table":
        table(options.path)
        return
    torch.set_num_threads(1)
    judged = judge(options.path, options.pairs) | {"fit_seconds": options.seconds}
    print(json.dumps(judged, indent=1, default=str, ensure_ascii=False))
    greedy, beam = judged["beam 1"], judged["beam 4"]
    sacrebleu = [beam["sacrebleu"], greedy["sacrebleu"]]
    apart = None if None in sacrebleu else max(abs(sacrebleu[0] - beam["bleu"]), abs(sacrebleu[1] - greedy["bleu"]))
    save_findings(
        "multi30k",
        "German to English on multi30k",
        protocol=(
            "Translator (encoder and decoder) fitted to the 29,000 training pairs through the command line; corpus "
            f"BLEU on the first {judged['pairs']} test pairs of 2016, case kept, tokens are words and single marks."
        ),
        command=f"{FIT}; python -m benchmarks.studies.multi30k judge RUN",
        findings=[
            Finding("BLEU, greedy", f"{100 * greedy['bleu']:.2f} ({greedy['seconds']} s)"),
            Finding(
                "BLEU, beam of 4",
                f"{100 * beam['bleu']:.2f} ({beam['seconds']} s)",
                "at least greedy's",
                beam["bleu"] >= greedy["bleu"],
            ),
            Finding(
                "difference from sacrebleu's corpus BLEU on the same tokens",
                "sacrebleu is not installed" if apart is None else f"{apart:.1e}",
                "at most 1e-9",
                None if apart is None else apart <= 1e-9,
            ),
            Finding(
                "processor time of the fit",
                "not stored" if judged["fit_seconds"] is None else f"{judged['fit_seconds']:.0f} s on one thread",
                "at most 900 s",
                None if judged["fit_seconds"] is None else judged["fit_seconds"] <= 900,
            ),
        ],
        raw=json.loads(json.dumps(judged, default=str)),
    )


if __name__ == "__main__":
    main()
