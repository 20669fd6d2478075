"""Tables of operations of training jobs: the published slowdowns, and what is wrong with tables."""

import csv
import json
from pathlib import Path

import pytest

from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_training.slowdown import slowdown
from parcast_training.table import read
from parcast_training.trace import read as read_trace

JOB = Path(__file__).parents[4] / "shared" / "traces" / "llm-job-st"
COLUMNS = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc",
           "gmc")  # fmt: skip


@pytest.mark.skipif(not JOB.is_dir(), reason="no traces by others here")
def test_the_job_of_bytedance_has_its_published_slowdowns():
    pytest.importorskip("pyarrow")
    found = slowdown(read(JOB / "trace-ST.parquet"))
    published = json.loads((JOB / "result-ST.json").read_text())
    close = {"rel": 1e-6}  # the tool keeps times in 32 bits
    assert found.total == pytest.approx(published["blocking_slowdown"], **close)
    assert found.launch == pytest.approx(published["launch_slowdown"], **close)
    for mine, word in (
        (found.by_type, "optype"), (found.by_stage, "stage"), (found.by_part, "dp_rank")
    ):  # fmt: skip
        theirs = published[f"blocking_decompose_by_{word}"]
        assert {str(name): ratio for name, ratio in mine.items()} == pytest.approx(theirs, **close)
    steps = published["blocking_step_slowdown"]
    assert {str(name): one for name, one in found.steps.items()} == pytest.approx(steps, **close)
    for name, mine in (("Mw", found.slow_ranks), ("Ms", found.last_stage)):
        theirs = json.loads((JOB / f"{name.lower()}-ST.json").read_text())[name]
        assert mine == pytest.approx(theirs, **close)


def rows(forward=(10.0, 10.0), backward=20.0, transfer=1.0, batches=2):
    """Return two stages that compute and send, each operation as early as it can."""
    at = {}

    def add(optype, order, stage, start, duration):
        at[optype, order, stage] = (start, duration)
        return start + duration

    def message(optype, other, order, stages, starts):
        end = max(starts) + transfer
        for name, stage, start in zip((optype, other), stages, starts, strict=True):
            add(name, order, stage, start, end - start)
        return end

    clock, sent, fed = 0.0, [], []
    for number in range(batches):
        clock = add("forward-compute", number, 0, clock, forward[0])
        sent.append(clock)
    free, last, way = 0.0, 0.0, 0.0
    for number in range(batches):
        fed.append(message("forward-send", "forward-recv", number, (0, 1),
                           (max(sent[number], way), max(free, way))))  # fmt: skip
        way = fed[-1]
        free = add("forward-compute", number, 1, max(fed[-1], free), forward[1])
    way, before = 0.0, sent[0] if batches > 1 else 0.0
    for number in range(batches):
        free = add("backward-compute", number, 1, free, backward)
        start = max(free, way)
        got = max(before if number == 0 else last, way)
        way = message("backward-send", "backward-recv", number, (1, 0), (start, got))
        last = add("backward-compute", number, 0, max(way, clock), backward)
        clock = last
    ends = [last, free]
    ends = [add("gc", 0, stage, ends[stage], 0.0) for stage in (0, 1)]
    ends = [add("layernorm-grads-all-reduce", 0, s, ends[s], 0.5) for s in (0, 1)]
    for optype in ("embedding-grads-all-reduce", "optimizer-clip-main-grad"):
        met = max(ends) + 1.0
        for stage in (0, 1):
            add(optype, 0, stage, ends[stage], met - ends[stage])
        ends = [met, met]
    for stage in (0, 1):
        add("optimizer", 0, stage, ends[stage], 3.0)
    return [
        (0, stage, stage, 7, optype, start, duration, order, 0 if "compute" in optype else -1,
         stage if "compute" in optype else -1)
        for (optype, order, stage), (start, duration) in at.items()
    ], ends[0] + 3.0  # fmt: skip


def table(tmp_path, lines, columns=COLUMNS):
    path = tmp_path / "job.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *lines])
    return path


def test_a_step_as_recorded_is_simulated_to_the_end(tmp_path):
    lines, end = rows(forward=(10.0, 14.0))
    found = slowdown(read(table(tmp_path, lines)))
    assert found.recorded == pytest.approx(end)
    assert found.without_delays == pytest.approx(end)
    assert found.launch == pytest.approx(1.0)
    _, alike = rows(forward=(12.0, 12.0))  # the mean of all forward computations
    assert found.without_stragglers == pytest.approx(alike)
    assert found.total == pytest.approx(end / alike)


def test_a_job_is_a_trace_of_its_devices(tmp_path):
    lines, end = rows()
    trace = read_trace(table(tmp_path, lines))
    assert trace.size == 2
    assert trace.ends.tolist() == [end, end]
    same = propagate(trace, Perturbation(), Recorded(), "upper", every_end=True)
    assert not same.ends.any()
    # on the path are the first message of either way, and two sums; the others have been sent
    later = propagate(trace, Perturbation.of(latency=3.0), Recorded(), "upper")
    assert later.final[:, 0].tolist() == [4 * 3.0, 4 * 3.0]
    later = propagate(trace, Perturbation.of(noise=1.0), Recorded(), "upper")
    assert later.final.min() > 0
    assert any("bytes of messages are not recorded" in note for note in trace.notes)


def test_steps_follow_each_other(tmp_path):
    lines, end = rows()
    again = [(*one[:3], 9, *one[4:]) for one in lines]
    trace = read_trace(table(tmp_path, [*lines, *again]))
    assert trace.ends.tolist() == [2 * end, 2 * end]
    assert any("one after the other" in note for note in trace.notes)
    later = [(*one[:5], one[5] + 3 * end, *one[6:]) for one in again]
    trace = read_trace(table(tmp_path, [*lines, *later]))
    assert trace.ends.tolist() == [4 * end, 4 * end]
    assert not any("one after the other" in note for note in trace.notes)


@pytest.mark.skipif(not JOB.is_dir(), reason="no traces by others here")
def test_the_job_of_bytedance_takes_as_long_as_recorded():
    pytest.importorskip("pyarrow")
    trace = read_trace(JOB / "trace-ST.parquet")
    recorded = slowdown(read(JOB / "trace-ST.parquet")).recorded
    assert trace.ends.max() == pytest.approx(32 * recorded)
    assert not propagate(trace, Perturbation(), Recorded(), "upper").final.any()


def test_devices_without_a_rank_of_their_own_are_refused(tmp_path):
    lines = [(*one[:2], 5 * one[2], *one[3:]) for one in rows()[0]]
    with pytest.raises(UnsupportedError, match="the ranks of its stages are not 0 to 1"):
        read_trace(table(tmp_path, lines))


def test_equal_operations_have_no_stragglers_and_a_slow_stage_is_found(tmp_path):
    even = slowdown(read(table(tmp_path, rows()[0])))
    assert even.total == pytest.approx(1.0)
    assert set(even.by_stage.values()) == {1.0}
    slow = slowdown(read(table(tmp_path, rows(forward=(10.0, 30.0))[0])))
    assert slow.by_stage[1] > max(1.0, slow.by_stage[0])
    assert slow.by_type["forward-compute"] == pytest.approx(slow.total)
    assert slow.by_type["optimizer"] == pytest.approx(1.0)


def test_the_command_tells_it(tmp_path, capsys):
    path = table(tmp_path, rows(forward=(10.0, 30.0))[0])
    assert main(["perturb", "stragglers", str(path)]) == 0
    said = capsys.readouterr().out
    assert "2 ranks, 1 steps, 26 operations" in said
    assert "stragglers make it" in said
    assert main(["perturb", "stragglers", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] > 1


def test_wrong_tables_are_one_sentence(tmp_path):
    lines, _ = rows()
    with pytest.raises(FileError, match="there is no column gmc"):
        read(table(tmp_path, [one[:-1] for one in lines], COLUMNS[:-1]))
    with pytest.raises(FileError, match="has no operations"):
        read(table(tmp_path, []))
    with pytest.raises(FileError, match="column duration must have a number"):
        read(table(tmp_path, [(*lines[0][:6], "long", *lines[0][7:])]))
    with pytest.raises(FileError, match="row 0 has a duration below 0"):
        read(table(tmp_path, [(*lines[0][:6], -1.0, *lines[0][7:])]))
    with pytest.raises(FileError, match="has 2 operations"):
        read(table(tmp_path, [*lines, lines[0]]))
    with pytest.raises(FileError, match=r"job.csv:3: it has more or fewer columns"):
        read(table(tmp_path, [lines[0], lines[1][:4]]))
    without = [one for one in lines if one[4] != "optimizer"]
    with pytest.raises(UnsupportedError, match="stage 0 has no optimizer 0"):
        slowdown(read(table(tmp_path, without)))
    lost = [one for one in lines if (one[4], one[1]) != ("forward-recv", 1)]
    with pytest.raises(UnsupportedError, match=r"has no counterpart"):
        slowdown(read(table(tmp_path, lost)))
