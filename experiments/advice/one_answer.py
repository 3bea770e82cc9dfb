"""One question, one answer: tables drawn from known laws, written as people write them, asked at every door.

A table has a law (work that grows with the devices or is shared, an exchange in a ring, by levels or through a server),
one of the forms of `FORMS`, and 2 % noise. Its machine is named in one of several wordings: devices, nodes, both, the
ways of a split, the batch of all or of a device. Every command, the page, the proposal and Python have to answer alike,
to 1e-9, with the work that the law does, and the 90 % interval holds the law's value in 85 to 97 % of the tables.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import genperf as gp
from experiments.advice import redundant
from experiments.shared import beside, command_line, page
from genperf.formula.amounts import DURATIONS

#: Relative differences up to which two answers are one; a page writes seven digits.
SAME, ON_A_PAGE = 1e-9, 1e-6
#: A folder in memory, where there is one: a command waits until what it writes is on the disk.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
#: The doors of which one page is made.
ON_ONE_PAGE = ("headline", "slider")
#: What of a machine is measured, as a time and as a rate.
TIMES = ("s", "ms", "epoch", "s of a sample")
RATES = ("rate", "rate of a device", "rate of a node", "tokens", "tokens of a device")
#: Tokens of a sample.
SEQUENCE = 2048
NOISE = 0.02


@dataclass(frozen=True)
class Law:
    """The seconds of a step by the machine, and the machines that were measured."""

    #: Devices of a full node; ways of a split; samples of a pass; passes of a step.
    inside: int
    tensor: int
    pipeline: int
    micro_batch: int
    passes: int
    #: Devices of the measured runs, ascending, and of the question.
    counts: tuple[int, ...]
    target: int
    #: Whether all devices share the samples of a step.
    shared: bool
    #: Seconds of a step at any scale, of a sample on one device, and of the exchange, in one of three shapes.
    constant: float
    of_a_sample: float
    exchange: float
    shape: str

    def machine(self, devices: int) -> dict[str, float]:
        """Return the whole machine, its work and its time without noise."""
        split = self.tensor * self.pipeline
        data, first = devices / split, self.counts[-1] / split
        passes = self.passes * first / data if self.shared else self.passes
        work = self.micro_batch * passes * data
        ways = {"ring": 1.0 - 1.0 / data, "levels": np.log2(data) / 8.0, "server": data / self.counts[-1] / 4.0}
        seconds = self.constant + self.of_a_sample * work / devices + self.exchange * float(ways[self.shape])
        rate, nodes = work / seconds, int(np.ceil(devices / self.inside))
        return {
            "devices": devices, "nodes": nodes, "inside": min(self.inside, devices),
            "dp": data, "tp": self.tensor, "pp": self.pipeline,
            "mbs": self.micro_batch, "passes": passes, "gbs": work, "of a device": work / devices, "sequence": SEQUENCE,
            "s": seconds, "ms": 1e3 * seconds, "rate": rate, "rate of a device": rate / devices,
            "rate of a node": rate / nodes, "tokens": rate * SEQUENCE, "tokens of a device": rate * SEQUENCE / devices,
            "epoch": 50_000 * seconds / work, "s of a sample": seconds / work, "tokens of a step": work * SEQUENCE,
        }  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A way to write a table: headers, each with what it has of the machine; the measured one last."""

    headers: Mapping[str, str]
    split: bool = False
    #: Whether the work may be shared; whether it must be.
    scaling: str = "both"
    #: Runs on part of a node, whose devices no constant column counts.
    part: bool = True
    repeats: int = 1
    #: Columns of one value, and levels with the factor of their times.
    constants: Mapping[str, Any] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    #: A column of counts instead of rows: `8 GPUs`.
    wide: str = ""
    #: A row for each measured quantity, `metric,value`.
    long: bool = False
    #: Whether the samples of a step are known from the columns.
    known: bool = True

    @property
    def measured(self) -> str:
        return [*self.headers][-1]

    def header(self, of: str) -> str | None:
        return next((header for header, what in self.headers.items() if what == of), None)

    def rows(self, law: Law, noise: np.random.Generator) -> pd.DataFrame:
        """Return the table."""
        rows = []
        for level, factor in (self.levels or {"": 1.0}).items():
            for count in law.counts:
                for repeat in range(self.repeats):
                    machine = law.machine(count)
                    error = float(np.exp(NOISE * noise.standard_normal())) * factor
                    row = {} if not level else {"gpu_type": level}
                    row |= {"run": repeat + 1} if self.repeats > 1 else {}
                    row |= {**self.constants, **{header: machine[what] for header, what in self.headers.items()}}
                    for header, what in self.headers.items():
                        if what in (*TIMES, *RATES):
                            row[header] = float(f"{row[header] * (error if what in TIMES else 1.0 / error):.6g}")
                    rows.append(row)
        frame = pd.DataFrame(rows)
        if self.wide:
            counts = (f"{count:g} {self.wide}" for count in frame.iloc[:, 0])
            frame = pd.DataFrame([{"model": "gpt", **dict(zip(counts, frame[self.measured], strict=True))}])
        if self.long:
            measured = [header for header, what in self.headers.items() if what in (*TIMES, *RATES)]
            frame = frame.melt([n for n in frame if n not in measured], measured, "metric").sort_index(kind="stable")
        whole = [name for name in frame if frame[name].dtype == float and (frame[name] % 1 == 0).all()]
        return frame.astype(dict.fromkeys(whole, int))

    def wordings(self, law: Law) -> dict[str, dict[str, float]]:
        """Return the ways to name the machine of the question."""
        machine = law.machine(law.target)
        named = {what: header for header, what in self.headers.items()}
        devices, nodes = named.get("devices", "gpus"), named.get("nodes", "nodes")
        out = {}
        if "dp" in named or "devices" in named or "inside" in named:
            out["devices"] = {devices: machine["devices"]}
        if "nodes" in named:
            out["nodes"] = {nodes: machine["nodes"]}
            if out.get("devices"):
                out["both"] = {**out["devices"], **out["nodes"]}
            if "inside" in named:
                out["nodes of devices"] = {**out["nodes"], named["inside"]: machine["inside"]}
        first = next(iter(out.values()))
        if "dp" in named:
            out["ways"] = {named[way]: machine[way] for way in ("dp", "tp", "pp") if way in named}
            out["devices and ways"] = {**first, **out["ways"]}
        for batch in ("gbs", "of a device", "tokens of a step"):
            if batch in named:
                out[f"with {batch}"] = {**first, named[batch]: machine[batch]}
        return out


FORMS = {name: Form(**form) for name, form in beside(__file__, "forms.toml").items()}


def drawn(seed: int, form: str | None = None) -> tuple[str, Form, Law, pd.DataFrame, np.random.Generator]:
    """Return a form, a law and the table that it makes."""
    random = np.random.default_rng([2027, seed])
    name = form or [*FORMS][seed % len(FORMS)]
    made = FORMS[name]
    inside = int(random.choice([4, 8]))
    tensor, pipeline = (int(random.choice([1, 2, 4])), int(random.choice([1, 2]))) if made.split else (1, 1)
    steps = int(random.integers(3, 6))
    least = inside if not made.part or made.split else int(random.choice([1, 2, inside]))
    counts = tuple(least * 2**k for k in range(steps))
    if not made.part and made.header("inside") is None:
        inside = 8
        counts = tuple(8 * 2**k for k in range(steps))
    if made.header("nodes") and made.header("devices") and counts[-1] < 2 * inside:
        # Runs on one node alone do not show how many devices a full one has.
        counts = tuple(inside * 2**k for k in range(steps))
    target = counts[-1] * int(random.choice([2, 4]))
    target = max(target, inside)
    shared = made.scaling == "both" and bool(random.random() < 0.4)
    compute = float(np.exp(random.normal(-1.0, 1.0)))
    law = Law(
        inside, tensor, pipeline, int(random.choice([2, 4, 8])), 32 if shared else int(random.choice([1, 2, 4, 8])),
        counts, target, shared,
        compute * float(random.uniform(0.0, 0.2)), 0.0, compute * float(random.uniform(0.02, 0.4)),
        str(random.choice(["ring", "levels", "server"])),
    )  # fmt: skip
    of_a_device = law.machine(counts[0])["of a device"]
    law = Law(**{**vars(law), "of_a_sample": compute / of_a_device})
    return name, made, law, made.rows(law, random), random


@dataclass(frozen=True)
class Said:
    """What a door said: seconds of a step or a unit, its throughput, and the configuration."""

    value: float | None
    throughput: float | None = None
    at: Mapping[str, Any] = field(default_factory=dict)


class RefusedError(Exception):
    """A door that gave no answer."""


def command(*arguments: object) -> str:
    """Run a command in this process, and return its standard output."""
    status, out, err = command_line(*map(str, arguments))
    if status:
        raise RefusedError((err or out).strip().splitlines()[-2:])
    return out


@dataclass(frozen=True)
class Asked:
    """One table at all doors."""

    table: Path
    form: Form
    law: Law | None
    #: What `ask` answered, in order.
    answers: list[dict[str, Any]] = field(default_factory=list)
    #: The page about the machine that was last asked for.
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def model(self) -> Path:
        path = self.table.with_suffix(".json")
        command("fit", self.table, "-o", path, "--quiet")
        return path

    @cached_property
    def fitted(self) -> Any:
        """The model."""
        return gp.load_model(self.model)

    @property
    def value(self) -> str:
        return str(self.fitted.first.schema.target.name)

    @property
    def levels(self) -> dict[str, str]:
        return {"gpu_type": "A100"} if self.form.levels else {}

    def options(self, at: Mapping[str, Any], option: str = "--at") -> list[str]:
        values = {n: v if isinstance(v, str) else f"{v:.12g}" for n, v in {**self.levels, **at}.items()}
        return [text for name, value in values.items() for text in (option, f"{name}={value}")]

    def reply(self, at: Mapping[str, Any]) -> dict[str, Any]:
        replied: dict[str, Any] = json.loads(command("ask", self.table, *self.options(at), "--json"))
        return replied

    def ask(self, at: Mapping[str, Any]) -> Said:
        """Return what the table answers."""
        reply = self.reply(at)
        self.answers.append(reply["answers"][0])
        return Said(reply.get(self.value), reply.get("throughput"), reply["at"])

    def at_door(self, door: str, at: Mapping[str, Any]) -> Said:
        """Return what a door says."""
        method = getattr(self, door, None)
        return method(at) if method else self.told(door.removesuffix(" model"), at)

    def told(self, name: str, at: Mapping[str, Any]) -> Said:
        """Return what a command tells of the model; `compare` beside a machine of twice the first number."""
        first = next(iter(at))
        more = ["--or", f"{first}={2 * at[first]:g}"] if name == "compare" else []
        reply = json.loads(command(name, self.model, *self.options(at, OPTIONS.get(name, "--at")), *more, "--json"))
        rows = ROWS[name](reply)
        if name == "explain":
            amount = [*rows[0]][[*rows[0]].index("term") + 1]
            return Said(sum(term[amount] for term in rows if term[amount] is not None), None, rows[0])
        (row,) = rows
        # Only `ask` may answer with another quantity than the measured one.
        value = row.get(self.value) if name == "ask" else row[self.value]
        return Said(value, row.get("throughput"), row.get("at", row.get("target", row)))

    def page(self, at: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of the page about one machine."""
        if str(at) in self.pages:
            return self.pages[str(at)]
        path = self.table.with_suffix(".html")
        command("report", self.model, *self.options(at, "--target"), "-o", path, "--quiet")
        text = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.DOTALL)
        assert text is not None
        self.pages[str(at)] = json.loads(text[1])["groups"][0]["sheet"]
        return self.pages[str(at)]

    def headline(self, at: Mapping[str, Any]) -> Said:
        return Said(self.page(at)["summary"]["value"])

    def slider(self, at: Mapping[str, Any]) -> Said:
        """Return what the page's script computes at the stop of the question: the model at the path's factors."""
        sheet = self.page(at)
        names = [factor["name"] for factor in sheet["factors"]]
        place, path, count = dict(zip(names, sheet["at"], strict=True)), sheet["path"], sheet["at"][sheet["along"]]
        stop = int(np.argmin(np.abs(np.log(np.array(path["counts"]) / count))))
        place |= {names[int(n)]: values[stop] for n, values in path["follow"].items()}
        place[names[sheet["along"]]] = path["counts"][stop]
        if abs(path["counts"][stop] / count - 1.0) > SAME:
            raise RefusedError(f"no stop at {count:g}")
        return Said(self.python(place).value)

    def python(self, at: Mapping[str, Any]) -> Said:
        row = self.fitted.predict({name: [value] for name, value in {**self.levels, **at}.items()}).iloc[0]
        return Said(float(row[self.value]), row.get("throughput"), dict(row))

    def command_proposal(self, at: Mapping[str, Any]) -> Path:
        """Write a proposal about one machine, and return its file."""
        path = self.table.with_suffix(".proposal.csv")
        command("report", self.model, *self.options(at, "--target"), "--proposal", "-o", path, "--quiet")
        return path

    def proposal(self, at: Mapping[str, Any]) -> Said:
        """Return the machine's row of a proposal."""
        rows = pd.read_csv(self.command_proposal(at))
        assert self.law is not None
        machine = self.law.machine(self.law.target)
        last = rows[rows.iloc[:, 0].isin([machine["devices"], machine["nodes"], machine["dp"]])].iloc[-1]
        measured = next(name for name in rows if name.endswith(("/s", ")")) or name == "throughput")
        value = float(last[measured])
        # A time is in the unit of its column.
        unit = DURATIONS.get(measured.rpartition("(")[2].rstrip(")"))
        return Said(None, value) if unit is None else Said(value * unit)


#: A command of the model → the rows of its reply that have the answer, and the option that names the machine.
ROWS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "ask": lambda reply: [reply],
    "predict": lambda reply: reply["predictions"],
    "explain": lambda reply: reply["terms"],
    "compare": lambda reply: [row for row in reply["ranking"] if row["change"] == "as it is"],
    "suggest": lambda reply: [reply],
    "optimize": lambda reply: reply["best"][:1],
}
OPTIONS = {"suggest": "--target", "optimize": "--over"}
#: Commands of the model by their names, and methods of `Asked`.
DOORS = ("ask", "ask model", "predict", "python", *[*ROWS][2:], "headline", "slider", "proposal")


def faults(reference: Said, said: Said, door: str) -> str:
    """Return how an answer differs from another one; empty where it does not."""
    limit = ON_A_PAGE if door in ("headline", "proposal") else SAME
    for what in ("value", "throughput"):
        one, other = getattr(reference, what), getattr(said, what)
        if one is not None and other is not None and abs(other / one - 1.0) > limit:
            return f"{what} x{other / one:.4g}"
    return ""


def judged(
    seed: int, folder: Path, form: str | None = None, doors: Sequence[str] = DOORS[1:]
) -> Iterator[dict[str, Any]]:
    """Ask one table in every wording by `ask`, and in one at each of some doors; yield a row for each answer.

    The last row is of the law's value: whether the interval of `ask` holds it, and the answer over it.
    """
    name, made, law, frame, random = drawn(seed, form)
    path = folder / f"runs{seed}.csv"
    frame.to_csv(path, index=False)
    asked, wordings = Asked(path, made, law), made.wordings(law)
    machine = law.machine(law.target)
    row = {"seed": seed, "form": name, "shared": law.shared, "beyond": law.target / law.counts[-1]}
    reference, page = None, str(random.choice([*wordings]))
    for door, wording in [(d, w) for d in ("ask",) for w in wordings] + [(d, "") for d in doors]:
        chosen = wording or (page if door in ON_ONE_PAGE else str(random.choice([*wordings])))
        try:
            said = asked.at_door(door, wordings[chosen])
            fault = "" if reference is None else faults(reference, said, door)
            if door == "ask" and not fault and made.known:
                true = machine["tokens of a step" if made.header("tokens of a step") else "gbs"]
                work = (said.throughput or 0.0) * (said.value or 0.0)
                fault = "" if abs(work / true - 1.0) <= 1e-6 else f"work {work} for {true:g}"
        except RefusedError as error:
            # A proposal is a speed-up: that of work that nothing shows is refused, and so is one of no time of a step.
            unknown = door == "proposal" and not made.known and "are left out" in str(error)
            said, fault = None, "" if unknown else f"refused: {error}"
        except Exception as error:
            said, fault = None, f"{type(error).__name__}: {error}"
        reference = reference or said
        yield {**row, "door": door, "wording": chosen, "fault": fault}
    if asked.answers:
        reply, truth = asked.answers[0], machine[made.headers[made.measured]]
        held = reply["lower"] <= truth <= reply["upper"]
        yield {**row, "held": held, "ratio": reply["value"] / truth, "verdict": reply["verdict"]}


def judged_alone(seed: int) -> list[dict[str, Any]]:
    """Return the rows of one table, whose files lie in a folder of their own."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        return [*judged(seed, Path(folder))]


def run(tables: int = 1000, first: int = 0, workers: int = 1) -> str:
    """Judge tables, and print each fault."""
    rows = list[dict[str, Any]]()
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for table in pool.map(judged_alone, range(first, first + tables)):
            rows += table
            for row in (row for row in table if row.get("fault")):
                said = (row[name] for name in ("seed", "form", "shared", "door", "wording", "fault"))
                print(*said, sep=" | ", file=sys.stderr, flush=True)
        of_columns = redundant.faults(tables, pool)
    print(*of_columns, sep="\n", file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows)
    answers = frame[frame["door"].notna()]
    answers = answers.assign(right=answers["fault"] == "")
    whole = answers.groupby(["form", "seed"])["right"].all()
    summary = _summary(whole, answers, frame[frame["door"].isna()])
    agree = f"{tables - len(of_columns):,} of {tables:,}"
    command = f"python -m experiments one_answer --tables {tables}"
    return page("one-answer", globals(), command=command, summary=summary, agree=agree)


def _summary(whole: pd.Series[bool], answers: pd.DataFrame, laws: pd.DataFrame) -> str:
    """Return what came out, in three paragraphs."""

    def part(some: pd.DataFrame) -> str:
        return f"{100 * some['held'].astype(float).mean():.1f} %"

    away = np.abs(np.log(laws["ratio"].to_numpy(float)))
    error, far = 100 * np.expm1(np.median(away)), laws[away > np.log(3.0)]
    blind = int((far["verdict"] == "extrapolating-blind").sum())
    twice, four = (laws[laws["beyond"] == beyond] for beyond in (2, 4))
    missed = laws[~laws["held"].astype(bool)]
    return (
        f"**{int(whole.sum()):,} of {len(whole):,} tables have one answer at every door; "
        f"{int(answers['right'].sum()):,} of {len(answers):,} answers have no fault.**\n\n"
        f"The 90 % interval of `ask` holds the law's value in {part(laws)} of {len(laws):,} tables: {part(twice)} at "
        f"twice\nthe largest count, {part(four)} at four times. Of the {len(missed)} misses "
        f"{int((missed['verdict'] == 'ok').sum())} have the verdict ok.\n\n"
        f"The median error of the predicted value is {error:.1f} %. It is off by more than a factor of three in "
        f"{len(far)}\ntables, {blind} of which have the verdict extrapolating-blind."
    )
