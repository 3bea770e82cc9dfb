"""Documents that hold tables or printed text: notebooks, web pages, literals, outlines → text, workbooks → cells."""

import ast
import contextlib
import io
import itertools
import json
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from msgspec import Struct

from genperf.errors import TableError
from genperf.table.cells import csv_pieces
from genperf.table.clean import label
from genperf.table.content import HEAD_BYTES, MAX_FILE_BYTES
from genperf.table.facts import facts_of, is_result, key_of_step, names_a_count
from genperf.table.text import counts_vary
from genperf.vocabulary import late

#: Rows or columns over which a cell of a web page stands, at most.
_MOST_SPANNED = 100
_HEADING = late(r"h[1-6]")


class _Tables(HTMLParser):
    """The tables in an HTML text: for each row the pieces of text in its cells, by their columns."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[dict[int, list[str]]]] = []
        #: The `<caption>` of each table, or else the heading right above it, and the last heading.
        self.captions: list[list[str]] = []
        self.heading: list[str] = []
        #: For rows of the last table that are still to come, the cells that reach into them from above.
        self.below: dict[int, dict[int, list[str]]] = {}
        #: The cell or the caption that the text which comes next belongs to.
        self.text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a table, a caption, a row or a cell, which stands in all rows and columns that it spans."""
        if tag == "table":
            self.tables.append([])
            self.captions.append(self.heading)
            self.below, self.text, self.heading = {}, None, []
        elif _HEADING.fullmatch(tag):
            self.text = self.heading = []
        elif tag == "caption" and self.tables:
            self.text = self.captions[-1] = []
        elif tag == "tr" and self.tables:
            self.tables[-1].append(self.below.pop(len(self.tables[-1]), {}))
            self.text = None
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            spans = {n: int(text) for n, text in attrs if text and text.isdecimal() and text.isascii()}
            rows, columns = (min(spans.get(n, 1), _MOST_SPANNED) for n in ("rowspan", "colspan"))
            row, height = self.tables[-1][-1], len(self.tables[-1])
            start = next(column for column in itertools.count() if column not in row)
            self.text = []
            cells = dict.fromkeys(range(start, start + columns), self.text)
            row |= cells
            for further in range(height, height + rows - 1):
                self.below.setdefault(further, {}).update(cells)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table", "caption") or _HEADING.fullmatch(tag):
            self.text = None

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)


def drawn_tables(html: str) -> str:
    """Return the tables of an HTML text as Markdown."""
    parser = _Tables()
    # The parser stops at a declaration that HTML does not have.
    with contextlib.suppress(AssertionError):
        parser.feed(html)
    drawn = []
    for table, caption in zip(parser.tables, parser.captions, strict=True):
        filled = [row for row in table if any(row.values())]
        rows = [[_on_one_line(row.get(column, [])) for column in range(max(row) + 1)] for row in filled]
        if rows:
            lines = [f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
            drawn.append("\n".join([*filter(None, [_on_one_line(caption)]), *lines]))
    return "\n\n".join(drawn)


def _on_one_line(pieces: Sequence[str]) -> str:
    return " ".join("".join(pieces).split()).replace("|", "/")


_COMMENT = late(r"<!--.*?-->", re.DOTALL)
#: A table of HTML in a text, without another one in it, and the heading right above it.
_HTML_TABLE = late(r"(<h[1-6]\b[^<]*</h[1-6]>\s*)?<table\b(?:(?!<table\b).)*?</table>", re.DOTALL | re.IGNORECASE)


def with_drawn_tables(text: str) -> str:
    r"""Return a text without comments of HTML, its tables of HTML as Markdown, in as many lines.

    >>> with_drawn_tables("# Speed\n<table>\n<tr><td>GPUs</td><td>s</td></tr>\n<tr><td>1</td><td>9</td></tr>\n</table>")
    '# Speed\n| GPUs | s |\n| --- | --- |\n| 1 | 9 |\n'
    """

    def drawn(table: re.Match[str]) -> str:
        lines = drawn_tables(table[0])
        lines = f"\n{lines}" if table[1] and table.start() and table.string[table.start() - 1] != "\n" else lines
        return lines + "\n" * max(0, table[0].count("\n") - lines.count("\n"))

    without_comments = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    return _HTML_TABLE.sub(drawn, without_comments)


#: A table of MediaWiki, without another one in it, and what parts the cells on one of its lines.
_WIKI_TABLE, _WIKI_CELLS = late(r"^\{\|(?:(?!^\{\|).)*?^\|\}", re.DOTALL | re.MULTILINE), late(r"\|\||!!")


def with_tables_of_wiki(text: str) -> str:
    r"""Return a text with its tables of MediaWiki as those of HTML, in as many lines.

    >>> with_drawn_tables(with_tables_of_wiki("{|\n! GPUs !! s\n|-\n| 1 || 9\n|}"))
    '| GPUs | s |\n| --- | --- |\n| 1 | 9 |\n\n'
    """

    def in_html(line: str) -> str:
        """Return a line as rows and cells of HTML; `style="…" |` before a cell are its attributes."""
        mark, rest = line.strip()[:2], line.strip()[2:]
        if mark[:1] not in ("|", "!") or mark in ("|-", "|+", "|}"):
            caption = f"<caption>{rest}</caption>"
            return {"{|": "<table><tr>", "|-": "<tr>", "|+": caption, "|}": "</table>"}.get(mark, line)
        cells = (cell.rpartition("|") for cell in _WIKI_CELLS.split(line.strip()[1:]))
        kind = "th" if mark[0] == "!" else "td"
        return "".join(f"<{kind} {attributes if '=' in attributes else ''}>{cell}" for attributes, _, cell in cells)

    return _WIKI_TABLE.sub(lambda table: "\n".join(map(in_html, table[0].splitlines())), text)


#: Below the names of a table that blanks part: `====  =====`.
_RULE_OF_COLUMNS = late(r"[ \t]*[-=]{2,}(?: +[-=]{2,})+[ \t\r]*")


def with_ruled_tables(text: str) -> str:
    r"""Return a text whose tables with a rule for each column and with empty cells are in Markdown, in as many lines.

    >>> with_ruled_tables("gpus  s    note\n----  ---  ----\n1     9.0\n2     5.1  warm")
    '| gpus | s | note |\n| --- | --- | --- |\n| 1 | 9.0 |  |\n| 2 | 5.1 | warm |'
    """
    lines = text.split("\n")
    rules = {k for k, line in enumerate(lines) if _RULE_OF_COLUMNS.fullmatch(line)}
    for rule in sorted(rules):
        end = next((k for k in range(rule + 1, len(lines)) if k in rules or not lines[k].strip()), len(lines))
        starts = [dashes.start() for dashes in re.finditer("[-=]+", lines[rule])]
        places = [*zip(starts, [*starts[1:], None], strict=True)]
        rows = [[line[start:stop].strip() for start, stop in places] for line in lines[max(rule - 1, 0) : end]]
        # Above a header may stand a rule as well.
        if end - rule > 2 and rule and rule - 1 not in rules and all(rows[0]) and not all(map(all, rows)):
            rows[1] = ["---"] * len(starts)
            lines[rule - 1 : end] = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def notebook_text(text: str) -> str | None:
    """Return what a notebook says: its notes, its printed text, its tables as Markdown; None for another text."""
    if not re.search(r'"nbformat"\s*:', text):
        return None
    try:
        return "\n\n".join(filter(None, _texts_of(json.loads(text, strict=False)["cells"])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _texts_of(cells: list[Any]) -> Iterator[str]:
    """Yield the text of each cell that is no code, and of each output."""
    for cell in cells:
        if cell.get("cell_type") == "markdown":
            yield "".join(cell.get("source", ""))
        for output in cell.get("outputs", ()):
            representations = output.get("data", {})
            html = "".join(representations.get("text/html", ""))
            plain = representations.get("text/plain") or output.get("text") or output.get("traceback") or ""
            yield drawn_tables(html) if "<table" in html else "".join(plain)


#: `(8, 2905.4),  # gpus, images/s`; what opens and closes a list of such; `gpus = [1, 2, 4]  # a unit`, and the same as
#: an array of numpy, or of Matlab with blanks between the numbers.
_TUPLE = late(r"\s*[(\[](?P<cells>[^()\[\]]+)[)\]],?\s*(?:#(?P<names>.*))?")
_BRACKET = late(r"\s*(?:\w+\s*=\s*)?[(\[\])]?\s*")
_LIST = late(
    r"^[ \t]*(?P<name>\w+)\s*[=:]\s*(?:[\w.]+\()?[(\[](?P<cells>[^()\[\]]+)[)\]][)',;]{0,3}[ \t]*"
    r"(?:[#%][ \t]*(?P<unit>[^\n]*))?$",
    re.MULTILINE,
)
_BRACKETED = late(r"^[ \t]*(?:\w+\s*[=:]\s*(?:[\w.]+\()?)?[\[({]", re.MULTILINE)
#: Characters of a literal of Python that are parsed.
_LONGEST_LITERAL = 1_000_000


def of_literals(text: str) -> str | None:
    r"""Return what Python prints or has in its source, as CSV or JSON: tuples, lists by name, a literal.

    >>> of_literals("('gpus', 'img/s')\n(1, 410.2)\n(2, 792.5)"), of_literals("(1) gpus\n(2) nodes")
    ('"gpus", "img/s"\n1, 410.2\n2, 792.5', None)
    >>> of_literals("gpus = np.array([1, 2])\nrate = [410 790];  % img/s"), of_literals("{1: 410.2, 2: 792.5}")
    ('gpus,rate (img/s)\n1,410\n2,790', '{"1": 410.2, "2": 792.5}')
    """
    if not _BRACKETED.search(text[:HEAD_BYTES]):
        return None
    return _of_tuples(text) or _of_lists(text) or _of_literal(text)


def _of_tuples(text: str) -> str | None:
    """Return rows of tuples, a line each, as CSV; None for other lines."""
    lines = text.split("\n")
    rows = [_TUPLE.fullmatch(line) for line in lines]
    tuples_alone = all(row or _BRACKET.fullmatch(line) for row, line in zip(rows, lines, strict=True))
    if sum(map(bool, rows)) < 2 or not tuples_alone:
        return None
    cells = [row["cells"].strip(", ").replace("'", '"') if row else "" for row in rows]
    first_row, header = next((number, row) for number, row in enumerate(rows) if row)
    if first_row and header["names"]:
        cells[first_row - 1] = f"#{header['names']}"
    return "\n".join(cells)


def _of_lists(text: str) -> str | None:
    """Return the longest lists by name, `gpus = [1, 2]  # a unit`, as columns of a CSV; None without a count."""
    lists: dict[str, list[str]] = {}
    for match in _LIST.finditer(text):
        name, unit = match["name"], (match["unit"] or "").strip()
        name = f"{name} ({unit})" if unit and " " not in unit and is_result(f"{name} ({unit})") else name
        cells = match["cells"].replace("...", "")
        lists[name] = [cell.strip() for cell in cells.split(",")] if "," in cells else cells.split()
    lists = {name: cells for name, cells in lists.items() if len(cells) == max(map(len, lists.values()))}
    if not counts_vary(lists):
        return None
    return "\n".join(map(",".join, ([*lists], *zip(*lists.values(), strict=True))))


def _of_literal(text: str) -> str | None:
    """Return the largest literal of a source in Python, or all that have its keys, as JSON; None without records."""
    if len(text) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            body = ast.parse(text.strip()).body
        if any(isinstance(node, ast.AnnAssign) and node.value is None for node in body):
            return None  # `world_size: 8` is a line of a log
        values = [_literal(node.value) for node in body if isinstance(node, ast.Assign | ast.Expr)]
        nested = (value for value in values if isinstance(value, dict | list | tuple) and len(value) > 1)
        records = [v for v in nested if isinstance(v, dict) or all(isinstance(row, dict | list | tuple) for row in v)]
        largest = max(records, key=lambda value: len(str(value)), default=None)
        # Lines that each print a run are its records.
        same_keys = [v for v in records if isinstance(largest, dict) and isinstance(v, dict) and {*v} == {*largest}]
        return None if largest is None else json.dumps(same_keys if len(same_keys) > 1 else largest)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal of Python; None for another expression."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


#: `  - gpus: 8  # of one node`, `runs:`, `- adam`, `- [8, 0.2]`: a line of an outline, none of a sentence or a log.
_OUTLINE = late(
    # No anchors: what they name may stand many times.
    r"(?!.*[\s\[{,]&)(?P<lead>\s*(?:- +)*)(?:[\"']?"
    r"(?P<key>(?:(?<=[\"'])#)?[^\s:#'\"{}\[\]|,-][^:#'\"{}\[\]|]{0,60}?)[\"']?:"
    r"(?P<value>(?: +[^#()]*)?)|(?<=- )[^\s:#][^:#]*?)"
    r"(?: +#.*)?"
)
#: A number with its unit in the comment behind it.
_COMMENTED = late(r"([:=] +)([\d.]+(?:e[+-]?\d+)?) +# *([^#\n]*[^#\s])[ \t]*$", re.IGNORECASE | re.MULTILINE)
#: Lines of an outline that are read: results of a few hundred runs.
_LONGEST_OUTLINE = 8_000


#: A number whose thousands are apart by a low line.
_THOUSANDS = late(r"^\d{1,3}(_\d{3})+$")


def of_outline(text: str) -> str | None:
    r"""Return keys with blocks below them, or a list of such, as YAML has them, as JSON; None for another text.

    >>> of_outline("runs:\n  - gpus: 8\n    step: 0.2 # s\n  - gpus: 16"), of_outline("gpus: 8\nstep: 0.2")
    ('{"runs": [{"gpus": 8, "step": "0.2 s"}, {"gpus": 16}]}', None)
    """
    filled = (line.rstrip() for line in text.splitlines() if line.strip(" -") and not line.lstrip().startswith("#"))
    lines = [*itertools.islice(filled, _LONGEST_OUTLINE + 1)]
    entries = [entry for line in lines if (entry := _OUTLINE.fullmatch(line))]
    # Without a line that is indented or of a list there are no blocks.
    if len(lines) > _LONGEST_OUTLINE or len(entries) < len(lines) or not any(entry["lead"] for entry in entries):
        return None
    # Lines that number runs or steps have blocks of a log below them.
    if any(entry["key"] and not entry["value"].strip() and key_of_step(entry["key"]) for entry in entries):
        return None
    # In Python: libyaml overflows the stack of blocks inside each other.
    import yaml

    try:
        # Numbers have the units in the comments behind them, in quotes as one value.
        text = _COMMENTED.sub(
            lambda m: f'{m[1]}"{m[2]} {m[3]}"' if is_result(f"x ({m[3]})") else m[0], "\n".join(lines)
        )
        node = yaml.compose(text, yaml.BaseLoader)
        return json.dumps(_value_of_node(node)) if node.id in ("mapping", "sequence") else None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None


def _value_of_node(node: Any) -> Any:
    """Return what a node of YAML holds, its numbers as numbers; ValueError where it holds runs as a log has them."""
    if node.id == "mapping":
        pairs = [(key.value, _value_of_node(value)) for key, value in node.value]
        if len(keys := dict(pairs)) < len(pairs):
            raise ValueError("runs one after the other")
        # `A100 cluster, 32 GPUs: 1.42 s per step`
        named = [f"{k}: {v}" for k, v in keys.items() if isinstance(v, str) and names_a_count(k)]
        if len(named) > 1 and all(any(is_result(k, unit) for k, _, unit in facts_of(text)) for text in named):
            raise ValueError("sentences with a count each")
        return keys
    if node.id == "sequence":
        items = [_value_of_node(item) for item in node.value]
        # `- 8 GPUs: 350 img/s` is one as well.
        alone = [f"{k}: {v}" for item in items if isinstance(item, dict) and len(item) == 1 for k, v in item.items()]
        of_counts = [text for text in alone if text[0].isdigit() or names_a_count(text.partition(":")[0])]
        texts = [item for item in items if isinstance(item, str)] + of_counts
        if any(is_result(key, unit) for text in texts for key, _, unit in facts_of(text)):
            raise ValueError("a list of sentences")
        return items
    try:
        # `92_000`, as Python and YAML write it.
        return json.loads(_THOUSANDS.sub(lambda number: number[0].replace("_", ""), node.value))
    except ValueError:
        return node.value


def sheets_of(data: bytes, name: str) -> dict[str, str]:
    """Return the sheets of a workbook that hold something, each as CSV."""
    import pandas as pd

    try:
        if sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(data)).infolist()) > MAX_FILE_BYTES:
            what = f"holds more than {MAX_FILE_BYTES // 1_000_000} MB when it is decompressed"
            raise TableError(what, hint="save the sheet as CSV", where=name)
        frames = pd.read_excel(io.BytesIO(data), sheet_name=None, header=None, dtype=object, engine="calamine")
    except ImportError:
        hint = 'pip install "genperf[excel]", or save the sheet as CSV: File, Save as, CSV UTF-8'
        raise TableError("is an Excel workbook, not text", hint=hint, where=name) from None
    except TableError:
        raise
    except Exception as error:  # the reader's errors have no common class
        reason = str(error).split("\n")[0]
        raise TableError(f"is no workbook that can be read ({reason})", where=name, hint="save it as CSV") from None
    texts = {}
    for sheet, frame in frames.items():
        if len(frame):
            columns = {str(n): frame[n].map(label).to_numpy(dtype=object) for n in frame}
            texts[str(sheet)] = "".join(csv_pieces(columns, raw=True)).split("\n", 1)[1]
    if not texts:
        raise TableError("is a workbook without a filled cell", where=name)
    return texts


#: Near the beginning of TensorBoard's files.
EVENTS = b"brain.Event:"


def logged_scalars(path: str) -> dict[str, list[float]]:
    """Return the values of each scalar in a file of TensorBoard, in order; the times between steps where none is."""
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        hint = 'pip install "genperf[tensorboard]"'
        raise TableError("reading TensorBoard's events needs tensorboard", hint=hint, where=path) from None
    scalars: dict[str, list[float]] = {}
    clock: dict[int, float] = {}
    for event in EventFileLoader(path).Load():
        for entry in event.summary.value:
            if entry.metadata.plugin_data.plugin_name == "scalars":
                clock.setdefault(int(event.step), float(event.wall_time))
                # The shortest number that is the same single-precision one.
                scalars.setdefault(str(entry.tag), []).append(float(str(make_ndarray(entry.tensor)[()])))
    if not scalars:
        hint = "name a file events.out.tfevents.… that has scalars"
        raise TableError("holds no scalar of TensorBoard", where=path, hint=hint)
    pairs = itertools.pairwise(sorted(clock.items()))
    times = [(later - at) / (following - step) for (step, at), (following, later) in pairs if later > at]
    return scalars if not times or any(map(is_result, scalars)) else {**scalars, "step time (s)": times}


#: `:::MLLOG {"key": "epoch_start", "time_ms": 1, …}`, `:::MLL 0.001 epoch_start: {…}`, `:::SYSJSON {…}`: an event.
_EVENT = late(r":::[A-Z]+\s+(?:(?P<seconds>[\d.]+) (?P<key>\w+): )?(?P<fields>\{.*\})")
_INTERVAL = late(r"(?P<name>\w+)_(?:(?P<start>start)|stop|end)")
#: Intervals of the training by which its throughput is known, the finest first.
_OF_TRAINING = ("epoch", "block")


class _Interval(Struct):
    """What began at some milliseconds, and how many of them evaluations took."""

    began: float
    fields: dict[str, Any]
    evaluated: float = 0.0


def of_events(text: str) -> str | None:
    r"""Return a log of events, an object each, with their values and how long it was from a start to its stop, as text.

    An epoch, or else a block, has its throughput as well where none is logged and its samples are known: without the
    evaluations in it.

    >>> event = ':::MLLOG {{"key": "{}", "time_ms": {}, "value": {}}}'.format
    >>> lines = event("train_samples", 0, 80), event("epoch_start", 0, "null"), event("epoch_stop", 5000, "null")
    >>> print(of_events("\n".join(lines)))
    train_samples: 80
    epoch time: 5 s
    """
    if _EVENT.search(text) is None:
        return None
    finest = next((name for name in _OF_TRAINING if f"{name}_start" in text and '"throughput"' not in text), "")
    begun: dict[str, _Interval] = {}
    samples = 0.0
    lines: list[str] = []
    for line in text.splitlines():
        fields: Any = None
        if (event := _EVENT.search(line)) is not None:
            # Two processes may have written into one line.
            with contextlib.suppress(ValueError, RecursionError):
                fields = json.loads(event["fields"])
        if event is None or not isinstance(fields, dict):
            lines.append("" if event else line)
            continue
        key, value = event["key"] or str(fields.get("key", "")), fields.get("value")
        at, further = float(event["seconds"] or 0.0) * 1e3 or fields.get("time_ms"), fields.get("metadata")
        further = further if isinstance(further, dict) else {}
        samples = value if key == "train_samples" and isinstance(value, int) else samples
        interval = _INTERVAL.fullmatch(key)
        if interval is None or not isinstance(at, int | float):
            # The system is described by an object without a key.
            described = fields if not key else value if isinstance(value, dict) else {key: value}
            lines += [f"{n}: {v}" for n, v in described.items() if v and isinstance(v, str | int | float)]
        elif interval["start"]:
            # Of several processes the first one begins.
            begun.setdefault(interval["name"], _Interval(at, further))
        elif (started := begun.pop(interval["name"], None)) is not None:
            took = at - started.began
            for around in begun.values() if interval["name"] == "eval" else ():
                around.evaluated += took
            lines.append(f"{interval['name']} time: {took / 1e3:.9g} s")
            trained = (took - started.evaluated) / 1e3
            if interval["name"] == finest and trained > 0 and (count := _samples(started.fields, further, samples)) > 0:
                lines.append(f"throughput: {count / trained:.9g} samples/s")
    return "\n".join(lines)


def _samples(begun: Mapping[str, Any], ended: Mapping[str, Any], of_epoch: float) -> float:
    """Return the samples between two events: those counted, or else whole epochs, unless one was stopped on its way."""
    samples_before, samples_after = begun.get("samples_count"), ended.get("samples_count")
    if isinstance(samples_before, int | float) and isinstance(samples_after, int | float):
        return float(samples_after - samples_before)
    epochs = begun.get("epoch_count", 1 if "epoch_num" in begun else 0)
    stopped = begun.get("epoch_num") != ended.get("epoch_num") or not isinstance(epochs, int | float)
    return 0.0 if stopped else float(of_epoch * epochs)
