"""Programs as the paper draws them: loops kept, the time that of the net written out."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

import parcast_petri
from parcast import Registry
from parcast.cli import main
from parcast.errors import ParcastError
from parcast.program.reader import read_source
from parcast.testing import cases, seeds
from parcast_petri.commands.arguments import query_of
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.programs.folded import fold_loops, folded_net
from parcast_petri.programs.paper import Loop, Segment
from parcast_petri.solvers.mean import Mean

REGISTRY = Registry([parcast_petri])
PROGRAMS = cases(40, least=40)


def by_chance(random: Random) -> str:
    """Return a program of loops whose messages from one process to another are of one length."""
    lines = ["def program(rank, size):"]
    for _ in range(random.randint(1, 4)):
        count, step = random.randint(1, 6), random.randint(1, 3)
        body = [f"elapse({random.randint(0, 8) / 8} * (1 + rank % {random.randint(1, 3)}))"]
        exchange = [f"send((rank + {step}) % size, 16)", f"recv((rank - {step}) % size)"]
        if random.random() < 0.4:
            exchange = [f"sendrecv((rank + {step}) % size, 16, (rank - {step}) % size)"]
        elif random.random() < 0.3:
            exchange = [f"isend((rank + {step}) % size, 16)", f"r = irecv((rank - {step}) % size)",
                        f"elapse({random.randint(1, 8) / 8})", "waitall()"]  # fmt: skip
        if random.random() < 0.3:
            exchange.append(f"compute({random.randint(1, 9)})")
        lines.append(f"    for step in range({count}):")
        lines += [f"        {one}" for one in (*body, *exchange)]
    return "\n".join(lines)


#: What a network may say beside.
MORE = (
    {},
    {"header": 2, "overhead_by": "message"},
    {"sizes": [{"least": 4, "startup": 0.5, "overhead": 1 / 32}, {"least": 8, "bandwidth": 32}]},
    {"levels": [{"name": "switch", "size": 2, "startup": 1 / 8, "bandwidth": 64}]},
)


@pytest.mark.parametrize("contention", ["none", "bus"])
def test_the_time_is_that_of_the_net_written_out(contention):
    """But for batches of one time that others of it cause, 13 of 4,000 on a bus; it is noted."""
    loops, batches = 0, 0
    for seed in seeds(PROGRAMS):
        random = Random(seed)
        source, p = by_chance(random), random.randint(4, 6)
        machine = {
            "name": "m",
            "processor": {"rate": 8.0},
            "network": {"startup": random.choice([0, 0.25]), "bandwidth": 16,
                        "contention": contention, "overhead": random.choice([0, 1 / 64]),
                        "overhead_receive": 0, **MORE[seed % len(MORE)]},
        }  # fmt: skip
        if random.random() < 0.5:
            machine["background"] = {"utilization": 0.5, "demand": "exp:1"}
        sharing = random.choice(["ps_transfer", "ps_all", "fixed_batch"])
        asked = query_of(REGISTRY, read_source(source, "p.py", "p"), machine, p,
                         [f"petri.sharing={sharing}"])  # fmt: skip
        net = folded_net(asked).net
        found = Play(kernel_arrays(net, "plain")).finish()
        loops += any(name.startswith("count") for name in net.places)
        same = found.time == pytest.approx(Mean().solve(asked).time, rel=1e-9)
        assert same or (contention, sharing) == ("bus", "fixed_batch"), source
        batches += not same
        assert sum(found.marking.values()) == p + sum(
            number for place, number in found.marking.items() if place.startswith("mutex")
        )
    assert loops > PROGRAMS / 3
    assert batches <= 6 + PROGRAMS / 50  # more of 60 in less than a day of ten million


def test_times_that_rounding_parts_are_one_instant():
    """Messages that begin at one time, by sums in another order, are one batch of equation 6."""
    for seed in (21, 118, 306, 343):
        random = Random(seed)
        source, p = by_chance(random), random.randint(4, 6)
        source = re.sub(r"elapse\(([\d.]+)", lambda m: f"elapse({float(m[1]) * 0.7:g}", source)
        machine = {"name": "m", "processor": {"rate": 7.0},
                   "network": {"startup": random.choice([0, 0.1, 0.3]), "bandwidth": 11,
                               "contention": "bus", "overhead": random.choice([0, 0.01]),
                               "overhead_receive": 0}}  # fmt: skip
        if random.random() < 0.5:
            machine["background"] = {"utilization": 0.5, "demand": "exp:1"}
        asked = query_of(REGISTRY, read_source(source, "p.py", "p"), machine, p,
                         ["petri.sharing=fixed_batch"])  # fmt: skip
        found = Play(kernel_arrays(folded_net(asked).net, "plain")).finish()
        assert found.time == pytest.approx(Mean().solve(asked).time, rel=1e-9), source


def test_segments_that_come_again_are_loops():
    a, b, c = (Segment(work=work) for work in (1.0, 2.0, 3.0))
    assert fold_loops([c, a, b, a, b, a, b, a]) == [c, Loop(3, (a, b)), a]
    assert fold_loops([a, a, a]) == [Loop(3, (a,))]
    assert fold_loops([a, b, c]) == [a, b, c]


def test_the_command_writes_the_paper_s_net(tmp_path, capsys):
    path = tmp_path / "ring.json"
    asked = ["ring-matmul", "--folded", "-p", "5", "--machine"]
    machine = tmp_path / "bus.json"
    machine.write_text(json.dumps({
        "name": "bus", "summary": "A bus", "processor": {"rate": 1e8},
        "network": {"startup": 5e-4, "bandwidth": 1e7, "contention": "bus"},
    }))  # fmt: skip
    assert main(["petri", "net", *asked, str(machine), "-o", str(path)]) == 0
    assert "count 0.1" in json.loads(path.read_text())["places"]
    assert main(["petri", "solve", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fired"]["exit 0.1"] == 1
    query = query_of(Registry(), "ring-matmul", str(machine), 5, [])
    assert found["completion_time"]["value"] == pytest.approx(Mean().solve(query).time)
    assert main(["petri", "net", str(path), "--folded", "-o", str(tmp_path / "x.svg")]) == 2
    assert "--folded is for programs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "network", "message"),
    [
        ("write(8)", {}, r"write\(\) is not in the paper's nets"),
        ("recv(ANY) if rank == 0 else send(0, 8)", {}, "a receive of any message"),
        ("sendrecv(1 - rank, 80, 1 - rank)", {"eager_limit": 8}, "over network.eager_limit"),
        ("barrier()", {"contention": "endpoint"}, "one medium"),
        ("barrier()", {"contention": "fair"}, "one medium, and network.contention is fair"),
        ("barrier()", {"eager": "waits"}, "a message that waits for its receive"),
        (
            (
                "if rank == 0:\n        r = irecv(1)\n        s = irecv(1)\n        waitall()\n"
                "    if rank == 1:\n        send(0, 8)\n        send(0, 8)"
            ),
            {"overhead_by": "message", "overhead_receive": 1},
            "a wait for several messages",
        ),
        ("barrier()", {"overhead": 1}, "where network.overhead_receive is not 0"),
    ],
)
def test_what_the_paper_does_not_draw_is_refused(line, network, message):
    if "ANY" in line:
        line = "if rank == 0:\n        recv(ANY)\n    if rank == 1:\n        send(0, 8)"
    machine = {"name": "m", "processor": {"rate": 1}, "storage": {"bandwidth": 1},
               "network": {"startup": 1, "bandwidth": 1, **network}}  # fmt: skip
    program = read_source(f"def program(rank, size):\n    {line}\n", "p.py", "p")
    with pytest.raises(ParcastError, match=message):
        folded_net(query_of(REGISTRY, program, machine, 2, []))


def test_lengths_that_differ_on_one_way_are_noted():
    text = "def program(rank, size):\n    for k in range(2):\n"
    text += "        sendrecv(1 - rank, 8 + k, 1 - rank)\n"
    machine = {"name": "m", "processor": {"rate": 1}, "network": {"startup": 1, "bandwidth": 1}}
    found = folded_net(query_of(REGISTRY, read_source(text, "p.py", "p"), machine, 2, []))
    assert "overtakes" in found.notes[0]
