"""How to read what a stage shows: one or two sentences for every view."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["MORE", "READINGS", "reading"]

READINGS: Mapping[str, str] = {
    # the plane
    "regions": "Points are the data, colored by their class; the color behind them is what the model would say there, "
    "paler where it is less sure.",
    "adapted": "Faint points were labeled, by one instrument; full ones are by another of other scales and without a "
    "label, in the class that the model gives them. The color behind is what it would say of the second instrument.",
    "cells": "Every cell is a pair of categories, colored by the class that the model gives it.",
    "clusters": "Diamonds are the centers; color is the cluster to which the model gives a point and the plane.",
    "density": "The stronger the color, the denser the model believes the data to be there.",
    "samples": "Gray points are the data, orange ones are made up by the model: they should come to lie alike.",
    "path": "Gray points are the data. Orange ones start as noise and go where the model sends them, again and again.",
    "translated": "Green dots are the first set as the model carries it over: they should come to lie on the second.",
    "axes": "Arrows are the directions that the model found, as long as the data are wide along them.",
    "embedding": "Every point is a picture of a digit, colored by its digit: like should come to lie near like.",
    # curves
    "curve": "Points are the data, the line is what the model predicts, thin verticals are what it misses.",
    "series": "Every line is a series with what the model says of it.",
    "forecast": "Behind the series, the forecast; the band should hold nine of ten months to come.",
    "states": "Color is the hidden state that the model sees behind each step, the line that state's mean.",
    # the landscape
    "race": "Every line is the path of one optimizer over the landscape, from the same start; "
    "the stronger the gray, the lower the ground.",
    # tables
    "branches": "Every question splits the days; a leaf says what most of its days said.",
    "biplot": "Rows and columns of a table of counts: what lies near occurs together more often than by chance.",
    "effects": "Bars say what each column of the table does to the prediction: its weight, per standard deviation, or "
    "its importance in the questions of trees.",
    "traits": "The model reads traits off a row, and names the kind whose described traits fit best, even one that it "
    "has never seen.",
    # pictures
    "readers": "Below each digit what the model reads, green where it is right; then what of a digit speaks for that.",
    "measures": "Below each bar the angle as measured and, in brackets, as it is; on the dashed diagonal both agree.",
    "latent": "Every point is a digit where the model puts it; behind them, what it draws there. Beside it, the digit "
    "of one place: move the mouse over the plane, or click.",
    "drawn": "Digits that the model makes up, and how the first of them come out of noise.",
    "reconstructions": "Above, digits; below, what comes back after they went through the narrow layer. Then, unit by "
    "unit: blue is what more of it adds, orange what it takes away.",
    "features": "Pictures, and what is made of each.",
    "detections": "Boxes are what the model finds; numbers say how sure it is.",
    "masks": "Above, the pictures; then the class of every pixel by its color, as the model says it and as it is.",
    "embedded": "Every point is a digit as the network represents it; colors were never shown to it.",
    "similarity": "Below each picture the sentence that fits it best to the model, green where it is the right one.",
    # texts
    "writing": "After the beginning, what the model would write, and the tokens that it reads. The map shows at which "
    "tokens (columns) each token (rows) looks; ▸ is the start.",
    "translation": "Sentences, and what the model makes of them. The map shows at which letters (columns) each letter "
    "that it writes (rows) looks; ◂ is the end.",
    "tags": "Below each word the tag that the model gives it.",
    "opinion": "Blue words speak for the verdict, orange ones against it.",
    "cloze": "Words that the model would put into the gap, the likeliest first.",
    "words": "Words that occur in the same company come to lie in the same direction.",
    "topics": "The stronger the color, the more of a topic: which words it is made of, and which texts are made of it.",
    # graphs
    "nodes": "Color is the class that the model gives a node, fuller where it is surer. The class of ringed nodes was "
    "told to it; a dashed rim is a mistake. Click a node: the wider a line, the more the message along it counts, for "
    "its class or, dotted, against it.",
    "graphs": "Above each graph what the model says of it, and what it is; orange where the two differ.",
    "links": "Gray lines are known, dashed ones are what the model misses most.",
    "network": "Bars are chances given what is known. Click a fact to say that it holds, again for that it does not.",
    # fields
    "solution": "First, the temperature as the network has it; then, by how much it breaks the equation, with the "
    "points at which that is measured.",
    "flow": "Arrows show where the learned flow carries a point; lines follow it from the start of each measured path.",
}

#: What is added where the model has such an attribute.
MORE: Mapping[str, Mapping[str, str]] = {
    "regions": {
        "support_": " Ringed: the support vectors.",
        "transduction_": " A point without a class takes the color of the one that the model gives it, surest first.",
        "points_": " Move the mouse: lines lead to the neighbors that decide there.",
    },
    "curve": {
        "support_": " Ringed: the support vectors; between the dashed lines nothing counts as a miss.",
        "basis_": " Thin lines: the basis functions times their weights, which add up to it.",
        "knots_": " Thin lines: what the value at each knot adds to it.",
        "points_": " Move the mouse: ringed are the neighbors whose mean is said there.",
        "X_train_": " Move the mouse: between the orange lines is what one more point there would leave of the doubt.",
    },
}


#: What is added for a set.
OF_DATA: Mapping[str, str] = {"few_labels": " Ringed: the eight points whose class was told; gray ones have none."}


def reading(view: str, attributes: Collection[str] = (), data: str = "") -> str:
    """What a newcomer must know to read the stage of a model with these learned attributes on a set."""
    more = [text for name, text in MORE.get(view, {}).items() if name in attributes]
    return READINGS[view] + OF_DATA.get(data, "") + "".join(more)
