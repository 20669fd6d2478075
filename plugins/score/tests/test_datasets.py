"""Bad datasets are refused with the place, and what belongs there."""

from __future__ import annotations

import random

import pytest

from parcast.errors import FileError
from parcast.files import read_dataset
from parcast.testing import seeds
from parcast_score.template import write_template

TABLE = """
name = "runs"
summary = "Runs"
source = "here"
licence = "MIT"
method = "median of five"
unit = "s"
counts = "nodes"
[split]
blind = "largest"
[columns]
processes = "1"
"""
POINTS = "series,size,value,processes\na,1,10,8\na,2,6,16\na,4,4,32\nb,1,3,8\n"


def folder_of(tmp_path, table=TABLE, points=POINTS):
    (tmp_path / "dataset.toml").write_text(table)
    (tmp_path / "points.csv").write_text(points)
    return tmp_path


def test_the_largest_of_each_series_with_several_is_blind(tmp_path):
    dataset = read_dataset(folder_of(tmp_path))
    assert [(item.point.series, item.point.size) for item in dataset.blind] == [("a", 4)]
    assert [item.seconds for item in dataset.calibrating] == [10, 6, 3]
    assert dataset.calibrating[0].point.facts == {"processes": 8}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('unit = "s"\n', "", "dataset.toml: missing key 'unit'"),
        ('unit = "s"', 'unit = "MB"', "unit = 'MB' must be a time"),
        ('unit = "s"', 'unit = "sec"', "'sec' is not a known unit"),
        ('processes = "1"', "", "column 'processes' has no unit; state it in [columns]"),
        (
            'processes = "1"',
            'processes = "cores"',
            "columns.processes: 'cores' is not a known unit",
        ),
        ('processes = "1"', 'process = "1"', "column 'processes' has no unit"),
        ('processes = "1"', 'processes = "1"\nnodes = "1"', "no column 'nodes', which [columns]"),
        ('licence = "MIT"', 'licence = "MTI"', "licence = 'MTI' is not known. Did you mean 'MIT'?"),
        ('licence = "MIT"', 'licence = "mine"', "is not known. Known: Apache-2.0"),
        ('licence = "MIT"\n', "", "missing key 'licence'"),
        ('source = "here"', 'source = " "', "source is empty"),
        ('blind = "largest"', 'blind = "biggest"', "split.blind = 'biggest' must be 'largest'"),
        ('"largest"', "[2, 4]\ncalibrate = [1, 2]", "size 2 both calibrates and is predicted"),
        ('"largest"', "[4]\ncalibrate = [1]", "points.csv:3: size 2 is in neither list of split"),
        ('"largest"', "[4]", "split.calibrate must list the sizes"),
        ('"largest"', '"largest"\ncalibrate = [1]', "split.calibrate stands beside"),
        ('"largest"', '[4, "x"]\ncalibrate = [1]', "split.blind: 'x' must be a size"),
        (
            'counts = "nodes"',
            'counts = "nodes"\nsplits = 1',
            "unknown key 'splits'. Did you mean 'split'?",
        ),
        ('counts = "nodes"', 'counts = "nodes"\nremarks = "x"', "must be a list of sentences"),
    ],
)
def test_a_bad_table_is_refused_with_the_place(tmp_path, old, new, message):
    assert old in TABLE
    with pytest.raises(FileError) as caught:
        read_dataset(folder_of(tmp_path, TABLE.replace(old, new)))
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b,1,3,8\n", "a,2,7,16\n", "points.csv:5: a at size 2 stands in "),
        ("b,1,3,8", "b,1,0,8", "points.csv:5: value = '0' must be above 0"),
        ("b,1,3,8", "b,1,fast,8", "points.csv:5: value = 'fast' must be a number"),
        ("b,1,3,8", "b,1,nan,8", "points.csv:5: value = 'nan' must be a number"),
        ("b,1,3,8", "b,-1,3,8", "points.csv:5: size = '-1' must be above 0"),
        ("b,1,3,8", ",1,3,8", "points.csv:5: series is empty"),
        ("b,1,3,8", "b,1,3,many", "points.csv:5: processes = 'many' must be a number"),
        ("b,1,3,8", "b,1,3", "points.csv:5: 3 values for 4 columns"),
        ("series,size,value", "series,size,time", "there is no column 'value'"),
        (POINTS, "# nothing\n", "there are no points in it"),
    ],
)
def test_bad_points_are_refused_with_the_line(tmp_path, old, new, message):
    with pytest.raises(FileError) as caught:
        read_dataset(folder_of(tmp_path, points=POINTS.replace(old, new)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("unit", "values", "column", "told"),
    [
        ("s", ("10", "4", "3"), "took", ("10", "4", "3")),
        ("ms", ("10", "4", "3"), "took", ("0.01", "0.004", "0.003")),
        ("samples/s", ("10", "4", "3"), "rate", ("10", "4", "3")),
        ("s", ("10", "4", "3"), "work", ("1", "4", "3")),
    ],
)
def test_a_column_that_has_the_blind_times_is_refused(tmp_path, unit, values, column, told):
    points = f"series,size,value,{column}\n" + "".join(
        f"a,{size},{value},{copy}\n"
        for size, value, copy in zip((1, 2, 4), values, told, strict=True)
    )
    table = TABLE.replace('unit = "s"', f'unit = "{unit}"').replace("processes", column)
    table = table.replace('"largest"', "[2, 4]\ncalibrate = [1]")
    if column == "work":
        table = table.replace('work = "1"', "")
    with pytest.raises(FileError, match=f"points.csv:3: column '{column}' has what was measured"):
        read_dataset(folder_of(tmp_path, table, points))
    unlike = points.replace(f",{told[-1]}\n", ",77\n")
    assert len(read_dataset(folder_of(tmp_path, table, unlike)).blind) == 2


def test_a_value_lies_in_its_spread_and_bottlenecks_have_names(tmp_path):
    points = "series,size,value,low,high,bottleneck\na,1,10,9,{},{}\n"
    table = TABLE.replace('[columns]\nprocesses = "1"', "")
    for high, bottleneck, message in (
        ("9.5", "", "value = 10 must lie between low and high"),
        ("11", "disk", "bottleneck = 'disk' must be processor, network"),
    ):
        with pytest.raises(FileError, match=message):
            read_dataset(folder_of(tmp_path, table, points.format(high, bottleneck)))
    (item,) = read_dataset(folder_of(tmp_path, table, points.format("11", "storage"))).calibrating
    assert (item.low, item.high, item.bottleneck) == (9, 11, "storage")


def test_units_become_seconds_and_rates_the_seconds_of_an_item(tmp_path):
    dataset = read_dataset(folder_of(tmp_path, TABLE.replace('unit = "s"', 'unit = "ms"')))
    assert dataset.blind[0].seconds == pytest.approx(0.004)
    table = TABLE.replace('unit = "s"', 'unit = "samples/min"')
    points = "series,size,value,low,high,processes\na,1,10,8,12,8\n"
    (item,) = read_dataset(folder_of(tmp_path, table, points)).calibrating
    assert (item.seconds, item.low, item.high) == (6, 5, 7.5)


def test_no_point_is_lost_or_doubled_by_a_split(tmp_path):
    for seed in seeds(20):
        draw = random.Random(seed)
        points = {
            (f"s{draw.randrange(5)}", draw.randrange(1, 9)): draw.uniform(1, 9) for _ in range(20)
        }
        lines = [f"{name},{size},{value!r},8" for (name, size), value in points.items()]
        text = "series,size,value,processes\n" + "\n".join(lines) + "\n"
        dataset = read_dataset(folder_of(tmp_path, points=text))
        both = [*dataset.calibrating, *dataset.blind]
        assert {(i.point.series, i.point.size): i.seconds for i in both} == points
        assert len(both) == len(points)


def test_an_empty_dataset_says_what_to_fill_in(tmp_path):
    write_template(tmp_path / "mine")
    with pytest.raises(FileError, match="summary is empty; say it in words"):
        read_dataset(tmp_path / "mine")
    with pytest.raises(FileError, match="is there already"):
        write_template(tmp_path / "mine")


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(FileError, match="is no folder"):
        read_dataset(tmp_path / "nowhere")
