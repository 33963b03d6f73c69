"""Files of graphs: citation networks and the text format of the GIN paper."""

import numpy as np
import pytest

from margin.graphs.readers import load_citations, load_graphs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "graphs").mkdir()
    monkeypatch.setenv("MARGIN_DATA", str(tmp_path))
    return tmp_path / "graphs"


def test_a_citation_network_is_read(folder):
    np.savez(
        folder / "cora.npz", x_data=np.ones(3, np.float32), x_indices=[0, 1, 1], x_indptr=[0, 2, 3, 3], x_shape=[3, 2],
        labels=[0, 1, 0], edges=[[0, 1], [1, 2]], train=[0], val=[1], test=[2],
    )  # fmt: skip
    network = load_citations("cora")
    np.testing.assert_array_equal(network.graph.node_features, [[0.5, 0.5], [0, 1], [0, 0]])
    assert network.graph.edges.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert network.graph.node_features.dtype == np.float32


def test_small_graphs_are_read(folder):
    (folder / "MUTAG.txt").write_text("2\n3 1\n5 1 1\n2 2 0 2\n5 1 1\n2 0\n2 0\n2 0\n")
    graphs, labels = load_graphs("MUTAG")
    assert labels.tolist() == [1, 0]
    np.testing.assert_array_equal(graphs[0].node_features, [[0, 1], [1, 0], [0, 1]])  # kinds 2 and 5
    np.testing.assert_array_equal(graphs[0].adjacency, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert graphs[1].edges.shape == (2, 0)


def test_unknown_networks_are_named(folder):
    with pytest.raises(ValueError, match="one of cora, citeseer; got 'pubmed'"):
        load_citations("pubmed")
    with pytest.raises(FileNotFoundError, match=r"no graphs/cora\.npz in it"):
        load_citations()
