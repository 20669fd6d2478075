"""Applications of today: what they read, and who gets it, against plain loops."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil, floor

import numpy as np
import pytest

import parcast_emulator
from parcast import InvalidPointError, Query, Registry
from parcast.testing import check_solver, check_workload
from parcast_emulator.emulators.declustering import deal, hilbert
from parcast_emulator.emulators.orbits import group_loads
from parcast_emulator.hardware import cluster_of

from .test_emulators import UNIT

REGISTRY = Registry([parcast_emulator])
SMALL = {
    "unet3d-h100": {"files": 90},
    "checkpoint": {"weights": 2e6},
    "chunked-array": {"rows": 8, "columns": 12},
    "tiled-pyramid": {"views": 3, "rounds": 2},
    "shuffle": {"maps": 2, "partitions": 3},
    "object-store": {"objects": 2},
}


def ask(name, p=6, d=2, machine=UNIT, content=None, **parameters):
    given = SMALL[name] | parameters if content is None else parameters
    return Query(
        workload=REGISTRY.workload(content or name), machine=REGISTRY.machine(machine), p=p, d=d,
        parameters=given,
    )  # fmt: skip


def blocks(query):
    """Return for each epoch each block's node, disk, offset, size, compute and consumers."""
    cluster = cluster_of(query)
    for made in query.workload.content.epochs(query, cluster):
        lists = made.consumers.as_lists()
        every = lists.start[1:-1] if len(made.disk) else []
        consumers = [one.tolist() for one in np.split(lists.nodes, every)]
        size, compute = (np.broadcast_to(one, made.disk.shape) for one in (made.size, made.compute))
        yield list(
            zip(cluster.node_of[made.disk].tolist(), made.disk.tolist(), made.offset.tolist(),
                size.tolist(), compute.tolist(), consumers, strict=True)
        )  # fmt: skip


@pytest.mark.parametrize("servers", [0, 2])
@pytest.mark.parametrize("name", SMALL)
def test_data_are_on_the_servers_and_others_get_them(name, servers):
    if (name, servers) == ("object-store", 0):
        return
    found = list(blocks(ask(name, servers=servers)))
    assert found
    for epoch in found:
        assert epoch
        for node, _, offset, size, compute, consumers in epoch:
            assert node < (servers or 6)
            assert size > 0
            assert offset >= 0
            assert compute >= 0
            assert len(set(consumers)) == len(consumers) > 0
            assert all(servers <= one < 6 for one in consumers)


@pytest.mark.parametrize("name", ["checkpoint", "chunked-array", "shuffle", "object-store"])
@pytest.mark.parametrize("servers", [1, 3])
def test_no_two_blocks_of_a_disk_overlap(name, servers):
    for epoch in blocks(ask(name, servers=servers)):
        by_disk = sorted((disk, offset, offset + size) for _, disk, offset, size, *_ in epoch)
        for (disk, _, end), (other, begin, _) in pairwise(by_disk):
            assert other != disk or begin >= end * (1 - 1e-12)


def test_every_accelerator_reads_its_share_of_all_files():
    query = ask("unet3d-h100", p=5, servers=2, epochs=2)
    first, second = blocks(query)
    for epoch in (first, second):
        places = Counter((disk, offset) for _, disk, offset, *_ in epoch)
        assert len(epoch) == 90 // (7 * 3) * 7 * 3
        assert set(places.values()) == {1}
        assert Counter(one for *_, (one,) in epoch) == dict.fromkeys((2, 3, 4), 28)
        assert {compute for *_, compute, _ in epoch} == {0.323 / 7}
    assert first != second
    assert query.workload.content.closed_form(query) == pytest.approx(2 * 4 * 0.323)


def test_files_with_many_samples_are_read_from_their_beginning():
    table = {"files": 6, "samples": 4, "size": 10, "batch": 2, "compute": 1, "servers": 1}
    query = ask("", p=4, content={"name": "x", "kind": "emulator", "dlio": table})
    ((*epoch,),) = blocks(query)
    for client in (1, 2, 3):
        offsets = [offset % 40 for _, _, offset, *_, (one,) in epoch if one == client]
        assert offsets == [0, 10, 20, 30] * 2
    assert len({(disk, offset) for _, disk, offset, *_ in epoch}) == 24


@pytest.mark.parametrize("disks", [1, 2])
def test_a_checkpoint_takes_as_long_as_writing_does(disks):
    machine = UNIT | {"disk": {"bandwidth": 9e9, "write_bandwidth": 1e7, "overhead": 1e-3}}
    query = ask("checkpoint", p=2, d=disks, machine=machine, weights=3e6)
    ((*epoch,),) = blocks(query)
    bus, free, end = [0.0] * 2, [0.0] * 4, 0.0
    for node, disk, _, size, _, consumers in epoch:  # forwards: over the bus, then to the disk
        assert consumers == [node]
        bus[node] += size / 2e7
        free[disk] = max(free[disk], bus[node]) + 1e-3 + size / 1e7
        end = max(end, free[disk])
    assert sum(size for *_, size, _, _ in epoch) == pytest.approx(14 * 3e6)
    (row,) = REGISTRY.compare(query.workload, machine, p=2, d=disks, solvers="emulator.lc",
                              settings={"weights": 3e6}).rows  # fmt: skip
    assert row.time == pytest.approx(end)


def test_writes_are_neither_programs_nor_waited_for():
    settings = {"weights": 2e6, "emulator.tc.reads": "blocking"}
    rows = REGISTRY.compare("checkpoint", UNIT, p=2, solvers="emulator.tc", settings=settings).rows
    assert "where no process can wait for a call" in rows[0].message
    from parcast import UnsupportedError
    from parcast.comparison.lowering import lower

    with pytest.raises(UnsupportedError, match="in reverse time, and a program runs forward only"):
        lower(REGISTRY.lowerings, ask("checkpoint"), "program")


@pytest.mark.parametrize("partitioning", ["round-robin", "hilbert", "load-balanced"])
def test_chunks_go_to_the_owners_of_all_cells_that_they_meet(partitioning):
    table = {
        "rows": 7, "columns": 5, "size": 10, "output_rows": 3, "output_columns": 4,
        "overlap": 0.5, "compute": 1, "task": 0.5, "partitioning": partitioning,
        "declustering": "minimax",
    }  # fmt: skip
    query = ask("", content={"name": "x", "kind": "emulator", "chunked_array": table})
    ((*epoch,),) = blocks(query)
    owners = query.workload.content.chunked_array.owners(
        {"rows": 7, "columns": 5, "output_rows": 3, "output_columns": 4, "overlap": 0.5}, 6
    )
    for chunk, (_, _, _, _, compute, consumers) in enumerate(epoch):
        row, column = divmod(chunk, 5)
        cells = [
            r * 4 + c
            for r in range(max(0, floor((row - 0.5) / 7 * 3)), min(3, ceil((row + 1.5) / 7 * 3)))
            for c in range(
                max(0, floor((column - 0.5) / 5 * 4)), min(4, ceil((column + 1.5) / 5 * 4))
            )
        ]
        assert consumers == list(dict.fromkeys(owners[cell] for cell in cells))
        assert compute == 1.5
    loads = Counter(one for *_, consumers in epoch for one in consumers)
    assert query.workload.content.closed_form(query) == max(loads.values()) * 1.5


@pytest.mark.parametrize(("maps", "empty"), [(1, "9 of the 12"), (3, "3 of the 12"), (4, None)])
def test_disks_that_no_data_are_on_are_told(maps, empty):
    """The output of a map is on one disk, so a map a node uses one of its four."""
    slow = UNIT | {"disk": {**UNIT["disk"], "bandwidth": 1.0}}
    settings = {"maps": maps, "partitions": 8}
    row = REGISTRY.predict("shuffle", slow, "emulator.lc", p=3, d=4, settings=settings)
    told = [note for note in row.notes if "have none of it" in note]
    assert [note.split(" disks")[0] for note in told] == ([empty] if empty else [])
    assert row.notes[0].endswith("and so have the others with data" if empty else "the others")


def test_a_shuffle_is_the_matrix_of_maps_and_partitions():
    query = ask("shuffle", p=3, skew=1)
    ((*epoch,),) = blocks(query)
    weights = [1 / (k + 1) for k in range(9)]
    got = Counter()
    for *_, size, compute, (owner,) in epoch:
        got[owner] += size
        assert compute == pytest.approx(size / 1e9)
    for owner in range(3):
        assert got[owner] == pytest.approx(3e9 * sum(weights[owner::3]) / sum(weights))
    assert len(epoch) == 6 * 9
    assert query.workload.content.closed_form(query) == pytest.approx(got[0] / 1e9)


def test_a_view_is_a_rectangle_of_a_level():
    query = ask("tiled-pyramid", p=4, views=5)
    found = list(blocks(query))
    assert len(found) == 2
    seen = Counter(one for epoch in found for *_, (one,) in epoch)
    assert set(seen) == set(range(4))
    pyramid = query.workload.content.tiled_pyramid
    assert [pyramid.shape(level) for level in (0, 1, 7)] == [(196, 196), (98, 98), (2, 2)]
    cells = pyramid.visible_cells(1, np.array([[0.0, 0.999], [0.0, 0.999]]))
    assert cells[0].tolist() == [r * 98 + c for r in range(4) for c in range(6)]
    assert cells[1, -1] == 98 * 98 - 1


def test_a_hilbert_curve_goes_from_neighbor_to_neighbor():
    place = hilbert(16, 16)
    assert sorted(place) == list(range(256))
    for one, other in pairwise(np.argsort(place).tolist()):
        assert abs(one // 16 - other // 16) + abs(one % 16 - other % 16) == 1
    assert len(set(hilbert(5, 9).tolist())) == 45


def hottest(how):
    """Return the mean number of blocks that a 4 x 4 range reads from one disk of 16 at most."""
    disk = deal(how, 16, 16, 16).reshape(16, 16)
    ranges = [disk[r : r + 4, c : c + 4].ravel() for r in range(13) for c in range(13)]
    return np.mean([np.bincount(one).max() for one in ranges])


def test_curves_and_trees_spread_ranges_over_more_disks():
    # 16 columns on 16 disks: along the rows each column is on one disk
    assert hottest("round-robin") == 4
    assert hottest("hilbert") < 3
    assert hottest("minimax") < 3
    for how in ("round-robin", "hilbert", "minimax", "load-balanced"):
        assert set(np.bincount(deal(how, 6, 7, 5))) == {8, 9}
    with pytest.raises(InvalidPointError, match="at most 4096 cells"):
        deal("minimax", 100, 100, 2)


def test_the_heaviest_cells_are_dealt_first():
    assert deal("load-balanced", 1, 5, 2, [1, 5, 3, 2, 3]).tolist() == [1, 0, 1, 0, 1]


def test_rows_are_cut_so_that_the_heaviest_is_least():
    random = np.random.default_rng(3)
    for _ in range(30):
        loads, groups = random.integers(1, 20, 7).tolist(), int(random.integers(1, 8))
        found = group_loads(loads, groups)
        heaviest = max(sum(np.array(loads)[found == one]) for one in set(found.tolist()))
        cuts = [[0, *(i + 1 for i in range(6) if mask >> i & 1), 7] for mask in range(64)]
        best = min(
            max(sum(loads[a:b]) for a, b in pairwise(cut)) for cut in cuts if len(cut) - 1 <= groups
        )
        assert heaviest == best
        assert max(found) < groups
        assert sorted(found) == found.tolist()


def test_balanced_cells_are_never_hotter_and_cool_small_machines():
    orbits = REGISTRY.workload("titan").content.titan.orbits
    for p in (1, 6, 15, 32, 64, 128, 1024, 8192):
        even, cut = (
            orbits.hottest(orbits.cells(how, p, 0)) for how in ("equal-area", "load-balanced")
        )
        assert cut <= even
        assert cut >= 1 / 28 - 1e-12  # the last ring
        if p == 32:
            assert even / cut > 1.7
        if p == 8192:
            assert even == pytest.approx(cut)


@pytest.mark.parametrize("name", ["unet3d-h100", "checkpoint", "chunked-array", "object-store"])
def test_the_solver_conforms(name):
    why = "an application's computation is stated in seconds"
    assert check_solver(REGISTRY, "emulator.lc", [ask(name, servers=1)], absolute=why)


@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"object-store"}))  # it needs two nodes
def test_a_shipped_workload_conforms(name):
    check_workload(REGISTRY, name)


WRONG = {
    "no consumer": ("shuffle", {"servers": 6}, "servers = 6 of p=6 nodes; give a whole number"),
    "half a server": ("checkpoint", {"servers": 0.5}, "servers = 0.5 of p=6 nodes"),
    "no store": ("object-store", {"servers": 0}, "an object store is on nodes of its own"),
    "few samples": (
        "unet3d-h100",
        {"files": 5},
        "5 samples are less than a step of 6 accelerators",
    ),
    "empty rounds": ("tiled-pyramid", {"views": 1, "rounds": 9}, "9 rounds of 6 views leave some"),
    "too many": ("chunked-array", {"rows": 1e5, "columns": 1e5}, "an epoch has 10000000000 blocks"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_has_no_meaning_is_one_sentence(name):
    workload, parameters, sentence = WRONG[name]
    with pytest.raises(InvalidPointError) as caught:
        ask(workload, **parameters).workload.content.check(ask(workload, **parameters))
    assert sentence in str(caught.value)
