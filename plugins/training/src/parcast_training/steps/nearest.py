"""The nearest layouts that can be, where one cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations, product
from math import gcd, log2
from typing import Any

import attrs

from parcast.errors import InvalidPointError
from parcast_training.steps.exchanges import members_of
from parcast_training.steps.job import Job
from parcast_training.steps.layout import Layout, divisors, layout_of, uneven
from parcast_training.steps.layout_checks import check_layers

#: So many values change beside those that cannot stay.
_MORE = 3

#: So many of a value's next ones either way are tried where one value changes, two do, or more.
_REACH = (1000, 1000, 3, 1)

#: What a change counts beside how far it goes, in doublings: few changes rather than small ones.
_CHANGE = 0.5

Changes = Mapping[str, Any]


def layout_or_nearest(job: Job, p: int, per_node: int = 1) -> Layout:
    """Return the layout of a job on ``p`` processes, ``per_node`` of them on a node.

    Raises
    ------
    InvalidPointError
        If it cannot be, naming the nearest layouts that can.
    """
    check_layers(job)
    try:
        return _placed(job, p, per_node)
    except InvalidPointError as error:
        raise InvalidPointError(f"{error}; {_spelt(nearest(job, p, per_node))}") from None


@lru_cache(256)
def nearest(job: Job, p: int, per_node: int) -> tuple[Changes, ...]:
    """Return changes that make a layout possible: two at this p, and two with another if as near.

    Each of them holds: the whole layout is tried, not the number alone that does not divide.
    """
    here, elsewhere = list[tuple[float, Changes]](), list[tuple[float, Changes]]()
    for more in range(_MORE + 1):
        for changes in _changes(job, more):
            changed = attrs.evolve(job, **changes)
            for last in _fitting(changed, p):
                everything = {**changes, **last}
                if everything and _can_be(job, p, everything, per_node):
                    places = elsewhere if "p" in everything else here
                    places.append((_distance(job, p, everything), everything))
        if here and more:
            break
    here.sort(key=lambda pair: pair[0])
    bound = here[0][0] if here else float("inf")
    nearer = sorted((x for x in elsewhere if x[0] <= bound), key=lambda pair: pair[0])
    return tuple(changes for _, changes in [*here[:2], *nearer[:2]])


def _changes(job: Job, more: int) -> Iterator[dict[str, Any]]:
    """Yield what may be instead of the values that cannot stay and of so many more."""
    wide = gcd(job.heads, job.kv_heads or job.heads, job.ffn_width)
    numbers = {
        "tp": divisors(wide),
        "pp": _stages(job),
        "cp": divisors(job.sequence),
        "ep": divisors(job.experts),
        "interleave": divisors(job.layers),
        "micro_batch": divisors(job.global_batch),
        "active": list(range(1, job.experts + 1)),
        "sp": [0, 1],
        "offload": [0, 1],
        "zero": [0, 1, 2, 3],
    }
    if job.first_layers or job.last_layers:
        numbers["pp"] = [job.pp]  # which goes with these alone
    elif job.layers % job.pp and not more and (ends := uneven(job.layers, job.pp)):
        yield {"first_layers": ends[0], "last_layers": ends[1]}
    bad = [k for k, able in numbers.items() if k != "micro_batch" and getattr(job, k) not in able]
    others = [n for n in (*numbers, "schedule", "overlap_experts") if n not in {*bad, "offload"}]
    reach = _REACH[min(len(bad) + more, len(_REACH) - 1)]
    values: dict[str, list[Any]] = {
        name: _around(able, getattr(job, name), reach) for name, able in numbers.items()
    }
    values["schedule"] = [s for s in ("interleaved", "1f1b") if s != job.schedule]
    values["overlap_experts"] = [False] if job.overlap_experts else []
    for names in combinations(others, more):
        changed = (*bad, *names)
        for chosen in product(*(values[name] for name in changed)):
            yield dict(zip(changed, chosen, strict=True))


def _stages(job: Job) -> list[int]:
    """Return how many stages divide the layers, and go with the schedule."""
    return [pp for pp in divisors(job.layers) if job.schedule != "dualpipe" or pp % 2 == 0]


def _around(numbers: list[int], wanted: int, reach: int) -> list[int]:
    below = [k for k in numbers if k < wanted][-reach:]
    return below + [k for k in numbers if k > wanted][:reach]


def _fitting(job: Job, p: int) -> Iterator[dict[str, int]]:
    """Yield what p and batch may be for a job's other numbers; as they are, at first."""
    ranks = job.tp * job.cp * job.pp
    for processes in dict.fromkeys((p, *_multiples(p, ranks * (job.dp or 1), bounded=job.dp))):
        other = {} if processes == p else {"p": processes}
        if processes % ranks:
            continue
        dp = processes // ranks
        if job.dp not in {None, dp}:
            other["dp"] = dp
        yield other
        of, least = _microbatches(job)
        samples = dp * job.micro_batch
        if job.global_batch % (samples * of) or job.global_batch < samples * least:
            for batch in _multiples(max(job.global_batch, samples * least), samples * of):
                yield {**other, "global_batch": batch}


def _microbatches(job: Job) -> tuple[int, int]:
    """Return what divides the microbatches of a job's schedule, and the least of them."""
    if job.schedule == "dualpipe":
        return 2, 2 * job.pp
    return (job.pp, job.pp) if job.interleave > 1 else (1, 1)


def _multiples(number: int, of: int, *, bounded: int | None = None) -> Iterable[int]:
    """Return the multiples next to a number; the first alone where more cannot be."""
    if bounded is not None:
        return (of,)
    return sorted({max(of, number // of * of), -(-number // of) * of})


def _can_be(job: Job, p: int, changes: Changes, per_node: int) -> bool:
    changed = attrs.evolve(job, **{k: v for k, v in changes.items() if k != "p"})
    try:
        _placed(changed, changes.get("p", p), per_node)
    except InvalidPointError:
        return False
    return True


def _placed(job: Job, p: int, per_node: int) -> Layout:
    layout = layout_of(job, p)
    members_of(job, layout, per_node)
    return layout


def _distance(job: Job, p: int, changes: Changes) -> float:
    """Return how far changes go: the doublings of each, and something for each."""
    far = _CHANGE * len(changes)
    for name, value in changes.items():
        before = p if name == "p" else getattr(job, name)
        if name in {"sp", "zero", "offload"}:
            far += abs(value - before)
        elif name in {"schedule", "first_layers", "last_layers", "overlap_experts"}:
            far += 1.0
        else:
            far += abs(log2(value / before))
    return far


def _spelt(choices: tuple[Changes, ...]) -> str:
    """Return changes as text, those of one name together."""
    if not choices:
        return "no layout near it can be; write another one"
    texts = list[str]()
    for changes in choices:
        texts.append(" and ".join(f"{k} = {v!r}" for k, v in sorted(changes.items())))
    merged = list[str]()
    for changes, text in zip(choices, texts, strict=True):
        name = next(iter(changes))
        if len(changes) == 1 and merged and merged[-1].startswith(f"{name} = "):
            merged[-1] += f" or {changes[name]}"
        else:
            merged.append(text)
    return "nearest: " + "; or ".join(merged)
