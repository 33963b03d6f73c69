"""Every equation of the notes becomes markup that a browser draws."""

import re
from xml.etree import ElementTree

import pytest

from margin.notes import atlas
from margin.report.mathml import mathml

pytest.importorskip("latex2mathml")


def test_every_equation_of_the_notes_is_converted_without_a_command_left_over():
    left = {}
    for row in atlas.rows().values():
        if row.equation:
            written = mathml(row.equation)
            ElementTree.fromstring(written)  # well formed
            if re.search(r"\\|mathvariant=\"(?!normal)", written):
                left[row.id] = written
    assert left == {}


@pytest.mark.parametrize(
    ("tex", "part"),
    [
        (r"\arg\min_x f", "<munder><mo>arg min</mo><mi>x</mi></munder>"),
        (r"\mathrm{KL}(p)", "<mi>KL</mi>"),
        (r"\mathbf{1}", "𝟏"),
        (r"\mathbb{R}^n", "ℝ"),
        (r"\mathcal{L}", "ℒ"),
        (r"\hat y", "<mo>ˆ</mo>"),
        (r"\Bigl\{ x \Bigr\}", ">{</mo>"),
    ],
)
def test_what_browsers_do_not_read_is_written_out(tex, part):
    assert part in mathml(tex)


def test_limits_stand_beside_an_operator_inside_a_sentence():
    assert "<msub><mo>min</mo>" in mathml(r"\min_x f", display=False)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<img src=x>", "<b", "&nbsp;"])
def test_text_cannot_become_markup(text):
    with pytest.raises(ValueError, match="mathml"):
        mathml(rf"\text{{{text}}}")


def test_both_bars_of_a_norm_have_one_size():
    assert mathml(r"\lVert x \rVert_2").count('<mo stretchy="false">\u2016</mo>') == 2
