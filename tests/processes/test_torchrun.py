"""Networks on several processes: one model file, whoever computed it and whoever was killed on the way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import margin
from margin.neural.training.processes import loopback

sys.path.insert(0, str(Path(__file__).parent))
from shared_fit import fit

PROGRAM = Path(__file__).parent / "shared_fit.py"
long = pytest.mark.skipif("MARGIN_CLUSTER_TESTS" not in os.environ, reason="takes minutes; `make cluster-test` runs it")


def environment(**more):
    path = os.pathsep.join(filter(None, sys.path))
    usual = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "GLOO_SOCKET_IFNAME": loopback() or "lo"}
    return usual | {name: str(value) for name, value in more.items()}


def files(folder):
    return {name: (folder / name).read_bytes() for name in ("model.safetensors", "metrics.jsonl")}


def torchrun(size, *command, check=True, **more):
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={size}"]
    done = subprocess.run(
        [*start, *map(str, command)], env=environment(**more), capture_output=True, text=True, timeout=600
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    fit(folder)
    return files(folder)


def test_two_processes_of_a_program_write_the_files_of_one(alone, tmp_path):
    command = [sys.executable, str(PROGRAM), str(tmp_path / "run"), str(tmp_path / "meeting")]
    both = [
        subprocess.Popen([*command, str(rank), "2"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    said = [process.communicate(timeout=600) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]  # both have the model
    assert files(tmp_path / "run") == alone
    assert margin.Run.existing(tmp_path / "run").status == "finished"


@long
@pytest.mark.parametrize("size", [1, 2, 4])
def test_torchrun_writes_the_files_of_one_process(size, alone, tmp_path):
    torchrun(size, PROGRAM, tmp_path / "run")
    assert files(tmp_path / "run") == alone


@long
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_costs_nothing_but_time(killed, alone, tmp_path):
    """Whoever dies, another number of processes goes on from the last checkpoint."""
    run = tmp_path / "run"
    assert torchrun(2, PROGRAM, run, check=False, KILL_RANK=killed, KILL_STEP=7).returncode != 0
    assert 0 < len(margin.Run.existing(run).metrics()) < 16
    torchrun(4, PROGRAM, run)
    assert files(run) == alone
    assert torchrun(2, PROGRAM, run).stdout.split()[:1]  # it is finished: both read the model that is there


@long
def test_the_command_line_under_torchrun(tmp_path):
    command = ["-m", "margin", "fit", "mlp-classifier", "iris", "--quiet", "--set", "max_iter=2"]
    for size in (1, 2):
        done = torchrun(size, *command, "--set", "batch_parts=2", "--out", tmp_path / str(size), "--json")
        assert json.loads(done.stdout)["status"] == "finished"  # said once
    assert files(tmp_path / "1") == files(tmp_path / "2")
    done = torchrun(2, *command, "--out", tmp_path / "none", check=False)
    assert "--set batch_parts=4 lets them share it" in done.stderr
    assert not (tmp_path / "none").exists()
