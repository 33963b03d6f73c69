"""Objects in pictures by a trained detector: annotated pictures and COCO's JSON, in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.data.boxes import Boxes
from margin.runs import Run
from margin.service.prediction import last_step, open_model
from margin.service.requests import BadRequest
from margin.service.sources import folder_options, picture_files

__all__ = ["annotate", "detect", "detects", "folder_for"]

COLORS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#808000", "#000075", "#f032e6")
DETECTIONS = "detections.json"


def detects(model_path: str | Path) -> bool:
    """Whether a trained model finds boxes in pictures; a run says so without being loaded."""
    path = Path(model_path)
    if path.is_dir():
        name = Run.existing(path).manifest.get("identity", {}).get("model", "")
        return any(entry.name == name and entry.task == "detection" for entry in catalog.ENTRIES)
    return hasattr(last_step(open_model(path)[0]), "nms_threshold")


def detect(model_path: str | Path, data: str, out: str | Path, *, threshold: float = 0.3) -> dict[str, Any]:
    """Find objects in every picture of the folder ``data``; write ``out``/NAME.png and ``out``/detections.json.

    Pictures are shrunk as those of the training were (``resize`` in its or this ``data``), and boxes are given in the
    pixels of the picture itself. The JSON has all that the model found, as COCO's tools read it; drawn is what has a
    score of at least ``threshold``.
    """
    from margin.data.box_files import coco_results
    from margin.data.detection_folder import scaled_boxes
    from margin.data.image_folder import read_images
    from margin.data.images import decode_picture

    model, manifest = open_model(model_path)
    files = picture_files(data)
    options = folder_options(str(manifest.get("data", ""))) | folder_options(data)
    size = options.get("resize")
    pictures = [decode_picture(file, None, "rgb") for file in files]
    color = "gray" if last_step(model).network_["in_channels"] == 1 else "rgb"
    detections: list[Boxes] = []
    for file, picture in zip(files, pictures):
        image = read_images([file], resize=size, color=color).images
        detected = model.predict(image)[0]
        detections.append(scaled_boxes(detected, image.shape[1:3], picture.shape[:2]))
    names = [str(name) for name in last_step(model).classes_]
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for file, picture, boxes in zip(files, pictures, detections):
        annotate(picture, boxes, names, threshold).save(out / f"{file.stem}.png")
    named = [Boxes(boxes.xyxy, boxes.labels.astype(str), boxes.scores) for boxes in detections]
    content = {
        "images": [
            {"id": k, "file_name": file.name, "height": picture.shape[0], "width": picture.shape[1]}
            for k, (file, picture) in enumerate(zip(files, pictures), start=1)
        ],
        "categories": [{"id": k, "name": name} for k, name in enumerate(names, start=1)],
        "annotations": coco_results(
            named, range(1, len(files) + 1), {name: k for k, name in enumerate(names, start=1)}
        ),
    }
    (out / DETECTIONS).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return {
        "out": str(out),
        "pictures": len(files),
        "objects": sum(len(boxes) for boxes in detections),
        "file": DETECTIONS,
    }


def annotate(picture: np.ndarray, boxes: Boxes, names: list[str], threshold: float = 0.0) -> Any:
    """The picture with its boxes, a color per class, and their scores."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    for corners, label, score in boxes:
        if score is not None and score < threshold:
            continue
        color = COLORS[names.index(str(label)) % len(COLORS)]
        pen.rectangle([float(c) for c in corners], outline=color, width=2)
        text = str(label) if score is None else f"{label} {score:.2f}"
        pen.text((float(corners[0]) + 3, float(corners[1]) + 2), text, fill=color)
    return image


def folder_for(out: Path | None, proba: bool, as_json: bool) -> tuple[Path]:
    """Where pictures are written; what acts on columns of predictions is refused."""
    if proba or as_json:
        raise BadRequest("predict: --proba and --json act on columns; a detector writes pictures and detections.json.")
    if out is None:
        raise BadRequest("predict: a detector needs a folder for its pictures and detections.json: name it with --out.")
    if out.exists() and not out.is_dir():
        raise BadRequest(f"predict: --out must be a folder for a detector; {str(out)!r} is a file.")
    return (out,)
