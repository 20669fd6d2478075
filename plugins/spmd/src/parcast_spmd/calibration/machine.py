"""The machine's file that follows from the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast.errors import ParcastError, UnitError
from parcast.files import table_text
from parcast.quantities import parse_quantity, to_base
from parcast_spmd.calibration.fitting import (
    Line,
    exchange_totals,
    fit_line,
    saturation,
)
from parcast_spmd.calibration.tables import read_table


@attrs.frozen
class Value:
    """A value of a machine's file, where it is from, and what to say of it."""

    key: str  #: such as ``network.startup``
    text: str | int
    source: str
    note: str = ""


def from_poly1(rate: str) -> list[Value]:
    """Return the processor's rate as POLY1 gives it."""
    _quantity("--poly1", rate, "FLOP/s", "120 MFLOP/s")
    return [Value("processor.rate", rate, "measured: POLY1")]


def from_comms1(argument: str) -> list[Value]:
    """Return startup and bandwidth: two numbers of COMMS1, or a ping-pong table to fit.

    Raises
    ------
    ParcastError
        If it is neither, or the table has no such line.
    """
    if not _is_file(argument):
        startup, comma, bandwidth = (piece.strip() for piece in argument.partition(","))
        if not comma:
            raise ParcastError(
                f"--comms1 {argument!r}: give a .csv file, or startup and bandwidth such as "
                "'150 us, 27 MB/s'"
            )
        _quantity("--comms1", startup, "s", "150 us")
        _quantity("--comms1", bandwidth, "B/s", "27 MB/s")
        return [
            Value("network.startup", startup, "measured: COMMS1"),
            Value("network.bandwidth", bandwidth, "measured: COMMS1"),
        ]
    path = Path(argument)
    table = read_table(path, [("bytes", "seconds"), ("bytes", "round_trip")])
    times = table.get("seconds") or [time / 2 for time in table["round_trip"]]
    line = fit_line(table["bytes"], times, argument)
    return _line_values(line, path)


def _line_values(line: Line, path: Path) -> list[Value]:
    source = (
        f"measured: ping-pong of {line.sizes} sizes in {path.name}; startup + bytes / bandwidth is "
        f"within {max(100 * line.error, 0.01):.2g} % in the median"
    )
    startup = _with_spread(line.startup, line.startup_spread, 1e-6, "us")
    bandwidth = _with_spread(line.bandwidth, line.bandwidth_spread, 1e6, "MB/s")
    return [
        Value("network.startup", startup, source),
        Value("network.bandwidth", bandwidth, source),
    ]


def from_comms3(argument: str) -> list[Value]:
    """Return the saturation: a number of COMMS3, or a table of exchanges.

    Raises
    ------
    ParcastError
        If it is neither.
    """
    if not _is_file(argument):
        _quantity("--comms3", argument, "B/s", "120 MB/s")
        return [Value("network.saturation", argument, "measured: COMMS3")]
    path = Path(argument)
    table = read_table(path, [("p", "bytes", "seconds"), ("p", "bandwidth")])
    if "bandwidth" in table:
        processes, totals = table["p"], table["bandwidth"]
    else:
        processes, totals = exchange_totals(table["p"], table["bytes"], table["seconds"], argument)
    peak = saturation(processes, totals)
    note = ""
    if peak.growing:
        note = (
            f"the total bandwidth still grows at p={peak.p}: the network is not saturated there, "
            "and w is an upper bound; measure more processes"
        )
    text = f"{peak.bandwidth / 1e6:.4g} MB/s"
    source = f"measured: all-to-all exchange in {path.name}, largest at p={peak.p}"
    return [Value("network.saturation", text, source, note)]


def from_disks(bandwidth: str | None, disks: int | None) -> list[Value]:
    """Return the storage: one disk's bandwidth and how many there are."""
    values = []
    if disks is not None:
        if disks < 1:
            raise ParcastError(f"--disks {disks}: there must be 1 or more")
        values.append(Value("storage.disks", disks, "measured: counted, as given"))
    if bandwidth is not None:
        _quantity("--disk", bandwidth, "B/s", "10 MB/s")
        values.append(Value("storage.bandwidth", bandwidth, "measured: one disk, writing"))
    return values


def contention(values: list[Value]) -> float | None:
    """Return the contention level w = bandwidth / saturation, section 5.1.1.

    Raises
    ------
    ParcastError
        If the network saturates below the bandwidth of a single pair.
    """
    texts = {value.key: value.text for value in values}
    if not {"network.bandwidth", "network.saturation"} <= set(texts):
        return None
    level = float(
        parse_quantity(texts["network.bandwidth"]).value
        / parse_quantity(texts["network.saturation"]).value
    )
    if level > 1.05:
        raise ParcastError(
            f"the saturation, {texts['network.saturation']}, is below the bandwidth of one pair, "
            f"{texts['network.bandwidth']}; --comms3 takes the total of all processes"
        )
    return min(1.0, level)


def machine_text(name: str, values: list[Value]) -> str:
    """Return the machine's file in TOML, every number with its source."""
    level = contention(values)
    comment = "" if level is None else f"w = bandwidth / saturation = {level:.3g}"
    return table_text(machine_data(name, values), {("network", "saturation"): comment})


def machine_data(name: str, values: list[Value]) -> dict[str, Any]:
    """Return the machine as data, every number with its source."""
    data: dict[str, Any] = {"name": name, "source": "low-level kernels"}
    for value in values:
        part, _, key = value.key.partition(".")
        data.setdefault(part, {})[key] = value.text
    sources: Mapping[str, str] = {value.key: value.source for value in values}
    return {**data, "sources": sources}


def _is_file(argument: str) -> bool:
    return Path(argument).suffix.lower() == ".csv"


def _quantity(option: str, text: str, dimension: str, example: str) -> None:
    try:
        value = to_base(text, dimension)
    except UnitError as error:
        raise ParcastError(f"{option}: {error}; write such as {example}") from None
    if value <= 0:
        raise ParcastError(f"{option}: {text!r} must be above 0, such as {example}")


def _with_spread(value: float, spread: float, size: float, unit: str) -> str:
    """Return a quantity with its uncertainty, which a file of parcast may state."""
    text = f"{value / size:.4g}"
    return f"{text} +- {spread / size:.2g} {unit}" if spread > 1e-4 * value else f"{text} {unit}"
