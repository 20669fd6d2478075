"""Where something stands in the text of a model."""

from __future__ import annotations

import attrs


@attrs.frozen
class Source:
    """A text that was read, and what errors call it."""

    where: str
    text: str = attrs.field(repr=False)


@attrs.frozen
class Position:
    """A line and a column, both from 1."""

    source: Source
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source.where}:{self.line}:{self.column}"

    @property
    def _line(self) -> str:
        lines = self.source.text.splitlines() or [""]
        return lines[min(self.line, len(lines)) - 1]

    @property
    def line_text(self) -> str:
        """The line, without its comment."""
        return self._line.partition("//")[0].strip()

    @property
    def caret(self) -> str:
        """The line, and below it a caret at the column."""
        line = self._line
        start = max(0, self.column - 60)
        visible = line[start : start + 100].replace("\t", " ")
        return f"{visible}\n{' ' * (self.column - 1 - start)}^"
