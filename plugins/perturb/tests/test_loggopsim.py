"""LogGOPSim as a peer: its own published number first, then programs, and what it lacks.

Where the program is not installed, a stand-in with its arguments and its output replays schedules
by `parcast_perturb.loggops`, which has LogGOPSim's model to the ns.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

import parcast_perturb
import parcast_traces
from parcast import Query, Registry
from parcast.program.reader import read_source
from parcast.testing import cases, check_solver, seeds
from parcast_perturb.solvers import loggopsim

TREE = Path(__file__).parents[4] / "shared" / "traces" / "goal" / "binary_tree_32.goal"
GOAL = Path(__file__).parent / "files" / "goal"

STAND_IN = f"""#!{sys.executable}
import shutil, sys
from pathlib import Path
from parcast_perturb.loggops import LogGOPS, replay
from parcast_traces.readers.goal import schedule

arguments = sys.argv[1:]
if Path(sys.argv[0]).name == "txt2bin":
    shutil.copy(arguments[arguments.index("-i") + 1], arguments[arguments.index("-o") + 1])
else:
    stated = {{text[1]: int(text[2:]) for text in arguments if text[:2] in
              ("-L", "-o", "-g", "-G", "-O", "-S")}}
    model = LogGOPS(latency=stated["L"], overhead=stated["o"], gap=stated["g"],
                    per_byte=stated["G"], overhead_per_byte=stated["O"], eager=stated["S"])
    text = Path(arguments[arguments.index("-f") + 1])
    ends = replay(schedule(text.rename(text.with_suffix(".goal"))), model)
    print(f"Maximum finishing time at host {{ends.index(max(ends))}}: {{max(ends)}} (s)")
"""

MACHINE = {
    "name": "loggp",
    "processor": {"rate": 1e9},
    "network": {"startup": 2.494e-6, "bandwidth": 1e9 / 6, "overhead": 1.5e-6,
                "contention": "none", "eager_limit": 65535},
}  # fmt: skip

REGISTRY = Registry([parcast_traces, parcast_perturb])


@pytest.fixture
def simulator(tmp_path_factory, monkeypatch):
    """Name LogGOPSim, or the stand-in where it is not there."""
    if not shutil.which("LogGOPSim"):
        folder = tmp_path_factory.mktemp("bin")
        for name in ("LogGOPSim", "txt2bin"):
            (folder / name).write_text(STAND_IN)
            (folder / name).chmod(0o755)
        monkeypatch.setenv(loggopsim.VARIABLE, str(folder / "LogGOPSim"))


def program(body):
    lines = "\n    ".join(body.splitlines())
    return read_source(f"def program(rank, size):\n    {lines}\n", "x.py", "x")


def rows(workload, solvers, p, settings=None, **network):
    machine = REGISTRY.machine({**MACHINE, "network": {**MACHINE["network"], **network}})
    return REGISTRY.compare(workload, machine, solvers=solvers, p=p, settings=settings or {}).rows


@pytest.mark.usefixtures("simulator")
@pytest.mark.skipif(not TREE.is_file(), reason="no traces by others here")
def test_its_own_published_tree_takes_27500_ns():
    """L=2500 o=1500 g=1000 G=6; each message has one byte, whose G is in L there."""
    workload = REGISTRY.workload(TREE)
    (row,) = rows(workload, "perturb.loggopsim", 32, {"perturb.loggopsim.gap": "1us"})
    assert row.time == pytest.approx(27.5e-6, rel=1e-9)


@pytest.mark.usefixtures("simulator")
def test_the_reduction_that_schedgen_made_takes_what_loggopsim_prints():
    """Its README prints 34,914 ns, with 1,024 bytes a message."""
    workload = REGISTRY.workload(GOAL / "reduce.goal")
    (row,) = rows(workload, "perturb.loggopsim", 8, {"perturb.loggopsim.gap": "1us"})
    assert row.time == pytest.approx(34.914e-6, rel=1e-9)


@pytest.mark.usefixtures("simulator")
def test_where_nothing_overlaps_it_is_as_every_family_has_it():
    """Chains of random computation and messages, whose ends LogGOPSim and propagation share."""
    for seed in seeds(cases(2)):
        draw = random.Random(seed)
        body = "\n".join(
            f"if rank == {src}:\n    compute({draw.randrange(1, 9000)})\n    "
            f"send({src + 1}, {draw.randrange(1, 50_000)}, tag=3)\n"
            f"if rank == {src + 1}:\n    recv({src}, tag=3)"
            for src in range(4)
        )
        ours, peer = rows(program(body), ["perturb.clocked", "perturb.loggopsim"], 5)
        assert peer.time == pytest.approx(ours.time, rel=1e-8)


@pytest.mark.usefixtures("simulator")
def test_messages_off_its_one_line_are_noted():
    body = "for k in range(4):\n    sendrecv((rank + 1) % 2, 8 * 16**k, (rank + 1) % 2)"
    sizes = [{"least": 500, "startup": 9e-6}]
    (row,) = rows(program(body), "perturb.loggopsim", 2, sizes=sizes)
    assert "LogGOPSim has one L and G" in " ".join(row.notes)
    (row,) = rows(program(body), "perturb.loggopsim", 2)
    assert "LogGOPSim has one L and G" not in " ".join(row.notes)


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize(
    ("body", "network", "message"),
    [
        ("start()\ncompute(8)", {}, "not from start() on"),
        ("for task in pool(range(4)):\n    compute(8)", {}, "LogGOPSim has no pool of tasks"),
        ("compute(8)", {"overhead_receive": 1e-6}, "one overhead for both ends of a message"),
    ],
)
def test_what_it_lacks_is_refused(body, network, message):
    (row,) = rows(program(body), "perturb.loggopsim", 2, **network)
    assert message in row.message


@pytest.mark.usefixtures("simulator")
def test_who_runs_too_long_is_stopped():
    (row,) = rows(program("compute(8)"), "perturb.loggopsim", 2, {"perturb.loggopsim.limit": 1e-4})
    assert "LogGOPSim has run for 0.0001 s, the limit" in row.message


@pytest.mark.usefixtures("simulator")
def test_the_solver_conforms():
    query = Query(
        workload=program("compute(8)\nallreduce(8)"), machine=REGISTRY.machine(MACHINE), p=4
    )
    assert len(check_solver(REGISTRY, "perturb.loggopsim", [query])) == 1


def test_without_the_program_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv(loggopsim.VARIABLE, "/nowhere/LogGOPSim")
    (row,) = rows(program("compute(8)"), "perturb.loggopsim", 2)
    assert row.message.startswith("LogGOPSim is not installed: its commands LogGOPSim and txt2bin")
