"""Work that is kept while a transition is disabled, under every policy; exact."""

from __future__ import annotations

import json
from fractions import Fraction
from random import Random

import pytest
from aged import TieError, aged_net, played

from parcast.cli import main
from parcast.testing import cases, seeds
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.net import Net, NetError, Tokens, Transition
from parcast_petri.nets.token_game import Play

NETS = cases(150, least=60)


@pytest.mark.parametrize("policy", ["fixed", "ps"])
@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_work_done_is_kept_while_its_transition_is_held_back(policy, form):
    """5 s of work, held back from 7/2 to 7 s: 3/2 s of it are left."""
    speed, work = (None, 5) if policy == "fixed" else (Tokens.read("1/2"), Fraction(5, 2))
    net = Net(
        places=("a", "b", "hold", "free"),
        initial={"a": 1, "b": 1},
        transitions=(
            Transition(name="w", pre={"a": 1}, inhibitor={"hold": 1}, delay=work, speed=speed,
                       memory="age"),
            Transition(name="on", pre={"b": 1}, post={"hold": 1}, delay=Fraction(7, 2)),
            Transition(name="off", pre={"hold": 1}, delay=Fraction(7, 2)),
        ),
    )  # fmt: skip
    assert [*Play(kernel_arrays(net, form)).events()][-1] == (8.5, "w")


@pytest.mark.parametrize("form", ["exact", "plain", "compiled"])
def test_a_negative_speed_is_refused(form):
    """Work done at it would be undone: 20 s for 2 s of work, the last 11 of them at speed 1."""
    net = Net(
        places=("a", "b"),
        initial={"a": 1, "b": 3},
        transitions=(
            Transition(name="w", pre={"a": 1}, delay=2, speed=Tokens.read("1 - b")),
            Transition(name="c", pre={"b": 1}, delay=3),
        ),
    )
    with pytest.raises(NetError, match="the speed '1 - b' is negative or no number at time 0"):
        Play(kernel_arrays(net, form)).finish()


def test_the_command_keeps_the_work_of_a_shared_speed(tmp_path, capsys):
    """10 s of work held back from 1/2 to 4 s end at 27/2, not at 14."""
    path = tmp_path / "net.json"
    path.write_text(json.dumps({
        "places": ["a", "b", "hold"], "initial_marking": {"a": 1, "b": 1},
        "transitions": [
            {"name": "w", "pre": {"a": 1}, "inhibitor": {"hold": 1}, "delay": 10, "policy": "ps",
             "speed": "1", "memory": "age"},
            {"name": "on", "pre": {"b": 1}, "post": {"hold": 1}, "delay": "1/2"},
            {"name": "off", "pre": {"hold": 1}, "delay": "7/2"},
        ],
    }))  # fmt: skip
    assert main(["petri", "solve", str(path)]) == 0
    assert "13.5 s (27/2 exactly)" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["exact", "plain"])
def test_every_firing_is_that_of_a_plain_implementation(form):
    compared = 0
    for seed in seeds(NETS):
        net = aged_net(Random(seed))
        try:
            expected = played(net)
        except TieError:
            continue
        found = [*Play(kernel_arrays(net, form)).events()]
        assert [name for _, name in found] == [name for _, name in expected], seed
        times = [float(time) for time, _ in expected]
        assert [float(time) for time, _ in found] == pytest.approx(times, rel=1e-12), seed
        compared += 1
    assert compared > NETS / 2
