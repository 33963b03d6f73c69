"""Segments and their hierarchy, against a union-find in plain Python and against their own laws."""

import numpy as np
import pytest

from margin.data.scenes import shape_scenes
from margin.vision.detection.boxes import pairwise_iou
from margin.vision.detection.selective_search import segment_pixels, selective_search, selective_search_hierarchy


def slow_segments(image, k, min_size):
    h, w = image.shape
    edges = []
    for moves in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for r in range(h):
            for c in range(w):
                r2, c2 = r + moves[0], c + moves[1]
                if r2 < h and 0 <= c2 < w:
                    edges.append((abs(image[r, c] - image[r2, c2]), (r, c), (r2, c2)))
    edges.sort(key=lambda edge: edge[0])
    groups = {(r, c): frozenset([(r, c)]) for r in range(h) for c in range(w)}
    steep = {}

    def merge(a, b):
        both = groups[a] | groups[b]
        for pixel in both:
            groups[pixel] = both
        return both

    for weight, a, b in edges:
        p, q = groups[a], groups[b]
        if p is not q and weight <= min(steep.get(p, 0) + k / len(p), steep.get(q, 0) + k / len(q)):
            steep[merge(a, b)] = weight
    for _, a, b in edges:
        p, q = groups[a], groups[b]
        if p is not q and min(len(p), len(q)) < min_size:
            merge(a, b)
    return set(groups.values())


@pytest.mark.parametrize("seed", range(3))
def test_segments_are_those_of_the_slow_loop(seed):
    image = np.random.default_rng(seed).random((9, 10))
    found = segment_pixels(image, k=0.8, min_size=3, sigma=0)
    groups = {frozenset(map(tuple, np.argwhere(found == number).tolist())) for number in range(found.max() + 1)}
    assert groups == slow_segments(image, 0.8, 3)


def test_the_hierarchy_ends_with_one_region():
    scene = shape_scenes(np.random.default_rng(4), n_samples=1, side=32)
    tree = selective_search_hierarchy(scene.images[0], k=0.3)
    n = tree.segments.max() + 1
    assert len(tree.merges) == n - 1
    assert tree.boxes[-1].tolist() == [0, 0, 32, 32]
    assert sorted(tree.merges.ravel().tolist()) == list(range(2 * n - 2))
    assert len(np.unique(tree.level(1))) == 1
    assert len(np.unique(tree.level(n))) == n
    for number in range(n):
        rows, columns = np.nonzero(tree.segments == number)
        expected = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        assert tree.boxes[number].tolist() == expected
    with pytest.raises(ValueError, match="n_regions must lie between"):
        tree.level(0)


def test_shapes_are_among_the_proposals():
    scenes = shape_scenes(np.random.default_rng(5), n_samples=20, side=32)
    hits, total, most = 0, 0, 0
    for image, objects in zip(scenes.images, scenes.boxes):
        proposals = selective_search(image, k=0.3)
        most = max(most, len(proposals))
        hits += int((pairwise_iou(objects.xyxy, proposals).max(axis=1) >= 0.5).sum())
        total += len(objects)
    assert hits > 0.9 * total
    assert most < 200


def test_color_images_and_bad_ones():
    assert selective_search(np.random.default_rng(0).random((12, 12, 3)), max_boxes=5).shape[1] == 4
    with pytest.raises(ValueError, match="image must be"):
        selective_search(np.zeros(5))
