"""Parkbench's kernels, fabrics, and the table of this host's benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from parcast import Registry
from parcast.errors import FileError
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import read_all, read_file
from parcast_machines_from.records import Reading, Series, Value

FABRIC = """\
vendid=0x2c9
switchguid=0x2c5eab036832a42e(2c5eab036832a42e)
Switch\t65 "S-2c5eab036832a42e"\t\t# "MF0;LEAF-01:MQM9701/U1" enhanced port 0 lid 2 lmc 0
[1]\t"H-e09d7303b4f1abf5"[1](e09d7303b4f1abf5) \t\t# "node1 mlx5_0" lid 100 4xNDR
[2]\t"H-e09d7303e640df18"[1](e09d7303e640df18) \t\t# "node1 mlx5_1" lid 101 4xNDR
[3]\t"H-e09d730383c7a290"[1](e09d730383c7a290) \t\t# "node2 mlx5_0" lid 107 4xNDR

Ca\t1 "H-e09d7303b4f1abf5"\t\t# "node1 mlx5_0"
[1](e09d7303b4f1abf5) \t"S-2c5eab036832a42e"[1]\t\t# lid 100 lmc 0 "MF0;LEAF-01" lid 2 4xNDR

Ca\t1 "H-e09d7303e640df18"\t\t# "node1 mlx5_1"
[1](e09d7303e640df18) \t"S-2c5eab036832a42e"[2]\t\t# lid 101 lmc 0 "MF0;LEAF-01" lid 2 4xNDR

Ca\t1 "H-e09d730383c7a290"\t\t# "node2 mlx5_0"
[1](e09d730383c7a290) \t"S-2c5eab036832a42e"[3]\t\t# lid 107 lmc 0 "MF0;LEAF-01" lid 2 4xNDR
"""
COMMS1 = "# COMMS1\nbytes,seconds\n8,150.3 us\n1024,187.9 us\n65536,2577 us\n1048576,38.99 ms\n"
COMMS3 = "# COMMS3\np,bandwidth\n1,27 MB/s\n8,110 MB/s\n16,120 MB/s\n"
POLY1 = "# POLY1\noperations,seconds\n1e9,8.33\n1e9,8.2\n1e9,9\n"


def test_kernels_make_the_machine_of_the_queuing_paper(tmp_path: Path) -> None:
    texts = {"ping.csv": COMMS1, "all.csv": COMMS3, "poly.csv": POLY1}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    data = estimate(read_all([tmp_path]), "sp2", {}).data
    machine = Registry().machine(data)
    assert machine.processor.rate == pytest.approx(120e6, rel=1e-3)
    assert machine.network.startup == pytest.approx(150e-6, rel=0.01)
    assert machine.network.bandwidth == pytest.approx(27e6, rel=0.01)
    assert machine.network.saturation == 120e6
    assert data["sources"]["network.saturation"] == (
        "measured: Parkbench, all.csv:5, 16 processes at once"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (COMMS1 + "7\n", ":7: 1 cells stand below 2 heads"),
        ("#COMMS1\nbytes,round_trip\n8,x\n", ":3: round_trip: "),
        ("#COMMS3\np,bandwidth\n2,0 MB/s\n", ":3: bandwidth is 0 MB/s, and must be above 0"),
        ("#COMMS1\nbytes,seconds\n", "COMMS1 has no rows"),
        ("bytes,seconds\n8,1e-6\n", "no line '# COMMS1' says that"),
    ],
)
def test_a_wrong_table_is_refused_by_its_line(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FileError) as refused:
        read_file(path)
    assert reason in str(refused.value)


def test_round_trips_and_exchanges_are_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# COMMS1\nbytes,round_trip\n8,4 us\n")
    (tmp_path / "b.csv").write_text("# COMMS3\np,bytes,seconds\n4,1000,1 ms\n")
    trip, exchange = read_all([tmp_path]).series
    assert trip.values[0].value == 2e-6
    assert (exchange.values[0].value, exchange.processes) == (pytest.approx(12e6), 4)


def test_a_fabric_tells_its_hosts_and_their_ports(tmp_path: Path) -> None:
    path = tmp_path / "net"
    path.write_text(FABRIC)
    facts = {fact.key: fact for fact in read_file(path).facts}
    assert facts["nodes.count"].value == 2
    assert facts["ports.bandwidth"].value in {100e9, 50e9}  # one host has two ports of 400 Gbit/s
    for cut in range(FABRIC.index("[3]") + 30, len(FABRIC) - 90, 7):
        path.write_text(FABRIC[:cut])
        with pytest.raises(FileError, match="the file is cut"):
            read_file(path)


def test_pairs_on_many_nodes_saturate_and_pairs_of_two_are_told() -> None:
    latency = Series("latency", "s", (Value(8.0, 2e-6, 1), Value(1e6, 1e-4, 2)), "l", "OSU")
    window = Series("bandwidth", "B/s", (Value(1e6, 1e10, 1),), "b", "OSU", window=64)
    wide = Series("pairs", "B/s", (Value(1e6, 9e10, 4),), "w", "OSU", pairs=8, nodes=16)
    two = Series("pairs", "B/s", (Value(1e6, 2e10, 4),), "t", "OSU", pairs=8, nodes=2)
    result = estimate(Reading((latency, window, wide, two)), "m", {})
    assert result.data["network"]["saturation"] == "90 GB/s"
    assert [note for note in result.notes if "8 pairs have 20 GB/s together (t:4)" in note]


TABLE = """\
role,system,application,within,nodes,processes,window,message_bytes,metric,median,min,max,n,unit
input,,triad,node,1,2,,0,mpi measure,5e10,4.9e10,5.1e10,11,B/s
input,,latency,node,1,2,,8,mpi measure,1e-06,9e-07,1.1e-06,11,s
input,,bandwidth,node,1,2,64,8,mpi measure,1.6e7,1.5e7,1.7e7,11,B/s
input,,allreduce,node,1,2,,8,mpi measure,2e-06,1.9e-06,2.1e-06,11,s
input,,bcast,node,1,2,,8,mpi measure,1.5e-06,1.4e-06,1.6e-06,11,s
input,,sendrecv,node,1,2,,8,mpi measure,1.3e-06,1.2e-06,1.4e-06,11,s
input,,gemm,node,1,2,,0,mpi measure,4e9,3.9e9,4.1e9,11,FLOP/s
"""


def test_intervals_hold_repeats_and_how_far_other_benchmarks_are_off(tmp_path: Path) -> None:
    path = tmp_path / "host.csv"
    path.write_text(TABLE)
    reading = read_file(path)
    assert {item.within for item in reading.series} == {"node"}
    data = {
        "name": "host",
        "processor": {"rate": "2 GFLOP/s"},
        "nodes": {"count": 1, "cores": 2, "memory_bandwidth": "50 +- 1 GB/s"},
        "network": {"startup": "0.6 +- 0.001 us", "bandwidth": "10 GB/s", "overhead": "0.2 us"},
    }
    registry = Registry()
    checked = check_machine(registry, registry.machine(data), reading, limit=8, samples=30)
    rows = {item.benchmark: item for item in checked.compared}
    allreduce = rows["allreduce"]  # off by two: in its interval, since sendrecv and others are off
    assert allreduce.error == pytest.approx(-0.5, abs=0.05)
    assert allreduce.inside
    alone = Reading(tuple(item for item in reading.series if item.benchmark == "allreduce"))
    (own,) = check_machine(registry, registry.machine(data), alone, limit=8, samples=30).compared
    assert not own.inside  # nothing tells how far others are off
    assert own.high is not None
    assert own.high > own.predicted * 1.02  # its repeats count
    assert rows["gemm"].predicted == pytest.approx(4e9)
    sources = {"processor.rate": "measured: POLY1 on all 2 cores at once"}
    polynomial = registry.machine({**data, "sources": sources})
    notes = check_machine(registry, polynomial, reading, limit=8, samples=0).notes
    assert [note for note in notes if "--kernel dgemm" in note]
