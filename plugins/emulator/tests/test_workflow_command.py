from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import parcast_emulator
from parcast import Registry
from parcast.cli import main
from parcast_emulator.workflow import draw

REGISTRY = Registry([parcast_emulator])
SVG = "{http://www.w3.org/2000/svg}"


def test_the_graph_of_an_application_is_written(tmp_path, capsys):
    file = tmp_path / "titan.svg"
    assert main(["emulator", "workflow", "titan", "-o", str(file)]) == 0
    assert capsys.readouterr() == ("", "")
    assert ET.parse(file).getroot().tag.endswith("svg")


@pytest.mark.parametrize("workload", REGISTRY.workloads)
def test_no_two_operations_are_drawn_at_one_place(workload):
    graph = REGISTRY.workload(workload).content.emulator.workflow
    root = ET.fromstring(draw(graph))
    boxes = [(one.get("x"), one.get("y")) for one in root.iter(f"{SVG}rect")]
    assert len(set(boxes)) == len(boxes) == len(graph.steps)
    assert len(list(root.iter(f"{SVG}path"))) == len(graph.dependencies) + 1


@pytest.mark.parametrize(
    ("workload", "output", "sentence"),
    [
        ("titan", "titan.png", "the graph is written as SVG; end the name in .svg"),
        ("titan", "nowhere/titan.svg", "cannot be written: No such file or directory"),
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
