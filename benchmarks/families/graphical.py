"""Bayesian networks: search for a graph against pgmpy, exact posteriors against pgmpy and pyagrum.

The networks are alarm (37 variables) and child (20), in BIF files under ``MARGIN_DATA``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.graphical.bif import read_bif, write_bif
from margin.graphical.network import DiscreteNetwork
from margin.graphical.scores import FamilyScores, structure_score
from margin.graphical.structure import greedy_search

__all__ = ["cases"]

EVIDENCE_SETS, KNOWN = 6, 3  # how often posteriors are asked for, and how many variables are known each time


def cases(quick: bool) -> list[Case]:
    return [_search("alarm", 1_000 if quick else 10_000), _posteriors("alarm"), _posteriors("child")]


def _network(name: str) -> DiscreteNetwork:
    return read_bif(Path(os.environ["MARGIN_DATA"]) / "bayesnets" / f"{name}.bif.gz")[0]


def _search(name: str, n_rows: int) -> Case:
    def data() -> dict[str, Any]:
        import pandas as pd

        net = _network(name)
        rows = net.sample(n_rows, random_state=0)
        frame = pd.DataFrame(rows, columns=list(net.variables)).astype("category")
        column = {v: j for j, v in enumerate(net.variables)}
        true = {column[v]: [column[p] for p in above] for v, above in net.parents.items()}
        return {"rows": rows, "sizes": list(net.sizes.values()), "frame": frame, "column": column, "true": true}

    def ours(d: dict[str, Any]) -> Any:
        return greedy_search(len(d["sizes"]), FamilyScores(d["rows"], d["sizes"], "bic"))

    def theirs(d: dict[str, Any]) -> Any:
        logging.getLogger("pgmpy").setLevel(logging.ERROR)
        from pgmpy.estimators import HillClimbSearch

        network = HillClimbSearch(d["frame"]).estimate(scoring_method="bic-d", show_progress=False)
        column = d["column"]
        graph: dict[int, list[int]] = {j: [] for j in column.values()}
        for parent, child in network.edges():
            graph[column[child]].append(column[parent])
        return graph

    def score(d: dict[str, Any], graph: Any) -> float:
        return structure_score(graph, d["rows"], d["sizes"], "bic")

    return Case(
        f"greedy search for a graph, {name}",
        f"{n_rows} x 37",
        data,
        ours,
        (Peer("pgmpy", "pgmpy", theirs),),
        score,
        "BIC (greater is better)",
        memory=False,
        first_call=True,
        remark=lambda d, graph: f"{sum(map(len, graph.values()))} edges; the true graph has {score(d, d['true']):.0f}",
    )


def _posteriors(name: str) -> Case:
    def data() -> dict[str, Any]:
        net = _network(name)
        rng = np.random.default_rng(0)
        rows = net.sample(EVIDENCE_SETS, random_state=0)
        observations = []
        for row in rows:
            known = sorted(rng.choice(len(row), size=KNOWN, replace=False).tolist())
            observations.append({net.variables[j]: int(row[j]) for j in known})
        truth = [{v: net.query([v], e).values for v in net.variables if v not in e} for e in observations]
        return {"net": net, "asked": observations, "truth": truth, "others": _models(net)}

    def difference(d: dict[str, Any], posteriors: list[dict[str, np.ndarray]]) -> float:
        return max(float(np.abs(f[v] - t[v]).max()) for f, t in zip(posteriors, d["truth"]) for v in t)

    return Case(
        f"posteriors of all variables, {EVIDENCE_SETS} sets of {KNOWN} known states, {name}",
        f"{37 if name == 'alarm' else 20} variables",
        data,
        lambda d: [d["net"].posteriors(evidence) for evidence in d["asked"]],
        (Peer("pgmpy", "pgmpy", _by_pgmpy), Peer("pyagrum", "pyagrum", _by_pyagrum)),
        difference,
        "largest difference from variable elimination",
        rounds=7,
        memory=False,
    )


def _models(net: DiscreteNetwork) -> dict[str, Any]:
    """The network as objects of the peers; states are called s0, s1, ..., since pyagrum cannot read all names."""
    by_library: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.bif"
        write_bif(net, path)
        readers: dict[str, Callable[[str], Any]] = {"pyagrum": _read_pyagrum, "pgmpy": _read_pgmpy}
        for library, read in readers.items():
            try:
                by_library[library] = read(str(path))
            except ImportError:
                continue
    return by_library


def _read_pyagrum(path: str) -> Any:
    import pyagrum

    return pyagrum.loadBN(path)


def _read_pgmpy(path: str) -> Any:
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.readwrite import BIFReader

    return BIFReader(path).get_model()


def _by_pyagrum(d: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    import pyagrum

    engine = pyagrum.LazyPropagation(d["others"]["pyagrum"])
    posteriors = []
    for evidence in d["asked"]:
        engine.setEvidence(evidence)
        engine.makeInference()
        posteriors.append({v: engine.posterior(v).toarray() for v in d["net"].variables if v not in evidence})
    return posteriors


def _by_pgmpy(d: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    from pgmpy.inference import VariableElimination

    engine = VariableElimination(d["others"]["pgmpy"])
    posteriors = []
    for evidence in d["asked"]:
        known = {v: f"s{state}" for v, state in evidence.items()}
        unobserved = [v for v in d["net"].variables if v not in evidence]
        answers = {v: engine.query([v], known, show_progress=False) for v in unobserved}
        order = {v: [int(s[1:]) for s in answers[v].state_names[v]] for v in unobserved}
        posteriors.append({v: np.asarray(answers[v].values)[np.argsort(order[v])] for v in unobserved})
    return posteriors
