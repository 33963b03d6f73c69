"""Boxes in files: Pascal VOC's XML, one file per image, and COCO's JSON, one for all.

VOC numbers pixels from 1 and includes the last one, so (1, 1, 1, 1) is the first pixel; COCO has the left upper corner
and the sides. Here both become edges: the first pixel is (0, 0, 1, 1).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from margin.data.boxes import Boxes

__all__ = ["coco_results", "read_coco", "read_voc"]

CORNERS = ("xmin", "ymin", "xmax", "ymax")


def read_voc(path: str | os.PathLike[str], *, difficult: bool = False) -> Boxes:
    """Boxes of one image with class names as labels; objects marked difficult only if asked for."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"read_voc: {os.fspath(path)} is not a text in UTF-8: {error}.") from None
    if "<!ENTITY" in text:
        raise ValueError(f"read_voc: {os.fspath(path)} must not define entities.")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # LookupError: an encoding that is not known
        raise ValueError(f"read_voc: {os.fspath(path)} is no XML: {error}.") from None
    corners, labels = [], []
    for item in root.iter("object"):
        if item.findtext("difficult", "0").strip() == "1" and not difficult:
            continue
        name, frame = item.findtext("name"), item.find("bndbox")
        numbers = [None if frame is None else frame.findtext(corner) for corner in CORNERS]
        if name is None or None in numbers:
            raise ValueError(f"read_voc: every object of {os.fspath(path)} must have a name and the corners of a box.")
        try:
            left, top, right, bottom = (float(number) for number in numbers if number is not None)
        except ValueError as error:
            raise ValueError(f"read_voc: the corners of a box in {os.fspath(path)} must be numbers: {error}.") from None
        corners.append([left - 1, top - 1, right, bottom])
        labels.append(name.strip())
    return Boxes(corners, np.array(labels, dtype=str))


def read_coco(path: str | os.PathLike[str]) -> dict[str, Boxes]:
    """Boxes by file name with names of categories as labels; images without objects have none, crowds are left out."""
    known = json.loads(Path(path).read_text(encoding="utf-8"))
    missing = {"images", "annotations", "categories"} - set(known)
    if missing:
        raise ValueError(f"read_coco: {os.fspath(path)} must have {', '.join(sorted(missing))}.")
    names = {category["id"]: category["name"] for category in known["categories"]}
    files = {image["id"]: image["file_name"] for image in known["images"]}
    boxes_of_file: dict[str, list[tuple[list[float], str]]] = {name: [] for name in files.values()}
    for entry in known["annotations"]:
        if entry.get("iscrowd"):
            continue
        x, y, width, height = entry["bbox"]
        boxes_of_file[files[entry["image_id"]]].append(([x, y, x + width, y + height], names[entry["category_id"]]))
    return {
        name: Boxes([box for box, _ in entries], np.array([label for _, label in entries], dtype=str))
        for name, entries in boxes_of_file.items()
    }


def coco_results(
    found: Sequence[Boxes], image_ids: Sequence[int], categories: Mapping[Any, int]
) -> list[dict[str, Any]]:
    """Detections as COCO's tools read them: a list of image, category, box and score, ready for ``json.dump``.

    >>> coco_results([Boxes([[1, 2, 4, 6]], ["cat"], [0.9])], [7], {"cat": 17})
    [{'image_id': 7, 'category_id': 17, 'bbox': [1.0, 2.0, 3.0, 4.0], 'score': 0.9}]
    """
    if len(found) != len(image_ids):
        raise ValueError(
            f"coco_results: image_ids must have {len(found)} entries, one per image; got {len(image_ids)}."
        )
    results = []
    for number, boxes in zip(image_ids, found):
        for (left, top, right, bottom), label, score in boxes:
            box = [float(left), float(top), float(right - left), float(bottom - top)]
            results.append({"image_id": number, "category_id": categories[label], "bbox": box, "score": score})
    return results
