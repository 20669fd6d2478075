"""Runs of a net: the time it takes, what fired, and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from parcast_petri.kernel import game
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arrays import Arrays, Memory
from parcast_petri.nets.net import NetError

#: A run of more firings than these is given up.
MOST_FIRINGS = 50_000_000
#: A place with more tokens than these is taken to have no bound.
MOST_TOKENS = 1 << 40
_BUFFER = 4096


@attrs.frozen(kw_only=True)
class Run:
    """What a run came to."""

    time: Any  #: of the last firing; seconds, a fraction in the exact form
    firings: int
    fired: Mapping[str, int]  #: those that did
    marking: Mapping[str, int]  #: places with tokens
    last: Sequence[Any] = attrs.field(repr=False)  #: by transition, when it fired last
    stopped: bool  #: by the tokens that were asked for, not for want of any enabled transition


class Play:
    """One run under way; what one step does, the next goes on from.

    Parameters
    ----------
    net_arrays
        The net, as `kernel_arrays` gives it.
    draw
        Random numbers, for nets with random delays; others ask for none.
    most_firings
        How many firings there may be.
    memory
        Where it starts from; None: the net's initial marking.
    """

    def __init__(
        self,
        net_arrays: Arrays,
        draw: Any = None,
        most_firings: int = MOST_FIRINGS,
        memory: Memory | None = None,
    ) -> None:
        self.net_arrays, self.most_firings = net_arrays, most_firings
        self.draw = np.random.default_rng(0) if draw is None else draw
        self.memory = memory or net_arrays.memory()

    def events(self) -> Iterator[tuple[Any, str]]:
        """Yield time and transition of each firing from the start, as they happen."""
        self.memory = self.net_arrays.memory(room=_BUFFER)
        names = [transition.name for transition in self.net_arrays.net.transitions]
        while True:
            code = self._advance(self.most_firings)
            count = int(self.memory.m[k.TRACES])
            times = self.memory.column(k.TRACE_TIME, 0, count)
            which = self.memory.column(k.TRACE, 0, count)
            yield from zip(times, (names[t] for t in which), strict=True)
            self.memory.m[k.TRACES] = 0
            if code != k.TRACED:
                self._check(code)
                return

    def trace(self) -> tuple[Any, Any]:
        """Return times and transitions of the next firings: as many as the memory has room for.

        They are fewer where the net ends.
        """
        self._check(self._advance(MOST_TOKENS))
        count = int(self.memory.m[k.TRACES])
        self.memory.m[k.TRACES] = 0
        times = np.asarray(self.memory.column(k.TRACE_TIME, 0, count))
        return times, np.asarray(self.memory.column(k.TRACE, 0, count))

    def finish(self) -> Run:
        """Run to the end.

        Raises
        ------
        NetError
            If the net has no end that can be reached; the place or the transitions are named.
        """
        return self.result(stopped=self.end() == k.STOPPED)

    def end(self) -> int:
        """Run to the end as `finish` does, and return how it came, one of the kernel's words."""
        code = self._advance(self.most_firings)
        self._check(code)
        return code

    def result(self, *, stopped: bool = False) -> Run:
        """Return how things stand now."""
        net, count = self.net_arrays.net, len(self.net_arrays.net.transitions)
        last = self.memory.column(k.LAST, 0, count)
        numbers = self.memory.column(k.FIRED, 0, count)
        fired = {t.name: int(n) for t, n in zip(net.transitions, numbers, strict=True) if n}
        tokens = self.memory.column(k.MARKING, 0, len(net.places))
        return Run(
            time=max(last) if fired else self.memory.f[k.CLOCK] * 0,
            firings=int(self.memory.m[k.FIRINGS]),
            fired=fired,
            marking={place: int(n) for place, n in zip(net.places, tokens, strict=True) if n},
            last=last,
            stopped=stopped,
        )

    @property
    def firings(self) -> int:
        """How often transitions have fired so far."""
        return int(self.memory.m[k.FIRINGS])

    @property
    def now(self) -> Any:
        """The present time, in seconds."""
        return self.memory.f[k.CLOCK]

    def _advance(self, firings: int) -> int:
        run: Callable[..., int] = game.run
        if self.net_arrays.form == "compiled":
            from parcast_petri.compilation import GAME

            run = GAME.compiled
        while True:
            try:
                code = run(self.memory.m, self.memory.f, self.draw, firings)
            except ZeroDivisionError:
                culprit = self._culprit()
                raise NetError(f"{culprit} divides by 0 at time {_shown(self.now)}") from None
            if code != k.FULL:
                return int(code)
            self.memory = self.net_arrays.grown(self.memory)

    def _culprit(self) -> str:
        index = int(self.memory.m[k.CULPRIT])
        transitions = self.net_arrays.net.transitions
        if index < len(transitions):
            return f"the delay of transition {transitions[index].name!r}"
        pool = index - len(transitions)
        speeds = list(dict.fromkeys(t.speed for t in transitions if t.speed is not None))
        return f"the speed {speeds[pool].text!r}"

    def _check(self, code: int) -> None:
        net, now = self.net_arrays.net, _shown(self.now)
        firings = int(self.memory.m[k.FIRINGS])
        if code == k.NEGATIVE:
            raise NetError(f"{self._culprit()} is negative or no number at time {now}; mend it")
        if code == k.UNBOUNDED:
            place = net.places[int(self.memory.m[k.CULPRIT])]
            bound = self.net_arrays.options[k.BOUND]
            raise NetError(
                f"place {place!r} has more than {bound:,} tokens at time {now}, after {firings:,} "
                "firings; the net seems to have no bound: mend it, or give a larger --bound"
            )
        if code == k.ENDLESS:
            raise NetError(
                f"{self._endless()} for ever at time {now}, bringing the same marking back "
                "while no time passes; give it a delay, or one of them"
            )
        if code == k.LIMIT:
            raise NetError(
                f"the net has not ended after {firings:,} firings, at time {now}; mend it, or give "
                "a larger --firings"
            )

    def _endless(self) -> str:
        """Tell which transitions fire in a loop that takes no time."""
        before = self.memory.column(k.FIRED)
        self.memory.m[k.INSTANT] = 0  # play on without looking for a loop
        self._advance(int(self.memory.m[k.FIRINGS]) + 4 * len(before) + 64)
        after = self.memory.column(k.FIRED)
        changes = zip(self.net_arrays.net.transitions, before, after, strict=True)
        names = [repr(transition.name) for transition, old, new in changes if new > old]
        ellipsis = " and others" if len(names) > 5 else ""
        return f"{', '.join(names[:5])}{ellipsis} {'fires' if len(names) == 1 else 'fire'}"


def _shown(seconds: Any) -> str:
    return str(seconds) if isinstance(seconds, Fraction) else f"{seconds:g}"
