"""Matching whole blocks says yes only where a plain run ends, and does where it should."""

import math

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.program.matching.blockwise import ends_in_block_order
from parcast.program.matching.channels import match
from parcast.program.matching.columns import operation_columns
from parcast.program.matching.dry_run import sweep
from parcast.program.reader import read_source
from parcast.program.unroll.unrolling import unroll
from parcast.testing import cases


@st.composite
def sources(draw):
    """Programs of shifts, sent and received in any order, some by a part of the ranks only."""
    pairs = []
    for _ in range(draw(st.integers(1, 4))):
        away = draw(st.sampled_from(["1", "2", "size - 1"]))
        n, tag = draw(st.sampled_from([1, 9])), draw(st.sampled_from([0, 0, 1]))
        to, source = f"(rank + {away}) % size", f"(rank - {away}) % size"
        send, receive = (
            draw(st.sampled_from(["send", "isend"])),
            draw(st.sampled_from(["recv", "irecv"])),
        )
        if draw(st.integers(0, 3)) == 0:
            pairs.append([f"sendrecv({to}, {n}, {source}, {tag})"])
        else:
            pairs.append([f"{send}({to}, {n}, {tag})", f"{receive}({source}, {tag})"])
    statements = [one for pair in pairs for one in pair]
    if draw(st.booleans()):
        statements = draw(st.permutations(statements))
    guards = ["", "", "for i in range(2):", "if rank % 2 == 0:" if draw(st.booleans()) else ""]
    lines = ["def program(rank, size):"]
    guard = draw(st.sampled_from(guards))
    for statement in statements:
        again = draw(st.sampled_from([guard, guard, guard, draw(st.sampled_from(guards))]))
        lines += [f"    {again}", f"        {statement}"] if again else [f"    {statement}"]
    return "\n".join([*lines, "    waitall()"])


def plainly_ends(unrolled, limit) -> bool:
    table = operation_columns(unrolled)
    try:
        match(table)
    except InvalidPointError:
        return False
    return not sweep(table, limit)


@settings(max_examples=cases(100))
@given(sources(), st.integers(1, 5), st.sampled_from([0, 5, math.inf]))
def test_what_is_accepted_by_blocks_ends_rank_by_rank(source, size, limit):
    unrolled = unroll(read_source(source).content.tree, size, {})
    accepted = ends_in_block_order(unrolled, limit)
    event(f"accepted {accepted}")
    if accepted:
        assert plainly_ends(unrolled, limit)


def accepted(*lines: str, size: int = 6, limit: float = math.inf) -> bool:
    text = "def program(rank, size):\n" + "".join(f"    {line}\n" for line in lines)
    return ends_in_block_order(unroll(read_source(text).content.tree, size, {}), limit)


@pytest.mark.parametrize("limit", [0, math.inf])
def test_exchanges_in_loops_are_accepted(limit):
    assert accepted(
        "for i in range(3):",
        "    isend((rank + 1) % size, 8, i)",
        "    irecv((rank - 1) % size, i)",
        "    waitall()",
        "    sendrecv((rank + i) % size, 8, (rank - i) % size)",
        limit=limit,
    )


def test_sending_before_receiving_is_accepted_below_the_limit_only():
    lines = ["send((rank + 1) % size, 8)", "recv((rank - 1) % size)"]
    assert accepted(*lines, limit=8)
    assert not accepted(*lines, limit=7)


def test_sets_that_overlap_are_left_to_the_ranks():
    assert not accepted(
        "send((rank + 1) % size, 8)",
        "if rank == 0:",
        "    send(1, 8)",
        "if rank == 1:",
        "    recv(0)",
        "recv((rank - 1) % size)",
    )


def test_a_tag_of_each_rank_its_own_is_left_to_the_ranks():
    assert not accepted("send((rank + 1) % size, 8, rank)", "recv((rank - 1) % size, 0)")
