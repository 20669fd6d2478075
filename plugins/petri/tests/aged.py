"""Nets of one server a transition, played plainly with fractions: memory, speeds, inhibitors."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from parcast_petri.nets.net import Net, Tokens, Transition


class TieError(Exception):
    """Two timers are due at one time: who goes first is not what is looked at here."""


def value(text: str, names) -> Fraction:
    """Return what arithmetic of tokens comes to, by Python's own."""
    exact = {name: Fraction(number) for name, number in names.items()}
    return Fraction(eval(text, {"min": min, "max": max}, exact))


def degree(one: Transition, marking) -> int:
    if any(marking[place] >= number for place, number in one.inhibitor.items()):
        return 0
    return min((marking[place] // number for place, number in one.pre.items()), default=1)


def played(net: Net, most: int = 200) -> list[tuple[Fraction, str]]:  # noqa: PLR0912  (one loop)
    """Return when each transition fired.

    Raises
    ------
    TieError
        If two timers are due at one time.
    """
    marking = {place: net.initial.get(place, 0) for place in net.places}
    now, trace = Fraction(0), []
    left: dict[str, Fraction] = {}  # work of those enabled, and of those that remember
    while len(trace) < most:
        degrees = {one.name: degree(one, marking) for one in net.transitions}
        for one in net.transitions:
            if one.delay is None:
                continue
            if degrees[one.name]:
                left.setdefault(one.name, Fraction(one.delay))
            elif one.memory != "age":
                left.pop(one.name, None)
        instant = [one for one in net.transitions if one.delay is None and degrees[one.name]]
        if instant:
            first = max(instant, key=lambda one: one.priority)  # of equals the first of the net
        else:
            names = {**marking, **dict.fromkeys(net.loads, 0)}
            for one in net.transitions:
                if one.load:
                    names[one.load] += degrees[one.name]
            running = [one for one in net.transitions if one.delay is not None
                       and degrees[one.name]]  # fmt: skip
            speed = {one.name: Fraction(1) if one.speed is None else value(one.speed.text, names)
                     for one in running}  # fmt: skip
            due = {one.name: left[one.name] / speed[one.name] for one in running
                   if speed[one.name] > 0}  # fmt: skip
            if not due:
                return trace
            step = min(due.values())
            if sum(time == step for time in due.values()) > 1:
                raise TieError
            now += step
            for name, per_second in speed.items():
                left[name] -= step * per_second
            (first,) = [one for one in running if due.get(one.name) == step]
            del left[first.name]
        for place, number in first.pre.items():
            marking[place] -= number
        for place, number in first.post.items():
            marking[place] += number
        trace.append((now, first.name))
    return trace


SPEEDS = ("1/max(1, bus)", "1/(1 + b)", "max(0, 1 - c)", "min(1, 2/max(1, bus + d))", "2")


def aged_net(random: Random) -> Net:
    """Return a net that ends, whose transitions are held back and let go on again."""
    places = tuple("abcdef")
    transitions = []
    for index in range(random.randint(3, 8)):
        pre = {p: random.randint(1, 2) for p in random.sample(places, random.randint(1, 2))}
        post = {random.choice(places): 1} if sum(pre.values()) > 1 else {}
        timed = random.random() < 0.9
        delay = Fraction(random.randint(1, 4000), 997) if timed else None
        transitions.append(
            Transition(
                name=f"t{index}",
                pre=pre,
                post=post,
                inhibitor={random.choice(places): random.randint(1, 4)}
                if random.random() < 0.6
                else {},
                priority=random.randint(0, 2),
                delay=delay,
                speed=Tokens.read(random.choice(SPEEDS))
                if timed and random.random() < 0.7
                else None,
                memory="age" if timed and random.random() < 0.7 else "enabling",
                load="bus" if timed and random.random() < 0.7 else None,
            )
        )
    transitions.append(Transition(name="last", pre={"a": 1}, delay=Fraction(1, 991), load="bus"))
    initial = {place: random.randint(0, 5) for place in places}
    return Net(places=places, transitions=tuple(transitions), initial=initial)
