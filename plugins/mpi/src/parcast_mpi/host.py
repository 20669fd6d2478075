"""The host: which one it is, and how much else it does."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path
from typing import Annotated

import attrs

from parcast import Unit
from parcast.model import Count

Share = Annotated[float, Unit("1", most=1.0)]


@attrs.frozen(kw_only=True)
class Host:
    """The host that a machine file was measured on."""

    id: str  #: what the host is known by
    processor: str = ""  #: its model
    cores: Count = 1  #: of the host
    measured: str = ""  #: the day
    busy: Share = 0.0  #: of all cores, with other work, before the measurement
    steal: Share = 0.0  #: of all cores, taken by other guests of the hardware
    overloaded: bool = False  #: measured although it was busier than a measurement may bear
    #: speed relative to the machine that counts as 1
    weight: Annotated[float, Unit("1", positive=True)] | None = None


@attrs.frozen
class Ticks:
    """What all cores did since the start of the system, in ticks."""

    busy: int
    steal: int
    total: int

    def since(self, before: Ticks) -> Load:
        """Return the load between two readings."""
        total = max(self.total - before.total, 1)
        return Load((self.busy - before.busy) / total, (self.steal - before.steal) / total)


@attrs.frozen
class Load:
    """Shares of the time of all cores."""

    busy: float  #: working, for whomever
    steal: float  #: wanted, and given to another guest of the hardware

    def __str__(self) -> str:
        cores = os.cpu_count() or 1
        stolen = f", {self.steal:.1%} stolen" if self.steal >= 0.001 else ""
        return f"{self.busy * cores:.1f} of {cores} cores busy{stolen}"


def processor_name() -> str:
    """Return the model of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def identity() -> str:
    """Return what tells this host from others: no name of it can be read off."""
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""
    whole = "\n".join([machine, platform.node(), processor_name(), str(os.cpu_count())])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def read_ticks(text: str) -> Ticks:
    """Return the first line of ``/proc/stat``: user nice system idle iowait irq softirq steal."""
    fields = [int(word) for word in text.split("\n", 1)[0].split()[1:9]]
    fields += [0] * (8 - len(fields))
    idle, steal = fields[3] + fields[4], fields[7]
    return Ticks(sum(fields) - idle - steal, steal, sum(fields))


def ticks() -> Ticks | None:
    """Return what all cores did until now, or None where no ``/proc/stat`` tells."""
    try:
        return read_ticks(Path("/proc/stat").read_text())
    except OSError:
        return None


def load(seconds: float) -> Load | None:
    """Watch the host for some seconds; None where it does not tell."""
    before = ticks()
    time.sleep(seconds)
    after = ticks()
    return after.since(before) if before and after else None
