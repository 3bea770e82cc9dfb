"""The core experiment: `generic`, `auto` and five learners on sampled networks in PyTorch, TensorFlow and MXNet.

The protocol is experiments/protocols/core-experiment.md. With `--only` some rows are made anew (those whose
framework or question has one of the words, between semicolons), and the page keeps the others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import genperf as gp
from experiments.accuracy.scores import error, inside
from experiments.shared import RESULTS, ROOT, markdown, page, rows_of_page

sys.path.append(str(ROOT / "experiments" / "measure"))
from campaigns import EXTRINSIC, INTRINSIC

PAGE = RESULTS / "three-frameworks.md"
TABLE = "core_experiment"
#: As the page names them; their order is that of the combinations that are held out.
FRAMEWORKS = {"PyTorch": "pytorch", "TensorFlow": "tensorflow", "MXNet": "mxnet"}
LEARNERS = ("linear", "random-forest", "gradient-boosting", "svr", "gaussian-process")
MODELS = ("generic", "auto", *LEARNERS)
SEEDS = (0, 1, 2)
#: Folds of networks; factors of four levels, each held out for one framework at a time.
NETWORK_FOLDS, LEVELS = 5, 4
COMBINED = {
    "optimizer": INTRINSIC["optimizer"],
    "activation": INTRINSIC["activation"],
    "batch": EXTRINSIC["batch_per_worker"],
}
BETWEEN, LARGEST, NETWORKS, COMBINATIONS = "5-fold", "6 and 8 workers", "unseen networks", "unseen combination"
ALL = "all three"


@dataclass(frozen=True)
class Question:
    """What is held out, of which framework's rows."""

    #: The one whose table it is, or all three.
    frameworks: str
    #: As the page names it.
    words: str
    #: As `genperf.validate` reads it.
    scheme: str
    #: Of the split.
    seed: int = 0

    @property
    def rows(self) -> dict[str, str]:
        """The rows of the page, each with its framework: of all three together, and of each of them."""
        of_all = {f"{name}, of all three": name for name in FRAMEWORKS}
        return {self.frameworks: ALL} | (of_all if self.frameworks == ALL else {})


def questions() -> Iterator[Question]:
    for name in (*FRAMEWORKS, ALL):
        for seed in SEEDS if name != ALL else SEEDS[:1]:
            yield Question(name, f"{BETWEEN}, seed {seed}", "kfold:5", seed)
        yield Question(name, LARGEST, "extrapolate:workers:4")
        yield Question(name, NETWORKS, "leave-group-out:network_fold")
    for factor in COMBINED:
        yield Question(ALL, f"{COMBINATIONS}: {factor}", f"leave-group-out:{factor}_fold")


def table_of(frameworks: str) -> gp.Table:
    """Return the rows of one framework or of all, with columns that say in which fold a row is held out."""
    frame = gp.datasets.frame(TABLE)
    roles = dict(gp.datasets.roles(TABLE))
    frame["network_fold"] = frame["network"] % NETWORK_FOLDS
    number = frame["framework"].map(list(FRAMEWORKS.values()).index)
    for factor, levels in COMBINED.items():
        column = "batch_per_worker" if factor == "batch" else factor
        frame[f"{factor}_fold"] = (frame[column].map(list(levels).index) - number) % LEVELS
    if frameworks != ALL:
        frame = frame[frame["framework"] == FRAMEWORKS[frameworks]].reset_index(drop=True)
        roles["categorical"] = roles["categorical"].replace("framework,", "")
    return gp.read_table(frame, **roles)


def rows_of(question: Question) -> list[dict[str, str]]:
    """Return the errors of the models: a row of the table's, and of each framework where there are three."""
    held_out = gp.validate(table_of(question.frameworks), MODELS, question.scheme, seed=question.seed)
    rows = []
    for name, framework in question.rows.items():
        row = {"rows": name, "predicted": question.words}
        for score in held_out.models:
            points = held_out.configurations.join(score.predictions.dropna(subset=["predicted"]), how="inner")
            if framework != ALL:
                points = points[points["framework"] == FRAMEWORKS[framework]]
            row[score.model] = f"{error(points, 'predicted').mean():.1f}" if len(points) else ""
            if score.model == "auto":
                row["auto covers %"] = f"{100 * inside(points).mean():.0f}" if len(points) else ""
        rows.append(row)
    return rows


def table(rows: list[dict[str, str]]) -> str:
    """Return rows as a table, the least error of `generic` and the learners in bold."""
    head = ["rows", "predicted", *MODELS, "auto covers %"]
    lines = []
    for row in rows:
        least = min(float(row[m]) for m in ("generic", *LEARNERS) if row.get(m))
        cells = [
            f"**{row[name]}**" if name in MODELS and name != "auto" and row.get(name) and float(row[name]) == least
            else row.get(name, "")
            for name in head
        ]  # fmt: skip
        lines.append(cells)
    return markdown(head, lines)


def verdicts(rows: list[dict[str, str]]) -> list[str]:
    """Say for each framework in how many of the four protocols `generic` errs least, and beside whom it does not."""
    lines = []
    for name in FRAMEWORKS:
        firsts, parts = [], []
        for words in (BETWEEN, LARGEST, NETWORKS, COMBINATIONS):
            source = f"{name}, of all three" if words == COMBINATIONS else name
            asked = [row for row in rows if row["rows"] == source and row["predicted"].startswith(words)]
            if not asked:
                continue
            errors = {m: median(float(row[m]) for row in asked) for m in MODELS}
            best = min(LEARNERS, key=lambda m: errors[m])
            firsts.append(errors["generic"] <= errors[best])
            own = f"generic {errors['generic']:.1f}, auto {errors['auto']:.1f}"
            parts.append(f"{words}: {own}, {best} {errors[best]:.1f}")
        if parts:
            count = f"`generic` errs least of the learners in {sum(firsts)} of {len(firsts)}"
            lines.append(f"- *{name}*: {count}. {'; '.join(parts)}.")
    return lines


def page_of(rows: list[dict[str, str]]) -> str:
    configurations = len(table_of("PyTorch").medians())
    lines = "\n".join(verdicts(rows))
    return page("three-frameworks", configurations=configurations, verdicts=lines, table=table(rows))


def run(only: str = "") -> str:
    """Make the rows anew that have one of the words of `only`, between semicolons; the page keeps the others."""
    wanted = [q for q in questions() if any(word in f"{q.frameworks}: {q.words}" for word in only.split(";"))]
    made = []
    for question in wanted:
        made += rows_of(question)
        print(question, flush=True)
    rows = {(row["rows"], row["predicted"]): row for row in [*rows_of_page("three-frameworks"), *made]}
    order = [(name, question.words) for question in questions() for name in question.rows]
    return page_of([rows[key] for key in order if key in rows])
