"""``margin fit``, ``predict`` and ``compare`` on a folder of pictures."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from margin.cli import app
from margin.service.comparison.candidates import candidates_for
from margin.service.comparison.data import open_data
from margin.service.comparison.request import ComparisonRequest
from margin.service.requests import BadRequest
from margin.service.sources import open_source

RNG = np.random.default_rng(0)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    for name, shade in (("day", 180), ("night", 20)):
        (folder / name).mkdir(parents=True)
        for k in range(8):
            pixels = RNG.integers(shade, shade + 40, (10, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{k}.png")
    return folder


def test_a_folder_is_a_source(photos):
    source = open_source(str(photos))
    assert (source.X.shape, source.image_shape, source.task) == ((16, 360), (10, 12, 3), "classification")
    small = open_source(f"{photos}:resize=6x5,color=gray,unreadable=skip")
    assert (small.X.shape, small.image_shape) == ((16, 30), (6, 5))
    with pytest.raises(BadRequest, match=r"resize is written resize=32x48"):
        open_source(f"{photos}:resize=big")
    with pytest.raises(BadRequest, match=r"options are resize, color and unreadable; got 'size'"):
        open_source(f"{photos}:size=3")
    (photos / "day" / "bad.png").write_bytes(b"no")
    with pytest.raises(BadRequest, match=r"bad\.png: cannot be read"):
        open_source(str(photos))


def test_fit_and_predict_a_folder(photos, tmp_path):
    run = tmp_path / "run"
    call = ["fit", "cnn-classifier", str(photos), "--out", str(run), "--set", "max_iter=5"]
    outcome = CliRunner().invoke(app, call)
    assert outcome.exit_code == 0, outcome.output
    outcome = CliRunner().invoke(app, ["score", str(run), str(photos), "--json"])
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout)["accuracy"] == 1.0


def test_models_of_images_are_compared_on_images_only(photos):
    request = ComparisonRequest()
    with_images, _ = candidates_for(open_data(str(photos), None, request), request)
    without, _ = candidates_for(open_data("iris", None, request), request)
    names = {candidate.name for candidate in with_images} - {candidate.name for candidate in without}
    on_pixels = {name for name in names if not name.startswith(("hog-", "visual-words-"))}
    assert on_pixels == {"cnn-classifier", "vision-transformer"}
    with pytest.raises(BadRequest, match=r"cnn-classifier is not a model for classification on a table"):
        candidates_for(open_data("iris", None, request), ComparisonRequest(models=["cnn-classifier"]))
