"""Odd inputs: files of every wrong kind, and the arguments that read them. `messages.txt` holds the messages."""

import bz2
import gzip
import json
import lzma
import os
import shlex
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from commands import typed

COUNTS = (1, 2, 4, 8, 16)
TABLE = ("--time", "seconds", "--extrinsic", "workers")
AT = ("--at", "workers=4", "--at", "batch=32", "--at", "framework=tf")
ROWS = "".join(f"{n},{8 / n + 1!r}\n" for n in COUNTS)
RUNS = f"workers,seconds\n{ROWS}"
LEVELS = "framework,workers,batch,seconds\n" + "".join(
    f"{f},{n},{b},{s * (8 / n + 1) * b / 32!r}\n" for f, s in (("tf", 1), ("mx", 2)) for n in COUNTS for b in (32, 64)
)


def column(*cells: object) -> str:
    """Return a table whose measured column holds the cells."""
    return "workers,seconds\n" + "".join(f"{2**k},{cell}\n" for k, cell in enumerate(cells))


#: File name → content: tables that cannot be read as they are.
TABLES: dict[str, str | bytes] = {
    # Encodings.
    "utf16-without-mark.csv": RUNS.encode("utf-16-le"),
    "utf32.csv": RUNS.encode("utf-32"),
    "latin1.csv": RUNS.replace("workers", "wörkers").encode("latin-1"),
    "ebcdic.csv": RUNS.encode("cp037"),
    "surrogate.csv": b"workers,seconds\n1,\xed\xa0\x80\n",
    "nul.csv": RUNS.replace("8,", "8\0,"),
    "only-nul.csv": b"\0" * 1000,
    "lines-of-unicode.csv": RUNS.replace("\n", "\u2028"),
    # Formats that are no text.
    "gzip-cut.csv": gzip.compress(RUNS.encode(), mtime=0)[:-9],
    "gzip-and-more.csv": gzip.compress(RUNS.encode(), mtime=0) + b"more",
    "gzip-twice.csv": gzip.compress(gzip.compress(RUNS.encode(), mtime=0), mtime=0),
    "bz2-cut.csv": bz2.compress(RUNS.encode())[:-5],
    "xz-cut.csv": lzma.compress(RUNS.encode())[:-5],
    "lz4.csv": b"\x04\x22\x4d\x18rest",
    "compress.csv": b"\x1f\x9d\x90rest",
    "7z.csv": b"7z\xbc\xaf\x27\x1crest",
    "snappy.csv": b"\xff\x06\x00\x00sNaPpYrest",
    "sheet.xlsx": b"PK\x03\x04rest",
    "sheet.xls": b"\xd0\xcf\x11\xe0rest",
    "archive.tar": b"runs.csv".ljust(257, b"\0") + b"ustar",
    "page.pdf": b"%PDF-1.7\n",
    "picture.png": b"\x89PNG\r\n\x1a\n",
    "picture.jpg": b"\xff\xd8\xff\xe0",
    "program": b"\x7fELF\x02\x01",
    "base.sqlite": b"SQLite format 3\0",
    "array.npy": b"\x93NUMPY\x01\0",
    "model.pkl": b"\x80\x04\x95rest",
    "data.h5": b"\x89HDF\r\n",
    "data.arrow": b"ARROW1\0\0",
    "broken.json": '[{"workers": 1, "seconds": 9},\n {"workers": 2,]',
    "settings.json": '{"workers": [1, 2, 4], "seconds": {"first": [9, 5, 3, 2]}}',
    "deep.json": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "page.html": "<!DOCTYPE html><html><body></body></html>",
    "runs.xml": "<?xml version='1.0'?><runs><run gpus='1' seconds='2.5'/></runs>",
    # Shapes.
    "empty.csv": "",
    "blank.csv": "\n \n\n",
    "comments.csv": "# one\n# two\n",
    "head.csv": "workers,seconds\n",
    "no-head.csv": ROWS,
    "one-column.csv": "seconds\n1\n2\n",
    "only-commas.csv": ",,,\n,,,\n",
    "same-names.csv": "workers,workers,seconds\n1,1,2\n",
    "ragged.csv": f"{RUNS}1\n1,2,3\n",
    "quote-open.csv": f'workers,seconds\n1,"9\n{ROWS}',
    "quote-after.csv": 'workers,seconds\n1,"9"x\n2,5\n',
    "colons.csv": RUNS.replace(",", ":"),
    "large-cell.csv": f"workers,seconds,note\n1,9,{'x' * 1_200_000}\n2,5,y\n",
    "large-number.csv": column("9" * 200_000, 5, 3),
    # Numbers.
    "mark-in-name.csv": RUNS.replace("seconds", "\ufeffseconds"),
    "no-width-in-name.csv": RUNS.replace("seconds", "sec\u200bonds"),
    "percent.csv": column("90%", "50%", "30%"),
    "mixed-units.csv": column("9 s", "5 GB", "3 s"),
    "one-with-unit.csv": column(9, "5ms", 3),
    "dates.csv": column("2024-01-01", "2024-01-02"),
    "clock.csv": column("09:00", "05:00"),
    "hexadecimal.csv": "workers,seconds\n0x1,9\n0x2,5\n",
    "truth.csv": "workers,seconds\nTrue,9\nFalse,5\n",
    "arabic.csv": "workers,seconds\n١,9\n٢,5\n٤,3\n",
    "minus.csv": column(9, "−5", 3),
    "underscores.csv": column("1_000", 5, 3),
    "formulas.csv": column("=1+1", 5, 3),
    "infinite.csv": column("inf", "inf"),
    "missing.csv": column("NA", "NA"),
    "zero.csv": column(0, 5, 3),
    "negative.csv": column(-9, 5, 3),
    "huge.csv": column("1e300", 5, 3),
    "tiny.csv": column("1e-300", 5, 3),
    "denormal.csv": column("5e-324", 5, 3),
    "huge-workers.csv": "workers,seconds\n1e40,9\n2,5\n",
    "infinite-workers.csv": "workers,seconds\ninf,9\n2,5\n",
    "workers-below-zero.csv": "workers,seconds\n-4,9\n2,5\n",
}
#: Lines of genperf.toml.
SETTINGS = (
    "tiem = 'seconds'", "'tim e' = 's'", "time = 's'\ntime = 'x'", "[fit.x]\na = 1", "[fit]\ntime = {a = 1}",
    "fit = 'x'", "fit = 1", "[[fit]]\ntime = 's'", "[fitt]\ntime = 's'", "[predict]\nintervall = 0.8",
    "[predict]\ninterval = '0.9'", "[predict]\nat = 4", "seed = 1e3", "seed = nan", "seed = -1", "workers = '2'",
    "workers = 0", "extrinsic = ['workers', 'workers']", "extrinsic = [1]", "where = true", "lambda = 1979-05-27",
    "quiet = 0", "verbose = 3", "pool = 'no'", "skip_bad_rows = 1", "let = {x = '1'}", "time.x = 1", "o = 'x.json'",
    "config = 'x'", "a.b.c = 1", "[fit", "= 1", "'''", "\0", "a" * 5000 + " = 1", "seed = true", "seed = 2020-01-01",
    "seed = [1]", "json = 'perhaps'", "json = 1", "time = 12:30:00", "time = [[1]]", "time = true", "let = 1",
    "let = [1]", "time = " + "[" * 30_000,
)  # fmt: skip
FORMULAS = (
    "", "workers", "1", "a*workers/0", "a*log(0*workers)", "-a*workers", "a*1e400", "a*1j", "a*...", "True*a",
    "a**workers**workers**65", "a*workers**65", "a if 1 else b", "lambda: a", "[a]", "a[0]", "a.b", "f'{a}'",
    "(a := 1)", "a, b", "a and b", "not a", "a == b", "'x'", "``*a", "a*`", "a*wrkers", "a^2*workers", "a²*workers",
    "a×workers", "2a*workers", "a workers", "max(a)", "sin(a)", "__import__('os')", "(" * 61 + "a" + ")" * 61,
    "-" * 61 + "a", "+".join(["workers"] * 9000), "+".join(f"c{i}*workers**{i}" for i in range(40)),
    "+".join(f"c{i}*workers**{i % 30}" for i in range(6)), "+".join(f"c{i}*workers**{i % 30}" for i in range(200)),
    "a*workers/(0*workers)", "a*(1 + [x for x in workers])", "a*9**9**9", "a*workers +", "(a + workers", "a = 3",
    "a*log(1, 2)", "a*log", "a*log(x=1)", "'x' + a", "(a < workers) + 1", "where(a, 1, 2)", "a is workers",
    "a // workers", "~a", "`a", "a;b", "a + héé.b", "a*servers + c",
)  # fmt: skip
#: A run in words whose figures do not suffice.
ONE_RUN = (
    "8xh10 7B 76800tok/s", "8xh100 7B 76800/s", "8xh100 1.1M", "8xh100 7B 76800", "8xh100 7B 12 samples/s",
    "8xh100 7B 2 it/s", "8xh100 7B 2 s/it batch=64 seq=2048", "8xh100 resnet50 76800tok/s",
    "8xh100 toaster 76800tok/s", "8xh100 4x13B 76800tok/s", "8xh100 7B", "8xh100 7B 0tok/s",
    "8xh100 7B 76800tok/s sqe=2048", "8xh100 7B 76800tok/s seq=", "8xh100 7B 153600tok/s 2 nodes",
    "8xh100 7B 153600tok/s nodes=2",
)  # fmt: skip
#: What is done to a whole model file, by name.
MODEL = ("groups", 0, "model")
_CHANGES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "no-members": ((*MODEL, "members"), []),
    "no-terms": ((*MODEL, "members", 0, "terms"), []),
    "weight-zero": ((*MODEL, "members", 0, "weight"), 0.0),
    "weight-negative": ((*MODEL, "members", 0, "weight"), -1.0),
    "constant-negative": ((*MODEL, "members", 0, "constants", 0, "value"), -5.0),
    "constant-text": ((*MODEL, "members", 0, "constants", 0, "value"), "x"),
    "constant-huge": ((*MODEL, "members", 0, "constants", 0, "value"), 1e200),
    "constant-twice": ((*MODEL, "members", 0, "constants", 1, "name"), "C"),
    "term-runs-code": ((*MODEL, "members", 0, "terms", 0, "formula"), "__import__('os').system('true')"),
    "term-of-no-name": ((*MODEL, "members", 0, "terms", 0, "formula"), "secret"),
    "term-nested": ((*MODEL, "members", 0, "terms", 0, "formula"), "(" * 200 + "C" + ")" * 200),
    "term-long": ((*MODEL, "members", 0, "terms", 0, "formula"), "+".join(["1e-9*workers**1.5"] * 3600)),
    "draws-short": ((*MODEL, "members", 0, "draws"), [[1.0]]),
    "draws-text": ((*MODEL, "members", 0, "draws"), "AAAA"),
    "spread-huge": ((*MODEL, "spread", "noise"), 1e99),
    "spread-negative": ((*MODEL, "spread", "noise"), -1.0),
    "levels-missing": ((*MODEL, "table", "factors", 2, "levels"), []),
    "level-renamed": ((*MODEL, "table", "factors", 2, "levels", 0), "other"),
    "centre-zero": ((*MODEL, "table", "factors", 0, "centre"), 0.0),
    "range-turned": ((*MODEL, "table", "factors", 0, "lower"), 1e9),
    "factor-twice": ((*MODEL, "table", "factors", 0, "name"), "workers"),
    "no-factors": ((*MODEL, "table", "factors"), []),
    "median-outside": ((*MODEL, "table", "medians", 0, 0, 0), -1e99),
    "median-turned": ((*MODEL, "table", "medians", 0, 1), 1e9),
    "median-of-no-level": ((*MODEL, "table", "medians", 0, 0, 2), "other"),
    "work-of-no-name": ((*MODEL, "table", "target", "work"), "secret"),
    "evidence-of-no-factor": (
        (*MODEL, "evidence"),
        [{"factor": "x", "held_out": 1.0, "doublings": 1.0, "error": 0.1, "last_point": None}],
    ),
    "surprise": ((*MODEL, "surprise"), 1),
    "seed-text": ((*MODEL, "seed"), "x"),
    "other-program": (("program",), "extra-p"),
    "newer": (("schema_version",), 99),
    "older": (("schema_version",), 2),
    "version-text": (("schema_version",), "2"),
    "version-truth": (("schema_version",), True),
    "no-groups": (("groups",), []),
    "key-of-no-group": (("groups", 0, "key"), ["tf"]),
}
OTHER_MODELS: dict[str, str | bytes] = {
    "model-empty": "",
    "model-cut": '{"program":"genperf","schema_version":2,"group":[],"groups":[',
    "model-nested": "[" * 30_000,
    "model-list": "[1, 2]",
    "model-nan": '{"program":"genperf","schema_version":NaN}',
    "model-bytes": b"\xff\xfe\x00",
    "model-is-table": RUNS,
    "model-is-gzip": gzip.compress(RUNS.encode(), mtime=0),
}


def broken_models(whole: str) -> dict[str, str]:
    """Return the text of a model with one field changed, for each change."""
    texts = {}
    for name, (path, value) in _CHANGES.items():
        read = json.loads(whole)
        place = read
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = deepcopy(value)
        texts[name] = json.dumps(read)
    return texts


#: The words of a command → an option, and values that it refuses.
OPTIONS: dict[tuple[str, ...], tuple[str, list[str]]] = {
    tuple(command.replace("TABLE", " ".join(TABLE)).split()): (option, json.loads(values))
    for command, option, values in (line.split(" => ") for line in typed("options.txt"))
}
#: Commands that write, by what they read.
WRITING: tuple[tuple[str, ...], ...] = (
    ("fit", "runs.csv", *TABLE),
    ("validate", "runs.csv", *TABLE, "--models", "amdahl"),
    ("report", "m.json"),
    ("import", "extra-p", "points.txt"),
    ("optimize", "m.json", "--over", "workers=1:8"),
    ("suggest", "m.json", "--target", "workers=64"),
)
EVERY_PLACE = ("missing/x.csv", "folder", "runs.csv/x", "y" * 300, "dangling/x.csv", "loop/x.csv", "nul\0byte", "")


def cases() -> dict[str, tuple[str, ...]]:
    """Return the arguments of every case, by name."""
    listed: dict[str, tuple[str, ...]] = {f"check {name}": ("check", name, *TABLE) for name in TABLES}
    listed |= {
        f"settings {k:02} {text!r:.40}": ("--config", f"{k}.toml", "fit", "runs.csv") for k, text in enumerate(SETTINGS)
    }
    listed |= {f"formula {text!r:.60}": ("fit", "runs.csv", *TABLE, "--model", text) for text in FORMULAS}
    for name in (*_CHANGES, *OTHER_MODELS):
        # A table is fitted, and answers what it knows of a question.
        listed[f"model {name}"] = ("predict", f"{name}.json", *(AT if "-is-" not in name else ("--at", "batch=32")))
    for command, (option, values) in OPTIONS.items():
        for value in values:
            rest = ("runs.csv",) if command == ("import",) else ()
            named = (option,) if option else ()
            listed[" ".join((*command, option, repr(value)))[:130]] = (*command, *named, value, *rest)
    listed |= {command: tuple(shlex.split(command)) for command in typed("refused.txt")}
    listed |= {f"ask {words}": ("ask", *words.split()) for words in ONE_RUN}
    for place in EVERY_PLACE:
        listed[f"write {place!r:.30}"] = ("predict", "m.json", "--at", "workers=4", "-o", place)
    for command in WRITING:
        for place in ("missing/x", ""):
            listed[f"write {command[0]} {place!r}"] = (*command, "-o", place)
    listed["comparisons joined"] = ("check", "runs.csv", *TABLE, "--where", "workers>0" + "<1" * 1500)
    listed["a long filter"] = ("check", "runs.csv", *TABLE, "--where", " and ".join(["workers>0"] * 300))
    for control in ("\x1b[2J", "\x9b2J", "\r", "\u202eth.gpj"):
        listed[f"name that steers {control!r}"] = ("check", f"runs{control}.csv", *TABLE)
        listed[f"option that steers {control!r}"] = ("fit", "runs.csv", *TABLE, "--model", f"a*{control}")
        listed[f"usage that steers {control!r}"] = ("fit", "runs.csv", *TABLE, "--seed", control)
    listed["settings of no name"] = ("--config", "nul\0byte", "models")
    for place in ("y" * 300, "nul\0byte"):
        listed[f"demo {place!r:.30}"] = ("demo", place)
    return listed


def prepare(folder: Path, run: Callable[[list[str]], int]) -> None:
    """Write the files that the cases read; the whole models are made by the command line."""
    files: dict[str, str | bytes] = {"runs.csv": RUNS, "levels.csv": LEVELS, **TABLES}
    files["wide.csv"] = ",".join(f"c{k}" for k in range(1000)) + f",{RUNS[:15]}\n" + "1," * 1000 + "4,3.0\n"
    files |= {f"{k}.toml": text for k, text in enumerate(SETTINGS)}
    files |= {f"{name}.json": content for name, content in OTHER_MODELS.items()}
    files["points.txt"] = "PARAMETER p\nPOINTS 2 4\nREGION main\nMETRIC time\nDATA 5.0\nPARAMETER q\nDATA 3.0\n"
    _write(folder, files)
    assert run(["fit", str(folder / "runs.csv"), *TABLE, "--model", "amdahl", "-q", "-o", str(folder / "m.json")]) == 0
    roles = (*TABLE, "--intrinsic", "batch", "--categorical", "framework", "--model", "generic")
    roles = (*roles, "--structure", "separable")
    assert run(["fit", str(folder / "levels.csv"), *roles, "-q", "-o", str(folder / "t.json")]) == 0
    _write(folder, {f"{name}.json": text for name, text in broken_models((folder / "t.json").read_text()).items()})
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to("absent")
    (folder / "loop").symlink_to("loop")
    (folder / "link.csv").symlink_to("runs.csv")


def _write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
