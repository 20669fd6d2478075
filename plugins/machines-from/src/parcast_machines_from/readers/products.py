"""Matrix products by shape: tables with m, n and k, rocBLAS, hipBLASLt, mamf-finder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from parcast_machines_from.records import Fact, Lines, Reading, Series, Value, number

_TIMES = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "s": 1.0, "seconds": 1.0}
_RATES = {"gflops": 1e9, "gflop/s": 1e9, "tflops": 1e12, "tflop/s": 1e12}

#: Columns that say in which precision a row computes, the one that counts first.
_PRECISION = ("gemm_dtype", "a_type", "precision", "dtype", "d_type")
_PRECISIONS = {
    "bfloat16": "bf16", "bf16": "bf16", "bf16_r": "bf16",
    "float16": "fp16", "half": "fp16", "fp16": "fp16", "f16_r": "fp16", "h": "fp16",
    "float32": "fp32", "float": "fp32", "fp32": "fp32", "f32_r": "fp32", "s": "fp32",
    "tf32": "tf32", "float64": "fp64", "double": "fp64", "fp64": "fp64", "f64_r": "fp64",
    "fp8": "fp8", "f8_r": "fp8", "float8_e4m3fn": "fp8", "nvfp4": "fp4", "fp4": "fp4",
    "int8": "int8", "i8_r": "int8",
}  # fmt: skip
_OPTION = re.compile(r"(?:\s-r|--precision|--a_type|--dtype|\*\* Dtype:)[ =]+(?:torch\.)?(\w+)")

#: Bytes of an operand, and of a result.
_WIDTHS = {"fp64": (8, 8), "fp32": (4, 4), "tf32": (4, 4), "fp8": (1, 2), "fp4": (0.5, 2),
           "int8": (1, 4)}  # fmt: skip

_SHAPE = r"(\d+)x(\d+)x(\d+)"
_TRIED = re.compile(rf"([\d.]+)\(median\).* @ {_SHAPE}|^\s*median:\s+([\d.]+) TFLOPS @ {_SHAPE}")
_SCOUTED = re.compile(rf"^\s*\d+\s+{_SHAPE}\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s+[\d.]+")
_CAPACITY = re.compile(r"\b(\d+)\s?GB\b")


def read(lines: Lines) -> Reading:
    """Return the seconds of products by precision; nothing where the file has no shapes.

    Raises
    ------
    FileError
        Naming the line, if nothing says the precision, or a number is none.
    """
    products: dict[str, list[Value]] = {}
    other: dict[str, int] = {}
    names: dict[str, int] = {}
    tool = "matrix products"
    for line, row in _rows(lines):
        tool = row.get("tool", tool)
        spelt = row["precision"].lower()
        if spelt not in _PRECISIONS:
            other[spelt] = other.get(spelt, 0) + 1
            continue
        if "device" in row:
            names.setdefault(row["device"], line)
        products.setdefault(_PRECISIONS[spelt], []).append(_value(lines, line, row))
    notes = tuple(
        f"{lines.path}: {count:,} products in {name} are of no precision of a machine's file; "
        "left out"
        for name, count in other.items()
    )
    series = tuple(
        Series("products", "s", tuple(values), lines.path, tool, memory="device", precision=name)
        for name, values in products.items()
    )
    return Reading(series, tuple(_facts(lines, names)), notes)


def _rows(lines: Lines) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield what each product's line says, by name, with its number."""
    head: list[str] = []
    begin, stated = 0, ""
    for line, text in enumerate(lines.lines, 1):
        if match := _OPTION.search(text):
            stated = match[1]
        cells = _cells(text)
        lowered = [cell.lower() for cell in cells]
        if {"m", "n", "k"} <= set(lowered):
            head, begin = lowered if _measure(lowered) else [], line
            continue
        if match := _TRIED.search(text) or _SCOUTED.match(text):
            yield line, _tried(lines, line, match, stated)
            continue
        if not head or lines.is_cut(line) or not cells:
            continue
        if len(cells) != len(head):
            if line == begin + 1 and "," in text:
                raise lines.wrong(line, f"{len(cells)} cells stand below {len(head)} heads")
            continue
        row = dict(zip(head, cells, strict=True))
        if row.get("op_name", "gemm") == "gemm":
            yield line, {**row, "precision": _precision(lines, line, row, stated)}


def _cells(text: str) -> list[str]:
    text = re.sub(r"^\[\d+\]:", "", text.strip()).replace("(usec)", "").replace("time ", "usec ")
    return [cell.strip() for cell in text.split(",")] if "," in text else text.split()


def _measure(head: Sequence[str]) -> tuple[str, float, bool] | None:
    """Return the column of a product's time or rate, its unit, and whether it is a time."""
    if "latency" in head and "gemm_dtype" in head:
        return "latency", 1e-3, True  # aiconfigurator's, in milliseconds
    for units, timed in ((_TIMES, True), (_RATES, False)):
        for name in head:
            unit = re.split(r"[_\-( ]", name.rstrip(")"))[-1]
            if unit in units and not name.startswith("cpu"):
                return name, units[unit], timed
    return None


def _precision(lines: Lines, line: int, row: Mapping[str, str], stated: str) -> str:
    spelt = next((row[name] for name in _PRECISION if name in row), stated)
    if not spelt:
        raise lines.wrong(
            line,
            "nothing says in which precision this product is; add a column dtype, such as bf16, "
            "or the benchmark's command line",
        )
    return spelt


def _tried(lines: Lines, line: int, match: re.Match[str], stated: str) -> Mapping[str, str]:
    values = [group for group in match.groups() if group is not None]
    rate, shape = (values[3], values[:3]) if match.re is _SCOUTED else (values[0], values[1:])
    row = {**dict(zip("mnk", shape, strict=True)), "tflops": rate, "tool": "mamf-finder"}
    return {**row, "precision": _precision(lines, line, row, stated)}


def _value(lines: Lines, line: int, row: Mapping[str, str]) -> Value:
    m, n, k = (number(lines, line, row[name], name, least=1) for name in "mnk")
    count = number(lines, line, row.get("batch_count", "1"), "batch_count", least=1)
    measure = _measure(list(row))
    assert measure is not None
    name, unit, timed = measure
    flops = 2 * count * m * n * k
    stated = number(lines, line, row[name], name, least=1e-12) * unit
    operand, result = _WIDTHS.get(_PRECISIONS[row["precision"].lower()], (2, 2))
    moved = count * (operand * (m * k + k * n) + result * m * n)
    return Value(flops, stated if timed else flops / stated, line, moved=moved)


def _facts(lines: Lines, names: Mapping[str, int]) -> Iterator[Fact]:
    """Yield the device, and its memory where its name has it."""
    if len(names) != 1:
        return
    ((name, line),) = names.items()
    yield Fact("accelerator.name", name, lines.path, line)
    if match := _CAPACITY.search(name):
        size, note = int(match[1]) * 10**9, ", the device's name"
        yield Fact("accelerator.memory", size, lines.path, line, "published", note)
