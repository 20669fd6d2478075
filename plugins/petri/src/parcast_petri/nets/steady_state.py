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
from parcast_petri.nets.markings import search_markings
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
class BatchMean:
    """A mean of the long run, and its 95 % interval."""

    mean: float
    low: float
    high: float


@attrs.frozen
class SteadyState:
    """The long run of a net."""

    net: Net
    seconds: float  #: observed
    firings: int
    throughput: Mapping[str, BatchMean]  #: firings a second, by transition
    marking: Mapping[
        str, BatchMean
    ]  #: tokens in the mean, by place that some transition takes from
    settled: bool  #: whether the intervals are as narrow as was sought

    def as_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "net": self.net.name,
            "steady_state": {
                "seconds": self.seconds,
                "firings": self.firings,
                "settled": self.settled,
                "throughput": {name: attrs.asdict(mean) for name, mean in self.throughput.items()},
                "marking": {name: attrs.asdict(mean) for name, mean in self.marking.items()},
            },
        }

    def report(self) -> str:
        """Return the same for people."""
        title = (
            f"{self.net.name}: never ends; steady state from {self.firings:,} firings in "
            f"{self.seconds:.6g} s, with 95 % intervals"
        )
        lines = [
            title,
            *_listed("firings per second", self.throughput),
            *_listed("mean tokens", self.marking),
        ]
        if not self.settled:
            lines.append("the intervals are wider than 1 %; a larger --firings narrows them")
        return "\n".join(lines)


def _listed(title: str, means: Mapping[str, BatchMean]) -> list[str]:
    rows = (
        f"  {name}: {mean.mean:.6g} ({mean.low:.6g} .. {mean.high:.6g})"
        for name, mean in means.items()
    )
    return [f"{title}:", *rows]


def never_ends(net: Net) -> bool:
    """Tell whether a net goes on for ever, times left aside.

    It does where something is enabled in each of its markings. Where these are too many to look at,
    none of those looked at may be a halt, and some numbers of firings must bring a marking back:
    the nets of programs and of loops that count have none.
    """
    if any(not transition.pre and not transition.inhibitor for transition in net.transitions):
        return True
    inputs = net.inputs()
    if any(place not in inputs for transition in net.transitions for place in transition.inhibitor):
        return False
    bare = [
        Transition(
            name=transition.name,
            pre=transition.pre,
            post={place: number for place, number in transition.post.items() if place in inputs},
            inhibitor=transition.inhibitor,
        )
        for transition in net.transitions
    ]
    initial = {place: number for place, number in net.initial.items() if place in inputs}
    inner = Net(places=tuple(inputs), transitions=tuple(bare), initial=initial)
    if not _repeats(inner):
        return False
    search = search_markings(inner)
    return search.firing_sequence is None


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
    firings: list[Array] = attrs.field(factory=list)
    token_seconds: list[Array] = attrs.field(factory=list)

    def observe(self, size: int) -> bool:
        """Observe a batch of so many firings, a multiple of `_FIRST`; tell whether all happened."""
        transitions, places = self.change.shape
        firings, token_seconds, begun = np.zeros(transitions), np.zeros(places), self.began
        for _ in range(size // _FIRST):
            times, which = self.play.trace()
            if len(which) < _FIRST:
                return False
            number = np.bincount(which, minlength=transitions).astype(float)
            left = np.bincount(which, times[-1] - times, minlength=transitions)
            token_seconds = (
                token_seconds + self.marking * (times[-1] - self.began) + self.change.T @ left
            )
            self.marking = self.marking + self.change.T @ number
            firings, self.began = firings + number, times[-1]
        self.seconds.append(self.began - begun)
        self.firings.append(firings)
        self.token_seconds.append(token_seconds)
        return True

    def merge(self) -> None:
        """Take two batches for one."""
        for name in ("seconds", "firings", "token_seconds"):
            values = getattr(self, name)
            setattr(self, name, [a + b for a, b in zip(values[::2], values[1::2], strict=True)])


def steady_state(
    net_arrays: Arrays, seed: int = 0, most_firings: int = MOST_STEADY
) -> SteadyState | None:
    """Return the long run of a net; None where it ends.

    Parameters
    ----------
    net_arrays
        The net, in the form that plays it.
    seed
        Of random delays.
    most_firings
        How many firings there may be.

    Raises
    ------
    NetError
        If tokens pile up in a place, or the net's run is refused (see `Play`).
    """
    net = net_arrays.net
    play = Play(net_arrays, generator(seed, 0), memory=net_arrays.memory(room=_FIRST))
    batches = _Batches(
        play, _change(net), np.array([net.initial.get(p, 0) for p in net.places], float)
    )
    size = _FIRST
    while True:
        while len(batches.seconds) < _BATCHES:
            if not batches.observe(size):
                return None
        estimate, settled = _estimated(net, batches)
        if settled or _BATCHES * size * 3 // 2 > most_firings:
            return attrs.evolve(estimate, settled=settled)
        batches.merge()
        size *= 2


def _change(net: Net) -> Any:
    from scipy.sparse import lil_array

    place = {name: at for at, name in enumerate(net.places)}
    change = lil_array((len(net.transitions), len(net.places)))
    for at, transition in enumerate(net.transitions):
        for name, tokens in transition.change().items():
            change[at, place[name]] = tokens
    return change.tocsr()


def _estimated(net: Net, batches: _Batches) -> tuple[SteadyState, bool]:
    seconds = np.array(batches.seconds[_WARM:])
    firings = np.array(batches.firings[_WARM:])
    token_seconds = np.array(batches.token_seconds[_WARM:])
    _refuse_growth(net, seconds, token_seconds)
    rates, rate_half, rate_alike = _ratios(firings, seconds)
    means, mean_half, mean_alike = _ratios(token_seconds, seconds)
    inputs = net.inputs()
    places = [at for at, place in enumerate(net.places) if place in inputs]
    narrow = (rate_half <= _TOLERANCE * rates).all() and (
        mean_half[places] <= _TOLERANCE * np.maximum(1, means[places])
    ).all()
    independent = max(rate_alike.max(), mean_alike[places].max(initial=0.0)) <= _ALIKE
    estimate = SteadyState(
        net=net,
        seconds=float(seconds.sum()),
        firings=int(firings.sum()),
        throughput={
            transition.name: _mean(rates[at], rate_half[at])
            for at, transition in enumerate(net.transitions)
        },
        marking={net.places[at]: _mean(means[at], mean_half[at]) for at in places},
        settled=False,
    )
    return estimate, bool(narrow and independent)


def _ratios(values: Array, seconds: Array) -> tuple[Array, Array, Array]:
    """Return ratios to the time, half widths of their intervals, and how alike neighbors are."""
    count = len(seconds)
    ratio = values.sum(axis=0) / seconds.sum()
    deviations = values - ratio * seconds[:, None]
    square = (deviations**2).sum(axis=0)
    half = _STUDENT * np.sqrt(square / (count * (count - 1))) / seconds.mean()
    exact = square <= (1e-12 * np.abs(values).sum(axis=0)) ** 2
    alike = (deviations[1:] * deviations[:-1]).sum(axis=0) / np.where(exact, 1.0, square)
    return ratio, half, np.where(exact, 0.0, alike)


def _mean(value: float, half: float) -> BatchMean:
    return BatchMean(float(value), float(max(value - half, 0.0)), float(value + half))


def _refuse_growth(net: Net, seconds: Array, token_seconds: Array) -> None:
    """Refuse a net in which tokens pile up.

    Raises
    ------
    NetError
        If a place that some transition takes from holds ever more.
    """
    inputs = net.inputs()
    middle = np.cumsum(seconds) - seconds / 2
    for at, place in enumerate(net.places):
        means = token_seconds[:, at] / seconds
        if place not in inputs or not np.ptp(means):
            continue
        slope = np.polyfit(middle, means, 1)[0]
        if np.corrcoef(middle, means)[0, 1] > 0.95 and means[-1] > 1.5 * means[0] > 0:
            raise NetError(
                f"place {place!r} grows by {slope:.3g} tokens a second: it is filled faster than "
                "it is emptied, and there is no steady state; mend it"
            )
