"""The solvers, and traces and programs as each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import parcast_perturb
import parcast_traces
from parcast import Query, Registry, UnsupportedError
from parcast.comparison.lowering import lower
from parcast.model import WHOLE_NETWORK
from parcast.model.costs import Costs as ProgramCosts
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.testing import UNIT_MACHINE, by_sweep
from parcast_perturb import from_program

from .programs import Costs, neutral, random_program
from .test_conformance import SOURCE


def test_noise_of_the_machine_gives_quantiles():
    registry = Registry([parcast_traces, parcast_perturb])
    machine = registry.machine({**UNIT_MACHINE, "noise": {"calls": "exp:2", "computation": "1"}})
    row, again = (
        registry.compare(one, machine, p=3, solvers="perturb", seed=4).rows[0]
        for one in [read_source(SOURCE, "ring.py", "ring")] * 2
    )
    assert row.time == again.time
    assert row.quantiles["0.05"] < row.quantiles["0.5"] < row.quantiles["0.95"]
    quiet = registry.compare(
        read_source(SOURCE, "ring.py", "ring"), UNIT_MACHINE, p=3, solvers="perturb"
    )
    assert row.time > quiet.rows[0].time + 3


def recorded(tmp_path, **more):
    costs = Costs(o=10, latency=50, per_byte=1)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"unit": "1 us", **neutral(random_program(4), costs), **more}))
    machine = {"name": "old", "network": {"startup": "50 us", "bandwidth": "1 MB/s",
                                          "overhead": "10 us"}}  # fmt: skip
    (tmp_path / "old.json").write_text(json.dumps(machine))
    return parcast_perturb_workload(path), machine, str(tmp_path / "old.json")


def parcast_perturb_workload(path):
    from parcast_traces.workload import read

    return read(path)


def test_a_recorded_run_moves_between_machines(tmp_path):
    registry = Registry([parcast_traces, parcast_perturb])
    workload, machine, old = recorded(tmp_path, clocks="comparable")
    p = workload.processes

    def ask(machine, *, named=True):
        settings = {"perturb.clocked.recorded_on": old} if named else {}
        return registry.compare(workload, machine, p=p, solvers="perturb", settings=settings)

    same = ask(machine).rows[0]
    assert same.time == pytest.approx(workload.content.trace.ends.max() * 1e-6, rel=1e-12)
    slow = {**machine, "network": {**machine["network"], "startup": "150 us"}}
    assert ask(slow).rows[0].time > same.time
    refused = ask(machine, named=False).rows[0]
    assert "recorded_on" in refused.message


@pytest.mark.parametrize(
    "name",
    ["tracer", "dumpi/calls-0000.txt", "allprof/calls-0.txt", "goal/reduce.goal",
     "chakra/pipeline.0.et", "chakra/pipeline.0.json"],
)  # fmt: skip
def test_every_format_is_a_workload_as_it_stands(name):
    registry = Registry([parcast_traces, parcast_perturb])
    assert registry.workload(Path(__file__).parent / "files" / name).kind == "trace"


def test_a_trace_of_work_was_recorded_on_no_machine(tmp_path):
    registry = Registry([parcast_traces, parcast_perturb])
    path = Path(__file__).parent / "files" / "goal" / "reduce.goal"
    machine = {"network": {"startup": "2 us", "bandwidth": "1 GB/s", "overhead": "0 us"}}
    (tmp_path / "old.json").write_text(json.dumps(machine))
    settings = {"perturb.recorded_on": str(tmp_path / "old.json")}
    for solver in ("perturb", "perturb.upper"):
        (row,) = registry.compare(path, machine, solvers=solver, settings=settings).rows
        assert "it has work, and no times; leave out recorded_on" in row.message


def test_the_neutral_form_is_known_from_tables_and_begins_with_its_first_call(tmp_path):
    registry = Registry([parcast_traces, parcast_perturb])
    _, machine, old = recorded(tmp_path, clocks="comparable")
    data = json.loads((tmp_path / "run.json").read_text())
    for event in (event for events in data["ranks"] for event in events):
        event["t_start"] += 10**9
        event["t_end"] += 10**9
    (tmp_path / "later.json").write_text(json.dumps(data))
    first, later = (
        registry.compare(
            tmp_path / f"{name}.json", machine, p=len(data["ranks"]), solvers="perturb",
            settings={"perturb.recorded_on": old},
        ).rows[0].time
        for name in ("run", "later")
    )  # fmt: skip
    assert later == pytest.approx(first, rel=1e-9)
    assert registry.machine(tmp_path / "old.json").name == "old"


def test_clocks_that_are_not_one_get_the_upper_bound(tmp_path):
    registry = Registry([parcast_traces, parcast_perturb])
    workload, machine, old = recorded(tmp_path)
    (row,) = registry.compare(
        workload, machine, p=workload.processes, solvers="perturb",
        settings={"perturb.upper.recorded_on": old},
    ).rows  # fmt: skip
    assert row.solver == "perturb.upper"
    (row,) = registry.compare(
        workload, machine, p=workload.processes, solvers="perturb.clocked",
        settings={"perturb.clocked.recorded_on": old},
    ).rows  # fmt: skip
    assert "not known to be one" in row.message


def test_the_token_ring_of_the_paper(tmp_path):
    """Section 6.1: 128 ranks, 10 traversals, 0 to 700 added to every message."""
    study = Path(parcast_perturb.__file__).parent / "studies" / "token-ring.toml"
    registry = Registry([parcast_traces, parcast_perturb])
    rows = registry.study(study, cache=tmp_path, executor="threads:1").rows
    times = [10 * 128 * 1e-6 * added for added in range(0, 800, 100)]
    assert [row.time for row in rows] == pytest.approx(times, rel=1e-12)


PAIRS = [
    [{"kind": "init", "t_start": 5, "t_end": 6},
     {"kind": "isend", "peer": 1, "tag": 2, "bytes": 64, "request": "a",
      "t_start": 106, "t_end": 107},
     {"kind": "wait", "request": "a", "t_start": 150, "t_end": 151},
     {"kind": "allreduce", "bytes": 8, "t_start": 160, "t_end": 300}],
    [{"kind": "init", "t_start": 0, "t_end": 6},
     {"kind": "recv", "peer": 0, "tag": 2, "bytes": 64, "t_start": 16, "t_end": 200},
     {"kind": "allreduce", "bytes": 8, "t_start": 230, "t_end": 300}],
]  # fmt: skip


def test_a_recorded_run_becomes_a_program(tmp_path):
    """Its computation stays, its waiting is that of the machine asked."""
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps({"unit": "1 s", "ranks": PAIRS}))
    registry = Registry([parcast_traces, parcast_perturb])
    workload, machine = parcast_perturb_workload(path), registry.machine(UNIT_MACHINE)
    query = Query(workload=workload, machine=machine, p=2)
    ready, _, notes = lower(registry.lowerings, query, "program")
    ready.workload.content.check(ready)
    unrolled = matched_program(ready).unrolled
    found = by_sweep(unrolled, ProgramCosts.of(ready, unrolled.needs()))
    # rank 1 gets the message at 100 + 0.5 + 1 + 64, ends the receive 0.5 later, computes 30 and
    # sends its part of the sum at 196.5; rank 0 has it 9 + 0.5 later and is there before
    assert found.ends == (206.0, 196.5)
    assert "waiting and the cost of calls" in notes[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "ssend", "peer": 1, "bytes": 1}, "no such call"),
        ({"kind": "ibarrier", "request": 1}, "nothing waits for it"),
    ],
)
def test_what_no_program_can_say_is_refused(tmp_path, change, said):
    path = tmp_path / "pairs.json"
    first = {"t_start": 0, "t_end": 1, **change}
    other = {"kind": "recv", "peer": 0} if "peer" in change else change
    free = [{"kind": "request_free", "request": 1, "t_start": 1, "t_end": 1}] * (
        "request" in change
    )
    ranks = [[first, *free], [{"t_start": 0, "t_end": 1, **other}, *free]]
    path.write_text(json.dumps({"unit": "1 s", "ranks": ranks}))
    registry = Registry([parcast_traces, parcast_perturb])
    query = Query(workload=parcast_perturb_workload(path),
                  machine=registry.machine(UNIT_MACHINE), p=2)  # fmt: skip
    with pytest.raises(UnsupportedError, match=said):
        lower(registry.lowerings, query, "program")


CHECKPOINTED = """
def program(rank, size, n=2**20):
    for step in range(3):
        compute(2**20 * (1 + rank % 3))
        sendrecv((rank + 1) % size, n, (rank - 1) % size)
        write(n, file="shared")
"""

POOLED = """
def program(rank, size, n=2**20):
    for task in pool(range(9), bytes=n):
        compute(2**20)
"""


@pytest.mark.parametrize(
    ("source", "network", "chosen"),
    [
        (CHECKPOINTED, {"contention": "endpoint"}, "perturb.simulated"),
        (CHECKPOINTED, {"contention": "fair"}, "perturb.simulated"),
        (CHECKPOINTED, {"contention": "none", "overhead_by": "message"}, "perturb.simulated"),
        (CHECKPOINTED, {"contention": "none"}, "perturb.clocked"),
        (POOLED, {"contention": "bus"}, "perturb.clocked"),
    ],
)
def test_what_messages_share_is_played_or_bounded_with_a_note(source, network, chosen):
    registry = Registry([parcast_traces, parcast_perturb])
    machine = {
        "name": "cluster",
        "processor": {"rate": 2**24},
        "network": {"startup": 2**-10, "bandwidth": 2**22, **network},
        "storage": {"layout": "cluster", "disks": 2, "bandwidth": 2**24, "startup": 2**-10},
    }
    program = read_source(source, "made.py", "made")
    ask = {"p": 6, "d": 2}
    solvers = ["perturb", "perturb.clocked", "perturb.lower"]
    row, clocked, lower_row = registry.compare(
        program, machine, solvers=solvers, **ask, elasticities=False
    ).rows
    query = Query(workload=program, machine=registry.machine(machine), **ask)
    unrolled = matched_program(query, pools=True).unrolled
    reference = by_sweep(unrolled, ProgramCosts.of(query, unrolled.needs(), WHOLE_NETWORK)).time
    assert row.solver == chosen
    assert lower_row.time <= clocked.time * (1 + 1e-12) <= reference * (1 + 1e-11)
    if chosen == "perturb.simulated" or network == {"contention": "none"}:
        assert row.time == pytest.approx(reference, rel=1e-12)
    if network != {"contention": "none"}:
        assert clocked.lower == clocked.time
        assert any("lower bound" in note for note in clocked.notes)


def test_a_recorded_run_is_not_played(tmp_path):
    registry = Registry([parcast_traces, parcast_perturb])
    run, machine, old = recorded(tmp_path, clocks="comparable")
    settings = {"perturb.recorded_on": old}
    ask = {"p": run.processes, "solvers": "perturb.simulated", "settings": settings}
    assert "ask perturb.clocked" in registry.compare(run, machine, **ask).rows[0].message


def test_converting_counts_the_run_that_decides_who_waits_for_a_disk():
    """The conversion of a program with files takes a plain run of it, which is most of its time."""
    registry = Registry([parcast_traces, parcast_perturb])
    machine = registry.machine({**UNIT_MACHINE, "storage": {"bandwidth": "1 GB/s"}})
    seconds = {}
    for work in ("compute(1e6)", "write(1e6)"):
        source = f"def program(rank, size):\n    for t in range(50):\n        {work}\n"
        workload = read_source(source, "steps.py", "steps")
        query = Query(workload=workload, machine=machine, p=8, d=1)
        seconds[work] = from_program.cost(query)
    assert seconds["write(1e6)"] > 10 * seconds["compute(1e6)"]
