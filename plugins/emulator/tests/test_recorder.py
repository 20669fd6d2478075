"""Traces of Recorder: every call of the grammar at its time, every byte of a file once."""

import random
import struct

import numpy as np
import pytest

import parcast_emulator
from parcast import Registry
from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast.testing import cases, seeds
from parcast_emulator.recorder.decoding import folder

REGISTRY = Registry([parcast_emulator])
NAMES = ["creat", "open", "close", "write", "read", "lseek", "pread", "pwrite", "fwrite",
         "MPI_Barrier", "fopen", "fread", "writev"]  # fmt: skip
TICK = 1e-7


def rules_of(rng, calls):
    """Return a grammar of calls: runs as powers, and pieces as rules of their own."""
    rules, symbols, at = {}, [], 0
    while at < len(calls):
        run = 1
        while at + run < len(calls) and calls[at + run] == calls[at]:
            run += 1
        symbols.append((calls[at], run))
        at += run
    while len(symbols) > 2 and rng.random() < 0.7:
        low = rng.randrange(len(symbols) - 1)
        piece, rule = tuple(symbols[low : low + 2]), -2 - len(rules)
        rules[rule], at, shorter = piece, 0, []
        while at < len(symbols):
            if tuple(symbols[at : at + 2]) == piece:
                shorter.append((rule, 1))
                at += 2
            else:
                shorter.append(symbols[at])
                at += 1
        symbols = shorter
    return {-1: tuple(symbols), **rules}


def write(path, ranks, version="2.5.0", rng=None, metadata=b""):
    """Write calls of ranks: (function, arguments, start, end) in ticks."""
    path.mkdir(exist_ok=True)
    (path / "VERSION").write_text(version)
    head = struct.pack("<i4xddii", len(ranks), 1.7e9, TICK, 1024, 0)
    head += metadata or (b"" if version.startswith("2.3") else bytes(8))
    (path / "recorder.mt").write_bytes(head + "".join(f"{name}\n" for name in NAMES).encode())
    for rank, calls in enumerate(ranks):
        signatures = list(dict.fromkeys(call[:2] for call in calls))
        cst = struct.pack("<i", len(signatures))
        for number, (function, arguments) in enumerate(signatures):
            text = "".join(f"{word} " for word in arguments).encode()
            key = struct.pack("<qBBBi", 0, NAMES.index(function), 0, len(arguments), len(text))
            rows = (number, len(key + text)) if version.startswith("2.3") else (
                number, rank, len(key + text), 1)  # fmt: skip
            cst += struct.pack(f"<{len(rows)}i", *rows) + key + text
        (path / f"{rank}.cst").write_bytes(cst)
        which = [signatures.index(call[:2]) for call in calls]
        rules = rules_of(rng or random.Random(1), which)
        cfg = [len(rules)]
        for rule, symbols in rules.items():
            cfg += [rule, len(symbols), *(number for symbol in symbols for number in symbol)]
        (path / f"{rank}.cfg").write_bytes(struct.pack(f"<{len(cfg)}i", *cfg))
        ticks, before = [], 0
        for _, _, start, end in calls:
            ticks += [start - before, end - before]
            before = start
        (path / f"{rank}.ts").write_bytes(struct.pack(f"<{len(ticks)}I", *ticks))
    return path


def random_calls(rng):
    calls, now = [], 0
    for _ in range(rng.randint(0, 40)):
        function = rng.choice(["write", "read", "MPI_Barrier", "lseek"])
        size, file = str(rng.choice([8, 4096])), f"/scratch/{rng.randrange(2)}"
        moved, seek = (file, "%p", size), (file, size, rng.choice("012"))
        arguments = {"write": moved, "read": moved, "lseek": seek, "MPI_Barrier": ("WORLD",)}
        now += rng.randint(0, 9)
        calls.append((function, arguments[function], now, now + rng.randint(0, 30)))
    return calls


@pytest.mark.parametrize("version", ["2.3.1", "2.4.0", "2.5.0"])
def test_every_call_is_decoded_with_its_times(tmp_path, version):
    for seed in seeds(cases(40)):
        rng = random.Random(seed)
        ranks = [random_calls(rng) for _ in range(rng.randint(1, 3))]
        run = folder(write(tmp_path / f"run-{seed}", ranks, version, rng))
        assert run.ranks == len(ranks)
        for rank, expected in enumerate(ranks):
            calls = run.calls(rank)
            decoded = [calls.signatures[number] for number in calls.which.tolist()]
            assert [(own.function, own.arguments) for own in decoded] == [
                call[:2] for call in expected
            ]
            np.testing.assert_allclose(calls.start, [call[2] * TICK for call in expected])
            np.testing.assert_allclose(calls.end, [call[3] * TICK for call in expected])


def test_accesses_are_where_opens_and_seeks_put_them(tmp_path):
    calls = [
        ("open", ("/scratch/a b", "2"), 0, 1),
        ("write", ("/scratch/a b", "%p", "100"), 1, 2),
        ("write", ("/scratch/a b", "%p", "100"), 2, 4),
        ("lseek", ("/scratch/a b", "-50", "1"), 4, 5),
        ("read", ("/scratch/a b", "%p", "10"), 5, 6),
        ("pwrite", ("/scratch/a b", "%p", "7", "1000"), 6, 7),
        ("read", ("/scratch/a b", "%p", "10"), 7, 8),
        ("lseek", ("/scratch/a b", "0", "2"), 8, 9),
        ("writev", ("/scratch/a b", "30", "2"), 9, 10),
        ("open", ("/scratch/a b", str(0o2001)), 10, 11),
        ("write", ("/scratch/a b", "%p", "1"), 11, 12),
        ("fopen", ("/scratch/a b", "w"), 12, 13),
        ("fwrite", ("%p", "8", "3", "/scratch/a b"), 13, 14),
        ("write", ("/dev/shm/x", "%p", "999"), 14, 15),
        ("write", ("stdout", "%p", "5"), 15, 16),
    ]
    workload = REGISTRY.workload(write(tmp_path / "run", [calls, []]))
    accesses = workload.content.accesses
    rows = zip(accesses.offset, accesses.size, accesses.write, strict=True)
    assert [(offset, size) for offset, size, write in rows if write] == [
        (0, 100), (100, 100), (1000, 7), (1007, 30), (1037, 1), (0, 24)
    ]  # fmt: skip
    rows = zip(accesses.offset, accesses.size, accesses.write, strict=True)
    assert [(offset, size) for offset, size, write in rows if not write] == [(150, 10), (160, 10)]
    assert workload.data["writes"].startswith("6, 262 bytes, 7e-07 s")
    assert workload.data["format"] == "trace of Recorder 2.5"
    notes = " ".join(workload.data["notes"].values())
    assert "of 15 calls" in notes
    assert "1,004 bytes of terminals, devices and sockets are left out" in notes
    assert "2 times a rank went to the end of a file" in notes


def test_a_folder_is_asked_what_it_takes_on_another_storage(tmp_path):
    calls = [("write", ("/scratch/a", "%p", str(10**9)), 0, 10**7)]
    path = write(tmp_path / "run", [calls, calls])
    (row,) = REGISTRY.compare(str(path), "lustre-flash", p=2).rows
    assert row.time > 0.01
    assert REGISTRY.workload(path / "recorder.mt").data == REGISTRY.workload(path).data


def test_what_is_not_read_says_why(tmp_path):
    calls = [("write", ("/scratch/a", "%p", "5"), 0, 1)] * 4
    path = write(tmp_path / "run", [calls, calls], "3.0.0")
    with pytest.raises(UnsupportedError, match=r"Recorder '3\.0\.0'; those of 2.3 to 2.5 are read"):
        REGISTRY.workload(path)
    path = write(tmp_path / "run", [calls, calls], metadata=struct.pack("<ii", 1, 0))
    with pytest.raises(UnsupportedError, match="compressed together"):
        REGISTRY.workload(path)
    path = write(tmp_path / "run", [calls, calls])
    (path / "1.ts").unlink()
    with pytest.raises(FileError, match=r"1\.ts cannot be read: No such file"):
        REGISTRY.workload(path)
    path = write(tmp_path / "run", [[("write", ("/scratch/a", "%p", "many"), 0, 1)]])
    with pytest.raises(FileError, match="rank 0: write has the arguments '/scratch/a %p many'"):
        REGISTRY.workload(path)
    path = write(tmp_path / "run", [[("MPI_Barrier", ("WORLD",), 0, 1)]])
    with pytest.raises(FileError, match="nothing that Recorder counted"):
        REGISTRY.workload(path)


@pytest.mark.parametrize(
    "rules",
    [
        {-1: [(-2, 2**31 - 1)], -2: [(0, 2**31 - 1)]},
        {-1: [(-1, 2)]},
        {-1: [(-2, 1)], -2: [(-1, 1)]},
        {-1: [(-9, 1)]},
        {-1: [(0, -4)]},
        {-1: [(7, 4)]},
        {-(n + 1): [(-(n + 2), 1)] for n in range(5000)},
        {-1: [(0, 3)]},
    ],
)
def test_a_grammar_that_explodes_or_turns_in_a_circle_is_damage(tmp_path, rules):
    path = write(tmp_path / "run", [[("write", ("/scratch/a", "%p", "5"), 0, 1)] * 4])
    numbers = [len(rules)]
    for rule, symbols in rules.items():
        numbers += [rule, len(symbols), *(number for symbol in symbols for number in symbol)]
    (path / "0.cfg").write_bytes(struct.pack(f"<{len(numbers)}i", *numbers))
    with pytest.raises(FileError, match=r"rank 0 are damaged|rank 0 has calls without a signature"):
        REGISTRY.workload(path)


def test_damaged_files_are_refused_in_a_sentence(tmp_path):
    rng, refused = random.Random(5), []
    for number in range(cases(150)):
        path = write(tmp_path / str(number), [random_calls(rng) for _ in range(2)])
        file = rng.choice(sorted(path.iterdir()))
        data = bytearray(file.read_bytes())
        for _ in range(rng.randint(1, 4)):
            if data and rng.random() < 0.5:
                data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
            else:
                data = data[: rng.randint(0, len(data))]
        file.write_bytes(data)
        try:
            REGISTRY.workload(path)
        except ParcastError as error:  # and nothing else
            refused.append(str(error))
    assert refused
    assert all(str(tmp_path) in sentence for sentence in refused)
