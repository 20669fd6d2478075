"""Random programs on random topologies: SimGrid, emulator.tc, petri and both references.

Needs SimGrid, parcast-emulator and parcast-petri. ``python random_programs.py 500 50`` plays so
many programs on so many topologies, and prints how far each is from exact fractions.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter, defaultdict

from parcast.testing import RandomProgram, by_events, by_sweep, random_program
from parcast_emulator.program_run import compiled_run, process_run
from parcast_network.description import Cable, Description
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.lowering import program_net
from parcast_simgrid.playing import play
from parcast_simgrid.score import score

#: A rate at which messages of random programs take milliseconds.
MEGA = 2.0**20

#: Nodes that every topology has room for, with two ports each.
NODES = 12


def random_topology(seed: int) -> Description:
    """Return a topology that holds `NODES` nodes of two ports each."""
    draw = random.Random(seed)  # noqa: S311  # no secrets
    bandwidth = draw.choice([MEGA / 2, MEGA, 2 * MEGA, draw.randint(2, 32) * MEGA / 8])
    latency = draw.choice([0.0, 2.0**-12, draw.randint(1, 9) * 2.0**-13])
    link = {"bandwidth": bandwidth, "latency": latency, "half": draw.random() < 0.2}
    match draw.choice(["fat-tree", "fat-tree", "torus", "dragonfly", "star", "rails", "graph"]):
        case "star":
            return Description(kind="star")
        case "rails":
            planes = {"down": (4, 3), "up": (1, draw.randint(1, 2)), **link}
            return Description(kind="rails", **draw.choice([{"latency": latency}, planes]))
        case "fat-tree":
            down = draw.choice([(4, 6), (3, 2, 4), (12, 2), (2, 4, 3)])
            up = (1, *(draw.randint(1, 3) for _ in down[1:]))
            cables = (1, *(draw.randint(1, 2) for _ in down[1:]))
            routing = draw.choice(["d-mod-k", "ecmp"])
            return Description(
                kind="fat-tree", down=down, up=up, cables=cables, routing=routing, **link
            )
        case "torus":
            return Description(kind="torus", dims=draw.choice([(24,), (6, 4), (3, 4, 2)]), **link)
        case "dragonfly":
            groups, routers, nodes = draw.choice([(3, 4, 2), (2, 3, 4), (4, 3, 2)])
            return Description(
                kind="dragonfly", groups=groups, routers=routers, nodes=nodes,
                bandwidth=bandwidth, latency=latency,
                global_bandwidth=bandwidth * draw.choice([0.5, 1, 2]),
            )  # fmt: skip
    return _graph(draw, bandwidth)


def _graph(draw: random.Random, bandwidth: float) -> Description:
    """Return a tree of switches with nodes anywhere."""
    switches = draw.randint(1, 5)
    links = [Cable(ends=(f"node{i}", f"s{draw.randrange(switches)}")) for i in range(2 * NODES)]
    links += [
        Cable(
            ends=(f"s{i}", f"s{draw.randrange(i)}"),
            bandwidth=draw.randint(2, 16) * MEGA / 8,
            latency=draw.choice([0.0, 2.0**-13]),
            duplex=draw.choice(["full", "half"]),
            shared=draw.random() < 0.8,
        )
        for i in range(1, switches)
    ]
    return Description(kind="graph", links=tuple(links), bandwidth=bandwidth)


def ends_of(program: RandomProgram) -> dict[str, list[float]]:
    """Return when the processes end, by everybody."""
    ends = {}
    if program.costs.weight_bytes is None:  # else simgrid.flows refuses
        ends["SimGrid"] = list(play(score(program.expanded, program.costs), 120.0).ends)
    for name, engine in (
        ("emulator, processes", process_run),
        ("emulator, compiled", compiled_run),
    ):
        run = engine(program.query, 0.0)
        run.run()
        ends[name] = list(run.ends)
    net = program_net(program.query, Options())
    ends["petri"] = list(
        net.records.read(Play(kernel_arrays(net.net, "compiled")).finish().last).ends
    )
    for name, reference in (("by_sweep", by_sweep), ("by_events", by_events)):
        ends[name] = list(reference(program.expanded, program.costs).ends)
    ends["fractions"] = [float(end) for end in by_sweep(*program.exact).ends]
    return ends


def case(seed: int, topology: Description) -> RandomProgram:
    """Return a program on a machine with a topology."""
    size = random.Random(-seed - 1).randint(2, NODES)  # noqa: S311
    return random_program(
        seed, size=size, contention="fair", without=("io",), network=True, topology=topology
    )


def main(programs: int, topologies: int) -> None:
    """Compare so many programs on so many topologies."""
    begin = time.perf_counter()
    worst, operations, kinds = defaultdict[str, float](float), 0, Counter[str]()
    shapes = [random_topology(seed) for seed in range(topologies)]
    for seed in range(programs):
        shape = shapes[seed % topologies]
        program = case(seed, shape)
        kinds[shape.kind] += 1
        operations += program.expanded.count()
        ends = ends_of(program)
        exact = ends.pop("fractions")
        longest = max(exact) or 1.0
        for name, values in ends.items():
            apart = max(abs(a - b) for a, b in zip(values, exact, strict=True)) / longest
            worst[name] = max(worst[name], apart)
            if apart > 1e-9:
                print(f"program {seed} on {shape.kind}: {name} is {apart:.1e} apart", flush=True)
    print(f"{programs} programs ({operations:,} operations) on {topologies} topologies:", end=" ")
    print(", ".join(f"{count} on {kind}" for kind, count in kinds.items()))
    for name, apart in worst.items():
        print(f"{name}: {apart:.1e} from fractions at most")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ("20", "10")))
