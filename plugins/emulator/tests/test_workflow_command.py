from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

import parcast_emulator
from parcast import Registry
from parcast.cli import main
from parcast_emulator.workflow import dot

REGISTRY = Registry([parcast_emulator])
SVG = "{http://www.w3.org/2000/svg}"


def test_the_graph_of_an_application_is_written(graphviz, tmp_path, capsys):
    file = tmp_path / "titan.svg"
    assert main(["emulator", "workflow", "titan", "-o", str(file)]) == 0
    assert capsys.readouterr() == ("", "")
    root = ET.parse(file).getroot()
    groups = Counter(group.get("class") for group in root.iter(f"{SVG}g"))
    assert groups == {"graph": 1, "cluster": 2, "node": 5, "edge": 4}
    assert root.findtext(f"{SVG}g/{SVG}title") == "titan"
    labels = {text.text for text in root.iter(f"{SVG}text")}
    assert {"node with the block", "read", "compute own"} <= labels


@pytest.mark.parametrize("workload", REGISTRY.workloads)
def test_the_text_has_all_operations_and_dependencies(workload):
    graph = REGISTRY.workload(workload).content.emulator.workflow
    text = dot(graph)
    frames = re.findall(r'label="(.+?)"; .*?style=rounded; (.+) }', text)
    steps = [(location, name) for location, names in frames for name in names.split("; ")]
    assert sorted(steps) == sorted((step.location, f'"{step.name}"') for step in graph.steps)
    arrows = re.findall(r'"(.+)" -> "(.+)"( \[style=dashed.*)?;', text)
    assert [(before, after, bool(dashed)) for before, after, dashed in arrows] == [
        (one.before, one.after, one.remote) for one in graph.dependencies
    ]


@pytest.mark.parametrize(
    ("workload", "output", "sentence"),
    [
        ("titan", "titan.jpg", "a graph is written as .svg, .png, .pdf or .dot"),
        ("titan", "nowhere/titan.dot", "cannot be written: there is no folder"),
        ("titn", "titan.svg", "Did you mean 'titan'?"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, capsys, workload, output, sentence):
    assert main(["emulator", "workflow", workload, "-o", str(tmp_path / output)]) == 2
    assert sentence in capsys.readouterr().err


def test_only_emulated_applications_have_a_graph(tmp_path, capsys):
    file = tmp_path / "phases.toml"
    file.write_text('name = "x"\n[[phase]]\nparallel = 1\n')
    assert main(["emulator", "workflow", str(file), "-o", str(tmp_path / "x.svg")]) == 2
    assert "have blocks and a work-flow graph" in capsys.readouterr().err
