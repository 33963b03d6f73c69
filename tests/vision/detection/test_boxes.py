"""Overlap, offsets, suppression and anchors against loops written from their definitions."""

import numpy as np
import pytest
import torch

from margin.data.boxes import Boxes
from margin.metrics.sets import box_iou
from margin.vision.detection.anchors import anchor_targets, make_anchors, sample_anchors
from margin.vision.detection.boxes import (
    areas,
    box_decode,
    box_encode,
    clip_boxes,
    paired_giou,
    pairwise_giou,
    pairwise_iou,
    to_centers,
    to_corners,
)
from margin.vision.detection.suppression import non_maximum_suppression


def random_boxes(rng, n, side=20.0):
    corners = rng.uniform(0, side, size=(n, 2))
    return np.concatenate([corners, corners + rng.uniform(0.5, side / 2, size=(n, 2))], axis=1)


def test_iou_of_pairs_is_that_of_one_pair():
    rng = np.random.default_rng(3)
    a, b = random_boxes(rng, 12), random_boxes(rng, 9)
    expected = [[box_iou(p, q) for q in b] for p in a]
    np.testing.assert_allclose(pairwise_iou(a, b), expected, atol=1e-12)
    np.testing.assert_allclose(np.diag(pairwise_iou(a, a)), 1.0)
    by_torch = pairwise_iou(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_allclose(by_torch.numpy(), expected, atol=1e-12)


def test_giou_counts_cells_of_integer_boxes():
    """On integer boxes every area is a number of cells of a grid."""
    rng = np.random.default_rng(4)
    low = rng.integers(0, 6, size=(20, 2))
    boxes = np.concatenate([low, low + rng.integers(1, 6, size=(20, 2))], axis=1)

    def cells(box):
        return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}

    for a in boxes:
        for b in boxes:
            both, union = cells(a) & cells(b), cells(a) | cells(b)
            around = cells([*np.minimum(a, b)[:2], *np.maximum(a, b)[2:]])
            expected = len(both) / len(union) - (len(around) - len(union)) / len(around)
            assert pairwise_giou(a[None] * 1.0, b[None] * 1.0)[0, 0] == pytest.approx(expected)


def test_giou_has_a_gradient_where_iou_has_none():
    a = torch.tensor([[0.0, 0.0, 1.0, 1.0]], requires_grad=True)
    b = torch.tensor([[3.0, 0.0, 4.0, 1.0]])
    paired_giou(a, b).sum().backward()
    assert a.grad[0, 2] > 0
    a.grad = None
    pairwise_iou(a, b).sum().backward()
    assert not a.grad.any()


def test_offsets_and_centers_are_undone():
    rng = np.random.default_rng(5)
    boxes, anchors = random_boxes(rng, 30), random_boxes(rng, 30)
    np.testing.assert_allclose(box_decode(box_encode(boxes, anchors), anchors), boxes, atol=1e-10)
    np.testing.assert_allclose(to_corners(to_centers(boxes)), boxes, atol=1e-12)
    tensors = torch.from_numpy(boxes), torch.from_numpy(anchors)
    np.testing.assert_allclose(box_encode(*tensors).numpy(), box_encode(boxes, anchors), atol=1e-12)


def test_huge_offsets_stay_finite():
    assert np.isfinite(box_decode(np.full((1, 4), 1e6), np.array([[0.0, 0.0, 1.0, 1.0]]))).all()


def test_clip_boxes():
    clipped = clip_boxes(np.array([[-3.0, 1.0, 5.0, 30.0], [40.0, 0.0, 50.0, 3.0]]), height=10, width=20)
    np.testing.assert_array_equal(clipped, [[0, 1, 5, 10], [20, 0, 20, 3]])


def brute_force_suppression(boxes, scores, threshold, labels):
    left = sorted(range(len(boxes)), key=lambda i: (-scores[i], i))
    kept = []
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [
            i for i in left if labels[i] != labels[best] or pairwise_iou(boxes[[best]], boxes[[i]])[0, 0] <= threshold
        ]
    return kept


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
def test_suppression_is_the_greedy_loop(threshold):
    rng = np.random.default_rng(6)
    boxes = random_boxes(rng, 150)
    scores = rng.integers(0, 40, size=150) / 40  # many ties
    labels = rng.integers(0, 3, size=150)
    for given, codes in ((labels, labels), (None, np.zeros(150))):
        kept = non_maximum_suppression(boxes, scores, threshold, labels=given)
        assert kept.tolist() == brute_force_suppression(boxes, scores, threshold, codes)
    assert len(non_maximum_suppression(boxes, scores, 1.0, max_boxes=7)) == 7
    assert non_maximum_suppression(np.empty((0, 4)), []).tolist() == []


def test_suppression_refuses_bad_input():
    with pytest.raises(ValueError, match="threshold must lie in"):
        non_maximum_suppression([[0, 0, 1, 1]], [1.0], 1.5)
    with pytest.raises(ValueError, match="one per box"):
        non_maximum_suppression([[0, 0, 1, 1]], [1.0, 2.0])


def test_anchors_have_the_areas_and_ratios_asked_for():
    anchors = make_anchors(3, 5, 8, scales=(16, 32), ratios=(0.5, 2.0))
    assert anchors.shape == (3 * 5 * 4, 4)
    grid = anchors.reshape(3, 5, 4, 4)
    sides = grid[..., 2:] - grid[..., :2]
    np.testing.assert_allclose(areas(grid)[1, 2], [256, 256, 1024, 1024])
    np.testing.assert_allclose((sides[..., 1] / sides[..., 0])[0, 0], [0.5, 2, 0.5, 2])
    np.testing.assert_allclose(to_centers(grid)[1, 2, :, :2], np.tile([2.5 * 8, 1.5 * 8], (4, 1)))


def test_anchor_targets_leave_no_object_without():
    rng = np.random.default_rng(7)
    anchors = torch.from_numpy(make_anchors(6, 6, 8, scales=(12,)))
    objects = torch.from_numpy(random_boxes(rng, 5, side=30))
    target = anchor_targets(anchors, objects)
    overlap = pairwise_iou(anchors, objects)
    assert set(range(5)) <= set(target.tolist())
    assert (overlap[target == -1] < 0.3).all()
    high = overlap.max(dim=1).values >= 0.7
    assert (target[high] >= 0).all()
    assert (anchor_targets(anchors, objects[:0]) == -1).all()


@pytest.mark.parametrize(("n_positive", "expected"), [(300, 128), (40, 40), (0, 0)])
def test_sampled_anchors_are_filled_with_background(n_positive, expected):
    target = torch.cat([torch.zeros(n_positive), -torch.ones(1000), torch.full((50,), -2.0)]).long()
    chosen = target[sample_anchors(target, 256, torch.Generator().manual_seed(0))]
    assert len(chosen) == 256
    assert int((chosen >= 0).sum()) == expected
    assert not (chosen == -2).any()


def test_boxes_say_what_is_wrong():
    with pytest.raises(ValueError, match="x_min < x_max"):
        Boxes([[0, 0, 0, 4]], [1])
    with pytest.raises(ValueError, match="4 columns"):
        Boxes([[0, 0, 4]], [1])
    with pytest.raises(ValueError, match="labels must have one entry"):
        Boxes([[0, 0, 4, 4]], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        Boxes([[0, 0, np.nan, 4]], [1])
    with pytest.raises(ValueError, match="scores must have one entry"):
        Boxes([[0, 0, 4, 4]], [1], [])
    empty = Boxes([], [])
    assert len(empty) == 0
    assert empty.inside(1, 1)
    ((box, label, score),) = Boxes([[0, 0, 4, 4]], ["cat"], [0.5])
    assert (box.tolist(), label, score) == ([0, 0, 4, 4], "cat", 0.5)
