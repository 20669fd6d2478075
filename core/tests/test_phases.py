from __future__ import annotations

import pytest

from parcast import InvalidPointError, Query, Registry
from parcast.errors import FileError
from parcast.model.phases import EXPONENTIAL

REGISTRY = Registry(plugins=[])
MACHINE = REGISTRY.machine({"name": "m", "processor": {}})


def phases_at(p, d=1, parameters=None, **phase):
    workload = REGISTRY.workload({"name": "w", "parameters": {"n": 4}, "phase": [phase]})
    query = Query(workload=workload, machine=MACHINE, p=p, d=d, parameters=parameters or {})
    (values,) = workload.content.at(query)
    return values


def test_what_is_not_stated_has_its_default():
    values = phases_at(2)
    assert (values.cycles, values.bursts, values.group) == (1, 1, 1)
    assert (values.parallel, values.serial, values.messages, values.bytes) == (0, 0, 0, 0)
    assert (values.io, values.distribution, values.pattern) == ("sync", EXPONENTIAL, "ring")
    assert values.name == "phase 1"


def test_formulas_see_p_d_and_parameters():
    values = phases_at(9, d=3, parallel="n*p MFLOP", io_bytes="d kB", messages="6*sqrt(p)")
    assert (values.parallel, values.io_bytes, values.messages) == (36e6, 3e3, 18)


def test_numbers_that_are_kept_follow_what_the_formulas_read():
    workload = REGISTRY.workload(
        {"name": "w", "parameters": {"n": 4}, "phase": [{"parallel": "n + p", "io_bytes": "d"}]}
    )
    found = {
        (p, d, n): workload.content.at(
            Query(workload=workload, machine=MACHINE, p=p, d=d, parameters={"n": n})
        )[0]
        for p in (1, 2, 1)
        for d in (3, 4)
        for n in (1, 2.5)
    }
    assert {(p, d, n): (p + n, d) for p, d, n in found} == {
        place: (values.parallel, values.io_bytes) for place, values in found.items()
    }


def test_a_point_without_meaning_is_told_with_its_own_d():
    workload = REGISTRY.workload({"name": "w", "phase": [{"parallel": "log2(p - 2)"}]})
    for d in (1, 7):
        with pytest.raises(InvalidPointError, match=f"p=2, d={d}"):
            workload.content.at(Query(workload=workload, machine=MACHINE, p=2, d=d))


def test_overrides_win_over_the_workloads_own_parameters():
    assert phases_at(2, parallel="n", parameters={"n": 10}).parallel == 10


def test_bytes_are_multiplied_by_the_scale():
    assert phases_at(8, bytes="16 MB", scale="surface:3").bytes == pytest.approx(4e6)
    assert phases_at(8, bytes="16 MB", scale="1/p").bytes == 2e6


def test_one_process_sends_nothing_and_is_its_own_group():
    values = phases_at(1, messages=5, bytes="1 MB", group=4, parallel=7, io_bytes=8, serial=9)
    assert (values.messages, values.bytes, values.group) == (0, 0, 1)
    assert (values.parallel, values.io_bytes, values.serial) == (7, 8, 9)


def test_one_process_needs_no_value_of_what_it_does_not_use():
    values = phases_at(1, messages="1/(p - 1)", bytes="1/(p - 1)", group="p - 1")
    assert (values.messages, values.bytes, values.group) == (0, 0, 1)


@pytest.mark.parametrize(("p", "group"), [(4, 4), (8, 4), (8, 1), (4, "p"), (6, "p / 2")])
def test_p_may_be_any_multiple_of_the_group(p, group):
    assert p % phases_at(p, group=group).group == 0


@pytest.mark.parametrize(("p", "group"), [(6, 4), (2, 4), (4, 2.5), (4, "sqrt(p) + 0.5")])
def test_another_p_is_no_valid_point(p, group):
    with pytest.raises(InvalidPointError, match=f"p={p} is no multiple of the synchronization"):
        phases_at(p, group=group)


@pytest.mark.parametrize(
    ("phase", "message"),
    [
        (
            {"parallel": "2 - p"},
            r"phase\[0\].parallel = '2 - p' at p=4, d=1: -2.0 must be 0",
        ),
        ({"cycles": "p - 4"}, "0.0 must be above 0"),
        ({"serial": "1/(p - 4)"}, "division by zero"),
        ({"messages": "sqrt(2 - p)"}, "math domain error"),
        ({"io_bytes": "1e308 * p"}, "overflows"),
        ({"bytes": "9**1000"}, "overflows"),
        ({"group": "p - 4"}, "0.0 must be above 0"),
    ],
)
def test_a_value_that_cannot_be_is_an_invalid_point(phase, message):
    with pytest.raises(InvalidPointError, match=message):
        phases_at(4, **phase)


def test_phases_keep_their_order_and_names():
    workload = REGISTRY.workload({"name": "w", "phase": [{"name": "a"}, {}, {"name": "c"}]})
    values = workload.content.at(Query(workload=workload, machine=MACHINE, p=1))
    assert [one.name for one in values] == ["a", "phase 2", "c"]


@pytest.mark.parametrize("law", ["erlang:4,20", "sampled:1,2,6", "uniform:3,5", "exponential"])
def test_only_the_shape_of_a_distribution_counts(law: str) -> None:
    workload = Registry([]).workload({"name": "w", "phase": [{"distribution": law}]})
    query = Query(
        workload=workload, machine=Registry([]).machine({"name": "m", "processor": {}}), p=2
    )
    (values,) = workload.content.at(query)
    assert values.distribution.mean == pytest.approx(1)


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        ("unifrm", "'unifrm': there is no distribution 'unifrm'. Did you mean 'uniform'?"),
        ("erlang:4", "'erlang:4' needs the form erlang:stages,mean"),
        ("exp:2s", "'exp:2s': '2s' must be a plain number, without s"),
        ("sampled:0,0", "'sampled:0,0' must be above 0"),
    ],
)
def test_a_wrong_distribution_is_named_with_its_place(law: str, reason: str) -> None:
    with pytest.raises(FileError) as caught:
        Registry([]).workload({"name": "w", "phase": [{"distribution": law}]})
    assert "phase[0].distribution: " in str(caught.value)
    assert reason in str(caught.value)
