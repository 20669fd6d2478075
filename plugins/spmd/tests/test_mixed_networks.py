"""Open and mixed networks against chains of Markov in fractions, formulas and small simulations."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from parcast.errors import FileError, UnsupportedError
from parcast_spmd import network_files
from parcast_spmd.jmt.jmva import network_from_jmva
from parcast_spmd.mixed.model import Node, Visitor
from parcast_spmd.mixed.network import Center
from parcast_spmd.mixed.solve import solve_mixed
from parcast_spmd.mixed.stations import in_turn, limited, log_factors, renewal_share
from parcast_spmd.mixed.times import KINDS, Time, exponential
from parcast_spmd.mixed.traffic import mixed_network


def station(name, means, servers=1, order="shared", size=None):
    """Return a node of exponential times, or of the times themselves."""
    service = tuple(m if isinstance(m, Time) or m is None else exponential(m) for m in means)
    center = Center(name=name, type="queue", order=order, servers=servers, service=service,
                    size=size)  # fmt: skip
    return Node(kind="station", center=center)


def delay(name, means):
    center = Center(name=name, type="delay", service=tuple(exponential(m) for m in means))
    return Node(kind="station", center=center)


def opened(name, rate_or_time):
    time = rate_or_time if isinstance(rate_or_time, Time) else exponential(1 / rate_or_time)
    return Visitor(name=name, reference="in", arrivals=time)


def balance(states, moves):
    """Return the probabilities of a chain in fractions; ``moves(state)`` gives (state, rate)."""
    index = {state: i for i, state in enumerate(states)}
    size = len(states)
    rows = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for state in states:
        for other, rate in moves(state):
            rows[index[other]][index[state]] += rate
            rows[index[state]][index[state]] -= rate
    rows[-1] = [Fraction(1)] * (size + 1)
    for column in range(size):
        pivot = next(r for r in range(column, size) if rows[r][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for r in range(size):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return {state: rows[index[state]][size] for state in states}


def compositions(jobs, cells):
    """Return all ways to put jobs into cells."""
    return [c for c in product(range(jobs + 1), repeat=cells) if sum(c) == jobs]


@pytest.mark.parametrize("seed", range(4))
def test_closed_classes_that_change_at_several_servers_are_as_their_markov_chain(seed):
    """Two queues of several servers and a delay; jobs change their class on the way."""
    rng = random.Random(seed)
    jobs, names = rng.choice([2, 3]), ("a", "b")
    stations = ("x", "y", "z")
    cells = list(product(stations, names))
    servers = {"x": rng.choice([1, 2, 3]), "y": rng.choice([1, 2]), "z": None}
    rate = {cell: Fraction(rng.randint(1, 9), rng.randint(1, 5)) for cell in cells}
    routes = {}
    for cell in cells:
        weights = [Fraction(rng.randint(0, 3)) for _ in cells]
        weights[rng.randrange(len(cells))] += 1
        weights[0] += 1
        routes[cell] = {to: w / sum(weights) for to, w in zip(cells, weights, strict=True) if w}

    def moves(state):
        at = dict(zip(cells, state, strict=True))
        for cell, count in at.items():
            if not count:
                continue
            here = sum(at[cell[0], name] for name in names)
            share = 1 if servers[cell[0]] is None else Fraction(min(here, servers[cell[0]]), here)
            for to, probability in routes[cell].items():
                if to != cell:
                    other = {**at, cell: count - 1}
                    other[to] += 1
                    yield tuple(other.values()), rate[cell] * count * share * probability

    chances = balance(compositions(jobs, len(cells)), moves)
    means = {c: sum(p * s[i] for s, p in chances.items()) for i, c in enumerate(cells)}
    nodes = {
        name: station(name, [float(1 / rate[name, c]) for c in names], servers[name])
        if servers[name]
        else delay(name, [float(1 / rate[name, c]) for c in names])
        for name in stations
    }
    visitors = [
        Visitor(name="a", reference="x", population=jobs),
        Visitor(name="b", reference="x", population=0),
    ]
    ways = {c: {to: float(p) for to, p in targets.items()} for c, targets in routes.items()}
    solution = solve_mixed(mixed_network(nodes, visitors, ways, "n"))
    for (name, c), mean in means.items():
        assert solution.queue_length[name][names.index(c)] == pytest.approx(float(mean), rel=1e-10)
    whole = sum(sum(lengths) for lengths in solution.queue_length.values())
    assert whole == pytest.approx(jobs, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_open_and_closed_classes_at_one_station_are_as_their_markov_chain(seed):
    """Cut off where the open class has so many jobs that the rest weighs nothing."""
    rng = random.Random(seed)
    servers, jobs, most = rng.choice([1, 2, 3]), 2, 120
    rate, own, closed, think = rng.uniform(0.1, 0.6), 1.0, rng.uniform(0.3, 2), rng.uniform(0.5, 3)
    rate *= servers
    size = (jobs + 1) * (most + 1)
    matrix = np.zeros((size, size))
    for n, m in product(range(jobs + 1), range(most + 1)):
        here, at = n + m, n * (most + 1) + m
        share = min(here, servers) / here if here else 0.0
        for to, speed in (
            ((n, m + 1), rate if m < most else 0), ((n, m - 1), m * share / own),
            ((n + 1, m), (jobs - n) / think), ((n - 1, m), n * share / closed),
        ):  # fmt: skip
            if speed:
                matrix[to[0] * (most + 1) + to[1], at] += speed
                matrix[at, at] -= speed
    matrix[-1] = 1
    chances = np.linalg.solve(matrix, np.eye(size)[-1]).reshape(jobs + 1, most + 1)
    nodes = {
        "in": Node(kind="source"),
        "out": Node(kind="sink"),
        "think": delay("think", [1.0, think]),
        "q": station("q", [own, closed], servers),
    }
    routes = {
        ("in", "open"): {("q", "open"): 1.0}, ("q", "open"): {("out", "open"): 1.0},
        ("out", "open"): {}, ("think", "shut"): {("q", "shut"): 1.0},
        ("q", "shut"): {("think", "shut"): 1.0},
    }  # fmt: skip
    visitors = [opened("open", rate), Visitor(name="shut", reference="think", population=jobs)]
    solution = solve_mixed(mixed_network(nodes, visitors, routes, "n"))
    lengths = chances.sum(axis=0) @ np.arange(most + 1), chances.sum(axis=1) @ np.arange(jobs + 1)
    assert solution.queue_length["q"] == pytest.approx(lengths, rel=1e-7)
    assert solution.throughput[1] == pytest.approx((jobs - lengths[1]) / think, rel=1e-8)


def waiting(servers, load):
    """Erlang's chance to wait at M/M/c, in fractions."""
    top = load**servers / math.factorial(servers) * servers / (servers - load)
    return top / (sum(load**k / Fraction(math.factorial(k)) for k in range(servers)) + top)


def alone(node, arrivals, tail=()):
    """Return the solution of a source, a station, perhaps others after it, and a sink."""
    names = ["q", *(f"t{i}" for i in range(len(tail)))]
    nodes = {"in": Node(kind="source"), "out": Node(kind="sink"), "q": node}
    nodes |= dict(zip(names[1:], tail, strict=True))
    way = ["in", *names, "out"]
    routes = {(a, "c"): {(b, "c"): 1.0} for a, b in pairwise(way)}
    network = mixed_network(nodes, [opened("c", arrivals)], {**routes, ("out", "c"): {}}, "n")
    return solve_mixed(network)


@pytest.mark.parametrize(("servers", "load"), [(1, "1/2"), (2, "9/10"), (7, "69/10"), (40, "1/50")])
def test_several_servers_are_erlang_s(servers, load):
    load = Fraction(load)
    length = load + waiting(servers, load) * load / (servers - load)
    for order in ("shared", "turns"):
        solution = alone(station("q", [0.5], servers, order), float(2 * load))
        assert solution.queue_length["q"][0] == pytest.approx(float(length), rel=1e-12)
        assert solution.visit_response["q"][0] == pytest.approx(float(length / load / 2), rel=1e-12)
        assert solution.utilization["q"][0] == pytest.approx(float(load / servers))


@pytest.mark.parametrize(("servers", "size", "load"), [(1, 11, "9/10"), (2, 2, "3"), (4, 20, "4")])
def test_limited_room_is_as_its_birth_and_death_chain(servers, size, load):
    load = Fraction(load)
    weights = [Fraction(1)]
    for n in range(1, size + 1):
        weights.append(weights[-1] * load / min(n, servers))
    chances = [weight / sum(weights) for weight in weights]
    solution = alone(station("q", [0.25], servers, "turns", size), float(4 * load))
    mean = float(sum(n * p for n, p in enumerate(chances)))
    assert solution.queue_length["q"][0] == pytest.approx(mean, rel=1e-12)
    assert solution.loss["q"] == pytest.approx(float(chances[-1]), rel=1e-12)
    accepted = float(4 * load * (1 - chances[-1]))
    assert solution.visit_response["q"][0] == pytest.approx(mean / accepted, rel=1e-12)
    with pytest.raises(FileError, match="fed by what 'q' does not lose"):
        alone(station("q", [0.25], servers, "turns", size), 1.0, [station("t0", [0.1])])


CONSTANT = KINDS["DeterministicDistr"]({"t": 0.5})


def test_one_server_of_any_times_is_pollaczek_s_and_khinchine_s():
    solution = alone(station("q", [CONSTANT], order="turns"), 1.0)
    assert solution.visit_response["q"][0] == pytest.approx(0.75)  # half of M/M/1's wait
    shared = alone(station("q", [CONSTANT]), 1.0)
    assert shared.visit_response["q"][0] == pytest.approx(1.0)
    # A mixture of a class each with its own time waits as one class that draws the times
    times = [exponential(0.2), CONSTANT]
    drawn = Time(mean=0.3, variation=(2 / 3 * 2 * 0.04 + 1 / 3 * 0.25) / 0.09 - 1)
    assert in_turn([2.0, 1.0], times, "q") == pytest.approx(in_turn([3.0], [drawn], "q"))


def test_arrivals_one_by_one_are_as_the_embedded_chain():
    """E2/M/1: z + z^2 mu / nu ... its share is the root of a quadratic."""
    arrivals = KINDS["Erlang"]({"alpha": 2.0, "r": 2.0})
    share = renewal_share(arrivals, 0.5, "q")
    assert share == pytest.approx((2 / (2 + (1 - share) / 0.5)) ** 2)
    assert share == pytest.approx((3 - math.sqrt(5)) / 2)  # s = 1 / (2 - s)^2, s < 1
    solution = alone(station("q", [0.5], order="turns"), arrivals)
    assert solution.visit_response["q"][0] == pytest.approx(0.5 / (1 - share))
    poisson = renewal_share(exponential(1.0), 0.75, "q")
    assert poisson == pytest.approx(0.75)


def after(arrivals, times):
    """Return the departures of one server."""
    result, free = np.empty_like(arrivals), 0.0
    for i, (arrival, time) in enumerate(zip(arrivals, times, strict=True)):
        free = max(arrival, free) + time
        result[i] = free
    return result


@pytest.mark.parametrize("kind", ["poisson", "mixture"])
def test_forks_lie_within_their_bounds(kind):
    rng = np.random.default_rng(5)
    count, means = 60_000, (1.0, 0.7, 0.3)
    mixed = KINDS["HyperExp"]({"p": 0.3, "lambda1": 0.2, "lambda2": 2.0})
    time = exponential(1.6) if kind == "poisson" else mixed
    gaps = rng.exponential(1.6, count) if kind == "poisson" else rng.exponential(
        np.where(rng.random(count) < 0.3, 5.0, 0.5)
    )  # fmt: skip
    arrivals = np.cumsum(gaps)
    ends = [after(arrivals, rng.exponential(mean, count)) for mean in means]
    measured = [float((end - arrivals).mean()) for end in ends]
    whole = float((np.max(ends, axis=0) - arrivals).mean())
    nodes = {"in": Node(kind="source"), "out": Node(kind="sink"), "fork": Node(kind="fork"),
             "join": Node(kind="join")}  # fmt: skip
    nodes |= {f"d{i}": station(f"d{i}", [m], order="turns") for i, m in enumerate(means)}
    branches = [(f"d{i}", "c") for i in range(len(means))]
    routes = {("in", "c"): {("fork", "c"): 1.0}, ("fork", "c"): dict.fromkeys(branches, 1.0),
              ("join", "c"): {("out", "c"): 1.0}, ("out", "c"): {}}  # fmt: skip
    routes |= {branch: {("join", "c"): 1.0} for branch in branches}
    solution = solve_mixed(mixed_network(nodes, [opened("c", time)], routes, "n"))
    for i, response in enumerate(measured):
        assert solution.visit_response[f"d{i}"][0] == pytest.approx(response, rel=0.06)
    assert solution.cycle_time == (None,)
    low, high = solution.cycle_time_lower[0], solution.cycle_time_upper[0]
    assert low * 0.97 < whole < high * 1.03
    assert low < high < sum(measured)


def test_sums_of_many_jobs_neither_overflow_nor_lose_digits():
    """A machine of 40 servers with 2,000 jobs that think is nearly as fast as its servers."""
    text = jmva('<closedclass name="c" population="2000"/>',
                '<delaystation name="z">T1000V1</delaystation><listation name="q" servers="40">T1V1'
                "</listation>")  # fmt: skip
    solution = solve_mixed(network_from_jmva(ET.fromstring(text), "n"))
    # The same chain of births and deaths, by its logarithms
    logs = [0.0]
    for n in range(1, 2001):
        logs.append(logs[-1] + math.log((2001 - n) / 1000) - math.log(min(n, 40)))
    weights = [math.exp(value - max(logs)) for value in logs]
    mean = math.fsum(n * w for n, w in enumerate(weights)) / math.fsum(weights)
    assert solution.queue_length["q"][0] == pytest.approx(mean, rel=1e-9)
    factors = log_factors(np.arange(1.0, 41), 39.999, 500)
    assert np.isfinite(factors).all()
    assert limited(np.array([1.0]), 2.0, 1)[1] == pytest.approx(2 / 3)


def jmva(classes, stations):
    """Return a model; T and V in stations are times and visits of the class c."""
    for tag, (outer, inner) in {"T": ("servicetimes", "servicetime"), "V": ("visits", "visit")}\
            .items():  # fmt: skip
        parts = stations.split(tag)
        stations = parts[0] + "".join(
            f'<{outer}><{inner} customerclass="c">{part.partition("<")[0].partition("V")[0]}'
            f"</{inner}></{outer}>" + part[len(part.partition("<")[0].partition("V")[0]):]
            for part in parts[1:]
        )  # fmt: skip
    return (
        f"<model><parameters><classes>{classes}</classes><stations>{stations}</stations>"
        "</parameters></model>"
    )


def test_times_by_the_number_of_jobs_are_as_several_servers():
    servers = jmva('<closedclass name="c" population="5"/>',
                   '<delaystation name="z">T4V1</delaystation><listation name="q" servers="3">T2V1'
                   "</listation>")  # fmt: skip
    listed = servers.replace('listation name="q" servers="3"', 'ldstation name="q"').replace(
        "</listation>", "</ldstation>").replace(">2<", ">2;1;0.6666666666666666;"
        "0.6666666666666666;0.6666666666666666<")  # fmt: skip
    one, other = (solve_mixed(network_from_jmva(ET.fromstring(t), "n")) for t in (servers, listed))
    assert one.throughput == pytest.approx(other.throughput, rel=1e-11)
    with pytest.raises(FileError, match="times for up to 5 jobs and 6 may be there"):
        network_from_jmva(ET.fromstring(listed.replace('population="5"', 'population="6"')), "n")


@pytest.mark.parametrize(
    ("node", "arrivals", "tail", "words"),
    [
        (station("q", [2.0]), 1.0, (), "no steady state"),
        (station("q", [CONSTANT], order="turns", servers=2), 1.0, (), "no exact form"),
        (station("q", [0.4]), CONSTANT, (), "no Poisson process"),
        (station("q", [CONSTANT], order="turns"), 1.0, [station("t0", [0.1])], "fed by station"),
        (station("q", [0.5], servers=10**9), 1.0, (), "1,000,000,000 servers"),
    ],
)
def test_what_has_no_exact_form_is_refused(node, arrivals, tail, words):
    with pytest.raises((UnsupportedError, FileError), match=words):
        alone(node, arrivals, tail)


def test_too_many_vectors_of_populations_are_refused_at_once():
    classes = "".join(f'<closedclass name="{n}" population="1000"/>' for n in "cd")
    text = jmva(classes, '<listation name="q" servers="2">T1V1</listation>')
    with pytest.raises(UnsupportedError, match="vectors of populations"):
        solve_mixed(network_from_jmva(ET.fromstring(text), "n"))


DATA = Path(__file__).parent / "data"


def test_an_open_class_in_a_file_of_jmt_is_solved():
    """One class of LINE's file made open: its station is M/M/1 among the closed class."""
    text = (DATA / "line-one.jmva").read_text()
    closed = text[text.index("<closedclass") :].partition(">")[0]
    opened_class = text.replace(closed, '<openclass name="Chain01" rate="0.7"/')
    start = opened_class.index("<ReferenceStation")
    end = opened_class.index("</ReferenceStation>") + len("</ReferenceStation>")
    root = ET.fromstring(opened_class[:start] + opened_class[end:])
    solution = solve_mixed(network_from_jmva(root, "n"))
    for center, row in solution.utilization.items():
        assert 0 < row[0] < 1
        assert solution.queue_length[center][0] == pytest.approx(row[0] / (1 - row[0]))


def test_files_of_closed_classes_stay_closed_networks():
    for name in ("line-one.jsimg", "line-two.jsimg", "line-two.jmva"):
        assert hasattr(network_files.read(DATA / name), "stations")
