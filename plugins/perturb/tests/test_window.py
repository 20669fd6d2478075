"""Long traces: a window over a file gives the same numbers, with the same calls."""

import random

import numpy as np
import pytest

from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.propagation import forms, running, window
from parcast_perturb.propagation.running import propagate
from parcast_traces.readers import columnar
from parcast_traces.trace import recording as recording_room
from parcast_traces.trace import spilling
from parcast_traces.trace.recording import Recording


@pytest.fixture(params=["columns", "packed"])
def saved(request, tmp_path, monkeypatch):
    """Record a run, to columns or packed, with calls of all kinds and requests open for long."""
    if request.param == "packed":
        monkeypatch.setattr(recording_room, "MOST_HELD", 300 * spilling.EVENT.itemsize)
        monkeypatch.setattr(spilling, "_MOST_OF_A_BLOCK", 70)
    rng, recording = random.Random(1), Recording(3)
    for rank in recording.ranks:
        clock, (left, right) = 10.0 * rank.rank, ((rank.rank - 1) % 3, (rank.rank + 1) % 3)
        for lap in range(900):
            if lap % 300 == (298 if rank.rank == 2 else 0):
                rank.collective("ibarrier", clock, clock + 1, request=f"b{lap // 300}")
            if lap % 300 == 0:
                rank.receive("irecv", clock + 1, clock + 2, left, tag=lap + 7, request=f"o{lap}")
            rank.receive("irecv", clock + 2, clock + 3, left, request="r")
            rank.send("isend", clock + 3, clock + 4, right, rng.choice([8, 4000]), request="s")
            rank.wait("waitall", clock + 4, clock + 50, ["r", "s"])
            clock += 50 + rng.randrange(100)
            if lap % 300 == 299:
                rank.send("isend", clock, clock + 1, right, 3000, tag=lap - 292, request="t")
                rank.wait("waitall", clock + 1, clock + 9, [f"b{lap // 300}", f"o{lap - 299}", "t"])
                clock += 9
    if request.param == "packed":
        return recording.trace(tick=1e-6)
    columnar.write(recording.trace(tick=1e-6), tmp_path / "run.trace")
    return columnar.read(tmp_path / "run.trace")


def test_a_window_over_a_file_changes_no_number(saved, monkeypatch):
    monkeypatch.setattr(forms.PROPAGATION, "worth_compiling", lambda _: False)
    values = np.random.default_rng(1).exponential(30, 65536)
    added = Perturbation(noise=(Addition(values=values),), latency=(Addition(20.0),))
    known = Recorded(overhead=1, latency=5.0, per_byte=0.1, eager_max=1000)
    whole = propagate(saved, added, known, "clocked")
    kept, dropped = [], []
    monkeypatch.setattr(window, "_EVENTS", 3 * 64)
    monkeypatch.setattr(running, "MOST_EVENTS", 0)
    move, drop = window.Window.move, window._SparseTable.drop

    def watched(self, state):
        move(self, state)
        kept.append(int(np.count_nonzero(self.table.times[:, 1])))

    def counted(self, first, kept, low):
        dropped.append(low)
        drop(self, first, kept, low)

    monkeypatch.setattr(window.Window, "move", watched)
    monkeypatch.setattr(window._SparseTable, "drop", counted)
    parts = propagate(saved, added, known, "clocked")
    assert (parts.final == whole.final).all()
    assert (parts.changes == whole.changes).all()
    assert dropped
    assert 0 < max(kept) < saved.count / 2  # 300 laps stand open, and what is behind is let go of
