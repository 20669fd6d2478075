"""Writers: what a format can hold comes back; what it cannot is said."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.readers import read_trace
from parcast_perturb.readers.neutral import trace_of
from parcast_perturb.trace.columns import END, START
from parcast_perturb.trace.decoding import decoded, received
from parcast_perturb.writers import perfetto, write_trace

from .programs import Costs, neutral, random_program

FILES = Path(__file__).parent / "files"
COSTS = Costs(o=10, latency=50, per_byte=1)
ALWAYS = (1, 4, 6, 11, 12)


def random_trace(seed):
    return trace_of({"unit": "1 us", **neutral(random_program(seed), COSTS)}, f"program {seed}")


def told(trace):
    """Return every call as texts, without what no format but columns holds."""
    got, comms = received(trace), [one.tolist() for one in trace.communicators]
    return [
        [
            (one.name.replace("comm_split", "comm_dup"), one.start, one.end, one.to, one.tag,
             one.size, one.source, one.source_tag, one.got, comms[one.comm], one.root,
             one.request, one.completed)
            for one in decoded(trace, rank, got)
        ]
        for rank in range(trace.size)
    ]  # fmt: skip


def messages(trace):
    got = received(trace)
    comms = len(trace.communicators)
    return Counter(
        (rank, one.to, one.tag * comms + one.comm, max(one.size, 1))
        for rank in range(trace.size)
        for one in decoded(trace, rank, got)
        if one.to >= 0
    )


@pytest.mark.parametrize("seed", ALWAYS)
def test_archives_of_otf2_give_every_call_back(tmp_path, seed):
    pytest.importorskip("otf2")
    trace = random_trace(seed)
    losses = write_trace(trace, tmp_path / "a.otf2")
    again = read_trace(tmp_path / "a.otf2")
    probes = "whose message a probe saw" in losses
    before, after = told(trace), told(again)
    if not probes:
        shift = min(one[0][1] for one in before if one)
        moved = [[(a, s - shift, e - shift, *rest) for a, s, e, *rest in one] for one in before]
        waits = Counter(one[0] for rank in moved for one in rank)
        assert waits == Counter(one[0] for rank in after for one in rank)
        strip = [[one[1:] for one in rank] for rank in moved]
        assert strip == [[one[1:] for one in rank] for rank in after]
        found = [
            propagate(one, Perturbation.of(latency=7, noise=3), Recorded(overhead=10), "upper")
            for one in (trace, again)
        ]
        assert (found[0].final == found[1].final).all()
    counts = [Counter((one[3:6], tuple(one[9])) for rank in side for one in rank if one[3] >= 0)
              for side in (before, after)]  # fmt: skip
    assert counts[0] == counts[1]


@pytest.mark.parametrize("suffix", [".goal", ".tit"])
@pytest.mark.parametrize("seed", ALWAYS)
def test_messages_and_work_come_back_from_text(tmp_path, seed, suffix):
    trace = random_trace(seed)
    try:
        losses = write_trace(trace, tmp_path / f"a{suffix}")
    except UnsupportedError as error:
        assert "no collectives" in str(error)  # noqa: PT017
        assert not list(tmp_path.iterdir())
        return
    assert losses
    again = read_trace(tmp_path / f"a{suffix}")
    kept = messages(again)
    for (source, to, tag, size), count in messages(trace).items():
        wide = tag if suffix == ".tit" else None
        same = [
            number for (a, b, c, d), number in kept.items()
            if (a, b, d) == (source, to, size) and (wide is None or c == wide)
        ]  # fmt: skip
        assert sum(same) >= count
    times = trace.events.times
    first = trace.events.offsets[:-1]
    for rank in range(trace.size):
        mine = slice(int(first[rank]), int(trace.events.offsets[rank + 1]))
        gaps = times[mine][1:, START] - times[mine][:-1, END]
        work = gaps.sum() * 1e3  # ns, and operations at 1e9 a second
        theirs = again.events.times[
            int(again.events.offsets[rank]) : int(again.events.offsets[rank + 1]), START
        ]
        assert theirs.max(initial=0.0) == pytest.approx(work)


def test_a_text_written_again_is_the_same(tmp_path):
    first = tmp_path / "a.tit"
    write_trace(read_trace(FILES.parent / "files" / "goal" / "reduce.goal"), first)
    write_trace(read_trace(first), tmp_path / "b.tit")
    lines = [
        [line for line in path.read_text().splitlines() if "init" not in line]
        for path in (first, tmp_path / "b.tit")
    ]
    assert [line for line in lines[0] if "finalize" not in line] == [
        line for line in lines[1] if "finalize" not in line
    ]


def test_what_is_there_or_cannot_be_written_is_left_alone(tmp_path):
    trace = random_trace(1)
    with pytest.raises(FileError, match="no writer has the suffix"):
        write_trace(trace, tmp_path / "a.xyz")
    with pytest.raises(FileError, match="cannot be written"):
        write_trace(trace, tmp_path / "nowhere" / "a.goal")
    (tmp_path / "a.otf2").mkdir()
    with pytest.raises((FileError, UnsupportedError), match=r"is there already|needs a package"):
        write_trace(trace, tmp_path / "a.otf2")
    assert [one.name for one in tmp_path.iterdir()] == ["a.otf2"]
    unitless = trace_of(neutral(random_program(1), COSTS), "x")
    for suffix in ("goal", "tit"):
        with pytest.raises(UnsupportedError, match="have no unit"):
            write_trace(unitless, tmp_path / f"b.{suffix}")
    assert [one.name for one in tmp_path.iterdir()] == ["a.otf2"]


def test_a_picture_has_both_runs_as_chrome_s_format_wants_them(tmp_path):
    path = tmp_path / "a.perfetto.json"
    source = FILES / "dumpi" / "calls-0000.txt"
    code = main(["perturb", "convert", str(source), "-o", str(path), "--latency", "100us"])
    assert code == 0
    data = json.loads(path.read_text())
    trace = read_trace(source)
    by_word = {word: [one for one in data["traceEvents"] if one["ph"] == word] for word in "MXsf"}
    assert sum(map(len, by_word.values())) == len(data["traceEvents"])
    assert [one["args"]["name"] for one in by_word["M"] if one["name"] == "process_name"] == [
        "before", "after",
    ]  # fmt: skip
    assert len(by_word["X"]) == 2 * trace.count
    assert all(one["dur"] >= 0 and one["ts"] >= 0 for one in by_word["X"])
    for process, ends in ((1, trace.ends), (2, None)):
        for rank in range(trace.size):
            mine = [one for one in by_word["X"] if (one["pid"], one["tid"]) == (process, rank + 1)]
            stops = [one["ts"] + one["dur"] for one in mine]
            assert all(b["ts"] >= a - 1e-3 for a, b in zip(stops, mine[1:], strict=False))
            if ends is not None:
                origin = trace.events.times[:, START].min()
                assert stops[-1] == pytest.approx((ends[rank] - origin) / 1e3)
    starts = {one["id"]: one for one in by_word["s"]}
    arrivals = {one["id"]: one for one in by_word["f"]}
    assert starts.keys() == arrivals.keys()
    assert len(starts) == 2 * 15
    assert all(starts[key]["ts"] <= one["ts"] for key, one in arrivals.items())
    before = max(one["ts"] + one["dur"] for one in by_word["X"] if one["pid"] == 1)
    after = max(one["ts"] + one["dur"] for one in by_word["X"] if one["pid"] == 2)
    assert after - before == pytest.approx(1500.0)


def test_a_picture_without_times_is_refused(tmp_path, capsys):
    source, path = FILES / "goal" / "reduce.goal", tmp_path / "a.perfetto.json"
    assert main(["perturb", "convert", str(source), "-o", str(path)]) == 2
    assert "has no times to show" in capsys.readouterr().err
    assert not path.exists()
    trace = random_trace(1)
    begin, end = perfetto.spans(trace, np.zeros(trace.count))
    assert (begin == trace.events.times[:, START]).all()
    assert (end == trace.events.times[:, END]).all()
