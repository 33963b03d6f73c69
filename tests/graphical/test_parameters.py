"""Tables with priors and by EM, independence tests, and files."""

import gzip
from itertools import islice

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from margin.graphical import bif
from margin.graphical.bif import read_bif, write_bif
from margin.graphical.graphs import random_graph
from margin.graphical.independence import ci_test
from margin.graphical.network import DiscreteNetwork, random_network
from margin.graphical.parameters import em_steps, expected_counts, fitted_network, smooth


def with_gaps(rows, rng, fraction=0.3):
    return np.where(rng.random(rows.shape) < fraction, -1, rows)


def test_smoothing_by_hand():
    np.testing.assert_allclose(smooth(np.array([[3.0, 1.0], [0.0, 0.0]]), 1.0), [[4 / 6, 2 / 6], [0.5, 0.5]])
    np.testing.assert_allclose(smooth(np.array([[3.0, 1.0], [0.0, 0.0]]), 0.0), [[0.75, 0.25], [0.5, 0.5]])


def test_tables_approach_the_truth_and_weights_are_repetitions():
    rng = np.random.default_rng(0)
    net = random_network({0: [], 1: [0], 2: [0, 1]}, {0: 2, 1: 3, 2: 2}, rng)
    rows = net.sample(50_000, 1)
    fitted = fitted_network(net.parents, rows, (2, 3, 2))
    for name, table in net.tables.items():
        np.testing.assert_allclose(fitted.tables[name], table, atol=0.03)
    weights = rng.integers(0, 3, 500)
    repeated = fitted_network(net.parents, np.repeat(rows[:500], weights, axis=0), (2, 3, 2))
    weighted = fitted_network(net.parents, rows[:500], (2, 3, 2), sample_weight=weights)
    for name in net.tables:
        np.testing.assert_allclose(weighted.tables[name], repeated.tables[name], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_expected_counts_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = random_network(random_graph(4, rng), 2, rng)
    rows = with_gaps(net.sample(12, seed), rng, 0.5)
    counts, log_likelihood = expected_counts(net, rows, np.ones(12))
    joint, total, expected = net.joint(), 0.0, np.zeros((2,) * 4)
    for row in rows:
        here = np.zeros_like(joint)
        index = tuple(slice(None) if s < 0 else s for s in row)
        here[index] = joint[index]
        total += np.log(here.sum())
        expected += here / here.sum()
    np.testing.assert_allclose(log_likelihood, total)
    for name, above in net.parents.items():
        family = expected.sum(axis=tuple(i for i in range(4) if i not in (name, *above)))
        kept = sorted((name, *above))
        np.testing.assert_allclose(counts[name], family.transpose([kept.index(v) for v in (*above, name)]))


@pytest.mark.parametrize("seed", range(3))
def test_em_only_climbs_and_beats_deletion(seed):
    rng = np.random.default_rng(seed)
    net = random_network({0: [], 1: [0], 2: [1]}, 2, rng)
    rows = with_gaps(net.sample(3000, seed), rng)
    steps = list(islice(em_steps(net.parents, rows, (2, 2, 2), alpha=0.0), 30))
    assert np.diff([step.log_likelihood for step in steps]).min() > -1e-9
    for name, table in net.tables.items():
        np.testing.assert_allclose(steps[-1].network.tables[name], table, atol=0.12)


@pytest.mark.parametrize("seed", range(3))
def test_the_g_test_equals_scipy_and_finds_dependence(seed):
    rng = np.random.default_rng(seed)
    chain = random_network({0: [], 1: [0], 2: [1]}, 3, rng, 0.5)
    rows = chain.sample(5000, seed)
    table = np.zeros((3, 3))
    np.add.at(table, (rows[:, 0], rows[:, 1]), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    theirs = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    ours = ci_test(rows, 0, 1)
    np.testing.assert_allclose(ours[:3], [theirs.statistic, theirs.dof, theirs.pvalue], rtol=1e-8, atol=1e-300)
    assert ours.p_value < 1e-4
    assert ci_test(rows, 0, 2, [1]).p_value > 1e-4
    with pytest.raises(ValueError, match="must be different"):
        ci_test(rows, 0, 0)
    with pytest.raises(ValueError, match="table of states"):
        ci_test(rows * 1.5, 0, 1)


def test_p_values_are_uniform_under_independence():
    rng = np.random.default_rng(0)
    p = [ci_test(rng.integers(0, [2, 3, 2], size=(400, 3)), 0, 1, [2]).p_value for _ in range(300)]
    assert abs(np.mean(np.array(p) < 0.1) - 0.1) < 0.06
    assert abs(np.mean(p) - 0.5) < 0.06


def test_files_keep_every_bit(tmp_path):
    rng = np.random.default_rng(0)
    net = random_network({"a b": [], "c": ["a b"], "d": ["a b", "c"]}, {"a b": 2, "c": 3, "d": 2}, rng)
    states = {"a b": ["no, never", "yes"], "c": ["low", "mid", "high"], "d": ["0", "1"]}
    write_bif(net, tmp_path / "net.bif", states)
    read, names = read_bif(tmp_path / "net.bif")
    assert names == states
    assert read.parents == net.parents
    for name, table in net.tables.items():
        np.testing.assert_array_equal(read.tables[name], table)


FILE = """network asia { property x; }
variable smoke { type discrete [ 2 ] { yes, no }; }
// a comment
variable lung { type discrete [ 2 ] { yes, no }; property p = 3; }
probability ( smoke ) { table 0.5, 0.5; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; default 0.01, 0.99; }
"""


def test_files_of_others(tmp_path):
    path = tmp_path / "asia.bif"
    path.write_text(FILE)
    net, states = read_bif(path)
    assert states["lung"] == ["yes", "no"]
    np.testing.assert_allclose(net.tables["lung"], [[0.1, 0.9], [0.01, 0.99]])
    path.write_text(FILE.replace("(yes) 0.1, 0.9; default 0.01, 0.99;", "table 0.1, 0.01, 0.9, 0.99;"))
    np.testing.assert_allclose(read_bif(path)[0].tables["lung"], [[0.1, 0.9], [0.01, 0.99]])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("(yes) 0.1", "(maybe) 0.1", "line 6: 'smoke' has no state 'maybe'"),
        ("0.1, 0.9", "0.1", "expected 2 numbers, found 1"),
        ("0.1, 0.9", "0.1, 0.5", "sums to 0.6"),
        ("0.1, 0.9", "0.1, x", "expected numbers, found '0.1 x'"),
        ("[ 2 ] { yes, no }; }\n//", "[ 3 ] { yes, no }; }\n//", "3 states are declared and 2 named"),
        ("lung | smoke", "lung | cold", "'cold' is not declared"),
        ("default 0.01, 0.99; }", "", "the file ends"),
        (" default 0.01, 0.99;", "", "rows without numbers"),
        ("probability ( smoke ) { table 0.5, 0.5; }", "", "no probability block for 'smoke'"),
        ("network asia", "graph asia", "expected network, variable or probability"),
        ("variable lung", "variable smoke { type discrete [ 2 ] { a, b }; }\nvariable lung", "declared twice"),
        ("{ yes, no }", "{ yes, yes }", "two states of one name"),
        ("lung | smoke", "lung | smoke, smoke", "names a variable twice"),
        ("lung | smoke", "lung | lung", "names a variable twice"),
        (
            "probability ( lung",
            "probability ( smoke ) { table 0.5, 0.5; }\nprobability ( lung",
            "two probability blocks",
        ),
    ],
)
def test_broken_files(tmp_path, old, new, sentence):
    assert old in FILE
    path = tmp_path / "broken.bif"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=sentence):
        read_bif(path)


def test_a_cycle_in_a_file(tmp_path):
    path = tmp_path / "cycle.bif"
    path.write_text(FILE.replace("( smoke ) { table 0.5, 0.5; }", "( smoke | lung ) { (yes) 1, 0; (no) 0, 1; }"))
    with pytest.raises(ValueError, match="a cycle"):
        read_bif(path)
    assert isinstance(DiscreteNetwork({"a": []}, {"a": [1.0]}), DiscreteNetwork)


def test_a_compressed_network_is_read_and_a_broken_one_refused(tmp_path):
    net = random_network({"a": [], "b": ["a"]}, 2, np.random.default_rng(0))
    write_bif(net, tmp_path / "net.bif")
    packed = gzip.compress((tmp_path / "net.bif").read_bytes())
    (tmp_path / "net.bif.gz").write_bytes(packed)
    read, _ = read_bif(tmp_path / "net.bif.gz")
    np.testing.assert_array_equal(read.tables["b"], net.tables["b"])
    for broken in (packed[: len(packed) // 2], b"\xff\xfe\x00", packed[:10] + b"\x00" + packed[11:]):
        (tmp_path / "net.bif.gz").write_bytes(broken)
        with pytest.raises(ValueError, match="is not a text in UTF-8"):
            read_bif(tmp_path / "net.bif.gz")


@pytest.mark.parametrize("content", ["", "// nothing", "network empty { }"])
def test_a_file_without_variables_is_refused(tmp_path, content):
    (tmp_path / "net.bif").write_text(content)
    with pytest.raises(ValueError, match=r"net\.bif declares no variables"):
        read_bif(tmp_path / "net.bif")


def network_of(names, above, more=""):
    lines = [f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; {more}}}" for name in names]
    lines += [f"probability ( {names[0]} | {', '.join(above)} ) {{ default 0.5, 0.5; }}"]
    return "\n".join(lines + [f"probability ( {name} ) {{ table 0.5, 0.5; }}" for name in names[1:]])


@pytest.mark.parametrize(("parents", "match"), [(28, "has 536870912 entries; all have at most"), (40, "40 parents")])
def test_tables_larger_than_any_memory_are_refused_before_they_are_made(tmp_path, parents, match):
    names = [f"v{i}" for i in range(parents + 1)]
    (tmp_path / "net.bif").write_text(network_of(names, names[1:]))
    with pytest.raises(ValueError, match=match):
        read_bif(tmp_path / "net.bif")


def test_lines_are_found_once_and_comments_count(tmp_path):
    """Counting line breaks anew for every token took 25 seconds for 20,000 variables."""
    names = [f"v{i}" for i in range(300)]
    text = "/* two\nlines */ // and one\n" + network_of(names, names[1:3])
    counted = []

    class Text(str):
        def count(self, *arguments):
            counted.append(arguments)
            return super().count(*arguments)

    tokens = bif._Tokens(Text(text), "net.bif")
    assert counted == []
    assert tokens.peek() == "/*"
    (tmp_path / "net.bif").write_text(text.replace("v7 {", "v7 ["))
    with pytest.raises(ValueError, match="line 10:"):
        read_bif(tmp_path / "net.bif")
