"""Rows as columns: nothing is lost, and leaves are those of the rows."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parcast import Parts, Row, Status
from parcast.html import flatten
from parcast.results.packing import Pack, packs, values

numbers = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False)
)
leaves = st.one_of(numbers, st.text(max_size=3))
details = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
rows = st.builds(
    Row,
    workload=st.sampled_from(["w", "v"]),
    machine=st.just("m"),
    solver=st.sampled_from(["s.one", "s.two"]),
    p=st.integers(1, 9),
    d=st.just(1),
    mapping=st.one_of(st.just("block"), st.just((0, 1))),
    params=st.dictionaries(st.sampled_from("xy"), leaves, max_size=2),
    time=st.one_of(st.none(), st.floats(0, 10)),
    ci=st.one_of(st.none(), st.just((1.0, 2.0))),
    quantiles=st.dictionaries(st.sampled_from(["0.05", "0.95"]), st.floats(0, 1), max_size=2),
    parts=st.one_of(st.none(), st.builds(Parts, st.floats(0, 1), st.floats(0, 1))),
    status=st.sampled_from(Status),
    notes=st.lists(st.text(max_size=2), max_size=2).map(tuple),
    details=st.dictionaries(st.sampled_from("abc"), details, max_size=3),
)


def with_params(*params):
    return [Row(workload="w", machine="m", solver="s.one", p=1, d=1, params=x) for x in params]


def as_json(row):
    return json.dumps(row.to_dict(), sort_keys=True)


@given(st.lists(rows, max_size=6), st.integers(0, 6))
@example(with_params({"x": [1]}, {"x": [True]}, {"x": [1.0]}), 1)
@example(with_params({"x": [1, {"a": 0}]}, {"x": [1, {"a": False}]}), 1)
@example(with_params({"x": 0.0}, {"x": -0.0}), 1)
def test_packed_and_sent_rows_come_back_as_they_were(found, cut):
    pack = Pack.of(found)
    sent = Pack.from_dict(json.loads(json.dumps(pack.to_dict(), allow_nan=False)))
    joined = Pack.joined([Pack.of(found[:cut]), Pack.of(found[cut:])])
    for one in (pack, sent, joined):
        assert list(map(as_json, one.rows())) == list(map(as_json, found))
    assert [as_json(sent.row(index)) for index in range(len(found))] == list(map(as_json, found))
    for row, back in zip(found, sent.rows(), strict=True):
        assert (back.status, back.parts, back.mapping, back.notes, back.ci) == (
            row.status, row.parts, row.mapping, row.notes, row.ci,
        )  # fmt: skip


@given(st.lists(rows, min_size=1, max_size=6))
@example(with_params({"x": None, "y": False}, {"y": False, "x": None}))
@example(with_params({"x": ["a", 1]}, {"x": ["a", True]}))
def test_flat_columns_hold_the_leaves_of_each_row(found):
    columns = {name: values(column, len(found)) for name, column in Pack.of(found).flat().items()}
    for index, row in enumerate(found):
        for name, leaf in flatten(row.to_dict()):
            cell = "; ".join(map(str, leaf)) if isinstance(leaf, list) else leaf
            assert columns[name][index] == cell
            assert type(columns[name][index]) is type(cell)


def test_what_all_rows_share_is_kept_once():
    found = [Row(workload="w", machine="m", solver="s", p=p, d=1, time=0.5) for p in range(100)]
    columns = Pack.of(found).columns
    assert columns["time"] == {"same": 0.5}
    assert columns["p"] == {"each": list(range(100))}
    assert len(json.dumps(Pack.of(found).to_dict())) < 1200


def test_one_and_one_point_zero_and_true_stay_apart():
    found = [
        Row(workload="w", machine="m", solver="s", p=1, d=1, params={"n": n})
        for n in (1, 1.0, True)
    ]
    back = [row.params["n"] for row in Pack.of(found).rows()]
    assert list(map(type, back)) == [int, float, bool]


def test_what_is_not_finite_becomes_none():
    (row,) = Pack.of(
        [Row(workload="w", machine="m", solver="s", p=1, d=1, time=float("inf"))]
    ).rows()
    assert row.time is None


def test_rows_are_packed_some_thousand_at_a_time():
    found = [Row(workload="w", machine="m", solver="s", p=p, d=1) for p in range(9000)]
    pieces = list(packs(found))
    assert [one.count for one in pieces] == [4096, 4096, 808]
    assert [row.p for one in pieces for row in one.rows()] == list(range(9000))


def test_a_pack_without_a_column_is_no_pack():
    data = Pack.of([Row(workload="w", machine="m", solver="s", p=1, d=1)]).to_dict()
    del data["columns"]["time"]
    with pytest.raises(KeyError):
        Pack.from_dict(data)
