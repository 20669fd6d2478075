"""The token game: exact cases, hand-computed sharing, and three forms that agree."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from petri_nets import play, random_net

from parcast.testing import seeds
from parcast_petri.machine.laws import Law
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.net import Net, NetError, Tokens, Transition
from parcast_petri.nets.net_files import net_of
from parcast_petri.nets.token_game import Play

CASES = json.loads((Path(__file__).parent / "nets.json").read_text(), parse_float=Fraction)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']} {case['semantics']}")
@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_reference_nets(case, form):
    made = kernel_arrays(net_of(case["net"]), form, evaluation=case["evaluation"])
    trace = [(Fraction(time), name) for time, name in Play(made).events()]
    assert trace == [(Fraction(time), name) for time, name in case["trace"]]
    found = Play(made).finish()
    assert found.time == Fraction(case["completion_time"]["exact"])
    assert found.firings == case["firings"]
    assert found.marking == case["final_marking"]


def two_messages(**changes) -> Net:
    """Return two messages of 4 s of work behind startups of 1 s and 2 s."""
    transfer = {"delay": 4, "load": "bus", "speed": Tokens.read("1/max(1, bus)"), **changes}
    return Net(
        places=("a", "b", "c", "d", "end"),
        initial={"a": 1, "b": 1},
        transitions=(
            Transition(name="s1", pre={"a": 1}, post={"c": 1}, delay=1),
            Transition(name="s2", pre={"b": 1}, post={"d": 1}, delay=2),
            Transition(name="t1", pre={"c": 1}, post={"end": 1}, **transfer),
            Transition(name="t2", pre={"d": 1}, post={"end": 1}, **transfer),
        ),
    )


@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_transfers_share_a_bus_as_it_fills_and_empties(form):
    # alone 1..2, two at half speed 2..8 for the other 3 s of work of t1, then t2 alone for 1 s
    assert [*Play(kernel_arrays(two_messages(), form)).events()][2:] == [(8, "t1"), (9, "t2")]


@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_a_fixed_delay_is_that_of_the_marking_it_started_in(form):
    net = two_messages(speed=None, delay=Tokens.read("4*bus"))
    assert [*Play(kernel_arrays(net, form)).events()][2:] == [(5, "t1"), (10, "t2")]


@pytest.mark.parametrize(("evaluation", "ends"), [("batch", [10, 10]), ("sequential", [6, 10])])
def test_simultaneous_enablings(evaluation, ends):
    fork = [Transition(name=f"go{i}", pre={f"a{i}": 1}, post={f"b{i}": 1}, delay=2) for i in (1, 2)]
    send = [
        Transition(name=f"t{i}", pre={f"b{i}": 1}, load="bus", delay=Tokens.read("4*bus"))
        for i in (1, 2)
    ]
    places = ("a1", "a2", "b1", "b2")
    net = Net(places=places, initial={"a1": 1, "a2": 1}, transitions=(*fork, *send))
    made = kernel_arrays(net, "exact", evaluation=evaluation)
    assert [time for time, _ in Play(made).events()][2:] == ends


@pytest.mark.parametrize(("servers", "time"), [(1, 1000), (4, 250), (None, 1)])
@pytest.mark.parametrize("form", ["exact", "compiled"])
def test_servers_run_at_once(servers, time, form):
    work = Transition(name="work", pre={"in": 1}, post={"out": 1}, delay=1, servers=servers)
    feed = Transition(name="feed", pre={"all": 10}, post={"in": 10})
    net = Net(places=("all", "in", "out"), initial={"all": 1000}, transitions=(feed, work))
    found = play(net, form)  # without limit the timers outgrow the first memory
    assert (found.time, found.marking) == (time, {"out": 1000})


@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_a_queue_serves_in_the_order_of_requests(form):
    # by list order x would come first; y asks at 1, x at 2
    net = Net(
        places=("x", "y", "qx", "qy", "port", "ux", "uy"),
        initial={"x": 1, "y": 1, "port": 0, "ux": 0, "uy": 1},
        transitions=(
            Transition(name="x", pre={"x": 1}, post={"qx": 1}, delay=2),
            Transition(name="y", pre={"y": 1}, post={"qy": 1}, delay=1),
            Transition(name="get x", pre={"qx": 1, "port": 1}, post={"ux": 1}, queue="port"),
            Transition(name="get y", pre={"qy": 1, "port": 1}, post={"uy": 1}, queue="port"),
            Transition(name="free x", pre={"ux": 1}, post={"port": 1}, delay=5),
            Transition(name="free y", pre={"uy": 1}, post={"port": 1}, delay=5),
        ),
    )
    order = [name for _, name in Play(kernel_arrays(net, form)).events()]
    assert order == ["y", "x", "free y", "get y", "free y", "get x", "free x"]


def test_plain_and_compiled_give_equal_traces_bit_by_bit():
    for seed in seeds(120):
        net = random_net(Random(seed))
        for evaluation in ("batch", "sequential"):
            plain, compiled = (
                [*Play(kernel_arrays(net, form, evaluation=evaluation)).events()]
                for form in ("plain", "compiled")
            )
            assert plain == compiled, seed


@pytest.mark.parametrize("law", ["exp:2", "erlang:3,2", "uniform:1,3", "gamma:0.7,2",
                                 "lognormal:2,1", "weibull:1.5,2", "sampled:1,2,3",
                                 "hyper:4,2", "phase:0.3,2", "pareto:3,2"])  # fmt: skip
def test_random_delays_have_the_mean_of_their_law_in_both_forms(law):
    delay = Law.read(law)
    work = Transition(name="work", pre={"in": 1}, delay=delay)
    many = 20_000
    net = Net(places=("in",), initial={"in": many}, transitions=(work,))
    compiled, plain = play(net, "compiled").time, play(net, "plain").time
    assert plain == compiled
    assert abs(compiled / many - delay.mean) < 5 * (delay.scv * delay.mean**2 / many) ** 0.5
    with pytest.raises(NetError, match="no exact time"):
        kernel_arrays(net, "exact")


def loop(**of_back) -> Net:
    return Net(
        places=("a", "b"),
        initial={"a": 1},
        transitions=(
            Transition(name="there", pre={"a": 1}, post={"b": 1}),
            Transition(name="back", pre={"b": 1}, **{"post": {"a": 1}, **of_back}),
        ),
    )


@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_nets_without_an_end_are_told(form):
    with pytest.raises(NetError, match="'there', 'back' fire for ever at time 0"):
        play(loop(), form)
    with pytest.raises(NetError, match="'there', 'back' fire for ever at time 0"):
        play(loop(delay=0), form)
    with pytest.raises(NetError, match="has not ended after 10 firings"):
        play(loop(delay=1), form, most_firings=10)
    with pytest.raises(NetError, match="place 'b' has more than 9 tokens"):
        play(
            Net(
                places=("b",),
                initial={},
                transitions=(Transition(name="source", post={"b": 1}, delay=1),),
            ),
            form,
            bound=9,
        )
    with pytest.raises(NetError, match="the delay of transition 'back' divides by 0"):
        play(loop(delay=Tokens.read("1/a")), form)
    with pytest.raises(NetError, match="the delay of transition 'back' is negative"):
        play(loop(delay=Tokens.read("a - b")), form)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pre": {"q": 1}}, "names no place 'q'"),
        ({"delay": -1}, "time runs forward"),
        ({"delay": float("nan")}, "time runs forward"),
        ({"servers": 0}, "has 0 servers"),
        ({"pre": {"a": 0}}, "'a' has 0 tokens"),
        ({"delay": Tokens.read("2*z")}, "names no place 'z'"),
        ({"pre": {}, "servers": None, "delay": 1}, "has no inputs"),
        ({"queue": "a", "pre": {}}, "none of its inputs"),
        ({"queue": "a", "pre": {"a": 1}, "delay": 1}, "queued and has a delay"),
    ],
)
def test_nets_without_a_meaning_are_refused(changes, message):
    with pytest.raises(NetError, match=message):
        Net(places=("a",), initial={}, transitions=(Transition(name="t", **changes),))
    with pytest.raises(NetError, match=re.escape("take + - * / min and max")):
        Tokens.read("a ** 2")
