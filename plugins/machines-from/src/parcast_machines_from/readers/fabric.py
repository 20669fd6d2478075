"""``ibnetdiscover``: the nodes of an InfiniBand fabric, and what their ports carry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from parcast_machines_from.records import Fact, Lines, Reading

_SWITCH = re.compile(r'^Switch\s+\d+\s+"[^"]+"\s+#\s+"')
_ADAPTER = re.compile(r'^Ca\s+\d+\s+"([^"]+)"\s+#\s+"([^"]*)"')
_PEER = re.compile(r'^\[\d+\]\s+"(H-[^"]+)"')
_PORT = re.compile(
    r'^\[\d+\](?:\([0-9a-fA-F]+\))?\s+"[^"]+"\[\d+\].*\b(\d+)x([SDQEHNX]DR|FDR(?:10)?)\b'
)

#: Gbit a second of one lane, as ``ibstat`` states rates.
_LANES = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0,
    "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip


def read(lines: Lines) -> Reading:
    """Return how many nodes there are, and what the ports of most of them carry.

    Raises
    ------
    FileError
        If adapters at a switch have no part of their own, as where the file is cut.
    """
    if not any(_SWITCH.match(text) for text in lines.lines):
        return Reading()
    described = {match[1] for text in lines.lines if (match := _ADAPTER.match(text))}
    at_switches = {match[1] for text in lines.lines if (match := _PEER.match(text))}
    if missing := len(at_switches - described):
        raise lines.wrong(
            lines.last,
            f"{missing} adapter{'s' * (missing > 1)} at switches have no part of their own, so "
            "the file is cut; write the whole output of ibnetdiscover",
        )
    return Reading(facts=tuple(_facts(lines)))


def _facts(lines: Lines) -> Iterator[Fact]:
    rates: dict[str, float] = {}
    first: dict[str, int] = {}
    host = ""
    for line, text in enumerate(lines.lines, 1):
        if match := _ADAPTER.match(text):
            host = (match[2].split() or [match[1]])[0]
            rates.setdefault(host, 0.0)
            first.setdefault(host, line)
        elif not text.strip() or _SWITCH.match(text):
            host = ""
        elif host and not lines.is_cut(line) and (match := _PORT.match(text)):
            rates[host] += int(match[1]) * _LANES[match[2]] * 1e9 / 8
    if not rates:
        return
    note = f", {len(rates)} hosts with adapters as ibnetdiscover has them"
    yield Fact("nodes.count", len(rates), lines.path, min(first.values()), "measured", note)
    common = Counter(rate for rate in rates.values() if rate).most_common(1)
    for rate, hosts in common:
        line = next(first[host] for host in rates if rates[host] == rate)
        note = f", the ports of {hosts} of {len(rates)} hosts as ibnetdiscover has them"
        yield Fact("ports.bandwidth", rate, lines.path, line, "published", note)
