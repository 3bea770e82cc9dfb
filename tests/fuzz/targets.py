"""What is fuzzed: functions of bytes that may raise errors of the user's, and no others."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from odd import CELLS, ENDS, TOML

from genperf.cli.commands import settings_of
from genperf.errors import GenperfError
from genperf.formula import evaluate, parse, render
from genperf.formula.amounts import with_amounts
from genperf.importers import FORMATS
from genperf.panel import read_table
from genperf.result import FitResult, dump_model, parse_model
from genperf.table.opened import open_source, understood

DATA = Path(__file__).parents[1] / "importers" / "data"
MODELS = Path(__file__).parents[1] / "result"


@dataclass(frozen=True)
class Target:
    """Something that reads bytes of someone else."""

    #: Reads the bytes; it may raise a `GenperfError`.
    run: Callable[[bytes], None]
    #: Inputs that are read, from which the fuzzer starts; what a mutation may insert.
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]


def formula(data: bytes) -> None:
    """Read a formula; what is read prints as text that reads as the same tree, and has a value."""
    read = parse(with_amounts(data.decode("utf-8", "replace")))
    again = parse(render(read.node), max_characters=10 * len(data) + 100)
    assert render(again.node) == render(read.node)
    try:
        evaluate(read.node, dict.fromkeys(read.names, np.array([1.0, 2.0])))
    except (OverflowError, TypeError):
        # Texts stand for columns only where a table says so.
        if "'" not in read.text and '"' not in read.text:
            raise


_SCRATCH = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def _file(data: bytes) -> str:
    path = os.path.join(_SCRATCH, f"fuzzed-{os.getpid()}")
    with open(path, "wb") as file:
        file.write(data)
    return path


def table(data: bytes) -> None:
    """Read a table with two factors."""
    read_table(_file(data), time="s", extrinsic="n", categorical="f", skip_bad_rows=True, aggregate=False)


def source(data: bytes) -> None:
    """Read a source of any kind by its shape: a table, a log, records."""
    understood(open_source(_file(data)))


def settings(data: bytes) -> None:
    """Read genperf.toml."""
    settings_of(_file(data))


def model(data: bytes) -> None:
    """Read a model file, and predict with it."""
    read = parse_model(data)
    first = read if isinstance(read, FitResult) else next(iter(read.results.values()), None)
    if first is not None:
        levels = {f.name: 2.0 if f.numeric else f.levels[0] for f in first.schema.factors}
        first.predict(levels)


def importer(name: str) -> Callable[[bytes], None]:
    """Return the function that imports a file of a format."""

    def read(data: bytes) -> None:
        if not FORMATS[name].binary:
            FORMATS[name].read(data.decode("utf-8", "replace"), "fuzzed")
            return
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            FORMATS[name].read(file.name, "fuzzed")

    return read


def _seeds(*patterns: str) -> tuple[bytes, ...]:
    return tuple(p.read_bytes()[:20_000] for pattern in patterns for p in sorted(DATA.glob(pattern)))


def _models() -> tuple[bytes, ...]:
    """Return small models of each kind, of the first and of the present version: short files are mutated faster."""
    seeds = []
    for path in sorted(MODELS.glob("version*/*.json")):
        plain = json.loads(path.read_bytes())
        plain["groups"] = plain["groups"][:1]
        model = plain["groups"][0]["model"]
        model["members"] = model["members"][:1]
        if model.get("stack"):
            model["stack"]["parts"] = model["stack"]["parts"][:1]
            model["stack"]["beyond"] = []
        elif not model["members"][0]["walk"]:
            # The draws of a series belong to its walk.
            model["members"][0]["draws"] = model["members"][0]["draws"][:4]
        text = json.dumps(plain, separators=(",", ":"))
        seeds += [text.encode(), dump_model(parse_model(text)).encode()]
    return tuple(seeds)


_JSON = (b"null", b"-1", b"1e999", b'""', b"[]", b"{}", b"true", b'"\\ud800"', b"NaN")
TARGETS = {
    "formula": Target(
        formula,
        (b"a*batch/workers + b*log2(workers)", b"where(n > 1 and not f == 'x', `a b`**-2, max(1e3, n % 2))", b"30B*n"),
        (b"log2(", b"max(", b"**", b" and ", b"`", b"'x'", b"==", b"where(", b"1e308", b"-", b"\xc3\xa9"),
    ),
    "source": Target(
        source,
        (
            b"world_size ..... 8\nstep: 1  loss: 8.2  tps: 7,012  memory: 4.2GiB(9%)\nstep: 2  tps: 7,612\n",
            b"{'loss': 3.1, 'epoch': 0.1}\n{'train_runtime': 50.0, 'train_steps_per_second': 4.0}\n",
            b'{"world_size": 2, "tokens_per_sec": 9.5, "requests": [{"id": 1}, {"id": 2}]}',
            b"S and G,1S - 1G,2S - 4G\ntime (s),120.4,35.5\n",
            b"<html><table><tr><th>gpus</th><th>img/s</th></tr><tr><td>1</td><td>9</td></tr><tr><td>2</td><td>17</td></tr></table>",
            b"gpus = [1, 2, 4]\nrate = [9.5, 17, 31]  # img/s\n",
            b"('gpus', 'img/s')\n(1, 9.5)\n(2, 17)\n",
            b"{1: 9.5, 2: 17.0}",
            b"net\tgpus\ts\na\t1\t9\n\t2\t5\nb\t1\t8\n\t2\t4\n",
            b",rate,,time,\nn,mean,std,mean,std\n1,9,1,4,1\n2,17,1,3,1\n",
            b"model: net\ngpus: 4\nbatch: 64\n",
        ),
        (
            *(b": ", b"=", b"--np 2", b" ms per sample", b"it/s", b"OOM", b"\x1b[31m", b"0:02:03", b"<br>", b"1*8"),
            *(b"# ", b"|", b"<![x[", b"4.2k", b"(", b"["),
        ),
    ),
    "table": Target(
        table,
        (
            b"f,n,s\na,1,9\nb,2,5\na,4,3\n",
            b'\xef\xbb\xbf"f";n;s\n# c\n"a;b";1;9\n\n b;2;oom\n',
            b"sep=|\nf|n|s\na|1|9\n",
            "f,n,s\na,1,9\nb,2,5\n".encode("utf-16"),
        ),
        (b",", b"\n", b'"', b";", b"\xff\xfe", *map(str.encode, (*CELLS, *ENDS))),
    ),
    "settings": Target(
        settings,
        (b'time = "s"\nextrinsic = ["n"]\n[fit]\nseed = 1\nquiet = true\n', b"[predict]\ninterval = 0.9\nat = 'n=4'\n"),
        (b"[fit]", b"[[", b"time", b".", *(f"= {value}".encode() for value in TOML)),
    ),
    "model": Target(model, _models(), _JSON),
    **{
        f"import-{name}": Target(importer(name), _seeds(*patterns), (*_JSON, b"PARAMETER", b"DATA", b"\n"))
        for name, patterns in {
            "extra-p": ("extra_p*",),
            "hyperfine": ("hyperfine*",),
            "pytorch-profiler": ("single*", "stopped*"),
            "nsight": ("nsight.sqlite",),
        }.items()
    },
}


def read(target: Target, data: bytes) -> bool:
    """Run a target and return whether it took the bytes; an error that is not the user's is raised."""
    try:
        target.run(data)
    except GenperfError:
        return False
    return True
