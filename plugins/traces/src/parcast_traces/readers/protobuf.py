"""Just enough of protobuf's wire format to read messages whose fields are known.

Format: https://protobuf.dev/programming-guides/encoding. A field is a number, a wire type and a
value: a variable-length integer, 4 or 8 bytes, or bytes with their length before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

Value = int | bytes


class MalformedError(ValueError):
    """Bytes that are no message; the text says what is wrong."""


def delimited(file: IO[bytes], limit: int) -> Iterator[bytes]:
    """Yield messages that have their length before them."""
    while (length := _file_varint(file)) is not None:
        if length > limit:
            raise MalformedError(f"a message of {length:,} bytes, and none has so many")
        message = file.read(length)
        if len(message) < length:
            raise MalformedError("it is cut off inside a message")
        yield message


def _file_varint(file: IO[bytes]) -> int | None:
    value = shift = 0
    while byte := file.read(1):
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value
        shift += 7
        if shift > 63:
            raise MalformedError("a number of more than 64 bits")
    if shift:
        raise MalformedError("it is cut off inside a number")
    return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift <= 63:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise MalformedError("a number that does not end")


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of every field of a message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value: Value
            value, at = _varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(kind, -1)
            if kind == 2:
                length, at = _varint(data, at)
            if length < 0 or at + length > len(data):
                raise MalformedError(f"field {number} is damaged")
            value, at = data[at : at + length], at + length
        yield number, value


def packed(value: Value) -> list[int]:
    """Return the integers of a repeated field, packed or one by one."""
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers
