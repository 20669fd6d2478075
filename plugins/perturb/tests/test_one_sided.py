"""One-sided calls: what they wait for by hand, and what is refused."""

import pytest

from parcast.errors import UnsupportedError
from parcast_perturb.graph import message_graph
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers.neutral import trace_of
from parcast_traces.writers import write_trace


def calls(*given):
    """Return calls of one rank that take 10 each, one after the other."""
    return [
        {"kind": kind, "t_start": 10 * n, "t_end": 10 * n + 10, **more}
        for n, (kind, more) in enumerate(given)
    ]


def put(peer, **more):
    return ("put", {"peer": peer, "bytes": 100, **more})


def lock(peer, **more):
    return [("win_lock", {"peer": peer, **more}), put(peer), ("win_unlock", {"peer": peer})]


def test_what_is_put_under_a_lock_is_there_a_way_there_and_back_later():
    trace = trace_of({"ranks": [calls(*lock(1)), []]}, "lock")
    for added, delay in (({"latency": 7}, 14), ({"per_byte": 2}, 200), ({"noise": 1}, 3)):
        found = propagate(trace, Perturbation.of(**added), Recorded(), "upper").final
        assert found[:, 0].tolist() == [delay, 0]


def test_a_post_lets_a_start_go_on_and_a_complete_ends_a_wait(tmp_path):
    origin = calls(("win_start", {"group": [1]}), put(1), ("win_complete", {}))
    target = calls(("win_post", {"group": [0]}), ("win_wait", {}))
    trace = trace_of({"ranks": [origin, target]}, "post")
    late = Perturbation.of(latency=7, per_byte=2)
    assert propagate(trace, late, Recorded(), "upper").final[:, 0].tolist() == [7, 14 + 200]
    with pytest.raises(UnsupportedError, match=r"event 0 \(win_start\): one-sided calls"):
        write_trace(trace, tmp_path / "x.goal")
    assert not list(tmp_path.iterdir())
    kinds = [data["kind"] for *_, data in message_graph(trace).edges(data=True)]
    assert kinds.count("message") == 2


def test_a_fence_carries_what_was_moved_since_the_last_one():
    ranks = [calls(("win_fence", {}), put(1), ("win_fence", {})) for _ in range(2)]
    ranks[1][1] = {**ranks[1][1], "peer": 0, "bytes": 40}
    trace = trace_of({"ranks": ranks}, "fence")
    found = propagate(trace, Perturbation.of(per_byte=1), Recorded(per_byte=0), "upper").final
    assert found[:, 0].tolist() == [100, 100]


@pytest.mark.parametrize(
    ("ranks", "name", "said"),
    [
        ([calls(*lock(5)), []], "bad_peer", "the peer is rank 5"),
        ([calls(put(1)), []], "no_epoch", "rank 0, event 0: put reaches rank 1"),
        ([calls(("win_flush", {"peer": 1})), []], "no_epoch", "rank 1 is not locked"),
        ([calls(("win_complete", {})), []], "no_epoch", "ends no win_start"),
        ([[], calls(("win_wait", {}))], "no_epoch", "ends no win_post"),
        ([calls(*lock(1)[:2]), []], "request_leak", "put in window 0"),
        ([calls(("win_start", {"group": [1]}), ("win_complete", {})), []], "unmatched", "win_"),
        (
            [calls(*lock(2, exclusive=True)), calls(*lock(2)), []],
            "lock_order",
            "rank 0 locks window 0 of rank 2 for itself alone, and rank 1 locks it too",
        ),
    ],
)
def test_what_is_not_modeled_is_refused(ranks, name, said):
    with pytest.raises(TraceError, match=said) as caught:
        trace_of({"ranks": ranks}, "one-sided")
    assert caught.value.name.startswith(name)


def test_starts_that_wait_for_each_other_are_a_cycle():
    both = [
        calls(("win_start", {"group": [1 - rank]}), ("win_complete", {}),
              ("win_post", {"group": [1 - rank]}), ("win_wait", {}))
        for rank in range(2)
    ]  # fmt: skip
    with pytest.raises(TraceError, match=r"win_start, waiting for rank 1.*win_start"):
        propagate(trace_of({"ranks": both}, "both"), Perturbation(), Recorded(), "upper")
