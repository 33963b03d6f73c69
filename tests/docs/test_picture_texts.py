"""Texts of a picture that cannot be read are found, and only those."""

import matplotlib

matplotlib.use("Agg")

import pytest
from docs.generators.picture_texts import text_faults
from matplotlib.figure import Figure

from margin.notes.pictures import COLORS, draw_picture, picture_style


def drawn(draw):
    figure = Figure(figsize=(4, 3), layout="constrained")
    draw(figure)
    return text_faults(figure)


def test_a_plain_chart_has_no_fault():
    def draw(figure):
        axis = figure.subplots()
        axis.loglog([1e-6, 10], [1, 2])  # ticks beyond the view are kept by the axis, and not drawn
        axis.set(title="a title", xlabel="x", ylabel="y")

    assert drawn(draw) == []


def test_texts_upon_each_other_are_named():
    def draw(figure):
        axis = figure.subplots()
        axis.text(0.5, 0.5, "first")
        axis.text(0.52, 0.5, "second")

    (fault,) = drawn(draw)
    assert fault in ("'first' overlaps 'second'", "'second' overlaps 'first'")


def test_a_title_that_is_cut_off_is_named():
    said = "a title that is far too long for the small picture above which it stands"
    assert drawn(lambda figure: figure.subplots().set_title(said)) == [f"{said!r} leaves the canvas"]


@pytest.mark.parametrize("hide", [lambda text: text.set_visible(False), lambda text: text.set_gid("mark")])
def test_hidden_texts_and_marks_may_lie_anywhere(hide):
    def draw(figure):
        axis = figure.subplots()
        for _ in range(2):
            hide(axis.text(0.5, 0.5, "mark"))

    assert drawn(draw) == []


def test_labels_of_an_axis_that_is_switched_off_do_not_count():
    def draw(figure):
        axis = figure.subplots()
        axis.set_xticks([0.5, 0.51], ["one label", "another label"])
        axis.set_axis_off()

    assert drawn(draw) == []


def test_every_experiment_is_drawn_in_one_style():
    class Lines:
        @staticmethod
        def draw(data, figure):
            figure.subplots().plot(data["line"])

    before = dict(matplotlib.rcParams)
    with picture_style():
        (line,) = draw_picture(Lines, {"line": [1, 2]}).axes[0].lines
    assert line.get_color() == COLORS[0]
    assert dict(matplotlib.rcParams) == before, "the style ends with the picture"
