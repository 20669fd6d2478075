"""Columns against the rank's own list of operations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.program import ANY, Block, Request, Site, Unrolled
from parcast.program.matching.columns import NONE, OPS, Columns, operation_columns
from parcast.testing import cases, random_program, seeds

from .calling import call

AMOUNTS = {"compute": "flops", "elapse": "seconds"}


def rows(found: Columns, rank: int):
    for x in range(found.offsets[rank], found.offsets[rank + 1]):
        requests = found.wait_request[found.wait_op == x] - found.offsets[rank]
        memory = 0 if found.memory is None else found.memory[x]
        yield (
            OPS[found.op[x]],
            (found.dst[x], found.src[x], found.amount[x], memory, found.tag[x]),
            tuple(requests.tolist()),
        )


def expected(unrolled: Unrolled, rank: int):
    for operation in unrolled.rank(rank):
        given_ = operation.arguments
        memory = given_["bytes"] if operation.op == "compute" else 0
        amount = given_.get(AMOUNTS.get(operation.op, "bytes"), 0)
        peers = given_.get("dst", NONE), given_.get("src", NONE)
        yield operation.op, (*peers, amount, memory, given_.get("tag", 0)), operation.requests


def assert_same(unrolled: Unrolled) -> Columns:
    found = operation_columns(unrolled)
    for rank in range(unrolled.size):
        assert list(rows(found, rank)) == list(expected(unrolled, rank))
    return found


def test_what_operations_take_is_what_each_of_them_takes():
    for seed in seeds(30):
        made = random_program(seed)
        costs, columns = made.costs, operation_columns(made.expanded)
        expected = []
        for rank in range(made.size):
            for one in made.expanded.rank(rank):
                amounts = one.arguments
                match one.op:
                    case "compute":
                        expected.append(costs.compute(rank, amounts["flops"], amounts["bytes"]))
                    case "elapse":
                        expected.append(costs.elapse(rank, amounts["seconds"]))
                    case "send" | "isend" | "sendrecv":
                        expected.append(costs.sending(amounts["bytes"]))
                    case _:
                        expected.append(0)
        ranks = columns.rank_of(np.arange(len(columns.op)))
        seconds = columns.own_seconds(costs, ranks).tolist()
        assert seconds == pytest.approx([*map(float, expected)], rel=1e-15), made.source


def test_columns_hold_what_each_rank_does():
    source = """
def program(rank, size):
    compute(100, bytes=rank)
    r = irecv(ANY, tag=3)
    for step in range(rank):
        s = isend((rank + 1) % size, 8 * rank, tag=step)
        wait(s)
        if step % 2:
            irecv(step)
    wait(r)
    waitall()
    elapse(0.5)
    barrier()
    write(7 * rank)
    allreduce(16)
    if rank:
        sendrecv(0, 4, rank - 1)
    start()
"""
    found = assert_same(call(source, 4))
    assert found.memory is not None
    assert ANY in found.src
    assert (np.diff(found.wait_op) >= 0).all()


@st.composite
def blocks(draw):
    """Blocks that repeat, on all ranks or on some, with numbers and columns."""
    size = draw(st.integers(1, 5))
    subsets = st.lists(st.integers(0, size - 1), unique=True).map(
        lambda r: np.array(sorted(r), int)
    )
    ranks = st.none() | subsets
    listed = []
    for _ in range(draw(st.integers(1, 4))):
        lanes = draw(ranks)
        count = size if lanes is None else len(lanes)
        column = st.integers(0, size - 1) | st.just(np.arange(count) % size)
        amount = st.just(2.5) | st.just(np.arange(count) * 1.5)
        listed.append(
            draw(
                st.sampled_from(
                    [
                        Block(
                            0,
                            "isend",
                            lanes,
                            {"dst": draw(column), "bytes": draw(amount), "tag": 1},
                        ),
                        Block(0, "compute", lanes, {"flops": draw(amount), "bytes": 0}),
                        Block(0, "recv", lanes, {"src": draw(column), "tag": draw(column)}),
                    ]
                )
            )
        )
        if listed[-1].op == "isend":
            some = lanes if lanes is None or draw(st.booleans()) else lanes[::2]
            waiting = draw(st.sampled_from([lanes, some]))
            listed.append(Block(0, "waitall", lanes, {}, (Request(1, waiting),)))
    return Unrolled(size, listed * draw(st.integers(1, 3)), (Site("x"),))


@settings(max_examples=cases(40))
@given(blocks())
def test_columns_of_any_blocks_are_those_of_the_ranks(unrolled):
    found = assert_same(unrolled)
    owners = [rank for rank in range(unrolled.size) for _ in unrolled.rank(rank)]
    assert found.rank_of(np.arange(len(found.op))).tolist() == owners
    assert [unrolled.blocks[order].op for order in found.order] == [OPS[op] for op in found.op]


def test_columns_of_nothing_are_empty():
    found = operation_columns(Unrolled(3, [], ()))
    assert found.offsets.tolist() == [0, 0, 0, 0]
    assert len(found.op) == len(found.wait_op) == 0


def test_more_operations_than_fit_in_memory_are_refused_with_their_count(monkeypatch):
    monkeypatch.setattr("parcast.program.matching.columns.MOST_OPERATIONS", 5)
    unrolled = call("def program(rank, size):\n    compute(1)\n    compute(2)\n", 3)
    with pytest.raises(InvalidPointError, match="at p=3 there are 6 operations to look at"):
        operation_columns(unrolled)
