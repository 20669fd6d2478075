"""One cache of answers: what it tells apart, what it forgets, and what threads get of it."""

from __future__ import annotations

import gc
import random
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.model import Answers
from parcast.model.answers import key_of

NUMBERS = st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 2.0]) | st.booleans() | st.none()
SOURCES = st.recursive(
    NUMBERS | st.sampled_from(["", "0.0", "1", "-0.0"]),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=6,
)


@given(st.tuples(SOURCES), st.tuples(SOURCES))
def test_keys_are_equal_where_sources_are_written_alike(one, other):
    assert (key_of(one) == key_of(other)) is (repr(one) == repr(other))


def test_equal_objects_are_two_and_stay_alive_with_their_answers():
    class Machine:
        def __eq__(self, other):
            return True

        __hash__ = None

    answers, machine = Answers(1), Machine()
    answers.once(("time", machine), lambda: 3.0)
    assert answers.get(("time", machine)) == 3.0
    assert answers.get(("time", Machine())) is None
    seen = weakref.ref(machine)
    del machine
    gc.collect()
    assert seen() is not None  # or another object could get its identity
    answers.once(("time", None), lambda: 4.0)
    gc.collect()
    assert seen() is None


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_the_latest_answers_are_kept_and_no_more_than_the_limit(asked, limit):
    answers, kept, made = Answers(limit), [], []
    for number in asked:
        assert answers.once((number,), lambda number=number: made.append(number)) is None
        if number not in kept:
            kept = [*kept, number][-limit:]
            assert made.pop() == number
        assert not made


@given(st.lists(st.integers(0, 9)), st.integers(1, 5), st.integers(0, 30))
def test_more_answers_than_the_limit_are_kept_as_long_as_there_is_room(asked, limit, room):
    answers, kept = Answers(limit, size=lambda number: number, room=room), []
    for number in asked:
        answers.once((number,), lambda number=number: number)
        if number not in kept:
            while len(kept) >= limit and sum(kept) > room:
                kept = kept[1:]  # before the next is made
            kept = [*kept, number]
            while len(kept) > limit and sum(kept) > room:
                kept = kept[1:]
        assert [n for n in range(10) if answers.get((n,)) is not None] == sorted(kept)


def test_the_size_of_an_answer_is_worked_out_once():
    sizes = []

    def size(number):
        sizes.append(number)
        return 1

    answers = Answers(1, size=size, room=100)
    for number in range(200):
        answers.once((number,), lambda number=number: number)
    assert sizes == list(range(200))


def test_room_is_made_before_the_next_answer():
    class Large:
        pass

    answers = Answers(1)
    seen = weakref.ref(answers.once((1,), Large))

    def make():
        gc.collect()
        assert seen() is None

    answers.once((2,), make)


def test_what_raises_leaves_no_answer():
    answers = Answers(2)
    with pytest.raises(ZeroDivisionError):
        answers.once((0,), lambda: 1 / 0)
    assert answers.once((0,), lambda: 7) == 7


def test_threads_share_answers():
    answers = Answers(3)

    def ask(seed):
        drawn = random.Random(seed)
        for _ in range(2_000):
            number = drawn.randrange(8)
            assert answers.once((number,), lambda number=number: number * number) == number**2

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))
    assert len(answers._entries) <= 3
