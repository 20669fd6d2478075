"""Schedules: LogGOPSim's own numbers under its replay, and schedules as traces."""

from pathlib import Path

import pytest

from parcast.errors import FileError, UnsupportedError
from parcast_perturb.loggops import LogGOPS, replay
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.readers import read_trace
from parcast_traces.readers.goal import schedule

from .timed import with_times

FILES = Path(__file__).parent / "files" / "goal"
TREE = Path(__file__).parents[4] / "shared" / "traces" / "goal" / "binary_tree_32.goal"

#: What LogGOPSim printed for schedules that Schedgen made, L=2500 o=1500 g=1000 G=6 S=65535.
PRINTED = {
    "reduce": [34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500],
    "dissemination": [1816482] * 6,  # 100,000 bytes wait for their receiver
    "pipeline": [15488, 30982, 42476, 53970, 63964],
    "calls": [185190, 187165, 188994, 179596],  # written by `perturb convert` from files/dumpi
}


@pytest.mark.parametrize("name", PRINTED)
def test_ends_are_those_that_loggopsim_prints(name):
    assert replay(schedule(FILES / f"{name}.goal"), LogGOPS()) == PRINTED[name]


@pytest.mark.skipif(not TREE.is_file(), reason="no traces by others here")
def test_the_tree_of_loggopsim_takes_27500():
    assert max(replay(schedule(TREE), LogGOPS())) == 27500
    assert read_trace(TREE).size == 32


def written(tmp_path, text):
    path = tmp_path / "a.goal"
    path.write_text(text)
    return path


def test_a_step_waits_for_what_it_requires_alone(tmp_path):
    # rank 0 computes 100 while its message flies; 50 more need the answer
    path = written(tmp_path, """
num_ranks 2 // two
rank 0 {
  a: send 4b to 1 tag 3
  b: recv 4b from 1
  c: calc 50 /* after the
  answer */
  d: calc 100
  c requires b
}
rank 1 {
  x: recv 4b from 0 tag 3
  y: send 4b to 0
  y requires x
}
""")  # fmt: skip
    known = Recorded(latency=10.0, per_byte=1.0)
    trace = with_times(read_trace(path), known, 1.0)
    assert [trace.name(event) for event in range(trace.count)] == [
        "isend", "irecv", "waitall", "waitall", "finalize",
        "irecv", "waitall", "isend", "waitall", "finalize",
    ]  # fmt: skip
    # there at 14, back at 28, after 100 of computation 50 more; its own send is waited for last
    assert trace.ends.tolist() == [150, 14]
    later = propagate(trace, Perturbation.of(latency=40), known, "clocked")
    assert later.final[:, 0].tolist() == [8, 40]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("rank 0 {", "begins with num_ranks"),
        ("num_ranks 99999999999", "begins with num_ranks"),
        ("num_ranks 1\nrank 0 {\nl1: send 8b to 4\n}", "a.goal:3: there is no rank 4"),
        ("num_ranks 1\nrank 0 {\nl1: sned 8b to 0\n}", "a.goal:3: 'l1: sned"),
        ("num_ranks 1\nrank 0 {\na: calc 3\na: calc 4\n}", "label a comes twice"),
        ("num_ranks 1\nrank 0 {\na: calc 3\na requires b\n}", "a.goal:4: this rank has no label b"),
        ("num_ranks 1\nrank 0 {\na: calc 3", "ends inside a rank"),
        ("num_ranks 2\nrank 0 {\n}", "rank 1 of 0 to 1 is missing"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}", "rank 0 comes twice"),
    ],
)
def test_what_is_no_schedule_is_one_sentence(tmp_path, text, said):
    with pytest.raises(FileError, match=said):
        schedule(written(tmp_path, text))


def test_rings_and_lost_messages_are_refused(tmp_path):
    ring = "num_ranks 1\nrank 0 {\na: calc 3\nb: calc 4\na requires b\nb requires a\n}"
    path = written(tmp_path, ring)
    with pytest.raises(UnsupportedError, match="require each other in a cycle"):
        read_trace(path)
    with pytest.raises(UnsupportedError, match="require each other in a ring"):
        replay(schedule(path), LogGOPS())
    lost = schedule(written(tmp_path, "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}"))
    with pytest.raises(UnsupportedError, match="never received"):
        replay(lost, LogGOPS())
    named = written(tmp_path, "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from "
                    "0\n}")  # fmt: skip
    anybody = written(tmp_path, "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from "
                      "-1 tag -1\n}")  # fmt: skip
    assert replay(schedule(anybody), LogGOPS()) == [1500, 1500 + 2500 + 1500 + 42]
    assert read_trace(anybody).channel(0) == read_trace(named).channel(0)
    nobody = written(tmp_path, "num_ranks 1\nrank 0 {\nrecv 8b from -1\n}")
    with pytest.raises(UnsupportedError, match="more messages than are sent to it"):
        read_trace(nobody)
