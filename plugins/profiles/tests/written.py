"""Profiles as tools write them, of random trees of calls whose times are known."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import struct
import tarfile
import zlib
from pathlib import Path

NAMES = ("main", "solve", "MPI_Allreduce", "a=b,c", "MPI_Wait", "io", "setup")


def random_times(seed, ranks):
    """Return seconds of each rank in each path of calls itself, in ticks of a millisecond."""
    draw = random.Random(seed)
    paths = [("main",)]
    for _ in range(draw.randint(1, 8)):
        above = draw.choice(paths)
        path = (*above, draw.choice(NAMES))
        if path not in paths and len(path) < 5:
            paths.append(path)
    return {path: [draw.randint(0, 5000) / 1000 for _ in range(ranks)] for path in paths}


def inclusive(times):
    """Return the same with what each path calls."""
    return {
        path: [
            sum(own[rank] for other, own in times.items() if other[: len(path)] == path)
            for rank in range(len(seconds))
        ]
        for path, seconds in times.items()
    }


def by_name(times):
    """Return the seconds of each region over all ranks: what MPI calls is MPI's."""
    sums = {}
    for path, seconds in times.items():
        name = next((one for one in path if one.startswith("MPI_")), path[-1])
        sums[name] = sums.get(name, 0.0) + sum(seconds)
    return sums


def caliper(folder: Path, times, ranks, *, whole=True):
    """Write a .cali of sums over ranks, inclusive or by themselves."""
    name = "sum#inclusive#sum#time.duration" if whole else "sum#sum#time.duration"
    escaped = lambda text: text.replace("=", r"\=").replace(",", r"\,")  # noqa: E731
    nodes = (
        "20,attr=10,data=276,parent=3",
        "21,attr=8,data=region,parent=20",
        "30,attr=8,data=attribute.unit,parent=3",
        "31,attr=30,data=sec,parent=5",
        f"32,attr=8,data={name},parent=31",
        "40,attr=8,data=mpi.world.size,parent=3",
        f"41,attr=40,data={ranks}",
    )
    lines = [f"__rec=node,id={node}" for node in nodes]
    numbers = {}
    for path, seconds in (inclusive(times) if whole else times).items():
        numbers[path] = 100 + len(numbers)
        above = f",parent={numbers[path[:-1]]}" if path[:-1] in numbers else ""
        lines += [
            f"__rec=node,id={numbers[path]},attr=21,data={escaped(path[-1])}{above}",
            f"__rec=ctx,ref={numbers[path]},attr=32,data={sum(seconds):.6f}",
        ]
    return _written(folder / "run.cali", "\n".join([*lines, "__rec=globals,ref=41"]) + "\n")


def caliper_json(folder: Path, times, ranks):
    """Write what cali-query prints, a row for each rank, in microseconds."""
    paths = list(times)
    return _written(folder / "run.json", json.dumps({
        "data": [[rank, round(times[path][rank] * 1e6), number]
                 for number, path in enumerate(paths) for rank in range(ranks)],
        "columns": ["mpi.rank", "sum#time.duration", "path"],
        "column_metadata": [{"is_value": True}, {"is_value": True, "attribute.unit": "usec"},
                            {"is_value": False}],
        "nodes": [{"label": path[-1], **({"parent": paths.index(path[:-1])} if path[1:] else {})}
                  for path in paths],
    }))  # fmt: skip


def tau(folder: Path, times, ranks):
    """Write a file for each rank, with the same times again by all that TAU tells them by."""
    for rank in range(ranks):
        lines = []
        for path, seconds in times.items():
            name, group = path[-1], "MPI" if path[-1].startswith("MPI_") else "TAU_USER"
            own = seconds[rank] * 1e6
            bar = " | " if rank % 2 else "|"
            for full, kind in ((name, group), (" => ".join(path), f"TAU_CALLPATH{bar}{group}"),
                               (f"{name} [ <size> = <8> ]", f"TAU_PARAM{bar}{group}"),
                               (f"{name} [CALLSITE] [@] a.c", f"TAU_CALLSITE{bar}{group}"),
                               (f"[CONTEXT] {name}", "TAU_SAMPLE_CONTEXT"),
                               (f"[SAMPLE] {name} [{{a.c}} {{8}}]", "TAU_SAMPLE"),
                               (f"[UNWIND] {name} [@] a.c", "TAU_UNWIND")):  # fmt: skip
                lines.append(f'"{full}" 1 0 {own:.16g} {own:.16g} 0 GROUP="{kind}"')
        head = f"{len(lines)} templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl\n"
        text = head + "\n".join(lines) + '\n1 userevents\n"Message size" 1 8 8 8 64\n'
        _written(folder / f"profile.{rank}.0.0", text)
    return folder


def hpctoolkit(folder: Path, times, ranks):
    """Write a database: statements in procedures, and metrics of each rank."""
    names = sorted({name for path in times for name in path})
    procedures = "".join(f'<Procedure i="{n}" n="{name}"/>' for n, name in enumerate(names))
    body, number, of_number = [], 0, {}

    def write(path):
        nonlocal number
        number += 1
        total = sum(inclusive(times)[path]) * 1e6
        body.append(
            f'<PF i="{number}" s="1" n="{names.index(path[-1])}"><M n="3" v="{total:.9g}"/>'
        )
        number += 1
        of_number[number] = path
        body.append(f'<S i="{number}" s="2"><M n="3" v="{sum(times[path]) * 1e6:.9g}"/></S>')
        for other in times:
            if other[:-1] == path:
                write(other)
        body.append("</PF>")

    write(("main",))
    xml = (
        '<?xml version="1.0"?>\n<!DOCTYPE HPCToolkitExperiment [\n<!ELEMENT M EMPTY>\n]>\n'
        '<HPCToolkitExperiment version="2.0"><Header n="a.out"/><SecCallPathProfile><SecHeader>'
        '<MetricTable><Metric i="3" n="CPUTIME (usec):Sum (E)" t="exclusive"/></MetricTable>'
        '<MetricDBTable><MetricDB i="1" n="CPUTIME (usec) (E)" db-id="1"/></MetricDBTable>'
        f"<ProcedureTable>{procedures}</ProcedureTable></SecHeader>"
        f"<SecCallPathProfileData>{''.join(body)}</SecCallPathProfileData></SecCallPathProfile>"
        "</HPCToolkitExperiment>"
    )
    for rank in range(ranks):
        values = []
        for node in range(1, number + 1):
            own = times[of_number[node]][rank] * 1e6 if node in of_number else 0.0
            values += [0.0, own]
        data = b"HPCPROF-metricdb__00.10b" + struct.pack(">II", number, 2)
        data += struct.pack(f">{len(values)}d", *values)
        (folder / f"1.a.out-{rank:06}-000-a8c0-{100 + rank}-0.metric-db").write_bytes(data)
    _written(folder / "experiment.xml", xml)
    return folder


def cube(folder: Path, times, ranks, *, threads=1, kind="INCLUSIVE", packed=False, old=False):
    """Write an archive of CUBE; threads beyond the first take a second each in main.

    An old one calls processes and threads so, and lists no call paths: all are stored.
    """
    paths, names = list(times), sorted({path[-1] for path in times})
    regions = "".join(
        f'<region id="{n}"><name>{name}</name><paradigm>'
        f"{'mpi' if name.startswith('MPI_') else 'compiler'}</paradigm></region>"
        for n, name in enumerate(names)
    )

    def node(path):
        below = "".join(node(other) for other in paths if other[:-1] == path)
        number, callee = paths.index(path), names.index(path[-1])
        return f'<cnode id="{number}" calleeId="{callee}">{below}</cnode>'

    places = "".join(
        f'<locationgroup Id="{rank}"><rank>{rank}</rank><type>process</type>'
        + "".join(f'<location Id="{rank * threads + t}"></location>' for t in range(threads))
        + "</locationgroup>"
        for rank in range(ranks)
    )
    if old:
        places = places.replace("locationgroup", "process").replace("location", "thread")
    anchor = (
        f'<?xml version="1.0"?><cube><metrics><metric id="4" type="{kind}"><uniq_name>time'
        "</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric></metrics><program>"
        f"{regions}{node(('main',))}</program><system><systemtreenode>{places}</systemtreenode>"
        "</system></cube>"
    )
    table = inclusive(times) if kind == "INCLUSIVE" else times
    order = _wide(paths) if kind == "INCLUSIVE" else _deep(paths, ("main",))
    values = []
    for path in order:
        for rank in range(ranks):
            values += [table[path][rank]] + [float(path == ("main",))] * (threads - 1)
    raw, count = struct.pack(f"<{len(values)}d", *values), len(order)
    index = b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 1, count)
    index += struct.pack(f"<{count}i", *range(count))
    if old:
        index = b"CUBEX.INDEX" + struct.pack("<ihb", 1, 0, 3)
    data = b"CUBEX.DATA" + raw
    if packed:
        halves = [zlib.compress(raw[: len(raw) // 2]), zlib.compress(raw[len(raw) // 2 :])]
        sizes = [number for half in halves for number in (0, 0, len(half))]
        data = b"ZCUBEX.DATA" + struct.pack("<7q", 2, *sizes) + b"".join(halves)
    path = folder / "profile.cubex"
    with tarfile.open(path, "w") as archive:
        for name, content in (
            ("anchor.xml", anchor.encode()),
            ("4.index", index),
            ("4.data", data),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def _deep(paths, path):
    return [path, *(one for other in paths if other[:-1] == path for one in _deep(paths, other))]


def _wide(paths):
    order = [("main",)]
    for path in _deep(paths, ("main",)):
        order += [other for other in paths if other[:-1] == path]
    return order


def pipit_csv(folder: Path, times, ranks):
    """Write events of all ranks, nanosecond by nanosecond."""
    lines = ["Timestamp (ns), Event Type, Name, Process"]

    def write(path, rank, at):
        name = f'"{path[-1]}"' if "," in path[-1] else path[-1]
        lines.append(f"{at}, Enter, {name}, {rank}")
        at += round(times[path][rank] * 1e9)
        for other in times:
            if other[:-1] == path:
                at = write(other, rank, at)
        lines.append(f"{at}, Leave, {name}, {rank}")
        return at

    for rank in range(ranks):
        write(("main",), rank, 1000)
    return _written(folder / "run.csv", "\n".join(lines) + "\n")


def projections(folder: Path, times, ranks):
    """Write the logs of all processors: methods inside one another, and 7 ms idle."""
    names = sorted({path[-1] for path in times})
    entries = "".join(f'ENTRY CHARE {n} "{name}" 0 0\n' for n, name in enumerate(names))
    head = f"PROJECTIONS_ID\nPROCESSORS {ranks}\n{entries}"
    for rank in range(ranks):
        lines, at = ["PROJECTIONS-RECORD 9", "6 0"], 0

        def write(path, at, lines=lines, rank=rank):
            lines.append(f"2 4 {names.index(path[-1])} {at} 0 0 64")
            at += round(times[path][rank] * 1e6)
            for other in times:
                if other[:-1] == path:
                    at = write(other, at)
            lines.append(f"3 0 {names.index(path[-1])} {at} 0 0 0")
            return at

        at = write(("main",), 0)
        lines += [f"14 {at} {rank}", f"15 {at + 7000} {rank}", f"7 {at + 7000}"]
        _written(folder / f"run.prj.{rank}.log", "\n".join(lines) + "\n")
    return _written(folder / "run.prj.sts", head)


def nsight(folder: Path, kernels, copies, collectives, graphs=(), process=77):
    """Write an export of Nsight Systems: spans in nanoseconds, with names of kernels and calls.

    A kernel may name its process, last.
    """
    path = folder / "report.sqlite"
    path.unlink(missing_ok=True)
    names = sorted({name for name, *_ in [*kernels, *collectives]})
    with sqlite3.connect(path) as connection:
        run = connection.execute
        run("CREATE TABLE StringIds (id INTEGER, value TEXT)")
        for number, name in enumerate(names):
            run("INSERT INTO StringIds VALUES (?, ?)", (number, name))
        run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
            "globalPid INTEGER, shortName INTEGER)")  # fmt: skip
        run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER)")
        run("CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, "
            "textId INTEGER)")  # fmt: skip
        run("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, "
            "globalPid INTEGER)")  # fmt: skip
        for name, start, end, *owner in kernels:
            run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?)",
                (start, end, (owner or [process])[0] << 24, names.index(name)))  # fmt: skip
        for start, end in graphs:
            run("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, ?)",
                (start, end, process << 24))  # fmt: skip
        for start, end in copies:
            run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 8)", (start, end))
        for name, start, end in collectives:
            run("INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (?, ?, ?, ?)",
                (start, end, (process << 24) + 5, names.index(name)))  # fmt: skip
    connection.close()
    return path


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


WRITERS = {
    "Caliper": caliper,
    "Caliper, own times": lambda *a: caliper(*a, whole=False),
    "Caliper JSON": caliper_json,
    "TAU": tau,
    "HPCToolkit": hpctoolkit,
    "Pipit": pipit_csv,
    "CUBE": cube,
    "CUBE, exclusive": lambda *a: cube(*a, kind="EXCLUSIVE"),
    "CUBE, packed": lambda *a: cube(*a, packed=True),
    "CUBE, old": lambda *a: cube(*a, old=True),
    "CUBE, threads": lambda *a: cube(*a, threads=3),
}
