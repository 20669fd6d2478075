"""Traces that are longer than is wanted: refused before they are read as a whole."""

import pytest

from parcast.errors import UnsupportedError
from parcast_traces.readers import Limit, read_trace


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


def test_the_next_trace_has_no_limit(long_trace):
    test_a_trace_that_is_too_long_is_refused_before_its_end(long_trace)
    long_trace.write_text(long_trace.read_text().replace("no line\n", ""))
    assert read_trace(long_trace).count == 20_001
