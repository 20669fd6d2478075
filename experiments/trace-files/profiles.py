"""Read profiles and logs of public repositories and compare them with their own tools' counts.

    uv run python experiments/trace-files/profiles.py CLONES -o profiles.md

CLONES has git repositories called ``owner+name``; the rows of those that it lacks stay as they are
in the page. The counts are those of pydarshan, pycubexr and
caliper-reader where these are installed, and of plain text elsewhere.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import struct
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from table import git, materialised, most_memory

from parcast import Registry
from parcast.comparison import read_measured
from parcast.errors import ParcastError

#: Which files of a repository are profiles or logs.
WANTED = {
    "hatchet+hatchet": r"\.cali$|caliper\S*json/.*json$|\.cubex$|profile\.0\.0\.0$"
    r"|experiment\.xml$",
    "hpcgroup+pipit": r"foo-bar\.csv$|\.sts$",
    "LLNL+thicket": r"\.cali$",
    "LLNL+Caliper": r"\.cali$",
    "extra-p+pycubexr": r"\.cubex$",
    "extra-p+extrap": r"simple_threaded/.*cubex$|single_parameter/.*cubex$"
    r"|tests/data/(text|json|jsonlines|talpas|input)/.*\.(txt|JSON|jsonl?)$",
    "darshan-hpc+darshan": r"(example_logs|tests/input)/.*\.darshan$",
    "darshan-hpc+darshan-logs": r"^(?!.*(/dlio_logs/.*id3116902-21(104|105|11)|ppc64)).*\.darshan$",
    "hpc-io+drishti-io": r"sample/recorder/flash\S*/recorder\.mt$",
    "uiuc-hpc+Recorder": r"test/logs/0\.mt$",
}

#: Where traces of Recorder were: later commits have none.
COMMITS = {
    "hpc-io+drishti-io": "ee66d48acc132eed175e946885b6bf5780ca38ac",
    "uiuc-hpc+Recorder": "746c04ccfbc0e0d39e6f4649be0399be67b1a3fc",
}

#: Of Recorder's functions that move data: the direction, and the arguments of the file and bytes.
MOVES = {"read": ("reads", 0, 2), "write": ("writes", 0, 2), "pread64": ("reads", 0, 2),
         "pwrite64": ("writes", 0, 2), "readv": ("reads", 0, 1), "writev": ("writes", 0, 1),
         "vfprintf": ("writes", 0, 1)}  # fmt: skip

#: Of Extra-P's own files those that are made to be wrong.
WRONG = re.compile(r"_neg|wrong|extra_file")

#: Columns of time of Caliper, and whether they have what regions call.
CALIPER_TIMES = {
    "sum#inclusive#sum#time.duration": True,
    "inclusive#scale#sum#cupti.host.duration": True,
    "scale#sum#cupti.host.duration": False,
    "sum#time.duration": False,
}

#: By how much sums of seconds may differ: digits that files have.
ROUNDING = 2e-5


def darshan_counted(path: Path) -> dict[str, float]:
    """Return calls, bytes and seconds by pydarshan's frames, without the terminal's streams."""
    import darshan

    report = darshan.DarshanReport(str(path), read_all=False)
    report.read_metadata()
    report.read_name_records()
    counts = dict.fromkeys(("reads", "bytes read", "s reading", "writes", "bytes written",
                            "s writing"), 0.0)  # fmt: skip
    names = dict(report.name_records)
    for module in ("POSIX", "STDIO", "DFS"):
        if module not in report.modules:
            continue
        report.mod_read_all_records(module, dtype="pandas")
        for block in report.records[module]:
            files = block["counters"].assign(name=block["counters"]["id"].map(names))
            rows = ~files["name"].astype(str).str.startswith("<STD")
            seconds = block["fcounters"][rows.to_numpy()]
            files = files[rows]
            for name, columns in (
                ("reads", ("READS", "READXS")), ("bytes read", ("BYTES_READ",)),
                ("writes", ("WRITES", "WRITEXS")), ("bytes written", ("BYTES_WRITTEN",)),
                ("s reading", ("F_READ_TIME",)), ("s writing", ("F_WRITE_TIME",)),
            ):  # fmt: skip
                table = seconds if name.startswith("s ") else files
                for column in columns:
                    if f"{module}_{column}" in table:
                        counts[name] += float(table[f"{module}_{column}"].clip(lower=0).sum())
    counts |= {"bytes to read": counts["bytes read"], "bytes to write": counts["bytes written"]}
    return counts


def recorder_counted(path: Path) -> dict[str, float]:
    """Return calls and bytes by how often Recorder itself says that each signature was called."""
    metadata = path.read_bytes()
    names = metadata[metadata.index(b"creat\n") :].decode().split("\n")
    counts = dict.fromkeys(("reads", "bytes read", "writes", "bytes written"), 0.0)
    for file in path.parent.glob("*.cst"):
        data, at = file.read_bytes(), 4
        while at < len(data):
            _, _, length, times = struct.unpack_from("<iiiI", data, at)
            function, text = data[at + 24], data[at + 31 : at + 16 + length].decode().split(" ")
            at += 16 + length
            kind, of, size = MOVES.get(names[function] if function < 255 else "", ("", 0, 0))
            if kind and not text[of].startswith(("/dev/", "/proc/", "/sys/")):
                counts[kind] += times
                counts["bytes " + kind.replace("reads", "read").replace("writes", "written")] += (
                    times * int(text[size])
                )
    return counts


def darshan_stated(data: dict[str, Any]) -> dict[str, float]:
    """Return the same of what `parcast show` says."""
    stated = {}
    for name, moved in (("reads", "read"), ("writes", "written")):
        calls, size, seconds = re.findall(r"\d[\d.e+-]*", data[name].replace(",", ""))
        stated |= {name: float(calls), f"bytes {moved}": float(size)}
        stated[{"reads": "s reading", "writes": "s writing"}[name]] = float(seconds)
    return stated


def profile_counted(path: Path) -> dict[str, float]:
    """Return the seconds of all first threads by the tool's own reader, or by the plain text."""
    text = path.read_bytes()
    if path.suffix == ".cubex":
        return cube_counted(path)
    if path.suffix == ".cali":
        return caliper_counted(path)
    if path.name == "experiment.xml":  # the program's root, with all below
        unit = 1e-6 if b"(usec)" in text else 1.0
        root = re.search(rb'<SecCallPathProfileData>\s*<M n="\d+" v="([^"]+)"', text)
        return {"seconds": float(root[1]) * unit} if root else {}
    if path.name.startswith("profile."):
        files = path.parent.glob("profile.*.0.0")
        first = (
            re.search(r'^"[^"]*" \S+ \S+ \S+ (\S+)', one.read_text(), re.MULTILINE) for one in files
        )
        return {"seconds": sum(float(match[1]) for match in first if match) * 1e-6}
    return {}


def cube_counted(path: Path) -> dict[str, float]:
    """Return the time of the root paths at the first threads, by pycubexr."""
    from pycubexr import CubexParser

    with CubexParser(str(path)) as cube:
        values = cube.get_metric_values(cube.get_metric_by_name("time"))
        tree = cube._anchor_result.system_tree_nodes[0]  # noqa: SLF001  (it has no other way)
        masters = [group.all_locations()[0].id for group in tree.all_location_groups()]
        roots = cube.get_root_cnodes()
        whole = [values.cnode_values(root, convert_to_inclusive=True)[masters] for root in roots]
    return {"seconds": float(sum(own.sum() for own in whole)), "ranks": len(masters)}


def caliper_counted(path: Path) -> dict[str, float]:
    """Return the time of the outermost regions, or the sum of all, by caliper-reader."""
    import caliperreader

    records, _ = caliperreader.read_caliper_contents(str(path))
    measured_as = {name for record in records for name in record}
    column = next((name for name in CALIPER_TIMES if name in measured_as), None)
    if column is None:
        return {}
    inclusive, name = CALIPER_TIMES[column], column
    rows = [record for record in records if name in record]
    paths = [tuple(words) if isinstance(words := record.get("path", ()), list) else (words,)
             for record in rows]  # fmt: skip
    outermost = [
        float(record[name])
        for record, words in zip(rows, paths, strict=True)
        if not inclusive or not any(words[:length] in paths for length in range(1, len(words)))
    ]
    return {"seconds": math.fsum(outermost)}


def series_read(path: Path) -> dict[str, Any]:
    """Return what a file of Extra-P says, with the name that a refusal asks for."""
    source, how = str(path), "read"
    for _ in range(3):
        try:
            measured = read_measured(source, repetitions=True)
        except ParcastError as error:
            suggestion = re.search(r"#([^\s()]+)", str(error).replace(source, "", 0))
            if not suggestion or "#" in source:
                how = f"refused: {str(error).replace(str(path), '')}"
                part = re.search(r"#p=(\S+)", str(error))
                if part and "p=" not in source:
                    source = f"{source},p={part[1]}"
                    continue
                return {"how": how}
            source = f"{path}#{suggestion[1]}"
        else:
            part = source.partition("#")[2]
            how = f"read as #{part}" if part else "read"
            return {"how": how, "format": "Extra-P", "items": len(measured.items)}
    return {"how": how}


def workload_read(path: Path) -> dict[str, Any]:
    """Return what a profile or a log says, and what is to be compared."""
    try:
        workload = Registry().workload(path)
    except ParcastError as error:
        reason = str(error).replace(str(path), "").replace(f"{path.parent}/", "")
        return {"how": f"refused: {reason.replace(str(path.parent), 'its folder')}"}
    data = dict(workload.data)
    answer: dict[str, Any] = {"how": "read", "format": data["format"], "ranks": data["ranks"]}
    if workload.kind == "profile":
        profile = workload.content.profile
        answer["stated"] = {"seconds": profile.seconds, "ranks": profile.processes}
        answer["items"] = len(profile.regions)
    else:
        accesses = workload.content.accesses
        answer["stated"] = darshan_stated(data)
        for write, name in ((False, "bytes to read"), (True, "bytes to write")):
            answer["stated"][name] = float(sum(
                size * count
                for size, count, kind in zip(accesses.size, accesses.count, accesses.write,
                                             strict=True)
                if kind == write
            ))  # fmt: skip
        answer["items"] = len(accesses.rank)
    return answer


def facts(path: Path, stated: dict[str, float]) -> Iterator[str]:
    """Yield the facts that the tool's own count says too; those that differ in bold."""
    try:
        by_suffix = {".darshan": darshan_counted, ".mt": recorder_counted}
        counted = by_suffix.get(path.suffix, profile_counted)(path)
    except Exception as error:  # noqa: BLE001  (the tool's own reader may not read it)
        yield f"no count: {type(error).__name__}"
        return
    for name, value in counted.items():
        same = math.isclose(stated[name], value, rel_tol=ROUNDING, abs_tol=1e-9)
        text = f"{name} {value:.9g}"
        yield text if same else f"**{name} {stated[name]:.9g}, not {value:.9g}**"


def cpu_seconds() -> float:
    """Return the seconds that this process and those it waited for have computed."""
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + child.ru_utime + child.ru_stime


def measured(path: Path) -> dict[str, Any]:
    """Read a file in this process, with the seconds and the memory that it took."""
    before, began = most_memory(), cpu_seconds()
    extrap = path.suffix.lower() in {".txt", ".jsonl"} or (
        path.suffix.lower() == ".json" and "caliper" not in str(path)
    )
    try:
        answer = series_read(path) if extrap else workload_read(path)
    except Exception as error:  # noqa: BLE001  (a defect: the page has to show it)
        return {"how": f"**failed: {error!r}**", "seconds": 0.0}
    answer["seconds"] = cpu_seconds() - began
    of_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    answer["memory"] = max(most_memory() - before, of_child) / 1024
    answer["facts"] = "; ".join(facts(path, answer["stated"])) if "stated" in answer else ""
    return answer


def cells(repository: str, name: str, path: Path, commit: str) -> list[str]:
    """Return the row of a file, read in a process of its own."""
    with get_context("fork").Pool(1) as pool:
        answer = pool.apply(measured, (path,))
    how = " ".join(answer["how"].split()).replace("|", "\\|")
    return [
        repository.replace("+", "/"), name, commit[:8], f"{path.stat().st_size:,}",
        answer.get("format", ""), how[:200], str(answer.get("ranks", "")),
        str(answer.get("items", "")), answer.get("facts", ""), f"{answer['seconds']:.2f}",
        f"{answer.get('memory', 0):.0f}",
    ]  # fmt: skip


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("profiles.md"))
    options = parser.parse_args()
    head = ["repository", "path", "commit", "bytes", "format", "outcome", "ranks",
            "series, regions or values", "facts that its tool counts too", "s", "MiB"]  # fmt: skip
    rows: list[list[str]] = []
    before = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in (options.output.read_text().splitlines() if options.output.is_file() else ())
        if line.startswith("| ")
    ]
    for repository, wanted in WANTED.items():
        clone = options.clones / repository
        clone = clone / "repo" if (clone / "repo").is_dir() else clone
        if not clone.is_dir():  # its rows stay as they are
            rows += [row for row in before if row[0] == repository.replace("+", "/")]
            continue
        commit = COMMITS.get(repository) or git(clone, "rev-parse", "HEAD").decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            for name, path in materialised(clone, wanted, Path(folder), commit):
                if not WRONG.search(name):
                    rows.append(cells(repository, name, path, commit))
                    print(rows[-1][1][-60:], rows[-1][5][:100], rows[-1][8][:90], flush=True)
    taken = sum(row[5].startswith("read") for row in rows)
    differing = sum("**" in row[8] or "**" in row[5] for row in rows)
    formats = len({re.sub(r" [\d.]+\S*$", "", row[4]) for row in rows if row[4]})
    summary = f"{len(rows)} files of {formats} formats, {taken} read, {differing} with a fact that "
    lines = [f"{summary}differs.", ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
