"""Files near to good ones: bytes and words of them changed, cut, doubled and mixed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

#: What readers have something to do with.
WORDS = [
    *(b"0", b"-1", b"1e999", b"nan", b"inf", b"10**18", b"9" * 400, b"1e-320", b"0x10", b"1_0"),
    *(b"null", b"true", b"[]", b"{}", b'""', b"'", b'"', b"(", b")" * 9, b"(" * 3000, b"[" * 3000),
    *(b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"\r\n", b"\t", b"\n" * 5, b"#", b"//", b";", b","),
    *(b"rank", b"size", b"range(10**12)", b"for x in range(size):", b"if rank:", b"ANY", b"lambda"),
    *(b"__import__('os').system('exit')", b"exec", b"open('/etc/passwd')", b"**", b"//0", b"%0"),
    *(b"<!ENTITY a '&b;&b;'>", b"&a;", b"<", b"]]>", b"par", b"seq", b"use", b"sum", b"mod"),
    *(b"MB/s", b"+-", b"to", b"exp:1us", b"formula", b"p", b"n", b"d", b"=", b"..", b"*2", b":"),
]

#: Bytes of a file.
_MOST = 200_000

_TOKEN = re.compile(rb"[A-Za-z_.]+|[0-9.eE+-]+|\s+|.", re.DOTALL)


def mutated(random: Random, seeds: Sequence[bytes]) -> bytes:
    """Return a seed after one to eight changes, each more seldom than the one before.

    It is cut after each, as lines are doubled fifty times, and a file may be one line.
    """
    text = random.choice(seeds)
    for _ in range(1 + min(int(random.expovariate(0.7)), 7)):
        text = random.choice(_CHANGES)(random, text, seeds)[:_MOST]
    return text


def _byte(random: Random, text: bytes, _seeds: Sequence[bytes]) -> bytes:
    at = random.randrange(len(text) + 1)
    return text[:at] + bytes([random.randrange(256)]) + text[at + random.randrange(2) :]


def _cut(random: Random, text: bytes, _seeds: Sequence[bytes]) -> bytes:
    first, last = sorted(random.randrange(len(text) + 1) for _ in range(2))
    return text[:first] + text[last:] if random.random() < 0.7 else text[:first]


def _word(random: Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    """Replace a word by another, of the text, of a seed or of `WORDS`."""
    words = _TOKEN.findall(text) or [b""]
    others = random.choice([words, WORDS, WORDS, _TOKEN.findall(random.choice(seeds)) or [b""]])
    words[random.randrange(len(words))] = random.choice(others)
    return b"".join(words)


def _line(random: Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    """Double a line, take one out, or set in one of a seed."""
    lines = text.splitlines(keepends=True) or [b""]
    at = random.randrange(len(lines))
    others = random.choice(seeds).splitlines(keepends=True) or [b"\n"]
    kept = random.choice([[lines[at]] * random.choice([2, 50]), [], [random.choice(others)]])
    return b"".join([*lines[:at], *kept, *lines[at + 1 :]])


def _splice(random: Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]


_CHANGES = (_byte, _cut, _word, _word, _word, _line, _splice)
