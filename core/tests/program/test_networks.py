"""What a network may say beside its startup and bandwidth: both references, by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from parcast import Query, Registry
from parcast.errors import FileError, UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.program.reference.flows import max_min
from parcast.testing import by_events, by_sweep
from parcast.testing.exact import exact_costs, exact_program

#: Seconds are whole: a message of n bytes takes 2 + n s alone.
NETWORK = {"startup": 2, "bandwidth": 1}


def asked(source: str, p: int, cores: int = 1, **network) -> Query:
    machine = Registry().machine(
        {
            "name": "hand-made",
            "processor": {"rate": 1},
            "nodes": {"cores": cores},
            "network": {**NETWORK, **network},
        }
    )
    body = source.replace("\n", "\n    ")
    workload = read_source(f"def program(rank, size):\n    {body}", "hand.py", "hand")
    return Query(workload=workload, machine=machine, p=p, d=1)


@pytest.fixture(params=[by_sweep, by_events])
def ends(request):
    """Return a function from a program and a network to the ends, by either reference."""

    def evaluated(source: str, p: int, cores: int = 1, **network) -> list[Fraction]:
        query = asked(source, p, cores, **network)
        unrolled = matched_program(query).unrolled
        costs = Costs.of(query, unrolled.needs(), WHOLE_NETWORK)
        exact = request.param(exact_program(unrolled), exact_costs(costs))
        rounded = request.param(unrolled, costs)
        assert rounded.ends == pytest.approx([float(end) for end in exact.ends], rel=1e-12)
        return list(exact.ends)

    return evaluated


TWO_TO_ONE = """
if rank < 2:
    send(2, 8)
else:
    recv(0)
    recv(1)
"""


def test_two_messages_share_the_port_that_both_arrive_at(ends):
    assert ends(TWO_TO_ONE, 3, contention="fair") == [0, 0, 18]
    assert ends(TWO_TO_ONE, 3, contention="none") == [0, 0, 10]


def test_a_wider_port_holds_nobody_back(ends):
    assert ends(TWO_TO_ONE, 3, contention="fair", port_bandwidth=2) == [0, 0, 10]
    assert ends(TWO_TO_ONE, 3, contention="fair", port_bandwidth=1.5) == [0, 0, 2 + Fraction(32, 3)]


def test_whoever_comes_later_slows_down_what_is_on_its_way(ends):
    late = "if rank == 0:\n    send(2, 8)\nif rank == 1:\n    elapse(4)\n    send(2, 8)\n"
    late += "if rank == 2:\n    recv(0)\n    recv(1)"
    # 0's is alone 2 .. 6, then each has half: 4 bytes of 0's until 14, the rest of 1's until 18
    assert ends(late, 3, contention="fair") == [0, 4, 18]


def test_what_one_flow_cannot_use_the_others_have():
    slow = ({1: 1}, Fraction(1, 4))
    rates = max_min([({0: 1}, None), ({0: 1, 1: 1}, None), slow], {0: 3, 1: 1})
    assert rates == [Fraction(9, 4), Fraction(3, 4), Fraction(1, 4)]


def test_acknowledgements_take_up_the_links_of_the_way_back(ends):
    alone = "if rank == 0:\n    send(1, 8)\nif rank == 1:\n    recv(0)"
    exchange = "sendrecv(1 - rank, 8, 1 - rank)"
    assert ends(alone, 2, contention="fair", acknowledgements=0.5) == [0, 10]
    assert ends(exchange, 2, contention="fair", acknowledgements=0.5) == [14, 14]
    one_bandwidth = {"duplex": "half", "acknowledgements": 0.5}
    assert ends(alone, 2, contention="fair", **one_bandwidth) == [0, 14]
    assert ends(exchange, 2, contention="fair", **one_bandwidth) == [26, 26]


def test_processes_of_a_node_send_by_ports_of_their_own(ends):
    pair = "if rank < 2:\n    send(rank + 2, 8)\nelse:\n    recv(rank - 2)"
    assert ends(pair, 4, cores=2, contention="fair") == [0, 0, 18, 18]
    assert ends(pair, 4, cores=2, contention="fair", ports=2) == [0, 0, 10, 10]


def test_a_half_duplex_port_sends_and_receives_with_one_bandwidth(ends):
    exchange = "sendrecv(1 - rank, 8, 1 - rank)"
    assert ends(exchange, 2, contention="fair") == [10, 10]
    assert ends(exchange, 2, contention="fair", duplex="half") == [18, 18]


def test_costs_change_from_a_size_on(ends):
    sizes = [{"least": 4, "startup": 5, "overhead": 1}, {"least": 8, "bandwidth": 2}]
    sent = "if rank == 0:\n    send(1, {0})\nelse:\n    recv(0)"
    for n, sender, receiver in ((3, 0, 5), (4, 1, 10), (7, 1, 13), (8, 1, 10)):
        assert ends(sent.format(n), 2, sizes=sizes) == [sender, receiver]
        assert ends(sent.format(n), 2, sizes=sizes, contention="fair") == (
            [sender, receiver] if n < 8 else [1, 14]  # a port has no more than the network
        )


def test_a_message_of_less_efficiency_takes_up_more_of_its_links(ends):
    sizes = [{"least": 4, "efficiency": 0.5}, {"least": 8, "efficiency": 2}]
    sent = "if rank == 0:\n    send(1, {0})\nelse:\n    recv(0)"
    both = "if rank < 2:\n    send(2, {0})\nelse:\n    recv(0)\n    recv(1)"
    for n, taken_up in ((3, 3), (4, 8), (8, 4)):
        for contention in ("none", "fair", "endpoint"):
            costs = {"sizes": sizes, "contention": contention}
            # both messages pass a port of one byte a second, where there is one
            assert ends(sent.format(n), 2, **costs)[1] == 2 + taken_up
            together = taken_up * (1 if contention == "none" else 2)
            assert ends(both.format(n), 3, **costs)[2] == 2 + together
    sizes = [{"least": 1, "efficiency": 0.5}]
    assert ends(sent.format(4), 2, sizes=sizes, header=2)[1] == 2 + 12
    assert ends(sent.format(4), 2, sizes=sizes, header=2, cores=2)[1] == 2 + 4


def test_a_header_is_carried_between_nodes(ends):
    sent = "if rank == 0:\n    send(1, 3)\nelse:\n    recv(0)"
    assert ends(sent, 2, header=4) == [0, 9]
    assert ends(sent, 2, cores=2, header=4) == [0, 5]


def test_near_processes_have_costs_of_their_level(ends):
    levels = [
        {"name": "socket", "size": 2, "startup": 0, "bandwidth": 4},
        {"name": "switch", "size": 8, "startup": 1},
    ]
    sent = "if rank == 0:\n    send({0}, 8)\nif rank == {0}:\n    recv(0)"
    for near, end in ((1, 2), (2, 10), (4, 9), (8, 10)):
        found = ends(sent.format(near), 9, cores=4, levels=levels)
        assert found[near] == end


def test_all_messages_of_a_level_share_what_it_has(ends):
    levels = [{"name": "socket", "size": 4, "startup": 0, "shared": 1}]
    sent = "if rank < 2:\n    send(rank + 2, 8)\nelse:\n    recv(rank - 2)"
    assert ends(sent, 4, cores=4, levels=levels) == [0, 0, 8, 8]
    assert ends(sent, 4, cores=4, levels=levels, contention="fair") == [0, 0, 16, 16]


def test_a_transfer_that_waits_begins_when_its_receive_is_posted(ends):
    late = "if rank == 0:\n    send(1, 8)\nelse:\n    elapse(5)\n    recv(0)"
    assert ends(late, 2) == [0, 10]
    assert ends(late, 2, eager="waits") == [0, 15]


def test_overhead_is_paid_by_call_or_by_message(ends):
    waits = """
if rank == 0:
    send(1, 4)
    send(1, 6)
else:
    r = irecv(0)
    s = irecv(0)
    waitall()
"""
    # the messages arrive at 6 and 8
    assert ends(waits, 2, overhead_receive=1)[1] == 9
    assert ends(waits, 2, overhead_receive=1, overhead_by="message")[1] == 9
    assert ends(waits, 2, overhead_receive=3, overhead_by="message")[1] == 12


@pytest.mark.parametrize(
    ("network", "sentence"),
    [
        (
            {"sizes": [{"least": "8 KiB"}, {"least": "1 KiB"}]},
            "network: sizes: least = 1024 follows 8192; write them in ascending order, each once",
        ),
        (
            {"levels": [{"name": "socket", "size": 3}, {"name": "node", "size": 4}]},
            "network: levels: 'node' of 4 processes cuts a 'socket' of 3 in two; its size must",
        ),
        ({"eager": "wait"}, "network.eager: 'wait' must be 'buffered' or 'waits'."),
        ({"ports": 0}, "network.ports: 0 must be 1 or more"),
    ],
)
def test_a_network_that_cannot_be_is_refused_in_one_sentence(network, sentence):
    with pytest.raises(FileError) as caught:
        asked("barrier()", 2, **network)
    assert sentence in str(caught.value)


def test_a_level_that_cuts_a_node_is_refused():
    query = asked("barrier()", 8, cores=4, levels=[{"name": "switch", "size": 6}])
    with pytest.raises(UnsupportedError, match="'switch' of 6 processes cuts a node of 4 cores"):
        Costs.of(query, ("messages",), WHOLE_NETWORK)


@pytest.mark.parametrize(
    ("network", "named"),
    [
        ({"contention": "fair"}, "network.contention = 'fair'"),
        ({"sizes": [{"least": 1}]}, "network.sizes"),
        ({"levels": [{"name": "node", "size": 2}]}, "network.levels"),
        ({"header": 1}, "network.header"),
        ({"eager": "waits"}, "network.eager = 'waits'"),
        ({"overhead_by": "message"}, "network.overhead_by = 'message'"),
    ],
)
def test_whoever_does_not_follow_a_network_refuses_it(network, named):
    with pytest.raises(UnsupportedError, match=f"states {named}, which this solver does not"):
        Costs.of(asked("barrier()", 2, **network), ("messages",))


def test_all_has_one_meaning_with_the_sender_paying():
    query = asked("barrier()", 2, paid_by="sender", header=1)
    with pytest.raises(UnsupportedError, match="messages take no time on the network"):
        Costs.of(query, ("messages",), WHOLE_NETWORK)
