"""Vectors of words, topics, concepts and named entities."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import expit

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, within
from margin.notes.claims import claim
from margin.notes.experiments.word_analogies import CAPITALS, COUNTRIES, atlas_of_countries
from margin.text.chain import TagChain, decode_chain, path_score, sum_chain
from margin.text.entities import entity_scores
from margin.text.glove import GloVe, glove_loss
from margin.text.lda import LatentDirichletAllocation
from margin.text.synsets import WORDNET, class_hierarchy, hypernyms, lexicon, path_similarity, synsets
from margin.text.taggers import CRFTagger, HMMTagger
from margin.text.token_tagger import TokenTagger
from margin.text.topics import draw_documents
from margin.text.word2vec import Word2Vec
from margin.text.word_vectors import analogy, hierarchical_softmax, huffman, negative_sampling_loss


def subjects(seed: int, n: int = 600) -> list[list[str]]:
    """Sentences about the sea or about wine; words of one subject have the same neighbors."""
    rng = np.random.default_rng(seed)
    words = [[f"{name}{i}" for i in range(6)] for name in ("sea", "wine")]
    return [rng.choice(words[rng.integers(2)], 8).tolist() for _ in range(n)]


@claim("claim-word-analogy")
def differences_of_vectors_carry_relations(seed: int) -> Verdict:
    model = Word2Vec(
        16, window=4, negative=5, sample=0, min_count=1, max_iter=15, learning_rate_init=0.05, random_state=seed
    ).fit(atlas_of_countries(seed))
    pairs = list(itertools.permutations(range(len(COUNTRIES)), 2))
    recovered = [
        analogy(model.vectors_, model.vocabulary_, COUNTRIES[i], CAPITALS[i], COUNTRIES[j])[0][0] == CAPITALS[j]
        for i, j in pairs
    ]
    rng = np.random.default_rng(seed)
    wales, italy, germany = rng.normal(size=(3, 50))  # in an exactly linear embedding
    capital, leader, fascist = rng.normal(size=(3, 50))
    cardiff, rome, mussolini, hitler = wales + capital, italy + capital, italy + leader, germany + leader
    truth = every(
        capitals_are_recovered=above(float(np.mean(recovered)), 0.7),
        words_and_neighbors_have_tables_of_their_own=above(_gap_of_tables(model), 0.1),
        rome=near(cosine(cardiff - wales + italy, rome), 1.0, tolerance=1e-12),
        hitler=near(cosine(mussolini - italy + germany, hitler), 1.0, tolerance=1e-12),
    )
    return corrected(
        truth,
        wales_plus_cardiff_minus_italy=above(cosine(wales + cardiff - italy, rome), 0.6),
        germany_plus_fascist_minus_mussolini=above(cosine(germany + fascist - mussolini, hitler), 0.9),
    )


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def neighbors_are_right(model: Word2Vec | GloVe) -> float:
    neighbors = [other for i in range(6) for other, _ in model.most_similar(f"sea{i}", 3)]
    return float(np.mean([other.startswith("sea") for other in neighbors]))


def _gap_of_tables(model: Word2Vec) -> float:
    """How far the vectors of words as neighbors, or of the nodes of the tree, are from those of words."""
    n = min(len(model.outputs_), len(model.vectors_))
    return float(np.abs(model.outputs_[:n] - model.vectors_[:n]).max())


@claim("word2vec")
def words_with_the_same_neighbors_become_neighbors(seed: int) -> Verdict:
    texts = subjects(seed)
    rng = np.random.default_rng(seed)
    v, u, negatives = rng.normal(size=5), rng.normal(size=5), rng.normal(size=(3, 5))
    loss, to_v, _, _ = negative_sampling_loss(v, u, negatives)
    written = -np.log(expit(u @ v)) - np.log(expit(-negatives @ v)).sum()
    slope = [
        (negative_sampling_loss(v + step, u, negatives)[0] - negative_sampling_loss(v - step, u, negatives)[0]) / 2e-6
        for step in 1e-6 * np.eye(5)
    ]
    tree = huffman(rng.integers(1, 50, size=20))
    parts = {}
    for mode, objective in itertools.product(("skipgram", "cbow"), ("negative-sampling", "hierarchical-softmax")):
        model = Word2Vec(
            12,
            mode=mode,
            objective=objective,
            sample=0,
            min_count=1,
            max_iter=8,
            learning_rate_init=0.05,
            random_state=seed,
        )
        losses = [record["loss"] for record in model.iterate(texts)]
        parts[f"{mode}_{objective}"] = every(
            falls=below(losses[-1], losses[0]),
            related=above(neighbors_are_right(model), 0.9),
            two_tables=above(_gap_of_tables(model), 0.1),
        )
    truth = every(
        formula=near(loss, written, tolerance=1e-12),
        gradient=near(to_v, np.array(slope), tolerance=1e-6),
        tree=near(hierarchical_softmax(v, rng.normal(size=(19, 5)), tree).sum(), 1.0, tolerance=1e-12),
        **parts,
    )
    printed = -expit(u @ v) + expit(negatives @ v).sum()  # as printed, with products put in
    return corrected(truth, no_logarithms=near(printed, loss, tolerance=1e-3))


@claim("glove")
def products_of_vectors_are_logarithms_of_counts(seed: int) -> Verdict:
    model = GloVe(12, window=4, x_max=20.0, min_count=1, max_iter=15, random_state=seed)
    losses = [record["loss"] for record in model.iterate(subjects(seed))]
    rng = np.random.default_rng(seed)
    W, C = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    counts = rng.uniform(1, 200, size=(4, 4))
    direct = sum(
        min(1.0, (counts[i, j] / 100) ** 0.75) * (W[i, :2] @ C[j, :2] + W[i, 2] + C[j, 2] - np.log(counts[i, j])) ** 2
        for i in range(4)
        for j in range(4)
    )
    return every(
        formula=near(glove_loss(W, C, counts), direct, tolerance=1e-9),
        falls=equal(bool((np.diff(losses) < 0).all()), True),
        far=below(losses[-1] / losses[0], 0.5),
        related=above(neighbors_are_right(model), 0.9),
    )


@claim("dataset-wordnet")
def concepts_are_sets_of_synonyms() -> Verdict:
    (car,) = synsets("automobile")
    classes = class_hierarchy(
        ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    )
    total = sum(WORDNET.values())
    return every(
        synonyms=equal(set(car.lemmas) >= {"car", "automobile"}, True),
        one_word_several_concepts=equal(len(synsets("crane")), 2),
        a_car_is_an_artifact=equal(list(hypernyms("car")), ["car", "vehicle", "artifact", "entity"]),
        nearer_is_more_alike=above(path_similarity("dog", "cat"), path_similarity("dog", "car")),
        classes_of_images=equal(sum("animal" in above_it for above_it in classes.values()), 6),
        the_sample_is_small_and_our_own=within(len(lexicon()), 10, 100),
        published_synsets=equal(total, 117_659),
        more_than_100_000=above(total, 100_000),
        nouns=above(WORDNET["noun"], 80_000),
        mostly_nouns=above(WORDNET["noun"] / total, 0.5),
    )


@claim("latent-dirichlet-allocation")
def planted_topics_are_recovered(seed: int) -> Verdict:
    topics = np.full((3, 12), 0.01)
    for k in range(3):
        topics[k, 4 * k : 4 * k + 4] += 0.22
    topics /= topics.sum(axis=1, keepdims=True)
    X, theta = draw_documents(np.random.default_rng(seed), topics, 150, 60, 0.3)
    parts = {}
    for method in ("batch", "gibbs"):
        model = LatentDirichletAllocation(
            3, learning_method=method, doc_topic_prior=0.3, max_iter=60, random_state=seed
        ).fit(X)
        distributions = model.components_ / model.components_.sum(axis=1, keepdims=True)
        order = min(
            itertools.permutations(range(3)), key=lambda p: float(np.abs(distributions[list(p)] - topics).sum())
        )
        parts[method] = every(
            topics=below(float(np.abs(distributions[list(order)] - topics).sum(axis=1).max()), 0.25),
            proportions=below(float(np.abs(model.transform(X)[:, list(order)] - theta).mean()), 0.06),
        )
    return every(**parts)


def sentences(seed: int, n: int) -> tuple[list[str], list[list[str]]]:
    """People, places and organizations; most names occur once."""
    rng = np.random.default_rng(seed)
    X = []
    for _ in range(n):
        root, place = ("".join(rng.choice(list("aeioulmnr"), 5)).capitalize() for _ in range(2))
        person = f"{rng.choice(['Ann', 'Bob', 'Eve'])} {root}{rng.choice(['son', 'er'])}"
        X.append(f"yesterday {person} visited {place}ville with Acme Corp")
    return X, [["O", "B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG"]] * n


@claim("named-entity-recognition")
def every_word_gets_a_class(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    chain = TagChain(rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=3))
    scores, end = rng.normal(size=(5, 3)), np.array([5])
    paths = np.array(list(itertools.product(range(3), repeat=5)))
    each = np.array([path_score(scores, path, chain) for path in paths])
    X, y = sentences(seed, 50)
    new, true = sentences(seed + 1000, 30)
    parts = {}
    network = TokenTagger(
        chain=False, d_model=8, hidden_size=8, max_iter=10, learning_rate_init=0.02, random_state=seed
    )
    for model in (HMMTagger(), CRFTagger(alpha=1.0), network):
        model.fit(X, y)
        precision, recall, f1 = entity_scores(true, model.predict(new))
        sums = np.concatenate(model.predict_proba(new)).sum(axis=1)
        parts[type(model).__name__] = every(
            sum_to_one=near(sums, np.ones(len(sums)), tolerance=1e-9),
            precision=above(precision, 0.9),
            recall=above(recall, 0.9),
            f1=above(f1, 0.9),
        )
    return every(
        all_sequences=near(sum_chain(scores, end, chain).log_z[0], np.logaddexp.reduce(each), tolerance=1e-9),
        best_sequence=equal(decode_chain(scores, end, chain)[0], paths[each.argmax()]),
        **parts,
    )
