"""RoI pooling and align against loops, matching against all permutations."""

from itertools import permutations
from math import ceil, floor

import numpy as np
import pytest
import torch
from scipy.ndimage import map_coordinates

from margin.vision.detection.matching import match_sets, matching_cost, set_loss
from margin.vision.detection.regions import roi_align, roi_pool, warp_regions


def some(seed, n=6):
    rng = np.random.default_rng(seed)
    features = torch.from_numpy(rng.normal(size=(2, 3, 9, 11)))
    low = rng.uniform(0, 5, size=(n, 2))
    boxes = torch.from_numpy(np.concatenate([low, low + rng.uniform(1, 4, size=(n, 2))], axis=1))
    return features, boxes, torch.from_numpy(rng.integers(0, 2, size=n))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 7)])
def test_roi_pool_is_the_maximum_of_every_cell(size):
    features, boxes, image = some(1)
    pooled = roi_pool(features, boxes * 2, size, image, scale=0.5)
    for n, (x1, y1, x2, y2) in enumerate(boxes.tolist()):
        for i in range(size[0]):
            for j in range(size[1]):
                top, bottom = y1 + i * (y2 - y1) / size[0], y1 + (i + 1) * (y2 - y1) / size[0]
                left, right = x1 + j * (x2 - x1) / size[1], x1 + (j + 1) * (x2 - x1) / size[1]
                cell = features[image[n], :, floor(top) : ceil(bottom), floor(left) : ceil(right)]
                torch.testing.assert_close(pooled[n, :, i, j], cell.amax(dim=(1, 2)))


def test_roi_pool_of_everything_is_the_global_maximum_and_its_gradient_goes_there():
    features, _, _ = some(2)
    features.requires_grad_(True)
    pooled = roi_pool(features, torch.tensor([[0.0, 0.0, 11.0, 9.0]], dtype=torch.float64), (1, 1))
    torch.testing.assert_close(pooled[0, :, 0, 0], features[0].amax(dim=(1, 2)))
    pooled.sum().backward()
    gradient = features.grad[0]
    assert (gradient.reshape(3, -1).argmax(1) == features[0].reshape(3, -1).argmax(1)).all()
    assert gradient.sum() == 3
    assert not features.grad[1].any()


def test_integer_edges_do_not_reach_into_the_next_pixel_in_float32():
    x = torch.zeros(1, 1, 12, 12)
    x[0, 0, 9:, :] = 5.0
    pooled = roi_pool(x, torch.tensor([[0.0, 0.0, 9.0, 9.0]]) * 0.1 * 10, (3, 3))
    assert not pooled.any()


@pytest.mark.parametrize("samples", [1, 3])
def test_roi_align_is_the_mean_of_interpolated_values(samples):
    features, boxes, image = some(3)
    size = (2, 3)
    aligned = roi_align(features, boxes, size, image, samples=samples)
    for n, (x1, y1, x2, y2) in enumerate(boxes.tolist()):
        y = y1 + (np.arange(size[0] * samples) + 0.5) / (size[0] * samples) * (y2 - y1)
        x = x1 + (np.arange(size[1] * samples) + 0.5) / (size[1] * samples) * (x2 - x1)
        where = np.meshgrid(y - 0.5, x - 0.5, indexing="ij")
        for c in range(3):
            values = map_coordinates(features[image[n], c].numpy(), where, order=1, mode="nearest")
            expected = values.reshape(size[0], samples, size[1], samples).mean(axis=(1, 3))
            np.testing.assert_allclose(aligned[n, c].numpy(), expected, atol=1e-10)


def test_warping_the_whole_image_to_its_own_size_changes_nothing():
    features, _, _ = some(4)
    whole = torch.tensor([[0.0, 0.0, 11.0, 9.0]], dtype=torch.float64)
    torch.testing.assert_close(warp_regions(features, whole, (9, 11)), features[:1])


def test_bad_shapes_are_named():
    features, boxes, _ = some(5)
    with pytest.raises(ValueError, match=r"roi_pool: features must be \(B, C, H, W\)"):
        roi_pool(features[0], boxes, (2, 2))


@pytest.mark.parametrize("seed", range(5))
def test_matching_is_the_cheapest_permutation(seed):
    rng = np.random.default_rng(seed)
    cost = torch.from_numpy(rng.normal(size=(6, 4)))
    rows, columns = match_sets(cost)
    cheapest = min(sum(cost[p[j], j] for j in range(4)) for p in permutations(range(6), 4))
    assert float(cost[rows, columns].sum()) == pytest.approx(float(cheapest))


def test_set_loss_does_not_depend_on_the_order_of_objects_or_predictions():
    rng = np.random.default_rng(8)
    logits, boxes = torch.from_numpy(rng.normal(size=(5, 4))), torch.from_numpy(rng.uniform(0.2, 0.8, size=(5, 4)))
    labels, objects = torch.tensor([0, 2, 1]), torch.from_numpy(rng.uniform(0.2, 0.8, size=(3, 4)))
    loss = set_loss(logits, boxes, labels, objects)
    p, q = rng.permutation(5), rng.permutation(3)
    torch.testing.assert_close(set_loss(logits[p], boxes[p], labels[q], objects[q]), loss)
    assert matching_cost(logits.softmax(1), boxes, labels, objects).shape == (5, 3)


def test_set_loss_is_small_for_the_truth_and_defined_without_objects():
    objects, labels = torch.tensor([[0.5, 0.5, 0.2, 0.2], [0.2, 0.3, 0.1, 0.1]]), torch.tensor([1, 0])
    logits = 50 * torch.eye(3)[torch.tensor([1, 0, 2])]
    boxes = torch.cat([objects, torch.full((1, 4), 0.5)])
    assert float(set_loss(logits, boxes, labels, objects)) < 1e-5
    assert float(set_loss(logits[2:], boxes[2:], labels[:0], objects[:0])) < 1e-5
