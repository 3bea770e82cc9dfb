"""Run an experiment by its name, or list all of them.

    python -m experiments
    python -m experiments corpus --extra-p

An experiment is a module with a function `run`, whose parameters are its options. The page that it returns is
written to experiments/results/, to `-o FILE`, or with `--print` nowhere. One thread of linear algebra throughout.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import sys
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType, NoneType
from typing import Any, get_args, get_type_hints

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
FOLDER = Path(__file__).parent
#: What is asked, by the folder of the experiments that answer it.
QUESTIONS = {
    "accuracy": "How near are predictions, and what do their intervals hold?",
    "advice": "Is what `ask`, `suggest`, `why` and `verify` say true?",
    "speed": "How long does it take?",
    "papers": "Do the claims of the papers hold?",
    "pictures": "The pictures of the documents",
    "tables": "How bundled tables were compiled",
    ".": "The summary of all pages",
}


def experiments() -> dict[str, Path]:
    """Return the file of each experiment by its name, in the order of the questions."""
    files = [path for room in QUESTIONS for path in sorted((FOLDER / room).glob("*.py"))]
    return {path.stem: path for path in files if "\ndef run(" in path.read_text(encoding="utf-8")}


def index() -> str:
    """Return the questions, and below each the experiments with the first sentence of each."""
    lines: list[str] = []
    for name, path in experiments().items():
        question = f"{QUESTIONS[path.parent.relative_to(FOLDER).as_posix()]}"
        lines += [] if question in lines else ["", question]
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        lines.append(f"  {name:22} {said.splitlines()[0]}")
    return "\n".join(lines[1:])


def parser_of(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of an experiment's options: the parameters of its `run`."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    hints = get_type_hints(module.run)
    for parameter in inspect.signature(module.run).parameters.values():
        kind: Any = next((k for k in get_args(hints[parameter.name]) if k is not NoneType), hints[parameter.name])
        option = "--" + parameter.name.replace("_", "-")
        if parameter.kind is parameter.VAR_POSITIONAL:
            parser.add_argument(parameter.name, nargs="*", type=kind)
        elif parameter.default is parameter.empty:
            parser.add_argument(parameter.name, type=kind)
        elif kind is bool:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=kind, default=parameter.default, help=f"(default {parameter.default})")
    parser.add_argument("--print", action="store_true", help="only print the page; pictures go to a temporary folder")
    parser.add_argument("-o", "--output", type=Path, help="in the place of the page in experiments/results/")
    return parser


def main(arguments: list[str]) -> None:
    """Run the experiment that the arguments name."""
    files = experiments()
    if not arguments or arguments[0] in ("-h", "--help"):
        print(index())
        return
    if arguments[0] not in files:
        sys.exit(f"no experiment '{arguments[0]}'\n\n{index()}")
    name = arguments[0]
    from threadpoolctl import threadpool_limits

    from experiments import shared

    if "--print" in arguments:
        shared.IMAGES = Path(mkdtemp())
    module = import_module(".".join(files[name].relative_to(FOLDER.parent).with_suffix("").parts))
    options = vars(parser_of(name, module).parse_args(arguments[1:]))
    only_print, output = options.pop("print"), options.pop("output")
    rest = next((p.name for p in inspect.signature(module.run).parameters.values() if p.kind is p.VAR_POSITIONAL), "")
    positional = options.pop(rest, [])
    with threadpool_limits(limits=1):
        page = module.run(*positional, **options)
    pages = {name.replace("_", "-"): page} if isinstance(page, str) else page or {}
    for title, text in pages.items():
        print(text)
        if not only_print:
            (output or FOLDER / "results" / f"{title}.md").write_text(text.rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
