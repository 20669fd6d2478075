"""Workloads: what a program does, free of any machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast.quantities.expressions import Value

#: How a number may have been obtained; every entry of ``sources`` starts with one of these.
ORIGINS = ("published", "measured", "fitted", "assumed")


@attrs.frozen(kw_only=True)
class Workload:
    """A workload of some kind; ``content`` is the kind's own value."""

    name: str
    kind: str
    content: Any = attrs.field(hash=False)
    parameters: Mapping[str, Value] = attrs.field(factory=dict, hash=False)
    #: fields of the content that a setting chooses, each with its values by the words for them
    choices: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, hash=False, repr=False)
    summary: str = ""
    source: str = ""
    sources: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False, repr=False)  #: as read
    where: str = ""  #: the file or the plugin it came from
    processes: int | None = None  #: of a recorded workload: its own p

    def _repr_html_(self) -> str:
        from parcast.html import definition

        return definition(f"Workload ({self.kind})", self.name, self.summary, self.data)
