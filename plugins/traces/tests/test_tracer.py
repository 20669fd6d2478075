"""The tracer's records: their format, and runs that are converted though nothing checks them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from parcast_traces.errors import TraceError
from parcast_traces.readers.tracer import trace_of
from parcast_traces.tracer.records import CODES, HEADER, RECORD, offset, packer
from parcast_traces.tracer.runs import HEADER_TYPE, RECORD_TYPE, RankRecords, Run
from parcast_traces.writers import write_trace


def test_the_two_forms_of_the_format_agree():
    for fields, kind in ((HEADER, HEADER_TYPE), (RECORD, RECORD_TYPE)):
        assert packer(fields).size == kind.itemsize == 64
        assert [offset(fields, name) for name, _ in fields] == [
            kind.fields[name][1] for name, _ in fields
        ]


def killed():
    """Return a run whose second rank was killed before it received or waited."""
    rows = [np.zeros(count, RECORD_TYPE) for count in (4, 2)]
    calls = ("init isend recv barrier", "init irecv")
    for rank, (table, names) in enumerate(zip(rows, calls, strict=True)):
        table["call"] = [CODES[name] for name in names.split()]
        table["start"], table["end"] = np.arange(len(table)), np.arange(len(table)) + 1
        table["peer"], table["bytes"] = 1 - rank, 8
    rows[0]["request"][1] = rows[1]["request"][1] = 1
    rows[0]["bytes"][2] = 24
    ranks = [RankRecords(rank, 2, rank == 0, False, 0, table) for rank, table in enumerate(rows)]
    return Run(ranks, {0: (0, 1)})


def test_what_a_killed_rank_left_open_is_converted_and_not_taken_for_a_run(tmp_path):
    with pytest.raises(TraceError, match=r"leak|unmatched|incomplete"):
        trace_of(killed(), "run")
    trace = trace_of(killed(), "run", checked=False)
    assert write_trace(trace, tmp_path / "run.json") == ()
    events = json.loads((tmp_path / "run.json").read_text())["ranks"]
    assert [[event["kind"] for event in rank] for rank in events] == [
        ["init", "isend", "recv", "barrier"], ["init", "irecv"]
    ]  # fmt: skip
    assert [events[0][1]["bytes"], events[0][2]["bytes"]] == [8, 24]


def test_an_archive_of_a_killed_run_has_what_was_received(tmp_path):
    otf2 = pytest.importorskip("otf2")
    trace = trace_of(killed(), "run", checked=False)
    assert write_trace(trace, tmp_path / "run.otf2") == ("that the clocks of all ranks are one",)
    with otf2.reader.open(str(tmp_path / "run.otf2" / "traces.otf2")) as archive:
        events = [event for _, event in archive.events]
    received = [one.msg_length for one in events if isinstance(one, otf2.events.MpiRecv)]
    assert received == [24]


def test_a_receive_that_is_given_up_is_a_loss(tmp_path):
    pytest.importorskip("otf2")
    rows = np.zeros(3, RECORD_TYPE)
    rows["call"] = [CODES[name] for name in ("irecv", "request_free", "send")]
    rows["start"], rows["end"] = np.arange(3), np.arange(3) + 1
    rows["request"] = [1, 1, 0]
    run = Run([RankRecords(0, 1, True, False, 0, rows)], {0: (0,)})
    losses = write_trace(trace_of(run, "run"), tmp_path / "run.otf2")
    assert "when receives are freed, and their sources" in losses
