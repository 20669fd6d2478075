"""Steps of a profile as repetitions: times are of one, beside what those recorded took."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import Registry
from parcast.cli import main
from parcast.comparison import measured_times
from parcast.errors import FileError

from .test_kineto import CASES, event, nccl, profile

REGISTRY = Registry()
SPANS = [(1000, 300), (1300, 100), (1400, 200)]


def steps(spans=SPANS):
    return [
        event("user_annotation", f"ProfilerStep#{number + 5}", *span, tid=1)
        for number, span in enumerate(spans)
    ]


def work(spans=SPANS):
    for start, length in spans:
        yield event("kernel", "gemm", start + 10, length // 2)
        yield nccl("allreduce", start + length // 2 + 15, length // 4)


OUTSIDE = [
    event("cpu_op", "loading", 0, 900, tid=1),
    nccl("allreduce", 950, 20),
    nccl("allreduce", 1700, 20),
    event("cpu_op", "saving", 1800, 5000, tid=1),
]


def both_ranks(folder, events):
    folder.mkdir()
    for rank in (1, 0):
        path = profile(folder / f"rank{rank}.json", events, rank=rank, world_size=2)
    return path


def test_a_row_is_of_one_step_whatever_was_recorded_around_them(tmp_path):
    """Each family says a third of what it says of a profile of these three steps alone."""
    solvers = ["emulator.tc", "pamela.bound", "petri.mean", "spmd.sio"]
    path = both_ranks(tmp_path / "a", [*steps(), *work(), *OUTSIDE])
    edges = [event("cpu_op", "edge", time, 0, tid=1) for time in (1000, 1600)]
    alone = both_ranks(tmp_path / "b", [*edges, *work()])
    registry = REGISTRY
    rows = registry.compare(path, "milan-hdr", solvers=solvers).rows
    whole = registry.compare(alone, "milan-hdr", solvers=solvers).rows
    for row, other in zip(rows, whole, strict=True):
        assert row.time == pytest.approx(other.time / 3, rel=1e-12), row.solver
        assert not row.parts or row.parts.total == pytest.approx(row.time, rel=1e-9)
        assert "of one step, the mean of 3 that were recorded and took 200 us +- 57.74 us" in str(
            row.notes
        )
    setting = {"steps": "1000"}
    (many,) = registry.compare(path, "milan-hdr", solvers=["petri"], settings=setting).rows
    assert many.time == pytest.approx(1000 * rows[2].time)
    (none,) = registry.compare(path, "milan-hdr", solvers=["petri"], settings={"steps": 0}).rows
    assert none.status.value == "invalid"
    assert "steps = 0 must be above 0" in none.message


def test_recorded_steps_are_measured_times(tmp_path):
    path = both_ranks(tmp_path / "a", [*steps(), *work()])
    times = measured_times(REGISTRY, path)
    assert [(item.value, item.at) for item in times.items] == [(pytest.approx(2e-4), {"p": 2})]
    runs = measured_times(REGISTRY, str(path), repetitions=True).items
    assert [item.value for item in runs] == pytest.approx([3e-4, 1e-4, 2e-4])
    (row,) = REGISTRY.compare(path, "milan-hdr", solvers=["petri"], measured=path).rows
    assert row.error == pytest.approx(row.time / 2e-4 - 1)
    alone = profile(tmp_path / "rank0.json", [*steps(), *work()], rank=0, world_size=64)
    assert measured_times(REGISTRY, alone).items[0].at == {"p": 64}
    without = profile(tmp_path / "none.json", [event("kernel", "gemm", 5, 50)])
    with pytest.raises(FileError, match="no steps that repeat"):
        measured_times(REGISTRY, without)


def test_steps_that_do_not_repeat_leave_the_whole_run(tmp_path):
    folder = tmp_path / "a"
    both_ranks(folder, [*steps(), *work()])
    profile(folder / "rank0.json", [*steps(SPANS[:2]), *work()], rank=0, world_size=2)
    workload = REGISTRY.workload(folder)
    assert workload.repetitions is None
    assert "not all ranks have as many" in str(workload.data["notes"])
    overlapping = [event("kernel", "gemm", 5, 50), *steps([(0, 30), (20, 30)])]
    assert REGISTRY.workload(profile(tmp_path / "o.json", overlapping)).repetitions is None


def test_a_perturbation_of_the_steps_says_what_each_takes(tmp_path, capsys):
    path = str(both_ranks(tmp_path / "a", [*steps(), *work(), *OUTSIDE]))
    assert main(["perturb", "run", path, "--steps", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["steps"], answer["makespan"]["before"]) == (3, 600.0)
    assert main(["perturb", "run", path, "--steps", "--latency", "1ms"]) == 0
    assert "each of 3 steps: before 0.0002 s, upper 0.0012 s" in capsys.readouterr().out
    assert main(["perturb", "run", str(profile(tmp_path / "n.json", OUTSIDE[:1])), "--steps"]) == 2
    assert "no steps that repeat" in capsys.readouterr().err


def test_older_profilers_call_a_step_an_operation(tmp_path):
    older = [{**step, "cat": "Operator"} for step in steps()]
    path = profile(tmp_path / "a.json", [*older, event("Kernel", "gemm", 1005, 50)])
    workload = REGISTRY.workload(path)
    assert workload.repetitions.seconds == pytest.approx([3e-4, 1e-4, 2e-4])


@settings(max_examples=CASES, deadline=None)
@given(
    behind=st.integers(0, 500),
    lengths=st.lists(st.integers(20, 200), min_size=2, max_size=5),
    host=st.integers(5, 20),
)
def test_steps_are_those_of_the_device_where_the_host_runs_ahead(
    tmp_path_factory, behind, lengths, host
):
    """The host launches a step in a few us, the device is still at work of before the profile."""
    path, events, device = tmp_path_factory.mktemp("ahead") / "a.json", [], 1000 + host + behind
    events.append(event("kernel", "before", 1000, device - 1000, correlation=99))
    for number, length in enumerate(lengths):
        begin = 1000 + number * host
        events += [
            event("user_annotation", f"ProfilerStep#{number}", begin, host, tid=1),
            event("cuda_runtime", "cudaLaunchKernel", begin + 1, 1, tid=1, correlation=number),
            event("kernel", "gemm", device, length, correlation=number),
        ]
        device += length
    workload = REGISTRY.workload(profile(path, events))
    assert workload.repetitions.seconds == pytest.approx([length / 1e6 for length in lengths])
    (row,) = REGISTRY.compare(workload, "laptop", solvers=["petri"]).rows
    assert row.time == pytest.approx(sum(lengths) / len(lengths) / 1e6)


@pytest.mark.parametrize(("host", "filling"), [(10, 40), (200, 0)])
def test_what_fills_the_queue_of_an_idle_device_is_no_part_of_a_step(tmp_path, host, filling):
    """The host takes 40 us to launch the 100 us of a step; it is ahead, or sets the pace."""
    events, device = [], 0
    for number in range(4):
        begin = 1000 + number * host
        device = max(device, begin + 40)
        events += [
            event("user_annotation", f"ProfilerStep#{number}", begin, host, tid=1),
            event("cuda_runtime", "cudaLaunchKernel", begin + 1, 1, tid=1, correlation=number),
            event("kernel", "gemm", device, 100, correlation=number),
        ]
        device += 100
    workload = REGISTRY.workload(profile(tmp_path / "a.json", events))
    assert workload.repetitions.seconds == pytest.approx([max(host, 100) / 1e6] * 4)
    (row,) = REGISTRY.compare(workload, "laptop", solvers=["petri"]).rows
    notes = " ".join(str(workload.data["notes"]).split())
    assert (f"devices are idle as the first step begins: {filling} us" in notes) == bool(filling)
    assert (f"{filling} us until they have work" in str(row.notes)) == bool(filling)
