"""Tables in the source of a LaTeX document → rows of cells."""

import re

from genperf.vocabulary import late, section

#: The fields of a record, with the line in which it starts.
Record = tuple[int, list[str]]

_TABULAR = late(r"\\begin\{(tabular[x*]?|longtable)\}.*?\\end\{\1\}", re.DOTALL)
#: Rows that were copied without their environment, and the sentence above them.
_ROW = r"[^\n&]*&[^\n]*\\\\(?:[ \t]*\\[a-z]+)?[ \t]*(?:\n|\Z)"
_BARE = late(rf"(?m)(?:^(?P<above>[^\n&]+)\n\s*)?^(?P<rows>{_ROW}(?:[ \t]*\\[a-z]+[ \t]*\n|{_ROW})+)")
_BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_CAPTION = late(rf"\\caption(?:\[[^\]]*\])?{_BRACED}")
_ROW_END = late(r"\\\\(?:\s*\[[\d.]+\s*\w+\])?")
#: Comments, rules, and the beginning and end of an environment with its arguments: they hold no cell.
_NO_CELL = late(
    r"(?<!\\)%.*|\\(?:top|mid|bottom|h)(?:rule|line)\b(?:\[[^\]]*\])?|\\c(?:mid)?(?:rule|line)(?:\([^)]*\))?\{[^}]*\}"
    rf"|\\(?:label|caption){_BRACED}|\\(?:begin|end)\{{[^}}]*\}}(?:\[[^\]]*\])?(?:{_BRACED})*"
)
_SPAN = late(rf"\\multicolumn\{{(\d+)\}}\{{[^}}]*\}}{_BRACED}")
#: `\textbf{8}`, `\multirow[t]{2}{*}{8}`: a command around what is shown.
_AROUND = late(r"\\[a-zA-Z]+\*?(?:\[\w*\])?(?:\{[^{}]*\}\{[^{}]*\})?\{([^{}]*)\}")
#: What commands show; those of units are of a package: `\kilo\joule`.
_SHOWN = {name: sign for sign, names in section("latex").items() for name in names}
_COMMAND = late(rf"\\({'|'.join(_SHOWN)})(?![a-zA-Z])")
_SIGNS = ((late(r"\\[,;:! ]|~"), " "), (late(r"\\([%&_#$])"), r"\1"), (late(r"(?<!\\)\$|[{}]"), ""))
#: The columns of a table, `rr@{ $\pm$ }l`, and in them what stands between the cells of a value and of its scatter.
_COLUMNS, _SCATTER = late(rf"\\begin\{{[^}}]*\}}(?:\[[^\]]*\])?{_BRACED}"), late(r"@\{[^{}]*\\pm[^{}]*\}")
_NO_COLUMN = late(r"\{[^{}]*\}|\[[^\]]*\]|[^a-zA-Z±]")


def tabulars_of(text: str) -> list[list[Record]]:
    r"""Return the tables of a LaTeX text, the rows of each with their lines; a caption stands above as a single cell.

    >>> text = r"\begin{tabular}{lr} \toprule GPUs & \textbf{time} \\ \midrule 1 & 1\,371~$\pm$~2 \\ \end{tabular}"
    >>> tabulars_of(text)
    [[(1, ['GPUs', 'time']), (1, ['1', '1 371 ± 2'])]]
    """
    if _TABULAR.search(text) is None:
        text = _BARE.sub(_in_environment, text)
    tables, end = list[list[Record]](), 0
    for table in _TABULAR.finditer(text):
        # The environment around it has its caption; that of a table without one stands before the next environment.
        start = text.rfind("\\begin{table", end, table.start())
        closed = text.find("\\begin{table" if start < 0 else "\\end{table", table.end())
        around = text[max(start, end) : closed if closed > 0 else len(text)]
        caption, end = _CAPTION.search(around), table.end()
        line, rows = text.count("\n", 0, table.start()) + 1, list[Record]()
        columns = _COLUMNS.match(table[0])
        kinds = _NO_COLUMN.sub("", _SCATTER.sub("±", columns[1])) if columns else ""
        for row in _ROW_END.split(table[0]):
            cells = [_shown(cell) for cell in re.split(r"(?<!\\)&", _SPAN.sub(_spread, _NO_CELL.sub(" ", row)))]
            for k in (k for k, kind in enumerate(kinds) if kind == "±"):
                # The cells before it are one fewer for each such sign.
                place = k - 1 - kinds[:k].count("±") * 2
                if len(cells) > place + 1:
                    cells[place : place + 2] = [" ± ".join(dict.fromkeys(filter(None, cells[place : place + 2])))]
            rows += [(line + row.rstrip().count("\n"), cells)] if any(cells) else []
            line += row.count("\n")
        if rows:
            tables.append([(rows[0][0] - 1, [_shown(caption[1])]), *rows] if caption else rows)
    return tables


def _in_environment(bare: re.Match[str]) -> str:
    """Return rows without an environment within one, on the same lines, and the sentence above them as its caption."""
    above = f"\\caption{{{bare['above']}}}" if bare["above"] else ""
    gap = bare[0].count("\n") - bare["rows"].count("\n")
    return "\n" * gap + above + f"\\begin{{tabular}}{{}}{bare['rows'].rstrip()}\\end{{tabular}}\n"


def _spread(span: re.Match[str]) -> str:
    """Return a cell over several columns as itself in each."""
    return " & ".join([span[2]] * int(span[1][:2]))


def _shown(cell: str) -> str:
    """Return what a cell shows, without commands."""
    while (inside := _AROUND.sub(r"\1", cell)) != cell:
        cell = inside
    for sign, sign_text in _SIGNS:
        cell = sign.sub(sign_text, cell)
    return " ".join(_COMMAND.sub(lambda command: _SHOWN[command[1]], cell).split())
