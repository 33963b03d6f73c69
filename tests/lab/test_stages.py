"""Every model of the catalog has a stage, and what is played there is the fit that anybody else would have.

A session of each is stepped, taken back three records and resumed; its record, its picture and the code that it exports
must then agree with a fit that was never interrupted, bit for bit.
"""

import contextlib
import io
import json

import numpy as np
import pytest

from margin import GaussianNB, catalog
from margin.data.image_arrays import ImageParameters
from margin.lab.player import FitPlayer
from margin.lab.stages import drawings
from margin.lab.stages.exhibits import EXHIBITS
from margin.lab.stages.materials import MATERIALS
from margin.lab.stages.presets import PRESETS
from margin.lab.stages.readings import READINGS, reading
from margin.lab.stages.request import PlayRequest
from margin.lab.stages.scene import KINDS
from margin.lab.stages.scenes import SCENES
from margin.lab.stages.views import MOST_BYTES, VIEWS, frame, frame_text
from margin.lab.stepping import is_scored

NAMES = [entry.name for entry in catalog.ENTRIES]
RECORDS = 6


def test_every_model_of_the_catalog_has_a_stage_and_nothing_else_has():
    assert set(SCENES) == {*NAMES, *EXHIBITS}


def test_every_kind_of_stage_is_played_on():
    assert {scene.kind for scene in SCENES.values()} == set(KINDS)
    assert {scene.view_of(data) for scene in SCENES.values() for data in scene.sets} == set(VIEWS) == set(READINGS)
    assert all(reading(view).endswith(".") for view in VIEWS)
    assert {name for scene in SCENES.values() for name in scene.sets} <= set(MATERIALS)


def opened(request):
    """A player in this process, and what it sends."""
    events = []
    player = FitPlayer(lambda text: events.append(json.loads(text)))
    player.handle("open", (request, False, 1))
    return player, events


def executed(code):
    """What the exported code defines when it is run by itself."""
    names = {"__name__": "elsewhere"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "exported.py", "exec"), names)
    return names


FIRST = {PlayRequest(name).data for name in (*NAMES, *EXHIBITS)}
#: Of the sets with which no stage begins, the first stage that has it.
OTHERS = [(next(name for name in SCENES if data in SCENES[name].sets), data) for data in sorted(set(MATERIALS) - FIRST)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, data",
    [*((name, "") for name in (*NAMES, *EXHIBITS)), *OTHERS, ("ridge", "patients"), ("linear-svc", "wines")],
)
def test_back_and_resume_give_the_bits_of_an_uninterrupted_fit(name, data):
    goes_back_and_ends_elsewhere_alike(PlayRequest(name, data))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("side", ["settings", "beside"])
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_the_code_of_a_start_screen_ends_with_its_record(preset, side):
    if side == "settings" or preset.beside:
        goes_back_and_ends_elsewhere_alike(PlayRequest(preset.model, preset.data, 3, getattr(preset, side)))


def goes_back_and_ends_elsewhere_alike(request):
    player, events = opened(request)
    player.handle("step", RECORDS - 1)
    reached = player.fit.position
    first = events[-1]
    assert [event["type"] for event in events] == ["frame"] * len(events), events[-1]
    player.handle("step", -3)
    assert player.fit.position == max(1, reached - 3)
    while player.fit.position < reached:
        player.handle("step", 1)
    assert events[-1]["panels"] == first["panels"]
    elsewhere = executed(request.code(reached))
    record = elsewhere["record"]
    assert player.fit.records[-1] == (record if isinstance(record, dict) else record.as_dict())
    panels = frame(request, elsewhere["model"], elsewhere["X"], elsewhere["y"])
    assert json.loads(frame_text(panels)) == first["panels"]


def test_a_frame_that_is_too_large_is_said_to_be_so():
    huge = frame_text([{"panel": "bars", "title": "x" * MOST_BYTES, "items": []}])
    assert len(huge) < MOST_BYTES
    assert "too large" in json.loads(huge)[0]["lines"][0][0]


@pytest.mark.filterwarnings("ignore")
def test_a_fit_that_ended_can_be_taken_back_and_ends_as_before():
    player, events = opened(PlayRequest("kmeans"))
    player.handle("step", 1000)
    end = events[-1]
    assert end["finished"]
    player.handle("step", -3)
    assert not events[-1]["finished"]
    assert events[-1]["position"] == end["position"] - 3
    player.handle("step", 1000)
    assert events[-1]["finished"]
    assert events[-1]["panels"] == end["panels"]
    assert executed(player.request.code(None))["record"].as_dict() == player.fit.records[-1]


@pytest.mark.filterwarnings("ignore")
def test_states_are_bounded_and_back_still_reaches_every_record():
    request = PlayRequest("gaussian-mixture")
    fit = request.start()
    fit.budget = 6000
    seen = {}
    for _ in range(12):
        fit.step()
        seen[fit.position] = fit.model.means_.copy()
    assert len(fit._states) < 12
    for position in (11, 7, 3, 1):
        while fit.position < 12:
            fit.step()
        fit.back_to(position)
        assert (fit.model.means_ == seen[position]).all()


def test_drawn_points_take_the_place_of_the_set_and_are_in_the_code():
    points = tuple((float(i % 5), float(i // 5), float(i % 2)) for i in range(20))
    request = PlayRequest("k-neighbors-classifier", points=points)
    _, events = opened(request)
    assert events[-1]["panels"][0]["points"]["xy"] == [list(point[:2]) for point in points]
    elsewhere = executed(request.code(1))
    assert elsewhere["X"].tolist() == [list(point[:2]) for point in points]
    assert elsewhere["record"] == events[-1]["records"][-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "no-such-model"},
        {"model": "kmeans", "data": "digits"},
        {"model": "kmeans", "points": ((0.0, 0.0),)},
        {"model": "t-sne", "points": ((0.0, 0.0),) * 9},
        {"model": "kmeans", "points": ((float("nan"), 0.0),) * 9},
        {"model": "kmeans", "points": ((1e300, 0.0),) * 9},
        {"model": "kmeans", "settings": ("n_clusters=-1",)},
        {"model": "kmeans", "settings": ("clusters=3",)},
        {"model": "kmeans", "settings": ("n_clusters",)},
    ],
)
def test_what_makes_no_sense_is_one_sentence(wrong):
    with pytest.raises((ValueError, KeyError)) as problem:
        PlayRequest(**wrong).check()
    sentence = str(problem.value.args[0])
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.title)
def test_presets_are_settings_that_their_models_take(preset):
    PlayRequest(preset.model, preset.data, 0, preset.settings).check()
    PlayRequest(preset.model, preset.data, 0, preset.beside).check()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, probe, changed",
    [
        ("bayesian-network", {"3": 1}, lambda panels: panels[0]["nodes"][2]["chance"]),
        ("cnn-classifier", [0.0] * 30 + [1.0] * 34, lambda panels: panels[0]["title"]),
        ("vae", [0.5, -0.5], lambda panels: panels[1]["items"]),
        ("language-model", "a boat ", lambda panels: panels[0]["lines"][0][0][0]),
        ("text-classifier", "the film was dull", lambda panels: panels[0]["lines"][0][0][0]),
        ("text-classifier", "my film was dull", lambda panels: panels[0]["lines"][0][0][0]),
        ("gaussian-process-regressor", [0.0, 1.0], lambda panels: panels[0]["lines"]),
        ("k-neighbors-classifier", [0.1, 0.2], lambda panels: panels[0].get("lines")),
        ("k-neighbors-regressor", [0.1, 0.2], lambda panels: panels[0]["points"].get("ring")),
        ("node-classifier", {"node": 8}, lambda panels: panels[0].get("wide")),
    ],
)
def test_a_probe_changes_what_is_seen_and_nothing_else(name, probe, changed):
    player, events = opened(PlayRequest(name))
    before = events[-1]
    player.handle("probe", probe)
    after = events[-1]
    assert after["type"] == "frame", after
    assert after["position"] == before["position"]
    if probe != "the film was dull":
        assert changed(after["panels"]) != changed(before["panels"])
    player.handle("probe", None)
    assert events[-1]["panels"] == before["panels"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "probe", [7, {"x": 1}, ["a"] * 64, [None, None], "\u0000[MASK]", {"99": 1}, [1e308, -1e308], ""]
)
def test_a_senseless_probe_neither_ends_nor_changes_the_fit(probe):
    for name in ("bayesian-network", "vae", "k-neighbors-classifier", "node-classifier"):
        player, events = opened(PlayRequest(name))
        before = events[-1]["panels"]
        player.handle("probe", probe)
        player.handle("probe", None)
        assert events[-1]["panels"] == before


def test_events_of_a_running_fit_carry_each_record_once():
    player, events = opened(PlayRequest("gradient-boosting-regressor"))
    player.handle("play", None)
    while player.playing:
        player.advance()
    records = []
    for event in events:
        assert event["from"] <= len(records)
        records = records[: event["from"]] + event["records"]
    assert records == player.fit.records
    assert events[-1]["finished"]


def panels_of(name, data="", probe=None):
    """What is seen of a model after a few records."""
    player, events = opened(PlayRequest(name, data))
    player.handle("step", 3)
    player.handle("probe", probe)
    return events[-1]["panels"]


@pytest.mark.parametrize("name", sorted(name for name, scene in SCENES.items() if scene.tables), ids=lambda name: name)
@pytest.mark.filterwarnings("ignore")
def test_a_table_shows_what_each_of_its_columns_does(name):
    [data] = SCENES[name].tables
    effect, *_ = panels_of(name, data)
    columns = PlayRequest(name, data).load()[0].shape[1]
    shown = effect["items"] if effect["panel"] == "bars" else effect["rows"]
    assert len(shown) == columns
    assert "each column" in effect["title"]


@pytest.mark.parametrize("name", ["basis-regression", "spline-regression"])
def test_basis_functions_add_up_to_the_prediction(name):
    [panel] = panels_of(name)
    *terms, line = [np.array(line["xy"]) for line in panel["lines"]]
    request = PlayRequest(name)
    model = request.build().fit(*request.load())
    np.testing.assert_allclose(sum(term[:, 1] for term in terms) + model.intercept_, line[:, 1], atol=1e-3 * len(terms))


def test_a_point_under_the_mouse_takes_doubt_from_a_gaussian_process():
    [panel] = panels_of("gaussian-process-regressor", probe=[0.0, 0.5])
    band, (_, low, high) = panel["band"], (np.array(line["xy"]).T for line in panel["lines"])
    before = np.interp(0.0, band["x"], np.subtract(band["high"], band["low"]))
    assert 0 < np.interp(0.0, low[0], high[1] - low[1]) < before


def test_neighbors_under_the_mouse_are_the_nearest_rows():
    request = PlayRequest("k-neighbors-classifier")
    X, _ = request.load()
    place = np.array([0.3, 0.1])
    [panel] = panels_of("k-neighbors-classifier", probe=place.tolist())
    k = request.build().n_neighbors
    nearest = X[np.argsort(((X - place) ** 2).sum(axis=1))[:k]]
    np.testing.assert_allclose([line["xy"][1] for line in panel["lines"]], nearest, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_messages_of_a_node_come_from_its_neighbors():
    graph = panels_of("node-classifier", probe={"node": 11})[0]
    assert graph["picked"] == 11
    assert [(a, b) for a, b, _ in graph["wide"]] == [(11, 0)]  # its only friend


@pytest.mark.filterwarnings("ignore")
def test_a_network_that_reads_shows_its_filters_and_where_it_looks():
    titles = [panel["title"] for panel in panels_of("cnn-classifier")]
    assert "filters of the first layer" in titles
    looked = next(panel for panel in panels_of("vision-transformer") if panel["title"].startswith("digits, and where"))
    assert len(looked["items"]) == 16


@pytest.mark.filterwarnings("ignore")
def test_a_prompt_is_shown_in_the_tokens_that_the_model_reads():
    request = PlayRequest("language-model", settings=("tokens=bpe", "vocab_size=290", "context=8"))
    player, events = opened(request)
    player.handle("probe", "the river runs")
    _, looked, cut = events[-1]["panels"]
    pieces = [word[0] for word in cut["lines"][0]]
    assert "".join(pieces).replace("␣", " ") == "the river runs"
    assert len(pieces) < len("the river runs")
    assert len(looked["values"]) == len(looked["columns"]) == len(pieces) + 1  # the start is no token of the text


@pytest.mark.filterwarnings("ignore")
def test_digits_have_places_of_their_own_in_the_latent_plane():
    """At record 30 most digits lie among their like: a plane that one wants to walk in."""
    request = PlayRequest("vae")
    X, y = request.load()
    player, _ = opened(request)
    player.handle("step", 29)
    codes = player.fit.model.transform(X)
    far = ((codes[:, None] - codes[None]) ** 2).sum(axis=2)
    near = np.argsort(far, axis=1)[:, 1:6]
    among_their_like = (y[near] == y[:, None]).mean(axis=1) > 0.5
    assert among_their_like.mean() > 0.5  # one in about a hundred, were they strewn by chance


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, data", [("self-training-classifier", ""), ("pseudo-label", ""), ("domain-adaptation-classifier", "")]
)
def test_rows_without_a_label_are_told_from_those_with_one(name, data):
    """Whoever drags a point must not give labels to all that have none."""
    request = PlayRequest(name, data)
    X, y = request.load()
    points = panels_of(name, data)[0]["points"]
    assert points["given"] == y.tolist()
    drawn = tuple((*place, label) for place, label in zip(X.tolist(), points["given"]))
    assert PlayRequest(name, data, points=drawn).load()[1].tolist() == y.tolist()


def test_rows_without_a_label_judge_no_fit():
    assert is_scored(GaussianNB, np.array([0, 1]))
    assert not is_scored(GaussianNB, np.array([0, -1]))
    assert is_scored(GaussianNB, np.array([-1.0, 1.0])), "numbers, not labels"
    assert not is_scored(GaussianNB, None)
    assert not is_scored(object, np.array([0, 1]))


def test_a_kind_that_was_never_seen_is_told_by_its_traits():
    *_, share = panels_of("zero-shot")
    assert share["items"][-1] == ["swan (never seen)", 1.0]
    assert max(PlayRequest("zero-shot").load()[1]) == 3, "four kinds have rows"


def test_a_star_shows_the_direction_of_an_edge():
    """Across a step from left to right the edge is upright: the middle column of the star is dark, the row is not."""
    model = PlayRequest("hog").build()
    step = np.repeat(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])[None], 8, axis=0)
    model.set_params(cell=8).fit(step.reshape(1, 64))
    [star] = drawings._edges(model, step.reshape(1, 1, 8, 8))
    assert star.shape == (drawings.GLYPH, drawings.GLYPH)
    assert star[1, drawings.GLYPH // 2] > 2 * star[drawings.GLYPH // 2, 1]


PICTURES = sorted(name for name in SCENES if issubclass(PlayRequest(name).class_, ImageParameters))


@pytest.mark.parametrize("name", PICTURES)
def test_models_of_pictures_are_told_the_shape_of_rows_that_hold_some(name):
    """Without it a row is a picture one pixel high, and a convolution sees nothing of a digit."""
    X, _ = PlayRequest(name).load()
    if np.ndim(X) == 2:
        assert np.prod(SCENES[name].params["image_shape"]) == X.shape[1]
