"""The tightly coupled engine against the plain reference, the merge engine and by hand."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

import parcast_emulator
from parcast import Query, Registry
from parcast.cli import main
from parcast.errors import UnsupportedError
from parcast.testing import seeds
from parcast_emulator.cluster import UNLIMITED
from parcast_emulator.coupling import Coupling
from parcast_emulator.processes.clock import RUN, SERVE, Clock, detection
from parcast_emulator.processes.lines import FairLine, Line

from .reference import Simulation
from .specs import CASES, random_spec
from .test_engines import COUPLED, EXACT, numbers, run

REGISTRY = Registry([parcast_emulator])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reference_cases(case):
    _, found = run(case, "tc")
    expected = case["expected"]
    near = (lambda x: x) if case["name"] in EXACT else (lambda x: pytest.approx(x, rel=1e-9))
    assert found["makespan"] == near(expected["makespan"])
    assert found["epoch_ends"] == near(expected["epoch_ends"])
    values, about = numbers(found["ops"])
    wanted, wanted_about = numbers(expected["ops"])
    assert about == wanted_about
    assert values == near(wanted)


def test_without_blocking_and_polling_processes_are_the_reference():
    for seed in seeds(150):
        data = random_spec(seed, dyadic=seed % 2 == 0)
        outcome, found = run(data, "tc")
        made = Simulation(data).run()
        values, about = numbers(found["ops"])
        wanted, wanted_about = numbers(made.ops)
        assert about == wanted_about
        assert values == pytest.approx(wanted, rel=1e-9), seed
        assert list(outcome.epoch_ends) == pytest.approx(made.ends, rel=1e-9), seed


@pytest.mark.parametrize("name", COUPLED)
def test_half_duplex_buffers_and_own_epochs_are_followed(name):
    machine, rest = COUPLED[name]
    for seed in seeds(30):
        data = random_spec(seed, epochs=3) | rest
        data["machine"] |= machine
        data["machine"]["alpha"] += 1e-4  # no ties, whose order is not specified here
        plain = deepcopy(data) | {"buffers": machine.get("buffers", UNLIMITED)}
        made = Simulation(plain).run()
        _, found = run(data, "tc")
        assert numbers(found["ops"])[0] == pytest.approx(numbers(made.ops)[0], rel=1e-9), seed


def test_what_servers_did_is_the_same_as_in_the_other_engines():
    for seed in seeds(40):
        data = random_spec(seed)
        merge, tight = run(data, "merge")[0], run(data, "tc")[0]
        for one, other in zip(merge.usage, tight.usage, strict=True):
            assert other == pytest.approx(one, rel=1e-9, abs=1e-12), seed
        assert tight.lower == pytest.approx(merge.lower)


ONE_DISK = {"overhead": 1.0, "media": 1.0, "bus_bw": 1.0, "beta": 1.0}


def spec(blocks, nodes=2, **machine):
    return {
        "machine": ONE_DISK | machine,
        "nodes": [{"disks": 1, "busof": [0]}] * nodes,
        "epochs": [
            [
                {"node": node, "disk": 0, "offset": 0, "size": 1, "tcomp": 8, "consumers": to}
                for node, to in blocks
            ]
        ],
    }


def test_a_blocking_computation_delays_what_has_been_read():
    data = spec([(0, [0]), (0, [1])])  # in memory at 3 and at 5, each 2 on the disk, 1 on the bus
    assert run(data, "tc")[0].time == 5 + 1 + 8  # sent from 5 to 6
    blocking = Coupling(computation="blocking")
    outcome, found = run(data, "tc", coupling=blocking)
    assert found["ops"][1]["sends"][0]["out_start"] == 3 + 8  # when its process looks again
    assert outcome.time == 3 + 8 + 1 + 8


def test_a_blocking_read_waits_for_the_bus_before_the_next_read():
    data = spec([(0, [1]), (0, [1])])
    free, blocked = run(data, "tc")[1], run(data, "tc", coupling=Coupling(reads="blocking"))[1]
    assert [op["disk_start"] for op in free["ops"]] == [0, 2]
    assert [op["disk_start"] for op in blocked["ops"]] == [0, 3]


def test_a_blocking_send_is_waited_for():
    data = spec([(0, [1, 0])])
    blocked = run(data, "tc", coupling=Coupling(sends="blocking"))[1]["ops"][0]
    assert run(data, "tc")[1]["ops"][0]["computes"][0]["cpu_start"] == 3
    assert blocked["computes"][0] == {"node": 0, "local": True, "cpu_start": 4, "cpu_end": 12}


def test_what_completes_is_noticed_at_the_end_of_a_round_of_checks():
    data = spec([(0, [1])])
    # node 0 checks one disk: rounds of 2; in memory at 3, detection at 4, received at 5
    outcome, found = run(data, "tc", coupling=Coupling(polling=2))
    (op,) = found["ops"]
    assert op["sends"][0]["out_start"] == 4
    # node 1 checks one sender: at 0, 2, 4, 6; computes to 14, detection at once by rounds of 2
    assert op["computes"][0]["cpu_start"] == 6
    assert outcome.time == 14


@pytest.mark.parametrize(
    ("since", "done", "each", "found"),
    [(1, 0, 0, 1), (1, 3, 0, 3), (0, 3, 2, 4), (0, 4, 2, 4), (5, 4, 2, 7), (1, 1, 2, 3)],
)
def test_rounds(since, done, each, found):
    assert detection(since, done, each) == found


def test_polling_and_blocking_cost_time_on_average():
    slower = {"polling": 0, "blocking": 0}
    for seed in range(40):
        data = random_spec(seed)
        free = run(data, "tc")[0].time
        slower["polling"] += run(data, "tc", coupling=Coupling(polling=1e-3))[0].time - free
        every = Coupling(reads="blocking", sends="blocking", computation="blocking")
        slower["blocking"] += run(data, "tc", coupling=every)[0].time - free
    assert min(slower.values()) > 0.1


def served(kind, requests):
    """Return when each (time, seconds) is done."""
    clock, ends = Clock(), [None] * len(requests)
    line = kind(clock)

    def done(index):
        ends[index] = clock.now

    for index, (time, seconds) in enumerate(requests):
        clock.at(
            time, SERVE, (index,),
            lambda i=index, s=seconds: line.serve((), s, lambda: done(i)),
        )  # fmt: skip
    clock.run()
    return ends, line


def test_lines_serve_in_order_or_in_equal_shares():
    requests = [(0, 4), (1, 1), (8, 2), (8, 2)]
    ends, line = served(Line, requests)
    assert ends == [4, 5, 10, 12]
    assert (line.busy, line.waited, line.served) == (9, 3 + 2, 4)
    # 0..1 alone, 1..3 two at half speed, 3..5 alone; then two at half speed together
    ends, line = served(FairLine, requests)
    assert ends == [5, 3, 12, 12]
    assert (line.busy, line.waited, line.served) == (9, 1 + 1 + 2 + 2, 4)


def test_events_of_one_time_happen_by_phase_key_and_call():
    clock, seen = Clock(), []
    events = [(SERVE, (2,), "a"), (SERVE, (1,), "b"), (RUN, (9,), "c"), (SERVE, (1,), "d")]
    for phase, key, name in events:
        clock.at(1.0, phase, key, lambda name=name: seen.append(name))
    clock.run()
    assert seen == ["c", "b", "d", "a"]


def test_fair_ports_and_buses():
    # two blocks read at once by two nodes and sent to a third: each gets half of its port in
    data = spec([(0, [2]), (1, [2])], nodes=3, port_sharing="fair")
    outcome, found = run(data)
    assert outcome.engine == "tc"
    assert [op["sends"][0]["in_start"] for op in found["ops"]] == [3, 3]
    assert outcome.time == 3 + 2 + 16
    one_bus = spec([(0, [0]), (0, [0])], bus_sharing="fair")
    one_bus["nodes"] = [{"disks": 2, "busof": [0, 0]}, {"disks": 0, "busof": []}]
    one_bus["epochs"][0][1]["disk"] = 1
    (first, second) = run(one_bus)[1]["ops"]
    assert (first["bus_end"], second["bus_end"]) == (4, 4)
    for engine in ("merge", "feed-forward"):
        with pytest.raises(UnsupportedError, match=r"shares it .*; take the engine tc"):
            run(data, engine)


UNIT = {
    "name": "unit",
    "processor": {"rate": 1e6},
    "network": {"startup": 1e-3, "bandwidth": 1e7, "contention": "endpoint"},
    "disk": {"bandwidth": 1e7, "overhead": 1e-3},
    "bus": {"bandwidth": 2e7},
}


def ask(workload, machine=UNIT, p=4, d=1, solvers="emulator.tc", *, binding=False, **settings):
    (row,) = REGISTRY.compare(
        workload, machine, p=p, d=d, solvers=solvers, settings=settings, elasticities=binding
    ).rows
    return row


@pytest.mark.parametrize(("name", "p"), [("titan", 6), ("pathfinder", 8)])
def test_applications_take_as_long_as_by_the_loosely_coupled_solver(name, p):
    one = ask(name, p=p, d=2, per_node=30, solvers="emulator.lc")
    other = ask(name, p=p, d=2, per_node=30)
    assert other.time == pytest.approx(one.time, rel=1e-9)
    assert other.details["resources"].keys() == one.details["resources"].keys()
    slow = ask(name, p=p, d=2, per_node=30, **{"emulator.tc.polling": "1 ms"})
    assert slow.time > one.time


def test_too_many_operations_are_refused():
    row = ask("titan", per_node=30, **{"emulator.tc.most_operations": 100})
    assert row.status.value == "refused"
    assert row.message == (
        "over 100 operations, simulated one by one, are more than the default limit; use a smaller "
        "p, or --set emulator.tc.most_operations to more"
    )


def program(text):
    from parcast.program.reader import read_source

    return read_source(f"def program(rank, size):\n    {text}\n")


def test_the_family_takes_programs_by_its_tightly_coupled_solver():
    workload = program("compute(2e6)")
    row = ask(workload, solvers="emulator", binding=True)
    assert (row.solver, row.time, row.binding) == ("emulator.tc", 2.0, "processor.rate")
    assert ask("titan", solvers="emulator", per_node=9).solver == "emulator.lc"
    refused = ask(workload, solvers="emulator.lc")
    assert refused.status.value == "refused"
    assert "use emulator.tc" in refused.message


def test_files_of_a_program_lie_on_the_disks_of_its_nodes():
    own = program("read(1e7)")
    row = ask(own)
    assert row.time == pytest.approx(1e-3 + 1.0 + 0.5)  # overhead, medium, bus
    assert row.notes == ("files lie on the disks of each process's own node, one after another",)
    shared = UNIT | {"nodes": {"cores": 2, "count": 2}}
    assert ask(own, shared).time == pytest.approx(2 * (1e-3 + 1.0) + 0.5)
    assert ask(own, shared, d=2).time == pytest.approx(1e-3 + 1.0 + 2 * 0.5)
    row = ask(program("write(1e7, file='shared')"))
    assert row.status.value == "refused"
    assert "the program accesses a shared file; state storage.bandwidth" in row.message
    by_page = UNIT | {"storage": {"bandwidth": 1e6}}
    assert ask(own, by_page).time == pytest.approx(4 * 10)


def test_waits_of_a_program_check_by_rounds():
    text = "r = irecv((rank + 1) % size)\n    send((rank + 1) % size, 1e4)\n    wait(r)"
    workload = program(
        "if size > 1:\n        "
        + text.replace("\n", "\n    ").replace("(rank + 1) % size)\n", "(rank - 1) % size)\n", 1)
    )
    free = ask(workload)
    slow = ask(workload, **{"emulator.tc.polling": "3 ms"})
    assert free.time == pytest.approx(2e-3)
    assert slow.time == pytest.approx(3e-3)
    assert slow.parts.communication == pytest.approx(3e-3)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--polling", "1ms"), "which the engine auto has not; add --engine tc"),
        (("--engine", "merge", "--blocking", "reads"), "which the engine merge has not"),
        (("--engine", "tc", "--polling", "-1ms"), "polling: '-1ms' must be 0 or more"),
        (("--engine", "tc", "--polling", "5MB"), "polling: '5MB' is in B, not in s"),
        (("--engine", "tc", "--blocking", "writes"), "'writes' is not one of"),
    ],
)
def test_bad_options_are_one_sentence(tmp_path, capsys, options, sentence):
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(CASES[0]))
    assert main(["emulator", "simulate", str(file), *options]) == 2
    assert sentence in capsys.readouterr().err


def test_the_command_runs_processes(tmp_path, capsys):
    file = tmp_path / "spec.json"
    file.write_text(json.dumps(spec([(0, [0]), (0, [1])])))
    asked = ["emulator", "simulate", str(file), "--engine", "tc", "--blocking", "computation"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.startswith("time        20 s")
    assert out.endswith("engine      tc\n")


def test_the_solver_conforms():
    from parcast.testing import check_solver, random_program

    queries = [random_program(seed, without=["elapse"]).query for seed in range(6)]
    assert len(check_solver(REGISTRY, "emulator.tc", queries)) == 6
    titan = REGISTRY.workload("titan")
    machine = REGISTRY.machine(UNIT)
    query = Query(workload=titan, machine=machine, p=4, d=2, parameters={"per_node": 20})
    why = "an application's computation is stated in seconds"
    assert check_solver(REGISTRY, "emulator.tc", [query], absolute=why)
