"""The lexicon is a hierarchy, and similarities are those of breadth-first search over its undirected graph."""

from collections import deque

import pytest

from margin.text.synsets import class_hierarchy, common_hypernym, hypernyms, hyponyms, lexicon, path_similarity, synsets


def test_every_concept_ends_at_entity_and_none_is_above_itself():
    for name, concept in lexicon().items():
        assert "entity" in hypernyms(name)
        assert all(name not in hypernyms(above) for above in concept.is_a)
        assert name == "entity" or concept.is_a
        assert all(concept in synsets(lemma) for lemma in concept.lemmas)


def test_steps_up_are_those_of_a_search():
    def steps(start):
        seen, queue = {start: 0}, deque([start])
        while queue:
            name = queue.popleft()
            for above in lexicon()[name].is_a:
                if above not in seen:
                    seen[above] = seen[name] + 1
                    queue.append(above)
        return seen

    for name in lexicon():
        assert hypernyms(name) == steps(name)


def test_relations():
    assert hyponyms("vehicle") == ["airplane", "car", "ship", "truck"]
    assert common_hypernym("dog", "cat") == "domestic_animal"
    assert common_hypernym("dog", "mammal") == "mammal"
    assert path_similarity("dog", "cat") > path_similarity("dog", "frog") > path_similarity("dog", "car")
    for a in lexicon():
        for b in lexicon():
            assert path_similarity(a, b) == path_similarity(b, a)


def test_classes_of_cifar10_can_be_placed():
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    placed = class_hierarchy(names)
    assert [name for name in names if "vehicle" in placed[name]] == ["airplane", "automobile", "ship", "truck"]
    with pytest.raises(KeyError, match="no word 'unicorn'"):
        class_hierarchy(["unicorn"])
    with pytest.raises(KeyError, match="no concept 'unicorn'"):
        hypernyms("unicorn")
