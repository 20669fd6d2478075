"""Shares of matrix products fitted on half of a public table's shapes, judged on the rest: gemm.md.

    python experiments/machines-from/gemm.py AICONFIGURATOR/repo

Tables of ai-dynamo/aiconfigurator (Apache-2.0) are read from its git folder; pyarrow has to be
installed. A hash of a shape says in which half it is.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from parcast import Registry
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import read_file
from parcast_machines_from.records import Reading

REVISION = "095f58a51c4c"
DATA = "aic-core/src/aiconfigurator_core/systems/data"
TABLES = {
    "a100_sxm/gemm/trtllm/1.0.0": "a100-hdr",
    "a100_sxm/gemm/vllm/0.14.0": "a100-hdr",
    "h100_sxm/gemm/trtllm/1.3.0rc20": "h100-ndr",
    "h100_sxm/gemm/vllm/0.24.0": "h100-ndr",
    "b200_sxm/gemm/vllm/0.24.0": "gb200-nvl72",
}
SMALL, LARGE = 1024, "m, n and k of 1,024 or more"

TEXT = """# Matrix products by shape

Written by `experiments/machines-from/gemm.py` from tables of `ai-dynamo/aiconfigurator` (Apache-2.0, {revision}), which
are not here: seconds of products in bf16 by m, n and k, as the libraries of inference engines compute them. `parcast
machine from` fits shares of the accelerator's rate by operations, and of its memory's bandwidth by bytes, on half of
the shapes, drawn by a hash of each; errors are of times of the other half. Beside it stand the shares of the shipped
machine, which know nothing of the table (that for B200 is `gb200-nvl72`), and one share for all sizes, the median.

| table | shapes of | judged | fitted, median | 90 % within | sum of all | shipped, median | one share, median |
|---|---|---|---|---|---|---|---|
{rows}

A share by operations alone does not see which of m, n and k is short: what is left differs by shape of equal size, which
the intervals of the shares say: {covered:.0%} of the held-out products of large m, n and k are within 1.64 standard
deviations. Counting whole tiles of 256 by 128 (`accelerator.units`) is no better here: with it 90 % are within 25 to 35 %. So a machine that is fitted states no `units`.

These are products by themselves on an idle accelerator. Within a step they are slower: the four published steps of
[training](../../docs/training.md) come out {steps} with the first table's shares on `a100-hdr`.
"""  # noqa: E501


def table(folder: str, name: str) -> str:
    """Return a table's products in bf16 as CSV."""
    line = ["git", f"--git-dir={folder}", "show", f"{REVISION}:{DATA}/{name}/gemm_perf.parquet"]
    data = subprocess.run(line, check=True, capture_output=True).stdout  # noqa: S603
    rows = pyarrow.parquet.read_table(io.BytesIO(data))
    rows = rows.filter(pyarrow.compute.equal(rows["gemm_dtype"], "bfloat16"))
    out = io.BytesIO()
    pyarrow.csv.write_csv(rows, out, pyarrow.csv.WriteOptions(quoting_style="none"))
    return out.getvalue().decode().replace(chr(34), "")


def halves(text: str) -> tuple[str, list[dict[str, str]]]:
    """Return the table of the shapes to fit, and the rows to judge."""
    head, *lines = text.splitlines()
    names, fitted, judged = head.split(","), [head], []
    for line in lines:
        row = dict(zip(names, line.split(","), strict=True))
        shape = "x".join(row[name] for name in "mnk")
        if int(hashlib.sha256(shape.encode()).hexdigest(), 16) % 2:
            judged.append(row)
        else:
            fitted.append(line)
    return "\n".join([*fitted, ""]), judged


def read_text(text: str) -> Reading:
    """Return what the readers say of a table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gemm_perf.csv"
        file.write_text(text)
        return read_file(file)


def judged_rows(registry: Registry, folder: str, name: str, machine: str) -> list[str]:
    """Return the page's rows of a table."""
    text, held = halves(table(folder, name))
    reading = read_text(text)
    fitted = registry.machine(estimate(reading, "fitted", {}, registry.machine(machine)).data)
    shipped = registry.machine(machine)
    m, n, k, ms = (
        np.array([float(row[key]) for row in held]) for key in ("m", "n", "k", "latency")
    )
    flops, moved = 2 * m * n * k, 2 * (m * k + k * n + m * n)
    values = [value for item in reading.series for value in item.values]
    one = float(np.median([value.size / value.value for value in values if value.size > 1e10]))
    predicted = {
        "fitted": seconds(fitted, flops, moved),
        "shipped": seconds(shipped, flops, moved),
        "one": flops / one,
    }
    rows = []
    large = (m >= SMALL) & (n >= SMALL) & (k >= SMALL)
    for title, chosen in (("all", large | True), (LARGE, large)):
        offs = {key: np.abs(p / (ms * 1e-3) - 1)[chosen] for key, p in predicted.items()}
        total = predicted["fitted"][chosen].sum() / (ms[chosen].sum() * 1e-3) - 1
        rows.append(
            f"| {name.replace('/gemm', '').replace('/', ' ')} | {title} | {chosen.sum():,} "
            f"| {np.median(offs['fitted']):.1%} | {np.quantile(offs['fitted'], 0.9):.0%} "
            f"| {total:+.1%} | {np.median(offs['shipped']):.1%} | {np.median(offs['one']):.0%} |"
        )
    return rows


def seconds(machine: Any, flops: NDArray[np.float64], moved: NDArray[np.float64]) -> Any:
    """Return the times of products on a machine."""
    return machine.accelerator.seconds(flops, moved, precision="bf16", kind="gemm")


def step_errors(registry: Registry, folder: str) -> str:
    """Return the errors of the published steps with the shares of the first table."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "plugins/training/experiments"))
    from published_steps import error_of, points

    name, machine = next(iter(TABLES.items()))
    reading = read_text(table(folder, name))
    fitted = registry.machine(estimate(reading, "fitted", {}, registry.machine(machine)).data)
    errors = [error_of(registry, fitted, point) for point in points()]
    return f"{-max(errors):.0%} to {-min(errors):.0%} too short"


def coverage(registry: Registry, folder: str) -> float:
    """Return the share of large held-out products within their intervals, of all tables."""
    inside, count = 0, 0
    for name, machine in TABLES.items():
        text, held = halves(table(folder, name))
        result = estimate(read_text(text), "fitted", {}, registry.machine(machine))
        steps = [s for s in result.data["accelerator"]["efficiency"] if s["kind"] == "gemm"]
        accelerator = registry.machine(machine).accelerator
        assert accelerator is not None
        rate = accelerator.rate("bf16")
        for row in held:
            if min(int(row[key]) for key in "mnk") < SMALL:
                continue
            flops = 2.0 * int(row["m"]) * int(row["n"]) * int(row["k"])
            step = [s for s in steps if s.get("least", 0) <= flops][-1]
            share, _, spread = str(step["share"]).partition(" +- ")
            reached = flops / rate / (float(row["latency"]) * 1e-3)
            inside += abs(reached - float(share)) <= 1.64 * float(spread or 0)
            count += 1
    return inside / count


def main() -> None:
    """Write the page."""
    folder, registry = sys.argv[1], Registry()
    rows = [row for name, m in TABLES.items() for row in judged_rows(registry, folder, name, m)]
    page = TEXT.format(
        revision=REVISION,
        rows="\n".join(rows),
        covered=coverage(registry, folder),
        steps=step_errors(registry, folder),
    )
    Path(__file__).with_name("gemm.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
