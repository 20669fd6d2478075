from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from parcast.errors import FileError
from parcast_spmd.commands import app

TWO = {
    "stations": [
        {"name": "think", "type": "delay", "demand": [5, 4]},
        {"name": "bus", "type": "queue", "demand": [0.2, 0.3]},
        {"name": "disk", "type": "queue", "demand": [1, 0]},
    ],
    "classes": [{"name": "a", "population": 8}, {"name": "b", "population": 4}],
}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "net.json"
    file.write_text(json.dumps(TWO))
    return str(file)


def test_table(path):
    result = CliRunner().invoke(app, ["network", path])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split()[:4] == ["station", "class", "response", "[s]"]
    assert lines[3].split() == ["bus", "a", "0.340235", "0.310478", "0.1825"]
    assert lines[-1] == "method: integral (exact by quadrature, about 12 digits)"


def test_json(path):
    result = CliRunner().invoke(app, ["network", path, "--json"])
    data = json.loads(result.stdout)
    assert data["method"] == "integral"
    assert data["response"]["disk"][1] == 0
    assert set(data["queue_length"]) == {"think", "bus", "disk"}


def test_approximation_says_so(path):
    result = CliRunner().invoke(app, ["network", path, "--method", "linearizer"])
    assert "proven: 0.465116 to 1 /s" in result.stdout
    assert "Linearizer approximation" in result.stdout
    assert result.stdout.endswith("Approximate: this method was asked for.\n")
    result = CliRunner().invoke(app, ["network", path, "--method", "linearizer", "--json"])
    assert json.loads(result.stdout)["bounds"]["throughput"]["upper"][0] == 1.0


def test_errors_are_raised_for_the_command_line_to_print(tmp_path):
    result = CliRunner().invoke(app, ["network", str(tmp_path / "none.json")])
    assert isinstance(result.exception, FileError)
    assert result.stdout == ""


def test_import_is_light():
    code = "import sys, parcast_spmd.commands; assert not {'numpy', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
