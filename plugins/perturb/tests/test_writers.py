"""Writers: what a format can hold comes back; what it cannot is said."""

import json
import math
import resource
from collections import Counter
from functools import partial
from pathlib import Path

import attrs
import numpy as np
import pytest

import parcast_perturb
from parcast import Query
from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast.program.reader import read_source
from parcast.testing import UNIT_MACHINE, check_plugin
from parcast_perturb.from_program import of_program as lowered
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.readers import read_trace
from parcast_traces.readers.neutral import trace_of
from parcast_traces.trace.columns import END, START
from parcast_traces.trace.decoding import decoded, received
from parcast_traces.writers import WRITERS, perfetto, write_trace

from .programs import Costs, neutral, random_program
from .test_conformance import SOURCE
from .timed import with_times

FILES = Path(__file__).parent / "files"
COSTS = Costs(o=10, latency=50, per_byte=1)
ALWAYS = (1, 4, 6, 11, 12)
FIRST = "the time before the first call"
CLOCKS = "that the clocks of all ranks are one"


def random_trace(seed):
    return trace_of({"unit": "1 us", **neutral(random_program(seed), COSTS)}, f"program {seed}")


#: What a format that loses something cannot give back of a call.
LOST = {
    "how much a receive had room for": {"room"},
    "call sites": {"site"},
    "times are in whole ns": {"start", "end"},
    "parts of a byte": {"size", "got", "room"},
}


def told(trace, losses=()):
    """Return all that a trace says, without what was lost."""
    lost = {"row", "kind", *(name for loss in losses for name in LOST.get(loss, ()))}
    got, comms = received(trace), [one.tolist() for one in trace.communicators]
    first = trace.events.times[:, START].min() if losses else 0.0
    ranks = []
    for rank in range(trace.size):
        ranks.append([])
        for one in decoded(trace, rank, got):
            call = {name: value for name, value in attrs.asdict(one).items() if name not in lost}
            call |= {"comm": comms[one.comm]}
            call |= {name: call[name] - first for name in ("start", "end") if name in call}
            if losses and "site" in call:  # OTF2 names a call by itself
                call["site"] = call["site"].removeprefix("MPI_").lower()
            if call.get("room") == math.inf or one.name == "probe" or one.source < 0:
                call.pop("room", None)  # any
            ranks[-1].append(call)
    return ranks


def of_file(name):
    return lambda: read_trace(FILES / name)


def of_program():
    machine = check_plugin(parcast_perturb).machine(UNIT_MACHINE)
    query = Query(workload=read_source(SOURCE, "ring.py", "ring"), machine=machine, p=4)
    return lowered(query.workload, query)[0].content.trace


#: Traces of everything that a reader or a lowering makes.
TRACES = {
    **{f"program {seed}": partial(random_trace, seed) for seed in (1, 4, 6, 11, 12)},
    "one-sided": lambda: trace_of(neutral(random_program(3, one_sided=True), COSTS), "one-sided"),
    "lowered": of_program,
    **{name: of_file(name) for name in ("tracer", "dumpi/calls-0000.txt", "paraver/calls.prv",
                                        "allprof/calls-0.txt", "kineto/gloo-0.json")},
}  # fmt: skip


REFUSED = {
    "one-sided": "one-sided calls are written as columns alone",
    "lowered": "tag -1 is none of 0 to 2,147,483,647",  # of what a sum becomes
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("suffix", [".trace", ".json", ".otf2"])
def test_what_is_read_again_is_what_was_written(tmp_path, suffix, name):
    if suffix == ".otf2":
        pytest.importorskip("otf2")
    trace, path = TRACES[name](), tmp_path / f"a{suffix}"
    if suffix != ".trace" and name in REFUSED:
        with pytest.raises(UnsupportedError, match=REFUSED[name]):
            write_trace(trace, path)
        assert not list(tmp_path.iterdir())
        return
    losses = write_trace(trace, path)
    again = read_trace(path)
    if suffix != ".otf2":
        assert not losses
    else:
        assert set(losses) <= {*LOST, "when sends are freed", CLOCKS, FIRST}
        assert (FIRST in losses) == (trace.events.times[:, START].min() > 0)
        assert (CLOCKS in losses) == trace.comparable
        losses = losses or ("nothing",)
    before, after = told(trace, losses), told(again, losses)
    if "when sends are freed" in losses:  # they are, at the end
        for one in (*before, *after):
            one[:] = [call for call in one if call["name"] not in ("request_free", "call")]
    assert before == after
    if name == "paraver/calls.prv" and suffix == ".otf2":
        return  # its sends are freed at once, before others' calls, not at the end
    found = [
        propagate(one, Perturbation.of(latency=7, noise=3), Recorded(overhead=10), "upper")
        for one in (trace, again)
    ]
    assert (found[0].final == found[1].final).all()


def plain(seed, *, collectives):
    """Return a random program of what the texts have: sends, receives and waits, in one world."""
    kept = {"ssend": "send", "bsend": "send", "issend": "isend"}
    ranks, comms = random_program(seed)
    waited = {one for calls in ranks for _, _, given in calls if "comm" in given
              for one in [given.get("request")]}  # fmt: skip
    found = []
    for calls in ranks:
        found.append([])
        for gap, call, given in calls:
            if call == "probe" or ("comm" in given and (
                    not collectives or given["comm"] != 0 or "request" in given)):  # fmt: skip
                continue
            more = given
            if call == "waitall":
                more = {"requests": [one for one in given["requests"] if one not in waited]}
            elif "bytes" in given:
                least = 0 if call == "barrier" else 1  # GOAL has no messages of no bytes
                sizes = {
                    name: max(least, given[name]) for name in ("bytes", "rbytes") if name in given
                }
                more = {**given, **sizes, **({"bytes": 0} if call == "barrier" else {})}
            found[-1].append((gap, kept.get(call, call), more))
    return found, comms


@pytest.mark.parametrize("seed", [1, 4, 6, 11, 12, 25])
@pytest.mark.parametrize("suffix", [".goal", ".tit"])
def test_a_run_written_as_text_ends_when_it_did(tmp_path, suffix, seed):
    """Without overheads, a text read again and timed on the machine of the run ends as the run."""
    costs = Costs(o=0, latency=50, per_byte=1)
    program = plain(seed, collectives=suffix == ".tit")
    trace = trace_of({"unit": "1 us", **neutral(program, costs)}, "x")
    losses = write_trace(trace, tmp_path / f"a{suffix}")
    known = Recorded(overhead=0.0, latency=50e-6, per_byte=1e-6)
    again = with_times(read_trace(tmp_path / f"a{suffix}"), known, 1e-9)
    assert not any("peer and tag" in one for one in losses)
    assert again.ends.tolist() == pytest.approx((trace.ends * 1e-6).tolist(), abs=1e-12)


def messages(trace):
    got = received(trace)
    comms = len(trace.communicators)
    return Counter(
        (rank, one.to, one.tag * comms + one.comm, max(one.size, 1))
        for rank in range(trace.size)
        for one in decoded(trace, rank, got)
        if one.to >= 0
    )


@pytest.mark.parametrize("suffix", [".goal", ".tit"])
@pytest.mark.parametrize("seed", ALWAYS)
def test_messages_and_work_come_back_from_text(tmp_path, seed, suffix):
    trace = random_trace(seed)
    try:
        losses = write_trace(trace, tmp_path / f"a{suffix}")
    except UnsupportedError as error:
        assert "collectives" in str(error)  # noqa: PT017
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
    with pytest.raises(FileError, match="a trace is written as"):
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


@pytest.mark.parametrize("suffix", WRITERS)
def test_nothing_is_left_where_no_more_can_be_written(tmp_path, suffix):
    if suffix == ".otf2":
        pytest.importorskip("otf2")
    calls = [{"kind": "barrier", "t_start": 9 * n, "t_end": 9 * n + 5} for n in range(4000)]
    trace = trace_of({"unit": "1 us", "ranks": [calls, calls]}, "long")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, limits[1]))
    try:
        with pytest.raises(FileError, match=r"cannot be written: File (is )?too large"):
            write_trace(trace, tmp_path / f"a{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


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
    assert "has no times; time it on a machine first (--machine)" in capsys.readouterr().err
    assert not path.exists()
    trace = random_trace(1)
    begin, end = perfetto.spans(trace, np.zeros(trace.count))
    assert (begin == trace.events.times[:, START]).all()
    assert (end == trace.events.times[:, END]).all()
