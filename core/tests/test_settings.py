from __future__ import annotations

import math

import pytest

from parcast import Machine, ParcastError, SolverEntry
from parcast.comparison.grid import Scenario
from parcast.comparison.setting_values import set_values
from parcast.comparison.settings import Settings, split_assignment
from parcast.errors import FormulaError, UnknownNameError
from parcast.model.machine import Processor

TUNED = SolverEntry(
    "tuned.one", "phases", "parcast_tests:Options", "x", options="parcast_tests:Options"
)
LOST = SolverEntry("lost.one", "phases", "nowhere:Solver", "x", options="nowhere:Options")


@pytest.fixture
def registry(make_registry):
    return make_registry(entries=[TUNED, LOST])


@pytest.fixture
def sort(registry, workload):
    return lambda given: Settings.sort(given, registry, [registry.workload(workload)])


def test_settings_are_sorted_by_what_they_set(sort):
    settings = sort(
        {"n": 5, "network.bandwidth": "5 MB/s", "tuned.repeat": 2, "tuned.one.fast": True}
    )
    assert settings.parameters == {"n": 5}
    assert settings.machine == {"network.bandwidth": "5 MB/s"}
    assert settings.options == {"tuned.repeat": 2, "tuned.one.fast": True}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m", "No parameter, machine value or option is called 'm'."),
        ("network.bandwith", "network.bandwith"),
        ("netwrk.bandwidth", "Did you mean 'network.bandwidth'?"),
        ("tuned.one.repaet", "Did you mean 'tuned.one.repeat'?"),
        ("lost.one.x", "is called 'lost.one.x'."),
        ("processor", "is called 'processor'."),
        ("", "is called ''."),
    ],
)
def test_an_unknown_name_names_the_likely_one(sort, registry, machine, name, message):
    with pytest.raises(ParcastError) as caught:
        set_values(registry.machine(machine), registry, sort({name: 1}).machine_values(1, 1))
    assert message in str(caught.value)


def parameters(sort, registry, workload, value, p=4, d=2):
    return sort({"n": value}).parameters_at(registry.workload(workload), p, d)["n"]


@pytest.mark.parametrize(
    ("value", "result"),
    [
        *((5, 5), (2.5, 2.5), ("5", 5), ("2.5", 2.5), ("1_000", 1000), ("5 kB", 5000.0)),
        *(("n*p", 48), ("n + s", 12), ("d", 2), ("2**p", 16), ("sqrt(p)", 2.0)),
    ],
)
def test_a_parameter_may_be_a_formula_of_p_d_and_the_defaults(
    sort, registry, workload, value, result
):
    found = parameters(sort, registry, workload, value)
    assert found == result
    assert isinstance(found, type(result))


@pytest.mark.parametrize(
    "value",
    [
        *("m", "1/(p-4)", "1e308*10", "1e400", "5 Mb", "", "1__0", "p.x", "9**9**9"),
        *(math.nan, math.inf, True, None, [1], {}),
    ],
)
def test_a_parameter_without_a_value_names_itself(sort, registry, workload, value):
    with pytest.raises(FormulaError, match=r"^n="):
        parameters(sort, registry, workload, value)


@pytest.mark.parametrize("value", ["sqrt(p)*10 +- 1", "p*(27 +- 1)", "p +/- 1", "n ± 1"])
def test_an_uncertainty_in_a_formula_is_no_sum(sort, registry, workload, machine, value):
    with pytest.raises(FormulaError, match=r"^n=.*\+- stands between two plain numbers"):
        parameters(sort, registry, workload, value)
    with pytest.raises(ParcastError, match=r"rate=.*\+- stands between two plain numbers"):
        changed(sort, registry, machine, "processor.rate", value)
    with pytest.raises(ParcastError, match=r"phase\[0\]\.parallel: .*use a parameter"):
        registry.workload({**workload, "phase": [{"parallel": value}]})


def test_an_option_is_never_uncertain(sort, registry):
    entry = registry.solvers["tuned.one"]
    for value in ("10 +- 2", "5 to 7", "exp:3"):
        with pytest.raises(ParcastError, match=r"tuned\.one\.step=.* an option chooses a method"):
            sort({"tuned.one.step": value})
        listed = sort({"tuned.one.step": 1}).with_values({"tuned.one.step": value})
        with pytest.raises(ParcastError, match=r"tuned\.one\.step=.* an option chooses a method"):
            listed.options_of(entry, 1, 1)
    assert sort({"tuned.step": "2*p s"}).options == {"tuned.step": "2*p s"}
    assert sort({"tuned.law": "lognormal:3,1"}).options_of(entry, 1, 1).law.mean == 3


@pytest.mark.parametrize("values", [(1, True), (2, 2.0), (1, 1.0)])
def test_an_equal_option_of_another_type_is_refused_whatever_was_asked_before(sort, values):
    right, wrong = values
    assert sort({"tuned.one.repeat": right}).options_of(TUNED, 1, 1).repeat == right
    with pytest.raises(ParcastError, match=rf"{wrong} must be a whole number"):
        sort({"tuned.one.repeat": wrong}).options_of(TUNED, 1, 1)


def test_an_equal_machine_value_of_another_type_is_refused_whatever_was_asked_before(
    sort, registry, workload, machine
):
    scenario = Scenario(
        workload=registry.workload(workload),
        machine=registry.machine(machine),
        settings=sort({"storage.disks": "min(p / 2, 1)"}),
    )
    assert scenario.query(registry, 4, 1).machine.storage.disks == 1
    with pytest.raises(ParcastError, match=r"storage.disks: 1.0 must be a whole number"):
        scenario.query(registry, 2, 1)


def test_only_a_workloads_own_parameters_are_set(sort, registry):
    settings = sort({"n": 5})
    other = registry.workload({"name": "v", "parameters": {"k": 1}, "phase": [{}]})
    assert settings.parameters_at(other, 1, 1) == {}


def changed(sort, registry, machine, path, value, p=4, d=2):
    return set_values(registry.machine(machine), registry, sort({path: value}).machine_values(p, d))


@pytest.mark.parametrize(
    ("path", "value", "read", "result"),
    [
        ("processor.rate", "5 MFLOP/s", lambda m: m.processor.rate, 5e6),
        ("processor.rate", "5*p", lambda m: m.processor.rate, 20.0),
        ("network.startup", 1e-6, lambda m: m.network.startup, 1e-6),
        ("network.contention", "bus", lambda m: m.network.contention, "bus"),
        ("network.local.startup", "2 us", lambda m: m.network.local.startup, 2e-6),
        ("storage.disks", "p*d", lambda m: m.storage.disks, 8),
        ("storage.layout", "cluster", lambda m: m.storage.layout, "cluster"),
    ],
)
def test_a_machine_value_is_set_and_the_rest_stays(
    sort, registry, machine, path, value, read, result
):
    before = registry.machine(machine)
    after = changed(sort, registry, machine, path, value)
    assert read(after) == result
    assert before == registry.machine(machine)
    untouched = {"processor", "storage"} - {path.split(".")[0]}
    assert all(after.parts[name] == before.parts[name] for name in untouched)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("processor.rate", "5 MB/s", "processor.rate=5 MB/s: processor.rate: '5 MB/s' is in B/s"),
        ("processor.rate", -5, "processor.rate=-5: processor.rate: -5 must be above 0"),
        ("processor.rate", "4 - p", "processor.rate=0: processor.rate: 0 must be above 0"),
        ("processor.rate", "1/(p-4)", "processor.rate=1/(p-4): division by zero"),
        ("processor.rte", 5, "processor.rte=5: unknown key 'processor.rte'. Did you mean 'rate'?"),
        ("storage.disks", "p/d", "storage.disks=2.0: storage.disks: 2.0 must be a whole number"),
        ("network.contention", "buss", "Did you mean 'bus'?"),
        ("processor.rate.x", 5, "'rate' is no table of machine 'm'"),
        ("network.", 5, "network.=5: unknown key 'network.'."),
    ],
)
def test_a_wrong_machine_value_names_the_setting(sort, registry, machine, path, value, message):
    with pytest.raises(ParcastError) as caught:
        changed(sort, registry, machine, path, value)
    assert message in str(caught.value)
    assert path in str(caught.value)


def test_a_machine_made_from_values_says_that_it_cannot_be_changed(sort, registry):
    made = Machine(name="made", parts={"processor": Processor(rate=1.0)})
    with pytest.raises(
        ParcastError, match=r"'made' was not read from data; processor\.rate cannot"
    ):
        set_values(made, registry, sort({"processor.rate": 5}).machine_values(1, 1))


def test_a_broken_solver_does_not_stop_other_settings(sort):
    assert sort({"tuned.repeat": 2}).options == {"tuned.repeat": 2}
    with pytest.raises(UnknownNameError):
        sort({"lost.repeat": 2})


@pytest.mark.parametrize(
    ("text", "pair"),
    [("n=5", ("n", "5")), (" n = 5 MB ", ("n", "5 MB")), ("a.b=c=d", ("a.b", "c=d"))],
)
def test_an_assignment_splits_at_the_first_equals(text, pair):
    assert split_assignment(text) == pair


@pytest.mark.parametrize("text", ["", "n", "n=", "=5", " = "])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(ParcastError, match="is no NAME=VALUE"):
        split_assignment(text)
