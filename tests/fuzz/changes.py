"""Random changes of inputs that are read: `python tests/fuzz/changes.py TARGET… --runs 1000000 [--seed N]`.

Bytes are cut, repeated, overwritten or replaced by words; in JSON and lines of JSON also whole values, so that what is
changed is still read. Unlike `fuzz.py` it is not guided by coverage, and needs nothing that the tests do not.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from targets import TARGETS, Target, read

#: What may stand in the place of a value of JSON.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, -0.0, 1e-300, 1e30, 1e99, 1e300, float("nan"), float("inf"), 2**70, -(2**70)),
    *("", "x", "nan", "1e999", "workers", "a*b", "\ud800", "=1+1", "AAAA", "log(", "0" * 400, "\0", "é"),
    *([], {}, [[]], [0.0], [None], {"": None}, [1, "x"], {"a": {"b": []}}, [[0.0, 1.0], [2.0]]),
)


def mutated(target: Target, rng: random.Random) -> bytes:
    """Return a seed that was changed: its values where it is JSON and the coin falls so, else its bytes."""
    data = rng.choice(target.seeds)
    if rng.random() < 0.5:
        changed = _changed_values(data, rng)
        if changed is not None:
            return changed
    return _changed_bytes(bytearray(data), target.words, rng)


def _changed_bytes(data: bytearray, words: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Return data with one to eight pieces cut, repeated, overwritten, or replaced by a word."""
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 1, 4, 40, len(data)))
        match rng.randrange(5):
            case 0:
                del data[at : at + length]
            case 1:
                data[at:at] = data[at : at + length]
            case 2:
                data[at : at + 1] = rng.randbytes(1)
            case 3:
                data[at:at] = rng.choice(words)
            case _:
                data[at : at + length] = rng.choice(words)
    return bytes(data)


def _changed_values(data: bytes, rng: random.Random) -> bytes | None:
    """Return JSON, or text whose lines end in JSON, with one to three values changed; None for another text."""
    lines = [data] if data.lstrip()[:1] in (b"{", b"[") else data.split(b"\n")
    at = rng.randrange(len(lines))
    head, plain, paths = _read_line(lines[at], whole=data.lstrip()[:1] == b"[")
    if not paths:
        return None
    plain = json.loads(plain)
    for _ in range(rng.randint(1, 3)):
        *above, key = rng.choice(paths)
        container = plain
        try:
            for step in above:
                container = container[step]
            _change(container, key, rng)
        except (LookupError, TypeError):
            # An earlier change took this place away.
            continue
    lines[at] = head + json.dumps(plain).encode()
    return b"\n".join(lines)


@cache
def _read_line(line: bytes, whole: bool) -> tuple[bytes, bytes, list[tuple[Any, ...]]]:
    """Return what stands before the JSON of a line of a seed, the JSON, and the path of every value in it."""
    head, opened, rest = (b"", b"", line) if whole else line.partition(b"{")
    try:
        return head, opened + rest, list(_paths(json.loads(opened + rest)))
    except ValueError:
        return head, b"", []


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys and indices that lead to every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from _paths(inner, (*above, key))


def _change(container: Any, key: Any, rng: random.Random) -> None:
    """Replace, remove, repeat or exchange one value."""
    match rng.randrange(5):
        case 0:
            del container[key]
        case 1 if isinstance(container, list):
            container.insert(key, deepcopy(container[key]))
        case 2:
            other = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
            container[key], container[other] = container[other], container[key]
        case _:
            container[key] = deepcopy(rng.choice(VALUES))


def main() -> None:
    """Run targets and print how many runs there were, and how many inputs were read."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("target", nargs="+", choices=list(TARGETS))
    reader.add_argument("--runs", type=int, default=1_000_000)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--seconds", type=float, default=float("inf"), help="at most, for each target")
    given = reader.parse_args()
    for name in given.target:
        target, rng = TARGETS[name], random.Random(f"{name} {given.seed}")
        start, runs, taken = time.monotonic(), 0, 0
        while runs < given.runs and time.monotonic() - start < given.seconds:
            data = mutated(target, rng)
            runs += 1
            try:
                taken += read(target, data)
            except BaseException:
                print(f"{name}: run {runs} of seed {given.seed}: {data!r}", file=sys.stderr)
                raise
        print(f"{name}: {runs:,} runs, {taken:,} read, none failed, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
