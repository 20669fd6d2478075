"""Reference cases, and random block lists on random machines."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())["cases"]


def random_spec(seed: int, *, dyadic: bool = False, epochs: int | None = None) -> dict:
    """Return a block list, the same for the same seed; a dyadic one has many exact ties."""
    random = Random(seed)
    nodes = [random_node(random) for _ in range(random.randint(1, 6))]
    count = random.randint(1, 3) if epochs is None else epochs
    return {
        "machine": dyadic_machine(random) if dyadic else machine(random),
        "nodes": nodes,
        "epochs": [
            [block(random, nodes, dyadic=dyadic) for _ in range(random.randint(0, 24))]
            for _ in range(count)
        ],
    }


def random_node(random: Random) -> dict:
    disks = random.randint(1, 4)
    return {"disks": disks, "busof": [random.randrange(2) for _ in range(disks)]}


def machine(random: Random) -> dict:
    return {
        "overhead": random.uniform(0, 2e-3),
        "seek0": random.uniform(0, 2e-3),
        "seek1": random.choice([0.0, random.uniform(0, 1e-9)]),
        "trev": random.choice([0.0, random.uniform(4e-3, 9e-3)]),
        "track": 60000.0,
        "media": random.uniform(5e6, 2e7),
        "bus_alpha": random.choice([0.0, random.uniform(0, 1e-3)]),
        "bus_bw": random.uniform(1e7, 4e7),
        "alpha": random.choice([0.0, random.uniform(0, 1e-3), random.uniform(0, 0.1)]),
        "beta": random.uniform(5e6, 1e8),
    }


def dyadic_machine(random: Random) -> dict:
    return {
        "overhead": random.choice([0.0, 2.0**-10]),
        "seek0": random.choice([0.0, 2.0**-9]),
        "seek1": random.choice([0.0, 2.0**-30]),
        "trev": random.choice([0.0, 2.0**-7]),
        "track": 65536.0,
        "media": random.choice([2.0**22, 2.0**23]),
        "bus_alpha": random.choice([0.0, 2.0**-10]),
        "bus_bw": random.choice([2.0**23, 2.0**24]),
        "alpha": random.choice([0.0, 2.0**-12, 2.0**-6]),
        "beta": random.choice([2.0**23, 2.0**24, 2.0**25]),
    }


def block(random: Random, nodes: list[dict], *, dyadic: bool) -> dict:
    node = random.randrange(len(nodes))
    consumers = random.sample(range(len(nodes)), random.randint(0, len(nodes)))
    grain = 2.0**16 if dyadic else random.uniform(1e4, 1e5)
    return {
        "node": node,
        "disk": random.randrange(nodes[node]["disks"]),
        "offset": grain * random.randrange(40),
        "size": grain * random.choice([1, 2, 4]),
        "tcomp": random.choice([0.0, 2.0**-6, 2.0**-8] if dyadic else [0.0, 0.01, 0.003]),
        "consumers": consumers,
    }
