"""Conjugate gradients by mpi4py, three ranks, traced as they are: folder, OTF2, perturbation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from parcast import UnsupportedError
from parcast.cli import main
from parcast_mpi import library
from parcast_traces.readers import read_trace

PROGRAM = Path(__file__).with_name("gradients.py")
RANKS, ROWS, STEPS, SLOW = 3, 16, 10, 1
PARCAST = [sys.executable, "-m", "parcast"]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a recorded run, in which rank 1 is slow, and what the program printed."""
    pytest.importorskip("mpi4py")
    try:
        library.find()
    except UnsupportedError as error:
        assert not os.environ.get("CI"), "CI installs an MPI library"
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("gradients")
    program = [sys.executable, str(PROGRAM), str(ROWS), str(STEPS), str(SLOW), "0.02"]
    command = ["mpi", "trace", "-n", str(RANKS), "-o", str(folder / "trace"), "--", *program]
    done = subprocess.run(
        [*PARCAST, *command], capture_output=True, check=True, text=True, timeout=300
    )
    return folder / "trace", done.stdout


def test_a_traced_program_computes_what_it_computes_alone_and_calls_what_it_calls(
    traced: tuple[Path, str],
) -> None:
    folder, printed = traced
    field = np.ones((ROWS * RANKS, ROWS * RANKS))
    assert float(printed.split()[0]) == pytest.approx(residual(field), rel=1e-6)
    trace = read_trace(folder)
    calls = Counter(trace.name(event) for event in range(trace.count))
    links = 2 * (RANKS - 1) * STEPS
    assert calls["isend"] == links
    assert calls["allreduce"] == RANKS * (2 * STEPS + 1)
    assert trace.size == RANKS
    sent = trace.events.times[[trace.name(event) == "isend" for event in range(trace.count)], 2]
    assert set(sent.tolist()) == {(ROWS * RANKS + 2) * 8.0}


def residual(right: np.ndarray) -> float:
    """Return the norm that the same steps leave, on one rank."""
    rest = right.copy()
    direction, left = rest.copy(), float(np.vdot(rest, rest))
    for _ in range(STEPS):
        padded = np.pad(direction, 1)
        product = (4 * direction - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2]
                   - padded[1:-1, 2:])  # fmt: skip
        rest = rest - left / float(np.vdot(direction, product)) * product
        before, left = left, float(np.vdot(rest, rest))
        direction = rest + left / before * direction
    return left**0.5


def test_without_a_perturbation_it_takes_what_it_took_as_a_folder_and_as_otf2(
    traced: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("otf2")
    folder, _ = traced
    archive, runs = tmp_path / "run.otf2", []
    assert main(["perturb", "convert", str(folder), "-o", str(archive)]) == 0
    for path in (folder, archive):
        capsys.readouterr()
        assert main(["perturb", "run", str(path), "--json"]) == 0
        runs.append(json.loads(capsys.readouterr().out))
        assert runs[-1]["clockfree_final"] == runs[-1]["lower_final"] == runs[-1]["before"]
    assert runs[1]["before"] == pytest.approx(runs[0]["before"], abs=1e-6)
    first, second = (read_trace(path) for path in (folder, archive))
    for column in (0, 1):  # the kinds and the names of all calls
        assert (first.events.whole[:, column] == second.events.whole[:, column]).all()


def test_the_rank_that_computes_longer_is_named(
    traced: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["perturb", "slowest", str(traced[0]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert int(next(iter(found["without"]))) == SLOW
    assert int(np.argmax(found["excess"])) == SLOW
