from __future__ import annotations

from parcast.results.texts import merge_similar


def test_sentences_that_differ_in_one_number_are_told_with_its_range():
    said = ["about 2 times (p)", "another", "about 1.5 times (p)", "about 10 times (p)"]
    assert merge_similar(said) == {
        "about 1.5 to 10 times (p)": [said[0], said[2], said[3]],
        "another": ["another"],
    }


def test_sentences_that_differ_in_two_numbers_stay_apart():
    said = ["1 of 2", "2 of 3"]
    assert merge_similar(said) == {one: [one] for one in said}
