"""``margin fit``, ``predict`` and ``compare`` on a folder of pictures."""

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from margin.cli import app
from margin.metrics import metric
from margin.service.comparison.candidates import candidates_for
from margin.service.comparison.data import open_data
from margin.service.comparison_request import ComparisonRequest
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
    with_images, _ = candidates_for(open_data(str(photos), None, request), request, metric("accuracy"))
    without, _ = candidates_for(open_data("iris", None, request), request, metric("accuracy"))
    names = {candidate.name for candidate in with_images} - {candidate.name for candidate in without}
    on_pixels = {name for name in names if not name.startswith(("hog-", "visual-words-"))}
    assert on_pixels == {"cnn-classifier", "vision-transformer"}
    with pytest.raises(BadRequest, match=r"cnn-classifier is not a model for classification on a table"):
        candidates_for(
            open_data("iris", None, request), ComparisonRequest(models=["cnn-classifier"]), metric("accuracy")
        )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder of pictures and a model of them, for all tests of what comes after."""
    folder = tmp_path_factory.mktemp("pictures")
    for name, shade in (("day", 180), ("night", 20)):
        for k in range(8):
            picture(folder / "photos" / name / f"{k}.png", shade)
    run = folder / "run"
    call(0, "fit", "cnn-classifier", folder / "photos", "--out", run, "-q", "--set", "max_iter=5")
    return folder, run


def picture(path, shade, size=(10, 12)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(shade, shade + 40, (*size, 3), dtype=np.uint8)).save(path)


def call(code, *arguments):
    """Stdout, and stderr on one line."""
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == code, f"{outcome.output}\n{outcome.exception!r}"
    return outcome.stdout, " ".join(outcome.stderr.split())


def test_single_pictures_and_plain_folders_are_predicted_at_the_size_of_the_fit(trained, tmp_path):
    _, run = trained
    picture(tmp_path / "new" / "a.png", 180, size=(31, 17))
    picture(tmp_path / "new" / "b.png", 20)
    said, _ = call(0, "predict", run, tmp_path / "new", "--json")
    assert json.loads(said)["prediction"] == ["day", "night"]
    one, _ = call(0, "predict", run, tmp_path / "new" / "b.png", "--proba", "--json")
    found = json.loads(one)
    assert found["night"][0] > 0.5
    assert found["day"][0] + found["night"][0] == pytest.approx(1)
    (tmp_path / "new" / "c.png").write_bytes(b"no")
    assert "c.png: cannot be read as a picture" in call(2, "predict", run, tmp_path / "new")[1]


def test_what_a_model_of_pictures_cannot_take_is_said(trained, tmp_path):
    _, run = trained
    picture(tmp_path / "large" / "day" / "a.png", 180, size=(20, 30))
    for command in ("predict", "score"):
        _, said = call(2, command, run, tmp_path / "large")
        assert "pictures have 20 x 30 pixels" in said
        assert "large:resize=10x12 brings them to that." in said
    call(0, "predict", run, f"{tmp_path / 'large'}:resize=10x12")
    picture(tmp_path / "more" / "dusk" / "a.png", 90)
    _, said = call(2, "score", run, tmp_path / "more")
    assert "class 'dusk' of" in said
    assert "is unknown to the model, whose classes are day, night." in said


def test_files_left_out_and_large_batches_are_remarked(tmp_path):
    picture(tmp_path / "photos" / "day" / "a.png", 180)
    picture(tmp_path / "photos" / "night" / "a.png", 20)
    (tmp_path / "photos" / "day" / "bad.png").write_bytes(b"no")
    source = f"{tmp_path / 'photos'}:unreadable=skip"
    options = ["-q", "--set", "max_iter=1", "--set", "batch_size=50"]
    _, said = call(0, "fit", "cnn-classifier", source, "--out", tmp_path / "run", *options)
    assert "1 of 3 pictures are left out:" in said
    assert "bad.png: cannot be read as a picture" in said
    assert "batch_size 50 is larger than the 2 training images; all of them are one batch." in said
    picture(tmp_path / "mixed" / "day" / "a.png", 180)
    picture(tmp_path / "mixed" / "night" / "a.png", 20, size=(9, 9))
    _, said = call(2, "fit", "cnn-classifier", tmp_path / "mixed", "--out", tmp_path / "other", "-q")
    assert "must all have one size unless resize is given" in said


def test_a_loss_that_fails_is_one_sentence_and_the_run_so_far_is_kept(trained, tmp_path):
    folder, _ = trained
    settings = ("learning_rate_init=1e30", "solver=sgd", "learning_rate=constant", "record_steps=1")
    options = [part for setting in settings for part in ("--set", setting)]
    _, said = call(1, "fit", "cnn-classifier", folder / "photos", "--out", tmp_path / "run", "-q", *options)
    assert "the training loss is nan after" in said
    assert "a smaller learning rate or a clip_norm keeps it finite." in said
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "failed"
    assert (tmp_path / "run" / "metrics.jsonl").read_text()
    call(0, "predict", tmp_path / "run", folder / "photos")


def test_a_model_on_pixels_is_asked_about_pictures_of_any_size_without_classes(photos, tmp_path):
    run, new = tmp_path / "run", tmp_path / "new"
    outcome = CliRunner().invoke(app, ["fit", "gaussian-nb", str(photos), "--out", str(run)])
    assert outcome.exit_code == 0, outcome.output
    new.mkdir()
    Image.fromarray(np.full((20, 24, 3), 200, dtype=np.uint8)).save(new / "a.png")
    Image.fromarray(np.full((10, 12, 3), 40, dtype=np.uint8)).save(new / "b.png")
    outcome = CliRunner().invoke(app, ["predict", str(run), str(new)])
    assert outcome.stdout.splitlines() == ["file,prediction", f"{new / 'a.png'},day", f"{new / 'b.png'},night"]
    outcome = CliRunner().invoke(app, ["predict", str(run), f"{photos}:resize=6x5"])
    assert outcome.exit_code == 2
    assert "fitted to 10 x 12 and 3" in outcome.stderr


def test_pictures_of_several_sizes_are_refused_with_the_words_that_help(photos):
    Image.fromarray(np.zeros((11, 12, 3), dtype=np.uint8)).save(photos / "day" / "tall.png")
    with pytest.raises(BadRequest, match=r"photos:resize=64x64 to bring them to one"):
        open_source(str(photos))
