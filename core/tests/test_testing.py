"""The conformance kit: a good plugin passes, and each broken promise is caught."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
import typer

from parcast import (
    FamilyEntry,
    InvalidPointError,
    KindEntry,
    Lowering,
    Parts,
    Prediction,
    Query,
    Reader,
    Registry,
    Resource,
    SolveError,
    SolverEntry,
    Status,
    UnsupportedError,
    Writer,
    hookimpl,
)
from parcast.testing import (
    check_family,
    check_machine,
    check_plugin,
    check_solver,
    check_workload,
    standard_queries,
)

HERE = "tiny_solvers"


@attrs.frozen
class Options:
    """Options of the tiny solver."""

    factor: float = 1.0


class Good:
    """Work over rate, shared by p processes; notes, options and solve_many."""

    def supports(self, query: Query) -> str | None:
        async_io = any(phase.io == "async" for phase in query.workload.content.phase)
        return "takes no asynchronous I/O" if async_io else None

    def solve(self, query: Query) -> Prediction:
        work = sum(phase.parallel / query.p for phase in query.workload.content.at(query))
        time = query.options.factor * work / query.machine.need("processor.rate", "work")
        return Prediction(
            time=time,
            parts=Parts(compute=time),
            lower=time / 2,
            upper=time,
            std=time,
            ci=(time / 2, 2 * time),
            quantiles={0.05: time / 2, 0.95: 2 * time},
            binding="processor",
            notes=("messages cost nothing here",),
            details={"work": work},
        )

    def solve_many(self, queries: list[Query]) -> list[Prediction]:
        return [self.solve(query) for query in queries]


def choose(query: Query) -> str:
    return "tiny.good"


def changed(**changes: Any) -> type:
    """Return a solver whose answers differ from the good one's; a change may see the answer."""

    class Changed(Good):
        def solve(self, query: Query) -> Prediction:
            found = super().solve(query)
            new = {k: v(found, query) if callable(v) else v for k, v in changes.items()}
            return attrs.evolve(found, **new)

    return Changed


def raising(error: Exception) -> type:
    class Raising(Good):
        def solve(self, query: Query) -> Prediction:
            raise error

    return Raising


def plugin(*records: Any, hook: str = "parcast_solvers", name: str = "tiny") -> Any:
    """Return a module that registers ``records``; checks need no file for it."""
    module = types.SimpleNamespace(__name__=f"parcast_{name}")

    def collect() -> Iterator[Any]:
        yield from records

    setattr(module, hook, hookimpl(collect))
    return module


@pytest.fixture(autouse=True)
def _targets(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(HERE)
    vars(module).update(Good=Good, Options=Options, choose=choose, word="text", NoSolver=object)
    monkeypatch.setitem(sys.modules, HERE, module)


def entry(name: str = "tiny.good", target: str = "Good", **more: Any) -> SolverEntry:
    more = {"options": f"{HERE}:Options", **more}
    return SolverEntry(name, "phases", f"{HERE}:{target}", "A tiny solver.", **more)


def registry_of(solver: type) -> Registry:
    sys.modules[HERE].Good = solver  # type: ignore[attr-defined]
    return Registry([plugin(entry())])


def test_a_good_plugin_passes() -> None:
    family = FamilyEntry("tiny", f"{HERE}:choose", "The only one.", kind="phases")
    registry = check_plugin(plugin(entry(), family))
    assert check_solver(registry, "tiny.good")
    assert set(check_family(registry, "tiny", standard_queries(registry, "phases"))) == {
        "tiny.good"
    }


BAD_RECORDS = {
    "must be in lower case": entry("tiny.Good"),
    "must be 'tiny' or start with 'tiny.'": entry("other.good"),
    "cannot be imported": entry(target="Missing"),
    "must have supports and solve": entry(target="NoSolver"),
    "must be callable": entry(target="word"),
    "must be an attrs class": entry(options=f"{HERE}:Good"),
    "summary '' must be a sentence": attrs.evolve(entry(), summary=""),
    "speaks plugin API 2": entry(api=2),
    "is no SolverEntry": "tiny.good",
    "must pickle": attrs.evolve(entry(), kind=lambda: None),
}


@pytest.mark.parametrize("sentence", BAD_RECORDS)
def test_a_bad_solver_record_is_caught(sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence.replace(".", r"\.")):
        check_plugin(plugin(BAD_RECORDS[sentence]))


def test_a_suffix_may_have_two_dots() -> None:
    record = Writer(".tiny.jsonl", f"{HERE}:choose", "Tiny lines.")
    registry = check_plugin(plugin(record, hook="parcast_writers"))
    assert registry.writer("a.tiny.jsonl") == record


@pytest.mark.parametrize(
    ("hook", "record", "sentence"),
    [
        ("parcast_kinds", KindEntry("k", f"{HERE}:choose", "A kind."), "must be an attrs class"),
        ("parcast_kinds", KindEntry("phases", f"{HERE}:Options", "Mine."), "Two kinds are both"),
        ("parcast_readers", Reader("roof", f"{HERE}:choose", "A file."), "start with a dot"),
        ("parcast_lowerings", Lowering("A", "b", f"{HERE}:choose", "To b."), "lower case"),
        ("parcast_solver", entry(), "there is no hook 'parcast_solver'"),
    ],
)
def test_a_bad_record_of_another_hook_is_caught(hook: str, record: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_plugin(plugin(record, hook=hook))


def test_a_missing_file_is_caught(tmp_path: Any) -> None:
    record = Resource("m", tmp_path / "m.toml")
    with pytest.raises(AssertionError, match=r"m\.toml must be a file"):
        check_plugin(plugin(record, hook="parcast_machines"))


def test_an_unmarked_hook_is_caught() -> None:
    module = plugin(entry())
    module.parcast_kinds = lambda: iter(())
    with pytest.raises(AssertionError, match="parcast_kinds is neither a tuple nor marked"):
        check_plugin(module)


def test_a_plugin_without_hooks_is_caught() -> None:
    with pytest.raises(AssertionError, match="must have a hook or a tuple"):
        check_plugin(types.SimpleNamespace(__name__="parcast_tiny"))


def test_a_hook_that_fails_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    module = plugin(entry())
    module.parcast_solvers = hookimpl(lambda: 1 / 0)
    with pytest.raises(AssertionError, match="division by zero"):
        check_plugin(module)
    monkeypatch.setenv("PARCAST_STRICT_PLUGINS", "1")
    with pytest.raises(AssertionError, match="division by zero"):
        check_plugin(module)


def test_a_disabled_plugin_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCAST_DISABLE_PLUGINS", "tiny")
    with pytest.raises(AssertionError, match="PARCAST_DISABLE_PLUGINS"):
        check_plugin(plugin(entry()))


MODULE = """
from parcast import SolverEntry, hookimpl
{top}
@hookimpl
def parcast_commands(app):
    {command}
"""


@pytest.mark.parametrize(
    ("top", "command", "sentence"),
    [
        ("", "pass", ""),
        ("import numpy", "pass", "imports numpy at start-up"),
        ("", "import networkx", "must import in a fresh interpreter|imports networkx"),
        ("", "import numpy", "imports numpy at start-up"),
        ("", "raise KeyError('x')", "must import in a fresh interpreter"),
    ],
)
def test_start_up_is_light(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, top: str, command: str, sentence: str
) -> None:
    (tmp_path / "parcast_fresh.py").write_text(MODULE.format(top=top, command=command))
    monkeypatch.syspath_prepend(tmp_path)
    import parcast_fresh  # type: ignore[import-not-found]

    monkeypatch.delitem(sys.modules, "parcast_fresh")
    if not sentence:
        check_plugin(parcast_fresh)
        return
    with pytest.raises(AssertionError, match=sentence):
        check_plugin(parcast_fresh)


def test_commands_are_the_same_however_often_they_are_asked_for() -> None:
    group, module = typer.Typer(), plugin(entry())

    def parcast_commands(app: typer.Typer) -> None:
        group.command("go")(lambda: None)
        app.add_typer(group, name="tiny")

    module.parcast_commands = hookimpl(parcast_commands)
    with pytest.raises(AssertionError, match=r"adds \['tiny go'\] twice"):
        check_plugin(module)


def half(found: Prediction, _: Query) -> float:
    return (found.time or 0) / 2


DRAWN = iter(range(10**6))

BAD_ANSWERS: dict[str, type] = {
    "time must be finite": changed(time=float("nan")),
    "time must be finite and": changed(time=None),
    "time must be finite and 0": changed(time=lambda found, _: -found.time),
    "sum to time": changed(parts=lambda found, _: found.parts * 0.5),
    "parts must be 0 or more": changed(
        parts=lambda found, _: Parts(compute=2 * found.time, io=-found.time)
    ),
    "lower, time and upper": changed(lower=lambda found, _: 2 * found.time),
    "lower, time and upper must": changed(upper=half),
    "ci must hold time": changed(ci=lambda found, _: (2 * found.time, 3 * found.time)),
    "std must be 0": changed(std=-1.0),
    "levels in 0 .. 1": changed(quantiles={5.0: 1.0}),
    "quantiles must rise": changed(quantiles={0.1: 2.0, 0.9: 1.0}),
    "binding must be one of": changed(binding="memory"),
    "must be sentences": changed(notes=("",)),
    "assumptions must be sentences": changed(assumptions=("two\nlines",)),
    "details must pickle and be JSON": changed(details={"x": object()}),
    "pickle and be JSON": changed(details={"x": lambda: 1}),
    "must be the reason of status": changed(message="all is well"),
    "the reason of status failed": changed(status=Status.FAILED),
    "must not be failed": changed(status=Status.FAILED, message="it broke down"),
    "equal prediction to an equal query": changed(details=lambda *_: {"n": next(DRAWN)}),
    "half the time": changed(time=64.0, parts=None, lower=None, upper=None, ci=None),
    "twice as fast": changed(std=lambda *_: 1.0),
    "KeyError: 'rate'": raising(KeyError("rate")),
    "SolveError: no root": raising(SolveError("no root")),
    "must answer one of the 60": raising(UnsupportedError("never")),
    "answer one of the 60 queries": raising(InvalidPointError("nowhere")),
    "must return a Prediction": type("P", (Good,), {"solve": lambda *_: 1.0}),
    "must give None or a reason": type("R", (Good,), {"supports": lambda *_: ""}),
    "one prediction for each": type("M", (Good,), {"solve_many": lambda *_: []}),
    "solve_many must answer as solve": type(
        "N",
        (Good,),
        {"solve_many": lambda self, queries: [changed(std=9e9)().solve(q) for q in queries]},
    ),
    "TypeError": type(
        "T",
        (Good,),
        {
            "solve": lambda self, query: attrs.evolve(
                Good().solve(query), std=query.machine.network.startup * 0
            )
        },
    ),
}


@pytest.mark.parametrize("sentence", BAD_ANSWERS)
def test_a_bad_answer_is_caught(sentence: str) -> None:
    registry = registry_of(BAD_ANSWERS[sentence])
    with pytest.raises(AssertionError, match=sentence.replace(".", r"\.")):
        check_solver(registry, "tiny.good")


def test_an_answer_that_compare_changes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([plugin(entry())])
    compare: Callable[..., Any] = Registry.compare

    def twice(*asked: Any, **more: Any) -> Any:
        results = compare(*asked, **more)
        return attrs.evolve(results, rows=tuple(attrs.evolve(r, std=9.0) for r in results.rows))

    monkeypatch.setattr(Registry, "compare", twice)
    with pytest.raises(AssertionError, match=r"alike through Registry\.compare"):
        check_solver(registry, "tiny.good")


def test_times_need_not_scale_where_the_caller_says_why() -> None:
    registry = registry_of(changed(std=1.0))
    assert check_solver(registry, "tiny.good", absolute="the noise is in seconds")


def test_own_queries_with_options_and_parameters_reach_compare() -> None:
    registry = Registry([plugin(entry())])
    workload = registry.workload(
        {"name": "w", "parameters": {"n": 4}, "phase": [{"parallel": "n"}]}
    )
    machine = registry.machine({"name": "m", "processor": {"rate": 2}})
    query = Query(
        workload=workload, machine=machine, p=2, parameters={"n": 8}, options=Options(factor=3.0)
    )
    (found,) = check_solver(registry, "tiny.good", [query])
    assert found.time == 3 * 8 / 2 / 2


def test_an_unknown_name_is_caught() -> None:
    registry = Registry([])
    for check in (check_solver, check_machine, check_workload):
        with pytest.raises(AssertionError, match="is called 'nothing'"):
            check(registry, "nothing")
    with pytest.raises(AssertionError, match="no family is called"):
        check_family(registry, "nothing", [])


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda _: "tiny.other", "which must be a solver of its own"),
        (lambda _: 1 / 0, "division by zero"),
        (raising(UnsupportedError("never"))().solve, "must choose a solver"),
    ],
)
def test_a_bad_family_is_caught(function: Any, sentence: str) -> None:
    sys.modules[HERE].choose = function  # type: ignore[attr-defined]
    family = FamilyEntry("tiny", f"{HERE}:choose", "The only one.")
    registry = Registry([plugin(entry(), family)])
    with pytest.raises(AssertionError, match=sentence):
        check_family(registry, "tiny", standard_queries(registry, "phases"))


MACHINE = """
name = "m"
summary = "A machine"
source = "Made up"
[processor]
rate = "1 MFLOP/s"
[nodes]
groups = [{ count = 2 }]
[sources]
"processor.rate" = "assumed: made up"
"nodes.groups" = "assumed: made up"
"""

WORKLOAD = """
name = "w"
summary = "A workload"
source = "Made up"
[parameters]
n = 3
[[phase]]
name = "phase 1"
parallel = "n FLOP"
[sources]
"parameters.n" = "assumed: made up"
"phase[0].parallel" = "assumed: made up"
"""


def shipped(tmp_path: Any, what: str, text: str) -> Registry:
    path = tmp_path / f"{what[0]}.toml"
    path.write_text(text)
    return Registry([plugin(Resource(path.stem, path), hook=f"parcast_{what}")])


def test_good_files_pass(tmp_path: Any) -> None:
    assert check_machine(shipped(tmp_path, "machines", MACHINE), "m").name == "m"
    assert check_workload(shipped(tmp_path, "workloads", WORKLOAD), "w").kind == "phases"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "m"', 'name = "n"', "must have the same name, not 'n'"),
        ('summary = "A machine"', "", "must have a summary"),
        ('source = "Made up"', "", "must have a source"),
        ('"processor.rate" =', '"nodes" =', r"must say where processor\.rate is from"),
        ('"nodes.groups" =', '"processor" =', r"must say where nodes\.groups\[0\]\.count is"),
        ("1 MFLOP/s", "1 s", r"machine 'm' must be read: .*rate: '1 s' is in s"),
    ],
)
def test_a_bad_machine_is_caught(tmp_path: Any, old: str, new: str, sentence: str) -> None:
    registry = shipped(tmp_path, "machines", MACHINE.replace(old, new))
    with pytest.raises(AssertionError, match=sentence):
        check_machine(registry, "m")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"parameters.n" =', '"phase" =', r"must say where parameters\.n is from"),
        ('"phase[0].parallel" =', '"parameters" =', r"where phase\[0\]\.parallel is from"),
        ('"n FLOP"', '"1 / (p - 7)"', "must be valid at p=1: .* must be 0 or more"),
        ('"n FLOP"', '"1 / (7 - p) ** 2"', "must be valid at p=7"),
        ('"n FLOP"', '"m FLOP"', "workload 'w' must be read: .* uses 'm'"),
    ],
)
def test_a_bad_workload_is_caught(tmp_path: Any, old: str, new: str, sentence: str) -> None:
    registry = shipped(tmp_path, "workloads", WORKLOAD.replace(old, new))
    with pytest.raises(AssertionError, match=sentence):
        check_workload(registry, "w")
