"""Networks solved state by state: as product forms, a plain reference, and JMT's files."""

from __future__ import annotations

import math
import random
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast.testing import cases, first_seed
from parcast_spmd import network_files
from parcast_spmd.jmt.jsimg import network_from_jsimg
from parcast_spmd.jmt.simulation import jsimg_text
from parcast_spmd.jmt.states import states_from_jsimg
from parcast_spmd.mixed.solve import solve_mixed
from parcast_spmd.mixed.times import Phases
from parcast_spmd.mva.choice import solve
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station
from parcast_spmd.states import moves, stationary, walk
from parcast_spmd.states.model import Mode, Node, Region, Route, Service, StatesModel
from parcast_spmd.states.solve import simulate_states, solve_states

DATA = Path(__file__).parent / "data"
FORKS = (DATA / "forks.jsimg").read_text()


def phases(*rates):
    count = len(rates)
    after = tuple(tuple(float(j == i + 1) for j in range(count)) for i in range(count))
    return Phases((1.0,) + (0.0,) * (count - 1), rates, after)


def station(name, times, to, kind="turns", **rest):
    """A station whose jobs keep their class and go to another node."""
    means = tuple(0.0 if t is None else sum(1 / rate for rate in t.rates) for t in times)
    full = ("blocks",) * len(times) if "size" in rest else ()
    rest = {"ranks": (0.0,) * len(times), "full": full, **rest}
    routes = tuple(Route(ways={(to, r): 1.0}) for r in range(len(times)))
    service = Service(kind=kind, times=tuple(times), means=means, **rest)
    return Node(name=name, kind="station", service=service, routes=routes)


def model(nodes, jobs, regions=(), modes=(), closed=None):
    return StatesModel(
        nodes=tuple(nodes), classes=tuple("abcdef"[: len(jobs)]),
        closed=(True,) * len(jobs) if closed is None else closed, modes=tuple(modes),
        regions=tuple(regions), references=(0,) * len(jobs),
        initial={(0, r): n for r, n in enumerate(jobs) if n},
    )  # fmt: skip


def ring_of_two(times, jobs, order, room):
    """Mean numbers at two single servers in a ring, by class, from lists of who stands where."""

    def arrivals(state, k, job):
        queue, phase, blocked = state
        line = queue[k]
        if not line:
            return [(1.0, place(state, k, (job,), 0))]
        line = (line[0], job, *line[1:]) if order == "head" else (*line, job)
        return [(1.0, ((*queue[:k], line, *queue[k + 1 :]), phase, blocked))]

    def place(state, k, line, at, stuck=False):
        queue, phase, blocked = (list(part) for part in state)
        queue[k], phase[k], blocked[k] = line, at, stuck
        return tuple(queue), tuple(phase), tuple(blocked)

    def moves(state, k):
        """The head of k goes to the other, which may free a blocked one."""
        job, *rest = state[0][k]
        results = []
        heads = range(len(rest)) if order == "random" and rest else [0]
        for head in heads:
            line = (rest[head], *rest[:head], *rest[head + 1 :]) if rest else ()
            for p, after in arrivals(place(state, k, line, 0), 1 - k, job):
                if after[2][1 - k] and len(after[0][k]) < room[k]:
                    results += [(p * q / len(heads), s) for q, s in moves(after, 1 - k)]
                else:
                    results.append((p / len(heads), after))
        return results

    start = tuple(r for r, n in enumerate(jobs) for _ in range(n))
    if order == "head":  # they come in this order; the last one in line may never be served
        start = (start[0], *reversed(start[1:]))
    index, flows = {((start, ()), (0, 0), (False, False)): 0}, []
    todo = list(index)
    for state in todo:
        for k in (0, 1):
            if not state[0][k] or state[2][k]:
                continue
            rates = times[k][state[0][k][0]].rates
            at = state[1][k]
            if at + 1 < len(rates):
                after = [(1.0, place(state, k, state[0][k], at + 1))]
            elif len(state[0][1 - k]) >= room[1 - k]:
                after = [(1.0, place(state, k, state[0][k], at, stuck=True))]
            else:
                after = moves(state, k)
            for p, to in after:
                if to not in index:
                    index[to] = len(index)
                    todo.append(to)
                flows.append((index[state], index[to], p * rates[at]))
    matrix = np.zeros((len(index),) * 2)
    for source, to, rate in flows:
        matrix[to, source] += rate
        matrix[source, source] -= rate
    shares = np.linalg.lstsq(
        np.vstack([matrix, np.ones(len(index))]), np.eye(len(index) + 1)[-1], rcond=None
    )[0]
    return [
        [sum(p * state[0][k].count(r) for p, state in zip(shares, index, strict=True))
         for r in range(len(jobs))]
        for k in (0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["tail", "head", "random"])
@pytest.mark.parametrize("room", [(9, 9), (9, 2), (3, 2)])
def test_orders_and_blocking_are_as_lists_of_who_stands_where(order, room):
    draw = random.Random(first_seed())
    for _ in range(cases(3)):
        times = [
            [phases(*(draw.uniform(0.3, 4) for _ in range(draw.randint(1, 3)))) for _ in range(2)]
            for _ in range(2)
        ]
        jobs = (2, 1) if room == (3, 2) else (draw.randint(1, 2), draw.randint(1, 2))
        sizes = [{"size": size} if size < 9 else {} for size in room]
        nodes = [station(f"s{k}", times[k], 1 - k, order=order, **sizes[k]) for k in (0, 1)]
        solution = solve_states(model(nodes, jobs))
        expected = ring_of_two(times, jobs, order, room)
        for k in (0, 1):
            assert solution.queue_length[f"s{k}"] == pytest.approx(expected[k], abs=1e-9)


def test_networks_with_a_product_form_are_as_by_mean_value_analysis():
    draw = random.Random(first_seed())
    for _ in range(cases(6)):
        count = draw.randint(1, 2)
        network = ClosedNetwork(
            stations=tuple(
                Station(name=f"s{k}", type=draw.choice(("queue", "delay")) if k else "queue",
                        demand=[draw.uniform(0.1, 3) for _ in range(count)])
                for k in range(draw.randint(2, 3))
            ),
            classes=tuple(
                JobClass(name=f"c{r}", population=draw.randint(1, 4)) for r in range(count)
            ),
        )  # fmt: skip
        exact = solve(network)
        states = solve_states(states_from_jsimg(ET.fromstring(jsimg_text(network, "x")), "x"))
        assert states.throughput == pytest.approx(exact.throughput, rel=1e-10)
        assert states.cycle_time == pytest.approx(exact.cycle_time, rel=1e-10)
        for name, row in exact.queue_length.items():
            assert states.queue_length[name] == pytest.approx(row, rel=1e-9)


def test_open_forks_are_as_by_station_and_lie_within_the_bounds():
    """Jobs of the forks' file come half as often, so that few are inside."""
    root = ET.fromstring(FORKS.replace("<value>0.5<", "<value>0.1<", 1))
    known, states = solve_mixed(network_from_jsimg(root, "x")), solve_states(
        states_from_jsimg(root, "x"), 60_000
    )  # fmt: skip
    for name, row in known.queue_length.items():
        assert states.queue_length[name] == pytest.approx(row, rel=1e-6)
    assert states.cycle_time == pytest.approx(known.cycle_time, rel=1e-6)
    assert "jobs of open classes are followed" in states.notes[0]


def test_a_job_that_forks_waits_for_the_longest_task():
    """One job alone: its cycle is the maximum of two exponential times and one more."""
    nodes = [
        station("front", [phases(2.0)], 1),
        Node(name="fork", kind="fork", tasks=({2: 1, 3: 1},)),
        station("left", [phases(1.0)], 4),
        station("right", [phases(3.0)], 4),
        Node(name="join", kind="join", routes=(Route(ways={(0, 0): 1.0}),)),
    ]
    solution = solve_states(model(nodes, (1,)))
    assert solution.cycle_time == pytest.approx((0.5 + 1 + 1 / 3 - 1 / 4,))
    two = solve_states(model(nodes, (2,)))
    assert 1 / two.throughput[0] < solution.cycle_time[0] < two.cycle_time[0]


def test_weights_of_shares_are_as_by_hand():
    """One job of each class: alone at full speed, together at 3 and 1 quarters of it."""
    for share in ("by job", "by class"):
        nodes = [
            station("think", [phases(1.0)] * 2, 1, kind="delay"),
            station("cpu", [phases(2.0), phases(5.0)], 0, kind="shared", share=share,
                    weights=(3.0, 1.0)),
        ]  # fmt: skip
        solution = solve_states(model(nodes, (1, 1)))
        matrix = np.array(  # neither, the first, the second, both at the processor
            [[-2, 2, 5, 0], [1, -3, 0, 1.25], [1, 0, -6, 1.5], [1, 1, 1, 1]], dtype=float
        )
        shares = np.linalg.solve(matrix, [0, 0, 0, 1])
        expected = (shares[1] + shares[3], shares[2] + shares[3])
        assert solution.queue_length["cpu"] == pytest.approx(expected)


def test_a_region_keeps_the_rest_in_front():
    """A region of one job before two servers: they are as one that is never shared."""
    nodes = [
        station("think", [phases(1.0)], 1, kind="delay"),
        station("one", [phases(2.0)], 2),
        station("two", [phases(4.0)], 0),
    ]
    region = Region(name="r", nodes=frozenset({1, 2}), most=1, most_of=(None,), weights=(1,),
                    lost=(False,))  # fmt: skip
    solution = solve_states(model(nodes, (3,), [region]))
    plain = [
        station("think", [phases(1.0)], 1, kind="delay"),
        station("both", [phases(2.0, 4.0)], 0),
    ]
    expected = solve_states(model(plain, (3,)))
    assert solution.throughput == pytest.approx(expected.throughput)
    inside = sum(solution.queue_length[name][0] for name in ("one", "two"))
    assert inside == pytest.approx(solution.throughput[0] * 0.75)
    assert "wait in front of regions" in solution.notes[0]


def petri(weight=1.0, servers=2):
    """Three tokens go by two servers, then by an immediate choice back or aside."""
    place = {name: Node(name=name, kind="place") for name in ("here", "choice", "aside")}
    modes = [
        Mode(name="go", need={(0, 0): 1}, stop={}, give={(1, 0): 1}, rate=2.0, servers=servers),
        Mode(name="back", need={(1, 0): 1}, stop={(2, 0): 1}, give={(0, 0): 1}, rate=None,
             servers=1),
        Mode(name="away", need={(1, 0): 1}, stop={}, give={(2, 0): 1}, rate=None, servers=1,
             weight=weight),
        Mode(name="home", need={(2, 0): 1}, stop={}, give={(0, 0): 1}, rate=1.0, servers=None),
    ]  # fmt: skip
    return model(list(place.values()), (3,), modes=modes)


def test_tokens_are_as_births_and_deaths():
    """With one aside the way back is closed, so that half of the first go and all others do."""
    solution = solve_states(petri())
    up = [2.0 * 2 * 0.5, 2.0 * 2, 2.0 * 1]
    weights = np.cumprod([1.0, *(rate / (n + 1) for n, rate in enumerate(up))])
    shares = weights / weights.sum()
    assert solution.queue_length["aside"] == pytest.approx((float(shares @ np.arange(4)),))
    assert solution.firing_rate["home"] == pytest.approx(solution.firing_rate["away"])
    assert solution.cycle_time == (None,)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: model([station("s0", [phases(1.0)], 1, size=1),
                        station("s1", [phases(1.0)], 0, size=1)], (2,)), "standstill|could block"),
        (lambda: model([Node(name="p", kind="place")], (2,), modes=[
            Mode(name="t", need={(0, 0): 1}, stop={}, give={}, rate=1.0, servers=1)]), ""),
        (lambda: model([Node(name="p", kind="place")], (2,), modes=[
            Mode(name="t", need={(0, 0): 3}, stop={}, give={}, rate=1.0, servers=1)]),
         "standstill, in which nothing happens: 2 'a' at 'p'"),
        (lambda: model([Node(name="p", kind="place")], (2,), modes=[
            Mode(name="t", need={(0, 0): 1}, stop={}, give={(0, 0): 1}, rate=None, servers=1)]),
         "goes round"),
        (lambda: model([Node(name="p", kind="place")], (1,), modes=[
            Mode(name="t", need={(0, 0): 1}, stop={}, give={(0, 0): 2}, rate=1.0, servers=1)]),
         "more than 500 states"),
    ],
)  # fmt: skip
def test_what_has_no_steady_state_says_so(build, words):
    if not words:
        assert solve_states(build()).queue_length["p"] == (0.0,)
        return
    with pytest.raises(ParcastError, match=words):
        solve_states(build(), 500)


def walked_models():
    """Networks of every kind of event, each solved exactly in a moment."""
    yield model([station("s0", [phases(1.0), phases(0.3)], 1),
                 station("s1", [phases(2.0, 2.0), phases(0.5)], 0, size=3)], (2, 2))  # fmt: skip
    to_server = Route(ways={(1, 0): 1.0})
    arrivals = Node(name="in", kind="source", arrivals=(phases(0.5),), routes=(to_server,))
    lossy = station("s", [phases(1.0)], 2, size=3, full=("lost",))
    yield model([arrivals, lossy, Node(name="out", kind="sink")], (0,), closed=(False,))
    yield model([Node(name="p", kind="place")], (4,), modes=[
        Mode(name="t", need={(0, 0): 1}, stop={}, give={}, rate=1.0, servers=1),
        Mode(name="u", need={}, stop={(0, 0): 5}, give={(0, 0): 2}, rate=0.3, servers=1),
    ])  # fmt: skip


def test_intervals_of_a_simulation_hold_the_exact_means():
    """Of all means and seeds about 95 % are to be inside, and none far outside."""
    inside, distances = [], []
    for network in walked_models():
        exact = solve_states(network)
        for seed in range(cases(3)):
            solution = simulate_states(network, seed)
            assert solution.method == "simulated"
            for table in ("queue_length", "visit_rate"):
                for name, means in getattr(exact, table).items():
                    walked = getattr(solution, table)[name], solution.reach[table][name]
                    for mean, simulated, reach in zip(means, *walked, strict=True):
                        if mean:
                            inside.append(abs(simulated - mean) <= reach)
                            distances.append(abs(simulated - mean) / max(reach, 1e-12))
                            assert simulated == pytest.approx(mean, rel=0.1)
    assert np.mean(inside) > 0.85
    assert max(distances) < 3


def test_too_many_states_are_simulated(tmp_path, monkeypatch):
    network = ClosedNetwork(
        stations=tuple(Station(name=name, type="queue", demand=[1.0, 0.5]) for name in "xy"),
        classes=(JobClass(name="a", population=2), JobClass(name="b", population=2)),
    )
    path = tmp_path / "x.jsimg"
    path.write_text(_with_server(jsimg_text(network, "x")))
    exact = network_files.solve_file(path, "states").solution
    monkeypatch.setattr(moves.Moves.__init__, "__defaults__", (10,))
    simulated = network_files.solve_file(path).solution
    assert simulated.method == "simulated"
    assert "as states are too many" in simulated.notes[0]
    assert simulated.throughput == pytest.approx(exact.throughput, rel=0.05)
    with pytest.raises(ParcastError, match="takes more than 10 steps"):
        network_files.solve_file(path, "states")
    monkeypatch.setattr(walk, "_LAST_LENGTH", 500)
    monkeypatch.setattr(walk, "_TOO_WIDE", 0.02)
    with pytest.raises(ParcastError, match="--method simulated goes on for up to 8 times as long"):
        network_files.solve_file(path)
    longer = network_files.solve_file(path, "simulated").solution
    assert longer.throughput == pytest.approx(exact.throughput, rel=0.02)


def test_a_simulation_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr(walk, "_LAST_LENGTH", 1000)
    for build, words in (
        (lambda: model([Node(name="p", kind="place")], (1,), modes=[
            Mode(name="t", need={(0, 0): 1}, stop={}, give={(0, 0): 2}, rate=1.0, servers=1)]),
         "does not settle: the interval of the number of 'a' at 'p'"),
        (lambda: model([Node(name="p", kind="place")], (2,), modes=[
            Mode(name="t", need={(0, 0): 3}, stop={}, give={}, rate=1.0, servers=1)]),
         "standstill, in which nothing happens"),
    ):  # fmt: skip
        with pytest.raises(ParcastError, match=words):
            walk.walk(build())


def test_files_that_have_no_product_form_are_solved(tmp_path, capsys):
    """Turns of unlike times among closed classes; other orders; weights; room that blocks."""
    network = ClosedNetwork(
        stations=(
            Station(name="think", type="delay", demand=[5.0, 4.0]),
            Station(name="bus", type="queue", demand=[0.2, 0.9]),
        ),
        classes=(JobClass(name="a", population=2), JobClass(name="b", population=2)),
    )
    text, path = jsimg_text(network, "x"), tmp_path / "x.jsimg"
    turns = _with_server(text)
    times = {}
    for name, variant in {
        "tail": turns,
        "short": turns.replace("TailStrategy", "SEPTStrategy"),
        "weights": re.sub(
            r'(name="serviceWeight">\s*<value>)1.0',
            r"\g<1>3.0",
            text.replace("EPSStrategy", "DPSStrategy"),
            count=1,
        ),
        "priority": turns.replace("TailStrategy", "TailStrategyPriority").replace(
            'priority="0"', 'priority="1"', 1
        ),
    }.items():
        path.write_text(variant)
        answer = network_files.solve_file(path)
        assert answer.solution.method == "states"
        times[name] = answer.solution.cycle_time
    assert times["short"][0] < times["tail"][0]
    assert times["weights"][0] < times["tail"][0]
    assert times["priority"] == pytest.approx(times["short"])  # the first class is the shorter
    assert main(["spmd", "network", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "exact from the balance of all states" in printed
    assert main(["spmd", "network", str(path), "-o", str(tmp_path / "y.jmva")]) == 2
    assert "leave -o out" in capsys.readouterr().err


def _with_server(text):
    """The queues of processor sharing as those of turns."""
    root = ET.fromstring(text)
    for section in root.iterfind(".//section[@className='PSServer']"):
        section.set("className", "Server")
        for name in ("PSStrategy", "serviceWeights"):
            section.remove(section.find(f"parameter[@name='{name}']"))
    return ET.tostring(root, encoding="unicode")


def test_a_net_in_a_file_is_as_its_model(tmp_path):
    path = tmp_path / "net.jsimg"
    path.write_text(net_text())
    answer = network_files.solve_file(path)
    expected = solve_states(petri())
    assert answer.solution.queue_length == expected.queue_length
    assert answer.solution.firing_rate == pytest.approx(
        {f"{name}/m": rate for name, rate in expected.firing_rate.items()}
    )


def net_text():
    """The net of `petri` as JMT writes nets."""

    def value(tag, name, text):
        return f'<{tag} classPath="java.lang.Integer" name="{name}"><value>{text}</value></{tag}>'

    def matrix(name, tokens):
        vectors = "".join(
            '<subParameter classPath="v" name="vector">'
            + value("subParameter", "stationName", place)
            + f'<subParameter array="true" name="entries"><refClass>a</refClass>'
            f"{value('subParameter', 'entry', count)}</subParameter></subParameter>"
            for place, count in tokens.items()
        )
        return (f'<parameter array="true" classPath="m" name="{name}"><subParameter name="one">'
                f'<subParameter array="true" name="vectors">{vectors}</subParameter>'
                "</subParameter></parameter>")  # fmt: skip

    def listed(name, text):
        return (f'<parameter array="true" classPath="i" name="{name}">'
                f"{value('subParameter', 'entry', text)}</parameter>")  # fmt: skip

    nodes = "".join(
        f'<node name="{name}"><section className="Storage">'
        f"{value('parameter', 'totalCapacity', -1)}</section>"
        '<section className="ServiceTunnel"/><section className="Linkage"/></node>'
        for name in ("here", "choice", "aside")
    )
    for name, need, stop, give, rate, servers in (
        ("go", {"here": 1}, {"here": 0}, {"choice": 1}, 2.0, 2),
        ("back", {"choice": 1}, {"aside": 1}, {"here": 1}, None, 1),
        ("away", {"choice": 1}, {}, {"aside": 1}, None, 1),
        ("home", {"aside": 1}, {}, {"here": 1}, 1.0, -1),
    ):
        kind = "ZeroServiceTimeStrategy" if rate is None else "ServiceTimeStrategy"
        law = "" if rate is None else (
            '<subParameter classPath="x.Exponential" name="E"/><subParameter classPath="x.P" '
            f'name="p">{value("subParameter", "lambda", rate)}</subParameter>'
        )  # fmt: skip
        nodes += (
            f'<node name="{name}"><section className="Enabling">'
            f"{matrix('enablingConditions', need)}{matrix('inhibitingConditions', stop)}</section>"
            f'<section className="Timing">{listed("modeNames", "m")}'
            f'{listed("numbersOfServers", servers)}<parameter array="true" name='
            f'"timingStrategies"><subParameter classPath="x.{kind}" name="s">{law}</subParameter>'
            f"</parameter>{listed('firingPriorities', '-1' if rate else '0')}"
            f'{listed("firingWeights", "1.0")}</section><section className="Firing">'
            f"{matrix('firingOutcomes', give)}</section></node>"
        )
    return (
        '<sim name="net"><userClass name="a" type="closed" priority="0" customers="3" '
        f'referenceSource="here"/>{nodes}</sim>'
    )


def test_files_that_are_cut_or_changed_are_solved_or_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(walk, "_LAST_LENGTH", walk._LAST_LENGTH // 8)  # of some jobs grow for ever
    draw, path = random.Random(first_seed()), tmp_path / "x.jsimg"
    alone = tuple(JobClass(name=name, population=1) for name in "ab")
    station = Station(name="s", type="queue", demand=[1.0, 2.0])
    simple = jsimg_text(ClosedNetwork(stations=(station,), classes=alone), "x")
    texts = [net_text(), _with_server(simple)]
    for _ in range(cases(150)):
        text = draw.choice(texts)
        cuts = sorted(draw.randrange(len(text)) for _ in range(2))
        changed = draw.choice((
            text[: cuts[0]] + text[cuts[1] :],
            text.replace(draw.choice((">1<", ">2<", ">2.0<", ">-1<", '"3"', "here", "aside")),
                         draw.choice((">0<", ">-7<", ">1e9<", ">nan<", '"9999999999"', "s", ">x<")),
                         draw.choice((1, 2, -1))),
        ))  # fmt: skip
        path.write_text(changed)
        sentence = ""
        try:
            solution = network_files.solve_file(path).solution
        except ParcastError as error:
            sentence = str(error)
        else:
            assert all(math.isfinite(x) for row in solution.queue_length.values() for x in row)
        assert "\n" not in sentence


def test_overload_is_told_at_once(tmp_path, capsys):
    path = tmp_path / "x.jsimg"
    blocked = FORKS.replace("</sim>", (
        '<blockingRegion name="r"><regionNode nodeName="Front"/><globalConstraint maxJobs="2"/>'
        '<dropRules dropThisClass="false" jobClass="job"/></blockingRegion></sim>'
    )).replace('source="Front" target="Split"', 'source="Front" target="Out"')  # fmt: skip
    path.write_text(blocked)
    assert network_files.solve_file(path).solution.method == "states"
    head, rest = blocked.split('<node name="Front">')
    path.write_text(head.replace(">0.5<", ">3.0<") + '<node name="Front">' + rest)
    assert main(["spmd", "network", str(path)]) == 2
    assert "it has no steady state" in capsys.readouterr().err


def test_more_room_never_slows_a_ring_that_blocks():
    times = [phases(1.0)], [phases(1.5)]
    rates = [
        solve_states(
            model([station("s0", times[0], 1), station("s1", times[1], 0, size=size)], (4,))
        ).throughput[0]
        for size in (1, 2, 3)  # a fourth would only be blocked at no work
    ]
    assert all(one < other for one, other in pairwise(rates))


def test_many_states_are_as_few(monkeypatch):
    """The same network eliminated and iterated."""
    nodes = [
        station("think", [phases(1.0, 3.0)] * 2, 1, kind="delay"),
        station("bus", [phases(2.0), phases(5.0, 5.0)], 2),
        station("disk", [phases(1.0), phases(0.5)], 0, kind="shared"),
    ]
    direct = solve_states(model(nodes, (3, 2)))
    monkeypatch.setattr(stationary, "MOST_DIRECT", 10)
    iterated = solve_states(model(nodes, (3, 2)))
    for name, row in direct.queue_length.items():
        assert iterated.queue_length[name] == pytest.approx(row, rel=1e-11)


@pytest.mark.parametrize("kind", ["shortest", "in turn"])
def test_routing_by_states_is_as_by_hand(kind):
    """Three jobs think and go to one of two servers, from a list of who is where and whose turn."""
    speeds = (1.0, 3.0)
    nodes = [
        station("think", [phases(2.0)], 1, kind="delay"),
        Node(name="router", kind="pass", routes=(Route(kind=kind, ways={(2, 0): 1, (3, 0): 1}),)),
        *(station(f"s{k}", [phases(speeds[k])], 0) for k in (0, 1)),
    ]
    solution = solve_states(model(nodes, (3,)))
    states = [(i, j, turn) for i in range(4) for j in range(4 - i) for turn in (0, 1)]
    matrix = np.zeros((len(states),) * 2)
    for at, (i, j, turn) in enumerate(states):
        ways = [turn] if kind == "in turn" else [0] if i < j else [1] if j < i else [0, 1]
        flows = [((i + (k == 0), j + (k == 1), 1 - turn if kind == "in turn" else turn),
                  2.0 * (3 - i - j) / len(ways)) for k in ways]  # fmt: skip
        flows += [((i - 1, j, turn), speeds[0] * (i > 0)), ((i, j - 1, turn), speeds[1] * (j > 0))]
        for to, rate in flows:
            if rate:
                matrix[states.index(to), at] += rate
                matrix[at, at] -= rate
    ones = np.array([turn == 0 for *_, turn in states]) if kind == "shortest" else 1.0
    shares = np.linalg.lstsq(
        np.vstack([matrix, np.ones(len(states)), np.ones(len(states)) - ones]),
        np.array([0.0] * len(states) + [1, 0]), rcond=None,
    )[0]  # fmt: skip
    for k in (0, 1):
        mean = sum(p * state[k] for p, state in zip(shares, states, strict=True))
        assert solution.queue_length[f"s{k}"] == pytest.approx((mean,), rel=1e-9)
