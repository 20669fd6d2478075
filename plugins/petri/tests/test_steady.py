"""The long run of nets that never end: closed forms, and Markov chains solved whole."""

from __future__ import annotations

import json
import math
from itertools import combinations
from random import Random

import numpy as np
import pytest

from parcast.cli import main
from parcast.testing import cases
from parcast_petri.machine.laws import Law
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.net import Net, NetError, Transition
from parcast_petri.nets.solve import Solution, solution
from parcast_petri.nets.steady_state import SteadyState, never_ends, steady_state

NETWORKS = cases(10)


def exp(name, pre, post, mean, **rest):
    law = Law("exp", (mean,))
    return Transition(name=name, pre=dict.fromkeys(pre, 1), post=dict.fromkeys(post, 1), delay=law,
                      **rest)  # fmt: skip


def queue(used: float) -> Net:
    return Net(
        places=("queue",),
        initial={},
        transitions=(exp("arrive", (), ("queue",), 1 / used), exp("serve", ("queue",), (), 1.0)),
    )


def near(found, exact: float, widths: float = 2.5) -> bool:
    return abs(found.mean - exact) <= widths / 2 * (found.high - found.low) + 1e-9


def test_a_queue_has_the_jobs_of_its_closed_form():
    found = solution(queue(0.6), seed=3)
    assert near(found.throughput["serve"], 0.6)
    assert near(found.marking["queue"], 0.6 / 0.4)
    assert found.settled


@pytest.mark.parametrize("repairers", [1, 2])
def test_machines_and_those_who_repair_them(repairers):
    """P(n down) is in proportion to the products of (N - i) lambda over min(i + 1, r) mu."""
    machines, run, repair = 5, 4.0, 1.0
    weights = [1.0]
    for n in range(machines):
        weights.append(weights[-1] * (machines - n) * repair / run / min(n + 1, repairers))
    chance = np.array(weights) / sum(weights)
    down = float(chance @ np.arange(machines + 1))
    net = Net(
        places=("up", "down"),
        initial={"up": machines},
        transitions=(exp("fail", ("up",), ("down",), run, servers=None),
                     exp("repair", ("down",), ("up",), repair, servers=repairers)),
    )  # fmt: skip
    found = solution(net, seed=1)
    assert near(found.marking["down"], down)
    assert near(found.throughput["repair"], (machines - down) / run)


def closed(random: Random) -> Net:
    """Return queues that jobs go round in, by ways that race; each leads to the next at least."""
    count = random.randint(2, 4)
    places = [f"q{n}" for n in range(count)]
    ways = {(n, (n + 1) % count) for n in range(count)}
    ways |= {tuple(random.sample(range(count), 2)) for _ in range(random.randint(0, 3))}
    return Net(
        places=tuple(places),
        initial={places[0]: random.randint(1, 5)},
        transitions=tuple(
            exp(f"{a} to {b}", (places[a],), (places[b],), random.uniform(0.2, 3.0),
                servers=random.choice([1, 1, 2, None]))
            for a, b in sorted(ways)
        ),
    )  # fmt: skip


def chain(net: Net):
    """Return throughputs and mean markings of a closed network by its whole Markov chain."""
    count, jobs = len(net.places), sum(net.initial.values())
    bars = combinations(range(jobs + count - 1), count - 1)
    states = [tuple(np.diff([-1, *bar, jobs + count - 1]) - 1) for bar in bars]
    index = {state: at for at, state in enumerate(states)}
    place = {name: at for at, name in enumerate(net.places)}
    generator = np.zeros((len(states), len(states)))
    rates = np.zeros((len(net.transitions), len(states)))
    for t, one in enumerate(net.transitions):
        (source,), (goal,) = one.pre, one.post
        for state, at in index.items():
            there = state[place[source]]
            running = there if one.servers is None else min(there, one.servers)
            if running:
                after = list(state)
                after[place[source]] -= 1
                after[place[goal]] += 1
                rates[t, at] = running / one.delay.mean
                generator[at, index[tuple(after)]] += rates[t, at]
    generator -= np.diag(generator.sum(axis=1))
    equations = np.vstack([generator.T, np.ones(len(states))])
    chance = np.linalg.lstsq(equations, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    return rates @ chance, np.array(states).T @ chance


def test_closed_networks_are_in_their_intervals_as_often_as_these_say():
    inside = every = 0
    for seed in range(NETWORKS):
        net = closed(Random(seed))
        found = steady_state(kernel_arrays(net, "compiled"), seed=seed)
        rates, means = chain(net)
        pairs = [*zip(found.throughput.values(), rates, strict=True),
                 *zip(found.marking.values(), means, strict=True)]  # fmt: skip
        for one, exact in pairs:
            assert near(one, exact, 6), (seed, one, exact)
            inside += one.low - 1e-9 <= exact <= one.high + 1e-9
        every += len(pairs)
    # of one network they stand and fall together, which the variance has as a factor of 4
    assert inside / every > 0.95 - 4 * 2 * math.sqrt(0.95 * 0.05 / every)


def test_a_constant_cycle_is_told_as_it_is():
    net = Net(
        places=("a", "b", "done"),
        initial={"a": 1},
        transitions=(
            Transition(name="there", pre={"a": 1}, post={"b": 1}, delay=1),
            Transition(name="back", pre={"b": 1}, post={"a": 1, "done": 1}, delay=3),
        ),
    )
    found = solution(net)
    assert isinstance(found, SteadyState)
    assert found.throughput["back"].mean == pytest.approx(0.25)
    assert found.marking["b"].mean == pytest.approx(0.75)
    assert "done" not in found.marking  # which only grows


def test_tokens_that_pile_up_are_no_steady_state():
    with pytest.raises(NetError, match=r"place 'queue' grows by 0\.2"):
        solution(queue(1.25))


def test_nets_that_end_are_not_taken_for_endless():
    count = Transition(name="count", pre={"a": 1}, delay=1)
    many = Net(places=("a",), initial={"a": 60_000}, transitions=(count,))
    assert not never_ends(many)
    assert isinstance(solution(many), Solution)
    turn = Transition(name="turn", pre={"b": 1}, post={"b": 1}, delay=1)
    stop = Transition(name="stop", pre={"b": 1}, delay=10**6)
    halting = Net(places=("b",), initial={"b": 1}, transitions=(turn, stop))
    assert not never_ends(halting)


def test_the_command_gives_the_long_run(tmp_path, capsys):
    path = tmp_path / "net.json"
    turn = {"name": "turn", "pre": {"a": 1}, "post": {"a": 1}, "delay": 0.5}
    path.write_text(json.dumps({"places": ["a"], "initial_marking": {"a": 1},
                                "transitions": [turn]}))  # fmt: skip
    assert main(["petri", "solve", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["steady_state"]
    assert found["throughput"]["turn"]["mean"] == pytest.approx(2)
    assert main(["petri", "solve", str(path)]) == 0
    assert "never ends" in capsys.readouterr().out
