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

from table import git, materialised

from parcast.errors import ParcastError
from parcast_spmd import network_files
from parcast_spmd.mixed.network import MixedNetwork
from parcast_spmd.mixed.solve import solve_mixed
from parcast_spmd.mva.choice import solve, utilization

REPOSITORIES = (
    "FrancioT+PEA-project-2024", "JohanRuuskanen+Performance2021_code", "TomasBoboi+epsc-proiect",
    "Visco01+IMDb-Rails-Performance-Project", "ZYYTTTTT+Queuing-Model-Simulations",
    "aralara+PEA-project-2022", "frabera+jsimIO", "imperial-qore+line-solver",
    "layeredqueuing+V6", "leoguerra8+PerformanceEvaluation", "loretor+JMTNewVersion",
    "neoaggelos+prf-simulation",
)  # fmt: skip

#: Our tables by the words that end the name of JMT's measure.
TABLES = {
    "Number of Customers": "queue_length", "Response Time": "visit_response",
    "Throughput": "visit_rate", "Utilization": "utilization",
}  # fmt: skip

#: By how much of an interval of confidence a mean may lie outside: they are of 99 %, and many.
WIDER = 2.0


def solved(path: Path) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Return the classes, our tables by station, and bounds of whole times by class."""
    network = network_files.read(path)
    if isinstance(network, MixedNetwork):
        answer = solve_mixed(network)
        data = answer.to_data()
        whole = {
            name: (answer.cycle_time_lower[r], answer.cycle_time_upper[r])
            for r, name in enumerate(network.classes)
        }
        return list(network.classes), data, whole
    closed = solve(network)
    data = closed.to_data()
    data["utilization"] = utilization(network, closed)
    names = [job.name for job in network.classes]
    times = closed.cycle_time
    return names, data, {name: (times[r], times[r]) for r, name in enumerate(names)}


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
        if "System Response Time" in name and len(classes) == 1:
            least, most = whole[classes[0]]
        elif kind and station in data.get(TABLES[kind], {}) and "System" not in name:
            table = data[TABLES[kind]][station]
            if kind == "Response Time" and len(rows) > 1:
                continue
            least = most = sum(table[r] for r in rows)
        else:
            continue
        room = WIDER * (high - low) / 2
        middle = (low + high) / 2
        yield least - room <= middle <= most + room, f"{name} {least:.5g}"
    for solution in root.iterfind("solutions"):
        series = [one.get("type") for one in root.iterfind("whatIf")]
        if series == ["Number of Customers"] and "analytical" in solution.get("solutionMethod", ""):
            yield from analysed(path, solution)


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
    options = parser.parse_args()
    rows = []
    for repository in REPOSITORIES:
        clone = options.clones / repository
        clone = clone / "repo" if (clone / "repo").is_dir() else clone
        if not clone.is_dir():
            continue
        commit = git(clone, "rev-parse", "HEAD").decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            for name, path in materialised(clone, r"\.(jsimg|jmva)$", Path(folder)):
                rows.append(cells(repository, name, path, commit))
    taken = sum(row[4].startswith("read") for row in rows)
    facts = [row[5].split() for row in rows if row[5]]
    agree, all_facts = (sum(int(fact[i]) for fact in facts) for i in (0, 2))
    head = ["repository", "path", "commit", "bytes", "outcome", "JMT's results that agree", "s"]
    verdict = f"{agree} of {all_facts} of JMT's own results agree."
    how = (
        "A mean that JMT has simulated agrees if ours, or an interval that we prove, lies within "
        f"{WIDER:g} half widths of its 99 % interval; a mean of JMVA to 9 digits."
    )
    lines = [f"{len(rows)} networks of JMT, {taken} solved; {verdict}", "", how, ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")
    print(lines[0])


if __name__ == "__main__":
    main()
