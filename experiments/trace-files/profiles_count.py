"""Read profiles of PyTorch and execution traces of Chakra, and count the same files by themselves.

    uv run python experiments/trace-files/profiles_count.py CLONES -o pytorch.md

CLONES has git repositories called ``owner+name``. The count uses `json`, and of protobuf its bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from table import DEVICE, git, most_memory, renewed

from parcast.errors import ParcastError
from parcast_traces.readers import read_trace
from parcast_traces.workload import workload

#: Repository, commit, and which files are traces; of a set of ``.et`` files the first stands here.
WANTED = (
    ("AMD-AGI+TraceLens", "HEAD", r"tests/traces/.*\.json\.gz$"),
    ("anupambhatnagar+GPUPuzzlers", "HEAD", r"\.json\.gz$"),
    ("astra-sim+astra-sim", "HEAD", r"\.0\.et$"),
    ("astra-sim+astra-sim-service", "HEAD", r"\.0\.et$"),
    ("astra-sim+tutorials", "HEAD", r"\.0\.et$|pytorch_et_0\.json$"),
    ("ChrisVN123+mlops_testmappe", "HEAD", r"trace\.json$"),
    ("Cryptheon+CyclicRouter", "HEAD", r"trace\.json$"),
    ("deepseek-ai+profile-data", "HEAD", r"train\.json$"),
    ("facebookresearch+param", "HEAD", r"et_replay/tests/inputs/.*gz$"),
    ("JeremyMorlier+GPUModel", "HEAD", r"trace\d?\.json$"),
    ("pytorch+kineto", "be239c044d2f4b62982e1ff64144097acd69f59a", r"samples/.*gz$"),
    ("pytorch+kineto", "025228426e3d453c4121a1cdde7f987785eae6a4", r"samples/.*gz$"),
    ("pytorch+kineto", "00a807b71483565a8b6fb6185e5683b8803ae9c2", r"docs/traces/"),
)  # fmt: skip
KINDS = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills", "memcpy": "copies",
         "memset": "fills"}  # fmt: skip
TYPES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8}


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file, or of those in an archive."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if data[257:262] != b"ustar":
        yield data.decode(errors="replace")
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and not Path(member.name).name.startswith("."):
                yield archive.extractfile(member).read().decode(errors="replace")  # type: ignore[union-attr]


def kineto_counted(path: Path) -> dict[str, str]:
    """Return what devices did by their own durations, and what collectives moved."""
    taken: dict[str, list[int]] = {}
    calls = moved = 0
    for text in texts(path):
        data = json.loads(text, parse_float=Decimal, strict=False)
        events = data["traceEvents"] if isinstance(data, dict) else data
        for event in events:
            kind = str(event.get("cat", "")).lower()
            if event.get("ph") != "X" or kind not in (*DEVICE, "memcpy", "memset"):
                continue
            own = kind == "kernel" and re.match(r"[nr]ccl", event["name"], re.IGNORECASE)
            label = "kernels that communicate" if own else KINDS[kind]
            taken.setdefault(label, []).append(int(event["dur"] * 1000))
        count, size = launched(events)
        calls, moved = calls + count, moved + size
    facts = {kind: f"{len(t):,}, {Decimal(sum(t)) / 10**9:.9f} s" for kind, t in taken.items()}
    if calls:
        facts["collectives"] = f"{calls:,} calls, {moved:,} bytes"
    return facts


def launched(events: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the collectives that the host launched as kernels that are here, and their bytes."""
    kernels = {
        event["args"].get("correlation")
        for event in events
        if str(event.get("cat", "")).lower() == "kernel"
        and re.match(r"[nr]ccl", event["name"], re.IGNORECASE)
    }
    begun = [
        (event["tid"], event["ts"])
        for event in events
        if "runtime" in event.get("cat", "") and event["args"].get("correlation") in kernels
    ]
    calls = moved = 0
    for event in events if kernels else ():
        host = event.get("ph") == "X" and not event.get("cat", "").startswith("gpu")
        if not host or not event["name"].startswith("nccl:"):
            continue
        until, args = event["ts"] + event["dur"], event["args"]
        if any(tid == event["tid"] and event["ts"] <= at <= until for tid, at in begun):
            calls += 1
            kinds, shapes = args.get("Input type", ()), args.get("Input Dims", ())
            for kind, shape in zip(kinds, shapes, strict=False):
                moved += TYPES[kind] * math.prod(shape)
    return calls, moved


def numbers(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message of protobuf."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        length = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[at : at + length]
        at += length


def chakra_counted(path: Path) -> dict[str, str]:
    """Return collectives and messages with their bytes, and what computation takes."""
    stem = re.sub(r"0\.et$", "", path.name)
    totals: Counter[str] = Counter()
    for file in path.parent.iterdir():
        if not re.fullmatch(rf"{re.escape(stem)}\d+\.et", file.name):
            continue
        data = file.read_bytes()
        first = True
        for _, message in numbers(framed(data)):
            if not first:
                node_counted(message, totals)
            first = False
    facts = {"work": f"{totals['us'] / 1e6:.9g} s of all ranks"}
    if totals["collectives"]:
        facts["collectives"] = f"{totals['collectives']:,} calls, {totals['bytes']:,} bytes"
    if totals["sends"]:
        facts["messages"] = f"{totals['sends']:,} calls, {totals['sent']:,} bytes"
    return facts


def framed(data: bytes) -> bytes:
    """Return messages with their lengths before them as fields of a message."""
    framing, at = b"", 0
    while at < len(data):
        start, length, shift = at, 0, 0
        while True:
            byte = data[at]
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        framing += b"\x0a" + data[start : at + length]
        at += length
    return framing


def node_counted(message: bytes, totals: Counter[str]) -> None:
    """Count a node: type 4 computes, 5 sends, 7 is a collective."""
    own = {"kind": 0, "us": 0, "size": 0}
    for number, value in numbers(message):
        if number in (3, 7):
            own[{3: "kind", 7: "us"}[number]] = value
        elif number == 10 and b"comm_size" in value:
            plain = (v if n < 15 or n % 2 else v >> 1 for n, v in numbers(value) if n > 2)
            own["size"] = next(plain)
    if own["kind"] == 4:
        totals["us"] += own["us"]
    elif own["kind"] == 5:
        totals["sends"] += 1
        totals["sent"] += own["size"]
    elif own["kind"] == 7:
        totals["collectives"] += 1
        totals["bytes"] += own["size"]


def read_one(path: Path) -> dict[str, Any]:
    """Read a file; what it says, the facts compared, and what it took."""
    began, before, how = time.process_time(), most_memory(), "read"
    try:
        try:
            trace = read_trace(path)
        except ParcastError as error:
            if "--assume-alike" not in str(error):
                raise
            trace, how = read_trace(path, assume_alike=True), "read, assumed alike"
    except ParcastError as error:
        how = f"refused: {str(error).replace(str(path), path.name)}"
        return {
            "how": how,
            "seconds": time.process_time() - began,
            "memory": most_memory() - before,
        }
    seconds, memory = time.process_time() - began, most_memory() - before
    data = workload(trace, path).data
    kineto = "Kineto" in data["format"]
    stated = {**data, **data["work"]} if kineto else dict(data)
    facts = []
    counts = (kineto_counted if kineto else chakra_counted)(path)
    if "collectives" in counts and "alike" in how:
        counts["collectives"] = times(counts["collectives"], trace.size)
    for name, value in counts.items():
        here = stated.get(name, "none")
        facts.append(f"{name} {value}" if here == value else f"**{name} {here}, not {value}**")
    return {"how": how, "format": data["format"], "facts": "; ".join(facts), "seconds": seconds,
            "memory": memory, "ranks": trace.size, "events": trace.count}  # fmt: skip


def times(text: str, ranks: int) -> str:
    """Return calls and bytes of so many ranks that are alike."""
    calls, moved = (
        int(number.replace(",", "")) * ranks for number in re.findall(r"[\d,]*\d", text)
    )
    return f"{calls:,} calls, {moved:,} bytes"


def row(repository: str, commit: str, name: str, path: Path) -> list[str]:
    """Read a file in a process of its own, whose memory is its own."""
    with get_context("fork").Pool(1) as pool:
        result = pool.apply(_read, (path,))
    how = " ".join(result["how"].split()).replace("|", "\\|")
    return [repository.replace("+", "/"), name, commit[:8], f"{path.stat().st_size:,}",
            result.get("format", ""), how[:240], str(result.get("ranks", "")),
            str(result.get("events", "")), result.get("facts", ""), f"{result['seconds']:.2f}",
            f"{result.get('memory', 0) / 1024:.0f}"]  # fmt: skip


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_one(path)
    except Exception as error:  # noqa: BLE001  (a defect: the page has to show it)
        return {"how": f"**failed: {error!r}**", "seconds": 0.0}


def materialised(clone: Path, commit: str, wanted: str, folder: Path) -> list[tuple[str, Path]]:
    """Write the wanted files, and those beside them whose names differ in a number."""
    listed = git(clone, "ls-tree", "-r", "-l", commit).decode(errors="replace").splitlines()
    present = [line.split("\t")[1] for line in listed if line.split()[3] not in ("BAD", "-")]
    chosen = [name for name in present if re.search(wanted, name)]
    shapes = {re.sub(r"\d+", "0", name) for name in chosen}
    for name in present:
        if re.sub(r"\d+", "0", name) in shapes:
            try:
                content = git(clone, "show", f"{commit}:{name}")
            except subprocess.CalledProcessError:  # its content is not in this clone
                continue
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return [(name, folder / name) for name in sorted(chosen) if (folder / name).is_file()]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("pytorch.md"))
    options = parser.parse_args()
    head = ["repository", "path", "commit", "bytes", "format", "outcome", "ranks", "events",
            "facts that an independent count says too", "s", "MiB"]  # fmt: skip
    rows = []
    for repository, revision, wanted in WANTED:
        clone = options.clones / repository
        clone = clone / "repo" if (clone / "repo").is_dir() else clone
        if not clone.is_dir():
            continue
        commit = git(clone, "rev-parse", revision).decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            for name, path in materialised(clone, commit, wanted, Path(folder)):
                rows.append(row(repository, commit, name, path))
                print(rows[-1][1], rows[-1][5][:100], rows[-1][8][:300], flush=True)
    rows = renewed(options.output, rows)
    taken = sum(line[5].startswith("read") for line in rows)
    wrong = sum("**" in line[8] or "**" in line[5] for line in rows)
    owners = len({line[0] for line in rows})
    counts = f"{len(rows)} files of {owners} repositories, {taken} read, {wrong} with a fact that"
    lines = [f"{counts} differs.", ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
