"""Random flows on random topologies, by parcast and by SimGrid's S4U: equal ends, and how fast.

Needs g++ and libsimgrid-dev. ``python against_simgrid.py 500`` compares so many topologies, and
then times larger ones. SimGrid is set to share fairly and do nothing else.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from parcast.model import Fabric, Ports
from parcast_network.description import Cable, Description
from parcast_network.sharing import compiled

FAIR = [
    f"--cfg={setting}"
    for setting in (
        "network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
        "network/weight-S:0", "network/latency-factor:1", "network/bandwidth-factor:1",
        "surf/precision:1e-12",
    )
]  # fmt: skip


def built(folder: Path) -> Path:
    """Compile the player of flows."""
    program = folder / "flows"
    source = Path(__file__).with_name("flows.cpp")
    subprocess.run(
        ["g++", "-O2", "-std=c++17", "-o", program, source, "-lsimgrid"],  # noqa: S607
        check=True,
    )
    return program


def simulated(program, capacity, shared, hosts, flows, optim="Full"):
    """Return when each flow ends in SimGrid, and the seconds it took.

    Parameters
    ----------
    program
        The player of flows.
    capacity, shared
        Of the links.
    hosts
        How many.
    flows
        Of each its start, bytes, source, destination and links.
    optim
        How SimGrid updates rates: Full is exact.
    """
    lines = [f"{len(capacity)} {len(flows)}"]
    lines += [f"{c!r} 0 {int(s)}" for c, s in zip(capacity.tolist(), shared.tolist(), strict=True)]
    lines += [str(hosts)]
    for start, size, source, target, route in flows:
        links = [int(link) for link in route if link >= 0]
        words = (float(start), int(size), source, target, len(links), *links)
        lines.append(" ".join(map(repr, map(np.asarray(words, object).item, range(len(words))))))
    path = program.with_name("flows.txt")
    path.write_text("\n".join(lines))
    done = subprocess.run(
        [program, path, f"--cfg=network/optim:{optim}", *FAIR, "--log=root.t:error"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return np.array([float(end) for end in done.stdout.split()]), float(done.stderr.split()[-1])


def random_topology(draw: random.Random) -> tuple[Description, int]:
    """Return a small topology, and the nodes it holds."""
    bandwidth = draw.choice([1e9, 2e9, draw.uniform(0.3e9, 3e9)])
    half = draw.random() < 0.2

    def sizes(most: int, count: int) -> tuple[int, ...]:
        return tuple(draw.randint(1, most) for _ in range(count))

    match draw.choice(["star", "bus", "tree", "tree", "torus", "dragonfly", "graph"]):
        case "star":
            return Description(kind="star"), draw.randint(2, 12)
        case "bus":
            return Description(kind="bus", bandwidth=bandwidth), draw.randint(2, 12)
        case "tree":
            levels = draw.randint(1, 3)
            tree = Description(
                kind="fat-tree", down=sizes(4, levels), up=(1, *sizes(3, levels - 1)),
                cables=(1, *sizes(2, levels - 1)), bandwidth=bandwidth, half=half,
                routing=draw.choice(["d-mod-k", "ecmp"]),
            )  # fmt: skip
            return tree, int(np.prod(tree.down))
        case "torus":
            dims = sizes(4, draw.randint(1, 3))
            torus = Description(kind="torus", dims=dims, bandwidth=bandwidth, half=half)
            return torus, int(np.prod(dims))
        case "dragonfly":
            groups, routers, nodes = sizes(4, 3)
            dragonfly = Description(
                kind="dragonfly", groups=groups, routers=routers, nodes=nodes,
                bandwidth=bandwidth, global_bandwidth=bandwidth * draw.choice([0.5, 1, 2]),
            )  # fmt: skip
            return dragonfly, groups * routers * nodes
    nodes, switches = draw.randint(2, 8), draw.randint(1, 5)
    links = [Cable(ends=(f"node{i}", f"s{draw.randrange(switches)}")) for i in range(nodes)]
    links += [
        Cable(
            ends=(f"s{i}", f"s{draw.randrange(i)}"),
            bandwidth=draw.uniform(0.2e9, 2e9),
            duplex=draw.choice(["full", "half"]),
            shared=draw.random() < 0.8,
        )
        for i in range(1, switches)
    ]
    return Description(kind="graph", links=tuple(links), bandwidth=bandwidth), nodes


def difference(program: Path, seed: int) -> tuple[int, float]:
    """Return the flows of a random case, and the largest relative difference of their ends."""
    draw = random.Random(seed)  # noqa: S311
    topology, nodes = random_topology(draw)
    if nodes < 2:
        return 0, 0.0
    ports = Ports(nodes=nodes, bandwidth=draw.choice([1e9, draw.uniform(5e8, 2e9)]), seed=seed)
    fabric, count = topology.fabric(ports), draw.randint(1, 60)
    source = np.array([draw.randrange(nodes) for _ in range(count)])
    target = (source + [draw.randrange(1, nodes) for _ in range(count)]) % nodes
    size = [float(draw.choice([10**6, draw.randint(10**5, 3 * 10**6)])) for _ in range(count)]
    start = [draw.choice([0.0, 0.0, 1e-3, draw.uniform(0, 4e-3)]) for _ in range(count)]
    cap = np.array([draw.choice([1e30, 1e30, 5e8, draw.uniform(1e8, 1e9)]) for _ in range(count)])
    routes = fabric.routes(source, target)
    ends = compiled.finish_times(fabric.capacity, routes, cap, size, start, shared=fabric.shared)
    # a cap is a link of the flow's own, between hosts of its own
    links = len(fabric.capacity) + np.arange(count)
    flows = [(start[i], size[i], 2 * i, 2 * i + 1, [*routes[i], links[i]]) for i in range(count)]
    capacity = np.concatenate([fabric.capacity, cap])
    shared = np.concatenate([fabric.shared, np.zeros(count, np.bool_)])
    simgrid, _ = simulated(program, capacity, shared, 2 * count, flows)
    return count, float((abs(ends - simgrid) / simgrid).max())


def timed(program: Path, name: str, fabric: Fabric, nodes: int, flows) -> None:
    """Print how long both take at the same flows."""
    source, target, size, start = flows
    size, routes = np.floor(size), fabric.routes(source, target)
    begin = time.perf_counter()
    ends = compiled.finish_times(fabric.capacity, routes, np.inf, size, start)
    seconds = time.perf_counter() - begin
    listed = list(zip(start, size, source.tolist(), target.tolist(), routes, strict=True))
    print(f"{name}: {len(size):,} flows, parcast {seconds:.3f} s", end="")
    for optim in ("Full", "Lazy"):
        simgrid, took = simulated(program, fabric.capacity, fabric.shared, nodes, listed, optim)
        apart = abs(ends - simgrid).max() / simgrid.max()
        print(
            f"; SimGrid {optim} {took:.3f} s, {took / seconds:.0f} times, differs {apart:.0e}",
            end="",
        )
    print()


def main(cases: int) -> None:
    """Compare random cases, then time larger ones."""
    compiled.finish_times([1.0], [[0]] * 30_000, 1.0, np.ones(30_000), np.zeros(30_000))
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        counts, apart = zip(*(difference(program, seed) for seed in range(cases)), strict=True)
        print(
            f"{np.count_nonzero(counts)} topologies, {sum(counts):,} flows: {max(apart):.1e} apart"
        )
        draw, nodes = np.random.default_rng(0), 256
        tree = Description(kind="fat-tree", down=(16, 16), up=(1, 8))
        fabric = tree.fabric(Ports(nodes=nodes, bandwidth=1e10))
        grid = np.arange(nodes).reshape(16, 16)
        near = [np.roll(grid, step, axis).ravel() for step in (1, -1) for axis in (0, 1)]
        source, target, count = (
            np.tile(grid.ravel(), 20),
            np.tile(np.concatenate(near), 5),
            20 * nodes,
        )
        start = np.repeat(np.arange(5) * 5e-4, 4 * nodes) + draw.uniform(0, 5e-4, count)
        halo = source, target, draw.uniform(0.9e6, 1.1e6, count), start
        timed(program, "five steps of a halo", fabric, nodes, halo)
        source = draw.integers(0, nodes, 5000)
        target = (source + draw.integers(1, nodes, 5000)) % nodes
        start = np.sort(draw.uniform(0, 4e-3, 5000))
        pairs = source, target, draw.uniform(0.5e6, 1.5e6, 5000), start
        timed(program, "random pairs", fabric, nodes, pairs)
        source, target = np.divmod(np.arange(32 * 32), 32)
        apart_ = source != target
        source, target = source[apart_] * 8, target[apart_] * 8
        start = draw.uniform(0, 1e-5, len(source))
        everybody = source, target, draw.uniform(0.9e5, 1.1e5, len(source)), start
        timed(program, "all to all", fabric, nodes, everybody)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
