"""Extra-P's forms of measured series: text, JSON of both kinds, JSON lines, and Talpas' lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

from parcast.errors import FileError, did_you_mean, shorten
from parcast.quantities.units import is_number

#: A row as it was read: where, and what its columns hold.
Raw: TypeAlias = tuple[str, Mapping[str, Any]]

#: Where a point was read, its parameters, and what was measured there.
_Point: TypeAlias = tuple[str, Mapping[str, Any], list[Any]]
_Series: TypeAlias = dict[tuple[str, str], list[_Point]]

_TEXT = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:PARAMETER|POINTS)\b")
_LINES = re.compile(r'\A\s*\{\s*"(?:params|parameters)"\s*:\s*\{')

#: What people call the number of processes.
_PROCESSES = ("processes", "ranks", "nprocs", "procs", "np", "mpi_ranks", "mpi_procs", "tasks")
_WHOLE = frozenset({"", "main", "program"})
_TIMES = frozenset({"time", "runtime", "walltime"})
_NO_TIMES = re.compile(
    r"flops?|visits|bytes\w*|papi_\w*|\w*_count|calls|energy|memory\w*", re.IGNORECASE
)


def is_extrap(text: str, suffix: str) -> bool:
    """Tell whether a text is of one of Extra-P's forms; JSON is by its suffix."""
    return suffix in {".json", ".jsonl"} or bool(_TEXT.match(text) or _LINES.match(text))


def read_extrap(
    text: str,
    where: str,
    *,
    lines: bool = False,
    series: str = "",
    named: bool = False,
    repetitions: bool = False,
) -> Iterator[Raw]:
    """Yield the rows of one series: its parameters, and the time; of repetitions the median.

    Parameters
    ----------
    text, where
        What the file says, and its name.
    lines
        Whether it is of JSON lines by its name.
    series
        Which of several series: its call path, its metric or both, as ``main/time``.
    named
        Whether the user says which parameter is p; else it is the one that is called so, or that
        counts processes by its name, or the only one.
    repetitions
        Whether each of repeated times is a row.

    Raises
    ------
    FileError
        If the text is none of the forms, several series are measured, or it is open what p is.
    """
    if _TEXT.match(text):
        several = _of_text(text, where)
    elif lines or _LINES.match(text):
        several = _of_lines(text, where)
    else:
        several = _of_json(_parsed(text, where), where)
    chosen = _chosen(list(several), where, series)
    if not series and _NO_TIMES.fullmatch(chosen[1]):
        raise FileError(f"{where}: {shorten(chosen[1])!r} is measured, and no time; say which "
                        f"series is one of times: {where}#PATH/METRIC")  # fmt: skip
    old = "p" if named else _called_p(several[chosen], where)
    for place, params, values in several[chosen]:
        if "time" in params:
            raise FileError(
                f"{place}: a parameter is called 'time', as what is measured; rename it"
            )
        at = {"p" if name == old else name: value for name, value in params.items()}
        for value in _times(values, place, repetitions=repetitions):
            yield place, {**at, "time": value}


def _called_p(points: Sequence[_Point], where: str) -> str:
    """Return the parameter that p is; none is where one is called so, or nodes are counted."""
    names = list(dict.fromkeys(name for _, params, _ in points for name in params))
    if not names or {"p", "nodes"} & set(names):
        return "p"
    likely = [name for name in names if name.lower() in _PROCESSES]
    likely = likely or (names if len(names) == 1 else [])
    if len(likely) != 1:
        raise FileError(
            f"{where}: no parameter is called p, only {', '.join(names)}; say which counts "
            f"processes: {where}#p={names[0]}"
        )
    return likely[0]


def _times(values: Any, place: str, *, repetitions: bool) -> list[float]:
    several = values if isinstance(values, list) else [values]
    if not several or not all(map(_is_finite, several)):
        raise FileError(f"{place}: values = {shorten(values)} must be numbers")
    return [float(value) for value in (several if repetitions else [median(several)])]


def _is_finite(value: Any) -> bool:
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer above all floats
        return False


def _of_text(text: str, where: str) -> _Series:
    """Return the series of the text form: PARAMETER, POINTS, and a line of DATA for each."""
    names: list[str] = []
    points: list[list[float]] = []
    data: dict[tuple[str, str], list[tuple[str, list[float]]]] = {}
    labels = {"REGION": "", "METRIC": ""}
    for number, line in enumerate(text.splitlines(), 1):
        word, _, argument = line.strip().replace("\t", " ").partition(" ")
        place, argument = f"{where}:{number}", argument.strip()
        if not word or word.startswith("#"):
            continue
        if word == "PARAMETER":
            if points:
                raise FileError(f"{place}: PARAMETER stands after POINTS; put it before them")
            names += argument.split()
        elif word == "POINTS":
            points += _points(argument, len(names), place)
        elif word in labels:
            labels[word] = argument
        elif word == "DATA":
            key = (labels["REGION"], labels["METRIC"])
            data.setdefault(key, []).append((place, _floats(argument, place)))
        else:
            raise FileError(f"{place}: {shorten(word)!r} is none of PARAMETER, POINTS, REGION, "
                            "METRIC and DATA")  # fmt: skip
    for name, lines in data.items():
        if len(lines) != len(points):
            of = f" of {'/'.join(filter(None, name))}" if len(data) > 1 else ""
            raise FileError(f"{where}: {len(lines)} lines of DATA{of} for {len(points)} POINTS; "
                            "give one for each")  # fmt: skip
    return {
        name: [
            (place, dict(zip(names, point, strict=True)), values)
            for point, (place, values) in zip(points, lines, strict=True)
        ]
        for name, lines in data.items()
    }


def _points(text: str, count: int, place: str) -> list[list[float]]:
    """Return points written ``4 8 16`` or ``( 4 10 ) ( 8 10 )``."""
    if "(" in text:
        groups = [group.replace("(", " ") for group in text.split(")") if group.strip()]
        points = [_floats(group, place) for group in groups]
    else:
        points = [[value] for value in _floats(text, place)]
    if any(len(point) != count for point in points):
        raise FileError(f"{place}: a point has not {count} values, one for each PARAMETER")
    return points


def _floats(text: str, place: str) -> list[float]:
    numbers = []
    for word in text.split():
        try:
            numbers.append(float(word))
        except ValueError:
            reason = "; divide numbers by blanks" if "," in word else ""
            raise FileError(f"{place}: {shorten(repr(word))} is no number{reason}") from None
    return numbers


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not valid JSON: {error}") from None


def _of_json(data: Any, where: str) -> _Series:
    """Return the series of JSON: points by call path and metric, or all in lists with numbers."""
    try:
        if isinstance(data["measurements"], list):
            return _of_lists(data, where)
        names = [str(name) for name in data["parameters"]]
        return {
            (path, metric): [
                (
                    f"{where}: point {number}",
                    dict(zip(names, _as_list(entry["point"]), strict=True)),
                    entry["values"],
                )
                for number, entry in enumerate(points, 1)
            ]
            for path, metrics in data["measurements"].items()
            for metric, points in metrics.items()
        }
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileError(
            f"{where}: this is not Extra-P's JSON, an object with 'parameters' and 'measurements' "
            "by call path and metric"
        ) from None


def _as_list(point: Any) -> list[Any]:
    return point if isinstance(point, list) else [point]


def _of_lists(data: Any, where: str) -> _Series:
    """Return the series of JSON in which parameters, points, metrics and paths have numbers."""
    names = {entry["id"]: str(entry["name"]) for entry in data["parameters"]}
    paths = {entry["id"]: str(entry["name"]) for entry in data["callpaths"]}
    metrics = {entry["id"]: str(entry["name"]) for entry in data["metrics"]}
    points = {
        entry["id"]: {
            names[pair["parameter_id"]]: pair["parameter_value"]
            for pair in entry["parameter_value_pairs"]
        }
        for entry in data["coordinates"]
    }
    series: dict[tuple[str, str], dict[Any, _Point]] = {}
    for entry in data["measurements"]:
        key, at = (paths[entry["callpath_id"]], metrics[entry["metric_id"]]), entry["coordinate_id"]
        by_point = series.setdefault(key, {})
        place = f"{where}: coordinate {at}"
        by_point.setdefault(at, (place, points[at], []))[2].append(entry["value"])
    return {key: list(by_point.values()) for key, by_point in series.items()}


def _of_lines(text: str, where: str) -> _Series:
    """Return the series of JSON lines, or of Talpas' lines, which have semicolons for commas."""
    series: dict[tuple[str, str], dict[str, _Point]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{where}:{number}"
        talpas = line.lstrip().startswith('{"parameters"')
        entry = _parsed(line.replace(";", ",") if talpas else line, place)
        values = _as_list(entry.get("value")) if isinstance(entry, dict) else []
        params = entry.get("parameters" if talpas else "params") if values else None
        if not isinstance(params, dict) or not all(map(_is_finite, values)):
            raise FileError(f'{place}: a line is {{"params": {{"p": 4}}, "value": 1.0}}')
        name = (str(entry.get("callpath", "")), str(entry.get("metric", "")))
        points = series.setdefault(name, {})
        key = json.dumps(params, sort_keys=True)
        points.setdefault(key, (place, params, []))[2].extend(values)
    return {name: list(points.values()) for name, points in series.items()}


def _chosen(names: Sequence[tuple[str, str]], where: str, series: str) -> tuple[str, str]:
    """Return the call path and metric to read: the only one, or the time of the whole."""
    if not names:
        raise FileError(f"{where}: there are no measured times in it")
    if series:
        fits = [name for name in names if series in {"/".join(name), *name}]
        choices: tuple[Sequence[tuple[str, str]], ...] = (fits, _of_times(fits))
    else:
        timed = _of_times(names)
        main = [name for name in timed if name[0].lower().removesuffix("()") in _WHOLE]
        choices = (names, timed, main)
    for choice in choices:
        if len(choice) == 1:
            return choice[0]
    listed = ", ".join(f"{path or '?'}/{metric or '?'}" for path, metric in names[:6])
    if series and not choices[0]:
        spelled = ["/".join(name) for name in names]
        hint = did_you_mean(series, [*spelled, *(path for path, _ in names)])
        raise FileError(f"{where}: no series is called {series!r}; there are {listed}.{hint}")
    raise FileError(
        f"{where}: several series are measured ({listed}); keep one, name it ({where}#"
        f"{'/'.join(filter(None, names[0]))}), or call it main with the metric time"
    )


def _of_times(names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [name for name in names if name[1].lower() in _TIMES]
