"""Check the pages of experiments/results/ and write their summary, docs/results.md, and experiments/results/gates.md.

    python -m experiments results_page

Each page of results answers one question and is written by the experiment that it names. The summary's text is
`results_summary.md`, beside this script, that of the gates `results_gates.md`. No figure of ours is typed there:
a reference in braces names the cell of a page.

    {page > section > row > column}                the cell of the section's first table
    {page > section # lead > row > column}         of the table after a line that starts with `lead`
    {page > section > first & second > column}     of the row that starts with these cells
    {page > section > * > column; least}           the least of all rows
    {page ~ a pattern with one (group)}            the group's text on the page; changes may follow as well

`section` is the beginning of a heading; the first cell of the table's head may stand for `lead`. After the column may
follow, in this order: `median` or `mean` (of "median (mean)"), `least`, `greatest`, `least size`, `greatest size` or
`total` (of all rows), `round N` (digits behind the point), `at least X` and `at most X`, which make a smaller or a
larger figure bold.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import geometric_mean

from experiments.__main__ import experiments
from experiments.shared import RESULTS, ROOT, cells, markdown, tables

SUMMARY = ROOT / "docs" / "results.md"
TEMPLATE = Path(__file__).with_name("results_summary.md")
GATES = Path(__file__).with_name("results_gates.md")
#: Errors of the prototype of the process, in %, as they were given to the project.
PROTOTYPE = Path(__file__).with_name("prototype.csv")
#: Where the summary's text lists the pages, in their order: `{pages: extrapolation, corpus}`.
LISTED = re.compile(r"\{pages: ([^}]+)\}")
PAGES = re.split(r"[,\s]+", LISTED.findall(TEMPLATE.read_text(encoding="utf-8"))[0])
#: A page is read at a glance, and a line in an editor. Tables may have longer lines.
LONGEST_PAGE, LONGEST_LINE = 150, 400
REFERENCE = re.compile(r"\{([\w-]+) ([>~]) ([^}]+)\}")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def rounded(text: str, digits: int) -> str:
    """Return a text with its number rounded, halves away from zero.

    >>> rounded("92.7 %", 0), rounded("22.95", 1)
    ('93 %', '23.0')
    """
    return NUMBER.sub(lambda m: str(Decimal(m[0]).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)), text, count=1)


def changed(texts: list[str], change: str) -> list[str]:
    """Return the cells after one change of a reference."""
    numbers = [Decimal(match[0]) for text in texts if (match := NUMBER.search(text))]
    if change in ("median", "mean"):
        return [NUMBER.findall(text)[change == "mean"] for text in texts]
    if change.endswith("size"):
        numbers = [abs(n) for n in numbers]
    if change.startswith(("least", "greatest")):
        return [str(min(numbers) if change.startswith("least") else max(numbers))]
    if change == "total":
        return [str(sum(numbers))]
    if change.startswith("round "):
        return [rounded(text, int(change.removeprefix("round "))) for text in texts]
    if change.startswith(("at least ", "at most ")):
        limit, sign = Decimal(change.split()[-1]), 1 if "most" in change else -1
        bold = [sign * n > sign * limit for n in numbers]
        return [NUMBER.sub(r"**\g<0>**", t, count=1) if b else t for t, b in zip(texts, bold, strict=True)]
    raise LookupError(f"a reference has no change {change!r}")


def figure(reference: str) -> str:
    """Return the figure that a reference without its braces names.

    >>> figure("extrapolation > P1 > auto > coverage of 90 %").endswith(" %")
    True
    """
    match = REFERENCE.fullmatch(f"{{{reference}}}")
    if match is None:
        raise LookupError(f"not a reference: {reference!r}")
    page, kind, rest = match.groups()
    address, *changes = rest.split("; ")
    if kind == "~":
        texts = re.findall(address, (RESULTS / f"{page}.md").read_text(encoding="utf-8"))
    else:
        section, row, column = address.split(" > ")
        try:
            texts = cells((RESULTS / f"{page}.md").read_text(encoding="utf-8"), section, row, column)
        except LookupError as error:
            raise LookupError(f"{page}.md has {error}") from None
    for change in changes:
        texts = changed(texts, change)
    (text,) = texts
    return text


def commands(text: str) -> list[str]:
    """Return the commands that a page names as those which wrote it."""
    return re.findall(r"(?:Made|Written) by `([^`]+)`", text)


def problems(name: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a page: its length, its lines, its title, its command."""
    lines = text.splitlines()
    if len(lines) >= LONGEST_PAGE:
        yield f"{name}: {len(lines)} lines; a page has fewer than {LONGEST_PAGE}"
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE and not line.startswith("|"):
            yield f"{name}:{number}: {len(line)} characters; a line has at most {LONGEST_LINE}"
    if not lines[0].startswith("# "):
        yield f"{name}: no title"
    named = [re.findall(r"python -m experiments (\w+)", command) for command in commands(text)]
    if not named or not all(names and names[0] in experiments() for names in named):
        yield f"{name}: no command that makes the figures"


def index() -> str:
    """Return the rows of the table of pages."""
    rows = []
    for page in PAGES:
        text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
        question = text.splitlines()[0].removeprefix("# ")
        rows.append(f"| [{question}](../experiments/results/{page}.md) | `{commands(text)[0]}` |")
    return "\n".join(rows)


def summary() -> str:
    """Return the summary: its text with the figures of the pages."""
    return filled(LISTED.sub(lambda _: index(), TEMPLATE.read_text(encoding="utf-8")))


def gates() -> str:
    """Return the page of the gates with the figures of the other pages."""
    return filled(GATES.read_text(encoding="utf-8").replace("{beside the prototype}", beside_prototype()))


def beside_prototype() -> str:
    """Return how the errors of the process compare with those of its prototype, row by row where they are larger."""
    with PROTOTYPE.open(encoding="utf-8", newline="") as file:
        theirs = {(row["table"], row["predicted"]): float(row["error"]) for row in csv.DictReader(file)}
    page = next(tables((RESULTS / "process.md").read_text(encoding="utf-8")))
    ours = {(r[0], r[2]): float(r[page.head.index("process")]) for r in page.rows}
    ratios = {key: ours[key] / error for key, error in theirs.items()}
    larger = sorted((ratio, key) for key, ratio in ratios.items() if ratio > 1.05)[::-1]
    rows = [[*key, f"{theirs[key]:g}", f"{ours[key]:.1f}", f"{ratio:.2f}"] for ratio, key in larger]
    return (
        f"Of the process, {len(ratios)} rows of [process](process.md) have a figure of the prototype: the errors here "
        f"are {geometric_mean(ratios.values()):.2f} of its in the geometric mean. Larger by more than 5 %:\n\n"
    ) + markdown(["table", "predicted", "prototype", "here", "ratio"], rows)


def filled(text: str) -> str:
    """Return a text with figures in the place of its references."""
    return REFERENCE.sub(lambda match: figure(match[0][1:-1]), text)


def check() -> list[str]:
    """Return the problems of all pages."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(RESULTS.glob("*.md"))}
    unlisted = [f"{name}.md: not listed in {TEMPLATE.name}" for name in pages if name not in PAGES]
    return [*unlisted, *(p for name, text in pages.items() for p in problems(f"{name}.md", text))]


def run() -> None:
    """Check the pages, and write the gates' page and the summary."""
    (RESULTS / "gates.md").write_text(gates(), encoding="utf-8")
    if wrong := check():
        raise SystemExit("\n".join(wrong))
    SUMMARY.write_text(summary(), encoding="utf-8")
