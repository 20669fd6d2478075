"""Read queuing networks of JMT of public repositories, and compare them with JMT's own results.

    uv run python experiments/trace-files/nets.py CLONES -o nets.md

CLONES has git repositories called ``owner+name``. JMT's results stand in the files that it saved
after a simulation, each with an interval of confidence, or after mean value analysis.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from table import renewed, wanted_files

from parcast.errors import ParcastError
from parcast_spmd import network_files
from parcast_spmd.mixed.network import MixedSolution
from parcast_spmd.mva.choice import utilization
from parcast_spmd.mva.closed_network import ClosedNetwork, NetworkSolution

REPOSITORIES = (
    "FrancioT+PEA-project-2024", "JohanRuuskanen+Performance2021_code", "TomasBoboi+epsc-proiect",
    "Visco01+IMDb-Rails-Performance-Project", "ZYYTTTTT+Queuing-Model-Simulations",
    "aralara+PEA-project-2022", "frabera+jsimIO", "imperial-qore+line-solver",
    "layeredqueuing+V6", "leoguerra8+PerformanceEvaluation", "loretor+JMTNewVersion",
    "matte21+line-solver",
    "neoaggelos+prf-simulation",
)  # fmt: skip

#: Our tables by the words that end the name of JMT's measure.
TABLES = {
    "Number of Customers": "queue_length", "Response Time": "visit_response",
    "Throughput": "visit_rate", "Utilization": "utilization",
}  # fmt: skip

#: By how much of an interval of confidence a mean may lie outside: they are of 99 %, and many.
WIDER = 2.0
#: Means of less than this share of the largest say little of how far a simulation is off.
SMALL = 0.02


def solved(path: Path) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Return the classes, our tables by station, and bounds of whole times by class."""
    answer = network_files.solve_file(path)
    solution, data = answer.solution, answer.solution.to_data()
    if isinstance(solution, NetworkSolution):
        assert isinstance(answer.network, ClosedNetwork)
        data["utilization"] = utilization(answer.network, solution)
        names = [job.name for job in answer.network.classes]
        times = solution.cycle_time
        return names, data, {name: (times[r], times[r]) for r, name in enumerate(names)}
    if isinstance(solution, MixedSolution):
        assert answer.network is not None
        names = list(answer.network.classes)
        bounds = (solution.cycle_time_lower, solution.cycle_time_upper)
    else:
        names, bounds = list(solution.classes), (solution.cycle_time,) * 2
    whole = {
        name: (low, high) for name, low, high in zip(names, *bounds, strict=True) if low is not None
    }
    return names, data, whole


def simulated(root: ET.Element) -> Iterator[tuple[str, str, str, float, float]]:
    """Yield measure, station, class and interval of what JMT has simulated."""
    results = root.find("results")
    series = root.find("jmodel/parametric") is not None or root.find(".//parametric") is not None
    for measure in () if results is None else results.iterfind("measure"):
        samples = measure.findall("sample")
        alone = measure.get("finalValue") is not None  # not one of a what-if series
        if not samples or not alone or series or measure.get("nodeType") == "region":
            continue
        low, high = (float(samples[-1].get(key, "nan")) for key in ("lowerBound", "upperBound"))
        if math.isfinite(low) and math.isfinite(high):
            name = measure.get("name", "")
            yield name, measure.get("referenceStation", ""), measure.get("referenceClass", ""), \
                low, high  # fmt: skip


def compared(path: Path) -> Iterator[tuple[bool, str]]:
    """Yield whether a result of JMT's agrees, and how."""
    classes, data, whole = solved(path)
    root = ET.parse(path).getroot()  # noqa: S314  (read above by the reader, which refuses bombs)
    for name, station, job, low, high in simulated(root):
        kind = next((kind for kind in TABLES if name.endswith(kind)), None)
        rows = [classes.index(job)] if job in classes else list(range(len(classes)))
        if name.endswith("Firing Throughput") and "firing_rate" in data:
            least = most = data["firing_rate"].get(fired(name), math.nan)
        elif "System Response Time" in name and len(rows) == 1 and classes[rows[0]] in whole:
            least, most = whole[classes[rows[0]]]
            if list(whole.values()).count((least, most)) > 1:
                continue  # classes that turn into one another: ours is of all of them
        elif name.endswith("System Throughput") and (job in classes or len(classes) == 1):
            least = most = data["throughput"][rows[0]]
        elif kind and station in data.get(TABLES[kind], {}) and "System" not in name:
            table = data[TABLES[kind]][station]
            if kind == "Response Time" and len(rows) > 1:
                continue
            least = most = sum(table[r] for r in rows)
        else:
            continue
        share = widest(data)
        room = WIDER * ((high - low) / 2 + share * abs(least))
        middle = (low + high) / 2
        yield least - room <= middle <= most + room, f"{name} {least:.5g}"
    for solution in root.iterfind("solutions"):
        series = [one.get("type") for one in root.iterfind("whatIf")]
        if series == ["Number of Customers"] and "analytical" in solution.get("solutionMethod", ""):
            yield from analysed(path, solution)


def widest(data: dict[str, Any]) -> float:
    """Return how far a simulation of ours may be off, as a share of its means; 0 of others."""
    shares = [
        reach / mean
        for table, rows in data.get("reach", {}).items()
        for name, row in rows.items()
        for reach, mean in zip(row, data[table][name], strict=True)
        if mean > SMALL * max(map(max, data[table].values()))
    ]
    return max(shares, default=0.0)


def fired(name: str) -> str:
    """Return our name of a mode, of JMT's name of its measure."""
    transition, _, mode = name.removesuffix("_Firing Throughput").rpartition("_")
    return f"{transition}/{mode}"


#: Files whose results are not of the network in them, and why that is plain
OTHERS = {
    ("leoguerra8+PerformanceEvaluation", "Model.jsimg"): "its one job would keep Memory busy for "
    "34 % and Rendering for 98 % of the time, and is never at both",
    ("imperial-qore+line-solver", "jar/src/test/resources/jsimg/transformation/preload.jsimg"):
    "0.668 jobs would leave each second where 0.5 come",
}  # fmt: skip


def analysed(path: Path, solution: ET.Element) -> Iterator[tuple[bool, str]]:
    """Yield whether a point of JMVA's series of populations agrees."""
    text = path.read_text()
    (before,) = {part.partition('"')[0] for part in text.split('population="')[1:]}
    value = int(float(solution.get("iterationValue", "nan")))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "point.jmva"
        copy.write_text(text.replace(f'population="{before}"', f'population="{value}"'))
        _, data, _ = solved(copy)
    for station in solution.iterfind("algorithm/stationresults"):
        for measure in station.iterfind("classresults/measure"):
            if measure.get("measureType") == "Number of Customers":
                theirs, ours = float(measure.get("meanValue", "nan")), data["queue_length"][
                    station.get("station", "")
                ][0]  # fmt: skip
                yield math.isclose(theirs, ours, rel_tol=1e-9), f"{station.get('station')} {value}"


def cells(repository: str, name: str, path: Path, commit: str) -> list[str]:
    """Return the row of a file."""
    began, facts = time.process_time(), ""
    try:
        how = f"read, {solved(path)[1]['method']}"
        seconds = time.process_time() - began
        agreeing = list(compared(path))
        wrong = [text for same, text in agreeing if not same]
        facts = f"{len(agreeing) - len(wrong)} of {len(agreeing)}" if agreeing else ""
        if wrong and (repository, name) in OTHERS:
            facts = f"results of another network: {OTHERS[repository, name]}"
        else:
            facts += f" **{'; '.join(wrong)}**" if wrong else ""
    except ParcastError as error:
        seconds = time.process_time() - began
        how = f"refused: {str(error).replace(str(path), '').removeprefix(': ')}"
    except Exception as error:  # noqa: BLE001  (a defect: the page has to show it)
        seconds, how = 0.0, f"**failed: {error!r}**"
    return [
        repository.replace("+", "/"), name, commit[:8], f"{path.stat().st_size:,}",
        " ".join(how.split()).replace("|", "\\|"), facts, f"{seconds:.2f}",
    ]  # fmt: skip


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("nets.md"))
    parser.add_argument("--only", default="", help="files whose path matches this")
    options = parser.parse_args()
    rows = []
    for repository in REPOSITORIES:
        files = wanted_files(options.clones, repository, rf"{options.only}.*\.(jsimg|jmva)$")
        rows += [cells(repository, name, path, commit) for name, path, commit, _ in files]
    rows = renewed(options.output, rows)
    taken = sum(row[4].startswith("read") for row in rows)
    facts = [row[5].split() for row in rows if row[5][:1].isdigit()]
    agree, all_facts = (sum(int(fact[i]) for fact in facts) for i in (0, 2))
    head = ["repository", "path", "commit", "bytes", "outcome", "JMT's results that agree", "s"]
    verdict = f"{agree} of {all_facts} of JMT's own results agree."
    how = (
        "A mean that JMT has simulated agrees if ours, or an interval that we prove, lies within "
        f"{WIDER:g} half widths of its 99 % interval (and of ours, where we simulate); a mean of "
        "JMVA to 9 digits."
    )
    lines = [f"{len(rows)} networks of JMT, {taken} solved; {verdict}", "", how, ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")
    print(lines[0])


if __name__ == "__main__":
    main()
