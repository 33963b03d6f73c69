"""Pictures that move: a frame for every moment, then the end for a while."""

from PIL import Image

from margin.notes.motion import PAUSE, film


def test_every_moment_is_drawn_once_on_an_empty_figure(tmp_path):
    drawn = []

    def frame(figure, moment):
        assert not figure.axes
        drawn.append(moment)
        figure.subplots().plot([0, moment])

    film(frame, [1, 2, 4], size=(1, 1), interval=100).save(tmp_path / "steps.webp", writer="pillow")
    assert drawn == [1, 2, *[4] * (1 + PAUSE)]
    with Image.open(tmp_path / "steps.webp") as picture:
        assert picture.n_frames >= 3  # frames that are the same may be one
        assert picture.size == (80, 80)
