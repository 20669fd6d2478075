"""Measured times: read from every form, refused with their place, and set beside predictions."""

import json

import attrs
import pytest

from parcast.comparison.joining import join
from parcast.comparison.measurements import read_measured
from parcast.errors import FileError, UnknownNameError
from parcast.model.workload import Workload
from parcast.results.row import Row

EXTRAP = {
    "parameters": ["p", "n"],
    "measurements": {
        "main": {
            "time": [
                {"point": [2, 64], "values": [3.0, 1.0, 2.0]},
                {"point": [4, 64], "values": [1.5]},
            ],
            "visits": [{"point": [2, 64], "values": [7]}],
        },
        "main->solve": {"time": [{"point": [2, 64], "values": [1.0]}]},
    },
}


def file(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def points(found):
    return [(one.value, *one.at.values()) for one in found.items]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_table_gives_times_with_or_without_units(tmp_path, sign):
    lines = ["# a run", "p, time, n", "2, 1500 ms, 64", "", "4, 0.75, 1 kB"]
    found = read_measured(file(tmp_path, "t.csv", "\n".join(lines).replace(",", sign)))
    assert found.columns == ("p", "n")
    assert points(found) == [(1.5, 2, 64.0), (0.75, 4, 1000.0)]
    assert found.items[1].place.endswith("t.csv:5")
    assert found.values("p") == [2, 4]
    assert found.values("d") == []


def test_extrap_gives_the_median_of_the_whole_programs_time(tmp_path):
    found = read_measured(file(tmp_path, "e.json", json.dumps(EXTRAP)))
    assert points(found) == [(2.0, 2, 64.0), (1.5, 4, 64.0)]


def test_extraps_lines_give_the_median_of_equal_points(tmp_path):
    lines = [{"params": {"p": p}, "value": v} for p, v in ((2, 3.0), (4, 1.0), (2, 1.0), (2, 2.0))]
    found = read_measured(file(tmp_path, "e.jsonl", "\n".join(map(json.dumps, lines))))
    assert points(found) == [(2.0, 2), (1.0, 4)]


def test_mappings_and_frames_are_tables():
    class Frame:
        def to_dict(self, orient):
            assert orient == "records"
            return [{"p": 2, "time": 1.0}]

    assert points(read_measured(Frame())) == points(read_measured([{"p": 2, "time": "1 s"}]))
    again = read_measured([{"p": 2, "time": 1}])
    assert read_measured(again) is again


BAD = {
    "empty.csv": ("# nothing\n", "empty.csv: there are no measured times in it"),
    "time.csv": ("p,seconds\n2,3\n", "time.csv: there is no column 'time', only p, seconds"),
    "p.csv": ("time\n3\n", "p.csv: there is no column 'p', only time"),
    "word.csv": ("p,time\n2,long\n", "word.csv:2: time = 'long': 'long' is not a number with"),
    "unit.csv": ("p,time\n2,3 kB\n", "unit.csv:2: time = '3 kB': '3 kB'"),
    "zero.csv": ("p,time\n2,0\n", "zero.csv:2: time = 0 must be above 0"),
    "half.csv": ("p,time\n2.5,1\n", "half.csv:2: p = '2.5': it must be a whole number"),
    "param.csv": ("p,time,n\n2,1,big\n", "param.csv:2: n = 'big': 'big' is not a number"),
    "twice.csv": ("p,time\n2,1\n2,3\n", "twice.csv:3: p=2 stands in .*twice.csv:2 too; give one"),
    "short.csv": ("p,time\n2\n", "short.csv:2: 1 values for 2 columns"),
    "heads.csv": ("p,p,time\n2,2,1\n", "heads.csv:1: a column 'p' stands twice; give each a name"),
    "no.json": ("{", "no.json: not valid JSON"),
    "other.json": ("[1]", "other.json: this is not Extra-P's JSON"),
    "many.json": (
        json.dumps(
            {"parameters": ["p"], "measurements": {"a": {"time": [], "x": []}, "b": {"time": []}}}
        ),
        r"many.json: several series are measured \(a/time, a/x, b/time\); keep one",
    ),
    "values.json": (
        json.dumps(
            {"parameters": ["p"], "measurements": {"a": {"t": [{"point": 2, "values": []}]}}}
        ),
        r"values.json: point 1: values = \[\] must be numbers",
    ),
    "huge.csv": ("p,time\n1e400,1\n", r"huge.csv:2: p = '1e400': it must be .* to 10\*\*15"),
    "most.csv": (f"p,time\n{10**400},1\n", "most.csv:2: p = .*: it must be a whole number"),
    "wide.csv": (f"p,time\n2,1\n3,{'1' * 200_000}\n", "wide.csv:3: field larger than .* limit"),
    "long.csv": (f"p,time\n2,{'x' * 100_000}\n", "long.csv:2: time = 'x+…: 'x+…$"),
    "law.csv": ("p,time\n2,exp:25\n", "law.csv:2: time = 'exp:25': it must be one number"),
    "same.csv": ("p,time\n2,const:25\n", "same.csv:2: time = 'const:25': it must be one number"),
    "to.csv": ("p,time\n2,9 to 11 s\n", "to.csv:2: time = '9 to 11 s': it must be one number"),
    "exact.csv": ("p,n,time\n2,64 +- 1,1\n", "exact.csv:2: n = .* must be exact; leave out"),
    "upper.csv": ("P,time\n2,1\n", r"only P, time\. Did you mean 'P'\?$"),
    "name.csv": ("p,Time\n2,1\n", r"only p, Time\. Did you mean 'Time'\?$"),
    "none.json": ('{"parameters": ["p"], "measurements": {}}', "none.json: there are no measured"),
    "infinite.json": (
        '{"parameters": ["p"], "measurements": {"a": {"t": [{"point": 2, "values": [1e999]}]}}}',
        r"infinite.json: point 1: values = \[inf\] must be numbers",
    ),
    "clash.json": (
        json.dumps(EXTRAP).replace('"n"', '"time"'),
        "clash.json: point 1: a parameter is called 'time', as what is measured; rename it",
    ),
    "clash.jsonl": ('{"params": {"p": 2, "time": 3}, "value": 1}', "clash.jsonl:1: a parameter is"),
    "true.jsonl": ('{"params": {"p": 2}, "value": true}', "true.jsonl:1: a line is"),
    "over.jsonl": (f'{{"params": {{"p": 2}}, "value": {10**400}}}', "over.jsonl:1: a line is"),
    "p.jsonl": ('{"params": {"p": 1e999}, "value": 1}', "p.jsonl:1: p = inf: it must be a whole"),
    "line.jsonl": ('{"p": 3}\n', "line.jsonl:1: a line is"),
    "mixed.jsonl": (
        '{"params": {"p": 2}, "value": 1}\n{"params": {"q": 2}, "value": 1}\n',
        "mixed.jsonl:2: its columns differ from those of .*mixed.jsonl:1",
    ),
    "times.xls": ("x", "times.xls: measured times are read from .csv, .tsv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_measured_times_are_told_with_their_place(tmp_path, name):
    text, sentence = BAD[name]
    with pytest.raises(FileError, match=sentence) as caught:
        read_measured(file(tmp_path, name, text))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (3, "^3 is no file, DataFrame or list"),
        ([4], r"measured\[0\] = 4 is no mapping"),
    ],
)
def test_what_is_no_table_is_refused(source, sentence):
    with pytest.raises(FileError, match=sentence):
        read_measured(source)


def row(p, *, time=1.0, d=1, **params):
    return Row(workload="w", machine="m", solver="s", p=p, d=d, params=params, time=time)


WORKLOAD = Workload(name="w", kind="phases", content=None, parameters={"n": 64})


def test_a_measured_time_joins_every_row_of_its_point():
    measured = read_measured(
        [
            {"p": 2, "n": 64, "time": 2.0},
            {"p": 4, "n": 128, "time": 4.0},
            {"p": 8, "n": 1, "time": 1},
        ]
    )
    rows = [row(2), row(2, time=3.0), row(4, n=128.0), row(4), row(2, time=None)]
    joined, unused = join(rows, measured, [WORKLOAD])
    assert [one.measured for one in joined] == [2.0, 2.0, 4.0, None, 2.0]
    assert [one.error for one in joined] == [-0.5, 0.5, -0.75, None, None]
    assert unused == ["measured[2]"]


def test_a_column_that_tells_nothing_apart_is_refused():
    with pytest.raises(UnknownNameError, match=r"column 'nn' is neither .* Did you mean 'n'"):
        join([row(2)], read_measured([{"p": 2, "nn": 1, "time": 1}]), [WORKLOAD])


def test_rows_that_only_a_missing_column_tells_apart_are_refused():
    one = read_measured([{"p": 2, "time": 1}])
    sentence = "there is no column 'd', but measured.0. belongs to rows with 1 and with 2; add it"
    with pytest.raises(UnknownNameError, match=sentence):
        join([row(2), row(2, d=2)], one, [WORKLOAD])
    with pytest.raises(UnknownNameError, match="no column 'machine', but there are results for 2"):
        join([row(2), attrs.evolve(row(4), machine="n")], one, [WORKLOAD])


def test_of_a_time_with_its_spread_the_value_is_kept():
    assert points(read_measured([{"p": 2, "time": "10 +- 1 s"}])) == [(10.0, 2)]


def test_a_record_over_two_lines_keeps_the_places_after_it(tmp_path):
    found = read_measured(file(tmp_path, "t.csv", 'p,time,machine\n2,1,"a\nb"\n4,1,c\n'))
    assert [one.place[-1] for one in found.items] == ["3", "4"]
    assert found.values("machine") == ["a\nb", "c"]


ONE = read_measured([{"p": 2, "time": 1.0}])


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (row(2, n=32), row(2, n=128), "n"),
        (row(2), row(2, n=32), "n"),
        (row(2, **{"network.bandwidth": "5 MB/s"}), row(2, **{"network.bandwidth": 6e6}),
         "network.bandwidth"),
        (row(2, rate="5 +- 1"), row(2, rate="5 +- 2"), "rate"),
        (row(2, rate=10**400), row(2, rate=10**400 + 1), "rate"),
        (row(2), attrs.evolve(row(2), mapping="cyclic"), "mapping"),
    ],
)  # fmt: skip
def test_rows_of_one_measured_time_differ_in_nothing_it_lacks(first, second, name):
    with pytest.raises(UnknownNameError, match=f"{name}.* but measured.* predict one alone$"):
        join([first, second], ONE, [WORKLOAD])


def test_rows_of_one_measured_time_may_differ_in_solver_options_and_seed():
    rows = [
        row(2, **{"s.runs": 1}),
        row(2, **{"s.runs": 2}),
        attrs.evolve(row(2), solver="t", seed=1),
        row(2, n=64.0),
        row(4, n=32),  # of another point, where nothing was measured
    ]
    joined, _ = join(rows, ONE, [WORKLOAD])
    assert [one.measured for one in joined] == [1.0, 1.0, 1.0, 1.0, None]


def test_what_follows_from_p_needs_no_column():
    times = read_measured([{"p": p, "time": 1.0} for p in (2, 4)])
    joined, _ = join([row(2, n=16, d=2), row(4, n=32, d=4)], times, [WORKLOAD])
    assert [one.measured for one in joined] == [1.0, 1.0]


def test_a_machine_value_that_is_set_may_be_a_column():
    name = "network.bandwidth"
    times = read_measured([{"p": 2, name: "5 MB/s", "time": 1}, {"p": 2, name: 6e6, "time": 2}])
    rows = [row(2, **{name: "5 MB/s"}), row(2, **{name: "6000 kB/s"})]
    joined, unused = join(rows, times, [WORKLOAD])
    assert ([one.measured for one in joined], unused) == ([1.0, 2.0], [])
    with pytest.raises(UnknownNameError, match=r"neither a parameter .* nor a value that is set"):
        join([row(2)], times, [WORKLOAD])
