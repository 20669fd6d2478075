"""Traces that are longer than is wanted: refused before they are read as a whole."""

import gzip
import io
import random
import tarfile

import attrs
import pytest

import parcast_traces
from parcast import Registry, Status
from parcast.errors import FileError, UnsupportedError
from parcast_traces import to_program, workload
from parcast_traces.readers import Limit, goal, read_trace, unpacking
from parcast_traces.trace.limits import OF_RECORDED


@pytest.fixture
def long_trace(tmp_path):
    """Return a trace of 20,000 events, whose last line is none."""
    path = tmp_path / "long.tit"
    path.write_text("0 init\n" + "0 send 0 0 8\n0 recv 0 0 8\n" * 10_000 + "no line\n")
    return path


def test_a_trace_that_is_too_long_is_refused_before_its_end(long_trace):
    with pytest.raises(UnsupportedError, match=r"long\.tit has over 5,000 events; cut it"):
        read_trace(long_trace, wanted=lambda _: Limit(5000, "cut it"))


def test_what_is_wanted_depends_on_the_format(long_trace, tmp_path):
    formats = []

    def wanted(own):
        formats.append(own)
        return Limit(5000, "cut it") if own.work else None

    with pytest.raises(UnsupportedError):
        read_trace(long_trace, wanted=wanted)
    timed = tmp_path / "short.json"
    timed.write_text('{"ranks": [[{"kind": "init", "t_start": 0, "t_end": 1}]]}')
    assert read_trace(timed, wanted=wanted).count == 1
    assert [own.work for own in formats] == [True, False]


def test_a_limit_counts_events_that_went_to_a_file(long_trace, monkeypatch):
    from parcast_traces.trace import recording, spilling

    monkeypatch.setattr(recording, "MOST_HELD", 700 * spilling.EVENT.itemsize)
    with pytest.raises(UnsupportedError, match="over 15,000 events"):
        read_trace(long_trace, wanted=lambda _: Limit(15_000, "cut it"))


def test_a_trace_that_no_solver_takes_is_refused_early_and_shown(long_trace, tmp_path, monkeypatch):
    monkeypatch.setattr(workload, "OF_WORK", attrs.evolve(workload.OF_WORK, events=5000))
    registry = Registry([parcast_traces])
    with pytest.raises(UnsupportedError, match=r"over 5,000 events; .* 'parcast show' counts"):
        _ = registry.workload(long_trace).content.trace
    long_trace.write_text(long_trace.read_text().replace("no line\n", ""))
    shown = registry.read(long_trace)
    assert shown.content.trace.count == 20_001
    short = tmp_path / "short.tit"
    short.write_text("0 init\n0 compute 1e9\n0 finalize\n")
    rows = Registry().compare([short, long_trace], "loggp-cluster", solvers="emulator.tc").rows
    assert [row.status for row in rows] == [Status.OK, Status.REFUSED]
    assert "over 5,000 events" in rows[1].message


def test_a_recorded_run_that_becomes_no_program_is_sent_to_who_takes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(to_program, "OF_RECORDED", attrs.evolve(OF_RECORDED, events=1))
    path = tmp_path / "run.json"
    events = [{"kind": "init", "t_start": t, "t_end": t} for t in range(2)]
    path.write_text(f'{{"unit": "1 us", "ranks": [{events}]}}'.replace("'", '"'))
    (row,) = Registry().compare(path, "loggp-cluster", solvers="petri").rows
    assert "over 1 events; a program is in memory as a whole" in row.message
    assert "ask 'parcast perturb'" in row.message


def test_actions_are_counted_before_any_of_them_is_read(tmp_path):
    path = tmp_path / "wrong.tit"
    work = "0 compute 1\n0 COMPUTE 1\n0\tlocation a.c 7\n# 0 send\n"
    path.write_text("0 no action\n" + work * 10 + "0 barrier\n 1  recv -333 0 8\n")
    with pytest.raises(UnsupportedError, match="over 2 events"):
        read_trace(path, wanted=lambda _: Limit(2, "cut it"))
    with pytest.raises(Exception, match="there is no action"):
        read_trace(path, wanted=lambda _: Limit(3, "cut it"))


@pytest.mark.parametrize("packing", ["gz", "tgz"])
def test_actions_are_counted_while_they_are_unpacked(packing, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_CHUNK", 1000)
    draw = random.Random(7)  # so that gzip does not squeeze all into a few bytes
    text = "".join(f"0 send 0 {draw.randrange(10**9)} 8\n0 compute 1\n" for _ in range(6000))
    path = tmp_path / f"long.tit.{packing}"
    if packing == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name in ("a.tit", "b.tit"):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
    path.write_bytes(path.read_bytes()[:-100])  # which is found where it is unpacked to its end
    most = 5900 if packing == "gz" else 8900
    with pytest.raises(UnsupportedError, match=rf"{path.name} has over {most:,} events; cut it"):
        read_trace(path, wanted=lambda _: Limit(most, "cut it"))
    with pytest.raises(FileError, match="is cut off or damaged"):
        read_trace(path, wanted=lambda _: Limit(20_000, "cut it"))


def test_a_long_rank_of_a_schedule_is_refused_within_it(tmp_path, monkeypatch):
    monkeypatch.setattr(goal, "_LOOK", 100)
    path = tmp_path / "long.goal"
    calls = "calc 5\n" * 100 + "send 8b to 0\n" * 20
    path.write_text("num_ranks 1\nrank 0 {\n" + calls + "no line\n")
    with pytest.raises(UnsupportedError, match="over 9 events"):
        read_trace(path, wanted=lambda _: Limit(9, "cut it"))
    with pytest.raises(Exception, match="is no line of a schedule"):
        read_trace(path, wanted=lambda _: Limit(20, "cut it"))


def test_the_next_trace_has_no_limit(long_trace):
    test_a_trace_that_is_too_long_is_refused_before_its_end(long_trace)
    long_trace.write_text(long_trace.read_text().replace("no line\n", ""))
    assert read_trace(long_trace).count == 20_001
