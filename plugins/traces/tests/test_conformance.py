"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import json

import parcast_traces
from parcast.testing import check_plugin

RUN = {
    "nranks": 2,
    "unit": "1 us",
    "ranks": [
        [{"kind": "send", "peer": 1, "bytes": 8, "t_start": 1000, "t_end": 1010}],
        [{"kind": "recv", "peer": 0, "bytes": 8, "t_start": 200, "t_end": 1078}],
    ],
}


def test_the_package_conforms(tmp_path):
    registry = check_plugin(parcast_traces)
    path = tmp_path / "late.json"
    path.write_text(json.dumps(RUN))
    workload = registry.workload(path)
    assert (workload.kind, workload.processes) == ("trace", 2)
    assert workload.content.trace.count == 2
