"""Phases as programs, programs as phases."""

import attrs
import pytest

from parcast.api import Registry
from parcast.comparison.lowering import lower
from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.costs import Costs
from parcast.model.phases import CONSTANT
from parcast.model.query import Query
from parcast.program.lowerings.from_phases import lower as to_program
from parcast.program.lowerings.to_phases import lower as to_phases
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_sweep

REGISTRY = Registry([])
MACHINE = REGISTRY.machine(
    {
        "name": "unit",
        "processor": {"rate": 1},
        "network": {"startup": 1, "bandwidth": 1, "overhead": 0.25},
        "storage": {"bandwidth": 1, "startup": 0.5, "disks": 2},
    }
)


def query(workload, p, **parameters):
    return Query(workload=workload, machine=MACHINE, p=p, parameters=parameters)


def phases(*phase, **parameters):
    data = {"name": "work", "phase": list(phase)}
    return REGISTRY.workload({**data, **({"parameters": parameters} if parameters else {})})


def program(*lines):
    text = "def program(rank, size, n=8):\n" + "".join(f"    {line}\n" for line in lines)
    return read_source(text, "mine.py", "mine")


def lowered(workload, p, **parameters):
    made, notes = to_program(workload, query(workload, p, **parameters))
    return made.content.at(query(made, p, **parameters)), notes


def ops(unrolled, rank=0):
    return [(one.op, *one.arguments.values()) for one in unrolled.rank(rank)]


def test_a_phase_computes_its_share_and_the_serial_part_on_every_process():
    work = phases({"cycles": 2, "bursts": 3, "parallel": 8, "serial": 1, "io_bytes": 12})
    made, notes = lowered(work, 4)
    cycle = [("compute", 3.0, 0)] * 3 + [("write", 3.0, "shared", True)]
    assert ops(made, 2) == [("region", "phase 1"), *cycle, *cycle]
    assert "bursts are deterministic here; the workload's vary" in notes
    assert "serial work is done by every process" in notes


def test_messages_go_around_the_ring_to_the_nearest_first():
    made, notes = lowered(phases({"messages": 3, "bytes": 12, "distribution": "constant"}), 5)
    sent = [one[1:4] for one in ops(made, 1) if one[0] == "sendrecv"]
    assert sent == [(2, 4.0, 0), (0, 4.0, 2), (3, 4.0, 4)]
    assert notes == ("messages go to the nearest neighbors on a ring, by sendrecv",)


def test_no_process_sends_to_itself():
    made, _ = lowered(phases({"messages": 7, "bytes": 7}), 3)
    for rank in range(3):
        peers = {one[1] for one in ops(made, rank) if one[0] == "sendrecv"}
        assert peers == {0, 1, 2} - {rank}


def test_one_process_sends_nothing_and_joins_nobody():
    made, _ = lowered(phases({"messages": 7, "bytes": 7, "group": "p", "parallel": 5}), 1)
    assert [one[0] for one in ops(made)] == ["region", "compute"]


def test_a_fraction_of_a_message_is_rounded_and_said():
    made, notes = lowered(phases({"messages": 2.4, "bytes": 6}), 4)
    assert [one[2] for one in ops(made) if one[0] == "sendrecv"] == [3.0, 3.0]
    assert "2.4 messages in a burst of 'phase 1' became 2" in notes
    made, notes = lowered(phases({"bytes": 6}), 4)
    assert [one[2] for one in ops(made) if one[0] == "sendrecv"] == [6.0]


def test_groups_join_by_a_barrier_of_their_own():
    made, _ = lowered(phases({"group": 2}), 4)
    assert [ops(made, rank)[-1] for rank in range(4)] == [
        ("barrier", 0),
        ("barrier", 0),
        ("barrier", 1),
        ("barrier", 1),
    ]


def test_a_group_says_that_its_barrier_takes_time():
    said = "the processes of a group join by a barrier, whose messages take their time"
    assert said in lowered(phases({"group": 2}), 4)[1]
    assert said not in lowered(phases({"group": 2}), 1)[1]


def test_no_bytes_are_no_access():
    made, _ = lowered(phases({"parallel": 4, "io_bytes": "0*p"}), 4)
    assert [one[0] for one in ops(made)] == ["region", "compute"]


def test_no_work_needs_no_rate():
    made, _ = lowered(phases({"messages": 1, "bytes": 8}), 4)
    assert [one[0] for one in ops(made)] == ["region", "sendrecv"]
    made, _ = lowered(phases({"cycles": 2}), 4)
    assert [one[0] for one in ops(made)] == ["region"]


def test_asynchronous_files_are_each_process_own():
    made, _ = lowered(phases({"io": "async", "io_bytes": 8}), 4)
    assert ops(made)[-1] == ("write", 2.0, "own", False)


def test_formulas_and_parameters_stay_symbolic():
    work = phases(
        {"parallel": "burst**2 kFLOP", "messages": "n", "bytes": "8*send*d"}, n=2, burst=3, send=5
    )
    made, _ = to_program(work, query(work, 4))
    assert set(made.content.tree.parameters) == {"n"}  # the others mean something in a program
    unrolled = made.content.at(query(made, 4, n=3))
    sent = [one[2] for one in ops(unrolled) if one[0] == "sendrecv"]
    assert sent == [pytest.approx(40 / 3)] * 3
    assert ops(unrolled)[1] == ("compute", 9000.0 / 4, 0)


def test_part_of_a_cycle_is_no_program():
    work = phases({"cycles": "p/2"})
    lowered(work, 4)
    with pytest.raises(InvalidPointError, match=r"phase\[0\].cycles is 2.5 at p=5; a program rep"):
        lowered(work, 5)


def counted(workload, p, machine=MACHINE, **parameters):
    asked = attrs.evolve(query(workload, p, **parameters), machine=machine)
    made, notes = to_phases(workload, asked)
    (phase,) = made.content.at(attrs.evolve(asked, workload=made))
    return phase, notes


def test_a_program_becomes_one_phase_of_its_counts():
    stencil = program(
        "for step in range(n):",
        "    compute(6)",
        "    if size > 1:",
        "        sendrecv((rank + 1) % size, 10, (rank - 1) % size)",
    )
    phase, _ = counted(stencil, 4)
    assert (phase.cycles, phase.bursts, phase.serial) == (1, 8, 6)
    assert (phase.messages, phase.bytes, phase.distribution) == (1, 10, CONSTANT)
    assert counted(stencil, 1)[0].messages == 0


def test_cycles_are_the_accesses_to_files():
    saves = program(
        "for step in range(n):",
        "    compute(6)",
        "    if step % 4 == 3:",
        "        barrier()",
        "        write(5, file='shared')",
    )
    phase, _ = counted(saves, 4)
    assert (phase.cycles, phase.bursts, phase.io, phase.io_bytes) == (2, 4, "sync", 20)


def test_what_comes_before_the_start_is_not_counted():
    warm = ["compute(6)", "read(4)", "r = isend((rank + 1) % size, 2)", "recv((rank - 1) % size)"]
    phase, notes = counted(program(*warm, "start()", "wait(r)", "compute(2)"), 4)
    assert (phase.serial, phase.messages, phase.io_bytes) == (2.25, 0, 0)
    assert len(notes) == 1
    phase, notes = counted(program("compute(6)", "if rank == 0:", "    start()"), 4)
    assert phase.serial == 6
    assert "what comes before a start() that not all processes reach is counted too" in notes


def test_an_access_by_all_together_says_what_it_leaves_out():
    said = "a collective access pays the latency (startup) of a disk once"
    assert said in counted(program("write(5, collective=True)"), 4)[1]
    assert said not in counted(program("write(5, collective=True)"), 1)[1]
    assert said not in counted(program("write(5)"), 4)[1]


def test_what_a_phase_cannot_tell_of_access_and_messages_is_said():
    _, notes = counted(program("if rank == 0:", "    write(5)"), 4)
    assert "access by some processes becomes access by all, of the mean bytes" in notes
    said = "access by all together is spread over all disks, other access to one disk each"
    cluster = REGISTRY.machine({**MACHINE.data, "storage": {"bandwidth": 1, "layout": "cluster"}})
    for line, differs in [
        ("write(5, collective=True)", True),
        ("write(5, file='shared')", True),
        ("write(5, file='shared', collective=True)", False),
        ("write(5)", False),
    ]:
        asked = attrs.evolve(query(program(line), 4), machine=cluster, d=2)
        assert (said in to_phases(asked.workload, asked)[1]) == differs
        assert said not in counted(program(line), 4)[1]


def test_messages_of_a_process_alone_are_to_itself_and_cost_what_they_cost():
    alone = program("isend(0, 8)", "recv(0)", "waitall()")
    asked = query(alone, 1)
    expected = by_sweep(matched_program(asked).unrolled, Costs.of(asked, {"messages"}))
    assert counted(alone, 1)[0].serial == expected.time == 1 + 8 + 3 * 0.25  # at 1 FLOP/s


def test_chains_of_messages_are_said_to_take_longer():
    said = "some processes receive before others send"
    pipeline = program(
        "if rank > 0:", "    recv(rank - 1)", "if rank < size - 1:", "    send(rank + 1, 8)"
    )
    assert counted(pipeline, 4)[1][1].startswith(said)
    assert not any(one.startswith(said) for one in counted(pipeline, 1)[1])
    shift = program("sendrecv((rank + 1) % size, 8, (rank - 1) % size)")
    assert not any(one.startswith(said) for one in counted(shift, 4)[1])


def test_access_by_some_or_without_joining_is_asynchronous():
    assert counted(program("compute(1)", "write(5)"), 4)[0].io == "async"
    some = program("compute(1)", "barrier()", "if rank == 0:", "    write(5)")
    assert counted(some, 4)[0].io == "async"
    assert counted(program("write(5, collective=True)"), 4)[0].io == "sync"
    assert counted(program("barrier(color=rank // 2)", "write(5)"), 4)[0].io == "async"


def test_collectives_are_counted_as_their_messages():
    phase, _ = counted(program("allreduce(16)"), 8)
    assert (phase.messages, phase.bytes) == (3, 48)


def test_receiving_that_no_own_message_answers_for_is_work():
    waits = program("isend((rank + 1) % size, 0)", "irecv((rank - 1) % size)", "waitall()")
    phase, _ = counted(waits, 4)
    assert phase.serial == 0.25  # waitall's own overhead, beside the one of the message


def test_unlike_processes_are_refused_with_the_ranks():
    farm = program("if rank > 0:", "    compute(rank)")
    with pytest.raises(
        UnsupportedError,
        match=r"'mine' is not SPMD at p=4: rank 0 computes 0 s and rank 3 3 s \(largest/mean 2 >",
    ):
        counted(farm, 4)
    _, notes = counted(program("compute(4 + rank % 2)"), 4)
    assert "load imbalance: all processes compute as long as the busiest" in notes
    assert counted(program("compute(4 + rank % 2)"), 4)[0].serial == 5


@pytest.mark.parametrize("rate", [3, 5.1, 7.7, 1e6 / 7, 123.4])
def test_rounding_does_not_decide_whether_processes_are_alike(rate):
    edge = program("compute(1 + (rank > 0) + (rank == 2))")  # the busiest does 1.5 times the mean
    machine = REGISTRY.machine({"name": "m", "processor": {"rate": rate}})
    assert counted(edge, 4, machine)[0].serial == pytest.approx(3)


def test_a_number_that_is_not_used_need_not_be_stated():
    bare = REGISTRY.machine({"name": "bare", "processor": {"rate": 1}})
    assert counted(program("compute(4)"), 4, bare)[0].serial == 4
    with pytest.raises(UnsupportedError, match=r"states no network.startup, which a workload with"):
        counted(program("barrier()"), 4, bare)


def test_both_ways_are_found_by_the_registry():
    work = phases({"parallel": 8, "messages": 2, "bytes": 4, "cycles": 3})
    ready, steps, _ = lower(REGISTRY.lowerings, query(work, 4), "program")
    assert steps == ("phases -> program",)
    again, steps, _ = lower(REGISTRY.lowerings, ready, "phases")
    assert steps == ("program -> phases",)
    (phase,) = again.workload.content.at(again)
    assert (phase.bursts, phase.serial, phase.messages, phase.bytes) == (3, 2, 2, 4)
