"""The two evaluators of the cost table, on small cases worked out by hand.

Unless a case says otherwise a message takes t0 = 2 and 1 for each byte, and an operation 1.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from parcast import InvalidPointError, Parts
from parcast.errors import SolveError
from parcast.model.costs import Costs
from parcast.model.placement import Placement
from parcast.testing import by_events, by_sweep

from .calling import call


@pytest.fixture(params=[by_sweep, by_events])
def evaluate(request):
    return request.param


def costs(p, *, node=None, speed=None, **changes) -> Costs:
    """Return costs of exact fractions, every process on a node of its own."""
    node = np.arange(p) if node is None else np.array(node)
    speeds = np.array([Fraction(one) for one in speed or [1] * p], dtype=object)
    sharing = np.array([int((node == one).sum()) for one in node])
    placement = Placement(node, speeds, sharing, int(node.max()) + 1)
    numbers = {"rate": 1, "startup": 2, "per_byte": 1, "disk_startup": 1, "disk_per_byte": 1}
    exact = {
        name: Fraction(value) if isinstance(value, int | Fraction) and name != "disks" else value
        for name, value in {**numbers, **changes}.items()
    }
    return Costs(placement=placement, **exact)


def program(*lines: str) -> str:
    return "\n    ".join(["def program(rank, size):", *lines])


def test_a_ring_of_three_waits_for_its_slow_process(evaluate):
    source = program(
        "if rank == 0:",
        "    compute(10)",
        "send((rank + 1) % size, 4)",
        "recv((rank - 1) % size)",
    )
    half = Fraction(1, 2)
    machine = costs(3, startup=3, per_byte=half, overhead=1, overhead_per_byte=half)
    found = evaluate(call(source, 3), machine)
    # X = 1 + 4/2 = 3, after 10 more on rank 0; a message arrives 3 + 4/2 = 5 later
    assert found.ends == (14, 19, 9)
    assert found.time == 19
    assert found.parts == (
        Parts(10, 4, 0, 5),  # the message of rank 2 came at 8, before rank 0 asked for it
        Parts(0, 9, 0, 10),  # waits 3 .. 18 for what is sent at 13
        Parts(0, 9, 0, 10),
    )
    assert found.mean_parts == Parts(Fraction(10, 3), Fraction(22, 3), 0, Fraction(25, 3))


def test_a_send_over_the_eager_limit_waits_for_its_receive(evaluate):
    source = program("if rank == 0:", "    send(1, 6)", "else:", "    compute(7)", "    recv(0)")
    machine = costs(2, startup=3, per_byte=Fraction(1, 2), overhead=1, eager_limit=5)
    found = evaluate(call(source, 2), machine)
    # posted at 7, so R = 7 and A = 7 + 3 + 3
    assert found.ends == (13, 14)
    assert found.parts == (Parts(0, 7, 0, 7), Parts(7, 7, 0, 0))


def test_a_message_of_the_eager_limit_is_eager(evaluate):
    source = program("if rank == 0:", "    send(1, 6)", "else:", "    compute(7)", "    recv(0)")
    assert evaluate(call(source, 2), costs(2, eager_limit=6)).ends == (0, 8)


def test_an_isend_over_the_limit_goes_on_and_its_wait_ends_with_the_arrival(evaluate):
    source = program(
        "if rank == 0:",
        "    r = isend(1, 6)",
        "    compute(2)",
        "    wait(r)",
        "else:",
        "    compute(7)",
        "    recv(0)",
    )
    found = evaluate(call(source, 2), costs(2, overhead=1, overhead_receive=1, eager_limit=0))
    assert found.ends == (16, 16)  # A = 7 + 2 + 6
    assert found.parts[0] == Parts(2, 1 + 8 + 1, 0, 4)


def test_a_wait_for_an_eager_isend_costs_its_call_only(evaluate):
    source = program(
        "if rank == 0:",
        "    r = isend(1, 6)",
        "    wait(r)",
        "else:",
        "    compute(7)",
        "    recv(0)",
    )
    assert evaluate(call(source, 2), costs(2, overhead_receive=1)).ends == (1, 9)


def test_a_waitall_without_requests_costs_its_call(evaluate):
    assert evaluate(call(program("waitall()"), 1), costs(1, overhead_receive=3)).ends == (3,)


def test_the_wait_for_many_counts_the_last_arrival(evaluate):
    source = program(
        "if rank == 0:",
        "    irecv(1)",
        "    irecv(2)",
        "    waitall()",
        "if rank == 1:",
        "    compute(9)",
        "    send(0, 3)",
        "if rank == 2:",
        "    send(0, 10)",
    )
    found = evaluate(call(source, 3), costs(3))
    assert found.ends == (14, 9, 0)
    assert found.parts[0] == Parts(0, 5, 0, 9)  # sent at 9, arrived at 14


def test_of_arrivals_at_one_time_the_message_sent_first_counts(evaluate):
    source = program(
        "if rank == 0:",
        "    irecv(1)",
        "    irecv(2)",
        "    waitall()",
        "if rank == 1:",
        "    compute(2)",
        "    send(0, 2)",
        "if rank == 2:",
        "    send(0, 4)",
    )
    assert evaluate(call(source, 3), costs(3)).parts[0] == Parts(0, 6, 0, 0)


def test_a_sendrecv_pays_one_overhead_for_both_directions(evaluate):
    source = program("compute(5 * rank)", "sendrecv(1 - rank, 4, 1 - rank)")
    machine = costs(2, overhead=1, overhead_receive=3, overhead_per_byte=1)
    found = evaluate(call(source, 2), machine)
    # X = 5 and 10; arrivals 6 later; rank 1 has X = 10 and its message at 11
    assert found.ends == (16 + 3, 11 + 3)
    assert found.parts[0] == Parts(0, 5 + 9, 0, 5)
    assert found.parts[1] == Parts(5, 5 + 4, 0, 5)


def test_a_sendrecv_whose_message_has_long_arrived_ends_with_its_own_sending(evaluate):
    source = program("if rank == 1:", "    compute(50)", "sendrecv(1 - rank, 0, 1 - rank)")
    machine = costs(2, overhead=5, overhead_receive=3)
    assert evaluate(call(source, 2), machine).ends == (60, 55)


def test_a_sendrecv_over_the_limit_ends_with_its_own_message(evaluate):
    source = program(
        "if rank == 0:",
        "    sendrecv(1, 8, 2)",
        "if rank == 1:",
        "    compute(20)",
        "    recv(0)",
        "if rank == 2:",
        "    send(0, 1)",
    )
    found = evaluate(call(source, 3), costs(3, eager_limit=4))
    assert found.ends == (30, 30, 0)
    assert found.parts[0] == Parts(0, 10, 0, 20)


def test_messages_of_a_channel_are_taken_in_the_order_of_their_sending(evaluate):
    source = program(
        "if rank == 0:",
        "    send(1, 10)",
        "    send(1, 1, 7)",
        "    send(1, 1)",
        "else:",
        "    recv(0)",
        "    recv(0)",
        "    recv(0, 7)",
    )
    assert evaluate(call(source, 2), costs(2)).ends == (0, 12)


def test_a_port_takes_the_headers_in_turn_and_equal_ones_by_rank(evaluate):
    source = program(
        "if rank == 0:",
        *(f"    recv({rank})" for rank in (1, 2, 3)),
        "else:",
        "    compute(rank == 3)",
        "    send(0, 4)",
    )
    one = source.replace("recv(2)", "compute(0)").replace("recv(3)", "compute(0)")
    machine = costs(4, contention="endpoint")
    assert evaluate(call(source, 4), machine).ends[0] == 2 + 3 * 4
    assert evaluate(call(one, 4), machine).ends[0] == 2 + 4


def test_a_node_sends_its_messages_one_after_the_other(evaluate):
    source = program("if rank == 0:", "    send(1, 4)", "    send(2, 4)", "else:", "    recv(0)")
    assert evaluate(call(source, 3), costs(3, contention="endpoint")).ends == (0, 6, 10)


def test_the_bus_carries_one_message_at_a_time_and_startups_overlap(evaluate):
    source = program("if rank < 2:", "    send(rank + 2, 4)", "else:", "    recv(rank - 2)")
    assert evaluate(call(source, 4), costs(4)).ends == (0, 0, 6, 6)
    assert evaluate(call(source, 4), costs(4, contention="endpoint")).ends == (0, 0, 6, 6)
    assert evaluate(call(source, 4), costs(4, contention="bus")).ends == (0, 0, 6, 10)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_messages_within_a_node_never_contend(evaluate, contention):
    source = program("if rank < 2:", "    send(rank + 2, 4)", "else:", "    recv(rank - 2)")
    machine = costs(4, node=[0, 1, 0, 1], contention=contention, local_startup=1, local_per_byte=2)
    assert evaluate(call(source, 4), machine).ends == (0, 0, 9, 9)


def test_a_striped_access_takes_a_piece_of_every_disk(evaluate):
    source = program("write(8)")
    # pieces of 4 bytes take 1 + 4; the second process waits for the first
    assert evaluate(call(source, 2), costs(2, disks=2)).ends == (5, 10)
    assert evaluate(call(source, 2), costs(2, disks=2)).parts == (
        Parts(0, 0, 5, 5),
        Parts(0, 0, 10, 0),
    )


def test_a_cluster_gives_own_files_a_disk_and_shared_ones_all(evaluate):
    machine = costs(3, disks=2, layout="cluster")
    assert evaluate(call(program("read(8)"), 3), machine).ends == (9, 9, 18)
    assert evaluate(call(program('read(8, "shared")'), 3), machine).ends == (5, 10, 15)


def test_any_takes_the_message_that_is_there_first(evaluate):
    source = program(
        "if rank == 0:",
        "    recv(ANY)",
        "    compute(1)",
        "    recv(ANY)",
        "if rank == 1:",
        "    send(0, 10)",
        "if rank == 2:",
        "    compute(3)",
        "    send(0, 1)",
    )
    found = evaluate(call(source, 3), costs(3))
    assert found.ends == (12, 0, 3)  # of rank 2 at 6, of rank 1 at 12
    assert found.parts[0] == Parts(1, 3 + 5, 0, 3)


def test_any_takes_the_sender_that_was_ready_first_of_those_that_wait_for_it(evaluate):
    source = program(
        "if rank == 0:",
        "    compute(5)",
        "    recv(ANY)",
        "    recv(ANY)",
        "else:",
        "    compute(5 - rank)",
        "    send(0, rank)",
    )
    # rank 2 is ready at 3, rank 1 at 4: 5 + 2 + 2, then 9 + 2 + 1
    assert evaluate(call(source, 3), costs(3, eager_limit=0)).ends == (12, 12, 9)


def test_any_takes_the_lowest_rank_of_messages_there_at_one_time(evaluate):
    source = program(
        "if rank == 0:",
        "    recv(ANY)",
        "    recv(ANY)",
        "else:",
        "    send(0, 1)",
        "    recv(0, 1)",
        "if rank == 0:",
        "    send(1, 0, 1)",
        "    compute(10)",
        "    send(2, 0, 1)",
    )
    assert evaluate(call(source, 3), costs(3)).ends == (13, 5, 15)


def test_any_takes_the_messages_of_one_sender_that_are_ready_at_one_time_in_their_order(evaluate):
    source = program(
        "if rank == 0:",
        "    recv(ANY)",
        "    send(2, 0, 1)",
        "    recv(ANY)",
        "if rank == 1:",
        "    isend(0, 5)",
        "    isend(0, 1)",
        "    waitall()",
        "if rank == 2:",
        "    recv(0, 1)",
    )
    assert evaluate(call(source, 3), costs(3, eager_limit=0)).ends == (10, 10, 9)


def test_speed_divides_compute_but_neither_elapse_nor_memory(evaluate):
    machine = costs(3, node=[0, 0, 1], speed=[2, 1, 1], memory_bandwidth=4)
    assert evaluate(call(program("compute(8)"), 3), machine).ends == (4, 8, 8)
    assert evaluate(call(program("compute(8, 24)"), 3), machine).ends == (12, 12, 8)
    assert evaluate(call(program("elapse(8)"), 3), machine).ends == (8, 8, 8)


def test_time_and_parts_count_from_the_latest_start(evaluate):
    source = program(
        "start()",
        "compute(4)",
        "if rank == 1:",
        "    start()",
        "if rank == 0:",
        "    recv(1)",
        "else:",
        "    compute(rank)",
        "    send(0, 5)",
    ).replace("recv(1)", "recv(1)\n        recv(2)")
    found = evaluate(call(source, 3), costs(3))
    assert found.start == 4
    assert found.ends == (13, 5, 6)
    assert found.time == 9
    assert found.parts == (Parts(0, 8, 0, 1), Parts(1, 0, 0, 8), Parts(2, 0, 0, 7))


def test_a_start_after_others_have_ended_leaves_them_idle(evaluate):
    source = program("if rank == 0:", "    compute(9)", "    start()", "    compute(1)")
    found = evaluate(call(source, 2), costs(2))
    assert found.parts == (Parts(1, 0, 0, 0), Parts(0, 0, 0, 1))


def test_a_program_of_nothing_takes_no_time(evaluate):
    found = evaluate(call(program("region('nothing')"), 2), costs(2))
    assert (found.time, found.ends, found.parts) == (0, (0, 0), (Parts(), Parts()))


def test_processes_that_wait_for_each_other_are_named_not_waited_for(evaluate):
    source = program("send(1 - rank, 8)", "recv(1 - rank)")
    with pytest.raises(InvalidPointError, match=r"at p=2 rank 0 .*send"):
        evaluate(call(source, 2), costs(2, eager_limit=4))
    with pytest.raises(InvalidPointError, match=r"at p=1 rank 0 .*recv"):
        evaluate(call(program("recv(ANY)"), 1), costs(1))


def test_a_collective_must_be_expanded_first(evaluate):
    with pytest.raises(SolveError, match="barrier must be expanded"):
        evaluate(call(program("barrier()"), 2), costs(2))
