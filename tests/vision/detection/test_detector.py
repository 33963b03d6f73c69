"""Networks that detect: shapes, what they are trained on, and the estimator's promises."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from margin.data.boxes import Boxes
from margin.data.scenes import digit_scenes, shape_scenes
from margin.neural.weights import build
from margin.vision.detection import ObjectDetector
from margin.vision.detection.backbone import Scene
from margin.vision.detection.boxes import pairwise_iou, to_centers
from margin.vision.detection.changed_scenes import augment_scene
from margin.vision.detection.detector import DETECTORS, detector_network
from margin.vision.detection.detr import sine_positions
from margin.vision.detection.matching import NO_OBJECT_WEIGHT, batch_set_loss, set_loss
from margin.vision.detection.rcnn import RPN, region_targets
from margin.vision.detection.yolo import yolo_boxes


@pytest.fixture(scope="module")
def scenes():
    return shape_scenes(np.random.default_rng(1), n_samples=10, side=24, sizes=(7, 10), n_objects=(1, 2))


@pytest.mark.parametrize("architecture", DETECTORS)
def test_detectors_learn_resume_and_repeat(scenes, architecture):
    model = ObjectDetector(architecture, base_channels=4, max_iter=2, batch_size=5, random_state=2, score_threshold=0.0)
    model.fit(scenes.images, scenes.boxes)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    found = model.predict(scenes.images)
    assert len(found) == 10
    assert all(boxes.inside(24, 24) and (boxes.areas > 0).all() for boxes in found)
    assert all((np.diff(boxes.scores) <= 0).all() for boxes in found)
    again = clone(model)
    next(again.iterate(scenes.images, scenes.boxes))
    resumed = clone(model)
    list(resumed.iterate(scenes.images, scenes.boxes, state=again.get_state()))
    for name, array in model.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], array)


@pytest.mark.parametrize(("architecture", "per_proposal"), [("r-cnn", True), ("fast-r-cnn", False)])
def test_images_through_the_backbone_are_counted(architecture, per_proposal):
    net = build(lambda: detector_network(architecture, 1, 3, 4, 8.0, 5), seed=0).eval()
    passes = []
    net.backbone.register_forward_pre_hook(lambda _layer, inputs: passes.append(len(inputs[0])))
    proposals = torch.tensor([[[0.0, 0.0, 8.0, 8.0], [4.0, 4.0, 16.0, 12.0], [2.0, 2.0, 20.0, 20.0]]])
    with torch.no_grad():
        net.detect(torch.zeros(1, 1, 24, 24), proposals)
    assert sum(passes) == (3 if per_proposal else 1)


def test_detr_needs_a_query_for_every_object(scenes):
    most = max(map(len, scenes.boxes))
    with pytest.raises(ValueError, match=rf"^ObjectDetector: n_queries must be at least {most}, the most objects"):
        ObjectDetector("detr", n_queries=most - 1).fit(scenes.images, scenes.boxes)


def test_yolo_boxes_are_centered_in_their_cells():
    boxes = yolo_boxes(torch.zeros(1, 3, 4, 4), stride=4, prior=6.0)
    centers = to_centers(boxes)
    assert centers[0, 2, 1].tolist() == [6.0, 10.0, 6.0, 6.0]


def test_region_targets():
    regions = torch.tensor([[0.0, 0.0, 4.0, 4.0], [10.0, 10.0, 14.0, 14.0], [0.0, 0.0, 4.0, 5.0]])
    wanted, matched = region_targets(regions, torch.tensor([[0.0, 0.0, 4.0, 4.0]]), torch.tensor([1]), 3)
    assert wanted.tolist() == [1, 3, 1]
    assert matched[2].tolist() == [0, 0, 4, 4]


def test_outputs_of_the_proposal_network_are_in_the_order_of_the_anchors():
    rpn = RPN(3, 2)
    maps = torch.randn(1, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    scores, _ = rpn(maps)
    flat = RPN.per_anchor(scores, 2)
    assert flat.shape == (1, 40, 2)
    torch.testing.assert_close(flat[0, (2 * 5 + 3) * 2 + 1], scores[0, 2:4, 2, 3])


def test_positions_differ():
    positions = sine_positions(5, 6, 16)
    assert (torch.cdist(positions, positions) + torch.eye(30) > 0.05).all()
    with pytest.raises(ValueError, match="divisible by 4"):
        sine_positions(2, 2, 6)


def test_a_scene_leaves_out_what_is_padding():
    boxes = torch.zeros(1, 3, 4)
    proposals = torch.full((1, 2, 4), float("nan"))
    scene = Scene(torch.zeros(1, 1, 8, 8), boxes, torch.tensor([[1, -1, -1]]), proposals)
    assert len(scene.objects(0)[0]) == 1
    assert len(scene.regions(0)) == 0


def test_a_batch_of_one_image_is_the_loss_of_the_image():
    rng = torch.Generator().manual_seed(0)
    logits, boxes = torch.randn(3, 4, 3, generator=rng), torch.rand(3, 4, 4, generator=rng) * 0.4 + 0.1
    labels = [torch.tensor([0, 1]), torch.tensor([1, 1]), torch.tensor([0, 0])]
    objects = [torch.rand(2, 4, generator=rng) * 0.4 + 0.1 for _ in range(3)]
    weight = torch.tensor([1.0, 1.0, NO_OBJECT_WEIGHT])
    apart = [set_loss(logits[k], boxes[k], labels[k], objects[k]) for k in range(3)]
    # All images have as many objects and predictions, so the mean over the batch is the mean of the images.
    torch.testing.assert_close(batch_set_loss(logits, boxes, labels, objects), torch.stack(apart).mean())
    empty = torch.empty(0, 4)
    alone = set_loss(logits[0], boxes[0], torch.empty(0, dtype=torch.int64), empty)
    none = torch.nn.functional.cross_entropy(logits[0], torch.full((4,), 2), weight=weight)
    torch.testing.assert_close(alone, none)


def test_scores_are_cross_validated(scenes):
    model = ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0)
    assert np.isfinite(cross_val_score(model, scenes.images, scenes.boxes, cv=2)).all()


def test_an_image_of_another_size_is_taken_and_one_of_other_channels_not(scenes):
    model = ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0).fit(scenes.images, scenes.boxes)
    assert len(model.predict(scenes.images[:2, :16])) == 2
    with pytest.raises(ValueError, match="must have images of 1 channels, as in fit; got 3 channels"):
        model.predict(np.zeros((2, 24, 24, 3)))
    with pytest.raises(ValueError, match="at least 4 x 4 pixels; got 24 x 3"):
        model.predict(scenes.images[:2, :, :3])


def test_bad_input_is_named(scenes):
    with pytest.raises(ValueError, match="y must be given"):
        ObjectDetector().fit(scenes.images)
    with pytest.raises(ValueError, match="sequence of Boxes"):
        ObjectDetector().fit(scenes.images, [1] * 10)
    with pytest.raises(ValueError, match="one per image"):
        ObjectDetector().fit(scenes.images, scenes.boxes[1:])
    outside = [*scenes.boxes[:9], Boxes([[0, 0, 30, 30]], [0])]
    with pytest.raises(
        ValueError, match=r"inside the image of 24 x 24 pixels; got \[0.0, 0.0, 30.0, 30.0\] for image 9"
    ):
        ObjectDetector().fit(scenes.images, outside)
    with pytest.raises(ValueError, match="at least one box"):
        ObjectDetector().fit(scenes.images[:1], [Boxes([], [])])


@pytest.mark.parametrize("make", [shape_scenes, digit_scenes])
def test_scenes_say_the_truth(make):
    scenes = make(np.random.default_rng(3), n_samples=5)
    for mask, boxes in zip(scenes.masks, scenes.boxes):
        assert boxes.inside(*mask.shape)
        for (left, top, right, bottom), label, _ in boxes:
            window = mask[int(top) : int(bottom), int(left) : int(right)]
            assert (window == label + 1).any(axis=0).all() or make is digit_scenes
            assert set(np.unique(window)) <= {0, label + 1} or make is digit_scenes
        overlap = pairwise_iou(boxes.xyxy, boxes.xyxy) - np.eye(len(boxes))
        assert (overlap < 0.5).all()


def test_changed_scenes_keep_boxes_on_their_objects():
    """Bright rectangles: after any change the pixels in the moved boxes are bright, and lost objects are told."""
    rng = np.random.default_rng(0)
    images, boxes = torch.zeros(40, 1, 24, 32), torch.zeros(40, 1, 4)
    for k in range(40):
        left, top = rng.integers(0, 22), rng.integers(0, 16)
        images[k, :, top : top + 6, left : left + 8] = 1.0
        boxes[k, 0] = torch.tensor([left, top, left + 8, top + 6])
    scene = Scene(images, boxes, torch.zeros(40, 1, dtype=torch.long), boxes)
    changes = [("flip", 0.0), ("flip-vertical", 0.0), ("shift", 6.0), ("crop", 8.0), ("noise", 0.01)]
    changed = augment_scene(scene, changes, torch.Generator().manual_seed(3))
    there = changed.labels[:, 0] >= 0
    assert 0 < int(there.sum()) < 40
    assert torch.equal(changed.proposals[:, 0, 0].isnan(), ~there)
    for image, (left, top, right, bottom) in zip(changed.images[there, 0], changed.boxes[there, 0].tolist()):
        inside = image[int(np.ceil(top)) : int(bottom), int(np.ceil(left)) : int(right)]
        assert inside.numel() == 0 or float(inside.mean()) > 0.8
        assert float(image.sum()) <= 1.5 * max((right - left) * (bottom - top), 4.0)


def test_augmented_detectors_resume_and_refuse_what_mixes_labels(scenes):
    names = ["flip", "flip-vertical", "shift 2", "color 0.1"]
    model = ObjectDetector("yolo", base_channels=4, max_iter=2, batch_size=5, random_state=2, augment=names)
    model.fit(scenes.images, scenes.boxes)
    plain = clone(model).set_params(augment=None).fit(scenes.images, scenes.boxes)
    assert any(not np.array_equal(plain.weights_[name], array) for name, array in model.weights_.items())
    begun, resumed = clone(model), clone(model)
    next(begun.iterate(scenes.images, scenes.boxes))
    list(resumed.iterate(scenes.images, scenes.boxes, state=begun.get_state()))
    for name, array in model.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], array)
    for wrong, said in ((["mixup 0.2"], "must not name 'mixup'"), (["turn"], "must name one of flip")):
        with pytest.raises(ValueError, match=f"ObjectDetector: augment {said}"):
            clone(model).set_params(augment=wrong).fit(scenes.images, scenes.boxes)


def test_labels_and_boxes_that_are_none_are_refused():
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4, side=16, sizes=(6, 9))
    model = ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0)
    box = [[0.0, 0.0, 5.0, 5.0]]
    wrong = [
        (None, "y must be a sequence of Boxes, one per image; got NoneType"),
        (Boxes(box, ["a"]), "labels of y must be all numbers or all strings"),
        (Boxes(box, np.array([None], dtype=object)), "labels of y must be all numbers or all strings"),
        (Boxes(box, [np.nan]), "labels of y must be classes; got NaN"),
    ]
    for first, sentence in wrong:
        with pytest.raises(ValueError, match=f"ObjectDetector: {sentence}"):
            model.fit(scenes.images, [first, *scenes.boxes[1:]])


def test_images_that_cannot_be_written_bring_no_warning():
    scenes = shape_scenes(np.random.default_rng(0), n_samples=4, side=16, sizes=(6, 9))
    images = scenes.images.astype(np.float32)
    images.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ObjectDetector("yolo", base_channels=4, max_iter=1, random_state=0).fit(images, scenes.boxes).predict(images)
