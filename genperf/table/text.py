"""Text → rows: drawn tables, LaTeX, or whatever delimits the columns and wherever the header is."""

import contextlib
import csv
import html
import io
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from genperf.errors import Note, TableError, UnclearTableError, attempted, counted, listed
from genperf.table.cells import MOST_NAMES, Source, parts_of, source_of, step
from genperf.table.clean import MISSING, Rejection, is_number, label, number_in
from genperf.table.content import HEAD_BYTES
from genperf.table.facts import LONGEST_TITLE, SIZES, facts_of, is_result
from genperf.table.latex import Record, tabulars_of
from genperf.table.records import record_rows
from genperf.table.shape import COUNTED, TITLES, melted, names_of
from genperf.vocabulary import any_of, late, words_of
from genperf.vocabulary.headers import (
    COMPUTED,
    RELATIVE,
    TIME_WORDS,
    bare,
    header_of,
    is_other_word,
    is_price,
    relative_unit,
    units_in,
)
from genperf.vocabulary.names import (
    LEVELS,
    canonical_of,
    counted_noun,
    counts_scale,
    is_efficiency,
    is_relative,
    meant_by,
    plain_name,
)

#: A table, header first, what was done to find it, and its title.
Titled = tuple[list[Record], list[Note], str]
DELIMITERS = (",", ";", "\t", "|")
#: Runs of at least two blanks, or tabs: names and cells may hold single blanks.
RUNS = "  "
#: Tables of a text that are read, where a question may mean another one than the first.
MOST_TABLES = 20
#: The first line by which a spreadsheet names the delimiter.
_NAMED_DELIMITER = late(r"\"?sep=(.)\"?\r?$", re.IGNORECASE | re.MULTILINE)
_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
#: The line below the header of a Markdown table, or between the rows of a drawn one.
_RULE = late(r"[ \t]*(?:[|+][ \t]*)?:?[-=]+:?[ \t]*(?:[|+][ \t]*:?[-=]+:?[ \t]*)*(?:[|+][ \t]*)?\r?$")
_OF_A_RULE = frozenset("|+:-=")
#: A comma between thousands that has parted a header.
_GROUPS = late(r"(\d)\n(\d{3})(?!\d)")
_BEFORE_A_LETTER = late(r"(?<=\w\w)\n(?=[A-Za-z](?: ?[(\[][^\n()\[\]]*[)\]])?(?:\n|$))")
#: `# (B) (us) (GB/s)`, below the names of a commented header.
_UNITS = late(r"#\s*(?:[(\[][^\s()\[\]]+[)\]]\s*)+")
_BRACKETED = late(r"[(\[](?:1/)?[^()\[\]\d]+[)\]]")
_THOUSANDS = late(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
#: `[ms] step`, whose unit stands behind elsewhere.
_UNIT_IN_FRONT = late(r"^\[([^\[\]]+)\] ?([^\W\d_].*)$")
#: `||GPUs||img/s||`, a header in Jira.
_DOUBLE_BARS = late(r"(?m)^\|\|.*\|\|\s*$")
#: Rows from which the delimiter, the header and the kinds of columns are recognised, and lines of comments or titles
#: above them in which a header is looked for. Half and double read the tables of experiments/results/settings.md alike.
FIRST_ROWS = 200
#: Levels of the columns of a pivot, at most.
MOST_LEVELS = 4
#: Lines below a table that may state a setting of all its rows. A guess.
LINES_BELOW = 3
#: The share of lines that have as many fields as the header, from which on a delimiter is that of a table.
LEAST_AGREEMENT = 0.5
#: The same below titles in lines of their own, among blanks, which sentences hold as well. A guess.
AGREEMENT_OF_TITLED = 0.7
#: Characters of a cell, as many as the longest argument of a command on Linux: a longer one is a quote left open.
_MAX_CELL = csv.field_size_limit()
#: Signs of Markdown and HTML, and pictures beside numbers.
_PICTURE = r"[\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f300-\U0001faff]"
_MARKS = late(rf"\*\*|`|\]\(|<(?:br|sub|sup|b|i|strong|em)\s*/?>|&[a-z]+;|{_PICTURE}")
_BREAK = late(r"\s*<(?:br|sub|sup)\b.*", re.DOTALL)
_TAG = late(r"</?[a-z]+\s*/?>")
#: The rule below the header of a grid of reStructuredText.
_GRID_HEAD = late(r"(?m)^\s*\+(?:=+\+)+\s*$")
#: `gpus: 1, 2, 4`
_LIST = late(r"[:=]\s*[\[(]?\d+\s*,\s*\d")
_OF_DEVICES = any_of("cells.devices", "cells.kinds_of_devices")
#: A comment; `#GPUs  tokens/s` and `# of GPUs` are names.
_COMMENT = late(rf"(?i)\s*#(?!\s*of\s|(?:{_OF_DEVICES}|{any_of('cells.nodes')})s?(?!\w)[^#]*$)")
#: Before a title and behind it: `- ### Strong scaling:`
_TITLE_MARKS = late(r"^[\s#*>+=-]+|[\s#*:：=-]+$")
#: `** Reading, no cache`, `== ResNet-50, fp16 ==`
_HEADING = late(r"[#*>=-]+ +[^\W\d_]")
#: What stands above the columns of a pivot, and the names of its totals.
_COLUMN_LABELS = frozenset(words_of("cells.column_labels"))
_TOTAL = late(any_of("cells.sum"), re.IGNORECASE)
_COMPUTED = late(rf"(?:^|[_.]){any_of(*COMPUTED, 'columns.spread')}(?:[_.]|$)")
#: `[OneFlow](../OneFlow)`
_LINK = late(r"\[([^\[\]]+)\]\([^()\s]*[./#][^()\s]*\)")


def unmarked(cell: str) -> str:
    """Return a cell without links, bold, code, HTML and pictures; what is set small or below a number is left out."""
    if _MARKS.search(cell) is None:
        return cell
    cell = _LINK.sub(r"\1", html.unescape(cell))
    # A name goes on behind a break; what is behind the break of a number is not part of it.
    if not any(map(str.isdigit, cell.partition("<br")[0])) and "<sub" not in cell and "<sup" not in cell:
        cell = re.sub(r"\s*<br\s*/?>\s*", " ", cell)
    without_tags = re.sub(_PICTURE, "", _TAG.sub("", _BREAK.sub("", cell) or cell))
    return re.sub(r"(\*\*|`)(.*?)\1", r"\2", without_tags).strip()


def _rows_of_breaks(record: Sequence[str]) -> list[list[str]]:
    """Return the rows that cells of several lines hold, numbers among them: `V100 | 1<br>2 | 122<br>178`, `1, 2`."""
    lines = [re.split(r"\s*<br\s*/?>\s*|[,;]\s+", cell) for cell in record]
    several = [cells for cells in lines if len(cells) > 1]
    if len(several) < 2 or len({*map(len, several)}) > 1 or not any(all(map(_is_number, cells)) for cells in several):
        return [[*record]]
    return [[cells[k if len(cells) > 1 else 0] for cells in lines] for k in range(len(several[0]))]


def read_delimited(text: str, name: str, delimiter: str | None) -> Source:
    """Read a delimited text, a drawn one, or one in LaTeX, of several tables the likeliest with the others beside.

    One after another: a header in double bars, as in Jira, is drawn with single ones; a first line `sep=;` names the
    delimiter; the text is cut into records; breaks inside cells, and blanks below a header that another sign parts, cut
    further; of tables side by side the fullest is taken; a header is looked for in the comments above; the records are
    cut before each header into tables.
    """
    if not text.strip():
        raise TableError("the file is empty", hint="a header line and a line per run are needed", where=name)
    if delimiter is None and "\\\\" in text and (tabulars := tabulars_of(text)):
        tabulars = [*map(_stacked, tabulars)]
        records = [record for table in tabulars for record in table]
        lines_of_rows = [[line for line, row in table if len(row) > 1] for table in tabulars]
        # All rows may stand in one line.
        headers = {lines[0] for lines in lines_of_rows if len({*lines[:2]}) > 1}
        return _likeliest_source(_tables(records, headers), name, "\t", [])
    if "||" in text:
        text = _DOUBLE_BARS.sub(lambda header: header[0].replace("||", "|"), text)
    if (named := _NAMED_DELIMITER.match(text)) is not None:
        # As a comment it keeps its line, which messages count.
        text, delimiter = f"#{text}", delimiter or named[1]
    drawn = delimiter in (None, "|", "pipe") and "|" in text and bool(_rules(text))
    if delimiter is None:
        delimiter = "|" if drawn else guess_delimiter(text)
    separator = _DELIMITER_NAMES.get(delimiter, delimiter)
    if (len(separator) != 1 and separator != RUNS) or separator in '"\r\n':
        raise TableError(f"the delimiter must be one character, not {delimiter!r}", hint="for example --delimiter ';'")
    records = list(_drawn(text) if drawn else _records(text, separator, name))
    if _MARKS.search(text) or drawn:
        records = [(line, [*map(unmarked, row)]) for line, record in records for row in _rows_of_breaks(record)]
    if not records:
        raise TableError("the file holds only comments", hint="a header line is needed", where=name)
    labelled = [k for k, (_, row) in enumerate(records[:FIRST_ROWS]) if {*map(str.lower, row)} & _COLUMN_LABELS]
    if labelled and records[labelled[0] + 1 :]:
        return read_delimited(_unpivoted(records[labelled[0] :]), name, "\t")
    width = len(records[0][1])
    apart = [(line, row[0].split() if len(row) == 1 else []) for line, row in records[1:]]
    # `Setup: 8 nodes (a, b)` is a sentence, whose commas part no names.
    are_names = not any(": " in cell or cell.count("(") != cell.count(")") for cell in records[0][1])
    if width > 1 and are_names and {len(row) for _, row in apart} == {width}:
        # The rows are parted by blanks, and the header is not.
        records = [records[0], *apart]
    fullest, several_blocks = _fullest_block(records)
    if any(row[0] and not row[-1] for _, row in fullest[1 : MOST_LEVELS + 2]):
        fullest = _stacked(fullest)
    below_header, steps = (fullest, []) if drawn else _with_header(text, fullest, separator)
    tables = _tables(below_header, text=text, drawn=drawn)
    if "#" in text:
        likeliest, steps_to_table, title = tables[0]
        # `# training time (h)` among the few lines above the header.
        above = text.splitlines()[max(likeliest[0][0] - 4, 0) : likeliest[0][0] - 1]
        comments = (line.strip("# \t") for line in reversed(above) if line.lstrip().startswith("#"))
        commented = "" if units_in(title) else next(filter(units_in, comments), "")
        tables[0] = likeliest, steps_to_table, ", ".join(filter(None, (title, commented)))
    likeliest, steps_to_table, title = tables[0]
    last_row = max((line for line, row in likeliest if len(row) > 1), default=likeliest[-1][0])
    lines_below = (line.strip(f" \t{separator}") for line in text.splitlines()[last_row:])
    below = next(filter(None, lines_below), "") if len(tables) == 1 else ""
    if 0 < len(below) < LONGEST_TITLE and units_in(below) and not units_in(title):
        # `(images/s)` below the table
        tables[0] = likeliest, steps_to_table, ", ".join(filter(None, (title, below)))
    source = _likeliest_source(tables, name, separator, [*steps, *several_blocks], drawn)
    lines, last = text.splitlines(), int(max(source.lines, default=0))
    # Above a header in the first line stands nothing, and above a drawn table its caption.
    above = [source.caption] if drawn else lines[: max(likeliest[0][0] - 1, 0)][:FIRST_ROWS]
    around = [] if source.tables else [*filter(str.strip, lines[last:])][:LINES_BELOW]
    is_of_ratios = any(map(is_relative, source.cells)) and not any(map(is_result, source.cells))
    source = _with_baseline(source, [*above, *around]) if is_of_ratios else source
    return _with_settings_around(source, above, around)


def _with_baseline(source: Source, lines: Sequence[str]) -> Source:
    """Return a table of speed-ups with the times, or the rates, that they mean by the only one in the lines around.

    `One GPU takes 412 s per epoch` is the time T_1 of the run with so many devices: T_n = T_1·S_1/S_n.
    """
    speedups = [n for n in source.cells if is_relative(n) and not is_efficiency(n) and relative_unit(n) == RELATIVE]
    counts = [name for name in source.cells if counts_scale(name)]
    facts = [fact for line in lines for fact in facts_of(line.strip("# \t"))]
    results = [(key, value, unit) for key, value, unit in facts if is_result(key, unit)]
    of_runs = {value for key, value, _ in facts if counts_scale(key)}
    if not len(speedups) == len(counts) == len(results) == len(of_runs) == 1:
        return source
    ((key, value, unit),) = results
    ratios, numbers = ([number_in(str(cell).rstrip("xX×")) for cell in source.cells[n]] for n in (*speedups, *counts))
    base = [ratio for ratio, count in zip(ratios, numbers, strict=True) if count in of_runs]
    if len(base) != 1 or not all(ratio > 0.0 for ratio in ratios):
        return source
    name, is_rate = f"{key} ({unit})" if unit else key, header_of(key).kind == "rate"
    absolute = [value * (ratio / base[0] if is_rate else base[0] / ratio) for ratio in ratios]
    note = step(f"'{name}' follows from '{speedups[0]}' and the {value:g} {unit or key} beside the table")
    cells = {**source.cells, name: np.array([f"{number:.4g}" for number in absolute], dtype=object)}
    return replace(source, cells=cells, steps=(*source.steps, note))


def _with_settings_around(source: Source, above: Sequence[str], below: Sequence[str]) -> Source:
    """Return a table with the settings of all its runs that the lines around it state: `# world_size: 16`, a price."""
    for letter in (name for name in source.cells if len(name) == 1):
        full = re.compile(rf"(?<!\w){re.escape(letter)} ?[x×*] ?(\d\d?) (?i:{_OF_DEVICES})")
        if sizes := {of[1] for line in above for of in full.finditer(line)}:
            # `N×8 V100` above `N`: it counts nodes of eight.
            of_each = np.full(len(source), min(sizes), dtype=object)
            cells = {**source.renamed({letter: f"Nodes, {letter}"}).cells, "devices_per_node": of_each}
            note = step(f"'{letter}' counts nodes of {min(sizes)} devices")
            source = replace(source, cells=cells, steps=(*source.steps, note))
    # The nodes of a job are no count of runs that it starts with 1, 2, 4 ranks.
    upright = melted(source)
    of_columns = {*map(canonical_of, upright.cells)}
    of_columns |= {*LEVELS} if upright is not source or counts_vary(source.cells, named=False) else set()
    stated: dict[str, set[Any]] = {}
    sizes, read_below = {*SIZES, "devices_per_node"}, list[str]()
    for line in (line for line in (*above, *below) if not _LIST.search(line)):
        # A sentence states sizes and prices alone, and so does what stands below.
        is_list = re.search("[:=]", line) is not None and line not in below
        for key, value, unit in facts_of(line.strip("# \t")):
            states = canonical_of(key) is not None if is_list else canonical_of(key) in sizes
            if (states or is_price(key)) and canonical_of(key) not in {*of_columns} - {None} and not unit:
                stated.setdefault(key, set()).add(value)
                read_below += [line.strip()]
    settings = {key: label(values.pop()) for key, values in stated.items() if len(values) == 1}
    if not settings:
        return source
    cells = {key: np.full(len(source), value, dtype=object) for key, value in settings.items()}
    note = step(f"{listed([*map(repr, settings)])} of all rows from the lines around the table")
    ragged = tuple(row for row in source.ragged if row.value.strip() not in read_below)
    return replace(source, cells={**cells, **source.cells}, steps=(*source.steps, note), ragged=ragged)


def _likeliest_source(
    tables: Sequence[Titled], name: str, separator: str, steps: list[Note], drawn: bool = False
) -> Source:
    """Return the first of some tables as cells, with those of the others that hold numbers; of one run its facts."""
    if len(tables[0][0][0][1]) == 2 and (record := _record_of(tables, name)) is not None:
        return record
    source = _source_of_table(tables[0], name, separator, steps, drawn)
    further = [attempted(_source_of_table, table, name, separator, [], drawn) for table in tables[1:MOST_TABLES]]
    others = [t for t in further if isinstance(t, Source) and any(any(map(parts_of, c)) for c in t.cells.values())]
    return replace(source, tables=tuple(others))


def _record_of(tables: Sequence[Titled], name: str) -> Source | None:
    """Return tables of names beside their values, `field | value`, as one row; None for others that hold numbers."""
    facts: dict[str, str] = {}
    for ((_, head), *rows), *_ in tables:
        words = (*words_of("headers.name_of_facts"), *words_of("headers.name_of_quantities"))
        of_facts = len(head) == 2 and plain_name(head[0]) in words and all(len(row) == 2 for _, row in rows)
        if of_facts and facts.keys().isdisjoint(names := [row[0] for _, row in rows]) and len({*names}) == len(rows):
            facts |= dict(row for _, row in rows)
        elif any(_is_number(cell) for _, row in rows for cell in row):
            return None
    facts = {key: cell for key, cell in facts.items() if key and cell}
    counted = [key for key in facts if is_result(key)]
    return record_rows(name, [facts], [tables[0][0][0][0]], "record", "table of one run") if counted else None


def plain_table(text: str, head: Source) -> Source | None:
    """Return a long text as a table with the columns of its first lines; None where other lines are not like them.

    It is a short cut, which may only be taken where it reads what `read_delimited` does. `head` is what that read of
    the first lines: a table from the second line on, without anything mended. Every line has as many cells as the
    header, without quotes, comments or marks, and where the first ones have numbers all have.
    """
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    delimiter, names, rows = head.delimiter, [*head.cells], len(lines) - 1
    changed = head.steps or head.ragged or head.tables or head.caption
    if changed or delimiter not in DELIMITERS or head.lines.tolist() != [*range(2, len(head) + 2)]:
        return None
    if any(sign in text for sign in '"#') or len(text.splitlines()) != len(lines) or _MARKS.search(text):
        return None
    if {line.count(delimiter) for line in lines} != {len(names) - 1}:
        return None
    flat = [cell.strip() for cell in delimiter.join(lines[1:]).split(delimiter)]
    cells = dict(zip(names, np.array(flat, dtype=object).reshape(rows, len(names)).T, strict=True))
    try:
        for name, column in cells.items():
            if all(map(is_number, head.cells[name])):
                column.astype(float)
    except ValueError:
        return None
    return replace(head, cells=cells, lines=np.arange(2, rows + 2))


def _source_of_table(table: Titled, name: str, separator: str, steps: list[Note], drawn: bool) -> Source:
    """Return the cells of a table below its header; rows of another width are kept apart, and a log is refused."""
    records, steps_to_table, title = table
    of_names = parts_of(records[-1][1][0]) is None
    if of_names and (columns_of_names := _upright([row for _, row in records])) is not None:
        steps.append(step(f"{counted(len(records), 'row')} became columns: {listed(columns_of_names[0], 4)}"))
        records = [(records[0][0], row) for row in columns_of_names]
    (line, head), *body = records
    of_one_width = sum(len(row) == len(head) for _, row in body)
    if len({*head}) < len(head) and 2 * of_one_width < len(body):
        raise _no_table("its first line has a word twice", name)
    if _is_header(head, [row for _, row in body[:FIRST_ROWS]]):
        columns = column_names(head, f"{name}: line {line}")
    else:
        columns, body = [f"column{i}" for i in range(1, len(head) + 1)], records
        steps.append(step(f"no header line: columns are named {columns[0]} to {columns[-1]}"))
    widths_of_rows = {len(row) for _, row in body[:FIRST_ROWS] if any(row)}
    # A comma between thousands in a header, `N=10,000`, is no separator, nor one before a letter: `Time, T (s)`.
    joined_head = _BEFORE_A_LETTER.sub(", ", _GROUPS.sub(r"\1,\2", "\n".join(head))).split("\n")
    if separator == "," and widths_of_rows == {len(joined_head)} != {len(head)}:
        columns = column_names(joined_head, f"{name}: line {line}")
    width = len(columns)
    rows = [(line, row if any(row[width:]) else row[:width]) for line, row in body if width == 1 or any(row)]
    if not rows:
        raise UnclearTableError("a header and no rows", hint="a line per run is needed below it", where=name)
    count, widths = len(rows), {len(row) for _, row in rows}
    in_two_words = [k for k in range(width - 1) if canonical_of(f"{columns[k]} {columns[k + 1]}") is not None]
    if separator == " " and widths == {width - 1} and len(in_two_words) == 1:
        # Blanks part a name of the header: `model batch size img/s`.
        (k,) = in_two_words
        columns, width = [*columns[:k], f"{columns[k]} {columns[k + 1]}", *columns[k + 2 :]], width - 1
    if count > 1 and separator != " " and len(widths) == 1 and 1 < min(widths) < width:
        # Every row ends early: the last columns are empty.
        text = f"{counted(count, 'row')} shorter than the header: {listed(columns[-1:])} is empty there"
        steps.append(step(text))
        rows = [(line, [*row, *[""] * (width - len(row))]) for line, row in rows]
    rows = [(line, row if len(row) <= width else _with_brackets_closed(row)) for line, row in rows]
    if separator == RUNS:
        # `Incept. 200     390`, where a name is as long as its column is wide.
        cut = [(line, row, " ".join(row).split(" ")) for line, row in rows]
        numeric = [
            k
            for k, cells in enumerate(zip(*(row for _, row in rows if len(row) == width), strict=True))
            if all(map(_is_number, cells))
        ]
        rows = [
            (line, cells if len(row) < width == len(cells) and all(_is_number(cells[k]) for k in numeric) else row)
            for line, row, cells in cut
        ]
    # Words behind the last column: `8, 1.2, (warm cache)`.
    remarks = [row[width:] for _, row in rows if 1 < width < len(row) and not any(map(parts_of, row[width:]))]
    complete = sum(len(row) == width for _, row in rows)
    if remarks and (len(remarks) < complete or all(cells[0][:1] in {*"#("} for cells in remarks)):
        steps.append(step(f"remarks behind {counted(len(remarks), 'row')} left out"))
        rows = [(line, row if any(map(parts_of, row[width:])) else row[:width]) for line, row in rows]
    first_cells = [row[0] for _, row in rows if len(row) == width + 1]
    if count > 1 and first_cells == [*map(str, range(count))]:
        steps.append(step("the numbers of the rows, which the header does not name, left out"))
        rows = [(line, row[1:]) for line, row in rows]
    ragged = [(line, row) for line, row in rows if len(row) != width]
    rows = [(line, row) for line, row in rows if len(row) == width]
    prose = ""
    if len(ragged) > max(len(rows), 2):
        prose = f"{len(ragged)} of its {count} lines have another number of fields than the first"
    elif rows and width == 1 and statistics.median(len(row[0].split()) for _, row in rows) > 3:
        prose = "its lines are sentences"
    if prose:
        raise _no_table(prose, name)
    if count < len(body):
        steps.append(step(f"{counted(len(body) - count, 'row')} without a filled cell left out"))
    if drawn:
        steps.append(step(f"{counted(len(rows), 'row')} read from a table drawn with | and -"))
    rejected = tuple(
        Rejection(name, line, "", separator.join(row), f"{counted(len(row), 'field')} where the header has {width}")
        for line, row in ragged
    )
    about: Any = {"delimiter": separator, "steps": (*steps, *steps_to_table), "caption": title}
    lines, cells = ([*column] for column in zip(*rows, strict=True)) if rows else ([], [])
    return source_of(name, columns, cells, lines, ragged=rejected, **about)


def _with_brackets_closed(row: Sequence[str]) -> list[str]:
    """Return the cells of a row, those as one that a sign inside brackets parts: `900 (busy, load 2.5)`."""
    cells: list[str] = []
    for cell in row:
        if cells and cells[-1].count("(") > cells[-1].count(")"):
            cells[-1] += f", {cell}"
        else:
            cells.append(cell)
    return cells


def _no_table(why: str, name: str) -> TableError:
    hint = "write a CSV with a header line and a line per run; genperf import reads the files of some tools"
    return UnclearTableError(f"is a log or a text, not a table: {why}", hint=hint, where=name)


def _unpivoted(records: Sequence[Record]) -> str:
    """Return a pivot of a spreadsheet as a table with tabs, below what its values are of, and without its totals."""
    (line, (what, *_)), (_, head), *rows = records
    columns = [k for k, name in enumerate(head) if name and (k == 0 or not _TOTAL.fullmatch(name))]
    of_runs = [[row[k] for k in columns if k < len(row)] for _, row in rows if not _TOTAL.fullmatch(row[0])]
    corner = "count" if all(_is_number(row[0]) for row in of_runs) else "name"
    title = re.sub(r"^\S+ (?:of|von|de) ", "", what)
    lines = [[f"# {title}"], [corner, *(head[k] for k in columns[1:])], *of_runs]
    return "\n" * (line - 1) + "\n".join(map("\t".join, lines))


def _stacked(records: list[Record]) -> list[Record]:
    """Return a pivot with the names of its rows in a line below the levels of its columns as a row for each of these.

    Of `,tok_s,tok_s`, `gpus,8,16`, `model,,`, as pandas writes them, the header is `model,gpus,tok_s`.
    """
    start = next((k for k, (_, row) in enumerate(records) if len(row) > 1), 0)
    rows = [row for _, row in records[start:]]
    filled = [sum(map(bool, row)) for row in rows[: MOST_LEVELS + 1]]
    first_filled = [0 < f < len(row) and all(row[:f]) for f, row in zip(filled, rows, strict=False)]
    place = next((k for k, is_first in enumerate(first_filled) if k and is_first), 0)
    names, below, width = rows[place][: filled[place]], records[start + place + 1 :], len(rows[0])
    last, is_pivot = len(names) - 1, place and len(below) > 1 and {*map(len, rows[place:])} == {width}
    if not is_pivot or not all(row[last] and any(row[last + 1 :]) for _, row in below):
        return records
    levels, of_values = dict[str, list[str]](), list[list[str]]()
    for row in rows[:place]:
        above = [cell for cell in row[: last + 1] if cell]
        texts = row[last + 1 :]
        texts = [next(filter(None, reversed(texts[: k + 1])), "") for k in range(len(texts))]
        of_level = not any(map(is_result, texts)) and (not counts_scale("".join(above)) or any(map(_is_number, texts)))
        if len(row) != width or above[1:] or not all(texts) or not (of_level or not above):
            return records
        levels |= {above[0]: texts} if above else {}
        of_values += [] if above else [texts]
    if any(map(_is_number, names)) or (levels and not any(map(counts_scale, (*names, *levels)))):
        return records
    values = [" ".join(of_column) for of_column in zip(*of_values, strict=True)] or ["value"] * (width - last - 1)
    keys = [*zip(*levels.values(), strict=True)] or [()] * len(values)
    places = {pair: k for k, pair in enumerate(zip(keys, values, strict=True), last + 1)}
    header = [*names, *levels, *dict.fromkeys(values)]
    # Some keys are numbers, and sums and means of these are none.
    numeric = [any(map(_is_number, texts)) for texts in levels.values()]
    keys = [key for key in dict.fromkeys(keys) if all(_is_number(c) for c in itertools.compress(key, numeric))]
    if len(places) < len(values) or len({*header}) < len(header) or (levels and len(keys) < 2):
        return records
    if not levels:
        return [*records[:start], (records[start + place][0], header), *below]
    stacked, index = [*records[:start], (records[start + place][0], header)], [""] * len(names)
    for line, row in below:
        # Names that stand once above several rows are theirs.
        index = [cell or upper for cell, upper in zip(row, index, strict=False)]
        cells = [[row[places[key, v]] if (key, v) in places else "" for v in dict.fromkeys(values)] for key in keys]
        stacked += [(line, [*index, *key, *of_key]) for key, of_key in zip(keys, cells, strict=True) if any(of_key)]
    return stacked


def _with_one_header(records: Sequence[Record]) -> list[Record]:
    """Return records whose header of two lines is one: a name over several columns stands before theirs."""
    if len(records) < 3 or len(records[0][1]) != len(records[1][1]):
        return list(records)
    (_, upper), (line, lower), *rows = records
    # A name over several columns stands in the first of them; the others are empty above.
    above: list[str] = []
    for name, below in zip(upper, lower, strict=True):
        above.append(name or (above[-1] if above and below else ""))
    over_several = {name for name, count in Counter(above).items() if name and count > 1}
    # `samples/s | batch | batch` above `gpus | 32 | 64`: the corner names the values.
    is_corner = bool(lower[0]) and upper[0] not in over_several and (is_result(upper[0]) or is_relative(upper[0]))
    corner = f"{upper[0]} " if is_corner else ""
    # Behind `Time to train, min` no word follows its unit.
    behind = {n for n in over_several if header_of(n).unit not in ("", "s", header_of(f"{n} x").unit)}
    joined = [f"{b} {n}" if n in behind else f"{n} {b}" for n, b in zip(above, lower, strict=True)]
    columns = zip(above, lower, joined, strict=True)
    header = [f"{corner}{both}".strip() if n in over_several else b or n for n, b, both in columns]
    under = [k for k, name in enumerate(above) if name in over_several]
    beside = [name for k, name in enumerate(header) if k not in under]
    counts_below = bool(beside) and all(lower[k].isdecimal() for k in under)
    values_below = any(parts_of(rows[0][1][k]) is not None for k in under if k < len(rows[0][1]))
    names_below = values_below and not any(_is_number(lower[k]) for k in under)
    is_header = under and (counts_below or names_below) and not any(map(_is_number, beside))
    each_once = len({*header}) == len(header) and all(header[1:])
    is_header = is_header and each_once and _upright([row for _, row in records]) is None
    return [(line, header), *rows] if is_header else list(records)


def _fullest_block(records: list[Record]) -> tuple[list[Record], list[Note]]:
    """Return, of tables with shared names side by side in a sheet, the one with most columns of numbers, and a note."""
    width = max((len(row) for _, row in records), default=0)
    rows = [(line, [*row, *[""] * (width - len(row))]) for line, row in records]
    used = [any(row[k] for _, row in rows) for k in range(width)]
    if all(used):
        return records, []
    spans, shared = _spans(used), list[set[str]]()
    for _, row in rows:
        names = [{cell for cell in row[start:end] if cell and not _is_number(cell)} for start, end in spans]
        shared += [left & right for left, right in itertools.combinations(names, 2)]
    if not any(len(names) > 1 or any(meant_by(name) in LEVELS for name in names) for names in shared):
        return records, []
    titles, tables = list[str](), list[list[Record]]()
    for start, end in spans:
        filled = [(line, row[start:end]) for line, row in rows if sum(map(bool, row[start:end])) > 1]
        above = [row[start] for line, row in rows if filled and line < filled[0][0] and row[start]]
        for _, table in _at_headers(filled, 0, (), ()):
            columns = [k for k in range(end - start) if any(row[k] for _, row in table)]
            tables.append(_with_one_header([(line, [row[k] for k in columns]) for line, row in table]))
            titles.append(" ".join(above))

    def columns_of_numbers(table: list[Record]) -> int:
        return sum(all(_is_number(row[k]) for _, row in table[1:]) for k in range(len(table[0][1])))

    complete = [table for table in tables if len(table) > 1]
    if len(complete) == len(tables) == len({*titles} - {""}) > 1 and len({tuple(table[0][1]) for table in tables}) == 1:
        return _as_one([*zip(titles, tables, strict=True)], [], "")[:2]
    text = f"{len(complete)} tables stand beside and below each other: the one of most numbers is read"
    return (max(complete, key=columns_of_numbers), [step(text)]) if complete else (records, [])


def _spans(used: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where the used places begin and end: `[True, True, False, True]` → `[(0, 2), (3, 4)]`."""
    starts = [k for k, is_used in enumerate(used) if is_used and not (k and used[k - 1])]
    return [(k, next((end for end in range(k, len(used)) if not used[end]), len(used))) for k in starts]


def _tables(
    records: Sequence[Record], header_lines: Collection[int] = (), text: str = "", drawn: bool = False
) -> list[Titled]:
    """Return the tables of a text, the likeliest first (`_likeliest`); tables of the same columns are one."""
    rows, lines, rules = [row for _, row in records], {line for line, _ in records}, set[int]()
    if drawn:
        # Below a header of Markdown stands a rule with rows below, and above it none.
        rules = _rules(text)
        header_lines = {line - 1 for line in rules if line - 2 not in rules and line + 1 in lines}
    # Lines of one cell above a header are left out; one alone is its title.
    several_cells = next((k for k, row in enumerate(rows[:FIRST_ROWS]) if sum(map(bool, row)) > 1), 0)
    head, below = rows[several_cells], rows[several_cells + 1 : several_cells + 4]
    is_header = several_cells > 1 and _begins(head, below, [], True)
    # `** Reading`, right above it, is a title beside those of further tables.
    start = several_cells - bool(_HEADING.match(rows[several_cells - 1][0])) if is_header else 0
    remaining = []
    for title, table in _at_headers(records, start, header_lines, rules):
        bare = _without_notes(table)
        remaining.append((title, len(with_units(bare)) < len(bare), _with_one_header(with_units(bare))))
    remaining = _titled_by_corners(remaining) if len(remaining) > 1 else remaining
    lines_of_headers = [table[0][0] for *_, table in remaining]
    above = dict(zip(lines_of_headers, _titles_within(text, lines_of_headers), strict=True)) if drawn else {}
    ranked = []
    while remaining:
        titles = [title for title, *_ in remaining]
        chosen = _likeliest([table for *_, table in remaining], titles) if len(remaining) > 1 else 0
        chosen_title, of_units, ((_, header), *_) = remaining[chosen]
        # Titles may say that what tables of the same columns hold is not the same.
        values = {} if any(map(is_result, header)) else {t: (header_of(t).kind, units_in(t)) for t, *_ in remaining}
        same = [t[-1][0][1] == header and values.get(t[0]) == values.get(chosen_title) for t in remaining]
        alike = [(title, table) for title, _, table in itertools.compress(remaining, same)]
        remaining = [t for t, is_same in zip(remaining, same, strict=True) if not is_same]
        notes = [f"row of units read into the header: {listed(header, 6)}"] if of_units else []
        notes += [f"{counted(start, 'line')} above the header left out"] if start else []
        for *_, ((k, names), *table_rows) in remaining:
            if any(parts_of(cell) for _, row in table_rows for cell in row):
                notes.append(f"another table is left out, from line {k} on: {listed(names, 6)}")
        steps = [*map(step, notes)]
        # `### Results` may stand below the heading of each model.
        title = ", ".join(filter(None, dict.fromkeys((above.get(alike[0][1][0][0], ""), alike[0][0]))))
        ranked.append(_as_one(alike, steps, text) if len(alike) > 1 else (alike[0][1], steps, title))
    return ranked


def _at_headers(
    records: Sequence[Record], start: int, header_lines: Collection[int], rules: Collection[int]
) -> list[tuple[str, list[Record]]]:
    """Return the records from a start on, cut before each header: tables, header first, each with its title."""
    rows = [row for _, row in records]
    # Sections whose rows have names of their own begin alike.
    first_names = Counter(
        below[0] for row, below in itertools.pairwise(rows) if any(row[:1]) and not any(row[1:]) and any(below[1:])
    )
    tables: list[tuple[str, list[Record]]] = []
    title, section, gap_above = "", "", True
    # Of a file with a blank line below each, as Windows makes them of `\r\r\n`, one is no gap.
    spacing = max(1, min((below - line for (line, _), (below, _) in itertools.pairwise(records)), default=1))
    for place, (line, record) in enumerate(records[start:], start):
        filled, below = [cell for cell in record if cell], rows[place + 1 : place + 4]
        line_below = records[place + 1][0] if below else 0
        gap_below = line_below > line + spacing + (line + 1 in rules)
        table = tables[-1][1] if tables else []
        header = table[0][1] if table else []
        # The upper line of a header of two, with names over several columns, may have a rule below it.
        is_upper = len(table) == 1 and len({*header}) < len(header)
        # A title is one text at the left, or names with a blank line below; one further right is part of a header.
        names_below = [cell for cell in rows[place + 1] if cell] if below else []
        is_text_apart = gap_below and len({*filled}) == len(filled) > 0 and not any(map(parts_of, filled))
        # Of a run that failed `OOM` stands below each name.
        is_text_apart &= len({*names_below}) == len(names_below)
        may_be_title = (len(filled) == 1 and (record[0] != "" or len(record) < 3)) or is_text_apart
        # `On p3.16xlarge (8 V100 each, $24.48/h):`
        is_sentence = any(cell.count("(") != cell.count(")") for cell in filled)
        is_heading = _HEADING.match(record[0]) is not None and not counts_scale(record[0])  # `# of GPUs`
        may_be_title |= (is_sentence or is_heading) and not any(map(parts_of, filled))
        if may_be_title and below and (line_below in header_lines or _begins(below[0], below[1:], header, True)):
            title, section = _TITLE_MARKS.sub("", " ".join(filled)), ""
        elif header and len(filled) == 1 and record[0] and below and _is_section(record[0], below[0], first_names):
            if below[0][0]:
                # The rows have names of their own: the section is a table of the same columns.
                tables[-1:] = [*(tables[-1:] if len(table) > 1 else []), (record[0], table[:1])]
            section = record[0]
        elif section and not record[0] and filled:
            table.append((line, [section, *record[1:]]))
        elif not table or (
            (line in header_lines and record != header and gap_above)
            or (len(table) > 1 and _begins(record, below[:2], [""], True) and _are_words(table))
            or _begins(record, below[:2], header, (gap_above and not is_upper) or bool(title), len(table) == 1)
        ):
            if table and (_is_title(header, record) if len(table) == 1 else _are_words(table)):
                # What seemed the header was the title; of several lines of words the last one is.
                title = " ".join(tables.pop()[1][-1][1]) if len(table) > 1 else ", ".join(tables.pop()[1][0][1])
            tables.append((title, [(line, record)]))
            title = ""
        else:
            table.append((line, record))
        gap_above = not filled or gap_below
    return tables


def _titled_by_corners(tables: Sequence[tuple[str, bool, list[Record]]]) -> list[tuple[str, bool, list[Record]]]:
    """Return tables with that corner as their title in which alone they differ: `bert | 1 GPU | 4 GPUs`, `vgg | …`."""
    shapes = [(*head[1:], *sorted({row[0] for _, row in rows})) for *_, ((_, head), *rows) in tables]
    corners = [table[0][1][0] for *_, table in tables]
    titled = []
    for (title, of_units, table), shape, corner in zip(tables, shapes, corners, strict=True):
        (line, head), *rows = table
        alike = {other for other, of_shape in zip(corners, shapes, strict=True) if of_shape == shape}
        if len(head) > 2 and len(alike) == shapes.count(shape) > 1 and not any(_is_number(row[0]) for _, row in rows):
            titled.append((corner.strip("()[]"), of_units, [(line, ["", *head[1:]]), *rows]))
        else:
            titled.append((title, of_units, table))
    return titled


def _likeliest(tables: Sequence[Sequence[Record]], titles: Sequence[str]) -> int:
    """Return the place of the first table of a scale with a time or a rate, else a speed-up; or else of any result.

    A table whose title has a unit holds results. Before a table of a scale without a result comes one with a time.
    """
    cells = [
        {name: [row[k] for _, row in rows if k < len(row)] for k, name in enumerate(head)}
        for ((_, head), *rows) in tables
    ]

    # `1 GPU | 4 GPUs` above times counts by its headers.
    wide = [sum(COUNTED.match(name) is not None for name in table) > 1 for table in cells]

    def rank(place: int) -> int:
        of_cells = ((parts.unit if (parts := parts_of(c)) else "") for column in cells[place].values() for c in column)
        units = {*units_in(titles[place]), *(of_cells if wide[place] else ())} - {""}
        names = [*cells[place], *(f"x ({unit})" for unit in units)]
        timed = any(is_result(name) and header_of(name).kind in ("time", "rate") for name in names)
        return 0 if timed else 1 if any(map(is_relative, cells[place])) else 2

    # A table that is still to be filled in, `GPUs | time` above `8 | TBD`, has nothing but its counts.
    filled_in = [any(any(map(parts_of, t[name])) for name in t if not counts_scale(name)) for t in cells]
    counted_in = [is_wide or counts_vary(table, named=False) for is_wide, table in zip(wide, cells, strict=True)]
    scaled = [place for place in range(len(cells)) if filled_in[place] and counted_in[place]]
    timed = [place for place in range(len(cells)) if filled_in[place] and rank(place) == 0]
    of_results = [place for place, table in enumerate(cells) if any(map(is_result, table))]
    likeliest = min(scaled, key=rank, default=None)
    return (
        likeliest
        if likeliest is not None and (rank(likeliest) < 2 or not timed)
        else next(iter([*timed, *of_results]), 0)
    )


def _as_one(same: Sequence[tuple[str, list[Record]]], notes: list[Note], whole_text: str) -> Titled:
    """Return several tables of the same columns, with their titles, as one; its steps and its title."""
    start, header = same[0][1][0]
    text = f"{len(same)} tables of the same columns read as one"
    titles = [title for title, _ in same]
    if len({*titles} - {""}) < len(same):
        headings = _titles_within(whole_text, [table[0][0] for _, table in same])
        pairs = zip(headings, titles if len({*titles}) > 1 else [""] * len(titles), strict=True)
        titles = [h if h.endswith(title) else ", ".join(filter(None, (h, title))) for h, title in pairs]
    # Of each column, the different cells that each table has in it.
    columns = [[{row[k] for _, row in rows[1:] if k < len(row)} for _, rows in same] for k in range(len(header))]
    # Some column holds one value in each table, and another one in each.
    column_differs = all(len(rows) > 2 for _, rows in same) and any(
        all(len(cells) == 1 for cells in column) and len(set[str]().union(*column)) == len(same) for column in columns
    )
    if column_differs or len({*titles}) == 1 or "" in titles or TITLES in header:
        return [(start, header), *(row for _, rows in same for row in rows[1:])], [step(text), *notes], same[0][0]
    keys, cells_of = _keys_of(titles)
    if not keys or {*map(str.lower, keys)} & {*map(str.lower, header)}:
        keys, cells_of = [TITLES], [[title] for title in titles]
    rows_of = zip(cells_of, same, strict=True)
    titled = [(line, [*cells, *row]) for cells, (_, rows) in rows_of for line, row in rows[1:] if any(row)]
    # A unit in brackets may stand in every title.
    units = " ".join(f"({unit})" for unit in sorted(set.intersection(*({*units_in(title)} for title, _ in same))))
    note = step(f"{text}: {listed([*map(repr, keys)])} {'have' if keys[1:] else 'has'} their titles")
    return [(start, [*keys, *header]), *titled], [note, *notes], units


def _keys_of(titles: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the keys that all titles have, `Model: 7B, GPUs: 8`, and the values of each; else nothing."""
    pairs = [dict(re.findall(r"(?:^|, )([^:,]+): +([^:,]+)(?=, |$)", title)) for title in titles]
    rejoined = {", ".join(f"{key}: {value}" for key, value in of_title.items()) for of_title in pairs}
    if rejoined != {*titles} or len({*map(tuple, pairs)}) > 1:
        return [], []
    return [*pairs[0]], [[*of_title.values()] for of_title in pairs]


def _are_words(table: Sequence[Record]) -> bool:
    """Tell whether the rows of a table hold no number at all."""
    return not any(parts_of(cell) for _, row in table for cell in row)


def _is_title(head: Sequence[str], below: Sequence[str]) -> bool:
    """Tell whether what seemed a header is a title with a comma: `Strong scaling, ResNet` above `nodes,s`."""
    headers_known = [any(header_of(name).kind or canonical_of(name) for name in names) for names in (head, below)]
    return all(head) and not any(map(str.isdigit, "".join(below))) and headers_known == [False, True]


def _is_section(name: str, below: Sequence[str], first_names: Mapping[str, int]) -> bool:
    """Tell whether the only cell of a row names those below: they begin empty, with a number, or as other sections."""
    begins = not below[0] or _is_number(below[0]) or first_names[below[0]] > 1
    return parts_of(name) is None and begins and sum(map(bool, below)) > 1


def _without_notes(table: Sequence[Record]) -> list[Record]:
    """Return a table without the sentences below it, which stand in its first column alone."""
    rows = list(table)
    while (
        min(len(rows), len(rows[0][1])) > 2
        and sum(map(bool, (last := rows[-1][1]))) == 1
        and (" " in last[0] or units_in(last[0]))
    ):
        rows.pop()
    return rows


def counts_vary(cells: Mapping[str, Any], named: bool = True) -> bool:
    """Tell whether a column of devices, nodes, threads or the like varies, and stands beside a `named` result."""
    texts = {name: [text for text in map(str, column) if text] for name, column in cells.items()}
    parsed = [[parts_of(cell) for cell in texts[name]] for name in cells if counts_scale(name)]
    counts = [[cell.number if cell else "" for cell in column] for column in parsed]
    # `8x A100` counts devices, whatever its header says.
    counts += [[match[0] if (match := COUNTED.match(cell)) else "" for cell in column] for column in texts.values()]
    varied = any(all(column) and len({*column}) > 1 for column in counts)
    return varied and (not named or any(is_result(name) for name in cells))


def titled_numbers(text: str) -> str | None:
    r"""Return numbers below titles as rows, each with its title, between tabs; None for another text.

    >>> titled_numbers("--- Threads = 1 ---\n\n1345\n--- Threads = 2 ---\n\n695")
    'table\tcolumn1\nThreads = 1\t1345\nThreads = 2\t695'
    """
    rows, titles = list[list[str]](), list[str]()
    for line in filter(None, map(str.strip, text[:HEAD_BYTES].splitlines())):
        cells = re.split(r"[\s,;]+", line)
        if all(map(_is_number, cells)):
            rows.append([titles[-1] if titles else "", *cells])
        else:
            titles.append(_TITLE_MARKS.sub("", line))
    if len(titles) < 2 or [*dict.fromkeys(row[0] for row in rows)] != titles or len({*map(len, rows)}) != 1:
        return None
    header = [TITLES, *(f"column{k}" for k in range(1, len(rows[0])))]
    return "\n".join(map("\t".join, (header, *rows)))


#: `T(8) = 12.5 s`, `8 ranks -> 12.5`.
_NAMED_NUMBER = late(
    r"(?P<name>(?=[^:=>→]*[^\W\d_])[^:=>→]+|\w+ ?= ?\d+) ?(?:(?:[:=]|[-=]>|→)\s+|(?<=\d\)) ?= ?)"
    r"(?P<value>\S+(?: [^\W\d]\S*)?)"
)


def named_numbers(text: str) -> str | None:
    r"""Return lines of a number each, behind names that differ by a count alone, as a header and its row between tabs.

    >>> named_numbers("T(1) = 9.5 s\nT(2) = 5.1 s\nT(4) = 2.9 s"), named_numbers("gpus: 8\ntime: 9.5 s\nbatch: 4")
    ('T(1)\tT(2)\tT(4)\n9.5 s\t5.1 s\t2.9 s', None)
    """
    lines = [_NAMED_NUMBER.fullmatch(line.strip()) for line in text[:HEAD_BYTES].splitlines() if line.strip()]
    rows = [(match["name"].strip(), match["value"]) for match in lines if match is not None]
    if len(lines) < 3 or len(rows) < len(lines) or len({name for name, _ in rows}) < len(rows):
        return None
    numbers_steps = any(word in words_of("log.step") for word in re.findall(r"[^\W\d_]+", rows[0][0].lower()))
    named = all(alike(rows[0][:1], [name]) and parts_of(value) is not None for name, value in rows)
    return "\n".join(map("\t".join, zip(*rows, strict=True))) if named and not numbers_steps else None


#: A name, its numbers, and their unit behind them.
_UNIT_BEHIND = late(r"^([^:\t]{1,60}):(\s[\d., \t]+\d)\s+\(?([^\W\d_][^(),\d]{0,20})\)?$")
#: `8 GPUs` as a cell.
_COUNT = late(rf"(?P<number>\d+) (?P<noun>(?:{any_of('headers.device', 'headers.node')})s?)", re.IGNORECASE)
#: What stands between what was measured and the count that it is over: `tput (seq/s) by #gpus`.
_OVER = late(rf"\s+{any_of('headers.across')}\.?\s+", re.IGNORECASE)


def titled_pairs(text: str) -> str | None:
    r"""Return pairs of numbers below a title that says of what over which count, as a table; None for another text.

    >>> titled_pairs("tput (seq/s) by #gpus\n8 410\n16 800")
    '#gpus\ttput (seq/s)\n8\t410\n16\t800'
    """
    title, *below = [*filter(None, map(str.strip, text[:HEAD_BYTES].splitlines()))] or [""]
    rows = [re.split(r"[\s,;:=]+", line) for line in below]
    if len(title) > LONGEST_TITLE or len(rows) < 2 or any(len(row) != 2 or None in map(parts_of, row) for row in rows):
        return None
    for over in _OVER.finditer(title):
        names = title[: over.start()], title[over.end() :].rstrip(" :")
        # `Worker count vs. time (ms)` as well; `throughput per gpu` is of each, and `step time per node count` is not.
        is_of_each = over[0].strip().lower() in words_of("headers.per") and counted_noun(names[1]) == plain_name(
            names[1]
        )
        for measured, count in () if is_of_each else (names, names[::-1]):
            if header_of(measured).kind and counts_scale(count):
                return "\n".join(map("\t".join, [[count, measured], *rows]))
    return None


#: `gpus = [8, 16, 32]`
_LIST_OF_KEY = late(r"^([^\W\d_][^:=\[\]]*?)\s*[:=]\s*\[([^\[\]]*)\],?$")


def keyed_lines(text: str) -> str | None:
    r"""Return lines of a name with several numbers as columns between tabs, those of a count first; else None.

    >>> keyed_lines("Our runs\n\ntime (s):  9.5  5.1  2.9\nGPUs:      1    2    4")
    'GPUs\ttime (s)\n1\t9.5\n2\t5.1\n4\t2.9'
    """
    lines = text.splitlines() if len(text) < HEAD_BYTES else []
    # `sync: 1.1 1.2 1.4 (s per step)`
    lines = [_LIST_OF_KEY.sub(r"\1: \2", line.strip()) for line in lines]
    lines = [_named_row(_UNIT_BEHIND.sub(r"\1 (\3):\2", line)) for line in lines]
    cut = (re.split(r":?\s{2,}|\t+|:\s", line) for line in lines)
    # `GPUs: 1 2 4 8`, `GPUs: 1, 2, 4, 8`
    cut = ([row[0], *(number for cell in row[1:] for number in _numbers_beside(cell))] for row in cut)
    rows = {k: row for k, row in enumerate(cut) if len(row) > 3}
    keyed = {k: row for k, row in rows.items() if _is_keyed(row)}
    counts = [k for k, row in keyed.items() if _counts_runs(row)]
    if len(counts) != 1 or (counts[0] == 0 and ":" not in lines[0]):
        return None
    columns = _upright([row for row in keyed.values() if len(row) == len(keyed[counts[0]])])
    # What states sizes and prices of all runs stays above them.
    above = [f"# {line}" for k, line in enumerate(lines) if k not in rows and _states_a_size(line)]
    return None if columns is None else "\n".join([*above, *map("\t".join, columns)])


def _numbers_beside(cell: str) -> list[str]:
    """Return numbers that a blank or a comma parts, `1, 2, 4`, each by itself; another cell as it is."""
    cells = cell.split(", " if ", " in cell else " ")
    return [cell] if None in map(parts_of, cells) else cells


def _states_a_size(line: str) -> bool:
    """Tell whether a line around a table states sizes or a price of all its runs."""
    keys = [key for key, _, unit in facts_of(line.strip("# \t")) if not unit]
    return any(canonical_of(key) in (*SIZES, "devices_per_node") or is_price(key) for key in keys)


def _named_row(line: str) -> str:
    """Return a row of counts, `1 GPU  2 GPUs`, and one of numbers with their unit behind, `0.5  0.3  s`, by a name."""
    *cells, last = re.split(r"\s{2,}|\t+", line.strip())
    counts = [_COUNT.fullmatch(cell) for cell in (*cells, last)]
    if len(cells) > 1 and None not in counts and len({count["noun"].rstrip("s") for count in counts if count}) == 1:
        return f"{last.partition(' ')[2].rstrip('s')}s:  {'  '.join(count['number'] for count in counts if count)}"
    behind = re.fullmatch(r"(\S+)\s(\D\S*(?: per \S+)?)", last)
    cells, unit = ([*cells, behind[1]], behind[2]) if behind else (cells, last)
    name = cells[0] if cells and parts_of(cells[0]) is None else ""
    numbers = cells[1:] if name else cells
    is_row = len(numbers) > 2 and all(map(_is_number, numbers)) and header_of(f"x ({unit})").kind
    return f"{f'{name} ({unit})' if name else unit}:  {'  '.join(numbers)}" if is_row else line


def _is_keyed(row: Sequence[str]) -> bool:
    """Tell whether a row has a name, then numbers alone."""
    return parts_of(row[0]) is None and len(row) > 1 and None not in map(parts_of, row[1:])


def _counts_runs(row: Sequence[str]) -> bool:
    return len(row) > 1 and counts_scale(row[0]) and all(map(str.isdecimal, row[1:]))


def _upright(rows: Sequence[Sequence[str]]) -> list[list[str]] | None:
    """Return rows that begin with names of settings and results as columns, counts first; None for other rows."""
    head, *below = rows
    is_keyed = _is_keyed(head)
    width, names = len(head), [row[0] for row in (rows if is_keyed else below)]
    if width < 3 or not below or any(len(row) != width for row in below) or any(map(parts_of, names)):
        return None
    measured = [name for name in names if header_of(name).kind]
    settings = [name for name in names if name not in measured and (meant_by(name) is not None or counts_scale(name))]
    # What a row of texts, of one number, or of what is computed is named by is no series of the others.
    beside = [row[0] for row in below if row[0] not in (*measured, *settings) and _is_no_series(row)]
    if not (measured and len({*names}) == len(names) < 2 * (len(measured) + len(settings) + len(beside))):
        return None
    if not settings and (is_keyed or len(measured) + len(beside) < len(names) or not _name_counts(head)):
        return None
    named = [head if is_keyed else [head[0] or "name", *head[1:]], *below]
    return [[*column] for column in zip(*sorted(named, key=lambda row: not _counts_runs(row)), strict=True)]


def _is_no_series(row: Sequence[str]) -> bool:
    """Tell whether a row of a name and cells has no measurements of a series that it names: texts, say, or one seed."""
    return None in map(parts_of, row[1:]) or len({*row[1:]}) == 1 or _COMPUTED.search(plain_name(row[0])) is not None


def _name_counts(head: Sequence[str]) -> bool:
    """Tell whether a header's cells behind the first are names that hold counts: `1x A100`, `2 nodes x 8 GPUs`."""
    taken = names_of(head[0], [*head[1:]]) if all(re.search(r"\d", cell) for cell in head[1:]) else None
    return taken is not None and any(meant_by(word) in LEVELS for word in taken.columns)


def cut_table(text: str, above: int = 3) -> str | None:
    r"""Return a table in columns whose cells may be empty, between tabs; None for another text.

    It is cut where all its lines are blank: pandas prints levels above each other once. So many lines may stand above.
    """
    filled = (line.expandtabs().rstrip() for line in text.splitlines() if line.strip())
    lines = [line for line in filled if not _RULE.match(line.replace(" ", ""))]
    width = max(map(len, lines), default=0)
    if not 3 <= len(lines) <= MOST_NAMES or width > MOST_NAMES or any(map(_is_number, lines[0].split())):
        return None
    used = [any(line[k : k + 1].strip() for line in lines) for k in range(width)]
    spans = _spans(used)
    below = [any(line[start:end].strip() for line in lines[1:]) for start, end in spans]
    # A name of several words, `# of nodes`, is one of a column.
    starts = [s for k, (s, _) in enumerate(spans) if k == 0 or below[k] or s - spans[k - 1][1] > 1]
    rows = [
        [line[start:end].strip() for start, end in zip(starts, [*starts[1:], width], strict=True)] for line in lines
    ]
    is_number_cell = [[_is_number(cell) for cell in row] for row in rows[2:]]
    has_count = any(counts_scale(cell) for row in rows[:2] for cell in row) or COUNTED.match(rows[2][0]) is not None
    if not (has_count and all(map(any, is_number_cell)) and any(map(all, zip(*is_number_cell, strict=True)))):
        return cut_table("\n".join(lines[1:]), above - 1) if above else None
    return "\n".join(map("\t".join, rows))


def rows_below_levels(text: str) -> str | None:
    r"""Return a table in columns below a header of several lines, between tabs; None for another text.

    It is cut where all rows of numbers are blank; a name above is one of the first column that it stands over.

    >>> rows_below_levels("     1 node  2 nodes\nnet   img/s    img/s\nvit     410      790\nbert     92      180")
    '\t1 node\t2 nodes\nnet\timg/s\timg/s\nvit\t410\t790\nbert\t92\t180'
    """
    filled = filter(None, map(str.rstrip, text.expandtabs().splitlines()))
    lines = [line for line in filled if not _RULE.match(line.replace(" ", ""))]
    width = max(map(len, lines), default=0)
    if not 4 <= len(lines) <= FIRST_ROWS or width > MOST_NAMES:
        return None
    for count in range(2, min(MOST_LEVELS + 1, len(lines) - 1)):
        body = lines[count:]
        spans = _spans([any(line[k : k + 1].strip() for line in body) for k in range(width)])
        rows = [[line[start:end].strip() for start, end in spans] for line in body]
        numeric = [[_is_number(row[k]) for row in rows] for k in range(len(spans))]
        if sum(map(all, numeric)) > 1 and not any(any(of) and not all(of) for of in numeric):
            header = [_over_columns(line, spans) for line in lines[:count]]
            header[:1] = [row[:1] if not any(row[1:]) else row for row in header[:1]]
            scaled = any(counts_scale(cell) or COUNTED.match(cell) for row in header for cell in row)
            if (
                scaled
                and (all(header[-1][1:]) or header[-1][0])
                and not alike(*map(str.split, lines[count - 1 : count + 1]))
            ):
                return "\n".join(map("\t".join, (*header, *rows)))
    return None


def _over_columns(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the names of a line by the columns that they stand over; words of no number are one of each column."""
    cells = [""] * len(spans)
    for name in re.finditer(r"\S+(?: \S+)*", line):
        over = [k for k, (start, end) in enumerate(spans) if start < name.end() and name.start() < end]
        words = name[0].split()
        if len(words) == len(over) and not any(map(_is_number, words)):
            for k, word in zip(over, words, strict=True):
                cells[k] = word
        else:
            k = over[0] if over else min(range(len(spans)), key=lambda k: abs(spans[k][0] - name.start()))
            cells[k] = f"{cells[k]} {name[0]}".strip()
    return cells


def _begins(
    record: Sequence[str], below: Sequence[Sequence[str]], head: Sequence[str], apart: bool, alone: bool = False
) -> bool:
    """Tell whether a record is the header of a table: names without a number, and below them a number."""
    names_counts = apart and not head and _counts_runs(record)
    if len(record) < 2 or (any(map(_is_number, record)) and not names_counts):
        return False
    if not any(parts_of(cell) for row in below for cell in row):
        return False
    names = [cell for cell in record if cell]
    if (alike(record, below[0]) and not names_counts) or (head and len({*names}) < len(names) and record != head):
        return False
    same_width = len(head) == len(record)
    names_known = not same_width or any(header_of(name).kind or canonical_of(name) for name in record if name)
    # Settings, each with its number, may stand above a wider table.
    is_wider = len(record) > len(head) and len(below) > 1 and all(len(row) == len(record) for row in below)
    stands_apart = apart or is_wider or (alone and _is_title(head, record))
    return record == head or (len(below[0]) == len(record) and stands_apart and names_known)


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two rows hold numbers, and differ by them alone: neither is the header of the other."""
    without, other_without = (
        [re.sub(r"(?<=[^\W\d_])s\b", "", re.sub(r"\d[\d.,]*", "0", cell)) for cell in row] for row in (one, other)
    )
    return without == other_without and "0" in "".join(without)


def with_units(table: Sequence[Record]) -> list[Record]:
    """Return a table whose header has the units of the first row, where that row holds units alone."""
    if len(table) < 3 or len(table[0][1]) != len(table[1][1]):
        return list(table)
    (line, head), (_, units_row), *rows = table
    units = [cell.strip("()[]").removesuffix("count") for cell in units_row]
    # Among several, any word in brackets is a unit.
    certain = len(head) > 1 and any(units) and all(map(_BRACKETED.fullmatch, filter(None, units_row)))
    # What says that a column has no unit, or what it counts: a batch of samples.
    unit_less = {"", "#", *MISSING, *words_of("headers.of_a_batch")}
    are_units = [u not in unit_less and not _is_number(u) and (certain or not is_other_word(u)) for u in units]
    further_units = {unit for unit, is_unit in zip(units, are_units, strict=True) if not is_unit}
    below = [cell for cell, is_unit in zip(rows[0][1], are_units, strict=False) if is_unit]
    # Names over several columns stand in the first of them: their second line has no units.
    is_upper = not all(itertools.compress(head, are_units))
    if is_upper or not below or not further_units <= unit_less or not (certain or all(map(parts_of, below))):
        return list(table)
    # `1/s` below `Tokens`, and below `Tokens/s`, which has it.
    over = [u[1:] if u[:2] == "1/" and header_of(n).kind != "rate" else "" for n, u in zip(head, units, strict=True)]
    behind = [end if u[:2] == "1/" else f" ({u})" for end, u in zip(over, units, strict=True)]
    return [(line, [n + end if k else n for n, end, k in zip(head, behind, are_units, strict=True)]), *rows]


def _is_header(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row names the columns: it has no number where the rows have some, but for wide counts."""
    same = [row for row in rows if len(row) == len(head)]
    if (all(map(_is_number, head)) and (len(head) > 1 or same)) or (same and alike(head, same[0])):
        return False
    numeric = [cell for i, cell in enumerate(head) if same and all(_is_number(row[i]) for row in same)]
    if not numeric or not all(map(_is_number, numeric)):
        return True
    counts = [float(cell.strip(' "').replace(",", "")) for cell in numeric]
    return all(c.is_integer() for c in counts) and all(a < b for a, b in itertools.pairwise(counts))


def _with_header(text: str, records: list[Record], delimiter: str) -> tuple[list[Record], list[Note]]:
    """Return records below the header in a comment above them, as `numpy.savetxt` writes it, or numbered ones."""
    # Sentences above the comment are of one cell.
    header_row = next((k for k, (_, cells) in enumerate(records[:FIRST_ROWS]) if len(cells) > 1), 0)
    line, cells = records[header_row]
    with_value = sum(parts_of(cell.strip().strip('"')) is not None for cell in cells)
    if len(cells) < 2 or not with_value:
        return records, []
    header, steps = _commented_header(text, records[header_row], delimiter)
    # A row that is mostly of levels, or of a run that failed, is none of names.
    if header is not None and (2 * with_value >= len(cells) or (_are_known(header[1]) and not _are_known(cells))):
        return [*records[:header_row], *_under_comments(text, header, records[header_row:])], steps
    if header_row or not all(map(_is_number, cells)):
        return records, []
    in_blocks = _under_comments(text, (line, [f"column{i}" for i in range(1, len(cells) + 1)]), records)
    return (in_blocks if len(in_blocks) > len(records) + 1 else records), []


def _commented_header(text: str, first: Record, delimiter: str) -> tuple[Record | None, list[Note]]:
    """Return the nearest comment above the rows with as many names, best known ones, and a note of rows behind `#`."""
    line, cells = first
    above = [*enumerate(itertools.islice(io.StringIO(text, newline=""), line - 1), 1)]
    rows_behind, units, candidates = 0, "", list[tuple[Record | None, list[Note]]]()
    # From the nearest line on.
    for place, comment in above[: -FIRST_ROWS - 1 : -1]:
        if _UNITS.fullmatch(comment):
            units = comment
        elif (names := _names_in(comment, len(cells), delimiter)) is not None:
            rows = [(place, names), (place, _below(comment, units)), first]
            names = with_units(rows)[0][1]
            notes = [step(f"{counted(rows_behind, 'row')} behind '#' left out")] if rows_behind else []
            candidates.append(((place, names), notes))
            if _are_known(names):
                return candidates[-1]
        fields = _split(comment.lstrip("# \t"), delimiter)
        rows_behind += len(fields) == len(cells) and all(map(_is_number, fields))
    return candidates[0] if candidates else (None, [])


def _are_known(names: Sequence[str]) -> bool:
    """Tell whether one of some names is that of a column at least."""
    return any(header_of(name).kind or canonical_of(name) for name in names)


def _below(header: str, line: str) -> list[str]:
    """Return for each word of a header the one that stands below it in another line; empty where none does."""
    words = [match.span() for match in re.finditer(r"[^\s#]\S*", header)]
    under = [*re.finditer(r"[^\s#]\S*", line)]
    return [next((m[0] for m in under if m.start() < end and start < m.end()), "") for start, end in words]


def _under_comments(text: str, header: Record, records: Sequence[Record]) -> list[Record]:
    """Return records below their header; of several blocks, as gnuplot parts them, each below a title."""
    lines, names = text.splitlines(), header[1]
    titled: list[Record] = []
    for line, record in records:
        comments = [*itertools.takewhile(lambda text: text.lstrip().startswith("#"), reversed(lines[: line - 1]))]
        titles = [c for c in (comment.strip("# \t") for comment in comments) if c.split() != " ".join(names).split()]
        begins_text = len(comments) == line - 1
        if titles and (begins_text or not lines[line - 2 - len(comments)].strip()):
            titled += [(line - 2, [titles[0]]), (line - 1, names)]
        titled.append((line, record))
    return titled if sum(len(record) == 1 for _, record in titled) > 1 else [header, *records]


def _names_in(comment: str, count: int, delimiter: str) -> list[str] | None:
    """Return the names of so many columns in a comment, however they are parted; the first may be `#` itself."""
    body = comment.strip().lstrip("#").strip()
    for parts in (
        _split(comment, delimiter) if delimiter in DELIMITERS else [],
        # `# cores | time[s] |` above columns that blanks part.
        *(re.split(rf"\s*{re.escape(sign)}\s*", body.strip(f"{sign} ")) for sign in DELIMITERS if sign in body),
        _split(body, delimiter),
        re.split(r"\s*#\s*", body),
        re.split(r"\s{2,}|\t+", body),
        body.split(),
    ):
        plain = [re.split(r"\s{2,}|\t|\s+->", part.strip().strip('"'))[0].strip("# ") or part.strip() for part in parts]
        if plain and not plain[-1]:
            # A delimiter at the end of each line.
            plain[-1] = f"column {len(plain)}"
        occurrences = [plain[:number].count(name) + 1 for number, name in enumerate(plain)]
        names = [name if number == 1 else f"{name} {number}" for name, number in zip(plain, occurrences, strict=True)]
        if len(names) == count and len(set(names)) == count and all(names) and not any(map(_is_number, names)):
            return names
    return None


def _split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line of a delimited text; between `RUNS` a cell may hold one blank."""
    if delimiter == RUNS:
        return re.split(r"\s{2,}|\t+", line.strip())
    if delimiter == " ":
        return line.split()
    return next(csv.reader([line.strip("\r\n ")], delimiter=delimiter, skipinitialspace=True), [])


def _is_number(cell: str) -> bool:
    plain = cell.strip(' "')
    return is_number(plain) or _THOUSANDS.fullmatch(plain) is not None


def _titles_within(text: str, starts: Sequence[int]) -> list[str]:
    """Return for lines of a text the headings above, one within the other, without those that are above all."""
    within: dict[int, str] = {}
    chains, fenced = dict[int, tuple[str, ...]](), False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and (heading := re.match(r"\s*(#+)\s+(.*?)[\s#,;]*$", line)) is not None:
            within = {level: title for level, title in within.items() if level < len(heading[1])}
            within[len(heading[1])] = heading[2]
        chains[number] = tuple(within.values())
    shared = set.intersection(*({*chains.get(start, ())} for start in starts))
    return [", ".join(title for title in chains.get(start, ()) if title not in shared) for start in starts]


def _rules(text: str) -> set[int]:
    """Return the lines of a drawn table that part its header from its rows, or its rows."""
    lines = [line.strip() for line in text.splitlines()]
    rules = {number for number, line in enumerate(lines, 1) if line[:1] in _OF_A_RULE and _RULE.match(line)}
    # A rule without a bar stands between two lines with the same bars, of which the upper one names a count.
    bars = [0, *(line.count("|") for line in lines), 0]
    bare = {k for k in rules if not {*"|+"} & {*lines[k - 1]}}
    under = {k for k in bare if 0 < bars[k - 1] == bars[k + 1] and any(map(counts_scale, lines[k - 2].split("|")))}
    return (rules - bare) | under


def _drawn(text: str) -> Iterator[Record]:
    """Yield the rows of Markdown tables, or of those drawn with `+` and `|`, each with its line; titles as one cell."""
    rules, title, inside, bars, open_bars, heading = _rules(text), (0, ""), False, 0, 0, ""
    lines = [*map(str.strip, text.splitlines())]
    if _GRID_HEAD.search(text):
        # Between two rules a row of such a table may have several lines.
        for k in (k for k in range(len(lines) - 1, 0, -1) if lines[k][:1] == lines[k - 1][:1] == "|"):
            upper, lower = (line.strip("|").split("|") for line in (lines[k - 1], lines[k]))
            lines[k] = ""
            lines[k - 1] = f"|{'|'.join(f'{a.strip()} {b.strip()}' for a, b in zip(upper, lower, strict=False))}|"
    for number, line in enumerate(lines, 1):
        if number in rules or not line or line.startswith("```") or _TAG.fullmatch(line):
            inside = inside and number in rules
        elif "|" not in line or not (inside or {number - 1, number + 1} & rules):
            # `… in MLUPS (million lattice` goes on below: `updates per second).`
            goes_on = title[0] == number - 1 and line.count(")") > line.count("(")
            title, inside = (title[0], f"{title[1]} {line}") if goes_on else (number, line), False
            heading = line if line[0] == "#" else heading
        else:
            if not inside and title[1]:
                # A heading with a unit stands before the sentence below it.
                stated = units_in(heading) and not units_in(title[1])
                yield title[0], [f"{heading.lstrip('# ')}. {title[1]}" if stated else title[1]]
                heading = ""
            if not inside:
                bars = line.count("|") if line.endswith("|") else 0
                # Without a bar before and behind them, as many bars part as many cells, the last one perhaps empty.
                # An empty corner stands before the first bar where the rule below has no bar there.
                rule = lines[number] if number + 1 in rules else ""
                has_corner = rule[:1] == "-" and rule.count("|") + rule.count("+") == line.count("|")
                open_bars = 0 if bars or (line.startswith("|") and not has_corner) else line.count("|")
            has_remark = line.count("|") == bars and not line.endswith("|")  # behind the last bar
            title, inside = (0, ""), True
            row = line[: line.rindex("|")] if has_remark else line
            row = row if row.count("|") == open_bars else row.removeprefix("|").removesuffix("|")
            cells = re.split(r"(?<!\\)\|", row)
            yield (
                number,
                [re.sub(r"\\([|*_#~])", r"\1", re.sub(r"^(\*\*|`|__?)(.*)\1$", r"\2", c.strip())) for c in cells],
            )


#: Behind the number that begins a line: `8: 1.5 s`, `8) 1.5 s`.
_COLON = late(r"^(\d+)[:)](?=\s)")
#: The blanks between a name and its unit.
_APART_UNIT = late(rf"(?<=[^\W\d_])\s+(?=[\[(](?:{'|'.join(TIME_WORDS)})[\])](?:\s|$))")


def _records(text: str, delimiter: str, name: str) -> Iterator[Record]:
    """Yield each record of a delimited text: the line in which it begins, and its cells without blanks around them."""
    without_corner = _header_without_corner(text) if delimiter == RUNS else ""
    #: The line in which the last record ended, and the cells of the first. The csv reader asks for a line when it needs
    #: one, so a line after `ended` begins a record: it may be a comment or a rule, elsewhere it is text in quotes.
    ended = width = 0
    blanks = delimiter in (" ", RUNS)

    def lines() -> Iterator[str]:
        """Yield each line as the csv reader takes it; one without cells is empty, and yields no record."""
        for number, line in enumerate(io.StringIO(text, newline=""), 1):
            line = _COLON.sub(r"\1", line) if blanks else line
            # `#GPUs,8` is no comment, and between blanks a sign alone is a rule as well.
            is_comment = _COMMENT.match(line) is not None and not _counts_runs(_split(line, delimiter))
            may_be_rule = delimiter in (" ", RUNS) or len(line) > 4
            is_rule = may_be_rule and _RULE.match(line.rstrip("\r\n").replace(" ", "")) is not None
            if number == ended + 1 and (not line.strip() or is_comment or is_rule):
                yield "\n"
            elif delimiter == RUNS:
                # What stands behind ± stays in the cell of its number, and a unit with its name: `CPU time   [s]`.
                joined = _APART_UNIT.sub(" ", re.sub(r"\s+(±|\+/-)\s+", r" \1 ", line.strip()))
                cells = re.sub(r" {2,}|\s*\t\s*", "\t", joined)
                yield f"\t{cells}\n" if cells and line == without_corner else f"{cells}\n"
            else:
                yield line.strip(" \r\n") + "\n" if delimiter == " " else line

    # Blanks after a delimiter are padding, also before a quote.
    parted = "\t" if delimiter == RUNS else delimiter
    reader = csv.reader(lines(), delimiter=parted, skipinitialspace=True, strict=True)
    try:
        for record in reader:
            cells = [cell.strip() for cell in record]
            if delimiter == RUNS and len(cells) == width - 1:
                # The header has a name for what stands behind ±, and a row has both in one cell.
                cells = [part for cell in cells for part in cell.split(" ± ")]
            if record:
                yield ended + 1, cells
            ended, width = reader.line_num, width or len(cells)
    except csv.Error as error:
        fault = f"a quote stands in the wrong place ({error})"
        if "unexpected end" in str(error):
            fault = "a quote is opened here and not closed"
        elif "field limit" in str(error):
            fault = f"a cell holds more than {_MAX_CELL:,} characters, or a quote is not closed"
        hint, place = 'double a quote inside a quoted cell: ""', f"{name}: line {ended + 1}"
        raise TableError(fault, hint=hint, where=place) from None


def _header_without_corner(text: str) -> str:
    """Return a header without a name above those of its rows: indented, with a cell less than a row; else nothing."""
    filled = (line for line in io.StringIO(text) if line.strip() and not line.startswith("#"))
    header, row = next(filled, ""), next(filled, "")
    while row and header[0] != " " and RUNS not in header.strip():
        header, row = row, next(filled, "")  # below a title
    # Its rows begin before it, those of `16 GPUs` below ` 8 GPUs` the farthest.
    indented = header.startswith("  ") and len(row) - len(row.lstrip()) < len(header) - len(header.lstrip())
    return header if indented and len(_split(row, RUNS)) == len(_split(header, RUNS)) + 1 else ""


def guess_delimiter(text: str) -> str:
    r"""Return the delimiter that cuts most of the first rows into as many fields as the header.

    `csv.Sniffer` is not used: it also takes letters and digits for delimiters.

    >>> guess_delimiter("workers;time\n1;0,5\n2;0,7\n"), guess_delimiter("workers time\n1   0.5\n")
    (';', ' ')
    >>> guess_delimiter("workers  time per step\n1        0.5\n"), guess_delimiter("gpus    img/s\n1    1,180\n")
    ('  ', '  ')
    """

    def agreement(delimiter: str, titles: int) -> tuple[float, int]:
        """Return the share of the first lines with as many fields as the header, and how many these are."""
        widths: list[int] = []
        # A quote may be in the wrong place for this delimiter; what was read before it counts.
        with contextlib.suppress(TableError):
            records = itertools.islice(_records(text, delimiter, ""), FIRST_ROWS + 1)
            widths.extend(len(record) for _, record in records)
        head = next((k for k, width in enumerate(widths[: 1 + titles]) if width > 1), -1)
        common_width = widths[head] if head >= 0 else 0
        if delimiter == RUNS and head > 0 and {*widths[head:]} == {common_width}:
            widths = widths[head:]  # a title above a header and a row or two
        return (Counter(widths)[common_width] / len(widths), common_width) if common_width else (0.0, 0)

    # A title above the table is one field, but where blanks part the fields.
    agreements = {delimiter: agreement(delimiter, 2) for delimiter in (*DELIMITERS, RUNS)}
    best = max(DELIMITERS, key=lambda delimiter: agreements[delimiter])
    share, width = agreements[best]
    if width:
        # A sentence above columns that blanks part has commas of its own, and several tabs may part two columns.
        agreed, fewer = agreements[RUNS]
        aligned = best == "\t" and agreed >= share and 1 < fewer < width
        # `1    5,180` below a header of two names, perhaps `# GPUs   img/s`: its commas part thousands.
        split_lines = (
            (line, len(_split(line, RUNS))) for line in text.split("\n")[: FIRST_ROWS + 1] if agreed >= share
        )
        header, names = next((pair for pair in split_lines if pair[1] > 1), (best, 0))
        grouped = best not in header and names == fewer > 1
        return RUNS if aligned or grouped or share < LEAST_AGREEMENT <= agreed else best
    blanks, runs = agreement(" ", 0), agreement(RUNS, 0)
    # Below the title `PyTorch DDP` stand names of as many columns.
    first_two = [_split(line, RUNS) for line in itertools.islice(filter(str.strip, text.splitlines()), 2)]
    is_below = [*map(len, first_two)] == [1, agreements[RUNS][1]] and re.search(r"\d", " ".join(first_two[1])) is None
    titled = agreements[RUNS][0] >= AGREEMENT_OF_TITLED and (is_below or blanks[0] < AGREEMENT_OF_TITLED)
    # `local batch` above `1x4 V100` may have as many words as there are cells: then no cell holds a number and a blank.
    cells = (cell for line in text.splitlines()[1:FIRST_ROWS] for cell in _split(line, RUNS) if " " in cell)
    in_words = [cell.split() for cell in cells if not COUNTED.match(cell)]
    # No column of `Strategy   4 GPUs   8 GPUs` is called as another.
    first_words = text.strip().partition("\n")[0].split()
    of_cells = len({*first_words}) < len(first_words) or not any(map(_is_number, itertools.chain(*in_words)))
    fewer = runs[0] == blanks[0] and 1 < runs[1] < blanks[1] and of_cells
    # Cells may be empty at the end of a row, `2 GPUs   142`, and none has a cell too many.
    head, *rows = [(len(line.split()), len(_split(line, RUNS))) for line in text.strip().splitlines()[:FIRST_ROWS]]
    fewer |= head[0] == head[1] and all(row[1] <= head[0] for row in rows) and any(row[0] > head[0] for row in rows)
    return RUNS if titled or fewer or runs[0] > blanks[0] or _header_without_corner(text) else " " if blanks[1] else ","


def column_names(cells: Sequence[str], where: str) -> list[str]:
    """Return the columns' names, each once."""
    # On one line, as formulas, options and messages have a name.
    lines = [re.sub(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]+", " ", cell).strip().rstrip(":") for cell in cells]
    # A spreadsheet or `DataFrame.to_csv` leaves the name of an index column empty.
    columns = [_UNIT_IN_FRONT.sub(r"\2 [\1]", line) or f"column {i}" for i, line in enumerate(lines, 1)]
    # `Processor,#,Accelerator,#`, `A (s),speedup,B (s),speedup`: each is of what stands before it.
    base, several = columns[0], {line for line, count in Counter(columns).items() if count > 1}
    for i, line in enumerate(columns):
        if line in several and is_relative(line):
            columns[i] = f"{line} of {bare(base)}"
        elif line in several and line in words_of("headers.number") and base != line:
            columns[i] = f"# {base}"
        base = base if is_relative(line) else line
    name, count = Counter(columns).most_common(1)[0]
    if count > 1:
        *before, last = (str(i) for i, column in enumerate(columns, 1) if column == name)
        named = f"named '{lines[columns.index(name)]}'"
        both = f"columns {', '.join(before)} and {last} are {'all' if before[1:] else 'both'} {named}"
        raise TableError(both, hint="rename one of them", where=where)
    return columns
