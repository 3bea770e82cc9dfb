"""A table in the source of a LaTeX document → its cells between tabs, and its caption."""

import re

_TABULAR = re.compile(r"\\begin\{(tabular[x*]?|longtable)\}.*?\\end\{\1\}", re.DOTALL)
_BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_CAPTION = re.compile(rf"\\caption(?:\[[^\]]*\])?{_BRACED}")
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")
#: Comments, rules, and the beginning and end of an environment with its arguments: they hold no cell.
_NO_CELL = re.compile(
    r"(?<!\\)%.*|\\(?:top|mid|bottom|h)(?:rule|line)\b(?:\[[^\]]*\])?|\\c(?:mid)?(?:rule|line)(?:\([^)]*\))?\{[^}]*\}"
    rf"|\\(?:label|caption){_BRACED}|\\(?:begin|end)\{{[^}}]*\}}(?:\[[^\]]*\])?(?:{_BRACED})*"
)
_SPAN = re.compile(rf"\\multicolumn\{{(\d+)\}}\{{[^}}]*\}}{_BRACED}")
#: `\textbf{8}`, `\multirow{2}{*}{8}`: a command around what is shown.
_AROUND = re.compile(r"\\[a-zA-Z]+\*?(?:\{[^{}]*\}\{[^{}]*\})?\{([^{}]*)\}")
_SIGNS = (
    (re.compile(r"\\pm\b"), "±"),
    (re.compile(r"\\times\b"), "×"),
    (re.compile(r"\\[,;:! ]|~"), " "),
    (re.compile(r"\\([%&_#$])"), r"\1"),
    (re.compile(r"(?<!\\)\$|[{}]"), ""),
)


def tabular_of(text: str) -> tuple[str, str] | None:
    r"""Return the first table of a LaTeX text between tabs, each row in its line, and its caption; None without one.

    Examples
    --------
    >>> text = r"\begin{tabular}{lr} \toprule GPUs & \textbf{time} \\ \midrule 1 & 1\,371~$\pm$~2 \\ \end{tabular}"
    >>> tabular_of(text)
    ('\nGPUs\ttime\n1\t1 371 ± 2\n', '')
    """
    table = _TABULAR.search(text)
    if table is None:
        return None
    rows = ["\n" * text.count("\n", 0, table.start())]
    for row in _ROW_END.split(table[0]):
        cells = re.split(r"(?<!\\)&", _SPAN.sub(_spread, _NO_CELL.sub(" ", row)))
        corner, *cells_after = map(_shown, cells)
        # A header such as `#GPUs` is no comment.
        corner = f'"{corner}"' if corner.startswith("#") else corner
        rows.append("\n" * max(1, row.count("\n")) + "\t".join([corner, *cells_after]).rstrip())
    caption = _CAPTION.search(text)
    return "".join(rows).rstrip("\n") + "\n", "" if caption is None else _shown(caption[1])


def _spread(span: re.Match[str]) -> str:
    """Return a cell over several columns as itself in each."""
    return " & ".join([span[2]] * int(span[1][:2]))


def _shown(cell: str) -> str:
    """Return what a cell shows, without commands."""
    while (inside := _AROUND.sub(r"\1", cell)) != cell:
        cell = inside
    for sign, sign_text in _SIGNS:
        cell = sign.sub(sign_text, cell)
    return " ".join(cell.split())
