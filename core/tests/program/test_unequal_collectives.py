"""Collectives in which every process has bytes of its own, against a plain reading of the page."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.program.matching.collectives import ALGORITHMS, algorithms
from parcast.program.matching.expansion import expand
from parcast.program.reader import read_source
from parcast.program.source.operations import VECTOR_COLLECTIVES
from parcast.program.unroll import unroll
from parcast.testing import cases

from .plain_collectives import PLAIN, before, holds
from .plain_processes import run
from .test_collectives import BANDWIDTH, EVERY, STARTUP, collective, ends, expanded, program, sent

OF_UNEQUAL = [(op, name) for op, name in EVERY if op in VECTOR_COLLECTIVES]
CASES = cases(40)
SIZES = st.lists(st.integers(0, 2**40), min_size=1, max_size=12)


def messages(op, algorithm, sizes, root):
    """Return (source, destination, bytes) of every message, position by position."""
    p = len(sizes)
    rounds = range(math.ceil(math.log2(p))) if p > 1 else ()
    match op, algorithm:
        case "gatherv", "linear" | "linear-nb":
            return [(r, root, sizes[r]) for r in range(p) if r != root]
        case "scatterv", "linear" | "linear-nb":
            return [(root, r, sizes[r]) for r in range(p) if r != root]
        case "alltoallv", "pairwise":
            return [(r, (r + k) % p, sizes[r]) for k in range(1, p) for r in range(p)]
        case "allgatherv", "ring":
            return [(r, (r + 1) % p, sizes[(r - k) % p]) for k in range(p - 1) for r in range(p)]
        case "allgatherv", "dissemination":
            return [
                (r, (r + 2**k) % p, sum(sizes[(r - j) % p] for j in range(min(2**k, p - 2**k))))
                for k in rounds
                for r in range(p)
            ]
    plain = PLAIN[op.removesuffix("v"), algorithm]
    data = [before(op, 1, p, r, root) for r in range(p)]
    done = run([plain(list(range(p)), r, root, data[r]) for r in range(p)])
    assert all(holds(op, 1, p, r, root, have) for r, have in enumerate(data))
    return [
        (r, to, sum(sizes[min(kept)] for kept in blocks.values()))
        for r, actions in enumerate(done)
        for _, to, blocks, _ in actions
        if to is not None
    ]


@pytest.mark.parametrize(("op", "algorithm"), OF_UNEQUAL)
@settings(max_examples=CASES)
@given(data=st.data())
def test_messages_are_those_of_the_page_in_groups_of_any_size(op, algorithm, data):
    parts = data.draw(st.lists(SIZES, min_size=1, max_size=3))
    color = [number for number, part in enumerate(parts) for _ in part]
    order = data.draw(st.permutations(range(len(color))))  # which rank is in which place
    of_color = [
        [rank for rank, at in enumerate(order) if color[at] == c] for c in range(len(parts))
    ]
    bytes_ = np.zeros(len(color), np.int64)
    expected = []
    root = data.draw(st.integers(0, min(map(len, parts)) - 1))
    for members, sizes in zip(of_color, parts, strict=True):
        bytes_[members] = sizes
        expected += [
            (members[a], members[b], n) for a, b, n in messages(op, algorithm, sizes, root)
        ]
    colors = np.array([color[at] for at in order])
    block = collective(op, len(color), bytes_=bytes_, root=root, color=colors)
    found = sent(expand(program(len(color), block), algorithms(f"{op} {algorithm}")))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(("op", "algorithm"), OF_UNEQUAL)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_equal_bytes_are_the_collective_without_v(op, algorithm, size):
    same = op.removesuffix("v")
    for bytes_ in (1024, np.full(size, 1024)):
        one = expanded(op, algorithm, size, bytes_=bytes_)
        other = expanded(same, algorithm, size)
        assert sorted(sent(one)) == sorted(sent(other))
        assert ends(one) == ends(other)


@settings(max_examples=CASES)
@given(sizes=st.lists(st.floats(0, 1e15), min_size=2, max_size=40))
def test_a_dissemination_brings_every_block_to_everybody_and_loses_no_bit(sizes):
    p = len(sizes)
    found = sent(expanded("allgatherv", "dissemination", p, bytes_=np.array(sizes)))
    got = dict.fromkeys(range(p), Fraction(0))
    for _, to, bytes_ in found:
        got[to] += Fraction(bytes_)
    for rank, exact in got.items():
        whole = sum(map(Fraction, sizes)) - Fraction(sizes[rank])
        assert abs(exact - whole) <= whole * Fraction(p, 2**52)


@settings(max_examples=CASES)
@given(sizes=st.lists(st.integers(0, 2**20), min_size=2, max_size=9), root=st.integers(0, 1))
def test_times_are_those_of_the_page(sizes, root):
    def time(n):
        return STARTUP + n / BANDWIDTH

    p, largest = len(sizes), max(sizes)
    beside = max(n for rank, n in enumerate(sizes) if rank != root)
    found = {
        (op, name): max(ends(expanded(op, name, p, bytes_=np.array(sizes), root=root)))
        for op, name in OF_UNEQUAL
    }
    assert found["gatherv", "linear"] == found["scatterv", "linear"] == time(beside)
    assert found["allgatherv", "ring"] == (p - 1) * time(largest)
    assert found["alltoallv", "pairwise"] <= (p - 1) * time(largest)


def test_the_language_takes_bytes_of_every_process():
    source = "def program(rank, size):\n    allgatherv(100 * (rank + 1), color=rank % 2)\n"
    unrolled = unroll(read_source(source).content.tree, 4, {})
    found = sent(expand(unrolled, algorithms()))
    assert sorted(found) == [(0, 2, 100), (1, 3, 200), (2, 0, 300), (3, 1, 400)]


@pytest.mark.parametrize("op", sorted(one.removesuffix("v") for one in VECTOR_COLLECTIVES))
def test_unlike_bytes_of_a_plain_collective_are_refused_with_the_one_that_takes_them(op):
    source = f"def program(rank, size):\n    {op}(8 * rank)\n"
    unrolled = unroll(read_source(source).content.tree, 3, {})
    with pytest.raises(InvalidPointError, match=f"the same bytes, or call {op}v"):
        expand(unrolled, algorithms())
    assert f"{op}v" in ALGORITHMS


def test_roots_must_still_be_the_same():
    source = "def program(rank, size):\n    gatherv(8 * rank, root=rank)\n"
    unrolled = unroll(read_source(source).content.tree, 3, {})
    with pytest.raises(InvalidPointError, match="the same root"):
        expand(unrolled, algorithms())
