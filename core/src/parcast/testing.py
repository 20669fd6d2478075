"""The conformance kit: what every plugin promises, checked in the plugin's own tests.

::

    def test_logp():
        registry = check_plugin(parcast_logp)
        check_solver(registry, "logp")

A broken promise raises `AssertionError` with one sentence: who broke it and what was expected.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise, product
from types import ModuleType
from typing import Any, get_args

import attrs

from parcast.entries import FamilyEntry, KindEntry, PartEntry, Solver, SolverEntry, load
from parcast.errors import InvalidPointError, UnsupportedError
from parcast.formulas import Formula, Unit
from parcast.html import flatten
from parcast.lowering import lower, path
from parcast.machine import Machine
from parcast.query import Prediction, Query, Status
from parcast.registry import Registry
from parcast.results import Row
from parcast.settings import Settings
from parcast.workload import Workload

#: Libraries too slow to import before a solver that needs them is asked.
HEAVY = frozenset({"matplotlib", "networkx", "numba", "numpy", "pandas", "scipy"})
#: How near, relatively, two numbers that should be equal must be.
TOLERANCE = 1e-9
#: A machine whose speeds are about 1 in base units.
UNIT_MACHINE: Mapping[str, Any] = {
    "name": "unit",
    "processor": {"rate": 1},
    "network": {"startup": 1, "bandwidth": 1, "overhead": 0.5, "contention": "none"},
    "storage": {"startup": 1, "bandwidth": 1, "disks": 2},
}
#: The phases of the standard workloads, by name; each phase also has ``parallel = 64``.
STANDARD_PHASES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "work": ({"serial": 2},),
    "messages": ({"cycles": 3, "messages": "2*log2(p)", "bytes": 8, "scale": "surface:2"},),
    "files": ({"bursts": 2, "messages": 2, "bytes": 8, "group": "p", "io_bytes": 16},),
    "overlapped": ({"cycles": 2, "messages": 2, "bytes": 8, "io": "async", "io_bytes": 16},),
    "constant": ({"messages": 1, "distribution": "constant"}, {"distribution": "constant"}),
}
_RECORDS = ("solvers", "families", "kinds", "parts", "machines", "workloads", "readers",
            "writers", "lowerings")  # fmt: skip
_TIMES = ("time", "lower", "upper", "std", "ci", "quantiles", "parts")
_BINDING = (None, "processor", "network", "storage", "synchronization")
_IMPORT = """import importlib, sys, typer, parcast
plugin = importlib.import_module(sys.argv[1])
registry = parcast.Registry([plugin])
registry.add_commands(typer.Typer())
assert not registry.problems, registry.problems
print(*sys.modules)"""


def check_plugin(plugin: Any) -> Registry:
    """Check a plugin alone with the core; return the registry of the two for further checks.

    The hooks are spelled right and marked; the records have lower-case names (solvers in the
    plugin's own family), a summary, and code that loads; they pickle. A module and its hooks
    import none of `HEAVY`.
    """
    with _promised(f"plugin {plugin!r} must load"):  # in strict mode it raises
        registry, core = Registry([plugin]), Registry([])
    _expect(not registry.problems, " ".join(registry.problems))
    names = {info.name for info in registry.plugins} - {info.name for info in core.plugins}
    _expect(names, f"plugin {plugin!r} must not be in PARCAST_DISABLE_PLUGINS when it is checked")
    (word,) = names
    who = f"plugin {word!r}"
    hooks = {n: f for n, f in inspect.getmembers(plugin, callable) if n.startswith("parcast_")}
    _expect(hooks, f"{who} must have a function marked with @hookimpl, such as parcast_solvers")
    for name, hook in hooks.items():
        _expect(hasattr(hook, "parcast_impl"), f"{who}: {name} must be marked with @hookimpl")
    for kind in _RECORDS:
        for name in getattr(registry, kind).keys() - getattr(core, kind).keys():
            entry = getattr(registry, kind)[name]
            _check_entry(entry, word.lower(), f"{who}, {type(entry).__name__} {name!r}")
    if isinstance(plugin, ModuleType):
        _check_imports(plugin.__name__, who)
    return registry


def _check_entry(entry: Any, word: str, who: str) -> None:
    named = all(re.fullmatch(r"\.?[a-z][\w.-]*", part) for part in entry.name.split(" -> "))
    _expect(named and entry.name.islower(), f"{who}: the name must be in lower case, a-z first")
    if hasattr(entry, "suffix"):
        _expect(entry.name[0] == ".", f"{who}: the suffix must start with a dot")
    with _promised(f"{who} must pickle whole"):
        _expect(pickle.loads(pickle.dumps(entry)) == entry, f"{who} must pickle whole")  # noqa: S301
    if hasattr(entry, "path"):
        _expect(entry.path.is_file(), f"{who}: {entry.path} must be a file")
        return
    _expect(_is_sentence(entry.summary), f"{who}: summary {entry.summary!r} must be a sentence")
    with _promised(f"{who} must load"):
        target = load(entry.target)
        options = load(entry.options) if getattr(entry, "options", None) else None
    if isinstance(entry, KindEntry | PartEntry):
        _expect(attrs.has(target), f"{who}: {entry.target} must be an attrs class")
    _expect(callable(target), f"{who}: {entry.target} must be callable")
    if isinstance(entry, SolverEntry | FamilyEntry):
        in_family = entry.name.partition(".")[0] == word
        _expect(in_family, f"{who}: the name must be {word!r} or start with '{word}.'")
    if isinstance(entry, SolverEntry):
        _expect(isinstance(target(), Solver), f"{who}: {entry.target} must have supports and solve")
        known = options is None or attrs.has(options)
        _expect(known, f"{who}: {entry.options} must be an attrs class")


def _check_imports(module: str, who: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _IMPORT, module]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    _expect(not ran.returncode, f"{who}: must import in a fresh interpreter: {ran.stderr[-500:]}")
    heavy = ", ".join(sorted(HEAVY.intersection(ran.stdout.split())))
    _expect(not heavy, f"{who} imports {heavy} at start-up; import it where a solver needs it")


def standard_queries(registry: Registry, kind: str) -> list[Query]:
    """Return queries about workloads of a kind on `UNIT_MACHINE`, p in 1, 2, 4 and d in 1, 2.

    The workloads are `STANDARD_PHASES`, or the registry's own of any other kind; the storage
    has either layout.
    """
    standard = [
        {"name": name, "phase": [{"parallel": 64, **phase} for phase in phases]}
        for name, phases in STANDARD_PHASES.items()
    ]
    given = standard if kind == "phases" else list(registry.workloads)
    workloads = [registry.workload(one) for one in given]
    layouts = [{**UNIT_MACHINE["storage"], "layout": layout} for layout in ("bus", "cluster")]
    machines = [registry.machine({**UNIT_MACHINE, "storage": storage}) for storage in layouts]
    return [
        Query(workload=workload, machine=machine, p=p, d=d)
        for workload, machine, p, d in product(workloads, machines, (1, 2, 4), (1, 2))
        if workload.kind == kind
    ]


def check_solver(
    registry: Registry,
    name: str,
    queries: Iterable[Query] | None = None,
    *,
    absolute: str = "",
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
    _expect(name in registry.solvers, f"no solver is called {name!r}: {list(registry.solvers)}")
    entry, asked = registry.solvers[name], queries
    asked = standard_queries(registry, entry.kind) if queries is None else list(queries)
    answers = [(query, *found) for query in asked if (found := _ask(registry, entry, query))]
    _expect(answers, f"solver {name!r} must answer one of the {len(asked)} queries at least")
    for query, ready, prediction in answers:
        who = _who(entry, query)
        again = _ask(registry, entry, query)
        same = again is not None and _row(entry, query, again[1]) == _row(entry, query, prediction)
        _expect(same, f"{who}: must give an equal prediction to an equal query")
        _check_compared(registry, entry, ready, prediction)
        if not absolute:
            fast = _ask(registry, entry, attrs.evolve(query, machine=_faster(query.machine)))
            promise = "must take half the time on a machine twice as fast in everything"
            _agree(prediction, fast and fast[1], f"{who}: {promise}", factor=2.0)
    _check_many(entry, [(ready, prediction) for _, ready, prediction in answers])
    by_workload = {query.workload.name: query for query, *_ in answers}
    for query in by_workload.values():
        for machine in _lacking(query.machine):
            _ask(registry, entry, attrs.evolve(query, machine=machine))
    return [prediction for *_, prediction in answers]


def check_family(registry: Registry, name: str, queries: Iterable[Query]) -> list[str]:
    """Check that a family's function names one of its solvers; return the name for each query."""
    _expect(name in registry.families, f"no family is called {name!r}: {list(registry.families)}")
    family, chosen = registry.families[name], []
    for query in queries:
        try:
            with _promised(f"family {name!r} must choose a solver, or refuse", refusals=True):
                ready = lower(registry.lowerings, query, family.kind or query.workload.kind)[0]
                chosen.append(load(family.target)(ready))
        except (UnsupportedError, InvalidPointError):
            continue
        known = chosen[-1] in registry.solvers and registry.solvers[chosen[-1]].family == name
        _expect(known, f"family {name!r} chose {chosen[-1]!r}, which must be a solver of its own")
    _expect(chosen, f"family {name!r} must choose a solver for one query at least")
    return chosen


def _ask(registry: Registry, entry: SolverEntry, query: Query) -> tuple[Query, Prediction] | None:
    """Return the query as the solver got it and its answer, or None where it rightly refuses."""
    who = _who(entry, query)
    try:
        with _promised(f"{who}: must answer, or refuse with a reason", refusals=True):
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
        _expect(_is_sentence(reason), f"{who}: supports must give None or a reason, not {reason!r}")
        return None
    _check_prediction(entry, query, prediction)
    refused = prediction.status in {Status.REFUSED, Status.INVALID}
    return None if refused else (ready, prediction)


def _check_prediction(entry: SolverEntry, query: Query, found: Prediction) -> None:
    who = _who(entry, query)
    _expect(isinstance(found, Prediction), f"{who}: solve must return a Prediction, not {found!r}")
    _expect(
        _is_sentence(found.message) if found.status is not Status.OK else not found.message,
        f"{who}: message {found.message!r} must be the reason of status {found.status.value}",
    )
    if found.status in {Status.REFUSED, Status.INVALID}:
        return
    time, parts, ci = found.time, found.parts, found.ci or (found.time, found.time)
    levels = sorted(found.quantiles)
    promises = {
        "time must be finite and 0 or more": time is not None and 0 <= time < math.inf,
        "parts must be 0 or more and sum to time": parts is None or (
            min(parts.values()) >= 0 and math.isclose(parts.total, time or 0, rel_tol=TOLERANCE)
        ),
        "lower, time and upper must rise": _rise(found.lower, time, found.upper),
        "ci must hold time": _rise(ci[0], time, ci[1]),
        "std must be 0 or more": _rise(0.0, found.std),
        "quantiles must have levels in 0 .. 1": _rise(0.0, *levels, 1.0),
        "quantiles must rise": _rise(*(found.quantiles[level] for level in levels)),
        f"binding must be one of {_BINDING}": found.binding in _BINDING,
        "notes and assumptions must be sentences": all(
            map(_is_sentence, (*found.notes, *found.assumptions))
        ),
        "status must not be failed": found.status is not Status.FAILED,
    }  # fmt: skip
    for promise, kept in promises.items():
        _expect(kept, f"{who}: {promise}, in {found}")
    with _promised(f"{who}: details must pickle and be JSON values"):
        row = _row(entry, query, found)
        json.dumps(found.details, default=lambda value: value.tolist())  # numpy's are welcome
        whole = _row(entry, query, pickle.loads(pickle.dumps(found))) == row  # noqa: S301
    _expect(whole, f"{who}: the prediction must pickle whole")


def _check_compared(
    registry: Registry, entry: SolverEntry, query: Query, prediction: Prediction
) -> None:
    default = Settings({}, {}, {}).options_of(entry, query.p, query.d)
    given = attrs.asdict(query.options, recurse=False) if default is not None else {}
    settings = {f"{entry.name}.{k}": v for k, v in given.items() if v != getattr(default, k)}
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
    _agree(prediction, row, f"{_who(entry, query)}: must answer alike through Registry.compare")


def _check_many(entry: SolverEntry, answers: list[tuple[Query, Prediction]]) -> None:
    solver = load(entry.target)()
    if not hasattr(solver, "solve_many"):
        return
    together = list(solver.solve_many([query for query, _ in answers]))
    _expect(
        len(together) == len(answers),
        f"solver {entry.name!r}: solve_many must return one prediction for each query",
    )
    for (query, alone), found in zip(answers, together, strict=True):
        _agree(alone, found, f"{_who(entry, query)}: solve_many must answer as solve does")


def _agree(first: Prediction, second: Any, promise: str, factor: float = 1.0) -> None:
    """Expect ``second``, times ``factor``, to have the status and the times of ``first``."""
    _expect(second and second.status is first.status, f"{promise}; one has {second}")
    one, other = _times(first), _times(second)
    near = one.keys() == other.keys() and all(
        abs(value - factor * other[key]) <= TOLERANCE * max(one.values())
        for key, value in one.items()
    )
    _expect(near, f"{promise}; {one} became {other}")


def _times(found: Prediction | Row) -> dict[str, float]:
    """Return every time that is stated, by its key path."""
    shown = {name: getattr(found, name) for name in _TIMES}
    shown["parts"] = attrs.asdict(found.parts) if found.parts else None
    shown["ci"] = dict(enumerate(found.ci or ()))
    shown["quantiles"] = {f"{float(level):g}": value for level, value in found.quantiles.items()}
    return {key: value for key, value in flatten(shown) if value is not None}


def _row(entry: SolverEntry, query: Query, found: Prediction) -> dict[str, Any]:
    shared = {f.name for f in attrs.fields(Prediction)} & {f.name for f in attrs.fields(Row)}
    names: dict[str, Any] = {
        "workload": query.workload.name,
        "machine": query.machine.name,
        "solver": entry.name,
    }
    fields: dict[str, Any] = {name: getattr(found, name) for name in shared}
    return Row(p=query.p, d=query.d, **names, **fields).to_dict()


def _faster(value: Any) -> Any:
    """Return a machine, or a part of one, with rates doubled and times halved by their units."""
    if isinstance(value, Machine):
        return attrs.evolve(value, parts={k: _faster(part) for k, part in value.parts.items()})
    if isinstance(value, tuple):
        return tuple(_faster(item) for item in value)
    if not attrs.has(type(value)):
        return value
    changes = {}
    for field in attrs.fields(attrs.resolve_types(type(value))):
        stated = getattr(value, field.name)
        over, _, under = _dimension(field.type).partition("/")
        if isinstance(stated, int | float):
            changes[field.name] = stated * 2.0 ** ((under == "s") - (over == "s"))
        else:
            changes[field.name] = _faster(stated)
    return attrs.evolve(value, **changes)


def _dimension(kind: Any) -> str:
    if isinstance(kind, Unit):
        return kind.dimension
    return next(filter(None, map(_dimension, get_args(kind))), "")


def _lacking(machine: Machine) -> Iterator[Machine]:
    """Return machines that lack one part, or one number that a part need not state."""
    for name, part in machine.parts.items():
        others = {key: value for key, value in machine.parts.items() if key != name}
        yield attrs.evolve(machine, parts=others)
        for field in attrs.fields(type(part)):
            if field.default is None and getattr(part, field.name) is not None:
                without = attrs.evolve(part, **{field.name: None})
                yield attrs.evolve(machine, parts={**others, name: without})


def check_machine(registry: Registry, name: str) -> Machine:
    """Check a shipped machine: it is read, described, and says where each number is from."""
    _expect(name in registry.machines, f"no machine is called {name!r}: {list(registry.machines)}")
    with _promised(f"machine {name!r} must be read"):
        machine = registry.machine(name)
    _check_shipped(machine, name, _numbers(machine.parts, ""))
    return machine


def check_workload(registry: Registry, name: str) -> Workload:
    """Check a shipped workload as `check_machine` does, and at p = 1, 2, 3, 4, 7 and 64."""
    _expect(name in registry.workloads, f"no workload is called {name!r}")
    with _promised(f"workload {name!r} must be read"):
        workload = registry.workload(name)
    numbers = _numbers({"parameters": workload.parameters}, "")
    _check_shipped(workload, name, [*numbers, *_numbers(workload.content, "")])
    if path(registry.lowerings, workload.kind, "phases") is not None:
        own = workload.processes
        for p in (1, 2, 3, 4, 7, 64) if own is None else (own,):
            query = Query(workload=workload, machine=registry.machine(UNIT_MACHINE), p=p)
            with _promised(f"workload {name!r} must be valid at p={p}"):
                ready = lower(registry.lowerings, query, "phases")[0]
                ready.workload.content.at(ready)
    return workload


def _check_shipped(value: Machine | Workload, name: str, numbers: Iterable[str]) -> None:
    who = f"{type(value).__name__} {name!r}"
    _expect(value.name == name, f"{who}: its file must have the same name, not {value.name!r}")
    _expect(_is_sentence(value.summary), f"{who}: must have a summary of one line")
    _expect(_is_sentence(value.source), f"{who}: must have a source of one line")
    stated = [key for key, _ in flatten(value.data)]
    for key in numbers:
        if _within(key, stated):
            _expect(_within(key, value.sources), f"{who}: [sources] must say where {key} is from")


def _within(key: str, paths: Iterable[str]) -> bool:
    return any(re.match(re.escape(path) + r"([.\[]|$)", key) for path in paths)


def _numbers(value: Any, key: str) -> list[str]:
    """Return the key path of every number and formula in a value."""
    if isinstance(value, Formula | int | float) and not isinstance(value, bool):
        return [key]
    if attrs.has(type(value)):
        value = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return [path for k, v in value.items() for path in _numbers(v, f"{key}.{k}".lstrip("."))]
    if isinstance(value, list | tuple):
        return [path for i, item in enumerate(value) for path in _numbers(item, f"{key}[{i}]")]
    return []


def _who(entry: SolverEntry, query: Query) -> str:
    where = f"workload {query.workload.name!r} on machine {query.machine.name!r}"
    return f"solver {entry.name!r} ({entry.target}), {where}, p={query.p}, d={query.d}"


def _is_sentence(text: object) -> bool:
    return isinstance(text, str) and "\n" not in text and len(text.split()) > 1


def _rise(*values: float | None) -> bool:
    found = [value for value in values if value is not None]
    return all(a <= b + TOLERANCE * abs(b) for a, b in pairwise(found))


@contextmanager
def _promised(promise: str, *, refusals: bool = False) -> Iterator[None]:
    """Turn any error into a broken promise; with ``refusals`` let a proper refusal pass."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        if refusals and isinstance(error, UnsupportedError | InvalidPointError):
            raise
        raise AssertionError(f"{promise}: {type(error).__name__}: {error}") from error


def _expect(holds: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
