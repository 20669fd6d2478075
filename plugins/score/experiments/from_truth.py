"""Makes the shipped datasets of public systems from tidy tables: ``from_truth.py FOLDER``.

The folder has a folder for each source with ``points.csv``. Only columns that are known before a
run become facts: what was measured besides the time, such as iterations, does not.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
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
            "ranks_per_node": row["ranks_per_node"],
            "parameters": row["parameters"],
        }


def _cloud_work(row: Row) -> float:
    stated = dict(part.partition("=")[::2] for part in row["parameters"].split(";"))
    match row["application"]:
        case "amg2023":
            return _product(stated["local"]) * float(row["processes"])
        case "lammps-reax":
            return float(stated["atoms"]) * float(stated["steps"])
        case "minife":
            return _product(stated["grid"]) * float(stated["cg_iters"])
        case "quicksilver":
            return float(stated["particles_per_rank"]) * float(row["processes"])
        case _:
            zones = _product(stated["zones"]) * float(stated["groups"]) * float(stated["quad"])
            return zones * float(stated["iters"])


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


def storage(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield samples a second of all emulated accelerators together."""
    for row in rows:
        if row["role"] == "application" and row["primary"] == "yes":
            yield {
                **_common(row),
                "work": 1,
                "group": f"{row['application']} {row['accelerator_emulated']} {row['family']}",
                "system": row["system"],
                "application": row["application"],
                "accelerator": row["accelerator_emulated"],
                "hosts": row["hosts"],
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


def calculon(rows: Iterable[Row]) -> Iterable[dict[str, Any]]:
    """Yield seconds a batch; the work is that of matrices, as Megatron counts it."""
    for row in rows:
        hidden, seq, layers = (float(row[name]) for name in ("hidden", "seq", "layers"))
        matrices = float(row["global_batch"]) * seq * layers * hidden**2 * (1 + seq / (6 * hidden))
        names = ("layers", "hidden", "heads", "seq", "tp", "pp", "dp", "interleave", "microbatch")
        yield {
            **_common(row),
            "work": f"{matrices:.9g}",
            "group": row["series"],
            "application": row["application"],
            "recompute": row["activation_recompute"],
            **{name: row[name] for name in names},
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


def main(folder: Path) -> None:
    """Write ``points.csv`` of every dataset."""
    for name, (source, convert) in SOURCES.items():
        with (folder / source / "points.csv").open(encoding="utf-8") as file:
            points = merged(convert(csv.DictReader(file)))
        path = HERE / name / "points.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(points[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(points)
        print(f"{name}: {len(points)} points")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
