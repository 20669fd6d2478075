"""Which choice makes two answers differ: found by leaving one out after the other."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import attrs
import pytest

from parcast import PartEntry, Parts, Prediction, SolverEntry
from parcast.analysis.explanation import Explanation, Step, explain
from parcast.cli import app as command


@attrs.frozen(kw_only=True)
class Load:
    slowdown: float = 1.0


@attrs.frozen(kw_only=True)
class Options:
    law: str = "exponential"


class Plain:
    """10 s of computation, and messages by startup."""

    shares = False
    loaded = False
    pending = 0.0

    def supports(self, query):
        return None

    def solve(self, query):
        network = query.machine.network
        messages = 100 * network.startup * (2 if self.shares and network.contention == "bus" else 1)
        law = 2 if query.options and query.options.law == "exponential" else 1
        load = query.machine.parts.get("load", Load()).slowdown if self.loaded else 1
        parts = Parts(compute=10 * law * load, communication=messages, synchronization=self.pending)
        return Prediction(time=parts.total, parts=parts)


class Shares(Plain):
    shares = True


class Random(Shares):
    loaded = True


class Waits(Plain):
    pending = 7.0


class Bounds(Plain):
    def solve(self, query):
        return Prediction(time=5, lower=5)


@pytest.fixture
def asked(make_registry, monkeypatch):
    module = ModuleType("parcast_explained")
    for one in (Load, Options, Plain, Shares, Random, Waits, Bounds):
        setattr(module, one.__name__, one)
    monkeypatch.setitem(sys.modules, "parcast_explained", module)
    entries = [
        SolverEntry(f"{name}.one", "phases", f"parcast_explained:{name.capitalize()}", "A test.")
        for name in ("plain", "shares", "waits", "bounds")
    ]
    entries.append(
        SolverEntry(
            "random.one",
            "phases",
            "parcast_explained:Random",
            "A test.",
            options="parcast_explained:Options",
            choices={"law": {"law": "constant"}},
            follows=("load",),
        )
    )
    load = PartEntry("load", "parcast_explained:Load", "A test.", choice="jobs of others")
    hooks = {"parcast_parts": lambda: [load]}
    return make_registry(entries=entries, hooks=hooks)


def why(registry, workload, machine, solvers, **settings):
    results = registry.compare(workload, machine, p=4, solvers=solvers, settings=settings)
    return explain(registry, results, workload, machine, settings=settings)


BUS = {"network.startup": 0.1, "network.contention": "bus"}


def test_answers_within_five_percent_need_no_reason(asked, workload, machine):
    settings = {"network.startup": 0.001, "network.contention": "bus"}
    assert why(asked, workload, machine, "plain,shares", **settings) == []


def test_what_closes_the_difference_is_named_with_what_it_leaves(asked, workload, machine):
    (one,) = why(asked, workload, machine, "plain,shares", **BUS)
    assert (one.solver, one.against, one.ratio) == ("shares.one", "plain.one", 1.5)
    assert one.steps == (Step("contention", 1.0),)
    assert str(one) == (
        "shares.one is 50 % above plain.one at p = 4; without contention equal to it"
    )


def test_several_choices_are_left_out_in_the_order_of_their_effect(asked, workload, machine):
    settings = {**BUS, "load.slowdown": 3.0}
    (one,) = why(asked, workload, machine, "plain,random", **settings)
    assert (one.solver, one.against) == ("plain.one", "random.one")  # whose notes are fewer
    assert one.ratio == (10 + 10) / (60 + 20)
    left = {"jobs of others": 20 / (20 + 20), "contention": 20 / (20 + 10)}
    assert [step.choice for step in one.steps] == [*left, "random.one's law"]
    assert [step.ratio for step in one.steps] == pytest.approx([*left.values(), 1.0])


def test_what_no_choice_explains_is_told_by_the_part(asked, workload, machine):
    (one,) = why(asked, workload, machine, "plain,waits", **BUS)
    assert (one.steps, one.rest) == (
        (),
        "the rest is mostly synchronization: 7 s against 0 s",
    )


def test_a_bound_is_called_one(asked, workload, machine):
    (one,) = why(asked, workload, machine, "plain,bounds", **BUS)
    assert one.rest == "it is a lower bound"
    assert str(one).endswith("it is a lower bound")


def test_a_part_that_a_solver_does_not_follow_is_noted(asked, workload, machine):
    rows = asked.compare(
        workload, machine, p=4, solvers="plain,random", settings={"load.slowdown": 3.0, **BUS}
    ).rows
    notes = {row.solver: row.notes for row in rows}
    assert notes["plain.one"] == ("the machine's load (jobs of others) is not modeled",)
    assert notes["random.one"] == ()


def test_a_contention_level_is_noted_where_no_word_of_all_families_is_stated(
    asked, workload, machine
):
    def notes(p=4, **network):
        settings = {f"network.{name}": value for name, value in network.items()}
        (row,) = asked.compare(workload, machine, p=p, solvers="plain", settings=settings).rows
        return row.notes

    base = {"startup": 0.1, "bandwidth": 1.0}
    (said,) = notes(**base, saturation=2.0)
    assert said.startswith("the machine's network.saturation (messages that slow each other down)")
    assert notes(**base, contention_level=0.5) == (said,)
    assert notes(**base, contention_level=0.0) == ()
    assert notes(**base, saturation=2.0, contention="none") == ()
    assert notes(p=1, **base, saturation=2.0) == ()


def test_a_sentence_gives_large_ratios_as_such():
    one = Explanation(
        workload="w", machine="m", p=2, d=1, solver="a", against="b", ratio=12.3456, steps=()
    )
    assert str(one) == "a is 12.3 times b at p = 2"


def test_the_command_says_it_below_the_table_and_in_json(
    asked, workload, machine, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(command, "Registry", lambda: asked)
    monkeypatch.setattr(sys, "argv", ["parcast"])
    for name, value in (("w", workload), ("m", machine)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    line = ["compare", str(tmp_path / "w.json"), str(tmp_path / "m.json"), "-p", "4", "--explain"]
    line += ["-s", "plain,shares", *(f"--set={name}={value}" for name, value in BUS.items())]
    assert command.main(line) == 0
    said = capsys.readouterr().out
    assert said.endswith("at p = 4; without contention equal to it\n")
    assert command.main([*line, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["explained"]
    assert told["steps"] == [{"choice": "contention", "ratio": 1.0}]
