"""Whether a net may halt before its end: hand-made nets, and all markings of nets by chance."""

from __future__ import annotations

from random import Random

import pytest

from parcast.testing import cases, seeds
from parcast_petri.nets.invariants import prove
from parcast_petri.nets.markings import search_markings
from parcast_petri.nets.net import Net, Transition
from parcast_petri.nets.siphons import halting


def net_of(initial, **arcs):
    """Return a net from transitions written as "a b > c"."""
    sides = {name: [side.split() for side in text.split(">")] for name, text in arcs.items()}
    named = [place for pair in sides.values() for side in pair for place in side]
    places = dict.fromkeys([*initial.split(), *named])
    steps = (
        Transition(name=name, pre=dict.fromkeys(pre, 1), post=dict.fromkeys(post, 1))
        for name, (pre, post) in sides.items()
    )
    return Net(
        places=(*places,), transitions=tuple(steps), initial=dict.fromkeys(initial.split(), 1)
    )


TURNS = {"a1": "a one > a'", "a2": "a' two > a''", "a3": "a'' > end one two"}
FINE = {"b1": "b one > b'", "b2": "b' two > b''", "b3": "b'' > end one two"}
CROSSED = {"b1": "b two > b'", "b2": "b' one > b''", "b3": "b'' > end one two"}


def test_two_locks_taken_crosswise_may_halt_and_one_lock_does_not():
    crossed = halting(net_of("a b one two", **TURNS, **CROSSED), {"end"})
    assert crossed.excluded is False
    assert ("a2", "two") not in crossed.waits  # a lock is there at first
    assert "a deadlock is not excluded" in crossed.sentence()
    single = {name: text.replace(" two", "") for name, text in {**TURNS, **FINE}.items()}
    assert halting(net_of("a b one", **single), {"end"}).excluded


def test_receives_before_sends_wait_for_each_other():
    net = net_of("a b", ra="a mb > a'", sa="a' > ma end", rb="b ma > b'", sb="b' > mb end")
    found = halting(net, {"end"})
    assert found.waits == (("ra", "mb"), ("rb", "ma"))
    assert "'ra' for 'mb', 'rb' for 'ma' may wait for ever" in found.sentence()
    third = net_of("a b c", ra="a mb > ma end", rb="b ma > mb end", c="c > end")
    assert halting(third).excluded  # of `third` anything ends
    assert not halting(third, {"end"}).excluded
    sent = net_of("a b", sa="a > a' ma", ra="a' mb > end", sb="b > b' mb", rb="b' ma > end")
    assert halting(sent, {"end"}).excluded


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Transition(name="t", pre={"a": 2}, post={"a": 1}), "weight"),
        (Transition(name="t", pre={"a": 1}, inhibitor={"b": 1}), "inhibitor"),
    ],
)
def test_what_siphons_say_nothing_of_is_said(step, reason):
    found = halting(Net(places=("a", "b"), transitions=(step,), initial={"a": 2}))
    assert found.excluded is None
    assert reason in found.sentence()


def by_chance(random):
    places = "abcdef"
    steps = {
        f"t{at}": " ".join(random.sample(places, random.choice([1, 1, 2])))
        + " > "
        + " ".join(random.sample(places, random.choice([1, 1, 2])))
        for at in range(random.randint(3, 7))
    }
    return net_of(" ".join(random.sample(places, 3)), **steps)


def halts(net, most=400):
    """Return whether some marking that is reached is a halt before the end; None: too many."""
    ends = {place for one in net.transitions for place in one.post}
    ends -= {place for one in net.transitions for place in one.pre}
    first = frozenset(net.initial.items())
    seen, todo = {first}, [dict(first)]
    while todo:
        marking = todo.pop()
        live = [t for t in net.transitions if all(marking.get(p, 0) for p in t.pre)]
        if not live and not (ends and all(marking.get(place, 0) for place in ends)):
            return True
        for one in live:
            after = {p: marking.get(p, 0) - (p in one.pre) + (p in one.post)
                     for p in net.places}  # fmt: skip
            key = frozenset(item for item in after.items() if item[1])
            if key not in seen:
                seen.add(key)
                todo.append(after)
        if len(seen) > most:
            return None
    return False


def test_no_net_halts_of_which_it_is_excluded():
    excluded = free = 0
    for seed in seeds(cases(150, least=150)):
        net = by_chance(Random(seed))
        if (truth := halts(net)) is None:
            continue
        found = halting(net).excluded
        assert not (found and truth), seed
        excluded, free = excluded + bool(found), free + (not truth)
        assert search_markings(net).excluded == (not truth), seed
    assert excluded > 0.8 * free > 9


def test_what_structure_leaves_open_is_looked_at_marking_by_marking(monkeypatch):
    crossed = prove(net_of("a b one two", **TURNS, **CROSSED), {"end"})
    assert sorted(crossed.search.firing_sequence) == ["a1", "b1"]
    assert "2 firings" in crossed.report()
    assert "'a2' for 'two', 'b2' for 'one' may wait" in crossed.report()
    either = net_of("a b m", ra="a m > a' m", rb="b m > b' m", ea="a' > end", eb="b' > end")
    assert search_markings(either, {"end"}).excluded
    taken = net_of("a b m", ra="a m > end", rb="b m > end")
    found = search_markings(taken, {"end"})
    assert (len(found.firing_sequence), len(found.waits)) == (1, 1)
    assert search_markings(taken).excluded
    monkeypatch.setattr("parcast_petri.nets.markings.MOST_MARKINGS", 2)
    cut = prove(taken, {"end"})
    assert cut.as_json()["deadlock_excluded"] is False
    assert "in 'm'; 2 markings were explored" in cut.report()
