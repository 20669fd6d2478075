"""The replay with lines against one that asks everybody again, and its cost."""

import heapq
import random
from unittest import mock

import pytest

from parcast.errors import UnsupportedError
from parcast.testing import cases, seeds
from parcast_perturb import loggops
from parcast_perturb.loggops import LogGOPS, replay
from parcast_traces.readers.schedules import ANY, Schedule, Step

SCHEDULES = cases(120, least=60)


class PlainMailbox:
    """Looks at all that waits, from the first to the last."""

    def __init__(self):
        self.waiting = []

    def __iter__(self):
        return (item for item, _ in self.waiting)

    def add(self, item, keys):
        self.waiting.append((item, set(keys)))

    def take(self, keys):
        for number, (item, known) in enumerate(self.waiting):
            if known & set(keys):
                del self.waiting[number]
                return item
        return None


class PlainRun(loggops._Run):
    """Puts every step whose processor or card is busy back into the one queue."""

    def run(self):
        for rank, missing in enumerate(self.missing):
            self.startable[rank] = [number for number, left in enumerate(missing) if not left]
        self._start()
        while self.queue:
            at, turn, _, waiter = heapq.heappop(self.queue)
            free = self._free(self._station(waiter))
            if free > at:
                heapq.heappush(self.queue, (free, turn, False, waiter))
            else:
                self._do(at, waiter)


def plain(schedule, model):
    with (
        mock.patch.object(loggops, "Mailbox", PlainMailbox),
        mock.patch.object(loggops, "_Run", PlainRun),
    ):
        return replay(schedule, model)


def random_schedule(seed):
    """Return steps of a few ranks with messages over several cards, from named and any sources."""
    rng = random.Random(seed)
    size, ranks = rng.randint(1, 5), []
    ranks = [[] for _ in range(size)]
    cards, loose = rng.choice([1, 1, 2, 3]), rng.random() < 0.4

    def add(rank, kind, **more):
        steps = ranks[rank]
        step = Step(kind, rng.choice([0, 1, 8, 1000, 70_000]), cpu=rng.randrange(cards),
                    nic=rng.randrange(cards), **more)  # fmt: skip
        before = range(len(steps))
        for which in (step.ended, step.begun):
            if before and rng.random() < 0.4:
                which.extend(rng.sample(before, min(len(before), rng.randint(1, 2))))
        steps.append(step)

    for _ in range(rng.randint(1, 40)):
        kind = rng.choice(["calc", "message", "message", "burst"])
        source, target = rng.randrange(size), rng.randrange(size)
        for _ in range(rng.randint(2, 20) if kind == "burst" else 1):
            if kind == "calc":
                add(source, "calc")
                continue
            tag = rng.randint(0, 2)
            add(source, "send", peer=target, tag=tag)
            anybody, anything = (loose and rng.random() < 0.5 for _ in range(2))
            add(target, "recv", peer=ANY if anybody else source, tag=ANY if anything else tag)
    return Schedule("random", tuple(ranks))


def answer(asked, schedule, model):
    try:
        return asked(schedule, model)
    except UnsupportedError as error:
        return str(error)


def test_lines_change_no_end():
    ended = 0
    for seed in seeds(SCHEDULES):
        rng, schedule = random.Random(seed), random_schedule(seed)
        model = rng.choice([
            LogGOPS(), LogGOPS(overhead=0, gap=0, per_byte=0), LogGOPS(gap=5000, eager=100),
            LogGOPS(latency=0, overhead_per_byte=9, eager=0),
        ])  # fmt: skip
        found = answer(replay, schedule, model)
        assert found == answer(plain, schedule, model), seed
        ended += isinstance(found, list)
    assert ended > SCHEDULES / 20  # of 180 some 47


def ring(size, count, length):
    """Return ranks that each pass pieces on to the next, all sent at once."""
    ranks = []
    for rank in range(size):
        sends = [Step("send", length, peer=(rank + 1) % size, tag=n) for n in range(count)]
        takes = [Step("recv", length, peer=(rank - 1) % size, tag=n) for n in range(count)]
        ranks.append(sends + takes)
    return Schedule("ring", tuple(ranks))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_step_is_looked_at_a_few_times_however_many_wait(backwards):
    each = []
    for count in (200, 800):
        schedule = ring(4, count, 4096)
        if backwards:  # receives in the other order than messages come
            for steps in schedule.ranks:
                steps[count:] = reversed(steps[count:])
        with mock.patch.object(loggops.heapq, "heappop", wraps=heapq.heappop) as popped:
            replay(schedule, LogGOPS())
        each.append(popped.call_count / (4 * 2 * count))
    assert max(each) < 6
    assert each[1] < 1.1 * each[0]
