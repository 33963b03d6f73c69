"""The numbers that every textbook prints for the fourteen days of tennis."""

import numpy as np
import pytest

from margin.trees import ID3, class_entropy, gain_ratio, information_gain, play_tennis, split_information

# Some books cut after the third digit (0.246, 0.151), others round (0.247, 0.152): both lie within a thousandth.
GAINS = {"outlook": (0.246, 0.247), "humidity": (0.151, 0.152), "wind": (0.048, 0.048), "temperature": (0.029, 0.029)}


def printed(value, low, high):
    return low <= np.floor(value * 1000) / 1000 and round(value, 3) <= high


def test_entropy_of_nine_to_five():
    _, played = play_tennis()
    assert class_entropy(played) == pytest.approx(0.940, abs=5e-4)


@pytest.mark.parametrize("name", GAINS)
def test_gains_at_the_root(name):
    days, played = play_tennis()
    assert printed(information_gain(played, days[name]), *GAINS[name])


def test_split_information_and_ratios():
    days, played = play_tennis()
    split = {name: split_information(days[name]) for name in days.names}
    assert split == pytest.approx({"outlook": 1.577, "temperature": 1.557, "humidity": 1.0, "wind": 0.985}, abs=5e-4)
    ratio = {name: gain_ratio(played, days[name]) for name in days.names}
    assert ratio == pytest.approx({"outlook": 0.156, "temperature": 0.019, "humidity": 0.152, "wind": 0.049}, abs=5e-4)


def test_step_by_step():
    days, played = play_tennis()
    first, second, third = ID3().iterate(days, played)
    assert first["entropy"] == pytest.approx(0.940, abs=5e-4)
    assert days.names[int(first["split"])] == "outlook"
    for name, (low, high) in GAINS.items():
        assert printed(first[f"gain {name}"], low, high)
    rain, sunny = second, third
    assert (rain["rows"], rain["entropy"]) == (5, pytest.approx(0.971, abs=5e-4))
    assert [rain[f"gain {name}"] for name in ("temperature", "humidity", "wind")] == pytest.approx(
        [0.020, 0.020, 0.971], abs=5e-4
    )
    assert [sunny[f"gain {name}"] for name in ("temperature", "humidity", "wind")] == pytest.approx(
        [0.571, 0.971, 0.020], abs=5e-4
    )
    assert "gain outlook" not in rain.values
    assert [days.names[int(record["split"])] for record in (rain, sunny)] == ["wind", "humidity"]


def test_the_tree_and_its_rules():
    days, played = play_tennis()
    model = ID3().fit(days, played)
    assert model.rules() == [
        "if outlook = overcast then yes (4)",
        "if outlook = rain and wind = strong then no (2)",
        "if outlook = rain and wind = weak then yes (3)",
        "if outlook = sunny and humidity = high then no (3)",
        "if outlook = sunny and humidity = normal then yes (2)",
    ]
    assert (model.get_depth(), model.get_n_leaves(), model.score(days.to_pandas(), played)) == (2, 5, 1.0)
