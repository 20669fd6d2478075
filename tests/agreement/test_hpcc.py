"""A program that nobody here wrote: Debian's ``hpcc``, four ranks of Open MPI, traced as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parcast.cli import main
from parcast_traces.readers import read_trace
from parcast_traces.trace.calls import IRECV, RECV, SEND, SENDRECV
from parcast_traces.trace.columns import BYTES, INTO, KIND, NONE, OUT, ROOM, Trace

#: What ``hpcc`` is asked, by the place of the line in ``hpccinf.txt``; it skips the first two.
ASKED = [
    "parcast", "hpcc", "HPL.out", "8", "1", "200", "1", "80", "0", "1", "2", "2", "16.0",
    "1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "0", "2", "64", "0", "0", "1", "8",
    "a line between", "0", "1200", "0", "40",
]  # fmt: skip


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hpcc, mpiexec = shutil.which("hpcc"), shutil.which("mpiexec.openmpi")
    if not (hpcc and mpiexec and shutil.which("mpicc.openmpi")):
        assert not os.environ.get("CI"), "CI installs hpcc and libopenmpi-dev"
        pytest.skip("needs Debian's hpcc and libopenmpi-dev")
    folder = tmp_path_factory.mktemp("hpcc")
    (folder / "hpccinf.txt").write_text("\n".join(ASKED) + "\n")
    trace = ["mpi", "trace", "-n", "4", "--mpiexec", mpiexec, "-o", "trace", "--", hpcc]
    # on one core, which ranks leave while they wait: two take thrice as long beside other tests
    core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
    line = [*core, sys.executable, "-m", "parcast", *trace]
    leaving = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1"}
    subprocess.run(line, cwd=folder, env=leaving, check=True, timeout=3600)
    return folder / "trace"


def by_channel(trace: Trace, channel: int, size: int, kinds: list[int]) -> Any:
    """Return the channels of messages and their bytes, in order."""
    whole = trace.events.whole
    mine = np.isin(whole[:, KIND], kinds) & (whole[:, channel] != NONE)
    found = np.stack([whole[mine, channel], trace.events.times[mine, size]], axis=1)
    return found[np.argsort(found[:, 0], kind="stable")]


def perturbed(trace: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    assert main(["perturb", "run", str(trace), *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_message_that_was_sent_is_received_with_its_bytes(traced: Path) -> None:
    trace = read_trace(traced)
    assert trace.count > 50_000
    sent = by_channel(trace, OUT, BYTES, [*range(SEND, RECV), SENDRECV])
    received = by_channel(trace, INTO, ROOM, [RECV, IRECV, SENDRECV])
    assert len(sent) > 20_000
    np.testing.assert_array_equal(sent, received)


def test_without_a_perturbation_it_takes_what_it_took(
    traced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = perturbed(traced, capsys)
    assert found["clockfree_final"] == found["lower_final"] == found["before"]


def test_latency_makes_it_longer_and_bounds_are_bounds(
    traced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = perturbed(traced, capsys, "--latency", "100us")
    before, lower, upper = (np.array(found[name]) for name in (
        "before", "lower_final", "clockfree_final"))  # fmt: skip
    assert (before < lower).all()
    assert (lower <= upper).all()
