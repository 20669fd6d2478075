"""The long run of a net that never ends: how often transitions fire, and what places hold.

By batch means over one run of the token game: batches of equally many firings, of which the first
quarter is left out, and ratios of what happened in a batch to how long it was (Law, Simulation
Modeling and Analysis, 2015, section 9.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import generator
from parcast_petri.nets.arrays import Arrays
from parcast_petri.nets.markings import searched
from parcast_petri.nets.net import Net, NetError, Transition
from parcast_petri.nets.token_game import Play

Array = NDArray[np.float64]

#: Firings of a first batch, batches, and those left out at the beginning.
_FIRST, _BATCHES, _WARM = 4096, 64, 16
#: The quantile of 0.975 of Student's law with 47 degrees of freedom.
_STUDENT = 2.0117
#: Half widths of intervals to stop at, relative to a throughput, or to a mean marking of 1 or more.
_TOLERANCE = 0.01
#: Batches one after another are alike by chance up to this correlation.
_ALIKE = 0.5
#: The firings that are observed at least, and those that take some ten seconds.
LEAST_STEADY, MOST_STEADY = _FIRST * _BATCHES, 20_000_000


@attrs.frozen
class Mean:
    """A mean of the long run, and its 95 % interval."""

    mean: float
    low: float
    high: float


@attrs.frozen
class Steady:
    """The long run of a net."""

    net: Net
    seconds: float  #: observed
    firings: int
    throughput: Mapping[str, Mean]  #: firings a second, by transition
    marking: Mapping[str, Mean]  #: tokens in the mean, by place that some transition takes from
    settled: bool  #: whether the intervals are as narrow as was sought

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "net": self.net.name,
            "steady_state": {
                "seconds": self.seconds,
                "firings": self.firings,
                "settled": self.settled,
                "throughput": {name: attrs.asdict(one) for name, one in self.throughput.items()},
                "marking": {name: attrs.asdict(one) for name, one in self.marking.items()},
            },
        }

    def report(self) -> str:
        """Return the same for people."""
        title = (
            f"{self.net.name}: never ends; its long run by {self.firings:,} firings in "
            f"{self.seconds:.6g} s, with 95 % intervals"
        )
        lines = [
            title,
            *_listed("firings a second", self.throughput),
            *_listed("tokens in the mean", self.marking),
        ]
        if not self.settled:
            lines.append("the intervals are wider than 1 %; a larger --firings narrows them")
        return "\n".join(lines)


def _listed(title: str, means: Mapping[str, Mean]) -> list[str]:
    rows = (
        f"  {name}: {one.mean:.6g} ({one.low:.6g} .. {one.high:.6g})" for name, one in means.items()
    )
    return [f"{title}:", *rows]


def never_ends(net: Net) -> bool:
    """Tell whether a net goes on for ever, times left aside.

    It does where something is enabled in each of its markings. Where these are too many to look at,
    none of those looked at may be a halt, and some numbers of firings must bring a marking back:
    the nets of programs and of loops that count have none.
    """
    if any(not one.pre and not one.inhibitor for one in net.transitions):
        return True
    taken = {place for one in net.transitions for place in one.pre}
    if any(place not in taken for one in net.transitions for place in one.inhibitor):
        return False
    bare = [
        Transition(
            name=one.name,
            pre=one.pre,
            post={place: number for place, number in one.post.items() if place in taken},
            inhibitor=one.inhibitor,
        )
        for one in net.transitions
    ]
    initial = {place: number for place, number in net.initial.items() if place in taken}
    inner = Net(places=tuple(taken), transitions=tuple(bare), initial=initial)
    if not _repeats(inner):
        return False
    search = searched(inner)
    return search.way is None


def _repeats(net: Net) -> bool:
    """Tell whether some numbers of firings, of every transition one, bring a marking back."""
    from scipy.optimize import linprog

    change, count = _change(net), len(net.transitions)
    return bool(linprog(np.zeros(count), A_eq=change.T, b_eq=np.zeros(change.shape[1]),
                        bounds=(1, None), method="highs").success)  # fmt: skip


@attrs.define(eq=False)
class _Batches:
    """What happened in each batch: its seconds, firings by transition, and tokens by time."""

    play: Play
    change: Any  #: of the marking, a row for each transition
    marking: Array
    began: float = 0.0
    seconds: list[float] = attrs.field(factory=list)
    fired: list[Array] = attrs.field(factory=list)
    held: list[Array] = attrs.field(factory=list)

    def one(self, size: int) -> bool:
        """Observe a batch of so many firings, a multiple of `_FIRST`; tell whether all happened."""
        transitions, places = self.change.shape
        fired, held, begun = np.zeros(transitions), np.zeros(places), self.began
        for _ in range(size // _FIRST):
            times, which = self.play.trace()
            if len(which) < _FIRST:
                return False
            number = np.bincount(which, minlength=transitions).astype(float)
            left = np.bincount(which, times[-1] - times, minlength=transitions)
            held = held + self.marking * (times[-1] - self.began) + self.change.T @ left
            self.marking = self.marking + self.change.T @ number
            fired, self.began = fired + number, times[-1]
        self.seconds.append(self.began - begun)
        self.fired.append(fired)
        self.held.append(held)
        return True

    def merge(self) -> None:
        """Take two batches for one."""
        for name in ("seconds", "fired", "held"):
            values = getattr(self, name)
            setattr(self, name, [a + b for a, b in zip(values[::2], values[1::2], strict=True)])


def steady(made: Arrays, seed: int = 0, most: int = MOST_STEADY) -> Steady | None:
    """Return the long run of a net; None where it ends.

    Parameters
    ----------
    made
        The net, in the form that plays it.
    seed
        Of random delays.
    most
        How many firings there may be.

    Raises
    ------
    NetError
        If tokens pile up in a place, or the net's run is refused (see `Play`).
    """
    net = made.net
    play = Play(made, generator(seed, 0), memory=made.memory(room=_FIRST))
    batches = _Batches(
        play, _change(net), np.array([net.initial.get(p, 0) for p in net.places], float)
    )
    size = _FIRST
    while True:
        while len(batches.seconds) < _BATCHES:
            if not batches.one(size):
                return None
        found, settled = _estimated(net, batches)
        if settled or _BATCHES * size * 3 // 2 > most:
            return attrs.evolve(found, settled=settled)
        batches.merge()
        size *= 2


def _change(net: Net) -> Any:
    from scipy.sparse import lil_array

    place = {name: at for at, name in enumerate(net.places)}
    change = lil_array((len(net.transitions), len(net.places)))
    for at, one in enumerate(net.transitions):
        for arcs, sign in ((one.pre, -1), (one.post, 1)):
            for name, number in arcs.items():
                change[at, place[name]] += sign * number
    return change.tocsr()


def _estimated(net: Net, batches: _Batches) -> tuple[Steady, bool]:
    seconds = np.array(batches.seconds[_WARM:])
    fired, held = np.array(batches.fired[_WARM:]), np.array(batches.held[_WARM:])
    _refuse_growth(net, seconds, held)
    rates, rate_half, rate_alike = _ratios(fired, seconds)
    means, mean_half, mean_alike = _ratios(held, seconds)
    taken = {place for one in net.transitions for place in one.pre}
    places = [at for at, place in enumerate(net.places) if place in taken]
    narrow = (rate_half <= _TOLERANCE * rates).all() and (
        mean_half[places] <= _TOLERANCE * np.maximum(1, means[places])
    ).all()
    apart = max(rate_alike.max(), mean_alike[places].max(initial=0.0)) <= _ALIKE
    found = Steady(
        net=net,
        seconds=float(seconds.sum()),
        firings=int(fired.sum()),
        throughput={
            one.name: _mean(rates[at], rate_half[at]) for at, one in enumerate(net.transitions)
        },
        marking={net.places[at]: _mean(means[at], mean_half[at]) for at in places},
        settled=False,
    )
    return found, bool(narrow and apart)


def _ratios(values: Array, seconds: Array) -> tuple[Array, Array, Array]:
    """Return ratios to the time, half widths of their intervals, and how alike neighbors are."""
    count = len(seconds)
    ratio = values.sum(axis=0) / seconds.sum()
    apart = values - ratio * seconds[:, None]
    square = (apart**2).sum(axis=0)
    half = _STUDENT * np.sqrt(square / (count * (count - 1))) / seconds.mean()
    exact = square <= (1e-12 * np.abs(values).sum(axis=0)) ** 2
    alike = (apart[1:] * apart[:-1]).sum(axis=0) / np.where(exact, 1.0, square)
    return ratio, half, np.where(exact, 0.0, alike)


def _mean(value: float, half: float) -> Mean:
    return Mean(float(value), float(max(value - half, 0.0)), float(value + half))


def _refuse_growth(net: Net, seconds: Array, held: Array) -> None:
    """Refuse a net in which tokens pile up.

    Raises
    ------
    NetError
        If a place that some transition takes from holds ever more.
    """
    taken = {place for one in net.transitions for place in one.pre}
    middle = np.cumsum(seconds) - seconds / 2
    for at, place in enumerate(net.places):
        means = held[:, at] / seconds
        if place not in taken or not np.ptp(means):
            continue
        slope = np.polyfit(middle, means, 1)[0]
        if np.corrcoef(middle, means)[0, 1] > 0.95 and means[-1] > 1.5 * means[0] > 0:
            raise NetError(
                f"place {place!r} grows by {slope:.3g} tokens a second: it is filled faster than "
                "it is emptied, and there is no steady state; mend it"
            )
