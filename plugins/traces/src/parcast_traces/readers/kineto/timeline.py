"""The calls of one rank in one order: what overlaps is begun, and waited for at its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast_traces.readers.kineto.calls import Call
from parcast_traces.readers.kineto.profile import Place, Profile, Spell, merged
from parcast_traces.trace.columns import Ints
from parcast_traces.trace.rank_recorder import RankRecorder

#: Before all times, and after them.
_NEVER, _EVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@attrs.frozen(eq=False)
class StepTimes:
    """The profiler's steps: when the host begins each and ends the last, which is one time more."""

    host: Ints
    finished: Ints  #: when all is done, on devices too, that the host had launched by then
    filling: int = 0
    """By how much the first is later: devices had nothing to do before it, and steps after it hide
    what the host takes to launch behind the work of the step before."""


@attrs.frozen(eq=False)
class Timeline:
    """The calls of a profile, with regions, and with what computes at the same time."""

    first: int
    last: int
    calls: Sequence[Call]
    regions: Sequence[str]
    computed: Ints  #: until when there is computation beside each call; none: it is the start
    alone: Sequence[bool]  #: it blocks: neither computation nor another call is beside it
    steps: StepTimes | None = None

    def of_steps(self) -> Timeline:
        """Return what the steps launched, from when all before is done to the end of all of it."""
        assert self.steps is not None
        first, last = self.steps.host[[0, -1]].tolist()
        inside = [n for n, call in enumerate(self.calls) if first <= call.launched < last]
        calls = [self.calls[number] for number in inside]
        begin = min([int(self.steps.finished[0]), *(call.start for call in calls)])
        finished = np.concatenate([[begin], self.steps.finished[1:]])
        return attrs.evolve(
            self,
            first=begin,
            last=int(finished[-1]),
            calls=calls,
            regions=[self.regions[number] for number in inside],
            computed=self.computed[inside],
            alone=[self.alone[number] for number in inside],
            steps=attrs.evolve(self.steps, finished=finished),
        )

    def record(
        self, recorder: RankRecorder, groups: Sequence[Hashable], peers: Sequence[int | None]
    ) -> None:
        """Record all calls, of these groups and with these peers; times are in us."""
        recorder.local("init", 0.0, 0.0)
        before = self.first
        for end, waits, number in self._order():
            call = self.calls[number]
            recorder.region = self.regions[number]
            if waits:
                start = min(max(int(self.computed[number]), before), end)
                recorder.wait("wait", self.us(start), self.us(end), [number])
            else:
                times = self.us(call.start), self.us(end)
                request = None if self.alone[number] else number
                _record(recorder, call, times, (groups[number], peers[number]), request)
            before = end
        recorder.region = ""
        recorder.local("finalize", self.us(self.last), self.us(self.last))

    def _order(self) -> list[tuple[int, bool, int]]:
        """Return what ends when: the time, whether it is a wait, and the call's number."""
        order = []
        for number, (call, alone) in enumerate(zip(self.calls, self.alone, strict=True)):
            order.append((call.end if alone else call.start, False, number))
            if not alone:
                order.append((call.end, True, number))
        return sorted(order)

    def us(self, time: int) -> float:
        """Return a time since the first event, in us."""
        return (time - self.first) / 1000


def alike(timelines: Mapping[int, Timeline]) -> dict[int, Timeline]:
    """Return timelines whose collectives are all begun and waited for, if one of them is.

    Those that one rank begins and waits for the others must begin too.
    """
    if all(all(own.alone) for own in timelines.values()):
        return dict(timelines)
    return {
        rank: attrs.evolve(
            own,
            alone=[
                alone and call.peer is not None
                for alone, call in zip(own.alone, own.calls, strict=True)
            ],
        )
        for rank, own in timelines.items()
    }


def timeline(profile: Profile, calls: Sequence[Call]) -> Timeline:
    """Return the calls of a profile in one order."""
    computed = _computed(profile, calls)
    return Timeline(
        profile.first,
        profile.last,
        calls,
        _regions(profile, calls),
        computed,
        _alone(calls, computed),
        _steps(profile, calls),
    )


def _steps(profile: Profile, calls: Sequence[Call]) -> StepTimes | None:
    """Return the steps of a profile; None if there are none, or they overlap.

    Devices are behind the host, so that a step is done when the work is that it launched.
    """
    spans = sorted(profile.steps, key=_outer_first)
    starts = np.array([span.start for span in spans], np.int64)
    ends = np.array([span.end for span in spans], np.int64)
    if not spans or (starts[1:] < ends[:-1]).any():
        return None
    host = np.append(starts, ends[-1])
    launches, begun, finished = _launches(profile, calls)
    before = np.searchsorted(host, launches, side="right")  # the first boundary after it
    reached, first = np.append(host, _NEVER), np.full(len(host) + 1, _EVER)
    np.maximum.at(reached, before, finished)
    np.minimum.at(first, before, begun)
    reached = np.maximum.accumulate(reached[:-1])
    filling = _filling(host, reached, first[1:-1]) if _are_launched(profile, calls) else 0
    reached[0] += filling
    return StepTimes(host, reached, filling)


def _are_launched(profile: Profile, calls: Sequence[Call]) -> bool:
    """Return whether all that a profile records is work of devices whose launches are known."""
    return all(call.spell.device for call in calls) and all(
        correlation in profile.launches
        for correlations in profile.correlations.values()
        for correlation in correlations
    )


def _filling(host: Ints, reached: Ints, first: Ints) -> int:
    """Return for how long the first step waits for its devices more than the others do, in ns.

    ``first`` is when the first work of each step begins.
    """
    idle = np.maximum(first - reached[:-1], 0)
    if reached[0] > host[0] or len(idle) < 2 or (first == _EVER).any():
        return 0
    return max(0, int(idle[0] - np.median(idle[1:])))


def _launches(profile: Profile, calls: Sequence[Call]) -> tuple[Ints, Ints, Ints]:
    """Return when what devices do was launched, when it began, and when it was done.

    What a stream does before all whose launch is in the file was launched before the file began.
    """
    first_call: dict[Place, int] = {}
    for call in calls:
        first_call.setdefault(call.spell.place, call.start)
    launches = [np.array([call.launched for call in calls], np.int64)]
    begins = [np.array([call.start for call in calls], np.int64)]
    finished = [np.array([call.end for call in calls], np.int64)]
    for place, correlations in profile.correlations.items():
        starts, ends = np.array(profile.work[place], np.int64).reshape(-1, 2).T
        found = (profile.launches.get(number) for number in correlations)
        begun = np.array([_NEVER if launch is None else launch[0] for launch in found], np.int64)
        matched = begun != _NEVER
        first = min([*starts[matched].tolist(), first_call.get(place, _EVER)])
        chosen = matched | ((starts < first) & (first < _EVER))
        launches.append(begun[chosen])
        begins.append(starts[chosen])
        finished.append(ends[chosen])
    return np.concatenate(launches), np.concatenate(begins), np.concatenate(finished)


def _record(
    recorder: RankRecorder, call: Call, times: tuple[float, float],
    to: tuple[Hashable, int | None], request: int | None,
) -> None:  # fmt: skip
    (start, end), (comm, peer) = times, to
    name = call.operation if request is None else f"i{call.operation}"
    if peer is None:
        recorder.collective(name, start, end, call.size, comm, request=request, site=call.site)
    elif call.operation == "send":
        recorder.send(name, start, end, peer, call.size, 0, comm, request=request)
    else:
        recorder.receive(name, start, end, peer, 0, comm, call.size, request=request)


def _computed(profile: Profile, calls: Sequence[Call]) -> Ints:
    """Return until when each call's device computes beside it, or its host in other threads."""
    until = np.array([call.start for call in calls], np.int64)
    beside: dict[Place | None, tuple[Ints, Ints]] = {None: merged(_joined(profile.work.values()))}
    for number, call in enumerate(calls):
        place = None if call.spell.device else call.spell.place
        if place not in beside:
            others = [pairs for thread, pairs in profile.host.items() if thread != place]
            beside[place] = merged(_joined(others))
        starts, ends = beside[place]
        at = int(np.searchsorted(starts, call.end)) - 1
        if at >= 0 and ends[at] > call.start:
            until[number] = min(int(ends[at]), call.end)
    return until


def _joined(columns: Any) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *(np.asarray(c, np.int64) for c in columns)])


def _alone(calls: Sequence[Call], computed: Ints) -> list[bool]:
    starts = np.array([call.start for call in calls], np.int64)
    ends = np.array([call.end for call in calls], np.int64)
    lone = computed == starts
    if len(calls) > 1:
        lone[1:] &= starts[1:] >= np.maximum.accumulate(ends)[:-1]
        lone[:-1] &= starts[1:] >= ends[:-1]
    return [bool(one) for one in lone]


def _regions(profile: Profile, calls: Sequence[Call]) -> list[str]:
    """Return the annotation that began last around the start of each call, "" for none.

    Of a kernel it is one of its own stream, else the step of the profiler that launched it.
    """
    spans = {place: sorted(own, key=_outer_first) for place, own in profile.annotations.items()}
    steps = profile.steps
    open_: dict[Any, list[Spell]] = defaultdict(list)
    at: dict[Any, int] = defaultdict(int)
    regions = []
    for call in calls:
        key = call.spell.place if call.spell.device else None
        own = spans.get(key, [])
        while at[key] < len(own) and own[at[key]].start <= call.start:
            open_[key].append(own[at[key]])
            at[key] += 1
        open_[key] = [span for span in open_[key] if span.end > call.start]
        if open_[key]:
            regions.append(open_[key][-1].name)
        else:
            around = (step.name for step in steps if step.start <= call.launched < step.end)
            regions.append(next(around, ""))
    return regions


def _outer_first(span: Spell) -> tuple[int, int]:
    return span.start, -span.end
