from __future__ import annotations

import copy
import json

import pytest

from parcast.errors import FileError
from parcast_spmd.mva.json_files import network_from_data, read_network

GOOD = {
    "id": "X1",
    "stations": [
        {"name": "think", "type": "delay", "demand": ["5.0", 4]},
        {"name": "bus", "type": "queue", "demand": [0.2, "3e-1"]},
    ],
    "classes": [{"name": "a", "population": 8}, {"name": "b", "population": 4.0}],
}


def changed(*path, value=None, remove=False):
    data = copy.deepcopy(GOOD)
    place = data
    for key in path[:-1]:
        place = place[key]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


def test_a_good_file(tmp_path):
    path = tmp_path / "net.json"
    path.write_text(json.dumps(GOOD))
    network = read_network(path)
    assert network.stations[1].demand == (0.2, 0.3)
    assert [job.population for job in network.classes] == [8, 4]
    assert network == network_from_data(GOOD)


NUMBER = "give a finite number of seconds, 0 or more."
WHOLE = "give a whole number, 0 or more."
BAD_DATA = [
    (changed("stations", remove=True), "net: stations is missing; add it."),
    (
        changed("stations", 0, "demnd", value=1),
        "net: stations[0].demnd is not a key here; remove or rename it. Did you mean 'demand'?",
    ),
    (
        changed("servers", value=[]),
        "net: servers is not a key here; remove or rename it. Known are stations, classes.",
    ),
    (changed("classes", 1, "name", remove=True), "net: classes[1].name is missing; add it."),
    (changed("classes", value=[]), "net: classes is empty; give at least one."),
    (changed("stations", value=[]), "net: stations is empty; give at least one."),
    (changed("classes", value={}), "net: classes is {}; give a list of classes."),
    (changed("stations", value="x"), 'net: stations is "x"; give a list of stations.'),
    (
        changed("stations", 0, value=3),
        "net: stations[0] is 3; give an object with name, type, demand.",
    ),
    (
        changed("classes", 0, value=[]),
        "net: classes[0] is []; give an object with name, population.",
    ),
    (
        changed("stations", 1, "type", value="qeue"),
        "net: stations[1].type is \"qeue\"; give 'delay' or 'queue'. Did you mean 'queue'?",
    ),
    (
        changed("stations", 1, "type", value=None),
        "net: stations[1].type is null; give 'delay' or 'queue'.",
    ),
    (
        changed("stations", 1, "demand", value=[1]),
        "net: stations[1].demand has 1 number for 2 classes; give one for each class.",
    ),
    (
        changed("stations", 1, "demand", value=0.2),
        "net: stations[1].demand is 0.2; give a list of numbers, one for each class.",
    ),
    (
        changed("stations", 1, "demand", 0, value=-0.2),
        f"net: stations[1].demand[0] is -0.2; {NUMBER}",
    ),
    (
        changed("stations", 1, "demand", 1, value=float("nan")),
        f"net: stations[1].demand[1] is NaN; {NUMBER}",
    ),
    (
        changed("stations", 1, "demand", 0, value="2 s"),
        f'net: stations[1].demand[0] is "2 s"; {NUMBER}',
    ),
    (
        changed("stations", 1, "demand", 0, value="nan"),
        f'net: stations[1].demand[0] is "nan"; {NUMBER}',
    ),
    (
        changed("stations", 1, "demand", 0, value=True),
        f"net: stations[1].demand[0] is true; {NUMBER}",
    ),
    (
        changed("stations", 1, "demand", 0, value="1e999"),
        f'net: stations[1].demand[0] is "1e999"; {NUMBER}',
    ),
    (
        changed("stations", 1, "demand", 0, value=10**400),
        f"net: stations[1].demand[0] is {'1' + 36 * '0'}...; {NUMBER}",
    ),
    (changed("classes", 0, "population", value=1.5), f"net: classes[0].population is 1.5; {WHOLE}"),
    (changed("classes", 0, "population", value=-1), f"net: classes[0].population is -1; {WHOLE}"),
    (changed("classes", 0, "population", value="8"), f'net: classes[0].population is "8"; {WHOLE}'),
    (
        changed("classes", 0, "population", value=False),
        f"net: classes[0].population is false; {WHOLE}",
    ),
    (
        changed("classes", 0, "population", value=10**9),
        "net: classes[0].population is 1000000000; give a whole number from 0 to 100000000.",
    ),
    (
        changed("stations", 1, "name", value="think"),
        "net: stations[1].name 'think' is used twice; give each its own.",
    ),
    (
        changed("classes", 1, "name", value="a"),
        "net: classes[1].name 'a' is used twice; give each its own.",
    ),
    (
        changed("classes", 1, "name", value=" "),
        'net: classes[1].name is " "; give a text that is not empty.',
    ),
    (
        changed("stations", value=[{"name": "q", "type": "queue", "demand": [1, 0]}]),
        "net: classes[1] 'b' has no demand at any station; give one above 0 somewhere.",
    ),
    ([], "net is []; give an object with stations, classes."),
]


@pytest.mark.parametrize(("data", "message"), BAD_DATA, ids=[text[5:45] for _, text in BAD_DATA])
def test_bad_data(data, message):
    with pytest.raises(FileError) as error:
        network_from_data(data, "net")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", 'is empty; write a network such as {"stations": [...], "classes": [...]}.'),
        (b" \n", 'is empty; write a network such as {"stations": [...], "classes": [...]}.'),
        (b"\x93NUMPY\x01\xff", "is not text in UTF-8; name a JSON file."),
        (b"PK\x00\x00", "is not text; name a JSON file."),
        (b"{\n'a': 1}", "is not JSON: Expecting property name"),
        (b'{"stations": [], "stations": []}', ": the key 'stations' is given twice; keep one."),
        (b"[" * 100_000, "is not a network: it is nested or has digits beyond use."),
        (b'{"stations": ' + b"1" * 5000 + b"}", "is nested or has digits beyond use."),
        (b"null", "is null; give an object with stations, classes."),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "net.json"
    path.write_bytes(content)
    with pytest.raises(FileError) as error:
        read_network(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match="is a directory; name a JSON file in it"):
        read_network(tmp_path)
    with pytest.raises(FileError, match="cannot be read: no such file or directory; check"):
        read_network(str(tmp_path / "none.json"))
