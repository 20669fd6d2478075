"""Answers under every word for sharing, and how far apart they are."""

from __future__ import annotations

import json

import pytest

from parcast.cli import main

PROGRAM = '''"""Everyone sends to the next at once."""

def program(rank, size):
    sendrecv((rank + 1) % size, 8, (rank - 1) % size)
'''
MACHINE = """
name = "bus"
[processor]
rate = 1
[network]
startup = 1
bandwidth = 8
contention = "bus"
"""


@pytest.fixture
def files(tmp_path):
    program, machine = tmp_path / "shift.py", tmp_path / "bus.toml"
    program.write_text(PROGRAM)
    machine.write_text(MACHINE)
    return str(program), str(machine)


def test_each_word_is_answered_and_the_spread_is_told(files, capsys):
    assert main(["petri", "uncertainty", *files, "-p", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    times = {(one["option"], one["word"]): one["time"] for one in found["answers"]}
    assert times["sharing", "none"] == 2
    assert times["sharing", "fixed_batch"] == 4  # 1 + 3 of 1 s
    assert times["sharing", "fixed_sequential"] == 4  # the last of three sees all three
    assert times["sharing", "ps_all"] == times["sharing", "ps_transfer"] == 4
    assert times["startup", "inside"] == 6
    assert times["sends", "blocking"] == 4
    assert (found["time"], found["least"], found["most"]) == (4, 2, 6)
    assert main(["petri", "uncertainty", *files, "-p", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "* sharing ps_transfer       4 s" in lines
    assert lines[-1] == "between 2 and 6 s: 100.0% apart"


def test_words_without_an_answer_say_why(files, capsys):
    asked = [*files, "-p", "3", "--set", "petri.sharing=fcfs"]
    assert main(["petri", "uncertainty", *asked]) == 0
    assert "no answer: petri.sharing = 'fcfs' has its startups" in capsys.readouterr().out
