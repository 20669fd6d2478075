"""A program beside measured times: its parts are terms, so that a knee shows before it is there."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

from parcast import Prediction
from parcast.errors import ParcastError
from parcast_scaling.forecast import forecast
from parcast_scaling.mechanisms import MECHANISMS
from parcast_scaling.prior import Prior
from parcast_scaling.proposed import with_proposed
from parcast_scaling.reading import Times
from parcast_scaling.scope import Scope
from parcast_scaling.time_commands import Wanted, show_forecast
from parcast_scaling.times import Run

#: Beyond 64 processes messages grow as no usual term does.
BENDS = """name = "bends"
[[phase]]
parallel = 4e11
serial = 0
messages = "10 + 2 * p**3 / 64**2"
bytes = "1 MB"
distribution = "constant"
"""

MEASURED = (2, 4, 8, 16, 32, 64)
ASKED = (128, 256, 512)


@pytest.fixture
def bends(tmp_path):
    path = tmp_path / "bends.toml"
    path.write_text(BENDS)
    return str(path)


def true(p):
    """Return the time of the code: its work takes longer than predicted, and so do messages."""
    return 1.3 * 400 / p + 2 * (1e-3 * (10 + 2 * p**3 / 64**2) + 0.1)


def test_a_bend_beyond_what_is_measured_is_in_the_band_of_the_program_alone(
    registry, machine, bends
):
    runs = [Run(float(p), true(p)) for p in MEASURED]
    terms = with_proposed(registry, [bends], machine, [*MEASURED, *ASKED])
    proposed = [term.binds for term in terms if term not in MECHANISMS]
    assert proposed == ["compute of bends", "communication of bends"]
    plain, informed = (forecast(runs, ASKED, prior=prior) for prior in (None, Prior(terms=terms)))
    far, near = plain.bands[-1], informed.bands[-1]
    assert not far.low90 < true(512) < far.high90
    assert near.low99 < true(512) < near.high99  # eight times what is measured
    assert abs(near.median / true(512) - 1) < abs(far.median / true(512) - 1)
    assert near.binds == "communication of bends"
    truths = [true(p) for p in (64, 128, 256, 512)]
    bend = next(128 * 2**i for i, (a, b) in enumerate(pairwise(truths)) if b > a / 2**0.5)
    assert bend / 2 < informed.knee.median < 2 * bend


def test_a_term_has_the_parts_course_over_p(registry, machine, bends):
    terms = with_proposed(registry, [bends], machine, [3, 100])
    assert (terms[0], terms[-1]) == (MECHANISMS[0], MECHANISMS[-1])
    (sent,) = [term for term in terms if term.binds == "communication of bends"]
    p = np.array([2.0, 4, 32, 64, 100])
    expected = 1e-3 * (10 + 2 * p**3 / 64**2) + 0.1
    assert sent.values(p, np.ones(5)) == pytest.approx(expected)


def times():
    return Times(where="t.csv", runs=tuple(Run(float(p), true(p)) for p in MEASURED))


def wanted(**options):
    usual = {"p": None, "to": 512, "machine": None, "sources": (), "hold_out": None, "weak": False,
             "scope": Scope()}  # fmt: skip
    rest = {
        "efficiency": 0.5,
        "worth_measuring": 0,
        "narrow_to": 1.5,
        "measure": None,
        "measure_to": None,
        "seed": 1,
    }
    return Wanted(**{**usual, **rest, **options})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"machine": None}, "terms are proposed for a machine; name it by --on"),
        ({"weak": True}, "terms are proposed for one problem; leave out --weak and column n"),
    ],
)
def test_a_question_that_proposes_nothing_is_one_sentence(
    registry, machine, bends, options, sentence
):
    asked = wanted(**{"machine": machine, "sources": (bends,), **options})
    with pytest.raises(ParcastError, match=sentence):
        show_forecast(registry, times(), asked, json=False, output=None)


def test_a_program_whose_parts_nobody_predicts_is_one_sentence(
    registry, machine, bends, monkeypatch
):
    solver = sys.modules["parcast_adds"].Adds
    monkeypatch.setattr(solver, "solve", lambda *_: Prediction(time=1.0))
    asked = wanted(machine=machine, sources=(bends,))
    with pytest.raises(ParcastError, match=r"no solver predicts the parts of .*bends\.toml"):
        show_forecast(registry, times(), asked, json=False, output=None)
