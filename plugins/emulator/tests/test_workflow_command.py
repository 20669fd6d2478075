from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from parcast.cli import main


def test_the_graph_of_an_application_is_written(tmp_path, capsys):
    file = tmp_path / "titan.svg"
    assert main(["emulator", "workflow", "titan", "-o", str(file)]) == 0
    assert capsys.readouterr() == ("", "")
    assert ET.parse(file).getroot().tag.endswith("svg")


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
