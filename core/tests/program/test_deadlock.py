"""Deadlock: the vectorized check against a plain run, and what it says."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.program import Block, Operation, Site, Unrolled
from parcast.program.matching import prepare as ready
from parcast.program.matching.channels import match
from parcast.program.matching.collectives import ALGORITHMS, algorithms
from parcast.program.matching.columns import operation_columns
from parcast.program.matching.deadlock import needs
from parcast.program.matching.dry_run import sweep
from parcast.program.matching.expansion import expand
from parcast.program.matching.prepare import match_unrolled
from parcast.program.matching.wavefront import _Front, stuck_in
from parcast.program.reader import read_source
from parcast.testing import cases

from .calling import call

SITES = tuple(Site("x", line) for line in range(1, 20))
LIMIT = 100


def ends(unrolled, limit, chosen=None) -> bool:
    try:
        match_unrolled(unrolled, chosen or algorithms(), limit)
    except InvalidPointError as error:
        assert "never ends" in str(error)  # noqa: PT017
        return False
    return True


def really_ends(unrolled, limit, chosen=None) -> bool:
    return not sweep(operation_columns(expand(unrolled, chosen or algorithms())), limit)


COLLECTIVES = [
    Operation(0, "barrier", {"color": None}),
    Operation(0, "bcast", {"bytes": 200, "root": 0, "color": None}),
    Operation(0, "allreduce", {"bytes": 8, "color": None}),
    Operation(0, "gather", {"bytes": 50, "root": 0, "color": None}),
]


@st.composite
def programs(draw):
    """Programs in which every message has its partner, in an order that may not work."""
    size = draw(st.integers(1, 8))
    rank = st.integers(0, size - 1)
    keys = [[] for _ in range(size)]  # of each rank: (when, what), a wait after its request
    when = st.integers(0, draw(st.sampled_from([3, 12])))
    blocking = draw(st.sampled_from([["send"], ["send", "isend"], ["isend"]]))
    for number in range(draw(st.integers(0, 12))):
        source, to = draw(rank), draw(rank)
        bytes_ = draw(st.sampled_from([1, 1000]))
        if draw(st.integers(0, 5)) == 0:  # a ring of exchanges
            for one in range(size):
                peers = {"dst": (one + source) % size, "src": (one - source) % size}
                arguments = {**peers, "bytes": bytes_, "tag": number}
                keys[one].append((draw(when), "sendrecv", arguments, None))
            continue
        op = draw(st.sampled_from(blocking))
        ended = draw(when)
        keys[source].append(
            (draw(when), op, {"dst": to, "bytes": bytes_, "tag": number % 3}, ended)
        )
        op = draw(st.sampled_from(["recv", "irecv"]))
        keys[to].append((ended, op, {"src": source, "tag": number % 3}, draw(when)))
    shared = [
        (draw(when), draw(st.sampled_from(COLLECTIVES))) for _ in range(draw(st.integers(0, 2)))
    ]
    return [_ordered(listed, shared) for listed in keys]


def _ordered(keys, shared):
    """Return a rank's operations by time, with the waits that its requests need."""
    listed, open_, todo = [], [], []
    timed = [(at, k, op, arguments, ended) for k, (at, op, arguments, ended) in enumerate(keys)]
    timed += [(at, 99 + k, one.op, one.arguments, None) for k, (at, one) in enumerate(shared)]
    for at, _, op, arguments, ended in sorted(timed, key=lambda one: one[:2]):
        for due, place in sorted(todo):
            if due <= at:
                listed.append(Operation(0, "wait", {}, (place,)))
                todo.remove((due, place))
        if op in ("isend", "irecv"):
            (todo if ended > at else open_).append(
                (ended, len(listed)) if ended > at else len(listed)
            )
        listed.append(Operation(0, op, arguments))
    listed.append(Operation(0, "waitall", {}, (*open_, *(place for _, place in todo))))
    return listed


def consistent(lists) -> bool:
    """Return whether collectives come in one order everywhere, and channels have one kind."""
    orders = [[o.op for o in listed if o.op in ALGORITHMS] for listed in lists]
    return all(order == orders[0] for order in orders)


@settings(max_examples=cases(100))
@given(programs(), st.sampled_from([0, LIMIT, math.inf]), st.randoms())
def test_the_check_finds_a_deadlock_exactly_where_a_plain_run_ends_in_one(lists, limit, random):
    assert consistent(lists)
    unrolled = Unrolled.of_ranks(lists, SITES, "x.py")
    expected = really_ends(unrolled, limit)
    event(f"ends: {expected}")
    assert ends(unrolled, limit) is expected
    names = {op: random.choice(known) for op, known in ALGORITHMS.items()}
    assert ends(unrolled, limit, names) is really_ends(unrolled, limit, names)


@st.composite
def shifts(draw):
    """Programs of many ranks in blocks: each sends and receives along rings, in some order."""
    size = draw(st.sampled_from([3, 60, 200]))
    ranks = np.arange(size)
    blocks = []
    for _ in range(draw(st.integers(1, 5))):
        far = draw(st.integers(1, size - 1))
        to, source = (ranks + far) % size, (ranks - far) % size
        bytes_ = draw(st.sampled_from([1, 1000]))
        send = {"dst": to, "bytes": bytes_, "tag": 0}
        first = draw(st.sampled_from([[], ranks[:1], ranks[::2], ranks[: size // 2]]))
        then = np.setdiff1d(ranks, first)
        cut = [(name, lanes) for lanes in (np.array(first, int), then) for name in ("send", "recv")]
        order = draw(st.sampled_from([[0, 1, 3, 2], [0, 3, 1, 2], [0, 2, 1, 3], [1, 3, 0, 2]]))
        if draw(st.booleans()):
            blocks.append(Block(0, "sendrecv", None, send | {"src": source}))
            continue
        for name, lanes in (cut[k] for k in order):
            columns_ = (
                {"dst": to[lanes], "bytes": bytes_} if name == "send" else {"src": source[lanes]}
            )
            blocks.append(Block(0, name, lanes, columns_ | {"tag": 0}))
    return Unrolled(size, blocks * draw(st.integers(1, 3)), SITES, "x.py")


@settings(max_examples=cases(40))
@given(shifts(), st.sampled_from([0, LIMIT, math.inf]), st.integers(1, 50))
def test_many_processes_together_or_in_turns_come_as_far_as_in_a_plain_run(unrolled, limit, budget):
    table = operation_columns(unrolled)
    stuck = sweep(table, limit)
    event(f"ends: {not stuck}")
    assert ends(unrolled, limit) is (not stuck)
    found = needs(table, match(table), limit).sorted()
    cycle = found.waiting[stuck_in(found, table.offsets)]
    assert set(cycle.tolist()) <= set(stuck)
    assert bool(len(cycle)) is bool(stuck)
    front = _Front(found, table.offsets)
    while front.in_turns(budget):
        pass
    at = np.where(front.next < front.ends, front.started, -1)
    assert at[at >= 0].tolist() == stuck


EXCHANGE = """
def program(rank, size, n=1000):
    peer = rank + 1 - 2 * (rank % 2)
    send(peer, n)
    recv(peer)
"""


def message(source, size, limit, **parameters) -> str:
    with pytest.raises(InvalidPointError) as error:
        match_unrolled(call(source, size, **parameters), algorithms(), limit)
    return str(error.value)


def test_a_deadlock_of_rendezvous_names_ranks_lines_and_the_limit():
    assert "network.eager_limit = 1234567 B waits" in message(EXCHANGE, 2, 1234567, n=1234568)
    assert message(EXCHANGE, 2, 100) == (
        "called.py: at p=2 the program never ends, for processes wait for each other: "
        "rank 0 in send to 1 (called.py), rank 1 in send to 0 (called.py); a message above "
        "network.eager_limit = 100 B waits for its receive: use sendrecv or isend, smaller "
        "messages or a larger network.eager_limit"
    )
    match_unrolled(call(EXCHANGE, 2), algorithms(), 1000)


def test_a_long_cycle_names_four_ranks():
    source = "def program(rank, size):\n send((rank + 1) % size, 8)\n recv((rank - 1) % size)"
    said = message(source, 50, 0)
    assert "rank 0 in send to 1 (called.py), rank 1 in send to 2" in said
    assert "rank 3 in send to 4 (called.py) and 46 more; a message above" in said


def test_receives_before_their_sends_are_told_to_change_order():
    source = "def program(rank, size):\n recv(1 - rank)\n send(1 - rank, 8)"
    said = message(source, 2, math.inf)
    assert "rank 0 in recv from 1 (called.py), rank 1 in recv from 0 (called.py); let" in said


def test_a_process_alone_is_told_to_leave_its_messages_out():
    source = "def program(rank, size):\n send(rank, 8)\n recv(rank)"
    assert (
        "for a process waits for itself: rank 0 in send to 0 (called.py); put messages under"
        in message(source, 1, 0)
    )
    match_unrolled(call(source, 1), algorithms(), 8)


def test_a_collective_in_a_cycle_goes_by_its_name():
    blocks = [
        Block(0, "recv", np.array([0]), {"src": 1, "tag": 0}),
        Block(1, "barrier", None, {"color": None}),
        Block(2, "send", np.array([1]), {"dst": 0, "bytes": 8, "tag": 0}),
    ]
    sites = (Site("recv", 3), Site("barrier", 4), Site("send", 5))
    with pytest.raises(InvalidPointError) as error:
        match_unrolled(Unrolled(2, blocks, sites, "x.py"), algorithms(), math.inf)
    assert "rank 0 in recv from 1 (x.py:3), rank 1 in barrier (x.py:4); let" in str(error.value)


MASTER = """
def program(rank, size, first=True):
    if rank == 0:
        if first:
            for worker in range(1, size):
                send(worker, 8)
        for worker in range(1, size):
            recv(ANY, tag=1)
        if not first:
            for worker in range(1, size):
                send(worker, 8)
    else:
        recv(0)
        send(0, 8, tag=1)
"""


@pytest.mark.parametrize("limit", [0, math.inf])
def test_a_wildcard_is_run_through_and_its_deadlock_found(limit):
    found = match_unrolled(call(MASTER, 5), algorithms(), limit)
    assert found.matching.timed()
    assert "rank 0 in recv from ANY (called.py), rank 1 in recv from 0" in message(
        MASTER, 5, limit, first=False
    )


BY_TIME = """
def program(rank, size):
    if rank == 0:
        recv(ANY)
        recv(2, 5)
        recv(ANY)
    if rank == 1:
        elapse(9)
        send(0, 8)
    if rank == 2:
        send(0, 8)
        send(0, 8, 5)
"""


def test_a_wildcard_that_may_take_the_right_message_is_no_deadlock():
    assert ends(call(BY_TIME, 3), 0)
    first = BY_TIME.replace("recv(ANY)\n        recv(2, 5)", "recv(2, 5)\n        recv(ANY)")
    assert first != BY_TIME
    assert not ends(call(first, 3), 0)  # its sender waits to be taken by a wildcard


def test_a_sender_that_no_wildcard_ever_lets_go_is_a_deadlock():
    source = "def program(rank, size):\n if rank:\n  send(0, 8, 1)\n  recv(0)\n"
    source += " else:\n  send(1, 8)\n  recv(ANY, 1)"
    match_unrolled(call(source, 2), algorithms(), 8)
    assert "rank 0 in send to 1 (called.py), rank 1 in send to 0" in message(source, 2, 0)


def test_a_deadlock_beside_wildcards_names_the_limit():
    source = BY_TIME + "    send((rank + 1) % size, 8, 6)\n    recv((rank - 1) % size, 6)\n"
    match_unrolled(call(source, 3), algorithms(), 8)
    assert "a message above network.eager_limit = 0 B waits" in message(source, 3, 0)


def test_a_program_is_matched_again_only_for_what_makes_it_another():
    source = "def program(rank, size, n=4):\n for i in range(n):\n  compute(n)\n"
    plain = Query(workload=read_source(source), machine=Machine(name="m"), p=2)
    found = ready.matched_program(plain)
    assert ready.matched_program(attrs.evolve(plain, d=3, parameters={"n": 4})) is found
    assert ready.matched_program(attrs.evolve(plain, p=3)) is not found
    with pytest.raises(InvalidPointError, match=r"has 4\.0 in range"):
        ready.matched_program(attrs.evolve(plain, parameters={"n": 4.0}))


def test_a_program_in_block_order_is_expanded_only_when_asked_for():
    source = "def program(rank, size):\n allreduce(8)\n sendrecv(rank, 8, rank)"
    blocks = [
        Block(0, "allreduce", None, {"bytes": 8, "color": None}),
        Block(
            1, "sendrecv", None, {"dst": np.arange(4), "bytes": 8, "src": np.arange(4), "tag": 0}
        ),
    ]
    found = match_unrolled(Unrolled(4, blocks, SITES), algorithms(), 0)
    called = match_unrolled(call(source, 4), algorithms(), 0)
    for one in (found, called):
        assert {block.op for block in one.unrolled.blocks} == {"sendrecv"}
        assert len(one.columns.op) == 12
        assert (one.matching.sent_to >= 0).all()


def test_what_is_wrong_is_found_once_for_all_solvers(monkeypatch):
    workload = read_source("def program(rank, size):\n    send((rank + 1) % size, 8)\n", "lost.py")
    query = Query(workload=workload, machine=Machine(name="any"), p=3)
    with pytest.raises(InvalidPointError, match=r"lost\.py:2: at p=3") as first:
        ready.matched_program(query)
    monkeypatch.setattr(ready, "match_unrolled", None)
    with pytest.raises(InvalidPointError) as second:
        ready.matched_program(query)
    assert str(second.value) == str(first.value)
