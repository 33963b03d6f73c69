"""Claims on the families of detectors, each trained on small scenes of shapes."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import torch

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.notes.claims import claim
from margin.notes.claims.detection import random_boxes
from margin.vision.detection.anchors import anchor_targets, make_anchors, sample_anchors
from margin.vision.detection.average_precision import mean_average_precision
from margin.vision.detection.boxes import pairwise_iou
from margin.vision.detection.matching import match_sets, set_loss
from margin.vision.detection.rcnn import RCNN, RPN, region_targets
from margin.vision.detection.suppression import non_maximum_suppression

SIDE = 24
EPOCHS = {"r-cnn": 8, "fast-r-cnn": 10, "faster-r-cnn": 12, "yolo": 25, "detr": 12, "hog-svm": 10}
IMAGES = {"detr": 320}  # a transformer needs more of them
DEFAULT_IMAGES, TEST_IMAGES = 80, 30
# Attention learns slowly at first and breaks at high rates, so DETR's rate rises over a tenth of the updates.
OPTIONS: dict[str, Any] = {"detr": {"learning_rate_init": 0.003, "warmup": 0.1, "n_queries": 5}}


@cache
def scenes(seed: int, n: int = DEFAULT_IMAGES) -> tuple[Any, Any]:
    """One or two shapes per image, to learn from and to be judged on."""
    from margin.data.scenes import shape_scenes

    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"side": SIDE, "sizes": (8, 11), "n_objects": (1, 2)}
    test = shape_scenes(rng, TEST_IMAGES, **options)
    return shape_scenes(rng, n, **options), test


@cache
def fit(seed: int, architecture: str) -> Any:
    from margin.vision.detection import ObjectDetector

    train, _ = scenes(seed, IMAGES.get(architecture, DEFAULT_IMAGES))
    model = ObjectDetector(
        architecture, base_channels=8, max_iter=EPOCHS[architecture], batch_size=8, random_state=seed,
        **OPTIONS.get(architecture, {"learning_rate_init": 0.005}),
    )  # fmt: skip
    return model.fit(train.images, train.boxes)


@cache
def precision(seed: int, architecture: str) -> float:
    _, test = scenes(seed)
    return fit(seed, architecture).score(test.images, test.boxes)


def passes(seed: int, architecture: str) -> tuple[int, int]:
    """Images through the network, and proposals, for one image."""
    _, test = scenes(seed)
    model = fit(seed, architecture)
    counted: list[int] = []
    body: Any = model._ready_module().body
    hook = body.backbone.register_forward_pre_hook(lambda _net, inputs: counted.append(len(inputs[0])))
    model.predict(test.images[:1])
    hook.remove()
    return sum(counted), model._proposals(test.images[:1, None]).shape[1]


@claim("object-detection")
def boxes_are_found_and_judged(seed: int) -> Verdict:
    _, test = scenes(seed)
    detections = fit(seed, "yolo").predict(test.images)
    boxes = random_boxes(seed, 20)
    scores = np.random.default_rng(seed).random(20)
    kept = non_maximum_suppression(boxes, scores, 0.4)
    overlap = pairwise_iou(boxes[kept], boxes[kept]) - np.eye(len(kept))
    return every(
        itself=near(np.diag(pairwise_iou(boxes, boxes)), np.ones(20), tolerance=1e-12),
        suppressed=below(float(overlap.max()), 0.4 + 1e-12),
        triples=equal(all(len(one) == 3 for boxes in detections for one in boxes), True),
        precision=above(mean_average_precision(test.boxes, detections), 0.8),
        before_networks=above(precision(seed, "hog-svm"), 0.7),
    )


def as_support_vector_machines(seed: int) -> float:
    """How often the network's machines say of regions what exact ones say that are fitted to the same features."""
    from margin.kernels import LinearSVC

    train, test = scenes(seed)
    model = fit(seed, "r-cnn")

    def regions(part: Any, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        explanations = [model.explain(image) for image in part.images[:n]]
        region_classes = [
            region_targets(torch.from_numpy(stages["proposals"]), *torch_objects(objects), 3)[0]
            for stages, objects in zip(explanations, part.boxes)
        ]
        features, scores = (
            np.concatenate([stages[name] for stages in explanations]) for name in ("features", "class_scores")
        )
        return features, scores > 0.5, torch.cat(region_classes).numpy()

    features, _, region_classes = regions(train, 40)
    test_features, test_classes, _ = regions(test, TEST_IMAGES)
    exact = [LinearSVC(C=1.0).fit(features, region_classes == c).predict(test_features) for c in range(3)]
    return float(np.mean(np.stack(exact, axis=1) == test_classes))


def torch_objects(objects: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(objects.xyxy.astype(np.float32)), torch.from_numpy(objects.labels)


@claim("r-cnn")
def every_proposal_goes_through_the_network(seed: int) -> Verdict:
    through, proposed = passes(seed, "r-cnn")
    body: Any = fit(seed, "r-cnn")._ready_module().body
    with torch.device("meta"):  # the sizes of the notes, without their cost
        large = RCNN(3, 20, 64, side=32, width=4096)
        features = large.features(
            torch.empty(1, 3, 500, 500), torch.empty(2000, 4), torch.zeros(2000, dtype=torch.int64)
        )
    return every(
        passes=equal(through, proposed),
        precision=above(precision(seed, "r-cnn"), 0.7),  # 0.91 to 0.98 at seeds 0 to 4
        machines=equal(tuple(body.machines.weight.shape), (3, 64)),
        support_vector_machines=above(as_support_vector_machines(seed), 0.9),
        sizes=equal(tuple(features.shape), (2000, 4096)),
        box_offsets=equal(body.refine.out_features, 12),
    )


@claim("fast-r-cnn")
def one_pass_and_two_losses(seed: int) -> Verdict:
    model = fit(seed, "fast-r-cnn")
    through, proposed = passes(seed, "fast-r-cnn")
    truth = every(
        one_pass=equal(through, 1),
        loss_falls=below(model.loss_curve_[-1], 0.7 * model.loss_curve_[0]),
        precision=above(precision(seed, "fast-r-cnn"), 0.7),
    )
    used, found = proposals_of_image_and_map(seed)
    return corrected(
        every(parts=truth, many=equal(len(used), proposed)), printed=equal(np.array_equal(used, found), True)
    )


def proposals_of_image_and_map(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The boxes that Fast R-CNN pools, and those that the same search finds in its map, in pixels of the image."""
    import torch

    from margin.vision.detection.selective_search import selective_search

    model, image = fit(seed, "fast-r-cnn"), scenes(seed)[1].images[:1, None]
    body: Any = model._ready_module().body
    with torch.no_grad():
        features = body.backbone(torch.from_numpy(image).float())[0].mean(dim=0).double().numpy()
    stride = image.shape[-1] / features.shape[-1]
    return np.asarray(model._proposals(image)[0]), stride * selective_search(features)


@claim("region-proposal-network")
def two_scores_and_four_offsets_per_anchor(seed: int) -> Verdict:
    _, test = scenes(seed)
    model = fit(seed, "faster-r-cnn")
    module: Any = model._ready_module()
    with torch.no_grad():
        proposals = module.body.propose(module.prepare(torch.from_numpy(test.images[:, None]))).numpy()
    best = [
        pairwise_iou(objects.xyxy, boxes[~np.isnan(boxes[:, 0])]).max(axis=1)
        for objects, boxes in zip(test.boxes, proposals)
    ]
    scores, offsets = RPN(16, 9)(torch.zeros(2, 16, 5, 6))
    anchors = torch.from_numpy(make_anchors(40, 60, 16, (128, 256, 512)))
    objects = torch.from_numpy(random_boxes(seed, 3, side=400.0) + np.array([0, 0, 60, 60]))
    target = anchor_targets(anchors, objects)
    chosen = target[sample_anchors(target, 256, torch.Generator().manual_seed(seed))]
    n_positive = int((target >= 0).sum())
    truth = every(
        outputs=equal((tuple(scores.shape), tuple(offsets.shape)), ((2, 18, 5, 6), (2, 36, 5, 6))),
        anchors=equal(len(anchors), 21_600),
        sampled=equal((len(chosen), int((chosen >= 0).sum())), (256, min(128, n_positive))),
        recall=above(float(np.mean(np.concatenate(best) >= 0.5)), 0.9),
    )
    few = torch.cat([torch.zeros(20, dtype=torch.int64), -torch.ones(1000, dtype=torch.int64)])
    got = int((few[sample_anchors(few, 256, torch.Generator().manual_seed(seed))] >= 0).sum())
    return corrected(truth, always_128_positives=equal(got, 128))


@claim("faster-r-cnn")
def proposals_come_from_the_network(seed: int) -> Verdict:
    through, proposed = passes(seed, "faster-r-cnn")
    body: Any = fit(seed, "faster-r-cnn")._ready_module().body
    k = len(body.scales) * len(body.ratios)
    truth = every(
        none_from_outside=equal(proposed, 0),
        one_pass=equal(through, 1),
        precision=above(precision(seed, "faster-r-cnn"), 0.5),  # beside that of Fast R-CNN, which has exact proposals
        fast_r_cnn=above(precision(seed, "fast-r-cnn"), 0.7),
        classes_in_the_second_stage=equal(body.classify.out_features, 3 + 1),
    )
    # Scores of classes would be as many as there are classes; they are object or background.
    return corrected(truth, printed=equal(body.rpn.scores.out_channels, 3 * k))


@claim("yolo")
def one_pass_gives_all_boxes(seed: int) -> Verdict:
    through, proposed = passes(seed, "yolo")
    return every(
        passes=equal((through, proposed), (1, 0)),
        precision=above(precision(seed, "yolo"), 0.8),
    )


@claim("detr")
def predictions_and_objects_are_matched_one_to_one(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    cost = torch.from_numpy(rng.normal(size=(6, 4)))
    rows, columns = match_sets(cost)
    cheapest = min(float(sum(cost[p[j], j] for j in range(4))) for p in permutations(range(6), 4))
    logits, boxes = torch.from_numpy(rng.normal(size=(5, 4))), torch.from_numpy(rng.uniform(0.2, 0.8, size=(5, 4)))
    labels, objects = torch.tensor([0, 2, 1]), torch.from_numpy(rng.uniform(0.2, 0.8, size=(3, 4)))
    order = rng.permutation(3)
    losses = [float(set_loss(logits, boxes, labels[o], objects[o])) for o in (np.arange(3), order)]
    model = fit(seed, "detr")
    return every(
        cheapest=near(float(cost[rows, columns].sum()), cheapest, tolerance=1e-12),
        a_set_has_no_order=near(losses[0], losses[1], tolerance=1e-12),
        loss_falls=below(model.loss_curve_[-1], 0.8 * model.loss_curve_[0]),
        precision=above(precision(seed, "detr"), 0.5),  # an untrained network has 0
        nothing_is_suppressed=equal(model._ready_module().body.suppresses, False),
    )
