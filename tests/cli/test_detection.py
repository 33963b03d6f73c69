"""``margin fit object-detector`` on a folder in VOC's layout, and ``margin predict``: pictures and COCO's JSON."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from margin.cli import app
from margin.data.box_files import read_coco
from margin.data.boxes import Boxes
from margin.data.detection_folder import open_detection_folder, scaled_boxes
from margin.data.scenes import shape_scenes
from margin.service.requests import BadRequest
from margin.service.sources import open_source, picture_files

XML = "<annotation>{}</annotation>"
OBJECT = "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox></object>"


@pytest.fixture
def cells(tmp_path):
    """Twelve scenes of shapes, twice as large as they are learned from."""
    folder = tmp_path / "cells"
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / name).mkdir(parents=True)
    scenes = shape_scenes(np.random.default_rng(0), n_samples=12, side=16, sizes=(5, 7), n_objects=(1, 2))
    for k, (image, boxes) in enumerate(zip(scenes.images, scenes.boxes)):
        large = np.kron(np.round(255 * np.clip(image, 0, 1)).astype(np.uint8), np.ones((2, 2), dtype=np.uint8))
        Image.fromarray(large).save(folder / "JPEGImages" / f"cell{k}.png")
        objects = "".join(
            OBJECT.format(f"kind{label}", 2 * left + 1, 2 * top + 1, 2 * right, 2 * bottom)
            for (left, top, right, bottom), label, _ in boxes
        )
        (folder / "Annotations" / f"cell{k}.xml").write_text(XML.format(objects))
    (folder / "ImageSets" / "Main" / "test.txt").write_text("cell3\ncell1\n")
    return folder, scenes


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_folder_of_boxes_is_a_source(cells):
    folder, scenes = cells
    read = open_detection_folder(folder, resize=(16, 16), color="gray")
    for k, file in enumerate(read.files):
        number = int(file.stem.removeprefix("cell"))
        np.testing.assert_allclose(read.boxes[k].xyxy, scenes.boxes[number].xyxy, atol=1e-9)
    assert [file.stem for file in open_detection_folder(folder, subset="test").files] == ["cell3", "cell1"]
    source = open_source(f"{folder}:resize=16x16,color=gray")
    assert (source.X.shape, source.image_shape, source.task) == ((12, 256), (16, 16), "detection")
    assert open_source(f"{folder}:subset=test").hash != open_source(str(folder)).hash
    with pytest.raises(BadRequest, match="subset must be one of test; got 'train'"):
        open_source(f"{folder}:subset=train")
    with pytest.raises(BadRequest, match="options are resize, color and subset; got 'unreadable'"):
        open_source(f"{folder}:unreadable=skip")
    (folder / "JPEGImages" / "cell1.png").unlink()
    with pytest.raises(BadRequest, match="has no picture or annotation named 'cell1'"):
        open_source(f"{folder}:subset=test")


def test_boxes_beyond_the_picture_are_cut_off():
    boxes = scaled_boxes(Boxes([[-4, 2, 6, 30], [50, 0, 60, 5]], ["a", "b"]), (20, 40), (10, 20))
    np.testing.assert_allclose(boxes.xyxy, [[0, 1, 3, 10]])
    assert boxes.labels.tolist() == ["a"]


def test_fit_and_predict_write_pictures_and_coco(cells, tmp_path):
    folder, _ = cells
    run, out = tmp_path / "run", tmp_path / "found"
    settings = ["architecture=yolo", "base_channels=4", "max_iter=12", "batch_size=4", "score_threshold=0.2"]
    chosen = [part for setting in settings for part in ("--set", setting)]
    outcome = invoke("fit", "object-detector", f"{folder}:resize=16x16,color=gray", "--out", run, *chosen)
    assert outcome.exit_code == 0, outcome.output
    outcome = invoke("predict", run, f"{folder}:subset=test", "--out", out)
    assert outcome.exit_code == 0, outcome.output
    said = json.loads(outcome.stdout)
    assert (said["pictures"], said["file"]) == (2, "detections.json")
    assert sorted(path.name for path in out.glob("*.png")) == ["cell1.png", "cell3.png"]
    stored = json.loads((out / "detections.json").read_text())
    assert [image["file_name"] for image in stored["images"]] == ["cell3.png", "cell1.png"]
    assert len(stored["annotations"]) == said["objects"] > 0
    for entry in stored["annotations"]:
        left, top, width, height = entry["bbox"]
        assert 0 <= left <= left + width <= 32  # in the pixels of the picture, not of what the model saw
        assert 0 <= top <= top + height <= 32
    assert set(read_coco(out / "detections.json")) == {"cell1.png", "cell3.png"}
    drawn = np.asarray(Image.open(out / "cell3.png"))
    assert drawn.shape == (32, 32, 3)
    for arguments, message in (
        (["predict", run, folder], "a detector needs a folder for its pictures"),
        (["predict", run, folder, "--proba", "--out", out], "--proba and --json act on columns"),
        (["predict", run, tmp_path / "nowhere", "--out", out], "There is no folder of pictures"),
        (["predict", run, folder, "--out", out / "cell1.png"], "is a file"),
    ):
        outcome = invoke(*arguments)
        assert outcome.exit_code == 2
        assert message in " ".join(outcome.stderr.split())
    Image.new("L", (14_000, 13_500)).save(folder / "JPEGImages" / "cell1.png")
    outcome = invoke("predict", run, f"{folder}:subset=test", "--out", out)
    assert outcome.exit_code == 1
    assert "cell1.png: cannot be read as a picture" in " ".join(outcome.stderr.split())


def test_pictures_of_a_plain_folder(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(BadRequest, match="holds no pictures"):
        picture_files(str(tmp_path / "photos"))
    Image.fromarray(np.zeros((4, 4), dtype=np.uint8)).save(tmp_path / "photos" / "a.png")
    assert [file.name for file in picture_files(str(tmp_path / "photos"))] == ["a.png"]
