"""Models as workloads: what of a query their parameters are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import FileError, UnknownNameError, UnsupportedError, did_you_mean
from parcast.files import read_text
from parcast.model import ORIGINS, Query, Workload

if TYPE_CHECKING:
    from parcast_pamela.language.model import Model

#: The parameter that is the number of processes, unless it is set
PROCESSES = "P"

_TABLE = "pamela.parameters."
_PATH = re.compile(r"[a-z_]+\.[a-z_]+")
_ABOUT = re.compile(r"^//\s?(.*)$")
_LINE = re.compile(r"^(\w+): (.+)$")


@attrs.frozen
class Pamela:
    """Which machine model stands for a machine, and the values of its parameters.

    A value is a number, a quantity such as ``"3 us"``, or the key path of another number of the
    machine, such as ``"processor.rate"``.
    """

    model: str  #: the .pam file of the machine, or the name of a shipped one
    #: values of the model's parameters
    parameters: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class Content:
    """What a .pam file holds, as text; ``model`` links it with a machine."""

    text: str = attrs.field(repr=False)
    where: str
    name: str
    folder: str
    #: Values that stand for parameters of a model made of another workload
    values: tuple[tuple[str, Any], ...] = attrs.field(default=(), eq=False)
    form: str = ""  #: how it was made of a program: ``free``, in ``numbers``, or ``barrier``
    #: of a program, the fullest links that messages share, and for how long they are busy
    links: tuple[tuple[str, float], ...] = attrs.field(default=(), eq=False)

    def model(self, machine: str | None = None) -> Model:
        """Return the linked model; see `parcast_pamela.language.reading.model_of`."""
        return _model(self, machine)

    def check(self, query: Query) -> None:
        """Refuse parameters that the model does not take."""
        from parcast_pamela.bindings import bind
        from parcast_pamela.language.errors import ModelError

        try:
            model = self.model(machine_of(query))
        except ModelError:
            return  # said by `linked_model`: another machine may suit
        if not model.missing():
            bind(model, parameters_of(model, query))


@lru_cache(maxsize=64)
def _model(content: Content, machine: str | None) -> Model:
    from parcast_pamela.language.reading import model_of

    return model_of(content.text, content.where, content.name, Path(content.folder), machine)


def _stated(query: Query) -> Pamela | None:
    """Return what the query's machine says, if the model leaves anything to a machine."""
    part = query.machine.part("pamela", Pamela)
    return part if part is not None and query.workload.content.model().missing() else None


def machine_of(query: Query) -> str | None:
    """Return the machine model that the query's machine names, or None where none is needed."""
    part = _stated(query)
    return None if part is None else part.model


def linked_model(query: Query) -> Model:
    """Return the model of a query on its machine, with nothing left to supply.

    Raises
    ------
    UnsupportedError
        If the machine lacks an equation that the model declares as extern.
    ModelError
        If model and machine do not go together.
    """
    machine = machine_of(query)
    model: Model = query.workload.content.model(machine)
    if missing := model.missing():
        names = ", ".join(missing)
        if machine is None:
            raise UnsupportedError(
                f"{query.workload.name} leaves {names} to a machine; give a machine with "
                '[pamela] model = "..."'
            )
        raise UnsupportedError(
            f"the machine model {machine!r} does not say what {names} does, which "
            f"{query.workload.name} leaves to a machine; name another as pamela.model"
        )
    return model


def parameters_of(model: Model, query: Query) -> dict[str, Any]:
    """Return the values that a query gives to a model's parameters.

    P is the query's p unless it is set itself.
    """
    values = {name: value for name, value in query.parameters.items() if name in model.parameters}
    if PROCESSES in model.parameters and PROCESSES not in values:
        values[PROCESSES] = query.p
    return {**dict(query.workload.content.values), **_of_machine(model, query), **values}


def parameter_at(model: Model, query: Query, path: str) -> str | None:
    """Return the parameter that stands at a key path of the machine, if only one does."""
    part = _stated(query)
    stated = {} if part is None else part.parameters
    names = [name for name, value in stated.items() if path in {value, f"{_TABLE}{name}"}]
    return names[0] if len(names) == 1 and names[0] in model.parameters else None


def _of_machine(model: Model, query: Query) -> dict[str, Any]:
    """Return the values that the machine's file gives to parameters of its model."""
    part = _stated(query)
    if part is None:
        return {}
    for name in part.parameters:
        if name not in model.parameters:
            hint = did_you_mean(name, model.parameters)
            raise UnknownNameError(
                f"machine {query.machine.name!r}: {_TABLE}{name} is no parameter of its model "
                f"{part.model!r}.{hint}"
            )
    return {
        name: query.machine.need(value, f"{_TABLE}{name}") if _is_path(value) else value
        for name, value in part.parameters.items()
    }


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and _PATH.fullmatch(value) is not None


def read(path: Path) -> Workload:
    """Return the workload in a .pam file.

    The comment at the head of the file says what it is: the first paragraph is the summary,
    ``source: ...`` where the model is from, ``N: published: ...`` where a number is.

    Raises
    ------
    FileError
        If the model is wrong; the position is named.
    """
    from parcast_pamela.bindings import Bindings
    from parcast_pamela.language.errors import ModelValueError

    text = read_text(path)
    content = Content(text, str(path), path.stem, str(path.parent))
    model = content.model()
    values = Bindings(model, {PROCESSES: 1} if PROCESSES in model.parameters else {})
    parameters: dict[str, int | float] = {}
    for name, parameter in model.parameters.items():
        if (
            parameter.dims
            or parameter.default is None
            or name in {PROCESSES, "p", "d"}
            or "." in name
        ):
            continue
        try:
            value = values[name]
        except ModelValueError:
            continue  # said where it is evaluated
        parameters[name] = value if isinstance(value, int) else float(value)  # type: ignore[arg-type]
    summary, source, sources = _about(text, {*model.parameters}, str(path))
    return Workload(
        name=path.stem,
        kind="pamela",
        content=content,
        parameters=parameters,
        summary=summary,
        source=source,
        sources=sources,
        data={"name": path.stem, "kind": "pamela", "parameters": parameters, "model": text},
        where=str(path),
    )


def _about(text: str, names: set[str], where: str) -> tuple[str, str, Mapping[str, str]]:
    """Return summary, source and sources from the comment at the head of a file."""
    summary: list[str] = []
    source, sources = "", {}
    ended = False
    for line in text.splitlines():
        comment = _ABOUT.match(line)
        if comment is None:
            break
        stated = _LINE.match(comment[1])
        if stated and stated[1] == "source":
            source, ended = stated[2], True
        elif stated and stated[2].startswith(tuple(f"{origin}:" for origin in ORIGINS)):
            if stated[1] not in names:
                raise FileError(f"{where}: the comment says where {stated[1]!r} is from, which is "
                                "no parameter")  # fmt: skip
            sources[f"parameters.{stated[1]}"], ended = stated[2], True
        elif not comment[1].strip():
            ended = ended or bool(summary)
        elif not ended:
            summary.append(comment[1].strip())
    return " ".join(summary), source, sources
