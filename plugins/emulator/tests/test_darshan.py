"""Logs of Darshan: every byte once, whatever printed them, and on other disks."""

from __future__ import annotations

import itertools
import random
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import parcast_emulator
from parcast import ParcastError, Registry
from parcast.errors import FileError
from parcast_emulator.cluster import Hardware, make_cluster
from parcast_emulator.darshan import library
from parcast_emulator.darshan.log import read_log
from parcast_emulator.darshan.workload import read, workload

REGISTRY = Registry([parcast_emulator])
HEAD = "# darshan log version: 3.41\n# exe: ./a.out\n# nprocs: {}\n# run time: 12.5\n"


def counters(module, rank, file, name="/f", **values):
    """Return lines as darshan-parser prints them."""
    word = {"MPI-IO": "MPIIO"}.get(module, module)
    return "".join(
        f"{module}\t{rank}\t{file}\t{word}_{counter}\t{value}\t{name}\t/\text4\n"
        for counter, value in values.items()
    )


def traced(rank, file, rows, word="X_POSIX"):
    """Return lines as darshan-dxt-parser prints them."""
    head = f"\n# DXT, file_id: {file}, file_name: /f{file}\n# DXT, rank: {rank}, hostname: n1\n"
    return head + "".join(
        f" {word} {rank:7} {kind} {number} {offset:15} {length:15} {start:.4f} {start + 0.5:.4f}\n"
        for number, (kind, offset, length, start) in enumerate(rows)
    )


def columns(content):
    """Return the series as an array: rank, file, offset, size, count, write."""
    accesses = content.content.accesses
    names = ("rank", "file", "offset", "size", "count", "write")
    return np.array([getattr(accesses, name) for name in names], np.int64)


def log_of(text):
    return workload(read_log(text.splitlines(), "job.txt"), "job")


def test_shared_files_are_dealt_to_ranks_to_the_byte():
    job = log_of(HEAD.format(3) + counters("POSIX", -1, 7, WRITES=7, BYTES_WRITTEN=100))
    rank, _, offset, size, count, write = columns(job)
    assert (size * count).sum() == 100
    assert count.sum() == 7
    assert write.all()
    places = [(o + k * s, s) for o, s, c in zip(offset, size, count, strict=True) for k in range(c)]
    assert min(places)[0] == 0
    assert all(a + s == b for (a, s), (b, _) in itertools.pairwise(places))
    assert sorted(np.bincount(rank, count, minlength=3).tolist()) == [2, 2, 3]


def test_traced_accesses_keep_their_offsets_and_what_was_not_traced_is_added():
    text = HEAD.format(2)
    text += counters("POSIX", 0, 1, READS=3, BYTES_READ=70, F_READ_TIME=0.25)
    text += counters("POSIX", 1, 1, READS=1, BYTES_READ=30)
    text += traced(0, 1, [("read", 4096, 20, 0.0), ("read", 0, 10, 1.0)])
    job = log_of(text)
    found = columns(job).T.tolist()
    assert [0, 0, 4096, 20, 1, 0] in found
    assert [0, 0, 0, 10, 1, 0] in found
    assert sum(size * count for _, _, _, size, count, _ in found) == 100
    assert "70 bytes were counted and not traced" in str(job.data["notes"])
    assert job.data["reads"] == "4, 100 bytes, 0.25 s of all ranks together"


def test_layers_above_count_once_and_streams_not_at_all():
    text = HEAD.format(1)
    text += counters("POSIX", 0, 1, WRITES=2, BYTES_WRITTEN=64)
    text += counters("MPI-IO", 0, 1, COLL_WRITES=2, BYTES_WRITTEN=64)
    text += counters("STDIO", 0, 2, WRITES=1, BYTES_WRITTEN=6)
    text += counters("STDIO", 0, 3, name="<STDOUT>", WRITES=9, BYTES_WRITTEN=900)
    job = log_of(text)
    assert job.data["writes"].startswith("3, 70 bytes")
    notes = str(job.data["notes"])
    assert "MPI-IO counted the same accesses above" in notes
    assert "900 bytes of standard input, output and errors are left out" in notes
    alone = log_of(HEAD.format(1) + counters("MPI-IO", 0, 1, INDEP_READS=4, BYTES_READ=8))
    assert alone.data["reads"].startswith("4, 8 bytes")


def random_log(draw):
    """Return the text of a log, and the bytes that it reads and writes."""
    processes, text, sums = draw.randint(1, 6), "", [0, 0]
    for file in range(draw.randint(1, 5)):
        shared = draw.random() < 0.4
        for rank in [-1] if shared else draw.sample(range(processes), draw.randint(1, processes)):
            values = {}
            for direction, calls, moved in ((0, "READS", "BYTES_READ"),
                                            (1, "WRITES", "BYTES_WRITTEN")):  # fmt: skip
                count, size = draw.randint(0, 9), draw.choice([0, 1, 4096, 3 << 20, 12345])
                values |= {calls: count, moved: count * size}
                sums[direction] += count * size
            text += counters("POSIX", rank, file, **values)
    return HEAD.format(processes) + text, sums


@pytest.mark.parametrize("seed", range(40))
def test_blocks_have_the_bytes_of_the_log_on_any_layout(seed):
    draw = random.Random(seed)
    text, sums = random_log(draw)
    if not any(sums):
        with pytest.raises(FileError, match="read and wrote nothing"):
            log_of(text)
        return
    accesses = log_of(text).content.accesses
    servers, disks = draw.randint(0, 2), draw.randint(1, 3)
    stripe = draw.choice([1, 7, 4096, 1 << 20]) if sum(sums) < 10_000 else 1 << 20
    p = servers + draw.randint(1, 4)
    values = {"reads": 1.0, "writes": 1.0, "servers": float(servers), "stripe": float(stripe)}
    cluster = make_cluster([[0] * disks] * p, Hardware())
    accesses.check(values, p)
    epochs = list(accesses.epochs(values, cluster, None))
    assert [float(blocks.size.sum()) for blocks in epochs] == [total for total in sums if total]
    for blocks in epochs:
        assert blocks.size.max() <= stripe
        assert (blocks.offset % stripe + blocks.size <= stripe).all()
        if servers:
            assert blocks.disk.max() < servers * disks
            assert blocks.consumers.nodes.min() >= servers


def test_a_log_takes_at_least_what_its_bytes_take(tmp_path):
    file = tmp_path / "job.txt"
    file.write_text(HEAD.format(8) + counters("POSIX", -1, 1, WRITES=64, BYTES_WRITTEN=64 << 20))
    (row,) = REGISTRY.compare(file, "lustre-flash", p=5, d=12, solvers="emulator.lc",
                              settings={"servers": 1}).rows  # fmt: skip
    whole = (64 << 20) / (12 * 4 * 463e6)
    assert whole < row.time < 2 * whole + 0.01
    assert any("recorded: 0 s of a rank" in note for note in row.notes)
    (half,) = REGISTRY.compare(file, "lustre-flash", p=6, d=12, solvers="emulator.lc",
                               settings={"servers": 2}).rows  # fmt: skip
    assert half.time < row.time


def test_reads_and_writes_of_two_bandwidths_are_asked_for_one_by_one(tmp_path):
    file = tmp_path / "job.txt"
    file.write_text(HEAD.format(2) + counters("POSIX", -1, 1, WRITES=4, BYTES_WRITTEN=4 << 20,
                                              READS=4, BYTES_READ=4 << 20))  # fmt: skip
    ask = {"p": 2, "d": 1, "solvers": "emulator.lc"}
    slow = {"disk.write_bandwidth": "100 MB/s"}
    (row,) = REGISTRY.compare(file, "lustre-flash", **ask, settings=slow).rows
    assert "--set writes=0, --set reads=0" in row.message
    times = []
    for left in ("writes", "reads"):
        (row,) = REGISTRY.compare(file, "lustre-flash", **ask, settings={**slow, left: 0}).rows
        times.append(row.time)
    assert times[0] < times[1]
    (both,) = REGISTRY.compare(file, "lustre-flash", **ask).rows
    assert both.time > times[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# darshan log version: 3.41\nPOSIX\t0\t1\tPOSIX_READS\tmany\t/f\n", "is no line of"),
        ("# darshan log version: 3.41\n", "nprocs = ''"),
        (HEAD.format(10**9), "nprocs = '1000000000'"),
        (HEAD.format(2) + counters("POSIX", 5, 1, READS=1, BYTES_READ=1), "rank 5 of nprocs = 2"),
        (HEAD.format(2).replace("12.5", "soon"), "run time = 'soon'"),
        (HEAD.format(2), "read and wrote nothing that Darshan counted"),
        (HEAD.format(1) + counters("POSIX", 0, 1, READS=1, BYTES_READ=10**30), "is damage"),
        (HEAD.format(1) + traced(0, 1, [("read", 0, -4, 0.0)]), "is no line of"),
        (HEAD.format(1) + "<html>", "is no line of"),
        ("2.06", "neither as a log of Darshan 3 does, nor as the text of its parsers"),
    ],
)
def test_damage_is_one_sentence(text, sentence, tmp_path):
    file = tmp_path / "job.txt"
    file.write_text(text)
    with pytest.raises(FileError) as caught:
        read(file)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_billions_of_accesses_are_refused_without_being_made(tmp_path):
    file = tmp_path / "job.txt"
    file.write_text(HEAD.format(4) + counters("POSIX", -1, 1, READS=10**12, BYTES_READ=10**13))
    (row,) = REGISTRY.compare(file, "lustre-flash", p=2, d=1, solvers="emulator.lc").rows
    assert "ask for fewer or larger ones" in row.message


@pytest.mark.parametrize("seed", range(60))
def test_mutilated_text_is_read_or_refused(seed, tmp_path):
    draw = random.Random(seed)
    text, _ = random_log(draw)
    text = list(text + traced(0, 1, [("read", 0, 64, 0.0)]))
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(text))
        text[at : at + draw.randint(0, 3)] = draw.choice(["", "\t", "9" * 12, "-", "\n", "x", "é"])
    file = tmp_path / "job.txt"
    file.write_text("".join(text))
    sentence = ""
    try:
        read(file)
    except ParcastError as error:
        sentence = str(error)
    assert "\n" not in sentence


def test_without_the_library_the_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "find_spec", lambda _: None)
    file = tmp_path / "job.darshan"
    file.write_bytes(b"3.41\0\0\0\0binary")
    with pytest.raises(ParcastError, match=r"parcast-emulator\[darshan\]"):
        read(file)


def test_a_library_that_breaks_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "find_spec", lambda _: True)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    file = tmp_path / "job.darshan"
    file.write_bytes(b"3.41\0\0\0\0binary")
    with pytest.raises(FileError, match="Darshan's library cannot read it"):
        read(file)


@pytest.mark.skipif(find_spec("darshan") is None, reason="Darshan's library is not installed")
def test_binary_logs_have_the_bytes_that_the_library_counts(tmp_path):
    from darshan.backend import cffi_backend as backend

    (path,) = Path(backend.__file__).parents[1].rglob("examples/**/ior_hdf5_example.darshan")
    log, sums = backend.log_open(str(path)), {"READ": 0, "WRITTEN": 0}
    names = backend.log_get_name_records(log)
    for module in ("POSIX", "STDIO"):
        while record := backend.log_get_record(log, module, dtype="dict"):
            if not names[record["id"]].startswith("<STD"):
                for word in sums:
                    sums[word] += int(record["counters"][f"{module}_BYTES_{word}"])
    job = read(path)
    series = columns(job)
    for write, word in enumerate(sums):
        assert (series[3] * series[4])[series[5] == write].sum() == sums[word] > 0
    for cut in (100, 1000):
        damaged = tmp_path / "job.darshan"
        damaged.write_bytes(path.read_bytes()[:cut])
        with pytest.raises(FileError, match="Darshan's library cannot read it"):
            read(damaged)
