"""Elasticities: by which part of the time a number of the machine decides, found by solving again.

A number's elasticity is the part of the time that goes away with it: where ``network.startup`` has
0.2, a startup that is 1 % shorter makes the time 0.2 % shorter. A played run's time is piecewise
linear in the times of its machine, so the derivative is exact to rounding as long as the
change is too small to have processes served in another order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.grid import Question
from parcast.comparison.settings import Settings
from parcast.comparison.solving import solve_all, stated_cost
from parcast.comparison.tasks import Outcome, Task, Tell, silent
from parcast.model.numbers import improved, numbers_of
from parcast.model.query import Prediction, Query, Status
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

Resolve = Callable[[str, Query, Settings], Task | Prediction]

#: By how much a number is improved, relatively.
STEP = 1e-5

#: By how much where an answer jumps at so small a change. In long runs with contention, changes
#: grow from wait to wait, as in weather, and move the time by some percent, whatever was changed:
#: of a number that is a tenth better that is as much as its own part of the time, of one that is
#: twice as good a fifth of that.
COARSE_STEP = 0.5

#: The part of a time below which a number is left out: what the step leaves of a solver's digits.
LEAST = 1e-6

#: How far parts may be beyond 0 and 1. A part below 0 is rare but real: who comes sooner may be in
#: the way of one for whom others wait. Further, another order of service is seen, no derivative.
MOST_BEYOND = 1.0

#: How far parts may sum beyond 1. What is as much better in all of its numbers is as much faster,
#: so derivatives sum to 1 and no further; numbers that each have the messages meet in another
#: order can.
MOST_TOGETHER = 0.01

#: A solver that states a cost of more seconds is not asked again.
MOST_SECONDS = 2.0

#: As many seconds are spent on asking again for each number, of all answers, the cheap first.
MOST_IN_ALL = 20.0

#: How a source says that a number is another machine's.
BORROWED = re.compile(r"assumed: (.+?)'s, not measured")

#: A number that decides by so much of the time is one to look after.
MUCH = 0.2

#: What the parts of a time that no number of the machine changes are under: waits that the
#: workload states, and waits between numbers that decide at once.
REST = "rest"


#: What is said of elasticities by large changes.
_COARSE = (
    "found with each number of the machine twice as good, since smaller changes have messages meet "
    "in another order{moves}; the parts of the time are rough"
)

#: A scatter that is told.
_SCATTER = 0.0005


#: What is said of a bottleneck where the solver is not asked again.
_NOT_ASKED = "to solve again with each number of the machine better would take too long"


@attrs.frozen
class Solved:
    """A question that was answered."""

    question: Question
    task: Task
    outcome: Outcome


def cost_of_elasticities(registry: Catalog, answer: Solved) -> float | None:
    """Return the seconds that asking for an answer's elasticities takes, by the stated costs.

    Whoever asks again for another machine converts the workload again. None where there is nothing
    to ask, or the solver states no cost.
    """
    task, prediction = answer.task, answer.outcome.prediction
    if prediction.status is not Status.OK or task.entry.on_request or not prediction.time:
        return None
    cost = stated_cost(registry, task)
    if cost is None:
        return None
    cost += task.conversion
    paths = numbers_of(task.query.machine)
    return math.inf if cost > MOST_SECONDS else float(cost * (len(paths) + len(_by_part(paths))))


def affordable(
    registry: Catalog, answers: Mapping[int, Solved]
) -> tuple[dict[int, Solved], frozenset[int]]:
    """Return the answers whose elasticities take `MOST_IN_ALL` seconds, cheap first, and the dear.

    Of these the numbers alone; those without anything to ask are neither.
    """
    costs = {number: cost_of_elasticities(registry, answer) for number, answer in answers.items()}
    stated = {number: seconds for number, seconds in costs.items() if seconds is not None}
    chosen, left = {}, MOST_IN_ALL
    for number, seconds in sorted(stated.items(), key=lambda item: item[1]):
        left -= seconds
        if left >= 0:
            chosen[number] = answers[number]
    return chosen, frozenset(stated.keys() - chosen.keys())


@attrs.frozen
class Elasticities:
    """By which part of a time the numbers of its machine decide."""

    parts: Mapping[str, float]  #: by key path, the largest first, with `REST` last; they sum to 1
    step: float  #: by how much each number was improved, relatively
    scatter: float = 0.0  #: by how much the time moves at the least change, relatively

    @property
    def largest(self) -> str | None:
        """The number that most of the time scales with; None where more scales with none.

        What large changes leave over is no sign of that.
        """
        paths = [path for path in self.parts if self.step == STEP or path != REST]
        path = max(paths, key=self.parts.__getitem__, default=REST)
        return None if path == REST else path


def by_parts(row: Row) -> Row:
    """Return a row with the largest part of its time as the bottleneck, and why it is no number."""
    binding = row.binding or (row.parts.largest if row.parts else None)
    bottleneck = "the largest part of the time" if binding else "not known"
    notes = (*row.notes, f"bottleneck: {bottleneck}; {_NOT_ASKED}")
    return attrs.evolve(row, binding=binding, notes=notes)


def with_bottleneck(row: Row, explained: Elasticities, sources: Mapping[str, str]) -> Row:
    """Return a row with the number of the machine that most of its time scales with.

    Parameters
    ----------
    row
        What a solver answered.
    explained
        By which part of the time each number decides.
    sources
        Where the machine's numbers are from, by key path.
    """
    by_solver = {"binding": row.binding} if row.binding else {}
    details = {**row.details, "elasticities": explained.parts, **by_solver}
    notes = (*row.notes, *_borrowed(explained, sources))
    if explained.step == COARSE_STEP:
        percent = f", which alone moves the time by up to {100 * explained.scatter:.1f} %"
        moves = percent if explained.scatter >= _SCATTER else ""
        notes = (*notes, f"bottleneck: {_COARSE.format(moves=moves)}")
    binding = explained.largest or row.binding
    return attrs.evolve(row, binding=binding, details=details, notes=notes)


def _borrowed(explained: Elasticities, sources: Mapping[str, str]) -> Iterator[str]:
    """Yield which numbers that much of the time scales with are another machine's."""
    for path, share in explained.parts.items():
        match = BORROWED.match(_source_of(path, sources)) if share >= MUCH else None
        if match:
            scales = "which binds" if path == explained.largest else "which much of the time is"
            yield f"{path}, {scales}, is {match[1]}'s, not measured: state what this machine has"


def _source_of(path: str, sources: Mapping[str, str]) -> str:
    """Return what is said of a number, or else of what it is a part of."""
    while path and path not in sources:
        path = path.rpartition(".")[0]
    return sources.get(path, "")


def elasticities(
    registry: Catalog, answers: Sequence[Solved], resolve_task: Resolve, tell: Tell = silent
) -> list[Elasticities | None]:
    """Return the elasticities of each answer's time; None where the time jumps.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    answers
        What was answered; all that ask one solver are solved together.
    resolve_task
        Brings a query to a solver.
    tell
        Hears what is being done.
    """
    results, scatters = _elasticities(registry, answers, resolve_task, STEP, tell)
    jumping = [index for index, result in enumerate(results) if result is None]
    if not jumping:
        return results
    again = [answers[index] for index in jumping]
    coarse, _ = _elasticities(registry, again, resolve_task, COARSE_STEP, tell)
    for index, result in zip(jumping, coarse, strict=True):
        results[index] = result and attrs.evolve(result, scatter=scatters[index])
    return results


def _elasticities(
    registry: Catalog,
    answers: Sequence[Solved],
    resolve_task: Resolve,
    step: float,
    tell: Tell,
) -> tuple[list[Elasticities | None], list[float]]:
    """Return the elasticities of each answer's time, and by how much all changes moved it most."""
    by_part = [_by_part(numbers_of(solved.question.query.machine)) for solved in answers]
    groups_of = [
        (solved, list(groups.values())) for solved, groups in zip(answers, by_part, strict=True)
    ]
    parts = _shares(registry, groups_of, resolve_task, step, tell)
    # where the time jumps with a part's numbers together, it does with each: none is asked
    jumping = [step == STEP and not _is_smooth(shares, step) for shares in parts]
    split: list[list[list[str]]] = [
        [] if jumps else [[path] for group in _deciding(groups.values(), shares) for path in group]
        for groups, shares, jumps in zip(by_part, parts, jumping, strict=True)
    ]
    single = _shares(registry, list(zip(answers, split, strict=True)), resolve_task, step, tell)
    if step == COARSE_STEP:
        last = _shares_of_last(registry, answers, split, resolve_task, tell)
        single = [_means(*both) for both in zip(single, last, strict=True)]
    explained = [
        None if jumps else _sorted([path for (path,) in groups], shares, step)
        for groups, shares, jumps in zip(split, single, jumping, strict=True)
    ]
    moves = [
        step * max((abs(share) for share in (*groups, *numbers) if share is not None), default=0.0)
        for groups, numbers in zip(parts, single, strict=True)
    ]
    return explained, moves


def _shares_of_last(
    registry: Catalog,
    answers: Sequence[Solved],
    split: Sequence[Sequence[Sequence[str]]],
    resolve_task: Resolve,
    tell: Tell,
) -> list[list[float | None]]:
    """Return the part of the time of each number where all others are better already.

    Large changes do not add up: two numbers either of which would do have the same part twice. The
    mean of what a number changes first and last is their Shapley value where no three meet, and
    sums to what all change together.
    """
    without = [
        [paths, *([path for path in paths if [path] != number] for number in groups)]
        for groups in split
        for paths in [[path for (path,) in groups]]
    ]
    shares = _shares(
        registry, list(zip(answers, without, strict=True)), resolve_task, COARSE_STEP, tell
    )
    return [
        [None if whole is None or part is None else whole - part for part in parts]
        for whole, *parts in shares
    ]


def _means(first: Sequence[float | None], last: Sequence[float | None]) -> list[float | None]:
    return [
        None if a is None or b is None else (a + b) / 2 for a, b in zip(first, last, strict=True)
    ]


def _by_part(paths: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(path.partition(".")[0], []).append(path)
    return groups


def _deciding(
    groups: Iterable[Sequence[str]], shares: Sequence[float | None]
) -> list[Sequence[str]]:
    """Return the groups that have a part of the time."""
    return [
        group
        for group, share in zip(groups, shares, strict=True)
        if share is None or abs(share) > LEAST
    ]


def _shares(
    registry: Catalog,
    answers: Sequence[tuple[Solved, Sequence[Collection[str]]]],
    resolve_task: Resolve,
    step: float,
    tell: Tell,
) -> list[list[float | None]]:
    """Return the part of the time of each group of numbers, for each answer."""
    tasks = []
    changed: dict[tuple[int, tuple[str, ...]], Query] = {}  # solvers share what is made of each
    for solved, groups in answers:
        for paths in groups:
            tell(f"{solved.task.entry.name}: {', '.join(paths)}")
            query, key = solved.question.query, (id(solved.question.query), tuple(paths))
            if key not in changed:
                machine = improved(query.machine, paths, 1 / (1 - step))
                changed[key] = attrs.evolve(query, machine=machine)
            tasks.append(
                resolve_task(solved.task.entry.name, changed[key], solved.question.settings)
            )
    outcomes = iter(solve_all(registry, tasks, tell))
    return [
        [_share(solved.outcome.prediction, next(outcomes).prediction, step) for _ in groups]
        for solved, groups in answers
    ]


def _share(before: Prediction, after: Prediction, step: float) -> float | None:
    if before.time is None or after.time is None:
        return None
    return float((before.time - after.time) / (step * before.time))


def _is_smooth(shares: Sequence[float | None], step: float) -> bool:
    """Return whether parts of a time can be derivatives, by what they are and sum to."""
    answered = [share for share in shares if share is not None]
    if len(answered) < len(shares):
        return False
    if not all(-MOST_BEYOND <= share <= 1 + MOST_BEYOND for share in answered):
        return False
    together = sum(share for share in answered if abs(share) > LEAST)
    return step != STEP or together <= 1 + MOST_TOGETHER


def _sorted(
    paths: Sequence[str], shares: Sequence[float | None], step: float
) -> Elasticities | None:
    if not _is_smooth(shares, step):
        return None
    deciding = {
        path: share
        for path, share in zip(paths, shares, strict=True)
        if share is not None and abs(share) > LEAST
    }
    ordered = dict(sorted(deciding.items(), key=lambda item: -item[1]))
    remainder = 1 - sum(ordered.values())
    return Elasticities(ordered | ({REST: remainder} if abs(remainder) > LEAST else {}), step)
