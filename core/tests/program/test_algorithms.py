"""Algorithms of collectives by MPI libraries' names: the data they move, and their messages."""

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FileError
from parcast.program.matching.collectives import ALGORITHMS, Algorithms, algorithms
from parcast.program.matching.collectives.libraries import LIBRARIES, mpich, openmpi
from parcast.program.matching.columns import operation_columns
from parcast.program.matching.dry_run import sweep
from parcast.program.matching.expansion import expand
from parcast.program.matching.prepare import match_unrolled
from parcast.testing import turn

from .plain_collectives import PLAIN, before, blocks_of, holds
from .plain_processes import run
from .test_collectives import BANDWIDTH, ROOTED, STARTUP, collective, ends, expanded, program

WHOLE = 32 * 3 * 5 * 7 * 11.0
SMPI = json.loads(Path(__file__).with_name("smpi_messages.json").read_text())
NAMED = [(op, name) for op, names in ALGORITHMS.items() for name in names]


def roots(op, size):
    return {0, size - 1, size // 3, min(1, size - 1)} if op in ROOTED else {0}


def played(op, name, size, root):
    """Return what each process does in the plain algorithm, its data checked."""
    cuts = blocks_of(op, name, size)
    data = [before(op, cuts, size, r, root) for r in range(size)]
    comm = list(range(size))
    done = run([PLAIN[op, name](comm, r, root, data[r]) for r in range(size)])
    for r, have in enumerate(data):
        assert holds(op, cuts, size, r, root, have), (op, name, size, root, r)
    return done


def listed(unrolled):
    """Return (op, dst, bytes, src) of each process in its order."""
    keys = ("dst", "bytes", "src")
    return [
        [(o.op, *(o.arguments.get(key) for key in keys)) for o in operations]
        for operations in unrolled.by_rank()
    ]


@pytest.mark.parametrize(("op", "name"), PLAIN, ids=lambda text: text)
def test_every_process_ends_with_what_the_collective_promises_by_the_same_messages(op, name):
    for size in turn(range(1, 34), 2):
        for root in roots(op, size):
            whole = 0.0 if op == "barrier" else WHOLE
            block = whole / blocks_of(op, name, size)
            expected = [
                [
                    (
                        kind,
                        to,
                        None if to is None else block * len(blocks),
                        None if isinstance(src, list) else src,
                    )
                    for kind, to, blocks, src in actions
                ]
                for actions in played(op, name, size, root)
            ]
            calls = listed(expanded(op, name, size, bytes_=whole, root=root))
            assert without_bytes(calls) == without_bytes(expected), (size, root)
            assert np.allclose(sizes(calls), sizes(expected), rtol=1e-12, atol=0), (size, root)


def without_bytes(calls):
    """Return what each process does, of bytes only whether there are any to be stated."""
    return [[(op, to, n is None, src) for op, to, n, src in each] for each in calls]


def sizes(calls):
    """Return the bytes of all messages in one row."""
    return [n for each in calls for _, _, n, _ in each if n is not None]


def test_the_plain_reference_knows_every_algorithm_that_data_can_tell_apart():
    """Those left out are checked by `test_collectives`: their messages are not those of data."""
    without = {name for op, name in NAMED if (op, name) not in PLAIN and not op.endswith("v")}
    assert without == {
        "dissemination",
        "ring",
        "bruck",
        "pairwise",
        "linear",
        "binomial",
        "hierarchical",
        "in-network",
    }


@pytest.mark.parametrize("row", SMPI, ids=lambda row: " ".join(map(str, row[:5])))
def test_messages_are_those_of_simgrid_smpi(row):
    op, name, _, size, bytes_, root, messages = row
    sent = defaultdict(list)
    for rank, operations in enumerate(listed(expanded(op, name, size, bytes_=bytes_, root=root))):
        for _, to, n, _ in operations:
            if to is not None:
                sent[rank, to].append(n)
    theirs = {(source, to): sizes for source, to, sizes in messages}
    assert {pair: len(sizes) for pair, sizes in sent.items()} == {
        pair: len(sizes) for pair, sizes in theirs.items()
    }
    for pair, sizes in sent.items():  # a block of SMPI is of whole elements
        assert sorted(sizes) == pytest.approx(sorted(theirs[pair]), rel=0.02, abs=8 * size)


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32])
def test_times_at_powers_of_two_are_those_of_the_page(size):
    n, doublings = 2.0**15, int(math.log2(size))
    whole, share = n / BANDWIDTH, n / size / BANDWIDTH
    halves = 2 * (doublings * STARTUP + (size - 1) * share)
    expected = {
        "barrier recursive-doubling": doublings * STARTUP,
        "barrier tree": 2 * doublings * STARTUP,
        "barrier linear": 2 * STARTUP,
        "allreduce recursive-doubling": doublings * (STARTUP + whole),
        "allreduce rabenseifner": halves,
        "allreduce linear": 2 * (STARTUP + whole),
        "reduce rabenseifner": halves,
        "scan recursive-doubling": doublings * (STARTUP + whole),
        "bcast chain": (size - 1) * (STARTUP + whole),
        "bcast bmtree": doublings * (STARTUP + whole),
        "bcast knomial": math.ceil(doublings / 2) * (STARTUP + whole),
        "bcast scatter-allgather": halves,
        "bcast scatter-ring-allgather": (
            doublings * STARTUP + (size - 1) * share + (size - 1) * (STARTUP + share)
        ),
        "allgather bruck": doublings * STARTUP + (size - 1) * whole,
        "allgather recursive-doubling": doublings * STARTUP + (size - 1) * whole,
        "allgather neighbor": size // 2 * STARTUP + (size - 1) * whole,
        "alltoall modified-bruck": doublings * (STARTUP + size / 2 * whole),
        "alltoall pairwise-exchange": (size - 1) * (STARTUP + whole),
        "alltoall linear": STARTUP + whole,
        "reduce_scatter ring": (size - 1) * (STARTUP + whole),
        "reduce_scatter recursive-halving": doublings * STARTUP + (size - 1) * whole,
        "gather linear-sync": 2 * (size - 1) * STARTUP + (size - 1) * whole,
        "scatter linear-nb": STARTUP + whole,
        "gather linear-nb": STARTUP + whole,
        "reduce linear-nb": STARTUP + whole,
        "barrier linear-nb": 2 * STARTUP,
        "allgather linear": STARTUP + whole,
    }
    times = {}
    for text in expected:
        op, name = text.split()
        times[text] = max(ends(expanded(op, name, size, bytes_=n)))
    assert times == pytest.approx(expected)


@pytest.mark.parametrize("size", [3, 5, 6, 7, 9, 12, 31, 33])
def test_times_where_processes_stand_for_others_are_those_of_the_page(size):
    n, doublings = 2.0**15, int(math.log2(size))
    whole, power = n / BANDWIDTH, 1 << doublings
    expected = {
        "barrier recursive-doubling": (doublings + 2) * STARTUP,
        "allreduce recursive-doubling": (doublings + 2) * (STARTUP + whole),
        "allreduce rabenseifner": (
            2 * (doublings * STARTUP + (1 - 1 / power) * whole) + 2 * (STARTUP + whole)
        ),
        "bcast bmtree": doublings * (STARTUP + whole),
        "bcast knomial": math.ceil(math.log(size, 4)) * (STARTUP + whole),
        "bcast binary": math.ceil(math.log2(size + 1) - 1) * (STARTUP + whole),
    }
    for text, most in expected.items():
        op, name = text.split()
        time = max(ends(expanded(op, name, size, bytes_=n)))
        assert time <= most * (1 + 1e-12), text
        assert time >= most / 2, text


@pytest.mark.parametrize("text", [*LIBRARIES, *(f"{op} {name}" for op, name in NAMED)])
def test_a_collective_has_no_deadlock_where_every_message_waits_for_its_receive(text):
    for op in ALGORITHMS if text in LIBRARIES else [text.split()[0]]:
        for size in turn((*range(1, 18), 33), 4):
            for root in roots(op, size):
                native = program(size, collective(op, size, bytes_=4096, root=root))
                chosen = _in_levels(algorithms(text), size)
                expanded = expand(native, chosen)
                match_unrolled(expanded, algorithms(), 0)
                assert not sweep(operation_columns(expanded), 0), "a plain run ends as well"


def test_nccl_sends_short_sums_along_trees_over_nodes_and_long_ones_round_a_ring():
    nodes, of_node, startup, per_byte = 8, 8, 3e-6, 1 / 25e9
    size = nodes * of_node
    chosen = algorithms("nccl")
    chosen = Algorithms(chosen.names, nodes=np.arange(size) // of_node)

    def sent(bytes_):
        unrolled = expand(program(size, collective("allreduce", size, bytes_=bytes_)), chosen)
        return [
            (rank, to, amount)
            for rank, operations in enumerate(listed(unrolled))
            for _, to, amount, _ in operations
            if to is not None
        ]

    short, long = sent(8), sent(2**20)
    across = [(rank, to) for rank, to, _ in short if rank // of_node != to // of_node]
    assert {rank % of_node for pair in across for rank in pair} == {0}
    assert len(short) == 2 * (size - 1)
    assert len(across) == 2 * (nodes - 1)
    assert {(to - rank) % size for rank, to, _ in long} == {1}
    assert len(long) == 2 * (size - 1) * size
    assert {amount for *_, amount in long} == {2**20 / size}
    # where the rule changes, a tree and a ring take about as long as each other
    depth = math.log2(of_node) + math.log2(nodes)
    tree, ring = 2 * depth * (startup + 2**20 * per_byte), 2 * (size - 1) * startup
    assert 1 / 2 < tree / (ring + 2 * 2**20 * per_byte) < 2


def _in_levels(chosen, size, order=None):
    ranks = np.arange(size) if order is None else np.array(order)
    return Algorithms(chosen.names, (ranks // 2, ranks // 6), ranks // 2)


HIERARCHICAL = [op for op, names in ALGORITHMS.items() if "hierarchical" in names]


@pytest.mark.parametrize("op", HIERARCHICAL)
@given(data=st.data())
def test_only_leaders_send_out_of_a_level_and_everybody_is_reached(op, data):
    size = data.draw(st.integers(1, 20))
    root = data.draw(st.integers(0, size - 1))
    order = data.draw(st.permutations(range(size)))
    inner = "linear" if op in ("gather", "scatter") else data.draw(
        st.sampled_from([name for name in ALGORITHMS[op] if name != "hierarchical"])
    )  # fmt: skip
    chosen = _in_levels(algorithms(f"{op} hierarchical {inner}"), size, order)
    unrolled = expand(program(size, collective(op, size, bytes_=64, root=root)), chosen)
    match_unrolled(unrolled, algorithms(), 0)
    across = defaultdict(set)
    for rank, operations in enumerate(listed(unrolled)):
        for _, to, _, _ in operations:
            if to is not None and order[rank] // 6 != order[to] // 6:
                across[order[rank] // 6].add(rank)
                across[order[to] // 6].add(to)
    assert all(len(leaders) == 1 for leaders in across.values())
    if op in ROOTED and across:
        assert across[order[root] // 6] == {root}
    promised = _influence(unrolled)
    for rank in range(size):
        sources = {root} if op in ("bcast", "scatter") else set(range(size))
        if op not in ("reduce", "gather") or rank == root:
            assert sources <= promised[rank]


def _influence(unrolled):
    """Return of each process those whose data may have reached it."""
    reached = [{rank} for rank in range(unrolled.size)]

    def actions(rank):
        posted = []
        for operation in unrolled.rank(rank):
            to, source = operation.arguments.get("dst"), operation.arguments.get("src")
            if operation.op == "irecv":
                posted.append(source)
                yield "irecv", None, {}, source
            elif operation.op == "waitall":
                for got in (yield "waitall", None, {}, posted):
                    reached[rank].update(got)
                posted = []
            elif source is None:
                yield operation.op, to, dict.fromkeys(reached[rank]), None
            else:
                got = yield operation.op, to, dict.fromkeys(reached[rank]), source
                reached[rank].update(got or {})

    run([actions(rank) for rank in range(unrolled.size)])
    return reached


def test_within_nodes_everything_goes_up_and_down_once():
    chosen = Algorithms(algorithms("allreduce hierarchical ring").names, (np.arange(8) // 4,))
    unrolled = expand(program(8, collective("allreduce", 8, bytes_=8.0)), chosen)
    messages = [
        (rank, to, n) for rank, each in enumerate(listed(unrolled)) for _, to, n, _ in each
        if to is not None
    ]  # fmt: skip
    up = [(1, 0, 8.0), (2, 0, 8.0), (3, 2, 8.0), (5, 4, 8.0), (6, 4, 8.0), (7, 6, 8.0)]
    between = [(0, 4, 4.0), (4, 0, 4.0)] * 2
    assert sorted(messages) == sorted([*up, *((b, a, n) for a, b, n in up), *between])


def test_what_mpich_chooses():
    choose = mpich.algorithm
    assert choose("bcast", 7, 1e9) == choose("bcast", 64, 12288) == "binomial"
    assert choose("bcast", 64, 12289) == choose("bcast", 64, 524288) == "scatter-allgather"
    assert choose("bcast", 63, 12289) == choose("bcast", 64, 524289) == "scatter-ring-allgather"
    assert choose("allreduce", 4, 8) == choose("allreduce", 64, 511) == "recursive-doubling"
    assert choose("allreduce", 64, 512) == choose("reduce", 64, 2049) == "rabenseifner"
    assert choose("reduce", 64, 2048) == choose("reduce", 1024, 8191) == "binomial"
    assert choose("allgather", 64, 8191) == "recursive-doubling"
    assert choose("allgather", 64, 8192) == choose("allgatherv", 63, 1301) == "ring"
    assert choose("allgather", 63, 1300) == "bruck"
    assert choose("alltoall", 8, 256) == "modified-bruck"
    assert choose("alltoall", 7, 256) == choose("alltoall", 8, 32768) == "scattered"
    assert choose("alltoall", 7, 32769) == "pairwise-exchange"
    assert choose("reduce_scatter", 64, 8191) == "recursive-halving"
    assert choose("reduce_scatter", 64, 8192) == "pairwise"


def test_what_open_mpi_chooses():
    choose = openmpi.algorithm
    assert choose("allreduce", 16, 64) == choose("allreduce", 7, 8) == "recursive-doubling"
    assert choose("allreduce", 16, 4096) == choose("allreduce", 200, 262144) == "rabenseifner"
    assert choose("allreduce", 64, 128) == "recursive-doubling"
    assert choose("allreduce", 33, 128) == "linear"  # fewer elements than processes
    assert choose("alltoall", 2, 1) == "pairwise"
    assert choose("alltoall", 20, 511) == "modified-bruck"
    assert choose("alltoall", 20, 512) == "linear"
    assert choose("barrier", 8, 0) == "recursive-doubling"
    assert choose("bcast", 100, 1) == "knomial"
    assert choose("bcast", 20, 1048576) == "scatter-allgather"
    assert choose("reduce", 64, 8) == "binomial"
    assert choose("reduce_scatter", 8, 32768) == "ring"  # of 262,144 bytes together
    assert choose("allgather", 5, 1e6) == "recursive-doubling"
    assert choose("gather", 6, 300000) == "linear-sync"
    assert choose("scatter", 100, 512) == "linear-nb"
    assert choose("scan", 100, 512) == choose("gatherv", 100, 512) == "linear"


@pytest.mark.parametrize("library", LIBRARIES)
@given(st.sampled_from(sorted(ALGORITHMS)), st.integers(1, 10**6), st.floats(0, 1e12))
def test_a_library_always_chooses_an_algorithm_of_the_collective(library, op, size, n):
    assert LIBRARIES[library].algorithm(op, size, n) in ALGORITHMS[op]


@pytest.mark.parametrize("library", LIBRARIES)
@given(data=st.data())
def test_groups_by_color_choose_each_by_their_own_size_and_bytes(library, data):
    op = data.draw(st.sampled_from(sorted(ALGORITHMS)))
    size = data.draw(st.integers(1, 24))
    colors = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    bytes_ = np.array([64, 20000, 600000])[colors]
    together = listed(
        expand(
            program(size, collective(op, size, bytes_=bytes_, color=np.array(colors))),
            algorithms(library),
        )
    )
    for color in set(colors):
        members = [rank for rank in range(size) if colors[rank] == color]
        n = int(bytes_[members[0]])
        alone = collective(op, len(members), bytes_=n)
        expected = listed(expand(program(len(members), alone), algorithms(library)))
        peers = dict(enumerate(members)) | {None: None}
        for position, rank in enumerate(members):
            assert together[rank] == [
                (kind, peers[to], amount, peers[src])
                for kind, to, amount, src in expected[position]
            ]


def test_mpich_goes_by_nodes_where_several_of_them_have_several_processes():
    native = program(16, collective("allreduce", 16, bytes_=65536))
    nodes = np.arange(16) // 4
    by_nodes = expand(native, Algorithms(algorithms("mpich").names, (nodes,), nodes))
    hierarchical = Algorithms(
        algorithms("mpich, allreduce hierarchical mpich").names, (nodes,), None
    )
    assert listed(by_nodes) == listed(expand(native, hierarchical))
    flat = listed(expand(native, algorithms("mpich")))
    assert listed(by_nodes) != flat
    for alone in (np.arange(16), np.zeros(16, int)):
        placed = Algorithms(algorithms("mpich").names, (alone,), alone)
        assert listed(expand(native, placed)) == flat


def test_a_library_may_be_named_for_all_or_for_some():
    chosen = algorithms("alltoall pairwise, mpich,  allreduce hierarchical  ring")
    assert (chosen["bcast"], chosen["alltoall"]) == ("mpich", "pairwise")
    assert chosen["allreduce"] == "hierarchical ring"
    assert algorithms("bcast openmpi")["bcast"] == "openmpi"
    assert algorithms("openmpi, bcast hierarchical")["bcast"] == "hierarchical openmpi"
    assert algorithms("gather hierarchical")["gather"] == "hierarchical linear"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mpitch", "there is no collective 'mpitch'. Did you mean 'mpich'?"),
        ("open-mpi", "there is no collective 'open-mpi'. Did you mean 'openmpi'?"),
        ("mpich rings", "there is no collective 'mpich'."),
        ("reduce rabenseifer", "reduce has no algorithm 'rabenseifer'. Did you mean 'rabenseifner'?"),  # noqa: E501
        ("scan hierarchical", "scan has no algorithm 'hierarchical'."),
        ("allreduce hierarchical rings", "allreduce hierarchical has no algorithm 'rings'. Did you"),  # noqa: E501
        ("alltoall in-network", "alltoall has no algorithm 'in-network'. Known: bruck, pairwise"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_in_one_sentence(text, message):
    with pytest.raises(FileError) as error:
        algorithms(text)
    assert str(error.value).startswith(f"network.collectives: {message}")
