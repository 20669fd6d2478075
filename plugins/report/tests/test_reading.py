from __future__ import annotations

import json

import pytest
from rows import whole

import parcast_report
from parcast import Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast_report.reading import read_results

REGISTRY = Registry([parcast_report])


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_what_was_written_is_read_back(tmp_path, suffix):
    path = tmp_path / f"results{suffix}"
    REGISTRY.write(whole(), path)
    found = read_results(path)
    assert found.rows == whole().rows
    assert bool(found.provenance) == (suffix == ".json")


def altered(**changes):
    data = whole().to_dict()
    data["rows"][0] |= changes
    return json.dumps(data)


BAD = {
    "rows": ("[]", "no object with 'rows'"),
    "schema": ('{"schema": 2, "rows": []}', "schema = 2 where this parcast reads 1"),
    "empty": ('{"schema": 1, "rows": []}', "there are no rows"),
    "json": ("{", "not valid JSON"),
    "nan": ('{"schema": 1, "rows": [NaN]}', "NaN is no number"),
    "huge": (altered(time=1e308).replace("1e+308", "1e999"), "time = inf"),
    "row": ('{"schema": 1, "rows": [3]}', r"rows\[0\]: a row is an object, not 3"),
    "time": (altered(time="long"), "time"),
    "p": (altered(p=0), "p = 0 is no value"),
    "status": (altered(status="fine"), "status"),
    "solver": (altered(solver=3), "expected str @ row.solver"),
    "parts": (altered(parts=[1]), "@ row.parts"),
    "charge": (altered(details={"charge": 3}), "charge is no object"),
    "key": (altered(tyme=3), "unknown key 'tyme'"),
    "provenance": ('{"schema": 1, "rows": [], "provenance": 3}', "provenance must be an object"),
    "run": ('{"schema": 1, "rows": [], "provenance": {"run": 3}}', "provenance.run"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, case):
    text, message = BAD[case]
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read_results(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_writes_beside_the_results(tmp_path, monkeypatch, capsys):
    REGISTRY.write(whole(), tmp_path / "r.json")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "r.json"]) == 0
    assert capsys.readouterr() == ("r.html\n", "")
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "a.doc"], "no writer for '.doc'"),
        (["-o", "a.svg", "--interactive"], "only .html can be"),
        (["-o", "none/a.html"], "none/a.html"),
    ],
)
def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch, capsys, more, message):
    REGISTRY.write(whole(), tmp_path / "r.json")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "r.json", *more]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
