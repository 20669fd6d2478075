"""A step's time as algebra: the passes of its longest path, each a symbol with its seconds."""

from __future__ import annotations

from collections import Counter

from parcast_training.steps.pipeline import Event
from parcast_training.steps.schedule import order
from parcast_training.steps.segments import Beside, Ring, Segment, Work, total
from parcast_training.steps.step import Step


def algebra(step: Step) -> list[str]:
    """Return the time as lines: a sum of symbols, and what each is.

    The sum is that of the longest path through the schedule, so it is exact where the numbers are
    these, and a lower bound for other times of passes.
    """
    before: dict[Event, Event] = {}
    ends = step.ends(before)
    stage = max(range(len(ends)), key=lambda s: ends[s])
    counts, meanings = _path(step, before, stage)
    terms = [f"{count} {name}" if count > 1 else name for name, count in counts.items()]
    spelt = sum(counts[name] * meanings[name][1] for name in counts)
    ending_seconds = ends[stage] - spelt
    ending = step.after(stage)
    lines = [f"step = {' + '.join([*terms, 'E'])}"]
    lines += [f"  {name} = {text} = {seconds:.6g} s" for name, (text, seconds) in meanings.items()]
    after = " + ".join(filter(None, (_text(ending[0]), _text(ending[1]))))
    tied = " + tied" if step.tied_bytes else ""
    lines.append(f"  E = {after}{tied} = {ending_seconds:.6g} s")
    return lines


def _path(
    step: Step, before: dict[Event, Event], stage: int
) -> tuple[Counter[str], dict[str, tuple[str, float]]]:
    """Return how often each pass and message is on the longest path to a stage's end."""
    layout = step.layout
    *_, last = order(layout, stage, zero_bubble=step.zero_bubble)
    counts: Counter[str] = Counter()
    meanings: dict[str, tuple[str, float]] = {}
    names: dict[tuple[Segment, ...], str] = {}
    event: Event | None = (stage, last)
    sent = step.passes.layout.pp > 1
    while event is not None:
        place, run = event
        segments = step.segments(place, run)
        if segments not in names:
            alike = sum(name.startswith(run.name) for name in names.values())
            names[segments] = run.name + (str(alike) if alike else "")
            meanings[names[segments]] = (_text(segments), total(segments))
        counts[names[segments]] += 1
        cause = before.get(event)
        if sent and cause is not None and cause[0] != place:
            hop = step.hop(cause[0], place)
            seconds = hop.send + hop.wire + hop.receive
            name = next((n for n, (_, s) in meanings.items() if n[0] == "c" and s == seconds), "")
            if not name:
                alike = sum(n[0] == "c" for n in meanings)
                name = "c" + (str(alike) if alike else "")
                meanings[name] = (f"message of {step.hop_bytes:.4g} B to the next stage", seconds)
            counts[name] += 1
        event = cause
    return counts, meanings


def _text(segments: tuple[Segment, ...]) -> str:
    return " + ".join(filter(None, (_one(segment) for segment in segments)))


def _one(segment: Segment) -> str:
    if isinstance(segment, Work):
        return f"{segment.purpose} {segment.seconds:.4g}"
    if isinstance(segment, Ring):
        return f"{segment.steps} ({_hop(segment)})" if segment.steps else ""
    if isinstance(segment, Beside):
        rings = " + ".join(f"{r.steps} ({_hop(r)})" for r in segment.rings)
        return f"max({segment.work:.4g}, {rings})"
    body = _text(segment.body)
    return f"{segment.count} ({body})" if segment.count and body else ""


def _hop(ring: Ring) -> str:
    return f"{ring.purpose} {ring.hop.exchange:.4g}"
