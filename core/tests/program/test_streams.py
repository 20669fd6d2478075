"""Streams as processes: operations that overlap on an accelerator, with events between them.

Two processes of a node are the streams of an accelerator; a message of 0 bytes that takes no time
is an event. A plain evaluator of streams, in fractions, gives the same times.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from parcast import Query, Registry
from parcast.model import Costs, Machine
from parcast.program import read_source
from parcast.program.matching import matched_program
from parcast.testing import by_events, by_sweep, cases, seeds
from parcast.testing.exact import exact_costs, exact_program

CASES = cases(30)
STARTUP, PER_BYTE = Fraction(2), Fraction(1, 2)

#: ("work", seconds), ("record", event), ("wait", event) or ("allgather", bytes).
Operation = tuple[str, int]


def drawn(seed: int) -> tuple[list[list[list[Operation]]], int]:
    """Return the operations of both streams of each accelerator.

    Collectives are on the second stream. An event is recorded on one stream and waited for on the
    other; operations are drawn in an order in which they could be done, so nothing waits for ever.
    """
    draw = random.Random(seed)
    size = draw.choice([1, 2, 3, 5])
    plan: list[list[list[Operation]]] = [[[], []] for _ in range(size)]
    for event in range(draw.choice([3, 8])):
        for streams in plan:
            for _ in range(draw.choice([0, 1, 3])):
                streams[draw.randrange(2)].append(("work", draw.choice([1, 4, 7])))
            if draw.random() < 0.7:
                recorder = draw.randrange(2)
                streams[recorder].append(("record", event))
                streams[1 - recorder].append(("wait", event))
        if draw.random() < 0.6:
            amount = draw.choice([2, 8])
            for streams in plan:
                streams[1].append(("allgather", amount))
    return plan, size


def text(plan: list[list[list[Operation]]]) -> str:
    """Return the program of twice as many processes; collectives stand on lines of their own."""
    lines = ["def program(rank, size):"]
    places = [[0, 0] for _ in plan]
    rounds = sum(name == "allgather" for name, _ in plan[0][1])
    for turn in range(rounds + 1):
        for accelerator, streams in enumerate(plan):
            for stream, operations in enumerate(streams):
                lines.append(f"    if rank == {2 * accelerator + stream}:")
                lines.append("        elapse(0)")
                while places[accelerator][stream] < len(operations):
                    name, amount = operations[places[accelerator][stream]]
                    places[accelerator][stream] += 1
                    if name == "allgather":
                        break
                    lines.append(f"        {written(name, amount)}")
        if turn < rounds:
            amount = [amount for name, amount in plan[0][1] if name == "allgather"][turn]
            lines += ["    if rank % 2 == 1:", f"        allgather({amount}, color=1)"]
    return "\n".join(lines) + "\n"


def written(name: str, amount: int) -> str:
    """Return an operation of a stream as one of its process."""
    match name:
        case "work":
            return f"elapse({amount})"
        case "record":
            return f"send(rank ^ 1, 0, tag={amount})"
        case _:
            return f"recv(rank ^ 1, tag={amount})"


def played(plan: list[list[list[Operation]]], size: int) -> list[Fraction]:
    """Return when each stream ends: each does its operations in their order, as soon as it may."""
    clocks = [[Fraction(0), Fraction(0)] for _ in range(size)]
    places = [[0, 0] for _ in range(size)]
    events: dict[tuple[int, int], Fraction] = {}

    def advance(accelerator: int, stream: int) -> None:
        operations = plan[accelerator][stream]
        while places[accelerator][stream] < len(operations):
            name, amount = operations[places[accelerator][stream]]
            now = clocks[accelerator][stream]
            if name == "allgather" or (name == "wait" and (accelerator, amount) not in events):
                return
            if name == "work":
                now += amount
            elif name == "record":
                events[accelerator, amount] = now
            else:
                now = max(now, events[accelerator, amount])
            clocks[accelerator][stream] = now
            places[accelerator][stream] += 1

    while True:
        before = [list(place) for place in places]
        for accelerator in range(size):
            advance(accelerator, 0)
            advance(accelerator, 1)
        if places != before:
            continue
        ended = [places[a][1] == len(plan[a][1]) for a in range(size)]
        if all(ended):
            return [clock for pair in clocks for clock in pair]
        amount = plan[0][1][places[0][1]][1]
        for _ in range(size - 1):  # a ring: from the left, while the own goes to the right
            sent = [clocks[a][1] for a in range(size)]
            for a in range(size):
                clocks[a][1] = max(sent[a], sent[a - 1] + STARTUP + amount * PER_BYTE)
        for a in range(size):
            places[a][1] += 1


@pytest.fixture(scope="module")
def machine() -> Machine:
    """Nodes of one accelerator and its two streams."""
    network = {"startup": 2, "bandwidth": 2, "collectives": "allgather ring"}
    network["local"] = {"startup": 0, "bandwidth": 2}
    return Registry().machine({"name": "streams", "nodes": {"cores": 2}, "network": network})


@pytest.mark.parametrize("seed", seeds(CASES))
@pytest.mark.parametrize("evaluate", [by_sweep, by_events])
def test_streams_are_processes_of_an_accelerator(machine, evaluate, seed):
    plan, size = drawn(seed)
    workload = read_source(text(plan), "streams.py", "streams")
    query = Query(workload=workload, machine=machine, p=2 * size)
    unrolled = matched_program(query).unrolled
    numbers = exact_costs(Costs.of(query, unrolled.needs()))
    assert list(evaluate(exact_program(unrolled), numbers).ends) == played(plan, size)
