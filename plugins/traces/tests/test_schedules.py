"""GOAL as others write it: any source, what `txt2bin` makes of it, operations of Portals."""

import random
import re
import struct
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast_traces.errors import TraceError
from parcast_traces.readers import Limit, goal_binary, ordering, read_trace
from parcast_traces.readers.goal import schedule
from parcast_traces.readers.playing import Playing
from parcast_traces.trace import roomy
from parcast_traces.trace.columns import COUNT, FIRST, INTO, KIND, NAME, OUT, SITE

ANY = 0xFFFFFFFF


def random_steps(rng, size):
    """Return the steps of ranks, each with what it requires: (kind, peer, size, tag, cpu, nic)."""
    ranks = [[] for _ in range(size)]

    def add(rank, *fields):
        own = ranks[rank]
        before = sorted(rng.sample(range(len(own)), min(len(own), rng.randint(0, 2))))
        ended = [step for step in before if rng.random() < 0.7]
        ranks[rank].append((fields, ended, [step for step in before if step not in ended]))

    for _ in range(rng.randint(1, 25)):
        rank, cpu, nic = rng.randrange(size), rng.randint(0, 3), rng.randint(0, 2)
        if rng.random() < 0.4:
            add(rank, "calc", 0, rng.randint(0, 9999), 0, cpu, 0)
            continue
        other, tag, bytes_ = rng.randrange(size), rng.choice([0, 7, 10**6]), rng.randint(1, 10**7)
        add(rank, "send", other, bytes_, tag, cpu, nic)
        add(other, "recv", rank, bytes_, tag, cpu, nic)
    return ranks


def text_of(ranks):
    lines = [f"num_ranks {len(ranks)}"]
    for rank, steps in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        for number, ((kind, peer, size, tag, cpu, nic), ended, begun) in enumerate(steps):
            told = {"send": f"b to {peer} tag {tag}", "recv": f"b from {peer} tag {tag}"}
            card = f" nic {nic}" if kind != "calc" else ""
            lines.append(f"l{number}: {kind} {size}{told.get(kind, '')} cpu {cpu}{card}")
            lines += [f"l{number} requires l{step}" for step in ended]
            lines += [f"l{number} irequires l{step}" for step in begun]
        lines.append("}")
    return "\n".join(lines)


def packed(ranks):
    """Return what txt2bin writes, from LogGOPSim's description of the format."""
    kinds = {"send": 1, "recv": 2, "calc": 3}
    bodies = []
    for steps in ranks:
        later, sooner = ([[] for _ in steps] for _ in range(2))
        for number, (_, ended, begun) in enumerate(steps):
            for before in ended:
                later[before].append(number)
            for before in begun:
                sooner[before].append(number)
        roots = [n for n, (_, ended, begun) in enumerate(steps) if not ended and not begun]
        body, edges = struct.pack(f"<II{len(roots)}I", len(steps), len(roots), *roots), []
        for number, ((kind, peer, size, tag, cpu, nic), ended, begun) in enumerate(steps):
            body += struct.pack("<IBIQIBB", len(ended) + len(begun), kinds[kind], peer, size,
                                tag, cpu, nic)  # fmt: skip
            for group in (later[number], sooner[number]):
                body += struct.pack("<II", len(group), len(edges))
                edges += group
        bodies.append(body + struct.pack(f"<{len(edges)}I", *edges))
    head, at = struct.pack("<QIBB", 4223, len(ranks), 255, 255), 6 + 16 * len(ranks)
    for body in bodies:
        head += struct.pack("<QQ", at, at + len(body))
        at += len(body)
    return head + b"".join(bodies)


@pytest.mark.parametrize(("part", "held"), [(1 << 20, 1 << 20), (3, 24)])
def test_what_txt2bin_writes_is_the_schedule_of_the_text(tmp_path, monkeypatch, part, held):
    monkeypatch.setattr(goal_binary, "PART", part)
    monkeypatch.setattr(roomy, "MOST_HELD", held)  # in memory, or in files
    text, binary = tmp_path / "a.goal", tmp_path / "a.bin"
    for seed in range(40):
        ranks = random_steps(random.Random(seed), 4)
        text.write_text(text_of(ranks))
        binary.write_bytes(packed(ranks))
        assert schedule(binary).ranks == schedule(text).ranks, seed
    assert read_trace(binary).about["format"] == "GOAL"


def test_a_rank_in_binary_takes_the_memory_of_a_part_of_it(tmp_path, monkeypatch):
    steps, path = 300_000, tmp_path / "long.bin"
    records = np.zeros(steps, goal_binary._STEP)
    records["kind"], records["size"] = 3, 5  # each computes once the one before has
    records["needs"][1:], records["later"][:-1] = 1, 1
    records["later_at"] = np.arange(steps)
    body = struct.pack("<III", steps, 1, 0) + records.tobytes()
    body += np.arange(1, steps, dtype="<u4").tobytes()
    head = struct.pack("<QIBBQQ", 4223, 1, 0, 0, 22, 22 + len(body))
    path.write_bytes(head + body)
    monkeypatch.setattr(goal_binary, "PART", 1 << 10)
    monkeypatch.setattr(roomy, "MOST_HELD", 1 << 16)
    graphs, peaks = [], []
    for _ in range(2):  # the first loads what every reading has
        tracemalloc.start()
        goal_binary.Binary(path, lambda *taken: graphs.append(taken[2]) or True).read()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert int(graphs[0].size.sum()) == 5 * steps
    assert np.array_equal(graphs[0].later, np.arange(1, steps))
    assert np.array_equal(graphs[0].earlier, np.arange(steps - 1))
    assert peaks[1] < 2_000_000  # of a file of 13 MB


def test_a_rank_in_binary_that_is_too_long_is_refused_within_it(tmp_path, monkeypatch):
    monkeypatch.setattr(goal_binary, "PART", 10)
    steps = [(("send", 0, 8, 0, 0, 0), [], []) for _ in range(100)]
    (tmp_path / "a.bin").write_bytes(packed([steps]))
    with pytest.raises(UnsupportedError, match=r"a\.bin has over 50 events; cut it"):
        read_trace(tmp_path / "a.bin", wanted=lambda _: Limit(50, "cut it"))
    monkeypatch.setattr(goal_binary, "MOST_STEPS", 99)
    with pytest.raises(FileError, match="rank 0 has 100 steps; give ranks of fewer"):
        read_trace(tmp_path / "a.bin")


def test_kernels_of_schedules_are_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ordering.ORDERING, "worth_compiling", lambda _: True)
    ranks = random_steps(random.Random(2), 2)
    (tmp_path / "a.goal").write_text(re.sub("cpu [0-9]+", "", text_of(ranks)))
    plain = [[((*step[:4], 0, 0), *needs) for step, *needs in own] for own in ranks]
    (tmp_path / "a.bin").write_bytes(packed(plain))
    for held in (1 << 20, 24):  # in memory, or in files
        monkeypatch.setattr(roomy, "MOST_HELD", held)
        for name in ("a.goal", "a.bin"):
            read_trace(tmp_path / name)
    for kernel in (ordering.ORDERING.compiled, ordering.compiled_group()):
        assert len(kernel.signatures) == 1


def with_names(trace):
    """Return the events of a trace with the channels and sites that their numbers stand for."""
    whole, of = trace.events.whole, trace.channels
    ends = np.stack([of.source, of.target, of.tag, of.communicator], 1).astype(int)
    ends = np.concatenate([ends, [[-1] * 4]])
    sites = np.array(trace.sites)[whole[:, SITE]].tolist()
    return np.concatenate([whole[:, :SITE], ends[whole[:, OUT]], ends[whole[:, INTO]]], 1), sites


@pytest.mark.parametrize(("compiled", "held"), [(False, 1 << 20), (True, 1 << 20), (True, 24)])
def test_ranks_read_as_columns_do_what_they_do_step_by_step(tmp_path, monkeypatch, compiled, held):
    monkeypatch.setattr(roomy, "MOST_HELD", held)  # in memory, or in files
    monkeypatch.setattr(ordering.ORDERING, "worth_compiling", lambda _: compiled)
    monkeypatch.setattr(ordering, "_PART", 7)
    path, compared = tmp_path / "a.goal", 0
    for seed in range(60):
        ranks = random_steps(random.Random(seed), 4)
        path.write_text(re.sub("cpu [0-9]+", "", text_of(ranks)))
        with suppress(TraceError):  # messages that overtake each other may not fit
            trace, stepwise = read_trace(path), Playing(4, str(path))
            for rank, steps in enumerate(schedule(path).ranks):
                stepwise.play(rank, steps)
            other = stepwise.trace(())
            rows, sites = with_names(trace)
            expected, expected_sites = with_names(other)
            unnumbered = [KIND, NAME, FIRST, COUNT, *range(SITE, rows.shape[1])]
            assert np.array_equal(rows[:, unnumbered], expected[:, unnumbered]), seed
            assert sites == expected_sites
            for name in ("offsets", "times", "slots"):
                assert np.array_equal(getattr(trace.events, name), getattr(other.events, name))
            assert np.array_equal(trace.requests, other.requests)
            compared += 1
    assert compared > 20


def test_labels_of_any_kind_name_their_steps(tmp_path):
    path = tmp_path / "a.goal"
    for labels in ("l1 l2 l3", "l3 l2 l1", "x y z", "l0 l2 l1", "a01 a02 a3", "l7 l8 l08"):
        one, two, three = labels.split()
        path.write_text(
            f"num_ranks 1\nrank 0 {{\n{two} requires {three}\n{one}: calc 1\n{two}: calc 2\n"
            f"{three}: calc 3\n{two} requires {one}\n{one} irequires {three}\n}}\n"
        )
        first, second, _ = schedule(path).ranks[0]
        assert (first.begun, sorted(second.ended)) == ([2], [0, 2]), labels
    for label in ("l1", "l04", "l4"):
        path.write_text(f"num_ranks 1\nrank 0 {{\nl1: calc 1\nl2: calc 2\n{label}: calc 3\n"
                        "l2 requires l3\n}\n")  # fmt: skip
        reason = "label l1 comes twice" if label == "l1" else "this rank has no label l3"
        with pytest.raises(FileError, match=reason):
            schedule(path)


def test_a_binary_schedule_that_is_cut_or_changed_is_one_sentence(tmp_path):
    path = tmp_path / "a.bin"
    ranks = random_steps(random.Random(3), 3)
    whole = packed(ranks)
    for length in range(9, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=r"cut off|one behind the other"):
            schedule(path)
    rng = random.Random(5)
    for _ in range(300):  # a wrong byte is another schedule, or refused
        at = rng.randrange(8, len(whole))
        path.write_bytes(whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :])
        with suppress(ParcastError):
            read_trace(path)
    path.write_bytes(struct.pack("<QIBB", 4223, 1 << 24, 0, 0) + bytes(1 << 20))
    with pytest.raises(FileError, match="cut off"):
        schedule(path)


def test_any_source_takes_what_is_there_first(tmp_path):
    text = "num_ranks 4\nrank 0 {\n" + "".join(f"r{n}: recv 8b from -1 tag -1\n" for n in range(3))
    text += "r1 requires r0\nr2 requires r1\n}\n"
    for rank, work in ((1, 30), (2, 10), (3, 20)):
        text += f"rank {rank} {{\nc: calc {work}\ns: send 8b to 0 tag {rank}\ns requires c\n}}\n"
    path = tmp_path / "a.goal"
    path.write_text(text)
    trace = read_trace(path)
    waits = trace.events.whole[: trace.events.offsets[1]]
    received = [int(channel) for channel in waits[:, 3] if channel >= 0]
    assert trace.channels.source[received].tolist() == [2, 3, 1]
    assert any("3 receives from any source" in note for note in trace.notes)


def test_one_sender_and_any_source_is_the_trace_of_the_named_source(tmp_path):
    for seed in range(20):
        ranks = random_steps(random.Random(seed), 2)
        named, wild = tmp_path / "named.goal", tmp_path / "wild.goal"
        for steps in ranks:  # between two ranks, no message to itself
            steps[:] = [(fields, [], []) for fields, _, _ in steps if fields[0] == "calc"]
        for number in range(5):
            ranks[0].append((("send", 1, 8, 3, 0, 0), [], []))
            ranks[1].append((("recv", 0, 8, 3, number % 2, 0), [], []))
        named.write_text(text_of(ranks))
        wild.write_text(text_of(ranks).replace("from 0", "from -1"))
        first, second = read_trace(named), read_trace(wild)
        assert (first.events.whole == second.events.whole).all()
        assert (first.events.times == second.events.times).all()


PORTALS = """num_ranks 3
rank 0 {
a: calc 100
p: put 8b to 1 ct 4 tag 5
p requires a
}
rank 1 {
b: append 8b to priority_list hh 3 allowed 0 ct 2 use_once tag 5
t: tput 16b to 2 when 2 reaches 1 tag 6
t requires b
}
rank 2 {
b: append 64b to overflow_list allowed -1 ct 1 tag -1
w: test 1 for 1
c: calc 7
c requires w
}
"""
PLAIN = """num_ranks 3
rank 0 {
a: calc 100
p: send 8b to 1 tag 5
p requires a
}
rank 1 {
b: recv 8b from 0 tag 5
t: send 16b to 2 tag 6
t requires b
}
rank 2 {
b: recv 64b from 1 tag 6
c: calc 7
c requires b
}
"""


def test_triggered_puts_are_sends_that_wait_for_receives(tmp_path):
    path, plain = tmp_path / "portals.goal", tmp_path / "plain.goal"
    path.write_text(PORTALS)
    plain.write_text(PLAIN)
    trace, expected = read_trace(path), read_trace(plain)
    for rank in range(3):
        names = [[one.name(event) for event in range(*one.events.offsets[rank : rank + 2])]
                 for one in (trace, expected)]  # fmt: skip
        assert [name for name in names[0] if name != "waitall"] == [
            name for name in names[1] if name != "waitall"
        ]
    assert trace.channels.tag.tolist() == expected.channels.tag.tolist()
    assert trace.ends.tolist() == expected.ends.tolist()
    assert any("handlers" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        ("tput 16b to 2 when 2 reaches 1", "tput 16b to 2 when 2 reaches 3", "never to 3"),
        ("tput 16b to 2 when 2 reaches 1", "tput 16b to 2", "lacks its size or its counter"),
        ("tput 16b to 2 when 2 reaches 1", "tput 16b to 2 when 2 soon 1", "has 'soon' there"),
        ("tput 16b to 2 when 2 reaches 1 tag 6", "get 16b from 2 tag 6", "get is not read"),
        ("calc 7", "calcgem5 7 8b", "calcgem5 is not read"),
        ("put 8b to 1 ct 4 tag 5", "put 8b to 1 ct 4 tag 9", "no buffer of rank 1 takes"),
        ("put 8b to 1 ct 4", "put 8b to 9 ct 4", "there is no rank 9"),
    ],
)
def test_portals_that_cannot_be_told_are_one_sentence(tmp_path, line, other, said):
    path = tmp_path / "a.goal"
    assert line in PORTALS
    path.write_text(PORTALS.replace(line, other))
    with pytest.raises((FileError, UnsupportedError), match=said):
        read_trace(path)
