"""Matching against queues, and the sentences about messages without a partner."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import InvalidPointError
from parcast.program import ANY, Operation, Site, Unrolled
from parcast.program.matching.channels import NOTHING, TIMING, match
from parcast.program.matching.columns import operation_columns
from parcast.testing import cases

from .calling import call

HUGE = 2**40


def send(dst, tag=0, op="send"):
    return Operation(0, op, {"dst": dst, "bytes": 8, "tag": tag})


def recv(src, tag=0, op="recv"):
    return Operation(0, op, {"src": src, "tag": tag})


def of(lists) -> Unrolled:
    return Unrolled.of_ranks(lists, (Site("x", 1),), "x.py")


@st.composite
def matched_lists(draw):
    """Operations of each rank in which every channel has as many sends as receives."""
    size = draw(st.integers(1, 5))
    rank = st.integers(0, size - 1)
    lists = [[] for _ in range(size)]
    messages = st.tuples(rank, rank, st.sampled_from([0, 1, 7, HUGE]))
    for source, to, tag in draw(st.lists(messages, max_size=25)):
        lists[source].append(send(to, tag, draw(st.sampled_from(["send", "isend"]))))
        lists[to].append(recv(source, tag, draw(st.sampled_from(["recv", "irecv"]))))
    for shift in draw(st.lists(rank, max_size=3)):
        for source, listed in enumerate(lists):
            peers = {"dst": (source + shift) % size, "src": (source - shift) % size}
            listed.append(Operation(0, "sendrecv", {**peers, "bytes": 1, "tag": 0}))
    return [draw(st.permutations(listed)) for listed in lists]


@settings(max_examples=cases(50))
@given(matched_lists())
def test_the_kth_send_of_a_channel_belongs_to_its_kth_receive(lists):
    found = operation_columns(of(lists))
    sent, received = defaultdict(list), defaultdict(list)
    for rank, listed in enumerate(lists):
        for place, operation in enumerate(listed):
            x, given_ = int(found.offsets[rank]) + place, operation.arguments
            if "dst" in given_:
                sent[rank, given_["dst"], given_["tag"]].append(x)
            if "src" in given_:
                received[given_["src"], rank, given_["tag"]].append(x)
    sent_to, received_from = np.full((2, len(found.op)), NOTHING)
    for channel, ids in sent.items():
        sent_to[ids] = received[channel]
        received_from[received[channel]] = ids
    matching = match(found)
    assert matching.sent_to.tolist() == sent_to.tolist()
    assert matching.received_from.tolist() == received_from.tolist()
    assert not matching.timed()


def test_messages_that_a_wildcard_may_take_are_left_to_timing():
    lists = [[recv(ANY, 1), recv(2), recv(ANY, 1)], [send(0, 1)], [send(0), send(0, 1)]]
    matching = match(operation_columns(of(lists)))
    assert matching.received_from.tolist() == [TIMING, 4, TIMING, NOTHING, NOTHING, NOTHING]
    assert matching.sent_to.tolist() == [NOTHING, NOTHING, NOTHING, TIMING, 1, TIMING]
    assert matching.timed()


def test_tags_that_are_far_apart_are_still_told_apart():
    lists = [[send(1, 0), send(1, 2**62)], [recv(0, 2**62), recv(0, 0)]]
    assert match(operation_columns(of(lists))).sent_to.tolist() == [3, 2, NOTHING, NOTHING]


REFUSED = {
    "never received": (
        [[send(1)], []],
        (
            "x.py:1: at p=2 rank 0 sends 1 message to rank 1 (tag 0) that rank 1 never receives; "
            "add recv(0) on rank 1, or leave this out where it has no partner"
        ),
    ),
    "never sent": (
        [[], [recv(0, 3), recv(0, 3)]],
        (
            "x.py:1: at p=2 rank 1 receives 2 messages from rank 0 (tag 3) that rank 0 never "
            "sends; add send(1, ..., tag=3) on rank 0, or leave this out where it has no partner"
        ),
    ),
    "too few receives": (
        [[send(1)] * 3, [recv(0)]],
        (
            "x.py:1: at p=2 rank 0 sends 3 messages to rank 1 (tag 0) and rank 1 receives only 1; "
            "add recv(0) on rank 1, or leave this out where it has no partner"
        ),
    ),
    "another tag": (
        [[send(1, 4)], [recv(0, 5)]],
        (
            "x.py:1: at p=2 rank 0 sends 1 message to rank 1 (tag 4) that rank 1 never receives; "
            "rank 1 receives with tag 5 (x.py:1): give both the same tag"
        ),
    ),
    "another rank": (
        [[send(1)], [recv(2)], []],
        (
            "x.py:1: at p=3 rank 0 sends 1 message to rank 1 (tag 0) that rank 1 never receives; "
            "rank 1 receives from rank 2 instead (x.py:1), not from rank 0"
        ),
    ),
    "alone": (
        [[send(0)]],
        (
            "x.py:1: at p=1 rank 0 sends 1 message to rank 0 (tag 0) that rank 0 never receives; "
            "put messages under `if size > 1`"
        ),
    ),
    "mixed": (
        [[recv(ANY), recv(1)], [send(0), send(0)]],
        (
            "x.py:1: at p=2 which message rank 0 receives from rank 1 (tag 0) depends on timing, "
            "because it also takes that tag with recv(ANY) (x.py:1); give them different tags"
        ),
    ),
    "too many wildcards": (
        [[recv(ANY), recv(ANY)], [send(0)]],
        (
            "x.py:1: at p=2 rank 0 takes 2 messages with recv(ANY) (tag 0) where 1 is sent to it; "
            "receive as many as are sent"
        ),
    ),
    "sent to wildcards": (
        [[recv(ANY)], [send(0)], [send(0)]],
        (
            "x.py:1: at p=3 rank 0 takes 1 message with recv(ANY) (tag 0) where 2 are sent to it; "
            "receive as many as are sent"
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_message_without_a_partner_is_refused_with_ranks_counts_and_a_hint(case):
    lists, message = REFUSED[case]
    with pytest.raises(InvalidPointError) as error:
        match(operation_columns(of(lists)))
    assert str(error.value) == message


def test_the_first_of_many_messages_without_a_partner_is_named():
    source = """
def program(rank, size):
    compute(1)
    if rank > 2:
        send(0, 8)
    if rank == 1:
        recv(4, tag=2)
"""
    with pytest.raises(InvalidPointError, match="rank 1 receives 1 message from rank 4"):
        match(operation_columns(call(source, 6)))


@settings(max_examples=cases(25))
@given(matched_lists(), st.data())
def test_a_program_that_lost_one_message_is_refused(lists, data):
    full = [rank for rank, listed in enumerate(lists) if listed]
    if not full:
        return
    rank = data.draw(st.sampled_from(full))
    place = data.draw(st.integers(0, len(lists[rank]) - 1))
    if lists[rank][place].op == "sendrecv":
        return
    lists[rank] = lists[rank][:place] + lists[rank][place + 1 :]
    with pytest.raises(InvalidPointError, match="at p="):
        match(operation_columns(of(lists)))
