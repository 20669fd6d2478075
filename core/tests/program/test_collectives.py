"""Collectives: what every algorithm costs, who takes part, and what is refused."""

import math
from collections import Counter, defaultdict, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import FileError, InvalidPointError
from parcast.model.machine import Network
from parcast.program import Block, Operation, Request, Site, Unrolled
from parcast.program.matching.collectives import ALGORITHMS, UNNAMED, algorithms
from parcast.program.matching.collectives.unnamed import _LONGER, slower_than_libraries
from parcast.program.matching.expansion import expand
from parcast.program.matching.prepare import match_unrolled
from parcast.testing import cases

from .calling import call

SITES = tuple(Site(name, line) for line, name in enumerate(["a", "b", "c", "d"], 1))
STARTUP, BANDWIDTH = 2.0**-4, 2.0**10
ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")
EVERY = [(op, name) for op, names in ALGORITHMS.items() for name in names]


def program(size, *blocks):
    return Unrolled(size, list(blocks), SITES, "x.py")


def collective(op, size, bytes_=1024, root=0, color=None, ranks=None, site=0):
    arguments = {"color": color}
    if op != "barrier":
        arguments["bytes"] = bytes_
    if op in ROOTED:
        arguments["root"] = root
    return Block(site, op, ranks, arguments)


def expanded(op, name, size, **arguments):
    return expand(program(size, collective(op, size, **arguments)), algorithms(f"{op} {name}"))


def ends(unrolled):
    """Return when each rank ends, with no overhead: a tiny max-plus evaluation."""
    lists = [deque(listed) for listed in unrolled.by_rank()]
    clock, arrivals, begun = [0.0] * unrolled.size, defaultdict(deque), set()
    posted = [[] for _ in lists]
    moved = True
    while moved:
        moved = False
        for rank, listed in enumerate(lists):
            while listed:
                operation = listed[0]
                given_ = operation.arguments
                if "dst" in given_ and id(operation) not in begun:
                    begun.add(id(operation))
                    arrival = clock[rank] + STARTUP + given_["bytes"] / BANDWIDTH
                    arrivals[rank, given_["dst"], given_["tag"]].append(arrival)
                    moved = True
                waited = _waited(operation, rank, posted)
                if any(not arrivals[channel] for channel in waited):
                    break
                for channel in waited:
                    clock[rank] = max(clock[rank], arrivals[channel].popleft())
                posted[rank].append(operation)
                listed.popleft()
                moved = True
    assert not any(lists), "never ends"
    assert not any(arrivals.values()), "never received"
    return clock


def _waited(operation, rank, posted):
    """Return the channels of the messages that end an operation, here one of a request."""
    awaited = [posted[rank][place] for place in operation.requests]
    taken = awaited if operation.op == "waitall" else [operation]
    return [
        (one.arguments["src"], rank, one.arguments["tag"])
        for one in taken
        if "src" in one.arguments and operation.op != "irecv"
    ]


def sent(unrolled):
    """Return (source, destination, bytes) of every message."""
    return [
        (rank, operation.arguments["dst"], operation.arguments["bytes"])
        for rank, listed in enumerate(unrolled.by_rank())
        for operation in listed
        if "dst" in operation.arguments
    ]


@pytest.mark.parametrize("op", ["barrier", "allreduce", "scan"])
def test_dissemination_takes_as_many_rounds_as_doublings_at_any_size(op):
    each = STARTUP + (0 if op == "barrier" else 1024 / BANDWIDTH)
    for size in range(2, 34):
        rounds = math.ceil(math.log2(size))
        assert ends(expanded(op, "dissemination", size)) == [rounds * each] * size


@pytest.mark.parametrize("op", ["bcast", "reduce"])
def test_a_binomial_tree_takes_the_whole_doublings_of_its_size(op):
    for size in range(2, 34):
        found = expanded(op, "binomial", size, root=size // 3)
        assert max(ends(found)) == int(math.log2(size)) * (STARTUP + 1024 / BANDWIDTH)
        ends_of = Counter(to if op == "bcast" else source for source, to, _ in sent(found))
        assert ends_of == {rank: 1 for rank in range(size) if rank != size // 3}


@pytest.mark.parametrize("op", ["scatter", "gather"])
def test_scatter_and_gather_move_whole_subtrees(op):
    for size in range(2, 34):
        found = sent(expanded(op, "binomial", size, bytes_=1, root=1))
        held = dict.fromkeys(range(size), 1.0)  # every rank keeps one block of its subtree
        for source, to, bytes_ in found:
            child, parent = (to, source) if op == "scatter" else (source, to)
            held[parent] += bytes_
            held[child] -= bytes_
        assert held.pop(1) == size
        assert set(held.values()) == {0}


def test_the_parent_in_a_tree_clears_the_lowest_bit_and_serves_the_largest_subtree_first():
    found = expanded("scatter", "binomial", 7, bytes_=1, root=2)
    messages = [((s - 2) % 7, (t - 2) % 7, b) for s, t, b in sent(found)]
    assert sorted(messages) == [(0, 1, 1), (0, 2, 2), (0, 4, 3), (2, 3, 1), (4, 5, 1), (4, 6, 1)]
    assert [t for s, t, _ in messages if s == 0] == [4, 2, 1]
    received = expanded("reduce", "binomial", 7, root=2).rank(2)
    assert [(o.arguments["src"] - 2) % 7 for o in received] == [1, 2, 4]


TOTALS = {  # bytes of all messages, for one byte
    ("allreduce", "ring"): lambda p: 2 * (p - 1),
    ("allreduce", "tree"): lambda p: 2 * (p - 1),
    ("allgather", "dissemination"): lambda p: p * (p - 1),
    ("allgather", "ring"): lambda p: p * (p - 1),
    ("alltoall", "bruck"): lambda p: p * p / 2 * math.ceil(math.log2(p)),
    ("alltoall", "pairwise"): lambda p: p * (p - 1),
    ("reduce_scatter", "bruck"): lambda p: p * p / 2 * math.ceil(math.log2(p)),
    ("reduce_scatter", "pairwise"): lambda p: p * (p - 1),
    ("bcast", "linear"): lambda p: p - 1,
    ("gather", "linear"): lambda p: p - 1,
    ("scan", "linear"): lambda p: p - 1,
}


@pytest.mark.parametrize(("op", "name"), TOTALS, ids=" ".join)
def test_an_algorithm_moves_the_bytes_that_it_should(op, name):
    for size in range(2, 20):
        total = sum(bytes_ for _, _, bytes_ in sent(expanded(op, name, size, bytes_=1)))
        assert total == pytest.approx(TOTALS[op, name](size), rel=1e-12)


@pytest.mark.parametrize(("op", "name"), EVERY, ids=" ".join)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_every_algorithm_ends_at_any_limit_and_alone_sends_nothing(op, name, size):
    native = program(size, collective(op, size, root=size - 1))
    found = expand(native, algorithms(f"{op} {name}"))
    posted = {"isend", "irecv", "waitall"}
    assert {block.op for block in found.blocks} <= {"send", "recv", "sendrecv"} | posted
    assert len(found.blocks) > 0 or size == 1
    match_unrolled(found, algorithms(), 0)
    match_unrolled(found, algorithms(), math.inf)


@pytest.mark.parametrize(("op", "name"), EVERY, ids=" ".join)
@settings(max_examples=cases(8))
@given(data=st.data())
def test_a_colored_collective_is_each_group_on_its_own(op, name, data):
    size = data.draw(st.integers(1, 9))
    colors = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    root = data.draw(st.integers(0, min(Counter(colors).values()) - 1))
    together = expanded(op, name, size, root=root, color=np.array(colors))
    for color in set(colors):
        members = [rank for rank in range(size) if colors[rank] == color]
        alone = expanded(op, name, len(members), root=root).by_rank()
        for position, rank in enumerate(members):
            assert [plain(o) for o in together.rank(rank)] == [
                plain(o, members) for o in alone[position]
            ]


def plain(operation: Operation, members=None):
    peers = {"dst", "src"} if members else set()
    arguments = operation.arguments.items()
    return operation.op, {k: members[v] if k in peers else v for k, v in arguments}


def test_processes_may_come_to_a_collective_by_different_lines():
    low, high = np.arange(3), np.arange(3, 5)
    work = Block(2, "compute", high, {"flops": 1, "bytes": 0})
    split = program(
        5,
        collective("bcast", 5, ranks=low, root=4),
        work,
        collective("bcast", 5, ranks=high, root=4, site=1),
    )
    whole = program(5, collective("bcast", 5, root=4))
    found = expand(split, algorithms())
    for rank in range(5):
        listed = [o for o in found.rank(rank) if o.op != "compute"]
        assert [plain(o) for o in listed] == [
            plain(o) for o in expand(whole, algorithms()).rank(rank)
        ]
    match_unrolled(split, algorithms(), 0)


def test_the_kth_collective_of_each_process_is_one_though_one_block_holds_two_turns():
    first, all_ = np.array([0]), None
    blocks = [
        collective("barrier", 3, ranks=first),
        collective("barrier", 3, ranks=all_),
        collective("barrier", 3, ranks=np.array([1, 2])),
    ]
    found = expand(program(3, *blocks), algorithms())
    expected = expand(program(3, collective("barrier", 3), collective("barrier", 3)), algorithms())
    for rank in range(3):
        assert [plain(o) for o in found.rank(rank)] == [plain(o) for o in expected.rank(rank)]


def test_each_collective_has_a_tag_of_its_own_and_loops_share_columns():
    step = collective("allreduce", 4, bytes_=np.full(4, 8))
    found = expand(program(4, *[step] * 3), algorithms())
    assert {block.arguments["tag"] for block in found.blocks} == {-1, -2, -3}
    assert len({id(block.arguments["dst"]) for block in found.blocks}) == 2


def test_requests_are_found_again_after_an_expansion():
    source = """
def program(rank, size):
    r = irecv((rank - 1) % size)
    barrier()
    isend((rank + 1) % size, 8)
    allreduce(8)
    waitall()
"""
    found = expand(call(source, 3), algorithms())
    for listed in found.by_rank():
        assert listed[-1].op == "waitall"
        assert [listed[place].op for place in listed[-1].requests] == ["irecv", "isend"]
    match_unrolled(found, algorithms(), 0)


def test_repeated_steps_keep_their_requests_through_an_expansion():
    send = Block(0, "isend", None, {"dst": np.array([1, 0]), "bytes": 8, "tag": 0})
    receive = Block(1, "recv", None, {"src": np.array([1, 0]), "tag": 0})
    step = [send, collective("barrier", 2), receive, Block(2, "wait", None, {}, (Request(3),))]
    listed = expand(program(2, *step * 2), algorithms()).rank(1)
    waits = [o for o in listed if o.op == "wait"]
    assert [listed[o.requests[0]].op for o in waits] == ["isend", "isend"]
    assert waits[0].requests != waits[1].requests


def test_a_collective_access_is_a_barrier_the_access_and_a_barrier():
    arguments = {"bytes": np.array([1, 2, 3]), "file": "shared", "collective": True}
    found = expand(program(3, Block(0, "write", None, arguments)), algorithms())
    listed = found.rank(1)
    assert [o.op for o in listed] == ["sendrecv"] * 2 + ["write"] + ["sendrecv"] * 2
    assert listed[2].arguments == {"bytes": 2, "file": "shared", "collective": False}
    assert [o.arguments["tag"] for o in listed if o.op == "sendrecv"] == [-1, -1, -2, -2]


def test_a_program_without_collectives_is_returned_as_it_is():
    alone = program(2, Block(0, "elapse", None, {"seconds": 1.0}))
    assert expand(alone, algorithms()) is alone


REFUSED = {
    "too few": (
        [collective("barrier", 8, ranks=np.arange(4))],
        (
            "x.py:1: at p=8 barrier is reached by ranks 0..3 only, 4 of 8 processes; "
            "call it on every process or give color="
        ),
    ),
    "another": (
        [
            collective("barrier", 8, ranks=np.arange(4)),
            collective("bcast", 8, ranks=np.arange(4, 8), site=2),
        ],
        "x.py:1: at p=8 rank 0 calls barrier where rank 4 calls bcast (x.py:3); ",
    ),
    "bytes": (
        [collective("allreduce", 8, bytes_=np.arange(8) // 6)],
        "x.py:1: at p=8 rank 0 calls allreduce with bytes 0 and rank 6 with 1 (x.py:1); ",
    ),
    "root": (
        [
            collective("bcast", 8, ranks=np.arange(4)),
            collective("bcast", 8, ranks=np.arange(4, 8), root=1, site=1),
        ],
        "x.py:1: at p=8 rank 0 calls bcast with root 0 and rank 4 with 1 (x.py:2); ",
    ),
    "outside": (
        [collective("bcast", 8, root=3, color=np.arange(8) % 3)],
        "x.py:1: at p=8 bcast has root 3 in a group of 3, outside 0 .. 2; ",
    ),
    "bytes of a group": (
        [collective("allreduce", 8, bytes_=np.arange(8) % 4, color=np.arange(8) % 2)],
        "x.py:1: at p=8 rank 0 calls allreduce with bytes 0 and rank 2 with 2 (x.py:1); ",
    ),
    "overflow": (
        [collective("alltoall", 8, bytes_=1e308)],
        "x.py:1: at p=8 alltoall of 1e+308 bytes on each process overflows; give fewer bytes",
    ),
    "files": (
        [
            Block(k, "read", np.array([k]), {"bytes": 1, "file": file, "collective": True})
            for k, file in enumerate(["own", "shared"])
        ],
        "x.py:1: at p=2 rank 0 calls read with file own and rank 1 with shared (x.py:2); ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_collective_that_processes_do_not_share_is_refused_with_lines_and_ranks(case):
    blocks, message = REFUSED[case]
    size = 2 if case == "files" else 8
    for refuse in (lambda p: expand(p, algorithms()), lambda p: match_unrolled(p, algorithms(), 0)):
        with pytest.raises(InvalidPointError) as error:
            refuse(program(size, *blocks))
        assert str(error.value).startswith(message)


def test_groups_of_one_color_may_have_bytes_of_their_own():
    block = collective("allreduce", 8, bytes_=np.arange(8) % 2, color=np.arange(8) % 2)
    assert {(s % 2, b) for s, _, b in sent(expand(program(8, block), algorithms()))} == {
        (0, 0),
        (1, 1),
    }


def test_algorithms_are_read_from_one_word():
    chosen = algorithms("allreduce ring,  alltoall pairwise")
    assert (chosen["allreduce"], chosen["alltoall"], chosen["bcast"]) == (
        "ring",
        "pairwise",
        "binomial",
    )
    assert algorithms(None) == algorithms("") == {op: n[0] for op, n in ALGORITHMS.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("allreduc ring", "there is no collective 'allreduc'. Did you mean 'allreduce'?"),
        ("allreduce rings", "allreduce has no algorithm 'rings'. Did you mean 'ring'?"),
        (
            "scan",
            (
                "scan has no algorithm ''. Known: dissemination, linear, recursive-doubling, "
                "mpich, nccl, openmpi."
            ),
        ),
    ],
)
def test_an_unknown_algorithm_is_refused(text, message):
    with pytest.raises(FileError) as error:
        algorithms(text)
    assert str(error.value) == f"network.collectives: {message}"


def busiest(op, name, size, bytes_):
    """Return the most bytes, and messages, that pass a process's port in one direction."""
    carried, messages = Counter(), Counter()
    for rank, operations in enumerate(expanded(op, name, size, bytes_=bytes_).by_rank()):
        for operation in operations:
            if operation.op in {"send", "isend", "sendrecv"}:
                for port in ((rank, "out"), (operation.arguments["dst"], "in")):
                    carried[port] += operation.arguments["bytes"]
                    messages[port] += 1
    return max(carried.values()), max(messages.values())


@pytest.mark.parametrize("op", _LONGER)
@pytest.mark.parametrize("size", [4, 8, 16, 64])
def test_the_bytes_of_algorithms_that_notes_compare_are_those_that_they_send(op, size):
    default, name, other = _LONGER[op]
    for algorithm, cost in ((UNNAMED[op], default), (name, other)):
        carried, messages = busiest(op, algorithm, size, 1024 * size)
        assert carried == pytest.approx(cost.carried(size) * 1024 * size)
        assert messages == cost.rounds(size)


@pytest.mark.parametrize(
    ("op", "bytes_", "network", "times"),
    [
        ("alltoall", 1e6, {"startup": 1e-6, "bandwidth": 1e9}, "3 times the bytes of pairwise"),
        ("alltoall", 100, {"startup": 1e-6, "bandwidth": 1e9}, None),
        ("alltoall", 100, {"startup": 1e-9, "bandwidth": 1e9}, "3 times the bytes of pairwise"),
        ("allreduce", 1e6, {"startup": 1e-6, "bandwidth": 1e9}, "3 times the bytes of rabensei"),
        ("allreduce", 8, {"startup": 1e-6, "bandwidth": 1e9}, None),
        ("allreduce", 1e6, {}, "3 times the bytes of rabenseifner"),
        ("allreduce", 8, {}, None),
        ("allgather", 1e6, {"startup": 1e-6, "bandwidth": 1e9}, None),
    ],
)
def test_a_default_that_carries_more_than_libraries_do_is_noted(op, bytes_, network, times):
    native = program(64, collective(op, 64, bytes_))
    notes = list(slower_than_libraries(native, Network(**network)))
    assert len(notes) == (times is not None)
    assert times is None or times in notes[0]
    groups = program(64, collective(op, 64, bytes_, color=np.arange(64) // 2))
    assert list(slower_than_libraries(groups, Network(**network))) == []
