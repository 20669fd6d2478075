"""Read trace files of public repositories and compare what is read with an independent count.

    uv run python experiments/trace-files/table.py CLONES -o trace-files.md

CLONES has git repositories called ``owner+name``.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from counts import COUNTS, text_of

from parcast.errors import ParcastError
from parcast_traces.readers import read_trace
from parcast_traces.trace.calls import ALL
from parcast_traces.trace.columns import BYTES, KIND
from parcast_traces.workload import workload

#: Which files of a repository are traces, and whose companions must lie beside them.
WANTED = {
    "facebookresearch+HolisticTraceAnalysis": r"tests/data/.*\.json(\.gz)?$",
    "mlcommons+chakra": r"tests/data/.*\.t?gz$",
    "simgrid+simgrid": r"smpi/replay(_multiple\w*)?/(split_traces|(?!CMake|actions\d)[^/]*\.txt)$",
    "spcl+LogGOPSim": r"\.goal$",
    "spcl+LogGOPSim2": r"\.(goal|g2)$|schedgen/.*(\.tar\.gz|-0\.(txt|dat))$"
                       r"|tests/.*(\.bin|-0\.dat)$",
    "spcl+atlahs": r"\.goal$|liballprof-samples/.*-0\.(txt|dat)$",
    "sstsimulator+sst-dumpi": r"tests/traces/\w+-0000\.(bin|txt)$",
    "sstsimulator+sst-macro": r"tests/(test_traces/\w+-0000\.bin|otf2_test_traces/\w+\.otf2)$",
    "TauferLab+dumpi_to_graph": r"test/data/.*-0000\.bin$",
    "hpcgroup+pipit": r"traces\.otf2$",
    "hpcgroup+TraceR": r"traces\.otf2$",
    "hpc-ai-adv-dev+fastotf2": r"traces\.otf2$",
    "numericalalgorithmsgroup+pypop": r"example_traces/.*\.prv\.gz$",
    "bsc-mem+Mess-Paraver": r"tests/traces/.*\.prv$",
}  # fmt: skip
WIDTHS = {"Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Byte": 1}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def git(clone: Path, *words: str) -> bytes:
    """Return what git prints."""
    command = ["git", "-C", str(clone), *words]
    return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603


def materialised(
    clone: Path, wanted: str, folder: Path, commit: str = "HEAD"
) -> list[tuple[str, Path]]:
    """Write the wanted files of a repository, and those beside them, into a folder."""
    listed = git(clone, "ls-tree", "-r", "-l", commit).decode(errors="replace").splitlines()
    sizes = {line.split("\t")[1]: line.split()[3] for line in listed if "\t" in line}
    chosen = [path for path, size in sizes.items() if size != "BAD" and re.search(wanted, path)]
    parents = {path.rpartition("/")[0] for path in chosen}
    for path, size in sizes.items():
        beside = any(path.startswith(f"{parent}/") for parent in parents if parent)
        if size != "BAD" and (beside or path in chosen):
            try:
                content = git(clone, "show", f"{commit}:{path}")
            except subprocess.CalledProcessError:  # its content is not in this clone
                continue
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return [(path, folder / path) for path in sorted(chosen) if (folder / path).is_file()]


def wanted_files(
    clones: Path, repository: str, wanted: str, commit: str = "HEAD"
) -> Iterator[tuple[str, Path, str, Path]]:
    """Yield name, path, commit and folder of the wanted files; none where there is no clone."""
    clone = clones / repository
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    if not clone.is_dir():
        return
    commit = git(clone, "rev-parse", commit).decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        for name, path in materialised(clone, wanted, Path(folder), commit):
            yield name, path, commit, Path(folder)


def renewed(page: Path, rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of a page with new ones in place of those of the same files.

    Clones may lack a repository, or a file that is large, whose rows then stay as they are.
    """
    texts = page.read_text().splitlines() if page.is_file() else []
    table = [re.split(r"(?<!\\)\|", text)[1:-1] for text in texts if text.startswith("| ")]
    kept = [[cell.strip() for cell in cells] for cells in table[2:]]
    by_file: dict[tuple[str, ...], list[list[str]]] = {}
    for line in rows:
        by_file.setdefault(tuple(line[:2]), []).append(line)
    placed, merged = set[tuple[str, ...]](), list[list[str]]()
    for line in kept:
        file = tuple(line[:2])
        if file not in by_file:
            merged.append(line)
        elif file not in placed:
            merged += by_file[file]
            placed.add(file)
    return merged + [line for line in rows if tuple(line[:2]) not in placed]


def profile_counted(path: Path) -> dict[str, str]:
    """Return kernels, copies and fills of a profile, by their own durations, and those of NCCL."""
    data = json.loads(text_of(path), parse_float=Decimal)
    events = data if isinstance(data, list) else data["traceEvents"]
    counts: dict[str, list[int]] = {}
    for event in events:
        kind = str(event.get("cat", "")).lower()
        if event.get("ph") == "X" and kind in DEVICE and event.get("dur", -1) >= 0:
            own = kind == "kernel" and re.match(r"[nr]ccl", event["name"], re.IGNORECASE)
            label = "kernels that communicate" if own else kind
            counts.setdefault(label, []).append(int(event["dur"] * 1000))
    calls = [event["args"] for event in events if _is_call(event)]
    facts = {}
    if calls and len(calls) == len(counts.get("kernels that communicate", ())):
        moved = sum(args["In msg nelems"] * WIDTHS[args["dtype"]] for args in calls)
        facts["collectives"] = f"{len(calls):,} calls, {moved:,} bytes"
    names = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills"}
    for kind, taken in counts.items():
        facts[names.get(kind, kind)] = f"{len(taken):,}, {Decimal(sum(taken)) / 10**9:.9f} s"
    return facts


def _is_call(event: dict[str, Any]) -> bool:
    return event.get("cat") == "kernel" and "Collective name" in event.get("args", {})


def counted(path: Path, kind: str) -> dict[str, str]:
    """Return the facts that can be counted without a reader."""
    if "Kineto" in kind:
        return profile_counted(path)
    if kind in COUNTS and not re.search(r"\.t(ar\.)?gz$", path.name):
        return COUNTS[kind](path)
    if "SimGrid" in kind and re.match(r"\s*\d", text_of(path)):
        sends = re.findall(r"^\s*\d+\s+(?:i?s?send|i[sb]send|bsend)\b", text_of(path), re.MULTILINE)
        return {"sends": f"{len(sends):,}"}
    return {}


def read_one(path: Path) -> dict[str, Any]:
    """Read a file; what it says, the facts compared, and what it took."""
    began, how = time.process_time(), "read"
    try:
        try:
            trace = read_trace(path)
        except ParcastError as error:
            if "--assume-alike" not in str(error):
                raise
            trace, how = read_trace(path, assume_alike=True), "read, assumed alike"
    except ParcastError as error:
        seconds = time.process_time() - began
        return {
            "memory": most_memory(),
            "how": f"refused: {str(error).replace(f'{path.parent}/', '')}",
            "seconds": seconds,
        }
    seconds = time.process_time() - began
    memory = most_memory()  # before the count, which holds the whole file
    data = workload(trace, path).data
    work = data.get("work", {})
    stated = dict(work) if isinstance(work, dict) else {}
    events = data.get("events", {})
    if isinstance(events, dict):
        sends = [int(str(n).replace(",", "")) for name, n in events.items() if "send" in name]
        stated["sends"] = f"{sum(sends):,}"
    stated["messages"] = data.get("messages", "0")
    if isinstance(work, dict):  # of one rank, for which others may be alike
        rows = trace.events.whole[: trace.events.offsets[1], KIND] >= ALL
        moved = trace.events.times[: trace.events.offsets[1], BYTES][rows].sum()
        stated["collectives"] = f"{rows.sum():,} calls, {moved:,.0f} bytes"
    facts = []
    for name, value in counted(path, data["format"]).items():
        same = stated.get(name, "0") == value
        facts.append(f"{name} {value}" if same else f"**{name} {stated.get(name)}, not {value}**")
    return {
        "how": how, "format": data["format"], "facts": "; ".join(facts), "seconds": seconds,
        "memory": memory, "ranks": trace.size, "events": trace.count,
    }  # fmt: skip


def most_memory() -> int:
    """Return the most memory that this process has had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measured(path: Path) -> dict[str, Any]:
    """Read a file, and measure the memory of this process."""
    before = most_memory()
    try:
        found = read_one(path)
    except Exception as error:  # noqa: BLE001  (a defect: the page has to show it)
        return {"how": f"**failed: {error!r}**", "seconds": 0.0}
    return {**found, "memory": max(found["memory"] - before, 0) / 1024}


def row(path: Path) -> dict[str, Any]:
    """Read a file in a process of its own, whose memory is its own."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(measured, (path,))


def cells(repository: str, name: str, path: Path, commit: str) -> list[str]:
    """Return the row of a file."""
    found = row(path)
    how = " ".join(found["how"].split()).replace("|", "\\|")
    return [
        repository.replace("+", "/"), name, commit[:8], f"{path.stat().st_size:,}",
        found.get("format", ""), how[:240], str(found.get("ranks", "")),
        str(found.get("events", "")), found.get("facts", ""), f"{found['seconds']:.2f}",
        f"{found.get('memory', 0):.0f}",
    ]  # fmt: skip


def rows_of(repository: str, name: str, path: Path, commit: str) -> list[list[str]]:
    """Return the row of a file; those of the files of an archive that holds several traces."""
    whole = cells(repository, name, path, commit)
    if "or give one of them" not in whole[5] or not tarfile.is_tarfile(path):
        return [whole]
    with tarfile.open(path) as archive, tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder, filter="data")
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        alone = []
        for file in files:
            inside = Path(folder) / f"alone-{len(alone)}" / file.name  # away from the others
            inside.parent.mkdir()
            alone.append((file.relative_to(folder), file.rename(inside)))
        return [cells(repository, f"{name}/{inner}", file, commit) for inner, file in alone]


def main() -> None:
    """Write the page, or read one file for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("trace-files.md"))
    options = parser.parse_args()
    head = ["repository", "path", "commit", "bytes", "format", "outcome", "ranks", "events",
            "facts that an independent count says too", "s", "MiB"]  # fmt: skip
    rows = []
    for repository, wanted in WANTED.items():
        for name, path, commit, _ in wanted_files(options.clones, repository, wanted):
            rows += rows_of(repository, name, path, commit)
            print(rows[-1][1], rows[-1][5][:100], rows[-1][8][:80], flush=True)
    rows = renewed(options.output, rows)
    taken = sum(row[5].startswith("read") for row in rows)
    wrong = sum("**" in row[8] or "**" in row[5] for row in rows)
    lines = [f"{len(rows)} files, {taken} read, {wrong} with a fact that differs.", ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
