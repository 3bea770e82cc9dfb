"""Lines of `name=value` → rows: what a script prints of its runs."""

import re

from genperf.table.cells import Source, source_of, step

#: Between two pairs of a line, tried in this order.
_SEPARATORS = (r"[;|]", r",", r"\s+(?=[^\s=]+=)")


def pairs_of_lines(text: str) -> dict[int, dict[str, str]] | None:
    r"""Return the pairs of each line by its number; None where a line is anything else, or has fewer than two.

    Examples
    --------
    >>> pairs_of_lines("gpus=8, step time=0.25 s\ngpus=16, step time=0.31 s\n")
    {1: {'gpus': '8', 'step time': '0.25 s'}, 2: {'gpus': '16', 'step time': '0.31 s'}}
    """
    records = {}
    for number, line in enumerate((match[0] for match in re.finditer("^.*$", text, re.MULTILINE)), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            pairs = _pairs(re.sub(r"\s*=\s*", "=", line.strip(" \t,;|")))
            if pairs is None:
                return None
            records[number] = pairs
    return records or None


def _pairs(line: str) -> dict[str, str] | None:
    """Return the pairs of a line by the first separator that leaves nothing else."""
    for separator in _SEPARATORS:
        pieces = [piece.strip().split("=") for piece in re.split(separator, line)]
        if len({piece[0] for piece in pieces} - {""}) == len(pieces) > 1 and all(len(piece) == 2 for piece in pieces):
            return dict(pieces)
    return None


def read_pairs(records: dict[int, dict[str, str]], name: str) -> Source:
    """Read the pairs of lines as rows."""
    columns = list(dict.fromkeys(key for record in records.values() for key in record))
    rows = [[record.get(column, "") for column in columns] for record in records.values()]
    done = step(f"{len(rows)} lines of name=value read as rows, {len(columns)} columns")
    return source_of(name, columns, rows, list(records), "line", steps=(done,))
