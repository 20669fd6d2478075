"""Read Petri nets of public repositories, and count the states of those of a contest.

    uv run python experiments/trace-files/petri_nets.py CLONES -o petri-nets.md

CLONES has git repositories called ``owner+name``. The Model Checking Contest states how many
markings each of its nets reaches (yanntm/pnmcc-models-2021, ``oracleSS.tar.gz``); those of small
nets are counted here, by a plain search over the net that was read.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import tarfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from table import git, most_memory, wanted_files

from parcast.errors import ParcastError
from parcast_petri.nets.net import Net
from parcast_petri.nets.pnml.reading import read_pnml

REPOSITORIES = (
    "TAPAAL+verifypn", "DAT10CPN+verifypn", "TAPAAL-Developers+verifypn", "TAPAAL+unfoldTACPN",
    "Tj-Cong+enPAC-2019", "Tj-Cong+CPN_PNML_PARSE", "lip6+pnmlframework", "nicolasAmat+SMPT",
    "strangehurst+PNMLToolkit.jl",
)  # fmt: skip
MOST_STATES = 60_000


def published(clones: Path) -> dict[str, int]:
    """Return the numbers of markings that the contest states, by net."""
    clone = clones / "yanntm+pnmcc-models-2021" / "repo"
    packed = git(clone, "show", "HEAD:oracleSS.tar.gz")
    counts = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            name = Path(member.name).name
            file = archive.extractfile(member) if name.endswith("-SS.out") else None
            text = file.read().decode() if file else ""
            if stated := re.search(r"STATES (\d{1,9})\b", text):
                counts[name.removesuffix("-SS.out")] = int(stated[1])
    return counts


def states(net: Net) -> int | None:
    """Return how many markings a net reaches, None if they are more than are counted."""
    index = {place: i for i, place in enumerate(net.places)}
    moves = [
        (
            [(index[p], n) for p, n in t.pre.items()],
            [(index[p], n) for p, n in t.inhibitor.items()],
            [(index[p], n) for p, n in t.change().items()],
        )
        for t in net.transitions
    ]
    by_place: list[list[int]] = [[] for _ in net.places]
    free = [m for m, (takes, _, _) in enumerate(moves) if not takes]
    for m, (takes, _, _) in enumerate(moves):
        if takes:
            by_place[takes[0][0]].append(m)
    first = tuple(net.initial.get(place, 0) for place in net.places)
    seen, ahead = {first}, [first]
    while ahead:
        marking = ahead.pop()
        for m in free + [m for i, tokens in enumerate(marking) if tokens for m in by_place[i]]:
            takes, inhibits, changes = moves[m]
            if any(marking[i] < n for i, n in takes) or any(marking[i] >= n for i, n in inhibits):
                continue
            after = list(marking)
            for i, n in changes:
                after[i] += n
            reached = tuple(after)
            if reached not in seen:
                if len(seen) >= MOST_STATES:
                    return None
                seen.add(reached)
                ahead.append(reached)
    return len(seen)


def row(path: Path, name: str, counts: dict[str, int]) -> dict[str, Any]:
    """Return what reading a file says."""
    began, before = time.process_time(), most_memory()
    try:
        document = read_pnml(path)
    except ParcastError as error:
        reason = str(error).replace(str(path), "").removeprefix(": ")
        return {"how": f"refused: {reason}", "seconds": time.process_time() - began,
                "memory": most_memory() - before}  # fmt: skip
    except Exception as error:  # noqa: BLE001  (a defect: the page has to show it)
        return {"how": f"**failed: {error!r}**", "seconds": 0.0, "memory": 0}
    result: dict[str, Any] = {
        "how": "read, unfolded" if document.unfolded else "read",
        "seconds": time.process_time() - began, "memory": most_memory() - before,
        "places": len(document.net.places), "transitions": len(document.net.transitions),
        "arcs": sum(len(t.pre) + len(t.post) for t in document.net.transitions),
    }  # fmt: skip
    known = counts.get(document.net.name) or counts.get(Path(name).parent.name)
    if known and known <= MOST_STATES:
        own = states(document.net)
        result["facts"] = f"{known:,} markings" if own == known else f"**{own}, not {known}**"
    return result


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("petri-nets.md"))
    options = parser.parse_args()
    counts, rows, seen = published(options.clones), [], set()
    for repository in REPOSITORIES:
        for name, path, commit, _ in wanted_files(options.clones, repository, r"\.pnml$"):
            content = hashlib.sha256(path.read_bytes()).digest()
            if content in seen:
                continue
            seen.add(content)
            with get_context("fork").Pool(1) as pool:
                answer = pool.apply(row, (path, name, counts))
            rows.append([
                repository.replace("+", "/"), name, commit[:8], f"{path.stat().st_size:,}",
                " ".join(answer["how"].split()).replace("|", "\\|")[:200],
                *(str(answer.get(key, "")) for key in ("places", "transitions", "arcs")),
                answer.get("facts", ""), f"{answer['seconds']:.2f}",
                f"{answer['memory'] / 1024:.0f}",
            ])  # fmt: skip
    taken = sum(line[4].startswith("read") for line in rows)
    unfolded = sum(line[4] == "read, unfolded" for line in rows)
    facts = [line[8] for line in rows if line[8]]
    same = sum("**" not in fact for fact in facts)
    head = ["repository", "path", "commit", "bytes", "outcome", "places", "transitions", "arcs",
            "markings that the contest states too", "s", "MiB"]  # fmt: skip
    read = f"{len(rows)} different files, {taken} read, {unfolded} of these unfolded from colors"
    lines = [f"{read}; {same} of {len(facts)} numbers of markings equal.", ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    options.output.write_text("\n".join(lines) + "\n")
    print(lines[0])


if __name__ == "__main__":
    main()
