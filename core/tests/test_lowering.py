from __future__ import annotations

import pytest

from parcast import Lowering, Query, UnsupportedError, Workload
from parcast.comparison.lowering import convert, lower, path
from parcast.model.machine import Machine


def ways(*steps):
    """Lowerings from words such as ``a>b`` (noted) and ``a=b`` (exact)."""
    made = [
        Lowering(step[0], step[2], f"{__name__}:unused", "", exact=step[1] == "=") for step in steps
    ]
    return {one.name: one for one in made}


def names(steps):
    return None if steps is None else [step.name for step in steps]


@pytest.mark.parametrize(
    ("steps", "source", "goal", "found"),
    [
        ([], "a", "a", []),
        (["a>b"], "a", "b", ["a -> b"]),
        (["a>b"], "b", "a", None),
        ([], "a", "b", None),
        (["a>b", "b>c"], "a", "c", ["a -> b", "b -> c"]),
        (["a=b", "b=c", "a>c"], "a", "c", ["a -> c"]),
        (["a>b", "b>d", "a=c", "c=d"], "a", "d", ["a -> c", "c -> d"]),
        (["a>b", "b=d", "a=c", "c=d"], "a", "d", ["a -> c", "c -> d"]),
        (["a=c", "c=d", "a=b", "b=d"], "a", "d", ["a -> b", "b -> d"]),
        (["a>b", "b>a", "b>c"], "a", "c", ["a -> b", "b -> c"]),
        (["a>b", "b>a"], "a", "c", None),
    ],
)
def test_the_way_is_the_shortest_then_exact_then_by_name(steps, source, goal, found):
    assert names(path(ways(*steps), source, goal)) == found
    assert names(path(ways(*reversed(steps)), source, goal)) == found


class Steps:
    """Lowerings that write down what they were given."""

    @staticmethod
    def to_b(workload, query):
        assert query.workload is workload
        return Workload(name=workload.name, kind="b", content=(workload.content, query.p)), ["to b"]

    @staticmethod
    def to_c(workload, query):
        assert query.workload is workload
        return Workload(name=workload.name, kind="c", content=("c", workload.content)), []

    def __init__(self):
        self.asked, self.options = 0, []

    def cost(self, query):
        self.asked += 1
        self.options.append(query.options)
        return self.asked


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def query(monkeypatch, steps):
    monkeypatch.setattr("parcast.comparison.lowering.load", lambda target: getattr(steps, target))
    return Query(workload=Workload(name="w", kind="a", content="A"), machine=Machine(name="m"), p=3)


def test_each_step_takes_what_the_last_one_gave(query):
    chain = {
        one.name: one for one in (Lowering("b", "c", "to_c", ""), Lowering("a", "b", "to_b", ""))
    }
    lowered, taken, notes = lower(chain, query, "c")
    assert lowered.workload.kind == "c"
    assert lowered.workload.content == ("c", ("A", 3))
    assert taken == ("a -> b", "b -> c")
    assert notes == ("to b",)
    assert query.workload.content == "A"


@pytest.mark.parametrize(("shared", "times"), [(True, 1), (False, 2)])
def test_what_is_shared_is_made_once_and_sees_no_options(query, steps, shared, times):
    step = Lowering("a", "b", "to_b", "", cost="cost", shared=shared)
    both = [
        convert({step.name: step}, query.with_options(options), "b", query)
        for options in ("one", "another")
    ]
    assert len({id(conversion.query.workload) for conversion in both}) == times
    assert [conversion.query.options for conversion in both] == ["one", "another"]
    assert steps.options == ([None] if shared else ["one", "another"])
    assert [conversion.seconds for conversion in both] == [1, times]


def test_the_goal_itself_needs_no_step(query):
    assert lower({}, query, "a") == (query, (), ())


def test_where_no_way_leads_the_query_is_unsupported(query):
    with pytest.raises(UnsupportedError, match="nothing installed turns 'a'"):
        lower({}, query, "z")
