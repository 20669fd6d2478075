"""Models made of programs: their formulas, their bounds, and what they refuse."""

import attrs
import pytest

from parcast import Query, Registry, UnsupportedError
from parcast.cli import main
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK
from parcast.program.matching.collectives import ALGORITHMS
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_sweep, turn
from parcast_pamela.programs.lowering import lower, model
from parcast_pamela.solvers.bound import Bound, Options

REGISTRY = Registry()
CLUSTER = {
    "name": "cluster",
    "processor": {"rate": 2**20},
    "network": {"startup": 2**-6, "bandwidth": 2**20},
    "storage": {"bandwidth": 2**20},
}


def query_of(source, p=4, form="free", machine=None, **network):
    body = "\n".join(f"    {line}" for line in source.strip("\n").splitlines())
    workload = read_source(f"def program(rank, size, n=8):\n{body}\n", "made.py", "made")
    table = {**CLUSTER, **(machine or {}), "network": {**CLUSTER["network"], **network}}
    return Query(
        workload=workload, machine=REGISTRY.machine(table), p=p, options=Options(form=form)
    )


def bound(query):
    workload, _ = lower(query.workload, query)
    return Bound().solve(attrs.evolve(query, workload=workload))


def reference(query):
    unrolled = matched_program(query).unrolled
    return by_sweep(unrolled, Costs.of(query, unrolled.needs(), WHOLE_NETWORK)).time


def formula(name):
    (row,) = REGISTRY.compare(name, "ibm-sp2", p=8, d=3, solvers="pamela", elasticities=False).rows
    return row.details["formula"]


FORMULAS = {
    "ring-matmul": "2*n^3/(P*rate)",
    "pipeline": "items*work/(P*rate)",
    "stencil2d": (
        "startup*ceil(log2(P))*floor(steps/10) + 8*per_byte*ceil(log2(P))*floor(steps/10)"
        " + 5*n^2*steps/(P*rate)"
    ),
    "allreduce-steps": (
        "data*per_byte*steps*ceil(log2(P)) + startup*steps*ceil(log2(P)) + steps*work/(P*rate)"
    ),
    "transpose": (
        "8*n^2*per_byte*repeats*ceil(log2(P))/P + repeats*startup*ceil(log2(P))"
        " + 10*n^2*repeats*log2(n)/(P*rate)"
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_shipped_program_has_this_formula(name):
    assert formula(name) == FORMULAS[name]


ALL_TO_ALL = """
for k in range(1, size):
    isend((rank + k) % size, 16 * n * n / size**2)
for k in range(1, size):
    recv((rank - k) % size)
waitall()
"""


@pytest.mark.parametrize(
    ("contention", "form"),
    [
        ("endpoint", "16*n^2*per_byte/P - 16*n^2*per_byte/P^2"),
        ("bus", "16*n^2*per_byte - 16*n^2*per_byte/P"),
    ],
)
def test_a_transpose_of_single_messages_is_closed_in_p(contention, form):
    for p in (1, 2, 3, 7):
        query = query_of(ALL_TO_ALL, p, contention=contention)
        found = bound(query)
        assert found.details["formula"] == form
        assert found.time <= reference(query) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("name", "contention"),
    turn(
        [
            (name, contention)
            for name in ("allreduce-steps", "master-worker", "checkpointing-stencil", "transpose")
            for contention in ("none", "endpoint", "bus")
        ],
        2,
    ),
)
def test_no_run_of_a_shipped_program_is_faster(name, contention):
    machine = REGISTRY.machine("ibm-sp2")
    network = attrs.evolve(
        machine.network, contention=contention, saturation=None, contention_level=None
    )
    machine = attrs.evolve(machine, parts={**machine.parts, "network": network})
    for p in (1, 2, 7, 16):
        query = Query(workload=REGISTRY.workload(name), machine=machine, p=p, d=3)
        found, took = bound(query), reference(query)
        assert found.lower == found.time <= took * (1 + 1e-12)
        assert found.upper is None
        if contention == "none" and name != "checkpointing-stencil":
            assert found.time == pytest.approx(took, rel=1e-4)


@pytest.mark.parametrize(
    "source",
    [
        # all alike: nothing is left out
        "for step in range(n):\n    compute(2**20)\n    allreduce(2**10)",
        "compute(2**20)\nfor step in range(n):\n    barrier()\n    compute(2**18 * step)",
        "for step in range(n):\n    sendrecv((rank + 1) % size, 2**20, (rank - 1) % size)",
        "for step in range(n):\n    barrier()\n    compute(2**20)\ncompute(2**20)\nbarrier()",
        "for i in range(n):\n    alltoall(2**14)\n    elapse(1 + i)",
        # loops of other steps, and variables
        "half = n // 2\nfor i in range(n, half, -2):\n    compute(2**20 * i)",
        "for i in range(1, n, 3):\n    work = 2**20 * i\n    compute(work)",
        "for i in range(n):\n    x = i\n    for i in range(2):\n        compute(2**20 * x)",
        "if rank > 1:\n    w = 3\nelse:\n    w = 5\ncompute(2**20 * w)",
        "for i in range(n, 0, -n - 1):\n    elapse(1)",
        "elapse(n >= 8 or n < 2)",
    ],
)
def test_where_processes_wait_for_all_alone_the_bound_is_the_time(source):
    for p in (1, 2, 4, 8):
        query = query_of(source, p)
        assert bound(query).time == pytest.approx(reference(query), rel=1e-12), p


@pytest.mark.parametrize(
    "source",
    [
        "for step in range(n):\n    if rank == step % size:\n        compute(2**20)\n    barrier()",
        "for step in range(n):\n    barrier()\n    if rank == step % size:\n        elapse(1)",
        "if rank == 0:\n    compute(2**20)\nallreduce(8)\nif rank == size - 1:\n    elapse(2)",
        "elapse(rank)\nfor i in range(2):\n    barrier()\n    elapse(size - rank)\nelapse(rank)",
    ],
)
def test_a_program_is_cut_where_all_wait_for_the_last(source):
    for p in (1, 2, 4, 8):
        query = query_of(source, p, startup=0, bandwidth=2**40)
        assert bound(query).time == pytest.approx(reference(query), rel=1e-9), p


@pytest.mark.parametrize(
    ("contention", "seconds"), [("none", 2**-6 + 1), ("bus", 4), ("endpoint", 1)]
)
def test_messages_take_their_time_on_what_they_share(contention, seconds):
    source = "if rank != 0:\n    isend(0, 2**20)\n    waitall()\nelse:\n"
    source += "    for other in range(1, size):\n        recv(other)"
    found = bound(query_of(source, 5, contention=contention)).time
    # at endpoints four messages pass one port in; without contention nothing but a wait takes time
    assert found == {"none": 2**-6 + 1, "bus": 4.0, "endpoint": 4.0}[contention]
    source = "sendrecv((rank + 1) % size, 2**20, (rank - 1) % size)"
    assert bound(query_of(source, 4, contention=contention)).time == max(seconds, 2**-6 + 1)


def test_a_message_of_a_process_to_itself_takes_the_local_network():
    machine = {"nodes": {"cores": 1}}
    local = {"startup": 0, "bandwidth": 2**30}
    query = query_of("sendrecv(rank, 2**20, rank)", 1, machine=machine, local=local)
    assert bound(query).time == reference(query) == 2**-10


def test_bytes_that_are_written_with_the_rank_are_taken_apart():
    query = query_of("allreduce(8 + 0 * rank)\ncompute(2**20)", 4)
    assert 0 < bound(query).time <= reference(query)


def test_accesses_take_their_time_at_the_disks():
    source = "write(2**20)\nbarrier()\nwrite(2**20, file='shared')"
    query = attrs.evolve(query_of(source, 4), d=2)
    assert bound(query).time == reference(query)
    machine = {"storage": {"bandwidth": 2**20, "layout": "cluster"}}
    query = attrs.evolve(query_of("write(2**20)", 5, machine=machine), d=2)
    assert bound(query).time == reference(query) == 3.0


SHIFTED = (
    "for k in range(n):\n    compute({})\n    sendrecv((rank + 1) % size, {}, (rank - 1) % size)"
)


def test_shifts_are_powers_of_two_in_pamela():
    texts = []
    for source in (
        SHIFTED.format("(1 << k) * 2**20", "2**26 >> k"),
        SHIFTED.format("1 * 2**k * 2**20", "2**26 // 2**k"),
    ):
        query = query_of(source, 4)
        texts.append(model(query.workload, query, "free", stated=False)[0])
        assert bound(query).time <= reference(query)
    assert "2^k" in texts[0]
    assert texts[0] == texts[1]


BUTTERFLY = (
    "for k in range(2):\n    compute(2**20 * (1 + (rank & 1 | k)))\n"
    "    sendrecv(rank ^ (1 << k), 2**20, rank ^ (1 << k))"
)


def test_a_program_of_bits_that_pamela_has_no_word_for_is_bounded_in_numbers():
    written_out = BUTTERFLY.replace("rank & 1 | k", "max(rank % 2, k)").replace(
        "rank ^ (1 << k)", "(rank + 2**k if rank // 2**k % 2 == 0 else rank - 2**k)"
    )
    found = bound(query_of(BUTTERFLY, 4))
    assert found.lower == found.time
    assert found.time <= reference(query_of(BUTTERFLY, 4)) * (1 + 1e-9)
    assert reference(query_of(BUTTERFLY, 4)) == reference(query_of(written_out, 4))
    assert found.time >= 0.9 * bound(query_of(written_out, 4)).time


@pytest.mark.parametrize(
    ("source", "ratio"),
    [
        ("for step in range(n):\n    compute(2**20)\n    allreduce(2**10)", 1),
        ("sendrecv((rank + 1) % size, 2**20, (rank - 1) % size)\ncompute(2**20)", 1),
        ("if rank == 0:\n    send(1, 2**20)\nif rank == 1:\n    recv(0)\n    compute(2**20)", 1),
        ("isend((rank + 1) % size, 2**20)\ncompute(2**20)\nrecv((rank - 1) % size)\nwaitall()", 2),
        ("bcast(2**20)", 1),
    ],
)
def test_with_barriers_nothing_overlaps(source, ratio):
    query = query_of(source, 4, "barrier")
    found = bound(query)
    assert found.lower is None
    assert found.upper is None
    assert found.time == pytest.approx(ratio * reference(query), rel=0.02)
    assert found.time >= reference(query)


@pytest.mark.parametrize(
    ("source", "form", "sentence"),
    [
        ("x = 0\nfor i in range(n):\n    compute(x)\n    x = x + 1", "free", "made.py:3: 'x' car"),
        ("for i in range(n):\n    y = i\ncompute(y)", "free", "made.py:4: 'y' is what an iter"),
        ("for i in range(rank):\n    compute(dims(i + 1, 2, 0))", "free", "dims() of a rank or a"),
        ("for i in range(0, n, rank + 1):\n    compute(1)", "free", "the loop's step differs"),
        ("compute(1)\nstart()\ncompute(1)", "barrier", "no form barrier: it is timed from start()"),
        ("compute(n * (rank and 3))", "free", "'and' of numbers"),
        ("compute(rank ^ 3)", "barrier", "no form barrier: PAMELA has no word for '^' on the bits"),
        ("for i in range(rank):\n    compute(1)", "barrier", "made.py:2: each process has its own"),
        ("barrier(color=rank % 2)", "barrier", "made.py:2: the size of a group by color"),
        (
            "if rank > 0:\n    recv(rank - 1)\nif rank < size - 1:\n    send(rank + 1, 8)",
            "barrier",
            "made has no form barrier: a process waits for a message",
        ),
    ],
)
def test_what_has_no_model_is_refused_with_its_line(source, form, sentence):
    query = query_of(source, 4, form)
    with pytest.raises(UnsupportedError) as caught:
        lower(query.workload, query)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("machine", "network", "sentence"),
    [
        ({"nodes": {"groups": [{"count": 3, "weight": 2}, {"count": 1}]}}, {}, "not of one speed"),
        ({"nodes": {"cores": 2}}, {"contention": "bus"}, "share its way out"),
    ],
)
def test_machines_of_unlike_processes_have_numbers_and_no_formulas(machine, network, sentence):
    source = "compute(2**20)\nsendrecv((rank + 1) % size, 2**20, (rank - 1) % size)"
    query = query_of(source, 4, machine=machine, **network)
    workload, notes = lower(query.workload, query)
    assert notes[1].startswith("the model has numbers in place of formulas: ")
    assert sentence in notes[1]
    assert "delay(" in workload.content.text
    assert bound(query).time <= reference(query)
    assert bound(query_of(source, 4, "barrier", machine=machine, **network)).time >= 2


def test_formulas_that_leave_out_all_messages_give_way_to_numbers():
    """Two of four processes exchange 1 MiB within a node: 1 s of work, then 1/64 s and 1 s."""
    source = "compute(2**20)\nif rank < 2:\n    sendrecv(1 - rank, 2**20, 1 - rank)"
    level = {"name": "node", "size": 4, "startup": 2**-6, "bandwidth": 2**20}
    query = query_of(source, 4, machine={"nodes": {"cores": 4}}, levels=[level], contention="fair")
    _, notes = lower(query.workload, query)
    assert notes[1] == ("the model has numbers in place of formulas: they leave out all messages")
    assert bound(query).time == reference(query) == 2 + 2**-6


@pytest.mark.parametrize(("steps", "startup"), [(2, 2**-4), (2, 2**-6), (64, 2**-6)])
def test_formulas_that_leave_out_latencies_give_way_only_where_they_are_long(steps, startup):
    """Each step is 1 s of work and one latency, whatever the number of messages posted."""
    source = (
        f"for step in range({steps}):\n    if size > 1:\n        isend(1 - rank, 1)\n"
        "        isend(1 - rank, 1)\n        irecv(1 - rank)\n        irecv(1 - rank)\n"
        "        waitall()\n    compute(2**20)"
    )
    level = {"name": "node", "size": 2, "startup": startup, "bandwidth": 2**40}
    query = query_of(source, 2, machine={"nodes": {"cores": 2}}, levels=[level], contention="fair")
    _, notes = lower(query.workload, query)
    assert any("they leave out all messages" in note for note in notes) == (startup > 0.05)
    assert 0.95 * reference(query) <= bound(query).time <= reference(query)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
@pytest.mark.parametrize("op", ["allgatherv", "alltoallv", "gatherv", "scatterv"])
def test_bytes_of_every_process_are_below_the_time_and_no_estimate(op, contention):
    source = f"compute(1000 * rank)\n{op}(4096 * rank)\ncompute(500)"
    asked = query_of(source, contention=contention)
    assert 0 < bound(asked).time <= reference(asked)
    with pytest.raises(UnsupportedError, match=f"bytes of its own to {op}"):
        bound(query_of(source, form="barrier"))


NAMED = [
    (op, name) for op, names in ALGORITHMS.items() for name in (*names, "mpich", "nccl", "openmpi")
]


@pytest.mark.parametrize(
    ("op", "name", "p"), turn([(*named, p) for p in (2, 3, 5, 8) for named in NAMED], 3)
)
def test_every_algorithm_of_a_collective_is_bounded_or_refused(op, name, p):
    bytes_ = "" if op == "barrier" else "4096"
    source = f"compute(1000 * rank)\n{op}({bytes_})\ncompute(500)"
    query = query_of(source, p, collectives=f"{op} {name}")
    time = reference(query)
    assert 0 < bound(query).time <= time * (1 + 1e-12)
    try:
        estimate = bound(query_of(source, p, "barrier", collectives=f"{op} {name}")).time
    except UnsupportedError as error:
        assert str(error).startswith("made.py:3: ")  # noqa: PT017
    else:
        assert estimate >= time * (1 - 1e-12)


@pytest.mark.parametrize(
    "text", ["allgather bruck", "reduce_scatter ring", "allreduce ring", "bcast in-network"]
)
def test_rounds_that_all_take_are_a_formula(text):
    source = f"{text.split()[0]}(2**18)"
    for p in (2, 4, 8):
        query = query_of(source, p, collectives=text)
        assert bound(query).time == pytest.approx(reference(query))


def test_an_algorithm_without_a_formula_is_refused_by_name():
    query = query_of("bcast(8)", 4, "barrier", collectives="openmpi")
    with pytest.raises(UnsupportedError, match="the model has no formula for bcast by"):
        lower(query.workload, query)


def test_names_of_the_language_and_of_the_machine_may_be_a_programs():
    source = "seq = n\nfor rate in range(seq):\n    compute(2**20 * (rate + 1))"
    query = query_of(source, 2)
    assert bound(query).time == reference(query)


def test_a_generated_file_says_the_same(tmp_path):
    query = Query(workload=REGISTRY.workload("stencil2d"), machine=REGISTRY.machine("ibm-sp2"), p=9)
    for form in ("free", "barrier"):
        text, _ = model(query.workload, query, form, stated=True)
        file = tmp_path / "made.pam"
        file.write_text(text)
        asked = attrs.evolve(query, options=Options(form=form))
        (row,) = REGISTRY.compare(file, "ibm-sp2", p=9, solvers="pamela", elasticities=False).rows
        assert row.time == bound(asked).time
        assert row.lower == row.time


def test_the_model_is_the_same_for_every_number_of_processes():
    query = Query(workload=REGISTRY.workload("stencil2d"), machine=REGISTRY.machine("ibm-sp2"), p=4)
    texts = {lower(query.workload, attrs.evolve(query, p=p))[0].content.text for p in (2, 9, 64)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("stencil2d ibm-sp2 --form fre", "Invalid value for '--form': 'fre' is not one of"),
        ("btio ibm-sp2", "btio is of the kind 'phases'; a model is made of a 'program'"),
        ("stencil2d ibm-sp2 -p 0", "p=0 must be a whole number"),
        ("pipeline ibm-sp2 --form barrier", "pipeline has no form barrier"),
        ("stencil2d ibm-sp2 -o no/such.pam", "no/such.pam cannot be written"),
        ("stencil2d ibm-sp2 --set setps=3", "Did you mean 'steps'?"),
    ],
)
def test_a_wrong_line_is_one_sentence(line, sentence, capsys):
    assert main(["pamela", "generate", *line.split()]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
