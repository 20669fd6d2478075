"""Plans say what programs say, and never use a request's slot twice at a time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import InvalidPointError
from parcast.program import Unrolled
from parcast.program.reader import read_source
from parcast.program.unroll.unrolling import unroll
from parcast.testing import cases, random_program
from parcast_mpi.running.plan import plan, whole


def unrolled(source: str, size: int) -> Unrolled:
    return unroll(read_source(source, "some.py").content.tree, size, {})


def test_steps_have_the_arguments_of_the_program() -> None:
    made = plan(
        unrolled(
            """
def program(rank, size):
    r = irecv((rank + 1) % size, tag=4)
    s = irecv((rank + 1) % size, tag=5)
    isend((rank - 1) % size, 10.5, tag=4)
    wait(r)
    isend((rank - 1) % size, 7, tag=5)
    waitall()
    region("end")
    compute(6, bytes=32)
    gather(8, root=1)
    write(3, file="shared", collective=True)
""",
            2,
        )
    )
    assert [(op, rest) for op, _, rest in made.steps[0]] == [
        ("irecv", [1, 4, 0]),
        ("irecv", [1, 5, 1]),
        ("isend", [1, 11, 4, 2]),
        ("wait", [[0]]),
        ("isend", [1, 7, 5, 0]),  # the lowest slot that is free
        ("waitall", [[1, 2, 0]]),
        ("compute", [6.0, 32.0]),
        ("gather", [8, 1, None]),
        ("write", [3, "shared", True, False]),
    ]
    assert made.receive == [11, 11]
    assert made.lines[made.steps[0][0][1]] == "some.py:3"


def test_colors_are_communicators_in_the_order_of_their_first_use() -> None:
    made = plan(
        unrolled(
            """
def program(rank, size):
    for k in range(2):
        allreduce(8, color=rank % 2)
    barrier()
    bcast(8, root=1, color=rank // 3)
""",
            5,
        )
    )
    assert made.groups == [[0, 2, 4], [1, 3], [0, 1, 2], [3, 4]]
    assert [step[2][2] for step in made.steps[4]] == [0, 0, None, 3]
    assert made.of(4)["groups"] == [[0, [0, 2, 4]], [3, [3, 4]]]


def test_buffers_are_counted() -> None:
    source = """
def program(rank, size):
    irecv((rank + 1) % size)
    irecv((rank + 1) % size, tag=1)
    isend((rank + 2) % size, 10)
    isend((rank + 2) % size, 20, tag=1)
    waitall()
    alltoall(100)
    allreduce(250)
"""
    made = plan(unrolled(source, 3))
    assert made.receive == [20] * 3
    assert made.memory() == 3 * (300 + 300 + 2 * 20)


def test_a_tag_that_mpi_may_not_have_is_refused_with_its_line() -> None:
    source = "def program(rank, size):\n    send(0, 1, tag=32768)\n"
    with pytest.raises(InvalidPointError, match=r"some.py:2: send has the tag 32768"):
        plan(unrolled(source, 1))


@pytest.mark.parametrize(("amount", "bytes_"), [(0, 0), (0.49, 0), (0.5, 1), (2.5, 3), (7.0, 7)])
def test_bytes_are_whole(amount: float, bytes_: int) -> None:
    assert whole(amount) == bytes_


@settings(max_examples=cases(15), deadline=None)
@given(st.integers(0, 10_000))
def test_slots_are_free_when_taken_and_open_when_waited_for(seed: int) -> None:
    made = plan(random_program(seed).unrolled)
    for steps in made.steps:
        taken: set[int] = set()
        for op, _, given_ in steps:
            if op in {"isend", "irecv"}:
                assert given_[-1] not in taken
                taken.add(given_[-1])
            elif op in {"wait", "waitall"}:
                assert taken.issuperset(given_[0])
                taken.difference_update(given_[0])


def test_collectives_of_unlike_bytes_know_those_of_all_in_their_group() -> None:
    source = """
def program(rank, size):
    allgatherv(10 * rank, color=rank % 2)
    if rank < 2:
        gatherv(rank + 1, root=3)
    else:
        gatherv(rank + 1, root=3)
    allgather(6)
    alltoallv(7)
"""
    unrolled = unroll(read_source(source, "some.py").content.tree, 4, {})
    given = [[step[2][0] for step in steps] for steps in plan(unrolled).steps]
    assert (
        given
        == [
            [[0, 20], [1, 2, 3, 4], 6, [7] * 4],
            [[10, 30], [1, 2, 3, 4], 6, [7] * 4],
        ]
        * 2
    )
