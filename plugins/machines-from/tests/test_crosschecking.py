"""What outputs say beside a machine's numbers is used, or said."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from parcast import Registry
from parcast_machines_from.crosschecking import contradicted, unused
from parcast_machines_from.estimating.machine import Estimate, estimate
from parcast_machines_from.placing import read_placed
from parcast_machines_from.records import Reading, Series, Value

SIZES = (8.0, 1024.0, 65536.0, 4194304.0)


def pairs(startup: float, rate: float, within: str = "") -> Series:
    values = tuple(Value(n, startup + n / rate, at) for at, n in enumerate(SIZES, 3))
    return Series("latency", "s", values, f"pp{within}.out", "IMB", processes=2, within=within)


def ring(processes: int, seconds: float) -> Series:
    values = tuple(Value(n, 1e-6 + seconds * n / SIZES[-1], at) for at, n in enumerate(SIZES, 3))
    return Series("sendrecv", "s", values, f"ring{processes}.out", "IMB", processes=processes)


def machine_of(*series: Series) -> tuple[Estimate, Reading]:
    reading = Reading(series)
    return estimate(reading, "m", {"node": 4}), reading


def test_a_ring_of_all_cores_of_a_node_tells_what_they_share() -> None:
    near, far = pairs(4e-7, 5e9, "node"), pairs(1e-6, 5e9)
    result, reading = machine_of(near, far, ring(4, 4e-3))
    (level,) = result.data["network"]["levels"]
    assert level["shared"] == "4.193 GB/s"
    assert "ring4.out:6" in result.data["sources"]["network.levels"]
    assert not list(unused(result, reading))
    (level,) = machine_of(near, far, ring(8, 4e-3))[0].data["network"]["levels"]
    assert "shared" not in level
    both = attrs.evolve(
        near, benchmark="pairs", quantity="B/s", pairs=2, values=(Value(8, 9e9, 3),)
    )
    (level,) = machine_of(near, far, both, ring(4, 4e-3))[0].data["network"]["levels"]
    assert level["shared"] == "9 GB/s"


@pytest.mark.parametrize(("seconds", "count"), [(1e-3, 0), (4e-3, 1), (2e-4, 1)])
def test_longest_messages_that_take_another_time_contradict(seconds: float, count: int) -> None:
    result, reading = machine_of(pairs(1e-6, 5e9), ring(8, seconds), ring(4, 1.0))
    texts = list(contradicted(Registry(), result, reading))
    assert len(texts) == count
    assert all(
        text.startswith("sendrecv of 8 processes, ring8.out:6: 4 MiB take") for text in texts
    )


def test_outputs_that_no_number_is_of_are_named() -> None:
    rate = Series("file-stat", "1/s", (Value(0.0, 9e4, 13),), "md.log", "mdtest 1.9.3", 8, 2)
    result, reading = machine_of(pairs(1e-6, 5e9), ring(8, 1e-3), rate)
    assert list(unused(result, reading)) == [
        "not used, mdtest 1.9.3: a machine's file has no number of such operations",
        "not used, sendrecv: 'parcast machine check' predicts them",
    ]


def test_a_machine_of_one_node_says_on_how_many_outputs_ran() -> None:
    near = pairs(4e-7, 5e9, "node")
    result, _ = machine_of(near, ring(30, 1e-3))
    assert result.data["nodes"]["count"] == 1
    assert [text for text in result.open if "ring30.out:3 ran on 8, and this machine is" in text]
    alone, _ = machine_of(near, ring(4, 1e-3))
    assert not [text for text in alone.open if "ran on" in text]


def test_the_first_of_many_between_two_nodes_are_doubted(tmp_path: Path) -> None:
    text = "# Benchmarking PingPong\n# #processes = 2\n"
    many = "# ( 70 additional processes waiting in MPI_Barrier)\n"
    rows = "#bytes #repetitions t[usec] Mbytes/sec\n0 1000 0.65 0.00\n1024 1000 1.30 787.69\n"
    path = tmp_path / "pp.out"
    path.write_text(text + many + rows)
    (note,) = read_placed([path], ["network=pp.out"]).notes
    assert note.startswith("pp.out: taken as between two nodes, as --within network says, though")
    assert not read_placed([path], ["node=pp.out"]).notes
    path.write_text(text + rows)
    assert not read_placed([path], ["network=pp.out"]).notes
