"""mixbench, the Empirical Roofline Tool and mt-dgemm: peaks of operations and of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import attrs
import numpy as np

from parcast_machines_from.records import Fact, Lines, Quantity, Reading, Series, Value, number

_MIXBENCH = re.compile(r"^\s*mixbench(?:-(\w+))?(?:/\w+)?(?:\s+\((v[\w.-]+)\))?", re.IGNORECASE)
_GROUPS = re.compile(r"^\s*Experiment ID,\s*Single Precision ops")
_COLUMNS = re.compile(r"^\s*Compute iters,\s*Flops/byte")
_DEVICE = re.compile(r"^\s*Device:\s+(\S.*?)\s*$")
_MEMORY = re.compile(r"^\s*Total global mem:\s+(\d+)\s*MB\s*$")
_STATED = re.compile(r"^\s*Memory bandwidth:\s+([\d.]+) GB/sec")
_PRECISIONS = {"Single": "fp32", "Double": "fp64", "Half": "fp16", "Integer": ""}

_PEAK = re.compile(r"^\s*([\d.eE+-]+)\s+(?:(FP64|FP32|FP16)\s+)?GFLOPs EMP\b")
_BANDWIDTH = re.compile(r"^\s*([\d.eE+-]+)\s+DRAM EMP\b")
_OPTION = re.compile(r"^\s*(GPU_BLOCKS|GPU_THREADS|MPI_PROCS|OPENMP_THREADS)\s+(\d+)\s*$")

_PRODUCT = re.compile(r"^\s*GFLOP/s rate:\s+([\d.eE+-]+)\s+GF/s")
_PRODUCT_TIME = re.compile(r"^\s*Multiply time:\s+[\d.]+ seconds")


def read(lines: Lines) -> Reading:
    """Return the peaks that an output has; nothing where it is none of them.

    Raises
    ------
    FileError
        Naming the line, if a number is none, or a result is wrong.
    """
    return _mixbench(lines) + _roofline(lines) + _product(lines)


def _mixbench(lines: Lines) -> Reading:
    """Return the largest rate of each precision, and the memory's at the lowest intensity.

    At others its rate may be that of a cache.
    """
    start = next((at for at, text in enumerate(lines.lines, 1) if _COLUMNS.match(text)), None)
    if start is None or start < 2 or not _GROUPS.match(lines.lines[start - 2]):
        return Reading()
    names = re.findall(r"(Single|Double|Half|Integer)\b", lines.lines[start - 2])
    matches = (_MIXBENCH.match(text) for text in lines.lines[:start])
    match = next((match for match in matches if match), None)
    kind, version = (match[1] or "", match[2] or "") if match else ("", "")
    memory: Literal["host", "device"] = "host" if kind == "cpu" else "device"
    best: dict[str, tuple[float, int]] = {}
    moving: list[float] = []
    notes: list[str] = []
    for line in range(start + 1, lines.last + 1):
        cells = [cell.strip() for cell in lines.lines[line - 1].split(",")]
        if not cells[0].isdecimal():
            break
        if lines.is_cut(line) or len(cells) != 1 + 4 * len(names):
            notes.append(f"{lines.path}:{line}: the file ends within this row; left out")
            break
        for at, name in enumerate(names):
            if number(lines, line, cells[4 * at + 2], "the time") == 0:
                continue  # the device lacks the precision; its rates are -nan or inf
            value = number(lines, line, cells[4 * at + 3], "a rate") * 1e9
            if (key := _PRECISIONS[name]) and value > best.get(key, (0.0, 0))[0]:
                best[key] = value, line
            if line == start + 1:
                moving.append(number(lines, line, cells[4 * at + 4], "a rate") * 1e9)
    if moving:
        best["memory"] = float(np.median(moving)), start + 1
        notes += _beyond(lines, start, best)
    tool = f"mixbench {version}".strip()
    series = [
        Series("memory", "B/s", (Value(0.0, value, line),), lines.path, tool, memory=memory)
        if key == "memory"
        else Series(
            "peak", "FLOP/s", (Value(0.0, value, line),), lines.path, tool, memory=memory,
            precision=key,
        )
        for key, (value, line) in best.items()
    ]  # fmt: skip
    facts = tuple(_device(lines, start)) if memory == "device" and series else ()
    return Reading(tuple(series), facts, tuple(notes))


def _beyond(lines: Lines, stop: int, best: dict[str, tuple[float, int]]) -> Iterator[str]:
    """Leave out a memory's rate above what its vendor states, and say it."""
    for text in lines.lines[:stop]:
        if (match := _STATED.match(text)) and best["memory"][0] > float(match[1]) * 1e9 > 0:
            rate, line = best.pop("memory")
            yield (
                f"{lines.path}:{line}: the memory's {rate / 1e9:.4g} GB/s are more than the "
                f"{match[1]} GB/s that the device has; left out"
            )
            return


def _device(lines: Lines, stop: int) -> Iterator[Fact]:
    for line, text in enumerate(lines.lines[:stop], 1):
        if match := _DEVICE.match(text):
            yield Fact("accelerator.name", match[1], lines.path, line)
        if match := _MEMORY.match(text):
            yield Fact("accelerator.memory", int(match[1]) * 2**20, lines.path, line)


@attrs.frozen
class _Peak:
    """A peak that the roofline tool found, with the options of the run that reached it."""

    quantity: Quantity
    value: Value
    precision: str
    options: dict[str, int] = attrs.field(factory=dict, eq=False)


def _roofline(lines: Lines) -> Reading:
    """Return the peaks of the Empirical Roofline Tool: operations, and the last memory's."""
    peaks: list[_Peak] = []
    for line, text in enumerate(lines.lines, 1):
        if match := _PEAK.match(text):
            rate = number(lines, line, match[1], "the rate", least=1e-9) * 1e9
            peaks.append(_Peak("FLOP/s", Value(0.0, rate, line), (match[2] or "").lower()))
        elif match := _BANDWIDTH.match(text):
            rate = number(lines, line, match[1], "the rate", least=1e-9) * 1e9
            peaks.append(_Peak("B/s", Value(0.0, rate, line), ""))
        elif peaks and (match := _OPTION.match(text)):
            peaks[-1].options[match[1]] = int(match[2])
    options = [name for peak in peaks for name in peak.options]
    device = any(name.startswith("GPU") for name in options)
    notes = []
    if device and any(peak.quantity == "FLOP/s" and not peak.precision for peak in peaks):
        line = next(peak.value.line for peak in peaks if peak.quantity == "FLOP/s")
        notes.append(f"{lines.path}:{line}: no precision stands beside this rate; not used")
    return Reading(
        tuple(
            Series(
                "peak" if peak.quantity == "FLOP/s" else "memory", peak.quantity, (peak.value,),
                lines.path, "ERT", processes=_workers(peak.options),
                memory="device" if device else "host", precision=peak.precision,
            )
            for peak in peaks
        ),
        notes=tuple(notes),
    )  # fmt: skip


def _workers(options: dict[str, int]) -> int | None:
    if "MPI_PROCS" not in options and "OPENMP_THREADS" not in options:
        return None
    return options.get("MPI_PROCS", 1) * options.get("OPENMP_THREADS", 1)


def _product(lines: Lines) -> Reading:
    """Return the rate of mt-dgemm; products on other devices print no time of a multiply."""
    series: Sequence[Series] = ()
    timed = False
    for line, text in enumerate(lines.lines, 1):
        timed = timed or bool(_PRODUCT_TIME.match(text))
        if timed and "Solution check FAILED" in "\n".join(lines.lines[:line]):
            raise lines.wrong(line, "mt-dgemm says that its result is wrong; run it again")
        if timed and (match := _PRODUCT.match(text)) and not lines.is_cut(line):
            rate = number(lines, line, match[1], "the rate", least=1e-9) * 1e9
            values = (Value(0.0, rate, line),)
            series = (*series, Series("gemm", "FLOP/s", values, lines.path, "mt-dgemm", nodes=1))
    return Reading(tuple(series))
