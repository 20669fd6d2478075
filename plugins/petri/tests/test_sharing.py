"""Ways of sharing networks and memory: an independent plain simulation, and hand-made cases."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from random import Random

import attrs
import pytest
from fluid import Fluid

import parcast_petri
from parcast import Registry
from parcast.errors import ParcastError
from parcast.program.reader import read_source
from parcast.testing import cases, seeds, turn
from parcast_petri.commands.arguments import query_of
from parcast_petri.kernel import layout as k
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.net_files import net_data, net_of
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.lowering import program_net
from parcast_petri.programs.nodes import Nodes
from parcast_petri.solvers.preparation import program_arrays
from parcast_petri.theory.spread import standard_deviation

REGISTRY = Registry([parcast_petri])
MAIN = {"startup": 0.25, "bandwidth": 8, "contention": "bus"}


def written(processes) -> str:
    lines = ['"""By chance."""', "def program(rank, size):"]
    for rank, operations in enumerate(processes):
        lines.append(f"    if rank == {rank}:")
        for op, same in groupby(operations):
            match op:
                case ("work", seconds):
                    call = f"elapse({float(seconds)})"
                case ("send", dst, size, _):
                    call = f"send({dst}, {size})"
                case ("recv", src):
                    call = f"recv({src})"
            lines += [f"        for k in range({len(list(same))}):", f"            {call}"]
    return "\n".join(lines)


def by_chance(random: Random, size: int = 4):
    """Return processes whose messages can be received in one order by all."""
    processes = [[] for _ in range(size)]
    for step in range(8):
        src, dst = random.sample(range(size), 2)
        processes[random.randrange(size)].append(("work", Fraction(random.randint(1, 8), 8)))
        count, length = random.choice([1, 1, 3]), 8 * random.randint(1, 4)
        processes[src] += [("send", dst, length, step)] * count
        processes[dst] += [("recv", src)] * count
    for operations in processes:
        operations.append(("work", Fraction(1, 8)))
    return processes


def ends(processes, parts, **options):
    """Return when each process ends, by the net."""
    machine = {"name": "m", "processor": {"rate": 1}, "network": MAIN, **parts}
    program = read_source(written(processes), "r.py", "r")
    asked = query_of(REGISTRY, program, machine, len(processes), [])
    made = program_net(asked, Options(**options), Nodes(explicit=True))
    evaluation = program_arrays(attrs.evolve(asked, options=Options(**options)), made)
    play = Play(evaluation)
    play.end()
    return made.records.read(play.memory.column(k.LAST)).ends.tolist()


def network(src, dst, main=MAIN, links=None):
    """Return what a message takes, as the plain simulation reads it."""
    stated = {**main, **(links or {})}
    name = "main"
    for at, other in enumerate(stated.pop("networks", ())):
        if name == "main" and {src, dst} <= set(other["nodes"]):
            name, stated = str(at), {**stated, "backbone": None, **other}
    backbone = stated.get("backbone")
    return {
        "name": name,
        "startup": Fraction(stated["startup"]),
        "bandwidth": Fraction(stated["bandwidth"]),
        "contention": stated["contention"],
        "half": stated.get("duplex") == "half",
        "backbone": None if backbone is None else Fraction(backbone),
    }


CASES = [
    ("bus", {}, {}),
    ("endpoint", {}, {}),
    ("endpoint", {"duplex": "half"}, {}),
    ("endpoint", {"backbone": 12}, {}),
    ("endpoint", {"networks": [{"nodes": [0, 1], "startup": 0.5, "bandwidth": 16},
                               {"nodes": [0, 2, 3], "contention": "bus"}]}, {}),
    ("bus", {}, {"startup": "inside"}),
    ("endpoint", {}, {"startup": "inside"}),
    ("bus", {}, {"sends": "blocking"}),
    ("bus", {}, {"servers": "single"}),
    ("endpoint", {}, {"servers": "single"}),
    ("endpoint", {"duplex": "half", "backbone": 16}, {"sends": "blocking", "startup": "inside"}),
]  # fmt: skip


@pytest.mark.parametrize(("contention", "links", "how"), turn(CASES, 2))
@pytest.mark.parametrize("sharing", ["fixed_batch", "ps_all", "ps_transfer", "max_min"])
def test_every_end_is_that_of_a_plain_simulation(contention, links, how, sharing):
    if contention == "endpoint" and sharing == "fixed_batch":
        return
    plain = {
        "inside": how.get("startup") == "inside",
        "blocking": "sends" in how,
        "single": "servers" in how,
    }
    main = {**MAIN, "contention": contention}
    for seed in seeds(cases(6)):
        processes = by_chance(Random(seed))
        found = ends(processes, {"network": main, "links": links}, sharing=sharing, **how)
        fluid = Fluid(processes, lambda s, d: network(s, d, main, links), sharing, **plain)
        assert found == pytest.approx([float(one) for one in fluid.run()], rel=1e-9), seed


def test_hundreds_of_messages_may_meet_at_a_port():
    senders = 150
    processes = [[("recv", rank) for rank in range(1, senders + 1)]]
    processes += [[("send", 0, 8, 0)] for _ in range(senders)]
    parts = {"network": {**MAIN, "contention": "endpoint"}}
    found = ends(processes, parts, sharing="ps_transfer")
    assert max(found) == pytest.approx(0.25 + senders, rel=1e-9)


@pytest.mark.parametrize(
    ("traffic", "plain"),
    [
        ({"utilization": 0.25}, ("even", Fraction(1, 4))),
        (
            {"utilization": 0.25, "on": "const:1s", "off": "const:2s"},
            ("bursts", Fraction(3, 4), Fraction(1), Fraction(2)),
        ),
        (
            {"utilization": 0.25, "message": "const:8B", "arrivals": "constant"},
            ("messages", Fraction(4), Fraction(1)),
        ),
    ],
    ids=["even", "bursts", "messages"],
)
@pytest.mark.parametrize("contention", ["bus", "endpoint"])
@pytest.mark.parametrize("sharing", ["ps_all", "ps_transfer", "max_min"])
def test_traffic_of_others_takes_its_part(traffic, plain, contention, sharing):
    main = {**MAIN, "contention": contention}
    for seed in seeds(cases(3)):
        processes = by_chance(Random(seed))
        parts = {"network": main, "traffic": traffic}
        found = ends(processes, parts, sharing=sharing)
        fluid = Fluid(processes, lambda s, d: network(s, d, main), sharing, others=plain)
        assert found == pytest.approx([float(one) for one in fluid.run()], rel=1e-9), seed


ONE = """def program(rank, size, n=8):
    if rank == 0:
        send(1, n)
    if rank == 1:
        recv(0)
"""


def one_message(n=8, contention="bus", solver="petri", p=2, parts=None, **settings):
    machine = {
        "name": "m",
        "processor": {"rate": 1},
        "network": {"startup": 0, "bandwidth": 8, "contention": contention},
        **(parts or {}),
    }
    asked = {"p": p, "solvers": solver, "settings": {"n": n, **settings}}
    (row,) = REGISTRY.compare(
        read_source(ONE, "one.py", "one"), machine, **asked, elasticities=False
    ).rows
    return row


def test_random_traffic_meets_a_message_in_its_steady_state():
    messages = {"traffic": {"utilization": 0.5, "message": "exp:16B"}}
    row = one_message(24, parts=messages, **{"petri.explicit.tolerance": 0.02})
    assert row.solver == "petri.explicit"
    assert abs(row.time - 6) < 4 * row.std / row.details["replications"] ** 0.5  # 3 s/(1 - U)
    assert row.std == pytest.approx(
        standard_deviation(Load(1, 0.5, (Law("exp", (2.0,)),), (1.0,)), 3), rel=0.15
    )
    bursts = {"traffic": {"utilization": 0.3, "on": "exp:10ms", "off": "exp:20ms"}}
    row = one_message(80, parts=bursts)
    assert row.time == pytest.approx(10 / 0.7, rel=0.01)
    assert one_message(80, parts=bursts, solver="petri.mean").time == pytest.approx(10 / 0.7)


def test_fair_shares_are_alike_compiled_and_plain():
    processes = by_chance(Random(3))
    asked = query_of(
        REGISTRY, read_source(written(processes), "r.py", "r"),
        REGISTRY.machine({"name": "m", "processor": {"rate": 1}, "links": {"backbone": 12},
                          "network": {**MAIN, "contention": "endpoint"}}), 4, [],
    )  # fmt: skip
    made = program_net(asked, Options(sharing="max_min"))
    assert net_of(net_data(made.net)) == made.net
    plain, compiled = (
        [*Play(kernel_arrays(made.net, form)).events()] for form in ("plain", "compiled")
    )
    assert plain == compiled


@pytest.mark.parametrize(
    ("contention", "parts", "message"),
    [
        ("bus", {"links": {"backbone": "1 GB/s"}}, "links.backbone is between ports"),
        ("none", {"traffic": {"utilization": 0.5}}, "traffic is on a bus or on ports"),
        ("bus", {"traffic": {"utilization": 0.5}, "sharing": "fcfs"}, "cannot include traffic"),
        ("bus", {"sharing": "fcfs", "servers": "single"}, "in order already"),
        ("bus", {"sharing": "fcfs", "startup": "inside"}, "startups after the bus"),
        ("endpoint", {"sharing": "fcfs", "links": {"backbone": 1}}, "serves ports, no backbone"),
        ("fair", {"links": {"duplex": "half"}}, "state network.duplex, and a topology"),
        ("fair", {"sharing": "fcfs"}, "network.contention is 'fair'; leave it out"),
        ("fair", {"sharing": "ps_transfer"}, "network.contention is 'fair'; leave it out"),
        ("fair", {"startup": "inside"}, "set petri.startup to outside"),
        ("fair", {"traffic": {"utilization": 0.5}}, "traffic is on a bus or on ports"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_together_is_refused(contention, parts, message):
    words = {f"petri.{word}": parts.pop(word) for word in ("sharing", "servers", "startup")
             if word in parts}  # fmt: skip
    assert message in one_message(contention=contention, parts=parts, **words).message


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"traffic": {"utilization": 1}}, "leaves messages no bandwidth"),
        ({"traffic": {"utilization": 0.5, "on": "1s"}}, "by both on and off"),
        ({"traffic": {"utilization": 0.9, "on": "1s", "off": "1s"}}, "would take 1.8 of"),
        ({"traffic": {"utilization": 0.5, "message": "exp:1s"}}, "exp:1s"),
        ({"links": {"networks": [{"nodes": [1]}]}}, "two or more different nodes"),
        ({"links": {"duplex": "both"}}, "duplex"),
    ],
)
def test_links_and_traffic_without_a_meaning_are_refused(part, message):
    with pytest.raises(ParcastError, match=message):
        one_message(parts=part)


def test_a_backbone_beside_several_bandwidths_is_refused():
    sizes = [{"least": 4, "bandwidth": 16}]
    network = {"startup": 0, "bandwidth": 8, "contention": "endpoint", "sizes": sizes}
    row = one_message(parts={"network": network, "links": {"backbone": 12}})
    assert "links.backbone is relative to one bandwidth" in row.message


def test_messages_of_others_beside_several_bandwidths_are_refused():
    sizes = [{"least": 4, "bandwidth": 16}]
    network = {"startup": 0, "bandwidth": 8, "contention": "bus", "sizes": sizes}
    traffic = {"utilization": 0.5, "message": "exp:16B"}
    row = one_message(parts={"network": network, "traffic": traffic})
    assert "traffic.message is of one bandwidth" in row.message


def test_links_are_shared_fairly_where_the_machine_says_so():
    """Two messages to one node have half of its port each."""
    source = """def program(rank, size):
    if rank < 2:
        send(2, 8)
    else:
        recv(0)
        recv(1)
"""
    program = read_source(source, "two.py", "two")
    machine = {"name": "m", "network": {"startup": 1, "bandwidth": 8, "contention": "fair"}}
    ends = {}
    for solver in ("petri", "petri.mean", "petri.sampled", "petri.explicit"):
        (row,) = REGISTRY.compare(program, machine, p=3, solvers=solver, elasticities=False).rows
        ends[solver] = row.details["ends"]
    assert set(map(tuple, ends.values())) == {(0, 0, 3)}
    alone = REGISTRY.compare(
        program,
        machine,
        p=3,
        solvers="petri",
        settings={"petri.sharing": "none"},
        elasticities=False,
    )
    assert alone.rows[0].time == 2


@pytest.mark.parametrize("solver", ["petri.mean", "petri.explicit", "petri.sampled"])
@pytest.mark.parametrize("contention", ["bus", "endpoint"])
def test_rows_say_that_messages_share_what_others_serve_in_turn(tmp_path, contention, solver):
    source = "def program(rank, size):\n    sendrecv(1 - rank, 8, 1 - rank)\n"
    (tmp_path / "pair.py").write_text(source)
    machine = {"processor": {"rate": 1.0}, "network": MAIN | {"contention": contention}}
    told = {}
    for sharing in (None, "fcfs"):
        settings = {"petri.sharing": sharing} if sharing else {}
        pair = str(tmp_path / "pair.py")
        answer = REGISTRY.predict(pair, machine, solver, p=2, settings=settings)
        told[sharing] = any("petri.sharing=fcfs" in note for note in answer.notes)
    assert told == {None: True, "fcfs": False}
