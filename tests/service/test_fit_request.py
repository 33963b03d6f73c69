"""The options of a single fit: declared once, read by the call and the command line."""

import pytest

from margin.core.parameters import parameters_of
from margin.service.comparison_request import flag_of
from margin.service.fit_request import FitRequest
from margin.service.requests import BadRequest
from margin.service.training import fit


def test_every_option_is_a_flag_with_its_sentence_and_default():
    import typer

    from margin.cli.app import app

    flags = {p.name: p for p in typer.main.get_command(app).get_command(None, "fit").params}
    for name, option in parameters_of(FitRequest).items():
        assert flag_of(name) in flags[name].opts
        assert option.sentence.rstrip(".") in flags[name].help
    assert flags["seed"].default == 0
    assert flags["prepare"].default is None


@pytest.mark.parametrize(("option", "value"), [("seed", -1), ("settings", "alpha=2"), ("prepare", "yes"), ("time", 3)])
def test_an_option_outside_its_domain_is_named_before_anything_is_read(tmp_path, option, value):
    with pytest.raises(BadRequest, match=f"fit: {option} must be .*; got {value!r}"):
        fit("ridge", "no-such-file.csv", FitRequest(**{option: value}), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_request_is_set_once():
    request = FitRequest.of_texts({"target": "y", "ignore": ["id"], "seed": None})
    assert (request.target, request.ignore, request.seed) == ("y", ("id",), 0)
    with pytest.raises(AttributeError, match="FitRequest: seed is set once"):
        request.seed = 3
    with pytest.raises(BadRequest, match="fit: there is no option 'tune'"):
        FitRequest.of_texts({"tune": 3})


def test_a_model_of_two_sets_is_refused_before_a_folder_is_made(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    with pytest.raises(BadRequest, match="cyclegan learns from two sets, X and y"):
        fit("cyclegan", str(tmp_path / "t.csv"), FitRequest(target="a"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
