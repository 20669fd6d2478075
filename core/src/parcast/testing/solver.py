"""What a solver's predictions promise."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterable
from typing import Any

import attrs

from parcast.api import Registry
from parcast.comparison.lowering import lower
from parcast.comparison.settings import Settings
from parcast.errors import InvalidPointError, UnsupportedError
from parcast.html import flatten
from parcast.model.query import Assumption, Prediction, Query, Status
from parcast.plugins.entries import SolverEntry, load
from parcast.results.row import Row
from parcast.testing.promises import TOLERANCE, expect, is_sentence, promised, rise, who_asked
from parcast.testing.queries import faster, lacking, standard_queries

_TIMES = ("time", "lower", "upper", "std", "ci", "quantiles", "parts")
_BINDING = (None, "processor", "network", "storage", "synchronization")


def check_solver(
    registry: Registry, name: str, queries: Iterable[Query] | None = None, *, absolute: str = ""
) -> list[Prediction]:
    """Check all that a solver promises, and return the predictions for what it could take.

    Parameters
    ----------
    registry
        Usually what `check_plugin` returned.
    name
        The solver's.
    queries
        About workloads of any kind that can be lowered to the solver's; `standard_queries`
        of its kind where not given. At least one must be answered.
    absolute
        Why times do not halve on a machine twice as fast in everything; else they must.
    """
    expect(name in registry.solvers, f"no solver is called {name!r}: {list(registry.solvers)}")
    entry, questions = registry.solvers[name], queries
    questions = standard_queries(registry, entry.kind) if queries is None else list(queries)
    answers = [(query, *answer) for query in questions if (answer := _ask(registry, entry, query))]
    expect(answers, f"solver {name!r} must answer one of the {len(questions)} queries at least")
    for query, ready, prediction in answers:
        who = who_asked(entry, query)
        again = _ask(registry, entry, query)
        same = again is not None and _row(entry, query, again[1]) == _row(entry, query, prediction)
        expect(same, f"{who}: must give an equal prediction to an equal query")
        _check_compared(registry, entry, ready, prediction)
        if not absolute:
            fast = _ask(registry, entry, attrs.evolve(query, machine=faster(query.machine)))
            promise = "must take half the time on a machine twice as fast in everything"
            _agree(prediction, fast and fast[1], f"{who}: {promise}", factor=2.0)
    _check_advice(entry, [ready for _, ready, _ in answers])
    _check_many(entry, [(ready, prediction) for _, ready, prediction in answers])
    by_workload = {query.workload.name: query for query, *_ in answers}
    for query in by_workload.values():
        for machine in lacking(query.machine):
            _ask(registry, entry, attrs.evolve(query, machine=machine))
    return [prediction for *_, prediction in answers]


def check_family(registry: Registry, name: str, queries: Iterable[Query]) -> list[str]:
    """Check that a family's function names one of its solvers; return the name for each query."""
    expect(name in registry.families, f"no family is called {name!r}: {list(registry.families)}")
    family, chosen = registry.families[name], []
    for query in queries:
        try:
            with promised(f"family {name!r} must choose a solver, or refuse", refusals=True):
                ready = lower(registry.lowerings, query, family.kind or query.workload.kind)[0]
                chosen.append(load(family.target)(ready))
        except (UnsupportedError, InvalidPointError):
            continue
        is_member = chosen[-1] in registry.solvers and registry.solvers[chosen[-1]].family == name
        expect(
            is_member, f"family {name!r} chose {chosen[-1]!r}, which must be a solver of its own"
        )
    expect(chosen, f"family {name!r} must choose a solver for one query at least")
    return chosen


def _ask(registry: Registry, entry: SolverEntry, query: Query) -> tuple[Query, Prediction] | None:
    """Return the query as the solver got it and its answer, or None where it rightly refuses."""
    who = who_asked(entry, query)
    try:
        with promised(f"{who}: must answer, or refuse with a reason", refusals=True):
            ready = lower(registry.lowerings, query, entry.kind)[0]
            if query.options is None:
                ready = attrs.evolve(
                    ready, options=Settings({}, {}, {}).options_of(entry, query.p, query.d)
                )
            solver = load(entry.target)()
            reason = solver.supports(ready)
            prediction = solver.solve(ready) if reason is None else None
    except (UnsupportedError, InvalidPointError):
        return None
    if prediction is None:
        expect(is_sentence(reason), f"{who}: supports must give None or a reason, not {reason!r}")
        return None
    _check_prediction(entry, query, prediction)
    refused = prediction.status in {Status.REFUSED, Status.INVALID}
    return None if refused else (ready, prediction)


def _check_prediction(entry: SolverEntry, query: Query, prediction: Prediction) -> None:
    who = who_asked(entry, query)
    expect(
        isinstance(prediction, Prediction),
        f"{who}: solve must return a Prediction, not {prediction!r}",
    )
    message, status = prediction.message, prediction.status
    expect(
        is_sentence(message) if status is not Status.OK else not message,
        f"{who}: message {message!r} must be the reason of status {status.value}",
    )
    if prediction.status in {Status.REFUSED, Status.INVALID}:
        return
    for promise, holds in _promises(prediction).items():
        expect(holds, f"{who}: {promise}, in {prediction}")
    with promised(f"{who}: details must pickle and be JSON values"):
        row = _row(entry, query, prediction)
        json.dumps(prediction.details, default=lambda value: value.tolist())  # numpy's are welcome
        whole = _row(entry, query, pickle.loads(pickle.dumps(prediction))) == row  # noqa: S301
    expect(whole, f"{who}: the prediction must pickle whole")


def _promises(prediction: Prediction) -> dict[str, bool]:
    """Return what an answer with a time must keep, and whether it does."""
    time, parts = prediction.time, prediction.parts
    ci = prediction.ci or (time, time)
    levels = sorted(prediction.quantiles)
    return {
        "time must be finite and 0 or more": time is not None and 0 <= time < math.inf,
        "parts must be 0 or more and sum to time": parts is None or (
            min(parts.values()) >= 0 and math.isclose(parts.total, time or 0, rel_tol=TOLERANCE)
        ),
        "lower, time and upper must rise": rise(prediction.lower, time, prediction.upper),
        "ci must hold time": rise(ci[0], time, ci[1]),
        "std must be 0 or more": rise(0.0, prediction.std),
        "quantiles must have levels in 0 .. 1": rise(0.0, *levels, 1.0),
        "quantiles must rise": rise(*(prediction.quantiles[level] for level in levels)),
        f"binding must be one of {_BINDING}": prediction.binding in _BINDING,
        "notes and assumptions must be sentences": all(
            map(is_sentence, (*prediction.notes, *prediction.assumptions))
        ),
        "status must not be failed": prediction.status is not Status.FAILED,
    }  # fmt: skip


def _check_compared(
    registry: Registry, entry: SolverEntry, query: Query, prediction: Prediction
) -> None:
    default = Settings({}, {}, {}).options_of(entry, query.p, query.d)
    options = attrs.asdict(query.options, recurse=False) if default is not None else {}
    settings = {f"{entry.name}.{k}": v for k, v in options.items() if v != getattr(default, k)}
    settings |= {k: v for k, v in query.parameters.items() if k in query.workload.parameters}
    (row,) = registry.compare(
        query.workload,
        query.machine,
        p=query.p,
        d=query.d,
        solvers=entry.name,
        mapping=query.mapping,
        settings=settings,
        seed=query.seed,
    ).rows
    _agree(
        prediction, row, f"{who_asked(entry, query)}: must answer alike through Registry.compare"
    )


def _check_advice(entry: SolverEntry, queries: list[Query]) -> None:
    solver = load(entry.target)()
    for query in queries:
        who = who_asked(entry, query)
        cost = solver.cost(query) if hasattr(solver, "cost") else None
        valid = cost is None or (isinstance(cost, int | float) and 0 <= cost < math.inf)
        expect(valid, f"{who}: cost must be seconds or None, not {cost!r}")
        for assumption in solver.assumptions(query) if hasattr(solver, "assumptions") else ():
            worded = (
                isinstance(assumption, Assumption)
                and is_sentence(str(assumption))
                and assumption.text
            )
            expect(worded, f"{who}: assumptions must be Assumption, in words, not {assumption!r}")


def _check_many(entry: SolverEntry, answers: list[tuple[Query, Prediction]]) -> None:
    solver = load(entry.target)()
    if not hasattr(solver, "solve_many"):
        return
    together = list(solver.solve_many([query for query, _ in answers]))
    expect(
        len(together) == len(answers),
        f"solver {entry.name!r}: solve_many must return one prediction for each query",
    )
    for (query, alone), answer in zip(answers, together, strict=True):
        _agree(alone, answer, f"{who_asked(entry, query)}: solve_many must answer as solve does")


def _agree(first: Prediction, second: Any, promise: str, factor: float = 1.0) -> None:
    """Expect ``second``, times ``factor``, to have the status and the times of ``first``."""
    expect(second and second.status is first.status, f"{promise}; one has {second}")
    expected, actual = _times(first), _times(second)
    near = expected.keys() == actual.keys() and all(
        abs(value - factor * actual[key]) <= TOLERANCE * max(expected.values())
        for key, value in expected.items()
    )
    expect(near, f"{promise}; {expected} became {actual}")


def _times(prediction: Prediction | Row) -> dict[str, float]:
    """Return every time that is stated, by its key path."""
    times = {name: getattr(prediction, name) for name in _TIMES}
    times["parts"] = attrs.asdict(prediction.parts) if prediction.parts else None
    times["ci"] = dict(enumerate(prediction.ci or ()))
    times["quantiles"] = {
        f"{float(level):g}": value for level, value in prediction.quantiles.items()
    }
    return {key: value for key, value in flatten(times) if value is not None}


def _row(entry: SolverEntry, query: Query, prediction: Prediction) -> dict[str, Any]:
    shared = {f.name for f in attrs.fields(Prediction)} & {f.name for f in attrs.fields(Row)}
    names: dict[str, Any] = {
        "workload": query.workload.name,
        "machine": query.machine.name,
        "solver": entry.name,
    }
    fields: dict[str, Any] = {name: getattr(prediction, name) for name in shared}
    return Row(p=query.p, d=query.d, **names, **fields).to_dict()
