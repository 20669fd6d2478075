"""Tasks of a pool: what they may hold, how they are unrolled, and who takes which when."""

from __future__ import annotations

import attrs
import pytest

from parcast import Query, Registry, Status
from parcast.errors import FileError, InvalidPointError, UnsupportedError
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK
from parcast.model.machine import Machine, Network, Processor
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.program.reference.fixed_order import frozen, is_decided_by_timing
from parcast.program.source.tree import Pool
from parcast.testing import by_events, by_sweep, random_program, seeds

MACHINE = Machine(
    name="m",
    parts={
        "processor": Processor(rate=1.0),
        "network": Network(startup=2.0, bandwidth=4.0, contention="none", overhead=1.0),
    },
)


def asked(source, p, **changes):
    workload = read_source(source)
    return Query(workload=workload, machine=MACHINE, p=p, parameters=changes)


def answer(source, p, **changes):
    query = asked(source, p, **changes)
    unrolled = matched_program(query, pools=True).unrolled
    costs = Costs.of(query, unrolled.needs())
    found = by_sweep(unrolled, costs)
    assert found == by_events(unrolled, costs)
    return found


VECTOR_COLLECTIVES = """
def program(rank, size, tasks=4):
    if rank == 1:
        elapse(100)
    for task in pool(range(tasks), bytes=8 * task):
        compute(10 * (task + 1))
"""


def test_who_asks_first_takes_the_next_task():
    # o = o_r = 1 and t0 = 2: to ask takes 1 + 2, the answer 2 + 8 task / 4 + 1; an empty one 2 + 1
    fetched = [6 + 2 * task for task in range(4)]
    ends = [sum(fetched) + 10 + 20 + 30 + 40 + 6, 100 + 6]
    assert answer(VECTOR_COLLECTIVES, 2).ends == tuple(ends)


def test_of_two_that_ask_at_once_the_lower_rank_is_first():
    source = VECTOR_COLLECTIVES.replace("if rank == 1", "if rank == 7")
    first, second = answer(source, 2, tasks=2).ends
    assert (first, second) == (6 + 10 + 6, 8 + 20 + 6)


def test_parts_of_a_task_are_what_it_does_and_to_fetch_it_is_communication():
    found = answer(VECTOR_COLLECTIVES, 2)
    assert [parts.compute for parts in found.parts] == [100, 100]
    assert found.parts[0].communication == 6 + 8 + 10 + 12 + 6
    assert found.parts[1].synchronization == found.ends[0] - found.ends[1]


def test_each_variable_that_a_task_reads_has_its_own_value():
    source = """
def program(rank, size, a=3.0, b=5.0):
    for step in range(2):
        for t in pool(range(1)):
            compute(100 * a + t + b)
        b = a / 2
"""
    pools = matched_program(asked(source, 1), pools=True).native.pools
    assert [pool.work.rank(0)[0].arguments["flops"] for pool in pools] == [305.0, 301.5]


def test_a_pool_in_a_loop_is_another_one_in_each_round():
    source = """
def program(rank, size):
    for step in range(3):
        for task in pool(range(2)):
            compute(step + task)
"""
    pools = matched_program(asked(source, 4), pools=True).native.pools
    assert [pool.tasks for pool in pools] == [2, 2, 2]
    flops = [[pool.work.rank(t)[0].arguments["flops"] for t in range(2)] for pool in pools]
    assert flops == [[0, 1], [1, 2], [2, 3]]


def test_tasks_choose_and_loop_by_their_own_number():
    source = """
def program(rank, size, n=3):
    share = n * 2
    for task in pool(range(1, 7, 2), bytes=task):
        if task > 1:
            for k in range(task):
                compute(share + k)
        else:
            elapse(task)
"""
    (pool,) = matched_program(asked(source, 2), pools=True).native.pools
    done = [[one.op for one in pool.work.rank(t)] for t in range(3)]
    assert done == [["elapse"], ["compute"] * 3, ["compute"] * 5]
    assert pool.bytes.tolist() == [1, 3, 5]


def test_a_program_without_tasks_to_take_still_asks_once():
    assert answer(VECTOR_COLLECTIVES, 2, tasks=0).ends == (6, 106)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("recv(0)", "recv() meets other processes"),
        ("isend(0, 1)", "isend() meets other processes"),
        ("allreduce(8)", "collect results after it"),
        ("read(8, collective=True)", "read() meets other processes"),
        ("compute(rank)", "a task reads rank"),
        ("total += task", "'total' is handed from task to task"),
        ("total = task", "'total' is set in a task and outside"),
        ("pool(range(3))", "pool() deals out tasks"),
    ],
)
def test_what_a_task_cannot_do_is_said_with_its_line(line, said):
    source = f"""
def program(rank, size):
    total = 1
    for task in pool(range(8)):
        {line}
    compute(total)
"""
    with pytest.raises(FileError, match=r"program:[45]: ") as error:
        read_source(source)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("pool(8)", "a loop goes over range(...), or pool(range(...)), only"),
        ("pool()", "pool() takes a range(...), bytes=, result= and master="),
        ("pool(range(8), 5)", "pool() takes a range(...), bytes=, result= and master="),
        (
            "pool(range(8), bytes=1, tag=2)",
            "pool() takes a range(...), bytes=, result= and master=",
        ),
    ],
)
def test_how_a_pool_is_written_is_said(call, said):
    with pytest.raises(FileError) as error:
        read_source(f"def program(rank, size):\n    for task in {call}:\n        compute(1)\n")
    assert str(error.value) == f"program:2: {said}"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("range(x)", "rank 1 has another 'x' than rank 0"),
        ("range(2), bytes=x", "rank 1 has another 'x' than rank 0"),
        ("range(0, 8, 0)", "the range has a step of 0"),
        ("range(10**7)", "there are 10,000,000 tasks, more than 1,048,576"),
        ("range(2), bytes=0 - task", "task 1 gives bytes -1"),
    ],
)
def test_pools_that_have_no_meaning_here_are_refused(call, said):
    source = f"def program(rank, size):\n    x = rank + 5\n    for task in pool({call}):\n"
    query = asked(f"{source}        compute(1)\n", 4)
    with pytest.raises(InvalidPointError) as error:
        matched_program(query, pools=True)
    assert said in str(error.value)
    assert str(error.value).startswith("program:3: at p=4 ")


def test_who_does_not_follow_pools_refuses_by_the_line():
    with pytest.raises(
        UnsupportedError, match="program:5: tasks of a pool go to whichever process is free"
    ):
        matched_program(asked(VECTOR_COLLECTIVES, 2))


def test_pools_are_a_statement_of_the_tree():
    (_, pool) = read_source(VECTOR_COLLECTIVES).content.tree.body
    assert isinstance(pool, Pool)
    assert read_source(VECTOR_COLLECTIVES).content.tree.sites[pool.site].name == "pool"


def test_what_they_need_of_a_machine_is_known():
    query = asked("def program(rank, size):\n    for t in pool(range(2)):\n        write(1)\n", 2)
    assert matched_program(query, pools=True).native.needs() == {"messages", "io"}
    registry = Registry()
    row = registry.compare(query.workload, MACHINE, p=2).rows[0]
    assert row.status is Status.REFUSED


def test_what_timing_decides_can_be_fixed_and_takes_as_long():
    decided = 0
    for seed in seeds(150):
        made = random_program(seed, pools=True, wildcards=True, contention="none")
        fixed = frozen(made.expanded, made.costs).unrolled
        assert not fixed.pools
        assert not is_decided_by_timing(fixed)
        decided += is_decided_by_timing(made.expanded)
        known = by_sweep(made.expanded, made.costs)
        assert by_events(fixed, made.costs).ends == known.ends, made.source
    assert decided > 100


FARM = """
def program(rank, size, tasks=5):
    for task in pool(range(tasks), bytes=8 * task, result=4, master=1):
        compute(10 * (task + 1))
"""

WRITTEN_OUT = """
def program(rank, size, tasks=5):
    if rank == 1:
        for message in range(tasks + size - 1):
            recv(ANY, 1)
            send(0, 8 * message if message < tasks else 0, 2)
    else:
        for task in range(tasks):
            send(1, 4 if task > 0 else 0, 1)
            recv(1, 2)
            compute(10 * (task + 1))
        send(1, 4 if tasks > 0 else 0, 1)
        recv(1, 2)
"""


@pytest.mark.parametrize("tasks", [0, 1, 5])
@pytest.mark.parametrize("changes", [{}, {"eager_limit": 2.0}, {"eager": "waits"}])
def test_a_master_and_one_worker_are_what_one_would_write_out(tasks, changes):
    parts = {**MACHINE.parts, "network": attrs.evolve(MACHINE.parts["network"], **changes)}
    machine = attrs.evolve(MACHINE, parts=parts)
    found = []
    for source in (FARM, WRITTEN_OUT):
        query = attrs.evolve(asked(source, 2, tasks=tasks), machine=machine)
        unrolled = matched_program(query, pools=True).unrolled
        costs = Costs.of(query, unrolled.needs(), WHOLE_NETWORK)
        found.append(by_sweep(unrolled, costs))
        assert found[-1] == by_events(unrolled, costs)
    assert found[0] == found[1]


def test_a_master_answers_one_after_another_in_the_order_of_arrivals():
    source = """
def program(rank, size):
    elapse(rank)
    for task in pool(range(2), master=0):
        compute(100)
"""
    # to ask takes 1 + 2; the master then takes 1 + 1 for each, and the answer 2 + 1
    first, second = 1 + 3, 1 + 3 + 2  # when the master begins with each
    ends = [first + 5 + 100 + 3 + 5, second + 5 + 100 + 3 + 5]
    assert answer(source, 3).ends == (ends[1] - 3, *ends)


def test_where_nobody_else_comes_the_master_does_all_tasks_in_their_order():
    assert answer(FARM.replace("master=1", "master=0"), 1).ends == (10 + 20 + 30 + 40 + 50,)
    source = FARM.replace("    for", "    if rank == 1:\n      for").replace(
        "        comp", "          comp"
    )
    assert answer(source, 4).ends == (0, 150, 0, 0)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("pool(range(4), result=8)", "results are sent to a master; name it"),
        ("pool(range(4), master=rank)", "a task reads rank"),
        ("pool(range(4), master=size)", "has as its master 4, outside 0 .. 3"),
        ("pool(range(4), master=0.5)", "has as its master 0.5, where only whole numbers go"),
        ("pool(range(4), master=0, result=-1)", "gives result -1; an amount cannot be negative"),
    ],
)
def test_what_a_master_cannot_be_is_refused_with_its_line(line, sentence):
    source = f"def program(rank, size):\n    for task in {line}:\n        compute(1)\n"
    with pytest.raises((FileError, InvalidPointError), match=r"program:2: ") as error:
        answer(source, 4)
    assert sentence in str(error.value)


def test_a_master_who_does_not_come_is_refused():
    source = """
def program(rank, size):
    if rank > 0:
        for task in pool(range(4), master=0):
            compute(1)
"""
    sentence = "rank 1 comes to a pool whose master is rank 0, which does not come"
    with pytest.raises(InvalidPointError, match=sentence):
        answer(source, 4)


@pytest.mark.parametrize("wildcard", ["2", "ANY"])
@pytest.mark.parametrize("late", [0, 1])
def test_who_waits_in_a_pool_for_one_who_waits_elsewhere_is_found(late, wildcard):
    """A worker leaves once the master is there; the master not before all workers were."""
    source = f"""
def program(rank, size):
    if rank == {late}:
        recv({wildcard}, 3)
    for task in pool(range(2), master=0):
        compute(1)
    if rank == 2:
        send({late}, 8, 3)
"""
    if late == 0:
        with pytest.raises(InvalidPointError, match="the program never ends"):
            answer(source, 3)
    else:
        assert answer(source, 3).time > 0


COLLECTED = """
def program(rank, size, tasks=6, taken=6, n=8):
    if rank > 0:
        for task in pool(range(tasks), bytes=4):
            compute(10)
            send(0, n, 1)
    else:
        for k in range(taken):
            recv({source}, 1)
"""


def test_results_of_tasks_go_to_who_takes_them_from_anybody():
    # two workers: ask 1 + 2, a task in 2 + 1 and 1 more, 10 of work, 1 to send: 18 each round
    found = answer(COLLECTED.format(source="ANY"), 3)
    assert found.ends[1:] == (3 * 18 + 6, 3 * 18 + 6)
    assert found.ends[0] == 3 * 18 + 2 + 2 + 1 + 1  # the last two arrive together
    assert found.parts[0].communication > 0


@pytest.mark.parametrize(
    ("p", "changes", "sentence"),
    [
        (3, {"taken": 5}, "rank 0 takes 5 messages with recv(ANY) (tag 1) where 6 are sent to it"),
        (1, {"taken": 0, "tasks": 0}, ""),
        (1, {}, "where 0 are sent to it"),
    ],
)
def test_messages_of_tasks_are_counted(p, changes, sentence):
    if not sentence:
        assert answer(COLLECTED.format(source="ANY"), p, **changes).time == 0
        return
    with pytest.raises(InvalidPointError) as error:
        answer(COLLECTED.format(source="ANY"), p, **changes)
    assert sentence in str(error.value)


def test_a_task_sends_to_nobody_who_names_his_source():
    with pytest.raises(InvalidPointError, match=r"tasks send to rank 0 \(tag 1\), which does not"):
        answer(COLLECTED.format(source="1"), 3)


def test_a_task_waits_for_nobody():
    network = attrs.evolve(MACHINE.parts["network"], eager_limit=7.0)
    machine = attrs.evolve(MACHINE, parts={**MACHINE.parts, "network": network})
    query = attrs.evolve(asked(COLLECTED.format(source="ANY"), 3), machine=machine)
    with pytest.raises(InvalidPointError, match="a task sends 8 bytes, which wait for their rec"):
        matched_program(query, pools=True)


def test_who_waits_for_messages_of_tasks_that_nobody_comes_to_do_is_found():
    source = COLLECTED.format(source="ANY").replace("    else:", "    if rank == 0:")
    source = source.replace("if rank > 0:", "if rank == 1:\n        recv(0, 2)\n    if rank == 1:")
    source += "        send(1, 8, 2)\n"
    with pytest.raises(InvalidPointError, match="the program never ends"):
        answer(source, 2)
