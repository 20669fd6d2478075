"""Recorded runs as programs: nothing is changed by what ranks and iterations share."""

from __future__ import annotations

import json
import random

import pytest

import parcast_perturb
import parcast_traces
from parcast import Query, Registry, UnsupportedError
from parcast.comparison.lowering import lower
from parcast.model.costs import Costs as ProgramCosts
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.testing import UNIT_MACHINE, by_sweep, seeds
from parcast_traces.readers import read_trace
from parcast_traces.workload import workload

from .programs import Costs, neutral, random_program

REGISTRY = Registry([parcast_traces, parcast_perturb])

#: What the language of programs has instead, for the random ones to have only such calls.
INSTEAD = {"ssend": "send", "issend": "isend", "bsend": "send", "exscan": "scan",
           "iexscan": "iscan"}  # fmt: skip
MESSAGES = ("send", "isend", "recv", "irecv", "sendrecv")
ROOTED = ("bcast", "scatter", "reduce", "gather")


def query_of(tmp_path, data, **machine):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"unit": "1 s", **data}))
    made = workload(read_trace(path), path)
    on = REGISTRY.machine({**UNIT_MACHINE, **machine})
    query = Query(workload=made, machine=on, p=len(data["ranks"]))
    return lower(REGISTRY.lowerings, query, "program")


def plain(ranks, comms):
    """Return what each rank does, call by call: (operation, arguments, places of requests)."""
    found, early = [], may_block(ranks)
    for events in ranks:
        mine, posted, before = [], {}, events[0]["t_end"]
        for event in events[1:-1]:
            work = event["t_start"] - before
            mine += [("elapse", {"seconds": work}, ())] * (work > 0)
            before = event["t_end"]
            call, request = event["kind"], event.get("request")
            if call == "waitall":
                done = [posted.pop(one) for one in list(posted) if one in event["requests"]]
                mine += [one for one in done if isinstance(one, tuple)]
                places = tuple(sorted(one for one in done if isinstance(one, int)))
                mine += [("waitall", {}, places)] * bool(places)
            elif call in MESSAGES:
                names = {"dst": "peer", "bytes": "bytes", "src": "src", "tag": "tag"}
                if "recv" in call and call != "sendrecv":
                    names = {"src": "peer", "tag": "tag"}
                given = {name: event[key] for name, key in names.items() if key in event}
                posted[request] = len(mine)
                mine.append((call, {**given, "tag": given["tag"] * len(comms)}, ()))
            elif request is None:
                mine.append(together(call, event, comms, len(ranks)))
            elif early:
                mine.append(together(call[1:], event, comms, len(ranks)))
                posted[request] = None
            else:
                posted[request] = together(call[1:], event, comms, len(ranks))
        work = events[-1]["t_start"] - before
        found.append([*mine, *[("elapse", {"seconds": work}, ())] * (work > 0)])
    return found


def may_block(ranks):
    """Tell whether nonblocking collectives may run where they begin: none meets anything else."""
    comms, open_calls = set(), set()
    for events in ranks:
        for event in events[1:-1]:
            call, request = event["kind"], event.get("request")
            if call == "waitall":
                open_calls -= set(event["requests"])
            elif request is not None and call not in MESSAGES:
                open_calls.add(request)
                comms.add(event["comm"])
            elif open_calls:
                return False
    return len(comms) <= 1


def together(op, event, comms, size):
    members = comms[str(event["comm"])]
    given = {"color": None if len(members) == size else event["comm"]}
    if op != "barrier":
        given["bytes"] = event["bytes"]
    if op in ROOTED:
        given["root"] = members.index(event["root"])
    return op, given, ()


def _without_overlap(arguments):
    return {name: value for name, value in arguments.items() if name not in ("beside", "pace")}


def test_every_rank_does_what_it_did_whatever_is_shared(tmp_path):
    """The operations, call by call, in plain Python; sub-communicators and requests too."""
    grouped = 0
    for seed in seeds(30):
        ranks, comms = random_program(seed)
        calls = [[(gap, INSTEAD.get(c, c), given) for gap, c, given in rank if c != "probe"]
                 for rank in ranks]  # fmt: skip
        data = neutral((calls, comms), Costs(o=10, latency=50, per_byte=1))
        try:
            unrolled = query_of(tmp_path, data)[0].workload.content.recorded
        except UnsupportedError as error:  # some wait for a group's collectives in other orders
            assert "in different orders" in str(error)  # noqa: PT017  (which ones is by chance)
            continue
        listed = [
            [(one.op, _without_overlap(one.arguments), one.requests) for one in rank]
            for rank in unrolled.by_rank()
        ]
        assert listed == plain(data["ranks"], data["comms"]), seed
        grouped += sum(one.arguments.get("color") is not None for one in unrolled.blocks)
    assert grouped > 5  # some 50; 5 or fewer in one day of ten million


STEPS = """
def program(rank, size, steps=30):
    for step in range(steps):
        if rank > 0:
            isend(rank - 1, 64)
            irecv(rank - 1)
        if rank < size - 1:
            isend(rank + 1, 64)
            irecv(rank + 1)
        waitall()
        elapse(2)
        if step % 10 == 9:
            allreduce(8)
"""


def test_iterations_and_ranks_share_their_blocks():
    machine = REGISTRY.machine(UNIT_MACHINE)
    query = Query(workload=read_source(STEPS, "s.py", "s"), machine=machine, p=8)
    reference = matched_program(query)
    through, _, _ = lower(REGISTRY.lowerings, query, "trace")
    back, _, _ = lower(REGISTRY.lowerings, through, "program")
    blocks = back.workload.content.recorded.blocks
    # 27 times rank 0 goes on to another call than the others, and its computation belongs to that
    assert len(blocks) == len(reference.unrolled.blocks) + 27
    assert len({id(block) for block in blocks}) <= 25
    ends = [
        by_sweep(matched_program(one).unrolled, ProgramCosts.of(one, frozenset(["messages"]))).ends
        for one in (query, back)
    ]
    assert ends[0] == ends[1]


def test_ranks_that_wait_in_another_order_share_no_wait(tmp_path):
    def event(kind, **given):
        return {"kind": kind, "t_start": 0, "t_end": 0, **given}

    ranks = []
    for order in ("ab", "ba", ""):
        opened = [event("irecv", peer=2, tag=tag, request=one) for tag, one in enumerate("ab")]
        ranks.append([*opened, *(event("wait", request=one) for one in order)])
    ranks[2] = [event("send", peer=peer, tag=tag, bytes=8) for peer in (0, 1) for tag in (0, 1)]
    found = query_of(tmp_path, {"ranks": ranks})[0].workload.content.recorded.by_rank()
    assert [[one.requests for one in rank[2:]] for rank in found[:2]] == [
        [(0,), (1,)],
        [(1,), (0,)],
    ]


def nonblocking(rng, *, between):
    """Return two ranks that sum while they compute, and the same by messages of two requests."""
    ranks, messages = [], []
    for rank in range(2):
        first, then = rng.randint(1, 99), rng.randint(1, 99) * between
        wait = {"kind": "wait", "request": "a", "t_start": first + then, "t_end": first + then}
        at = {"t_start": first, "t_end": first}
        begin = {"kind": "init", "t_start": 0, "t_end": 0}
        end = {"kind": "finalize", "t_start": first + then, "t_end": first + then}
        ranks.append([begin, {"kind": "iallreduce", "bytes": 8, "request": "a", **at}, wait, end])
        both = {"peer": 1 - rank, "bytes": 8, **at}
        messages.append([
            begin,
            {"kind": "isend", "request": "a", **both}, {"kind": "irecv", "request": "b", **both},
            {**wait, "kind": "waitall", "requests": ["a", "b"]}, end,
        ])  # fmt: skip
    del messages[0][3]["request"], messages[1][3]["request"]
    return ranks, messages


def test_a_nonblocking_collective_ends_never_earlier_where_it_is_waited_for(tmp_path):
    """Against its messages, which fly while the ranks compute; two ranks have one stage."""
    rng, later = random.Random(5), 0
    network = {"startup": 7, "bandwidth": 1}
    for between in [0, 1] * 10:
        ranks, messages = nonblocking(rng, between=between)
        ends = []
        for one in (ranks, messages):
            query, _, notes = query_of(tmp_path, {"ranks": one}, network=network)
            unrolled = matched_program(query).unrolled
            ends.append(by_sweep(unrolled, ProgramCosts.of(query, unrolled.needs())).ends)
            assert any("2 nonblocking collectives" in note for note in notes) == (one is ranks)
        assert all(a >= b for a, b in zip(*ends, strict=True))
        assert between or ends[0] == ends[1]
        later += ends[0] != ends[1]
    assert later > 3


def test_what_comes_in_different_orders_is_refused(tmp_path):
    def event(kind, **given):
        return {"kind": kind, "t_start": 0, "t_end": 0, **given}

    posts = [event("ibarrier", comm=one, request=one) for one in (1, 2)]
    waits = [event("wait", request=one) for one in (1, 2)]
    data = {"ranks": [[*posts, *waits], [*posts, *waits[::-1]], []],
            "comms": {"1": [0, 1], "2": [0, 1]}}  # fmt: skip
    with pytest.raises(UnsupportedError, match="in different orders"):
        query_of(tmp_path, data)
