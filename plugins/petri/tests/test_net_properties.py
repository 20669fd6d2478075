"""What holds of every net: forms agree, files say the same net, invariants are kept."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from petri_nets import ordinary_net, random_net

from parcast.testing import cases
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.nets.invariants import prove
from parcast_petri.nets.net_files import net_data, net_of
from parcast_petri.nets.pnml.reading import read_pnml
from parcast_petri.nets.pnml.writing import write_pnml
from parcast_petri.nets.token_game import Play

seeds = st.integers(0, 2**32).map(Random)
few = settings(max_examples=cases(20), deadline=None)


@pytest.mark.parametrize("form", ["plain", "compiled"])
@settings(max_examples=cases(30), deadline=None)
@given(seeds)
def test_nets_of_timers_alone_are_played_as_any_other(form, random):
    made = kernel_arrays(ordinary_net(random), form)
    traced = Play(made)  # a run that is traced takes the general way
    assert [*traced.events()]
    assert Play(made).finish() == traced.result()


@few
@given(seeds)
def test_invariants_are_kept_by_every_firing(random):
    net = random_net(random)
    invariants = prove(net).place_invariants
    assert invariants is not None
    marking = {place: net.initial.get(place, 0) for place in net.places}
    sums = [sum(n * marking[place] for place, n in one.items()) for one in invariants]
    step = {one.name: one for one in net.transitions}
    for _, name in Play(kernel_arrays(net, "plain")).events():
        for place, tokens in step[name].pre.items():
            marking[place] -= tokens
            assert marking[place] >= 0
        for place, tokens in step[name].post.items():
            marking[place] += tokens
        assert sums == [sum(n * marking[p] for p, n in one.items()) for one in invariants]


@few
@given(seeds)
def test_files_say_the_same_net(tmp_path_factory, random):
    net = random_net(random)
    assert net_of(net_data(net)) == net
    path = tmp_path_factory.getbasetemp() / "net.pnml"
    write_pnml(net, path)
    assert read_pnml(path).net == net
