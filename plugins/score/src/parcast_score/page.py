"""The board as a page of HTML and as Markdown, from the same sentences and tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from parcast_report.content import Table
from parcast_report.document import Section, document
from parcast_score.board import Score
from parcast_score.diagnosis import Experiment, lacks
from parcast_score.drawing import drawings
from parcast_score.parts import growing_parts
from parcast_score.record import errors_of, held_out, record
from parcast_score.texts import about, header, points, refusals, rows, seen, share

TITLE = "Scoreboard"

INTRODUCTION = """
Predictions against measurements. Blind points were predicted without what was measured there: a \
predictor gets the calibrating points of a dataset and, of the blind ones, the size, the work and \
the other columns that are known before a run.

Errors are predicted over measured, less 1: median, 90 % and worst of their absolute values; bias \
is the geometric mean. "in 50 %" and "in 90 %" say how many measured values lie in the intervals \
that are stated. Knee: of how many curves with three sizes or more the smallest size that is \
within 5 % of the shortest time is right within a doubling. Calibrated: the median at points that \
the predictor has seen. CPU: processor time for all points, in steps of ten, so that two runs \
write the same.

The digest of the question covers all that a predictor gets, the digest of the predictions what it \
answered to it, times to a millionth: whoever keeps the two can show later that nothing changed.
""".strip().split("\n\n")


def html(scores: Sequence[Score], experiment: Experiment) -> str:
    """Return the page; ``experiment`` asks again what a prediction lacks."""
    everything = Section("All datasets", tables=[_table("All datasets", scores)])
    table = held_out_table(scores)
    records = [Section("Records", sentences=[RECORDS], tables=[table])] if table else []
    return document(
        TITLE,
        "Predictions against measurements",
        INTRODUCTION,
        [
            everything,
            *(_section(of_one, scores, experiment) for of_one in by_dataset(scores)),
            *records,
        ],
    )


RECORDS = """
Each predictor by its errors in other datasets alone, at like distances: at how many blind points \
the interval that is to hold nine of ten does hold the measured value. Who has points in one \
dataset alone cannot be judged so. parcast compare --uncertainty widens intervals by these errors.
""".strip()


def held_out_table(scores: Sequence[Score]) -> Table | None:
    """Return how far each predictor's record holds on datasets that it is not from."""
    rows = []
    for name in dict.fromkeys(score.predictor for score in scores):
        errors = errors_of(score for score in scores if score.predictor == name)
        if errors:
            sets = list(dict.fromkeys(error.dataset for error in errors))
            simulated = {error.dataset for error in errors if error.simulated}
            spelled = ", ".join(f"{key} (simulated)" if key in simulated else key for key in sets)
            rows.append((name, str(len(errors)), spelled, share(held_out(errors))))
    heads = ("by", "blind points", "of", "held by the others' record")
    return Table("Records on other datasets", heads, tuple(rows)) if rows else None


def remarks(scores: Sequence[Score], board: Sequence[Score], experiment: Experiment) -> list[str]:
    """Return why points have no answer, what is missing where errors are large, and the record."""
    missing = [
        f"{score.predictor}: {lack}."
        for score in scores
        for lack in lacks(score, scores, experiment)
    ]
    records = [
        f"{score.predictor}: {usual}." for score in scores if (usual := record(score, board))
    ]
    return [*seen(scores), *refusals(scores), *missing, *records]


def by_dataset(scores: Sequence[Score]) -> list[list[Score]]:
    """Return the scores of each dataset together."""
    return [list(group) for _, group in groupby(scores, key=lambda score: score.dataset.name)]


def _section(scores: Sequence[Score], board: Sequence[Score], experiment: Experiment) -> Section:
    dataset = scores[0].dataset
    return Section(
        dataset.name,
        sentences=[*about(dataset), *growing_parts(dataset), *remarks(scores, board, experiment)],
        tables=[_table(dataset.name, scores), _digests(scores)],
        drawings=drawings(scores),
        hidden=[Table(f"Every point by {score.predictor}", *points(score)) for score in scores],
    )


def _table(caption: str, scores: Sequence[Score]) -> Table:
    return Table(caption, header(), tuple(map(tuple, rows(scores))))


def _digests(scores: Sequence[Score]) -> Table:
    cells = [
        (score.predictor, score.command, score.question[:16], score.predictions[:16])
        for score in scores
    ]
    heads = ("by", "command", "question", "predictions")
    return Table("How to ask for each, and digests", heads, tuple(cells))


def markdown(scores: Sequence[Score], experiment: Experiment) -> str:
    """Return the page in Markdown, without plots and single points."""
    lines = [f"# {TITLE}", "", *_paragraphs(INTRODUCTION)]
    for of_one in by_dataset(scores):
        dataset = of_one[0].dataset
        lines += [
            f"## {dataset.name}",
            "",
            *_paragraphs([*about(dataset), *growing_parts(dataset)]),
        ]
        lines += _markdown_table(_table(dataset.name, of_one))
        lines += [f"- {sentence}" for sentence in remarks(of_one, scores, experiment)]
        lines += [""]
        lines += _markdown_table(_digests(of_one))
    if table := held_out_table(scores):
        lines += ["## Records", "", *_paragraphs([RECORDS]), *_markdown_table(table)]
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(sentences: Sequence[str]) -> list[str]:
    return [line for sentence in sentences for line in (sentence, "")]


def _markdown_table(table: Table) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    filled = [
        index for index, _ in enumerate(table.header) if any(row[index] for row in table.rows)
    ]
    lines = [line([table.header[index] for index in filled]), f"|{'---|' * len(filled)}"]
    return [*lines, *(line([row[index] for index in filled]) for row in table.rows), ""]
