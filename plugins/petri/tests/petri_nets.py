"""Nets by chance."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Literal

from parcast_petri.machine.laws import Law
from parcast_petri.nets.arrays import Form, kernel_arrays
from parcast_petri.nets.net import Net, Tokens, Transition
from parcast_petri.nets.token_game import MOST_FIRINGS, MOST_TOKENS, Play, Run


def random_net(random: Random) -> Net:
    """Return a net that loses tokens as it runs, so that it ends."""
    places = tuple("abcdef")
    transitions = []
    for index in range(random.randint(2, 8)):
        pre = {p: random.randint(1, 2) for p in random.sample(places, random.randint(1, 2))}
        post = {random.choice(places): 1} if sum(pre.values()) > 1 else {}
        delay = random.choice([None, 0, 1, 2, Fraction(3, 2), Tokens.read("1 + bus + a")])
        speed = random.choice([None, Tokens.read("1/max(1, bus)"), Tokens.read("1/(1 + b)")])
        servers = 1 if delay is None else random.choice([1, 2, None])
        transitions.append(
            Transition(
                name=f"t{index}",
                pre=pre,
                post=post,
                inhibitor={random.choice(places): 4} if random.random() < 0.3 else {},
                priority=random.randint(0, 2),
                delay=delay,
                speed=None if delay is None else speed,
                servers=servers,
                memory=random.choice(["age", "enabling"]) if servers == 1 else "enabling",
                load=None if delay is None else "bus",
            )
        )
    if not any(one.load for one in transitions):
        transitions.append(Transition(name="last", pre={"a": 1}, delay=1, load="bus"))
    initial = {place: random.randint(0, 6) for place in places}
    return Net(places=places, transitions=tuple(transitions), initial=initial)


def ordinary_net(random: Random) -> Net:
    """Return a net of timers alone, with conflicts, equal times and delays of 0, that ends."""
    places = tuple("abcdefgh")
    transitions = []
    for index in range(random.randint(2, 12)):
        pre = {p: random.randint(1, 2) for p in random.sample(places, random.randint(1, 3))}
        least = sum(pre.values()) - 1
        post = {random.choice(places): random.randint(1, least)} if least else {}
        delay = random.choice([0.0, 1.0, 1.0, 0.1, 2.5, Law("exp", (1.0,)), Law("exp", (0.2,))])
        transitions.append(
            Transition(
                name=f"t{index}", pre=pre, post=post, priority=random.randint(0, 2), delay=delay
            )
        )
    transitions.append(Transition(name="last", pre={"a": 1}, delay=1.0))
    initial = {place: random.randint(1, 9) for place in places}
    return Net(places=places, transitions=tuple(transitions), initial=initial)


def play(
    net: Net,
    form: Form = "compiled",
    *,
    evaluation: Literal["batch", "sequential"] = "batch",
    most_firings: int = MOST_FIRINGS,
    bound: int = MOST_TOKENS,
) -> Run:
    """Return what a net comes to by itself (see `kernel_arrays` and `Play`)."""
    return Play(
        kernel_arrays(net, form, evaluation=evaluation, bound=bound), most_firings=most_firings
    ).finish()
