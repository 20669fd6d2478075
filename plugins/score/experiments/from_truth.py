"""Makes the shipped datasets of public systems from tidy tables: ``from_truth.py FOLDER``.

The folder has a folder for each source with ``points.csv``. Only columns that are known before a
run become facts: what was measured besides the time, such as iterations, does not.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parents[1] / "src" / "parcast_score" / "datasets"
HEADS = ("series", "size", "value", "low", "high", "work", "group")

Row = Mapping[str, str]


def clouds(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield applications on clouds; runs with more threads than cores are left out."""
    for row in rows:
        if row["role"] != "application" or row["primary"] != "yes":
            continue
        if "oversubscribed" in row["flags"]:
            continue
        yield {
            **_common(row),
            "work": _cloud_work(row),
            "group": f"{row['system']} {row['application']} {row['ranks_per_node']}",
            "system": row["system"],
            "application": row["application"],
            "scaling": row["scaling"],
            "processes": row["processes"],
            "nodes.cores": row["ranks_per_node"],
            "ranks": row["ranks_per_node"],
            "elements": f"{_elements(row):.12g}",
            "machine": row["system"].partition("+")[0].replace("/", "-"),
            "parameters": row["parameters"],
        }


#: What an application says of how often each element is worked on.
_OFTEN = {
    "lammps-reax": ("steps",),
    "minife": ("cg_iters",),
    "kripke": ("groups", "quad", "iters"),
}


def _elements(row: Row) -> float:
    """Return the atoms, unknowns, particles or zones of all processes."""
    stated = dict(part.partition("=")[::2] for part in row["parameters"].split(";"))
    match row["application"]:
        case "amg2023":
            return _product(stated["local"]) * float(row["processes"])
        case "lammps-reax":
            return float(stated["atoms"])
        case "minife":
            return _product(stated["grid"])
        case "quicksilver":
            return float(stated["particles_per_rank"]) * float(row["processes"])
        case _:
            return _product(stated["zones"])


def _cloud_work(row: Row) -> float:
    """Return the elements times all that is done with each."""
    stated = dict(part.partition("=")[::2] for part in row["parameters"].split(";"))
    return _elements(row) * prod(float(stated[name]) for name in _OFTEN.get(row["application"], ()))


#: What LAMMPS reports of its loop, as means over ranks.
_PARTS = ("pair", "neigh", "comm", "modify")


def parts(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield what LAMMPS measured of the parts of its loop, at points with a known time."""
    for row in rows:
        part = row["metric"].removeprefix("avg_").removesuffix("_seconds")
        if row["application"] == "lammps-reax" and part in _PARTS:
            named = {"series": row["series"], "size": row["size"]}
            yield {**named, "part": part, "seconds": row["median"]}


def machines(rows: Iterable[Row]) -> Iterable[tuple[str, str]]:
    """Yield machine files: latency of 8 bytes and bandwidth by OSU, at the fewest nodes."""
    numbers: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in rows:
        kind = row["application"].removesuffix("_hh")
        size = {"osu_latency": "8", "osu_bw": "1048576"}.get(kind)
        if row["role"] == "input" and size and row["message_bytes"] == size:
            nodes, value = float(row["size"]), float(row["median"])
            of_system = numbers[row["system"]]
            of_system[kind] = min(of_system.get(kind, (nodes, value)), (nodes, value))
    for system, measured in sorted(numbers.items()):
        if "+" not in system:
            name = system.replace("/", "-")
            values = {kind: f"{value:g}" for kind, (_, value) in measured.items()}
            nodes = {kind: f"{count:g}" for kind, (count, _) in measured.items()}
            yield name, _MACHINE.format(name=name, system=system, values=values, nodes=nodes)


_MACHINE = """\
name = "{name}"
summary = "{system}: its network as OSU measured it, and a core of one operation a nanosecond"
source = "converged-computing/performance-study on GitHub, MIT licence"

[processor]
rate = "1 GFLOP/s"

[network]
startup = "{values[osu_latency]} us"
bandwidth = "{values[osu_bw]} MB/s"
contention = "none"

[sources]
"processor.rate" = "assumed: workloads are fitted, so that only work over rate counts"
"network.startup" = "measured: osu_latency, 8 bytes, {nodes[osu_latency]} nodes"
"network.bandwidth" = "measured: osu_bw, 1 MiB, {nodes[osu_bw]} nodes"
"network.contention" = "assumed: workloads share the bandwidth among the ranks of a node"
"""


def _product(text: str) -> float:
    x, y, z = map(float, text.split("x"))
    return x * y * z


def training(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield seconds a step, also where a throughput is all there is; the work is the batch."""
    for row in rows:
        if row["role"] != "application" or row["primary"] != "yes":
            continue
        point = _common(row)
        if row["metric"] == "throughput_logged":
            batch = float(row["global_batch"])
            point["value"], point["low"], point["high"] = (
                f"{batch / float(row[name]):.6g}" for name in ("median", "max", "min")
            )
        yield {
            **point,
            "work": float(row["global_batch"]),
            "group": row["series"],
            "system": row["system"],
            "application": row["application"],
            "accelerator": row["accelerator"],
            "nodes": row["nodes"],
            "sequence_length": row["sequence_length"],
            **{name: row[name] for name in ("tp", "pp", "cp", "grad_accum")},
        }


#: Samples of a batch and seconds that it is computed for, of MLPerf Storage v1.0's configurations.
#: Four are as mlcommons/storage has them; unet3d on h100 and resnet50 on a100 are assumed, since
#: what was seen of these two are versions before the release.
_EMULATED = {
    ("unet3d", "a100"): (7, 0.636), ("unet3d", "h100"): (7, 0.323),
    ("resnet50", "a100"): (400, 0.435), ("resnet50", "h100"): (400, 0.224),
    ("cosmoflow", "a100"): (1, 0.00551), ("cosmoflow", "h100"): (1, 0.00350),
}  # fmt: skip


def storage(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield samples a second of all emulated accelerators, and how long each computes a sample."""
    for row in rows:
        if row["role"] == "application" and row["primary"] == "yes":
            emulated = row["application"], row["accelerator_emulated"]
            samples, seconds = _EMULATED.get(emulated, (1, None))
            yield {
                **_common(row),
                "work": 1,
                "group": f"{row['application']} {row['accelerator_emulated']} {row['family']}",
                "system": row["system"],
                "application": row["application"],
                "accelerator": row["accelerator_emulated"],
                "hosts": row["hosts"],
                "compute": "" if seconds is None else f"{seconds / samples:.6g}",
            }


def sailor(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield seconds an iteration of two models; the work is the global batch."""
    for row in rows:
        yield {
            **_common(row),
            "work": float(row["global_batch"]),
            "group": row["series"],
            "application": row["application"],
            "cluster": row["cluster"],
            "processes": row["processes"],
            **{name: row[name] for name in ("tp", "pp", "dp", "microbatch")},
        }


def gradients(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return what sailor measured of the reduction of gradients, where one run has the size.

    Figures that the source doubts, or that stand in two of its files, are left out.
    """
    alike: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        alike[row["series"], row["size"]].append(row)
    table = []
    for (series, size), several in alike.items():
        (row, *more) = several
        if more or row["flags"] or not row["grad_reduce_seconds"]:
            continue
        reducing = float(row["grad_reduce_seconds"])
        rest = f"{float(row['median']) - reducing:.6g}"
        for part, seconds in (("gradients", f"{reducing:.6g}"), ("rest", rest)):
            table.append({"series": series, "size": size, "part": part, "seconds": seconds})
    return table


def calculon(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield seconds a batch; the work is that of matrices, as Megatron counts it."""
    for row in rows:
        hidden, seq, layers = (float(row[name]) for name in ("hidden", "seq", "layers"))
        matrices = float(row["global_batch"]) * seq * layers * hidden**2 * (1 + seq / (6 * hidden))
        names = ("tp", "pp", "dp", "interleave")
        yield {
            **_common(row),
            "work": f"{matrices:.9g}",
            "group": row["series"],
            "application": row["application"],
            "recompute": row["activation_recompute"],
            **{name: row[name] for name in ("layers", "hidden", "heads")},
            "sequence": row["seq"],
            **{name: row[name] for name in names},
            "micro_batch": row["microbatch"],
            "global_batch": row["global_batch"],
        }


def _common(row: Row) -> dict[str, Any]:
    spread = {"low": row["min"], "high": row["max"]} if row["n"] not in ("", "1") else {}
    point = {"series": row["series"], "size": row["size"], "value": row["median"]}
    return {**point, "low": "", "high": "", **spread}


def merged(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points with those that nothing tells apart as their median."""
    alike: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for point in points:
        key = tuple(value for name, value in point.items() if name not in ("value", "low", "high"))
        alike[key].append(point)
    result = []
    for several in alike.values():
        point = dict(several[0])
        if len(several) > 1:
            values = [float(item["value"]) for item in several]
            point["value"] = f"{median(values):.6g}"
            point["low"] = min(float(item["low"] or item["value"]) for item in several)
            point["high"] = max(float(item["high"] or item["value"]) for item in several)
        result.append(point)
    return sorted(result, key=lambda point: (point["series"], float(point["size"])))


SOURCES: Mapping[str, tuple[str, Callable[[Iterable[Row]], Iterable[dict[str, Any]]]]] = {
    "clouds": ("perfstudy", clouds),
    "mlperf-training": ("mlperf_training_v51", training),
    "mlperf-storage": ("mlperf_storage_v10", storage),
    "sailor": ("sailor", sailor),
    "selene": ("calculon", calculon),
}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main(folder: Path) -> None:
    """Write ``points.csv`` of every dataset, and measured parts and machines where there are."""
    for name, (source, convert) in SOURCES.items():
        with (folder / source / "points.csv").open(encoding="utf-8") as file:
            points = merged(convert(csv.DictReader(file)))
        write(HERE / name / "points.csv", points)
        print(f"{name}: {len(points)} points")
    with (folder / "sailor" / "points.csv").open(encoding="utf-8") as file:
        write(HERE / "sailor" / "parts.csv", gradients(csv.DictReader(file)))
    with (folder / "perfstudy" / "points.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    write(HERE / "clouds" / "parts.csv", list(parts(rows)))
    for name, text in machines(rows):
        (HERE / "clouds" / f"{name}.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
