"""What well-known collections are, without their files: sizes, classes, license and where to get them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.data.image_sets import IMAGE_SETS

__all__ = ["CARDS", "CIFAR100_CLASSES", "LSUN_CATEGORIES", "dataset_info"]

CIFAR100_CLASSES = (
    "apple",
    "aquarium_fish",
    "baby",
    "bear",
    "beaver",
    "bed",
    "bee",
    "beetle",
    "bicycle",
    "bottle",
    "bowl",
    "boy",
    "bridge",
    "bus",
    "butterfly",
    "camel",
    "can",
    "castle",
    "caterpillar",
    "cattle",
    "chair",
    "chimpanzee",
    "clock",
    "cloud",
    "cockroach",
    "couch",
    "crab",
    "crocodile",
    "cup",
    "dinosaur",
    "dolphin",
    "elephant",
    "flatfish",
    "forest",
    "fox",
    "girl",
    "hamster",
    "house",
    "kangaroo",
    "keyboard",
    "lamp",
    "lawn_mower",
    "leopard",
    "lion",
    "lizard",
    "lobster",
    "man",
    "maple_tree",
    "motorcycle",
    "mountain",
    "mouse",
    "mushroom",
    "oak_tree",
    "orange",
    "orchid",
    "otter",
    "palm_tree",
    "pear",
    "pickup_truck",
    "pine_tree",
    "plain",
    "plate",
    "poppy",
    "porcupine",
    "possum",
    "rabbit",
    "raccoon",
    "ray",
    "road",
    "rocket",
    "rose",
    "sea",
    "seal",
    "shark",
    "shrew",
    "skunk",
    "skyscraper",
    "snail",
    "snake",
    "spider",
    "squirrel",
    "streetcar",
    "sunflower",
    "sweet_pepper",
    "table",
    "tank",
    "telephone",
    "television",
    "tiger",
    "tractor",
    "train",
    "trout",
    "tulip",
    "turtle",
    "wardrobe",
    "whale",
    "willow_tree",
    "wolf",
    "woman",
    "worm",
)
LSUN_CATEGORIES = (
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
)

CARDS: Mapping[str, Mapping[str, Any]] = {
    **IMAGE_SETS,
    "cifar100": {
        "images": 60_000,
        "shape": (32, 32, 3),
        "classes": CIFAR100_CLASSES,
        "per_class": 600,
        "access": "https://www.cs.toronto.edu/~kriz/cifar.html, binary version",
    },
    "lsun": {
        "categories": LSUN_CATEGORIES,
        "train_per_category": (120_000, 3_000_000),  # fewest and most, about
        "validation_per_category": 300,
        "test_per_category": 1_000,
        "access": "https://www.yf.io/p/lsun, one archive per category; export it to one folder per category",
    },
    "shapenet": {
        "organized_by": "WordNet synsets",
        "subsets": {
            "core": {"categories": 55, "models": 51_300, "what": "clean, aligned models of common categories"},
            "sem": {"categories": 270, "models": 12_000, "what": "densely annotated models with sizes and materials"},
        },
        "access": "https://shapenet.org, on request for research; a folder per synset with .obj files",
    },
    "laion": {
        "origin": "a German non-profit association; images and captions found in web pages by Common Crawl",
        "sizes": {"laion-400m": 400_000_000, "laion-5b": 5_850_000_000},  # pairs of an address and a caption
        "used_for": ("Stable Diffusion", "Imagen"),
        "license": "the tables of addresses and captions are CC BY 4.0; every image keeps the rights of its owner",
        "ethics": "Nobody in it was asked, and captions carry the prejudices of the web. LAION-5B was withdrawn in "
        "December 2023 because it led to images of child abuse, and came back cleaned as Re-LAION-5B in 2024.",
        "access": "https://laion.ai, tables of addresses; the images must be fetched from where they are",
    },
}


def dataset_info(name: str) -> Mapping[str, Any]:
    """Facts about a collection.

    >>> len(dataset_info("cifar100")["classes"]), dataset_info("lsun")["test_per_category"]
    (100, 1000)
    """
    if name not in CARDS:
        raise ValueError(f"dataset_info: name must be one of {', '.join(CARDS)}; got {name!r}.")
    return CARDS[name]
