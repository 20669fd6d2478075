"""Timed Petri nets as frozen values, checked when they are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from operator import attrgetter, methodcaller
from typing import Literal

import attrs

from parcast.errors import ParcastError, did_you_mean
from parcast.quantities import Call, Expr, Name, names_in, parse
from parcast_petri.machine.laws import Law

Number = int | float | Fraction
Memory = Literal["enabling", "age"]

_MOST_TOKENS = 2**62

#: What expressions of tokens may use.
OPERATORS = frozenset({"+", "-", "*", "/", "min", "max", "neg"})

#: The word for a share of links.
FAIR = "max_min"
_FAIR = re.compile(rf"{FAIR}\(\s*(\w+)\s*\)")


class NetError(ParcastError):
    """A net that has no meaning, or no end that can be reached."""


@attrs.frozen
class Tokens:
    """A number that depends on the marking: arithmetic on the names of places and loads.

    ``min`` and ``max`` may be used, so a bus of capacity 1 has the speed ``1/max(1, bus)``.
    """

    text: str
    expr: Expr = attrs.field(repr=False, eq=False)

    @classmethod
    def fair(cls, load: str) -> Tokens:
        """Return the max-min fair share that a load's members have of a net's links."""
        return cls(f"{FAIR}({load})", Call(FAIR, (Name(load),)))

    @classmethod
    def read(cls, text: str) -> Tokens:
        """Return the expression that ``text`` spells, or the share that ``max_min(load)`` names.

        Raises
        ------
        NetError
            If it is no arithmetic, or uses more than `OPERATORS`.
        """
        if share := _FAIR.fullmatch(text.strip()):
            return cls.fair(share[1])
        try:
            expr = parse(text)
        except ParcastError as error:
            raise NetError(f"{text!r} is no arithmetic of tokens: {error}") from None
        for node in calls(expr):
            if node.f not in OPERATORS or (node.f in "min max" and len(node.args) < 2):
                raise NetError(f"{text!r} uses {node.f!r}; tokens take + - * / min and max")
        return cls(text, expr)


def calls(expr: Expr) -> Iterator[Call]:
    """Yield every operation of an expression."""
    if isinstance(expr, Call):
        yield expr
        for argument in expr.args:
            yield from calls(argument)


@attrs.frozen
class Given:
    """Delays that are given one after another before each run, up to so many."""

    limit: int


Delay = Number | Tokens | Law | Given


@attrs.frozen(kw_only=True)
class Transition:
    """What takes tokens, lets time pass and gives tokens.

    A transition without a delay is immediate. Tokens stay where they are during a delay, and
    are taken and given together at its end. A delay of `Tokens` is evaluated once, when the
    server becomes enabled. With a ``speed`` the delay is work, done at that speed, which is
    evaluated anew whenever the marking changes.
    """

    name: str
    pre: Mapping[str, int] = attrs.field(factory=dict)
    post: Mapping[str, int] = attrs.field(factory=dict)
    inhibitor: Mapping[str, int] = attrs.field(factory=dict)  #: disabled by so many tokens
    priority: int = 0  #: the larger goes first; then the order of the net
    delay: Delay | None = None  #: seconds, or seconds of work; None: immediate
    speed: Tokens | None = None
    servers: int | None = 1  #: timers that may run at once; None: one for each enabling
    memory: Memory = "enabling"  #: ``age``: work done is kept while disabled
    load: str | None = None  #: a name that counts how often transitions with it are enabled
    queue: str | None = None  #: an input place granted in order of request (immediate only)

    def change(self) -> dict[str, int]:
        """Return by how many tokens each place changes when it fires, where it does."""
        places = {**self.pre, **self.post}
        changes = {place: self.post.get(place, 0) - self.pre.get(place, 0) for place in places}
        return {place: tokens for place, tokens in changes.items() if tokens}


def _whole_or_not(weights: Sequence[float]) -> tuple[float, ...]:
    """Return whole numbers as such, which keep fractions exact."""
    return tuple(int(weight) if weight == int(weight) else weight for weight in weights)


@attrs.frozen
class Link:
    """What the members of some loads share, max-min fairly with those of all other links."""

    capacity: Tokens
    loads: tuple[str, ...]
    #: what a member of each takes of the link for each unit of its rate; 1 where not stated
    weights: tuple[float, ...] = attrs.field(converter=_whole_or_not)

    @weights.default
    def _alike(self) -> tuple[float, ...]:
        return (1,) * len(self.loads)


def _marked(initial: Mapping[str, int]) -> dict[str, int]:
    return {place: tokens for place, tokens in initial.items() if tokens != 0}


@attrs.frozen(kw_only=True)
class Net:
    """Places, transitions and the first marking.

    Raises
    ------
    NetError
        If a name is unknown or used twice, or a number has no meaning; the transition is named.
    """

    places: tuple[str, ...]
    transitions: tuple[Transition, ...]
    initial: Mapping[str, int] = attrs.field(converter=_marked)  #: places without tokens left out
    name: str = "net"
    links: tuple[Link, ...] = ()  #: what speeds of `Tokens.fair` are shares of
    #: How much later than a time another may be, relative to it, and still be of one instant
    same: float = 0.0
    #: The index of each transition that has more than arcs and a constant delay: seldom many
    special: tuple[int, ...] = attrs.field(init=False, repr=False, eq=False)

    @special.default
    def _special(self) -> tuple[int, ...]:
        return tuple(
            at for at, transition in enumerate(self.transitions) if not _ordinary(transition)
        )

    def __attrs_post_init__(self) -> None:
        _refuse_twice("place", self.places)
        _refuse_twice("transition", tuple(transition.name for transition in self.transitions))
        places = frozenset(self.places)
        _check_tokens("the initial marking", self.initial, places, least=0)
        names = {*places, *self.loads}
        for clash in places.intersection(self.loads):
            raise NetError(f"{clash!r} is a place and a load; give them different names")
        if _have_meaning(self.transitions, places):
            checked = [self.transitions[at] for at in self.special]
        else:
            checked = [*self.transitions]
        for transition in checked:
            _check(transition, places, names)
        self._check_shares(checked)
        for number, link in enumerate(self.links):
            if unknown := {*link.loads, *names_in(link.capacity.expr)} - names:
                raise NetError(f"links[{number}] names no place {min(unknown)!r}")

    def specials(self) -> list[Transition]:
        """Return the transitions that have more than arcs and a constant delay."""
        return [self.transitions[at] for at in self.special]

    def inputs(self) -> set[str]:
        """Return the places that some transition takes tokens from."""
        return {place for transition in self.transitions for place in transition.pre}

    def _check_shares(self, transitions: Sequence[Transition]) -> None:
        on_links = {name for link in self.links for name in link.loads}
        names = {t.speed: t.name for t in reversed(transitions) if t.speed is not None}
        for speed, name in names.items():
            fair = any(call.f == FAIR for call in calls(speed.expr))
            if fair and not names_in(speed.expr) <= on_links:
                raise NetError(f"transition {name!r}: {speed.text} is on none of the net's links")

    @property
    def loads(self) -> tuple[str, ...]:
        """The names that count enablings, in the order of the transitions."""
        loads = (self.transitions[at].load for at in self.special)
        return tuple(dict.fromkeys(load for load in loads if load))

    @property
    def random(self) -> bool:
        """Whether a delay is drawn."""
        return any(isinstance(self.transitions[at].delay, Law | Given) for at in self.special)


def _refuse_twice(kind: str, names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for name in names if len(set(names)) < len(names) else ():
        if name in seen:
            raise NetError(f"there are two {kind}s {name!r}; names must differ")
        seen.add(name)


def _have_meaning(transitions: tuple[Transition, ...], places: frozenset[str]) -> bool:
    """Tell whether all arcs are sound, much faster than one by one."""
    arcs = [*chain.from_iterable(map(attrgetter("pre", "post", "inhibitor"), transitions))]
    tokens = [*chain.from_iterable(map(methodcaller("values"), arcs))]
    return (
        places.issuperset(chain.from_iterable(arcs))
        and {int}.issuperset(map(type, tokens))
        and min(tokens, default=1) >= 1
        and max(tokens, default=1) < _MOST_TOKENS
    )


def _ordinary(transition: Transition) -> bool:
    """Tell whether a transition has arcs and a constant delay or none, and nothing besides."""
    timed = type(transition.delay) is float and 0 <= transition.delay < float("inf")
    alone = (
        transition.servers == 1
        and transition.speed is None
        and transition.queue is None
        and transition.load is None
    )
    plain = (
        not transition.inhibitor and transition.memory == "enabling" and transition.priority == 0
    )
    return alone and plain and (timed or transition.delay is None)


def _check_tokens(
    where: str, arcs: Mapping[str, int], places: frozenset[str], least: int = 1
) -> None:
    for place, tokens in arcs.items():
        if place not in places:
            raise NetError(f"{where} names no place {place!r}.{did_you_mean(place, places)}")
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < least:
            raise NetError(
                f"{where}: {place!r} has {tokens!r} tokens; give a whole number, {least} or more"
            )
        if tokens >= _MOST_TOKENS:
            raise NetError(f"{where}: {place!r} has {tokens} tokens; give fewer than 2^62")


def _check(transition: Transition, places: frozenset[str], names: set[str]) -> None:
    where = f"transition {transition.name!r}"
    for arcs in (transition.pre, transition.post, transition.inhibitor):
        _check_tokens(where, arcs, places)
    for number in (transition.delay, transition.speed):
        if isinstance(number, Tokens) and (unknown := names_in(number.expr) - names):
            name = min(unknown)
            hint = did_you_mean(name, names)
            raise NetError(f"{where}: {number.text!r} names no place {name!r}.{hint}")
    if isinstance(transition.delay, Tokens) and any(
        call.f == FAIR for call in calls(transition.delay.expr)
    ):
        raise NetError(f"{where}: {transition.delay.text} is a speed, no delay")
    if transition.servers is not None and transition.servers < 1:
        raise NetError(f"{where} has {transition.servers} servers; give 1 or more, or none at all")
    delay = transition.delay
    if isinstance(delay, int | float | Fraction) and not 0 <= delay < float("inf"):
        raise NetError(f"{where} has a delay of {delay}; time runs forward, give 0 or more")
    if delay is None:
        _check_immediate(transition, where)
    elif transition.queue is not None:
        raise NetError(f"{where} is queued and has a delay; let an immediate one take the resource")
    if transition.servers != 1 and not transition.pre:
        raise NetError(f"{where} has no inputs, so it needs 1 server, not more")
    if transition.memory == "age" and transition.servers != 1:
        raise NetError(f"{where} keeps the age of its work, so it needs 1 server")


def _check_immediate(transition: Transition, where: str) -> None:
    if transition.speed is not None:
        raise NetError(f"{where} is immediate and has a speed; give it a delay")
    if transition.queue is not None and transition.queue not in transition.pre:
        raise NetError(f"{where} queues for {transition.queue!r}, which is none of its inputs")
