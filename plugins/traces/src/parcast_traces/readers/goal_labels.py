"""The labels of a rank's steps in a schedule."""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"(\w*?)(0|[1-9]\d{0,8})")


class Labels:
    """Which step each label is of. Labels that count with the steps, as most do, take a byte each.

    Those are a prefix and the number of the step plus a number that is the same for all.
    """

    def __init__(self) -> None:
        self.prefix, self.shift = "", 0
        self.counting = bytearray()  #: of each step, whether its label counts with it
        self.others: dict[str, int] = {}

    def add(self, label: str, step: int) -> bool:
        """Label a step beyond those that are labeled; return whether the label is new."""
        if not self.counting and not self.others and (match := _NUMBERED.fullmatch(label)):
            self.prefix, self.shift = match[1], int(match[2]) - step
        if label == f"{self.prefix}{step + self.shift}" and label not in self.others:
            self.counting.extend(bytes(step - len(self.counting)))
            self.counting.append(1)
            return True
        if self.number(label) is not None:
            return False
        self.others[label] = step
        return True

    def number(self, label: str) -> int | None:
        """Return the step of a label, None if there is none."""
        number = self.others.get(label) if self.others else None
        if number is not None:
            return number
        digits = label[len(self.prefix) :]
        if not digits.isdecimal() or not label.startswith(self.prefix):
            return None
        step = int(digits) - self.shift
        if not 0 <= step < len(self.counting) or not self.counting[step]:
            return None
        return step if digits[0] != "0" or digits == "0" else None
