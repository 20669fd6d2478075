"""Study files: what they may say, and one sentence for each mistake."""

from __future__ import annotations

import pytest

from parcast import ParcastError
from parcast.study import read_study

STUDY = """
name = "both"
workload = ["w.toml"]
machine = "m.toml"
solver = "counts"
p = "1..8*2"
d = [1, 2]
[set]
n = [1, "2*p"]
"processor.rate" = "2 FLOP/s"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "w.toml").write_text("[parameters]\nn = 1\n[[phase]]\nparallel = 'n'\n")
    (tmp_path / "m.toml").write_text("[processor]\nrate = 1\n")
    return tmp_path


def test_files_stand_beside_the_study(counting, folder):
    (folder / "s.toml").write_text(STUDY)
    study = read_study(counting, folder / "s.toml")
    assert study.name == "both"
    assert len(study) == 4 * 2 * 2
    assert study.plans[0].p == (1, 2, 4, 8)
    assert study.plans[0].settings == {"n": (1, "2*p"), "processor.rate": ("2 FLOP/s",)}


def test_a_study_needs_no_more_than_a_workload_and_a_machine(counting, folder):
    (folder / "plain.toml").write_text('workload = "w.toml"\nmachine = "m.toml"\n')
    study = read_study(counting, folder / "plain.toml")
    assert study.name == "plain"
    assert [plan.solver for plan in study.plans] == ["counts", "second"]
    assert len(study.plans[0]) == 7


def test_measured_times_give_p_and_d(counting, folder):
    (folder / "times.csv").write_text("p,d,time\n3,2,1.5\n9,2,1.0\n")
    (folder / "s.toml").write_text('workload="w.toml"\nmachine="m.toml"\nmeasured="times.csv"')
    study = read_study(counting, folder / "s.toml")
    assert (study.plans[0].p, study.plans[0].d) == ((3, 9), (2,))
    rows = counting.study(study, executor="threads:1", cache=None).rows
    assert {(row.p, row.measured) for row in rows} == {(3, 1.5), (9, 1.0)}
    assert all(row.error == pytest.approx(row.time / row.measured - 1) for row in rows)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("workloads = 'w.toml'", "unknown key 'workloads'. Did you mean 'workload'?"),
        ("p = 0", "p: p=0 must be a whole number from 1"),
        ("p = '1..'", "p: p '1..': write whole numbers"),
        ("p = []", "p: p is empty"),
        ("d = 'x'", "d: d 'x': write whole numbers"),
        ("solver = 'cuonts'", "solver: No solver is called 'cuonts'. Did you mean 'counts'?"),
        ("solver = []", "solver: No solver was named"),
        ("workload = 'nothing'", "workload: No workload is called 'nothing'"),
        ("workload = []", 'which workload? Add a line such as workload = "NAME"'),
        ("machine = 5", "machine: 5 is no machine"),
        ("solver = 3", "solver: 3 is no solver; give a name or a list of names"),
        ("solver = [3]", "solver: [3] is no solver"),
        ("mapping = []", "mapping: mapping () must hold the number of a node each"),
        ("mapping = [[]]", "mapping: mapping () must hold the number of a node each"),
        ("mapping = 3", "mapping: mapping 3 must be 'block' or 'cyclic'"),
        ("mapping = [[true, 1]]", "mapping: mapping (True, 1) must hold the number"),
        ("seed = []", "seed: seed None must be a whole number"),
        ("set = {n = [64, 'abc']}", "set: n=abc: nothing is called 'abc'"),
        ("set = {n = '1/0'}", "set: n=1/0: division by zero"),
        ("set = {'processor.rate' = [1, '-3']}", "processor.rate=-3: processor.rate: -3 must be"),
        ("mapping = 'blok'", "mapping: mapping 'blok' must be 'block' or 'cyclic'. Did you mean"),
        ("seed = -1", "seed: seed -1 must be a whole number, 0 or more"),
        ("name = 5", "name = 5 must be text"),
        ("set = 5", "set must be a table, such as [set]"),
        ("set = {m = 1}", "set: No parameter, machine value or option is called 'm'"),
        ("set = {n = [{a = 1}]}", 'set.n is a table; write it as "n.a" = VALUE, with the quotes'),
        ("set = {processor = {rate = 5}}", 'write it as "processor.rate" = VALUE'),
        ("set = {n = []}", "set.n = [] must be a value or a list of values"),
        ("measured = 'no.csv'", "measured: no.csv does not exist"),
        ("p = '1..1000000'\nd = '1..100'", "the grid has 200,000,000 points; take at most 10,"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_sentence_with_file_and_key(counting, folder, line, message):
    key = line.partition(" ")[0]
    lines = ['workload = "w.toml"', 'machine = "m.toml"']
    kept = [one for one in lines if not one.startswith(f"{key} ")]
    (folder / "s.toml").write_text("\n".join([*kept, line]))
    with pytest.raises(ParcastError) as told:
        read_study(counting, folder / "s.toml")
    assert message in str(told.value)
    assert str(told.value).startswith(f"{folder / 's.toml'}: ")
    assert "\n" not in str(told.value)


def test_what_stands_twice_counts_once(counting, folder):
    (folder / "s.toml").write_text(
        'workload = "w.toml"\nmachine = "m.toml"\np = [2, 2]\nseed = "0..2"\n[set]\nn = [4, 4]\n'
    )
    plan = read_study(counting, folder / "s.toml").plans[0]
    assert plan.seeds == (0, 1, 2)
    assert len(plan) == 3


def test_values_may_be_given_in_place_of_names(counting, folder):
    workload = counting.workload(folder / "w.toml")
    study = read_study(
        counting,
        {"workload": workload, "machine": folder / "m.toml", "mapping": [[0, 1], "cyclic"]},
    )
    assert study.plans[0].workloads == (workload,)
    assert study.plans[0].mappings == ((0, 1), "cyclic")
    assert "workload" not in study.data
