"""Make the bundled tables of transformers from the transcribed ones.

    python -m experiments compile_transformers FOLDER data

FOLDER holds `rubick.csv`, `libai.csv` and `bigscience.csv` as they were transcribed from the sources that
`data/README.md` names. Whole numbers lose their ".0", and an empty cell of `zero` becomes "none". One figure changes:
the sequence of rubick's `vit` (`SEQUENCES`).
`three_d` says whether a plan of rubick is of the runtime for tensor and pipeline parallelism, and `layout_stated`
whether the source states the whole layout of a run of bigscience.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

#: What a layout consists of.
LAYOUT = ("data_parallel", "tensor_parallel", "pipeline_parallel", "micro_batch", "global_batch")
#: Tokens of a sample where the source contradicts itself. Of `vit` its models state 512 and 1024, and its training
#: script loads `vit-base-patch16-224`: (224/16)² + 1 = 197. The stated 85,952,456 parameters are those of that
#: network with 197 positions and 200 classes, exactly.
SEQUENCES = {"vit": "197"}


def rubick(frame: pd.DataFrame) -> pd.DataFrame:
    frame.insert(
        frame.columns.get_loc("data_parallel"),
        "three_d",
        frame.plan.isin(["3d", "tp+ga"]).map({True: "yes", False: "no"}),
    )
    sequence = frame.model.map(SEQUENCES).fillna(frame.seq_length)
    return frame.assign(zero=frame.zero.replace("", "none"), seq_length=sequence)


def bigscience(frame: pd.DataFrame) -> pd.DataFrame:
    multiplies = frame.pop("topology_matches") == "1.0"
    # A network of 6 or 10 layers is a shortened one: its name does not tell its parameters.
    stated = multiplies & (frame[list(LAYOUT)] != "").all(axis=1) & (frame.layers == "")
    frame.insert(frame.columns.get_loc("source"), "layout_stated", stated.map({True: "yes", False: "no"}))
    return frame


def compiled(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the tables by name, every cell a text."""
    read = {
        n: pd.read_csv(folder / f"{n}.csv", dtype=str, keep_default_na=False) for n in ("rubick", "libai", "bigscience")
    }
    made = {"rubick": rubick(read["rubick"]), "libai": read["libai"], "bigscience": bigscience(read["bigscience"])}
    return {name: frame.replace(r"^(\d+)\.0$", r"\1", regex=True) for name, frame in made.items()}


def run(source: Path, target: Path) -> None:
    """Read the transcribed tables of a folder, and write the bundled ones to another."""
    for name, frame in compiled(source).items():
        frame.to_csv(target / f"{name}.csv", index=False, lineterminator="\n")
