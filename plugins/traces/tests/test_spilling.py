"""Traces beyond the memory that they may take: the same events, facts and errors from files."""

import random
import tempfile

import attrs
import numpy as np
import pytest

from parcast.errors import FileError
from parcast.testing import cases, seeds
from parcast_traces.describing import described
from parcast_traces.errors import TraceError
from parcast_traces.readers import columnar, goal, read_trace, schedules
from parcast_traces.trace import (
    by_rank,
    checks,
    columns,
    names,
    packed_table,
    recording,
    roomy,
    spilling,
    tallies,
)
from parcast_traces.trace.recording import Recording
from parcast_traces.writers import write_trace


@pytest.fixture
def small(monkeypatch):
    """Return what lets traces take hardly any memory from then on."""

    def limit():
        monkeypatch.setattr(recording, "MOST_HELD", 7 * spilling.EVENT.itemsize)
        monkeypatch.setattr(columns, "PART", 5)
        monkeypatch.setattr(checks, "PART", 5)
        monkeypatch.setattr(tallies, "_MOST_MESSAGES", 3)
        monkeypatch.setattr(spilling, "_MOST_OF_A_BLOCK", 3)
        monkeypatch.setattr(roomy, "MOST_HELD", 24)
        monkeypatch.setattr(tallies, "PART", 3)
        monkeypatch.setattr(roomy, "PART", 3)

    return limit


def random_run(seed, *, mistakes=False, groups=True):
    """Return a run of messages and collectives, in which some calls may be wrong."""
    rng = random.Random(seed)
    size = rng.randint(1, 5)
    run, clock = Recording(size, "run"), [0.0] * size
    run.communicator("low", range((size + 1) // 2))

    def next_time(rank):
        clock[rank] += rng.randint(1, 9)
        return clock[rank] - (20 if mistakes and rng.random() < 0.01 else 0), clock[rank]

    for rank in run.ranks:
        rank.local("init", 0, 0)
    for lap in range(rng.randint(1, 40)):
        wrong = mistakes and rng.random() < 0.05
        source, target = rng.randrange(size), rng.randrange(size)
        tag = rng.choice([rng.randrange(2), lap, 200 - 3 * lap])
        room, sent = rng.randint(50, 60), rng.randint(1, 70 if wrong else 50)
        run.ranks[target].receive("irecv", *next_time(target), source, tag, room=room, request=lap)
        if not wrong or rng.random() < 0.5:
            run.ranks[source].send("send", *next_time(source), target, sent, tag)
        run.ranks[target].wait("wait", *next_time(target), [lap])
        if rng.random() < 0.4:
            group = rng.choice([0, "low"]) if groups else 0
            members = range(size) if group == 0 else range((size + 1) // 2)
            call, root = rng.choice([("bcast", rng.choice(members)), ("allreduce", None)])
            for rank in members:
                root = rng.choice(members) if wrong and root is not None else root
                changed = "allgather" if wrong and rng.random() < 0.3 else call
                run.ranks[rank].collective(changed, *next_time(rank), 8, group, root)
    for rank in run.ranks:
        rank.local("finalize", clock[rank.rank], clock[rank.rank])
    return run.trace(tick=1e-6)


def outcome(seed, *, mistakes):
    """Return a run, or why it is refused."""
    try:
        return random_run(seed, mistakes=mistakes)
    except TraceError as error:
        return str(error)


def assert_same(trace, other):
    for name in ("offsets", "whole", "times", "slots"):
        assert np.array_equal(getattr(trace.events, name), getattr(other.events, name))
    for name in ("source", "target", "tag", "communicator"):
        assert np.array_equal(getattr(trace.channels, name), getattr(other.channels, name))
    assert described(trace) == described(other)
    assert trace.notes == other.notes
    assert np.array_equal(trace.begins, other.begins)
    assert np.array_equal(trace.ends, other.ends)


def test_events_in_files_are_those_in_memory(small, tmp_path):
    chosen = seeds(cases(20))
    traces = [outcome(seed, mistakes=False) for seed in chosen]
    small()
    for seed, trace in zip(chosen, traces, strict=True):
        spilled = outcome(seed, mistakes=False)
        assert spilled.in_file == (trace.count > 7)
        assert_same(trace, spilled)
        columnar.write(spilled, tmp_path / "a.trace")
        assert_same(trace, columnar.read(tmp_path / "a.trace"))


def test_what_no_run_can_have_left_is_refused_in_the_same_words(small):
    chosen = seeds(cases(60))
    outcomes = [outcome(seed, mistakes=True) for seed in chosen]
    refused = [text for text in outcomes if isinstance(text, str)]
    assert len(refused) > len(chosen) / 4
    small()
    for seed, expected in zip(chosen, outcomes, strict=True):
        answer = outcome(seed, mistakes=True)
        if isinstance(expected, str):
            assert answer == expected
        else:
            assert_same(expected, answer)


def test_a_lost_message_is_named_where_ranks_are_more_than_channels(small):
    """What collectives have where messages have a channel is the place of a rank."""

    def lost():
        run = Recording(40, "run")
        for rank in run.ranks:
            rank.local("init", 0, 0)
        run.ranks[1].send("send", 1, 2, 0, 8, 0)
        for rank in run.ranks:
            rank.collective("allreduce", 3, 4, 8, 0, None)
            rank.local("finalize", 5, 5)
        with pytest.raises(TraceError) as error:
            run.trace(tick=1e-6)
        return str(error.value)

    held = lost()
    assert "unmatched_send: rank 1, event 1 (send)" in held
    small()
    assert lost() == held


def test_order_decides_a_tally():
    for first, second in (([1.0, 2.0], [2.0, 1.0]), ([1.0], [1.0, 1.0]), ([0.0, 0.0], [0.0])):
        tallied = []
        for values in (first, second):
            tally = tallies.Tally(3)
            for value in values:  # one by one, or together: the same
                tally.add(np.array([1]), np.array([value]))
            together = tallies.Tally(3)
            together.add(np.array([1] * len(values) + [2]), np.array([*values, 7.0]))
            assert together.sums[1] == tally.sums[1]
            tallied.append(int(tally.sums[1]))
        assert tallied[0] != tallied[1]


def test_a_tally_grows_in_files_as_in_memory(small):
    rng = np.random.default_rng(1)
    additions = [(rng.integers(0, 5 * lap, 4), rng.random(4)) for lap in range(1, 30)]

    def tallied():
        tally = tallies.Tally(0)
        for sequences, values in additions:
            tally.add(sequences, values)
            tally.release()
        return tally.counts[:150].tolist(), tally.sums[:150].tolist()

    held = tallied()
    small()
    assert tallied() == held


def test_channels_have_one_number_each_whatever_their_tags():
    for seed in range(cases(100)):
        rng = random.Random(seed)
        numbers, first, step = {}, rng.randrange(-5, 5), rng.choice([0, 1, 1, 2])
        run = names.Names(2, "run", checked=True)
        for lap in range(60):
            tag = first + lap * step if rng.random() < 0.9 else rng.randrange(-9, 70)
            ends = (0, 1, tag, 0) if rng.random() < 0.8 else (1, 0, tag, 0)
            assert run.channel(*ends) == numbers.setdefault(ends, len(numbers))
        channels = run.channels()
        columns = (channels.source, channels.target, channels.tag, channels.communicator)
        listed = zip(*map(np.ndarray.tolist, columns), strict=True)
        assert list(listed) == list(numbers)


@pytest.mark.parametrize("suffix", [".tit", ".goal", ".json"])
def test_every_format_that_is_written_is_read_beyond_memory(suffix, small, tmp_path):
    path = tmp_path / f"run{suffix}"
    trace = random_run(3, groups=False)
    write_trace(trace, path)
    held = read_trace(path)
    small()
    spilled = read_trace(path)
    assert spilled.in_file
    assert_same(held, spilled)


def test_a_disk_without_room_is_named(small, monkeypatch):
    def without_room(*_):
        raise OSError(28, "No space left on device")

    small()
    monkeypatch.setattr(packed_table.os, "pwrite", without_room)
    with pytest.raises(FileError, match=f"no room for them in {tempfile.gettempdir()}.*TMPDIR"):
        random_run(3)


def test_a_rank_of_a_schedule_is_refused_before_memory_ends(tmp_path, monkeypatch):
    path = tmp_path / "a.goal"
    path.write_text("num_ranks 1\nrank 0 {\n" + "calc 1000000\n" * 100 + "}\n")
    monkeypatch.setattr(goal, "_LOOK", 1000)
    assert read_trace(path).size == 1
    monkeypatch.setattr(goal, "free_memory", lambda: 500 << 20)
    with pytest.raises(FileError, match=r"a\.goal:86: only 500 MiB of memory are free; of rank"):
        read_trace(path)
    monkeypatch.setattr(goal, "MOST_STEPS", 50)
    with pytest.raises(FileError, match=r"rank 0 has over 83 steps; give ranks of fewer"):
        read_trace(path)


@pytest.mark.parametrize("step", ["recv 5b from -1", "calc 7 cpu 1"])
def test_a_rank_that_is_held_step_by_step_is_refused_before_memory_ends(
    step, tmp_path, monkeypatch
):
    path = tmp_path / "a.goal"
    path.write_text(f"num_ranks 2\nrank 0 {{\ncalc 5\n{step}\n}}\nrank 1 {{\nsend 5b to 0\n}}\n")
    monkeypatch.setattr(schedules, "free_memory", lambda: 1500)
    with pytest.raises(FileError, match=r"rank 0 has 2 steps, and computes on several streams or"):
        read_trace(path)


def test_bytes_beyond_any_number_are_refused(tmp_path):
    path = tmp_path / "a.goal"
    path.write_text(
        f"num_ranks 2\nrank 0 {{\nsend {'9' * 400}b to 1\n}}\nrank 1 {{\nrecv 5b from 0\n}}\n"
    )
    with pytest.raises(FileError, match=r"a.goal:3: a number of this send is beyond what 64 bits"):
        read_trace(path)


def test_a_check_of_parts_sees_times_at_their_seams(small):
    small()
    run = Recording(2)
    for rank in run.ranks:
        for at in range(10):
            rank.local("call", 2 * at, 2 * at + 1)
    trace = run.trace(tick=1.0)
    for event in range(1, 10):
        times = np.array(trace.events.times)
        times[event, 0] -= 2
        with pytest.raises(TraceError, match=f"rank 0, event {event} "):
            checks.check(changed(trace, times))


def changed(trace, times):
    """Return a trace with other times."""
    return attrs.evolve(trace, events=attrs.evolve(trace.events, times=times))


def _paraver():
    yield "#Paraver (21/11/2026 at 22:07):9000_ns:1(2):1:2(1:1,1:1),1\nc:1:1:2:1:2"
    for start in range(0, 400, 20):
        for task, value in ((1, 1), (2, 2)):
            yield f"2:{task}:1:{task}:1:{start}:50000001:{value}"
            yield f"2:{task}:1:{task}:1:{start + 5}:50000001:0"
        for task in (1, 2):
            yield f"2:{task}:1:{task}:1:{start + 7}:50000002:7:50100004:1:50100003:{task % 2}"
            yield f"2:{task}:1:{task}:1:{start + 9}:50000002:0"
        yield f"3:1:1:1:1:{start}:{start}:2:1:2:1:{start}:{start + 5}:8:3"


def _actions():
    for turn in range(40):
        yield f"0 recv -333 -444 8\n1 compute 5\n1 send 0 {turn % 3} 8\n2 compute 7"
        yield f"0 recv -333 -444 8\n2 isend 0 {turn} 8\n2 wait 2 0 {turn}"


def _schedule():
    yield "num_ranks 3\nrank 0 {"
    for turn in range(40):
        yield f"l{turn}: recv 8b from -1 tag {turn % 2}"
        yield f"l{turn} requires l{turn - 1}" if turn else ""
    for rank in (1, 2):
        yield f"}}\nrank {rank} {{"
        yield from (f"l{turn}: send 8b to 0 tag {turn % 2}" for turn in range(20))
    yield "}"


@pytest.mark.parametrize(
    ("name", "text"), [("a.prv", _paraver), ("a.tit", _actions), ("a.goal", _schedule)]
)
def test_records_that_are_wanted_by_rank_are_the_same_from_a_file(
    tmp_path, monkeypatch, name, text
):
    path = tmp_path / name
    path.write_text("\n".join(text()))
    held = read_trace(path)
    assert held.count >= 80
    monkeypatch.setattr(by_rank, "MOST_HELD", 1)
    assert_same(held, read_trace(path))
