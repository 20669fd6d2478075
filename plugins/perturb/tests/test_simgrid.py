"""SimGrid's conventions: receives that name nobody, sleep, types, and what its tracer writes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import FileError
from parcast.testing import cases
from parcast_perturb.perturbation import Recorded
from parcast_traces.gaps import gaps_of, slept
from parcast_traces.readers import read_trace
from parcast_traces.readers.neutral import trace_of
from parcast_traces.readers.wildcards import ANY, Step, messages_of
from parcast_traces.trace.calls import ALL
from parcast_traces.trace.columns import BYTES, OUT
from parcast_traces.trace.decoding import decoded, received
from parcast_traces.writers import write_trace

from .timed import with_times

CASES = cases(60)


def read(folder, text):
    path = folder / "a.tit"
    path.write_text(text)
    return read_trace(path)


def got(trace, rank):
    """Return source and tag of every receive of a rank."""
    calls = decoded(trace, rank, received(trace))
    return [(one.source, one.source_tag) for one in calls if one.source >= 0]


#: As SMPI's tracer writes it: three workers, the second sleeps, the first is told to be nobody's.
FARM = """
0 init
1 init
2 init
3 init
0 compute 14992
0 recv {source} -444 100 0
0 recv {source} -444 100 0
0 recv {source} -444 100 0
0 irecv {source} 5 100 0
0 irecv {source} 5 100 0
0 irecv {source} -444 100 0
0 wait {source} 0 5
0 wait {source} 0 5
0 wait {source} 0 -444
1 compute 4469
1 send 0 1 10 0
1 send 0 5 10 0
2 compute 1421
2 sleep 0.001
2 send 0 2 20 0
2 send 0 5 20 0
3 compute 1136
3 send 0 3 30 0
3 send 0 5 30 0
0 irecv {source} 3 10 0
0 wait {source} 0 3
1 send -333 3 10 0
0 finalize
1 finalize
2 finalize
3 finalize
"""


@pytest.mark.parametrize("source", [-333, -555])
def test_receives_that_name_nobody_take_what_is_there_first(tmp_path, source):
    trace = read(tmp_path, FARM.format(source=source))
    # both of rank 3 are there first, those of rank 1 next; rank 2 sleeps, and then sends tag 2,
    # which the receive takes that was posted last, as the one before it names tag 5
    assert got(trace, 0) == [(3, 3), (3, 5), (1, 1), (1, 5), (2, 5), (2, 2)]
    assert any("6 receives from any source" in note for note in trace.notes)
    assert any("1 receives that name no source find no message" in note for note in trace.notes)


def test_a_sleep_takes_seconds_beside_work_that_takes_operations(tmp_path):
    trace = read(tmp_path, "0 init\n0 compute 3e9\n0 sleep 2.5\n0 compute 1e9\n0 finalize\n")
    for rate in (1e9, 2e9):
        timed = with_times(trace, Recorded(overhead=0.0), 1 / rate)
        assert timed.ends.tolist() == [4e9 / rate + 2.5]
        assert slept(timed).sum() == 0  # it is in the times now, and must not count twice
    write_trace(trace, tmp_path / "b.tit")
    assert "0 sleep 2.5" in (tmp_path / "b.tit").read_text()
    write_trace(trace, tmp_path / "b.trace")
    for again in (read_trace(tmp_path / "b.tit"), read_trace(tmp_path / "b.trace")):
        assert slept(again).sum() == 2.5
        assert gaps_of(again).sum() == 4e9


@pytest.mark.parametrize(
    ("action", "bytes_"),
    [
        ("allgatherv 3 3 3 {}", 3), ("allgatherv 3 3 3 {} 0 0", 24),
        ("alltoallv 8 1 5 9 2 4 {}", 3),
        ("alltoallv 8 1 5 9 2 4 {} 1 1", 12), ("gatherv 3 3 3 0 {}", 3),
        ("gatherv 3 3 3 0 {} 5 5", 12), ("scatterv 3 7 3 0", 3), ("scatterv 3 7 3 0 0 3", 6),
        ("reducescatter 3 5 0 {}", 4), ("reducescatter 3 5 0 {} 0", 32), ("bcast 2 0 14", 32),
        ("allreduce 2 0 8", 2), ("allgather 2 2 31 31", 32),
    ],
)  # fmt: skip
def test_amounts_are_elements_of_the_type_that_an_action_names(tmp_path, action, bytes_):
    text = "0 init\n1 init\n" + "".join(f"{rank} {action.format('')}\n" for rank in (0, 1))
    trace = read(tmp_path, text.replace("  ", " "))
    assert set(trace.events.times[trace.events.whole[:, OUT] == 0, BYTES]) == {bytes_}


def test_a_rank_that_waits_for_ever_is_named_with_its_line(tmp_path):
    text = "0 init\n1 init\n1 recv -333 0 8\n1 recv 0 1 8\n"
    with pytest.raises(FileError, match=r"a.tit:4: rank 1 waits here for ever"):
        read(tmp_path, text)


@st.composite
def runs(draw):
    """Return ranks that can run to their end, and hide who sends from their receives."""
    size = draw(st.integers(2, 5))
    ranks, clock = [[] for _ in range(size)], [0.0] * size
    requests = 0
    for _ in range(draw(st.integers(1, 15))):
        source, target = draw(st.permutations(range(size)))[:2]
        tag, hide = draw(st.integers(0, 2)), draw(st.integers(0, 3))
        clock[source] += draw(st.integers(0, 5))
        clock[target] += draw(st.integers(0, 5))
        ranks[source].append(Step(kind="send", at=clock[source], peer=target, tag=tag))
        peer, kind = (ANY if hide & 1 else source), (ANY if hide & 2 else tag)
        request = None
        if draw(st.booleans()):
            requests += 1
            request = requests
        ranks[target].append(
            Step(kind="receive", at=clock[target], peer=peer, tag=kind, request=request)
        )
        if request is not None and draw(st.booleans()):
            ranks[target].append(Step(kind="wait", at=clock[target], requests=(request,)))
        if draw(st.integers(0, 5)) == 0:
            for rank in range(size):
                ranks[rank].append(Step(kind="meet", at=clock[rank]))
    return ranks


@settings(max_examples=CASES, deadline=None)
@given(ranks=runs())
def test_every_message_is_received_once_whoever_is_hidden(ranks):
    try:
        found = [list(envelopes) for envelopes in messages_of(ranks)]
    except FileError:  # another message taken first may leave one that a rank waits for untaken
        return
    sent = sorted(
        (rank, one.peer, one.tag)
        for rank, steps in enumerate(ranks) for one in steps if one.kind == "send"
    )  # fmt: skip
    taken = []
    for rank, steps in enumerate(ranks):
        hidden = iter(found[rank])
        for one in steps:
            if one.kind == "receive":
                wild = ANY in (one.peer, one.tag)
                message = next(hidden) if wild else (one.peer, one.tag)
                if message is not None:
                    assert one.peer in (ANY, message[0])
                    assert one.tag in (ANY, message[1])
                    taken.append((message[0], rank, message[1]))
        assert next(hidden, None) is None
    left = list(sent)
    for message in taken:
        left.remove(message)  # once
    assert len(left) == sum(one is None for rank in found for one in rank)


@settings(max_examples=CASES, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["compute", "sleep", "barrier"]), st.integers(1, 1000)),
        max_size=9,
    )
)
def test_no_time_is_lost_in_reading_nor_in_writing(tmp_path_factory, steps):
    lines = "".join(
        f"0 {word}\n" if word == "barrier" else f"0 {word} {amount}\n" for word, amount in steps
    )
    folder = tmp_path_factory.mktemp("tit")
    trace = read(folder, f"0 init\n{lines}0 finalize\n")
    for suffix in ("tit", "trace"):
        write_trace(trace, folder / f"b.{suffix}")
    for again in (trace, read_trace(folder / "b.tit"), read_trace(folder / "b.trace")):
        for word, found in (("compute", gaps_of(again).sum()), ("sleep", slept(again).sum())):
            assert found == sum(amount for kind, amount in steps if kind == word)
        seconds = with_times(again, Recorded(overhead=0.0), 1.0).ends
        assert np.isclose(seconds.sum(), sum(n for kind, n in steps if kind != "barrier"))


UNLIKE = ("allgatherv", "gatherv", "scatterv", "alltoallv", "reduce_scatter")


@settings(max_examples=CASES, deadline=None)
@given(data=st.data())
def test_bytes_of_every_rank_come_back_from_a_text(tmp_path_factory, data):
    folder, size = tmp_path_factory.mktemp("tit"), data.draw(st.integers(1, 5))
    names = data.draw(st.lists(st.sampled_from(UNLIKE), max_size=6))
    ranks = [
        [
            {
                "kind": name, "t_start": at, "t_end": at,
                "bytes": 8 if name == "reduce_scatter" else data.draw(st.integers(0, 10**6)),
                **({"root": len(names) % size} if name in ("gatherv", "scatterv") else {}),
            }
            for at, name in enumerate(names)
        ]
        for _ in range(size)
    ]  # fmt: skip
    trace = trace_of({"unit": "1 us", "ranks": ranks}, "x")
    assert not any("written as" in one for one in write_trace(trace, folder / "a.tit"))
    again = read_trace(folder / "a.tit")
    for rank in range(size):
        calls = decoded(again, rank, received(again))
        found = [(one.name, one.size, one.root) for one in calls if one.kind >= ALL]
        assert found == [(one["kind"], one["bytes"], one.get("root", -1)) for one in ranks[rank]]


@pytest.mark.parametrize(
    ("calls", "cut"),
    [
        (("isend 1 0 10", "finalize"), ()),  # freed after it
        (("send 1 0 10", "finalize"), ()),
        (("send 1 0 10",), (0,)),
    ],
)
def test_only_a_rank_without_an_end_is_told_to_be_cut(tmp_path, calls, cut):
    lines = ["0 init", "1 init", *(f"0 {call}" for call in calls), "1 recv 0 0 10", "1 finalize"]
    trace = read(tmp_path, "\n".join(lines))
    sentences = [note for note in trace.notes if "file cut off?" in note]
    assert [note[:6] for note in sentences] == [f"rank {rank}" for rank in cut]
